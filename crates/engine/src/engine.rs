//! The shared half of the decisions: what every call may know of every other. One value behind one
//! lock; nothing here waits, and nothing is written out under it.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::call::{Call, Decision, Purpose, Seating, Start, State};
use crate::choose::Mode;
use crate::continuation::Continuation;
use crate::fact::{Fact, LiftedBy, Notice, Place, Want};
use crate::ids::{CallId, LeaseId, RouteId, SessionId};
use crate::pausing::Whose;
use crate::policy::{Candidate, Policy, Queue, Switch};
use crate::seats::{Holder, Row, Ticket};
use crate::shared::{
    BUDGET_CALL, BUDGET_FULL, BUDGET_RETRY, Probe, Quarantined, Route, Running, Session,
};
use crate::sorted::Sorted;
use crate::time::{Day, Now};
use crate::view::{CandidateView, ParoleView, QuarantineView, SeatView, Sight, View};
use crate::waiting::{Ahead, Seen, Waiter};

/// Quarantines, cooldowns, seats, budgets and tallies.
#[derive(Debug)]
pub struct Engine {
    pub(crate) day: Day,
    pub(crate) routes: BTreeMap<RouteId, Route>,
    pub(crate) sessions: BTreeMap<SessionId, Session>,
    pub(crate) waiters: Vec<Waiter>,
    pub(crate) notices: VecDeque<Notice>,
    pub(crate) pauses: Sorted<Whose, ()>,
    /// The routes that cool, so that nobody looks at all the others.
    cooling: Vec<RouteId>,
    pub(crate) continuation: Continuation,
    leases: u64,
    pub(crate) arrivals: u64,
    /// When it was last told the time.
    pub(crate) latest: Now,
    sessions_max: usize,
}

/// The most sessions that are remembered; the longest unseen are forgotten beyond it.
const SESSIONS_MAX: usize = 100_000;

impl Engine {
    /// An engine that knows nothing yet.
    #[must_use]
    pub const fn new(day: Day) -> Self {
        Self {
            day,
            routes: BTreeMap::new(),
            sessions: BTreeMap::new(),
            waiters: Vec::new(),
            notices: VecDeque::new(),
            pauses: Sorted::new(),
            cooling: Vec::new(),
            continuation: Continuation::OFF,
            leases: 0,
            arrivals: 0,
            latest: Now { mono_ms: 0, wall_ms: 0 },
            sessions_max: SESSIONS_MAX,
        }
    }

    /// Remembers at most `most` sessions.
    #[must_use]
    pub const fn with_sessions_max(mut self, most: usize) -> Self {
        self.sessions_max = most;
        self
    }

    /// Shows the shared state to a call and carries out what it decides. Answers
    /// [`crate::Output::Admit`].
    pub fn admit(&mut self, now: Now, call: &mut Call) -> Decision {
        self.settle(now, call);
        let waiter = self.forget_waiter(call.spec.id);
        let arrival = waiter.as_ref().map(|waiter| waiter.arrival);
        self.touch(now, call.spec.session);
        let place = if call.is_retrying() { 0 } else { arrival.unwrap_or(u64::MAX) };
        let retry = call.unpaid_retry();
        let before = call.last_candidate;
        let (decision, seen) = self.show(now, call, place);
        match decision {
            Decision::Go(start) => {
                if retry {
                    self.pay_retry(call, start.candidate);
                } else {
                    self.first_attempt(call, before, start);
                }
                self.begin(now, call, start);
            }
            Decision::Pause { .. } => {
                if let Some(candidate) = before.filter(|_| retry) {
                    self.pay_retry(call, candidate);
                }
            }
            Decision::Lease { candidate } => self.ask(now, call, candidate, &seen, arrival),
            Decision::Wait { .. } => self.wait(now, call, &seen, arrival),
            Decision::Judge { .. } | Decision::Exhausted(_) => {}
        }
        if let Some(waiter) = waiter {
            self.step_aside(&waiter);
        }
        decision
    }

    /// The answer to a [`Want`].
    pub fn answer(&mut self, lease: LeaseId, route: RouteId, grant: Grant) {
        let granted = grant == Grant::Granted;
        let state = self.routes.entry(route).or_default();
        let Some(holder) = state.seats.answer(lease, granted) else { return };
        if granted && state.seats.holds(holder) {
            self.notices.push_back(Notice::Fact(Fact::Seated { route, holder }));
        }
        self.wake(route);
    }

    /// What there is to tell, oldest first.
    pub fn poll_notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    /// The day as the engine knows it.
    #[must_use]
    pub const fn day(&self) -> Day {
        self.day
    }

