//! What is kept of what the engine has decided: facts for the next start, lines for people. It refuses
//! to keep what another fact of the same decision says.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ekiden_engine::{Fact, Holder, Now, RouteId};
use ekiden_store::{Entry, Place, Record, What};

use super::{Core, Ended, Held, Witness};
use crate::changes::Change;

impl Core {
    pub(super) fn entry(&self, now: Now, call: Option<Arc<str>>, what: What) -> Record {
        let number = self.next_entry.fetch_add(1, Ordering::Relaxed) + 1;
        Record::Journal(Entry { number, at_ms: now.wall_ms, call, what })
    }

    fn place(&self, place: ekiden_engine::Place) -> Place {
        Place {
            session: self.names.session_name(place.session),
            queue: self.names.queue_name(place.queue),
            route: self.names.route_name(place.route),
        }
    }

    pub(super) fn record(
        &self,
        now: Now,
        fact: &Fact,
        witness: Option<&dyn Witness>,
        records: &mut Vec<Record>,
    ) {
        let route = |id| self.names.route_name(id);
        let evidence = |attempt| witness.map(|call| call.evidence(attempt)).unwrap_or_default();
        let (call, what) = match *fact {
            Fact::Quarantined { place, quarantine, call, attempt } => {
                let place = self.place(place);
                records.push(Record::Quarantined { place: place.clone(), quarantine });
                let what = What::Quarantined {
                    place,
                    class: quarantine.class,
                    until_ms: quarantine.until_ms,
                    parole_ms: quarantine.parole_ms,
                    evidence: evidence(attempt),
                };
                (Some(call), what)
            }
            Fact::Lifted { place, by } => {
                let place = self.place(place);
                records.push(Record::Lifted { place: place.clone(), by });
                (None, What::Lifted { place, by })
            }
            Fact::Verified { place, day } => {
                return records.push(Record::Verified { place: self.place(place), day });
            }
            Fact::Unverified { place } => {
                return records.push(Record::Unverified { place: self.place(place) });
            }
            Fact::Cooled { route: id, ms, class, call, attempt }
            | Fact::Opened { route: id, ms, class, call, attempt, .. } => {
                let evidence = evidence(attempt);
                (Some(call), What::Cooled { route: route(id), ms, class, evidence })
            }
            Fact::Warmed { route: id, by } => (None, What::Warmed { route: route(id), by }),
            Fact::FailedOver { call, from, to } => {
                let class = witness.and_then(Witness::last_class);
                (Some(call), What::FailedOver { from: route(from), to: route(to), class })
            }
            Fact::ServedInstead { call, head, route: id } => {
                (Some(call), What::ServedInstead { head: route(head), route: route(id) })
            }
            Fact::OnTrial { place, call, mode } => {
                (Some(call), What::OnTrial { place: self.place(place), mode })
            }
            Fact::Rotated { session, queue, truncations } => {
                let session = self.names.session_name(session);
                let queue = self.names.queue_name(queue);
                (None, What::Rotated { session, queue, truncations })
            }
            Fact::Attempted { attempt, verdict, class, .. } => {
                let row =
                    witness.and_then(|call| call.row(&Ended { attempt, verdict, class, at: now }));
                row.iter().for_each(|row| self.spending.add(row));
                return records.extend(row.map(Record::Attempt));
            }
            Fact::Turned { day } => {
                self.spending.turn(day);
                records.push(Record::Turned { day });
                (None, What::Turned { day })
            }
            Fact::Seated { route, holder } => return self.seat(route, holder, Held::Taken),
            Fact::Unseated { route, holder, .. } => {
                return self.seat(route, holder, Held::GivenBack);
            }
            Fact::Paused { whose } => (None, What::Paused { session: self.whose(whose) }),
            Fact::Resumed { whose } => (None, What::Resumed { session: self.whose(whose) }),
            // Turns have no line in the journal yet.
            Fact::Called { .. } | Fact::Continued { .. } | Fact::NotContinued { .. } => return,
        };
        records.extend(pause_kept(now, &what));
        records.push(self.entry(now, call.map(|id| self.call_name(id)), what));
    }

    fn seat(&self, route: RouteId, holder: Holder, held: Held) {
        self.changes.push([holder], |holder| {
            let holder = match holder {
                Holder::Session(session) => self.names.session_name(session),
                Holder::Call(call) => self.call_name(call),
            };
            Change::Seat { route: self.names.route_name(route), holder, held: held == Held::Taken }
        });
    }
}

/// P5: what of a pause outlives the process.
fn pause_kept(now: Now, what: &What) -> Option<Record> {
    if let What::Paused { session } = what {
        return Some(Record::Paused { session: session.clone(), since_ms: now.wall_ms });
    }
    if let What::Resumed { session } = what {
        return Some(Record::Resumed { session: session.clone() });
    }
    None
}
