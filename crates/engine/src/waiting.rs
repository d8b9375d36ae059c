//! Calls that wait, first come first served (R5). It refuses to wake a call for nothing: whoever
//! would see what it saw would decide what it decided, and what time alone changes it has a timer for.

use alloc::vec::Vec;

use crate::call::Call;
use crate::engine::{Asker, Engine};
use crate::fact::Notice;
use crate::ids::{CallId, RouteId, SessionId};
use crate::seats::Holder;
use crate::time::Now;
use crate::view::{CandidateView, ParoleView, QuarantineView, SeatView};

/// Both clocks are read in whole milliseconds: the same moment may seem to have moved by so much.
const CLOCK_JITTER_MS: u64 = 2;

/// A call that waits.
pub(crate) struct Waiter {
    pub(crate) arrival: u64,
    asker: Asker,
    since: Now,
    /// A change of these wakes it.
    watched: Vec<Watched>,
    /// It was told no: any change, also one that it cannot see, is a reason to ask again.
    refused: bool,
    /// It would take these as soon as nobody else stands in the way; nobody who came later may.
    hopes: Vec<(RouteId, Holder)>,
}

/// A candidate of a call that waits.
struct Watched {
    route: RouteId,
    candidate: u32,
    /// What the call saw of it; absent where it did not look.
    seen: Option<CandidateView>,
    /// Whose wish for a seat there it has made.
    wish: Option<Holder>,
}

/// What may have changed on a route.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    /// Anything.
    Any,
    /// Somebody left the line of those who wait, and nothing else.
    Line,
}

/// What a call that waits has seen, and the routes that it hopes for.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) candidates: Vec<(u32, CandidateView)>,
    pub(crate) hopes: Vec<RouteId>,
    /// It had asked for a seat.
    pub(crate) refused: bool,
}

/// Who came earlier and waits for the same route.
#[derive(Clone, Copy, Default)]
pub(crate) struct Ahead {
    /// How many calls.
    pub(crate) calls: u32,
    /// How many of them have neither a seat there nor asked for one.
    pub(crate) seatless: u32,
    /// How many of them lack no seat: they hold one, or their row has no cap.
    pub(crate) ready: u32,
}

impl Waiter {
    pub(crate) const fn call(&self) -> CallId {
        self.asker.id
    }

    pub(crate) const fn session(&self) -> SessionId {
        self.asker.session
    }

    fn holder_on(&self, route: RouteId) -> Option<Holder> {
        self.hopes.iter().find(|(hoped, _)| *hoped == route).map(|(_, holder)| *holder)
    }
}

impl core::fmt::Debug for Waiter {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Waiter").field("call", &self.asker.id).finish_non_exhaustive()
    }
}

impl Engine {
    /// The call waits for a change of any of its candidates.
    pub(crate) fn wait(&mut self, now: Now, call: &Call, seen: &Seen, arrival: Option<u64>) {
        let asker = call.asker();
        let candidates = asker.queue.candidates.iter().zip(0..);
        let watched = candidates.map(|(candidate, index)| {
            let view = seen.candidates.iter().find(|(at, _)| *at == index);
            let seen = view.map(|(_, view)| *view);
            Watched { route: candidate.route, candidate: index, seen, wish: None }
        });
        let watched = watched.collect();
        let hopes = seen.hopes.iter();
        let hopes = hopes.map(|route| (*route, self.holder(&asker, *route))).collect();
        let (since, refused) = (now, seen.refused);
        self.enlist(arrival, |arrival| Waiter { arrival, asker, since, watched, refused, hopes });
    }

    /// The call has asked for a seat. The answer wakes it, and so does a change of whatever it
    /// passed over on its way there.
    pub(crate) fn wait_for_seat(
        &mut self,
        now: Now,
        call: &Call,
        seen: &Seen,
        (asked, holder): (u32, Holder),
        arrival: Option<u64>,
    ) {
        let Some(route) = call.candidate(asked).map(|candidate| candidate.route) else { return };
        let watched = seen.candidates.iter().filter_map(|(index, view)| {
            let (candidate, route) = (*index, call.candidate(*index)?.route);
            let own = candidate == asked;
            let seat = if own { SeatView::Asked } else { view.seat };
            let wish = own.then_some(holder);
            Some(Watched { route, candidate, seen: Some(CandidateView { seat, ..*view }), wish })
        });
        let (watched, hopes) = (watched.collect(), alloc::vec![(route, holder)]);
        let (asker, since, refused) = (call.asker(), now, false);
        self.enlist(arrival, |arrival| Waiter { arrival, asker, since, watched, refused, hopes });
    }

    fn enlist(&mut self, arrival: Option<u64>, waiter: impl FnOnce(u64) -> Waiter) {
        let arrival = arrival.unwrap_or_else(|| {
            self.arrivals += 1;
            self.arrivals
        });
        let place = self.waiters.partition_point(|waiter| waiter.arrival < arrival);
        self.waiters.insert(place, waiter(arrival));
    }

    /// Takes a call off the list, with its place in it.
    pub(crate) fn forget_waiter(&mut self, call: CallId) -> Option<Waiter> {
        let index = self.waiters.iter().position(|waiter| waiter.call() == call)?;
        Some(self.waiters.remove(index))
    }

    /// Whoever no longer waits for a route stands in nobody's way there.
    pub(crate) fn step_aside(&mut self, waiter: &Waiter) {
        for (route, _) in &waiter.hopes {
            let waits =
                |other: &Waiter| other.call() == waiter.call() && other.holder_on(*route).is_some();
            if !self.waiters.iter().any(waits) {
                self.wake_after(*route, Change::Line);
            }
        }
    }