    /// Shows a call as much as it asks to see, and what it decides; it changes nothing but what time
    /// itself has changed. Where the call waits or asks for a seat, also what it has seen.
    pub(crate) fn show(&mut self, now: Now, call: &mut Call, arrival: u64) -> (Decision, Seen) {
        let asker = call.asker();
        self.expire(now, asker.session);
        self.warm_up(now, &asker.queue);
        let session = self.sessions.get(&asker.session);
        let look = |index: u32| match (session, asker.queue.candidates.get(index as usize)) {
            (Some(session), Some(candidate)) => {
                let ahead = self.ahead(candidate.route, asker.id, arrival);
                self.candidate_view(now, &asker, session, candidate, ahead)
            }
            (_, _) => CandidateView::FRESH,
        };
        let sight = Sight::fresh(&self.outline(&asker), &look);
        let refused = matches!(call.state, State::AwaitingLease { .. });
        let decision = call.decide(now, &sight);
        let seen = match decision {
            Decision::Wait { .. } => {
                let (candidates, hopes) = (sight.view().candidates, call.hopes(&sight));
                Seen { candidates, hopes, refused }
            }
            Decision::Lease { .. } => {
                Seen { candidates: sight.view().candidates, ..Seen::default() }
            }
            Decision::Go(_)
            | Decision::Pause { .. }
            | Decision::Judge { .. }
            | Decision::Exhausted(_) => Seen::default(),
        };
        (decision, seen)
    }

    /// Cooldowns whose time is up make way for one lone call each.
    fn warm_up(&mut self, now: Now, queue: &Queue) {
        let due = |id: &RouteId| queue.candidates.iter().any(|candidate| candidate.route == *id);
        let mut index = 0;
        while let Some(id) = self.cooling.get(index).copied() {
            let state = self.routes.get_mut(&id);
            let cooling = state.is_some_and(|route| {
                if due(&id) {
                    route.warm_up(now);
                }
                route.is_cooling()
            });
            if cooling {
                index += 1;
            } else {
                self.cooling.swap_remove(index);
            }
        }
    }

    /// A route cools for everybody (R21).
    pub(crate) fn cool(&mut self, now: Now, route: RouteId, ms: u64) {
        self.routes.entry(route).or_default().cool(now, ms);
        if !self.cooling.contains(&route) {
            self.cooling.push(route);
        }
    }

    /// What a call sees without looking at any candidate.
    fn outline(&self, asker: &Asker) -> View {
        let (queue, policy) = (&asker.queue, &asker.queue.policy);
        let rotate_after = match asker.purpose {
            Purpose::Main => policy.rotate_after,
            Purpose::Internal => 0,
        };
        let session = self.sessions.get(&asker.session);
        let out = |session: &Session| {
            policy.quarantine.is_on()
                && session.quarantined.keys().any(|(id, route)| {
                    *id == queue.id && queue.candidates.iter().any(|c| c.route == *route)
                })
        };
        let switch = |on: bool| if on { Switch::On } else { Switch::Off };
        View {
            candidates: Vec::new(),
            start: session.map_or(0, |session| session.rotation(queue.id, rotate_after)),
            current: session.and_then(|session| current(session, queue)),
            paused: switch(self.is_paused(asker.session)),
            reordered: switch(session.is_some_and(out)),
        }
    }

    pub(crate) fn candidate_view(
        &self,
        now: Now,
        spec: &Asker,
        session: &Session,
        candidate: &Candidate,
        ahead: Ahead,
    ) -> CandidateView {
        let route_id = candidate.route;
        let policy = &spec.queue.policy;
        let key = (spec.queue.id, route_id);
        let blank;
        let route = match self.routes.get(&route_id) {
            Some(route) => route,
            None if session.knows_nothing(key) && candidate.is_open() => {
                return CandidateView::FRESH;
            }
            None => {
                blank = Route::default();
                &blank
            }
        };
        let out = session.quarantined.get(&key).filter(|_| policy.quarantine.is_on());
        let quarantine = out.map(|out| quarantine_view(now, policy, out, spec.id));
        let lone = route.probe == Probe::Needed;
        CandidateView {
            quarantine,
            verified: session.verified.contains_key(&key),
            cooling_ms: route.cooling.map(|cooling| now.until(cooling.until)),
            stand_in: route.cooled_until.is_some_and(|over| session.stands_in(route_id, over)),
            probing: match route.probe {
                Probe::Running(other) => other != spec.id,
                Probe::Needed => ahead.calls > 0,
                Probe::Unneeded => false,
            },
            untested: lone,
            seat: self.seat_view(now, spec, candidate, route, ahead),
            single: route.single(spec.writes_to(), now, policy.judged_memory_ms),
        }
    }

