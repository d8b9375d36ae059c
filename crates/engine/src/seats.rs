//! Who holds a seat on one route (R24 to R28). It grants nothing by itself: a seat is asked for,
//! and somebody answers.

use alloc::vec::Vec;

use crate::choose::Mode;
use crate::ids::{AttemptId, CallId, LeaseId, QueueId, RouteId, SessionId};
use crate::sorted::Sorted;
use crate::time::Now;
use crate::view::SeatView;

/// Who sits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Holder {
    /// A session, across its calls.
    Session(SessionId),
    /// A call, for itself alone.
    Call(CallId),
}

/// Proof that an attempt was admitted. It is handed out once and comes back once; there is no
/// second one to give back.
#[must_use]
#[derive(Debug)]
pub struct Ticket {
    pub(crate) attempt: AttemptId,
    pub(crate) route: RouteId,
    pub(crate) began: Now,
    pub(crate) mode: Mode,
    /// Absent where the row has no cap.
    pub(crate) holder: Option<Holder>,
}

#[derive(Debug)]
struct Seat {
    lease: LeaseId,
    granted: bool,
    /// A call means to sit down and has not yet.
    wanted: bool,
    running: u32,
    last_ended: Now,
    leaving: bool,
    cap: u32,
    queue: QueueId,
    rest_ms: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Seats {
    seats: Sorted<Holder, Seat>,
    /// Attempts of rows without a cap; they fill the route all the same.
    unseated: u32,
    rest: Option<(Now, Holder)>,
}

/// A seat that was given back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GivenBack {
    pub(crate) holder: Holder,
    pub(crate) rest_ms: u64,
}

/// A row's rules for seats.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) queue: QueueId,
    pub(crate) cap: u32,
    pub(crate) idle_ms: u64,
    pub(crate) rest_ms: u64,
}

impl Seats {
    pub(crate) fn taken(&self) -> u32 {
        self.seats.len() as u32 + self.unseated
    }

    pub(crate) fn holds(&self, holder: Holder) -> bool {
        self.seats.get(&holder).is_some_and(|seat| seat.granted)
    }

    /// Whether a call means to sit down there and has not yet.
    pub(crate) fn is_wanted(&self, holder: Holder) -> bool {
        self.seats.get(&holder).is_some_and(|seat| seat.wanted)
    }

    /// Whether a seat is held or has been asked for.
    pub(crate) fn knows(&self, holder: Holder) -> bool {
        self.seats.contains_key(&holder)
    }