    /// Who came before and hopes for this very route.
    pub(crate) fn ahead(&self, route: RouteId, call: CallId, arrival: u64) -> Ahead {
        let earlier = |waiter: &&Waiter| waiter.arrival < arrival && waiter.call() != call;
        let mut ahead = Ahead::default();
        for waiter in self.waiters.iter().filter(earlier) {
            self.count(&mut ahead, waiter, route);
        }
        ahead
    }

    fn count(&self, ahead: &mut Ahead, waiter: &Waiter, route: RouteId) {
        let Some(holder) = waiter.holder_on(route) else { return };
        let seats = self.routes.get(&route).map(|route| &route.seats);
        let mut rows = waiter.asker.queue.candidates.iter().filter(|row| row.route == route);
        let capped = rows.any(|row| row.max_sessions.is_some());
        ahead.calls += 1;
        ahead.seatless += u32::from(!seats.is_some_and(|seats| seats.knows(holder)));
        ahead.ready += u32::from(!capped || seats.is_some_and(|seats| seats.holds(holder)));
    }

    /// Wakes those who see another route than the one that they wait for, in their order: of a
    /// hundred that wait for one seat, the first when it is free.
    pub(crate) fn wake(&mut self, route: RouteId) {
        self.wake_after(route, Change::Any);
    }

    fn wake_after(&mut self, route: RouteId, change: Change) {
        let mut ahead = Ahead::default();
        let mut woken = Vec::new();
        for waiter in &self.waiters {
            let watched = waiter.watched.iter().find(|watched| watched.route == route);
            let again = waiter.refused && change == Change::Any;
            if watched.is_some_and(|watched| again || !self.is_as_seen(waiter, watched, ahead)) {
                woken.push(Notice::Wake(waiter.call()));
            }
            self.count(&mut ahead, waiter, route);
        }
        self.notices.extend(woken);
    }

    fn is_as_seen(&self, waiter: &Waiter, watched: &Watched, ahead: Ahead) -> bool {
        let candidate = waiter.asker.queue.candidates.get(watched.candidate as usize);
        let session = self.sessions.get(&waiter.session());
        let (Some(candidate), Some(session), Some(seen)) = (candidate, session, watched.seen)
        else {
            return false;
        };
        let view = self.candidate_view(self.latest, &waiter.asker, session, candidate, ahead);
        let stands = |holder| {
            let route = self.routes.get(&watched.route);
            route.is_some_and(|route| route.seats.is_wanted(holder))
        };
        // A wish that another call of the session has dropped has to be made again.
        watched.wish.is_none_or(stands)
            && Moments { then: waiter.since, now: self.latest }.same_view(&seen, &view)
    }
}

/// Compares what was seen at two moments.
#[derive(Clone, Copy)]
struct Moments {
    then: Now,
    now: Now,
}

impl Moments {
    /// Whether nothing but time has changed that decides whether a candidate can run, and when.
    fn same_view(self, seen: &CandidateView, view: &CandidateView) -> bool {
        // Who goes first after a cooldown goes alone; the others have to wait for it in any case.
        let alone = |view: &CandidateView| view.untested && !view.probing;
        seen.verified == view.verified
            && seen.stand_in == view.stand_in
            && seen.probing == view.probing
            && alone(seen) == alone(view)
            && self.same_span(seen.cooling_ms, view.cooling_ms)
            && self.same_seat(seen.seat, view.seat)
            && match (seen.quarantine, view.quarantine) {
                (None, None) => true,
                (Some(seen), Some(view)) => self.same_quarantine(seen, view),
                (None, Some(_)) | (Some(_), None) => false,
            }
    }

    fn same_quarantine(self, seen: QuarantineView, view: QuarantineView) -> bool {
        let span = |parole| match parole {
            ParoleView::In(ms) => Some(ms),
            ParoleView::Never | ParoleView::Running => None,
        };
        let running = |parole| matches!(parole, ParoleView::Running);
        seen.class == view.class
            && running(seen.parole) == running(view.parole)
            && self.same_span(span(seen.parole), span(view.parole))
            && self.same_span(seen.ends_ms, view.ends_ms)
    }

    fn same_seat(self, seen: SeatView, view: SeatView) -> bool {
        match (seen, view) {
            (SeatView::Full { soonest_ms: seen }, SeatView::Full { soonest_ms: view }) => {
                self.same_span(seen, view)
            }
            (SeatView::Resting { ms: seen }, SeatView::Resting { ms: view }) => {
                self.same_span(Some(seen), Some(view))
            }
            (SeatView::Open, SeatView::Open)
            | (SeatView::Held, SeatView::Held)
            | (SeatView::Free, SeatView::Free)
            | (SeatView::Asked, SeatView::Asked) => true,
            (
                SeatView::Open
                | SeatView::Held
                | SeatView::Free
                | SeatView::Asked
                | SeatView::Full { .. }
                | SeatView::Resting { .. },
                _,
            ) => false,
        }
    }

    /// Whether both spans end at the same moment.
    fn same_span(self, seen: Option<u64>, view: Option<u64>) -> bool {
        match (seen, view) {
            (None, None) => true,
            (Some(seen), Some(view)) => {
                let passed = self.now.mono_ms.saturating_sub(self.then.mono_ms);
                seen.saturating_sub(passed).abs_diff(view) <= CLOCK_JITTER_MS
            }
            (None, Some(_)) | (Some(_), None) => false,
        }
    }
}