    fn seat_view(
        &self,
        now: Now,
        asker: &Asker,
        candidate: &Candidate,
        route: &Route,
        ahead: Ahead,
    ) -> SeatView {
        let seat = match row(&asker.queue, candidate) {
            None => SeatView::Open,
            Some(row) => {
                route.seats.view(now, self.holder(asker, candidate.route), row, ahead.seatless)
            }
        };
        // Whoever has a seat does not wait behind those who lack one: they may be waiting for his.
        let before = if seat == SeatView::Held { ahead.ready } else { ahead.calls };
        let crowded = |most| route.in_flight + before >= most;
        let crowded = candidate.max_in_flight.is_some_and(crowded);
        match seat {
            SeatView::Open | SeatView::Held | SeatView::Free if crowded => {
                SeatView::Full { soonest_ms: None }
            }
            SeatView::Open
            | SeatView::Held
            | SeatView::Free
            | SeatView::Asked
            | SeatView::Full { .. }
            | SeatView::Resting { .. } => seat,
        }
    }

    /// R47: an internal call may use its session's seat, but takes none in its name.
    pub(crate) fn holder(&self, asker: &Asker, route: RouteId) -> Holder {
        let session = Holder::Session(asker.session);
        let own = match (asker.purpose, asker.seating) {
            (Purpose::Main, Seating::Session) => true,
            (Purpose::Internal, Seating::Session) => {
                self.routes.get(&route).is_some_and(|route| route.seats.holds(session))
            }
            (Purpose::Main | Purpose::Internal, Seating::Call) => false,
        };
        if own { session } else { Holder::Call(asker.id) }
    }

    fn begin(&mut self, now: Now, call: &mut Call, start: Start) {
        let Some(candidate) = call.candidate(start.candidate).copied() else { return };
        let holder =
            row(&call.spec.queue, &candidate).map(|_| self.holder(&call.asker(), candidate.route));
        let (id, spec) = (call.spec.id, call.spec.clone());
        let route = self.routes.entry(candidate.route).or_default();
        route.in_flight += 1;
        let holder = route.seats.start(holder);
        if start.mode == Mode::Probe {
            route.probe = Probe::Running(id);
        }
        let place = Place { session: spec.session, queue: spec.queue.id, route: candidate.route };
        let session = self.sessions.entry(spec.session).or_default();
        session.running.push(Running {
            call: id,
            attempt: start.attempt,
            route: candidate.route,
            began: now,
            main: spec.purpose == Purpose::Main,
            instead_of: call.instead_of.clone(),
        });
        if matches!(start.mode, Mode::Parole | Mode::LastResort)
            && let Some(out) = session.quarantined.at_mut(&(place.queue, place.route))
        {
            if start.mode == Mode::Parole {
                out.trial = Some(id);
            }
            let trial = Fact::OnTrial { place, call: id, mode: start.mode };
            self.notices.push_back(Notice::Fact(trial));
        }
        call.seat(Ticket {
            attempt: start.attempt,
            route: candidate.route,
            began: now,
            mode: start.mode,
            holder,
        });
    }

    fn first_attempt(&mut self, call: &Call, before: Option<u32>, start: Start) {
        let Some(candidate) = call.candidate(start.candidate) else { return };
        let to = candidate.route;
        if before == Some(start.candidate) {
            return;
        }
        let broken = call.spec.tried.last().copied();
        let route = self.routes.entry(to).or_default();
        route.budget = (route.budget + BUDGET_CALL).min(BUDGET_FULL);
        let before = before.and_then(|index| call.candidate(index)).map(|from| from.route);
        if let Some(from) = before.or(broken) {
            let moved = Fact::FailedOver { call: call.spec.id, from, to };
            self.notices.push_back(Notice::Fact(moved));
        }
    }

    fn pay_retry(&mut self, call: &Call, candidate: u32) {
        if let Some(candidate) = call.candidate(candidate) {
            let route = self.routes.entry(candidate.route).or_default();
            route.budget = route.budget.saturating_sub(BUDGET_RETRY);
        }
    }

    fn ask(&mut self, now: Now, call: &Call, index: u32, seen: &Seen, arrival: Option<u64>) {
        let Some(candidate) = call.candidate(index).copied() else { return };
        let Some(row) = row(&call.spec.queue, &candidate) else { return };
        let holder = self.holder(&call.asker(), candidate.route);
        self.wait_for_seat(now, call, seen, (index, holder), arrival);
        let route = self.routes.entry(candidate.route).or_default();
        let seat = route.seats.view(now, holder, row, 0);
        match seat {
            SeatView::Asked => route.seats.want_again(holder),
            SeatView::Open | SeatView::Held | SeatView::Resting { .. } => {}
            SeatView::Free | SeatView::Full { .. } => {
                self.leases += 1;
                let lease = LeaseId(self.leases);
                let taken_back = route.seats.ask(now, holder, lease, row);
                if taken_back.len() > 1 {
                    // A narrow row has made more room than it needs: a wider one may use it.
                    self.wake(candidate.route);
                }
                for back in taken_back {
                    let holder = back.holder;
                    let fact = Fact::Unseated { route: candidate.route, holder, rest_ms: 0 };
                    self.notices.push_back(Notice::Fact(fact));
                }
                let want = Want { lease, route: candidate.route, holder, cap: row.cap };
                self.notices.push_back(Notice::Want(want));
            }
        }
    }