    pub(crate) fn holders(&self) -> impl Iterator<Item = Holder> + '_ {
        self.seats.keys().copied()
    }

    /// What a holder sees; `ahead` others have waited longer (R5).
    pub(crate) fn view(&self, now: Now, holder: Holder, row: Row, ahead: u32) -> SeatView {
        if let Some(seat) = self.seats.get(&holder) {
            return if seat.granted { SeatView::Held } else { SeatView::Asked };
        }
        if let Some((until, giver)) = self.rest
            && giver != holder
            && !now.reached(until)
        {
            return SeatView::Resting { ms: now.until(until) };
        }
        let idle = self.seats.values().filter(|seat| seat.is_idle(now, row.idle_ms)).count() as u32;
        let free = (row.cap + idle).saturating_sub(self.taken());
        if free > ahead {
            return SeatView::Free;
        }
        // What is idle already goes to somebody who came earlier.
        let idle_in = self.seats.values().filter_map(|seat| seat.idle_in(now, row.idle_ms));
        let soonest_ms = idle_in.filter(|ms| *ms > 0).min();
        SeatView::Full { soonest_ms }
    }

    /// Reserves a seat; idle ones are taken back where that is needed (R26).
    pub(crate) fn ask(
        &mut self,
        now: Now,
        holder: Holder,
        lease: LeaseId,
        row: Row,
    ) -> Vec<GivenBack> {
        let mut taken_back = Vec::new();
        while self.taken() >= row.cap {
            let idle = self.seats.iter().filter(|(_, seat)| seat.is_idle(now, row.idle_ms));
            let idlest = idle.min_by_key(|(_, seat)| seat.last_ended.mono_ms);
            let Some(holder) = idlest.map(|(holder, _)| *holder) else { break };
            self.seats.remove(&holder);
            // Nobody has used it for long: nothing upstream needs a rest.
            taken_back.push(GivenBack { holder, rest_ms: 0 });
        }
        let seat = Seat {
            lease,
            granted: false,
            wanted: true,
            running: 0,
            last_ended: now,
            leaving: false,
            cap: row.cap,
            queue: row.queue,
            rest_ms: row.rest_ms,
        };
        self.seats.insert(holder, seat);
        taken_back
    }

    /// The answer to a wish. A lease that nobody wants any more is returned without a rest.
    pub(crate) fn answer(&mut self, lease: LeaseId, granted: bool) -> Option<Holder> {
        let (&holder, seat) = self.seats.values_mut().find(|(_, seat)| seat.lease == lease)?;
        seat.granted = granted;
        let keep = granted && seat.wanted;
        if !keep {
            self.seats.remove(&holder);
        }
        Some(holder)
    }

    /// The call that asked has left before the answer came. Whether there was anything to leave
    /// behind.
    pub(crate) fn unwant(&mut self, holder: Holder) -> bool {
        self.seats.at_mut(&holder).is_some_and(|seat| core::mem::replace(&mut seat.wanted, false))
    }

    pub(crate) fn want_again(&mut self, holder: Holder) {
        if let Some(seat) = self.seats.at_mut(&holder) {
            seat.wanted = true;
            seat.leaving = false;
        }
    }

    /// Counts an attempt and says whose seat it sits on, so that its end is counted where its
    /// beginning was: without the relay nobody asks for a seat.
    pub(crate) fn start(&mut self, holder: Option<Holder>) -> Option<Holder> {
        let Some(seat) = holder.and_then(|holder| self.seats.at_mut(&holder)) else {
            self.unseated += 1;
            return None;
        };
        seat.running += 1;
        // Without the relay an attempt runs before the answer: the others' wish still stands.
        seat.wanted &= !seat.granted;
        holder
    }

    pub(crate) fn end(&mut self, now: Now, holder: Option<Holder>) -> Option<GivenBack> {
        let Some(holder) = holder else {
            self.unseated = self.unseated.saturating_sub(1);
            return None;
        };
        let seat = self.seats.at_mut(&holder)?;
        seat.running = seat.running.saturating_sub(1);
        seat.last_ended = now;
        (seat.leaving && seat.running == 0).then(|| self.give_back(now, holder)).flatten()
    }

    /// Gives a seat back, once the last attempt on it has ended; if all were taken, the route
    /// rests for others (R27).
    pub(crate) fn give_back(&mut self, now: Now, holder: Holder) -> Option<GivenBack> {
        let full = self.taken();
        let seat = self.seats.at_mut(&holder)?;
        if seat.running > 0 || !seat.granted {
            seat.leaving = true;
            seat.wanted &= seat.granted;
            return None;
        }
        let rest_ms = if full >= seat.cap { seat.rest_ms } else { 0 };
        self.seats.remove(&holder);
        let resting = self.rest_ms(now).unwrap_or(0);
        if rest_ms > resting {
            self.rest = Some((now.after(rest_ms), holder));
        }
        Some(GivenBack { holder, rest_ms })
    }

    /// What a call held for itself alone goes back with it, asked for or granted.
    pub(crate) fn give_back_call(&mut self, now: Now, call: CallId) -> Option<GivenBack> {
        self.unwant(Holder::Call(call));
        self.give_back(now, Holder::Call(call))
    }

    pub(crate) fn held_through(&self, queue: QueueId) -> Vec<Holder> {
        let through = self.seats.iter().filter(|(_, seat)| seat.queue == queue);
        through.map(|(holder, _)| *holder).collect()
    }

    pub(crate) const fn end_rest(&mut self) {
        self.rest = None;
    }

    pub(crate) fn rest_ms(&self, now: Now) -> Option<u64> {
        let (until, _) = self.rest?;
        (!now.reached(until)).then(|| now.until(until))
    }
}

impl Seat {
    fn is_idle(&self, now: Now, idle_ms: u64) -> bool {
        self.idle_in(now, idle_ms) == Some(0)
    }

    fn idle_in(&self, now: Now, idle_ms: u64) -> Option<u64> {
        // A seat that waits for its call is not idle; a wish that nobody has any more is, so that
        // one without an answer does not fill the route for ever.
        (!self.wanted && self.running == 0).then(|| now.until(self.last_ended.after(idle_ms)))
    }
}
