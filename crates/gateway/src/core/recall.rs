//! What a store kept, back into the engine. It refuses to bring back what is in memory alone:
//! cooldowns, breakers, seats, rests (R17).

use std::sync::Arc;

use ekiden_engine::{CallId, Fact, Whose};
use ekiden_store::{Place, Record};

use super::Core;

impl Core {
    pub(super) fn recall(&self) {
        let mut kept = self.store.recall();
        kept.sort_by_key(weight);
        let now = self.clock.now();
        let mut decisions = self.decisions();
        let engine = &mut decisions.engine;
        for record in kept {
            let fact = match record {
                Record::Quarantined { place, quarantine } => Fact::Quarantined {
                    place: self.numbers(&place),
                    quarantine,
                    call: CallId(0),
                    attempt: ekiden_engine::AttemptId(0),
                },
                Record::Verified { place, day } => {
                    Fact::Verified { place: self.numbers(&place), day }
                }
                Record::Lifted { place, by } => Fact::Lifted { place: self.numbers(&place), by },
                Record::Unverified { place } => Fact::Unverified { place: self.numbers(&place) },
                Record::Tallied { route, day, tally } => {
                    engine.recall_tally(day, self.names.route(&route), tally);
                    continue;
                }
                Record::Sped { session, route, day, speed } => {
                    let session = self.names.session(&session);
                    engine.recall_speed(now, day, session, self.names.route(&route), speed);
                    continue;
                }
                Record::Turned { .. }
                | Record::QueueDeleted { .. }
                | Record::Journal(_)
                | Record::Attempt(_)
                | Record::Call(_)
                | Record::Catalog(_)
                | Record::CatalogForgotten { .. }
                | Record::Resumed { .. } => continue,
                Record::Paused { session, .. } => {
                    let of = |key: Arc<str>| Whose::Session(self.names.session(&key));
                    Fact::Paused { whose: session.map_or(Whose::All, of) }
                }
            };
            engine.recall(now, &fact);
        }
        // The day may have turned while nobody looked.
        let day = engine.day().number;
        drop(decisions);
        self.store.write(vec![Record::Turned { day }]);
        // It reads the whole ledger.
        if !self.tokens.list().is_empty() {
            self.spending.recall(&*self.store, day);
        }
    }

    fn numbers(&self, place: &Place) -> ekiden_engine::Place {
        ekiden_engine::Place {
            session: self.names.session(&place.session),
            queue: self.names.queue(&place.queue),
            route: self.names.route(&place.route),
        }
    }
}

/// Where more sessions were kept than are remembered, the ones recalled last stay: those whose
/// quarantines are the newest, and those that are paused.
const fn weight(record: &Record) -> (u8, u64) {
    match record {
        Record::Sped { .. } => (0, 0),
        Record::Verified { .. } | Record::Unverified { .. } => (1, 0),
        Record::Quarantined { quarantine, .. } => (2, quarantine.since_ms),
        Record::Lifted { .. } => (3, 0),
        Record::Paused { since_ms, .. } => (4, *since_ms),
        Record::Tallied { .. }
        | Record::Turned { .. }
        | Record::QueueDeleted { .. }
        | Record::Journal(_)
        | Record::Attempt(_)
        | Record::Call(_)
        | Record::Catalog(_)
        | Record::CatalogForgotten { .. }
        | Record::Resumed { .. } => (5, 0),
    }
}