    fn touch(&mut self, now: Now, session: SessionId) {
        if self.sessions.len() >= self.sessions_max && !self.sessions.contains_key(&session) {
            self.forget_longest_unseen();
        }
        self.sessions.entry(session).or_default().seen = now;
    }

    /// A tenth goes at once, so that a flood of sessions costs a scan only now and then.
    fn forget_longest_unseen(&mut self) {
        let idle = self.sessions.iter().filter(|(_, session)| session.running.is_empty());
        let mut unseen: Vec<(bool, u64, SessionId)> =
            idle.map(|(id, session)| (!session.is_blank(), session.seen.mono_ms, *id)).collect();
        unseen.sort_unstable();
        for (_, _, id) in unseen.into_iter().take(self.sessions_max / 10 + 1) {
            self.sessions.remove(&id);
        }
    }

    /// A quarantine whose own reset has come is gone, and nothing brings it back (R17).
    pub(crate) fn expire(&mut self, now: Now, session: SessionId) {
        let Some(state) = self.sessions.get_mut(&session) else { return };
        let over = |out: &Quarantined| out.facts.until_ms.is_some_and(|at| now.wall_ms >= at);
        let gone: Vec<_> =
            state.quarantined.iter().filter(|(_, out)| over(out)).map(|(key, _)| *key).collect();
        for (queue, route) in gone {
            state.quarantined.remove(&(queue, route));
            let place = Place { session, queue, route };
            self.notices.push_back(Notice::Fact(Fact::Lifted { place, by: LiftedBy::Reset }));
        }
    }

    pub(crate) fn write_session(&mut self, now: Now, id: SessionId) -> &mut Session {
        let session = self.sessions.entry(id).or_default();
        session.seen = now;
        session
    }
}

/// The answer to a wish for a seat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grant {
    /// The seat is the holder's.
    Granted,
    /// Somebody else was faster.
    Refused,
}

impl CandidateView {
    /// A candidate that nothing is known about.
    pub const FRESH: Self = Self {
        quarantine: None,
        verified: false,
        cooling_ms: None,
        stand_in: false,
        probing: false,
        untested: false,
        seat: SeatView::Open,
        single: false,
    };
}

fn quarantine_view(now: Now, policy: &Policy, out: &Quarantined, call: CallId) -> QuarantineView {
    let parole = match (out.parole, out.trial) {
        (_, Some(other)) if other != call => ParoleView::Running,
        (Some(due), _) if policy.parole_after_ms > 0 => ParoleView::In(now.until(due)),
        (Some(_) | None, _) => ParoleView::Never,
    };
    let ends_ms = out.facts.until_ms.map(|at| at.saturating_sub(now.wall_ms));
    QuarantineView { class: out.facts.class, parole, ends_ms }
}

/// Where a call writes what it learns (R47).
pub(crate) const fn writes_to(call: &Call) -> SessionId {
    match call.spec.purpose {
        Purpose::Main => call.spec.session,
        Purpose::Internal => SessionId::BACKGROUND,
    }
}

/// What the shared state has to know of a call to show it anything.
pub(crate) struct Asker {
    pub(crate) id: CallId,
    pub(crate) queue: Arc<Queue>,
    pub(crate) session: SessionId,
    pub(crate) seating: Seating,
    pub(crate) purpose: Purpose,
}

impl Asker {
    const fn writes_to(&self) -> SessionId {
        match self.purpose {
            Purpose::Main => self.session,
            Purpose::Internal => SessionId::BACKGROUND,
        }
    }
}

/// H3: who answered last, where that counts.
fn current(session: &Session, queue: &Queue) -> Option<u32> {
    let route = session.current.get(&queue.id).filter(|_| queue.policy.sticky.is_on())?;
    let index = queue.candidates.iter().position(|candidate| candidate.route == *route)?;
    Some(index as u32)
}

fn row(queue: &Queue, candidate: &Candidate) -> Option<Row> {
    candidate.max_sessions.map(|cap| Row {
        queue: queue.id,
        cap,
        idle_ms: queue.policy.lease_idle_ms,
        rest_ms: queue.policy.rest_ms,
    })
}
