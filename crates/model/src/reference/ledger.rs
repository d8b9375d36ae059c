//! Routes and seats: what belongs to everybody (R0), and who sits where (R24 to R28).

use ekiden_engine::{
    CallId, Candidate, Fact, Holder, LeaseId, Now, Purpose, QueueId, Release, RouteId, SeatView,
    Seating, SessionId,
};

use super::{InLine, Reference, Runner};

/// A route.
#[derive(Clone, Debug)]
pub(crate) struct Road {
    /// Since when, until when.
    pub(crate) cooling: Option<(Now, Now)>,
    /// When the last cooldown that ran out was over.
    pub(crate) over_ms: Option<u64>,
    pub(crate) lone: Lone,
    pub(crate) seats: Vec<Seat>,
    /// Attempts of rows without a cap.
    pub(crate) loose: u32,
    pub(crate) rest: Option<(Now, Holder)>,
    pub(crate) in_flight: u32,
    /// In thousandths of a retry.
    pub(crate) budget: u32,
    pub(crate) judged: Vec<(SessionId, u64)>,
    /// Failures and openings in a row.
    pub(crate) failures: u32,
    pub(crate) opened: u32,
    pub(crate) good: u32,
    pub(crate) bad: u32,
}

/// R22.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lone {
    NotNeeded,
    Needed,
    Runs(CallId),
}

#[derive(Clone, Debug)]
pub(crate) struct Seat {
    pub(crate) holder: Holder,
    lease: LeaseId,
    pub(crate) granted: bool,
    wanted: bool,
    busy: u32,
    quiet_since: Now,
    leaving: bool,
    cap: u32,
    queue: QueueId,
    rest_ms: u64,
}

impl Seat {
    pub(crate) const fn is_awaited(&self) -> bool {
        self.wanted && !self.granted
    }
}

impl Default for Road {
    fn default() -> Self {
        Self {
            cooling: None,
            over_ms: None,
            lone: Lone::NotNeeded,
            seats: Vec::new(),
            loose: 0,
            rest: None,
            in_flight: 0,
            budget: 10_000,
            judged: Vec::new(),
            failures: 0,
            opened: 0,
            good: 0,
            bad: 0,
        }
    }
}

impl Road {
    pub(crate) fn taken(&self) -> u32 {
        self.seats.len() as u32 + self.loose
    }

    pub(crate) fn seat(&mut self, holder: Holder) -> Option<&mut Seat> {
        self.seats.iter_mut().find(|seat| seat.holder == holder)
    }

    fn idle_in(seat: &Seat, now: Now, idle_ms: u64) -> Option<u64> {
        // A running one is never idle, and neither is one that a call is about to take.
        if seat.busy > 0 || seat.wanted {
            return None;
        }
        Some(now.until(seat.quiet_since.after(idle_ms)))
    }

    pub(crate) fn begin(&mut self, holder: Option<Holder>) -> Option<Holder> {
        self.in_flight += 1;
        match holder.and_then(|holder| self.seat(holder)) {
            Some(seat) => {
                seat.busy += 1;
                seat.wanted = seat.is_awaited();
                holder
            }
            None => {
                self.loose += 1;
                None
            }
        }
    }

    pub(crate) fn end(&mut self, now: Now, holder: Option<Holder>) {
        self.in_flight -= 1;
        let Some(holder) = holder else {
            self.loose -= 1;
            return;
        };
        let Some(seat) = self.seat(holder) else { return };
        seat.busy = seat.busy.saturating_sub(1);
        seat.quiet_since = now;
        if seat.leaving && seat.busy == 0 {
            self.give_back(now, holder);
        }
    }

    /// R24, R27.
    pub(crate) fn give_back(&mut self, now: Now, holder: Holder) {
        let all = self.taken();
        let Some(index) = self.seats.iter().position(|seat| seat.holder == holder) else { return };
        let seat = &mut self.seats[index];
        if !seat.granted {
            (seat.leaving, seat.wanted) = (true, false);
            return;
        }
        if seat.busy > 0 {
            seat.leaving = true;
            return;
        }
        let seat = self.seats.remove(index);
        let still = self.resting(now).unwrap_or(0);
        if all >= seat.cap && seat.rest_ms > still {
            self.rest = Some((now.after(seat.rest_ms), holder));
        }
    }

    pub(crate) fn resting(&self, now: Now) -> Option<u64> {
        let (until, _) = self.rest?;
        (!now.reached(until)).then(|| now.until(until))
    }

    pub(crate) fn warm(&mut self) {
        self.cooling = None;
        self.over_ms = None;
        self.lone = Lone::NotNeeded;
        (self.failures, self.opened) = (0, 0);
    }
}

impl Reference {
    /// Whose seat a call uses (R24, R47).
    pub(crate) fn holder(&self, runner: &Runner, route: RouteId) -> Holder {
        let session = Holder::Session(runner.spec.session);
        let sits = self.roads.get(&route).is_some_and(|road| {
            road.seats.iter().any(|seat| seat.holder == session && seat.granted)
        });
        match (runner.spec.seating, runner.spec.purpose) {
            (Seating::Session, Purpose::Main) => session,
            (Seating::Session, Purpose::Internal) if sits => session,
            (Seating::Session, Purpose::Internal) | (Seating::Call, _) => {
                Holder::Call(runner.spec.id)
            }
        }
    }

    /// Whether there is room, for one behind `ahead`.
    pub(crate) fn room(
        &self,
        now: Now,
        runner: &Runner,
        candidate: &Candidate,
        ahead: &[InLine],
    ) -> SeatView {
        let Some(road) = self.roads.get(&candidate.route) else { return SeatView::Open };
        let before: Vec<Holder> = ahead
            .iter()
            .flat_map(|other| &other.hopes)
            .filter(|(route, _)| *route == candidate.route)
            .map(|(_, holder)| *holder)
            .collect();
        let seat = self.seat_room(now, runner, candidate, road, &before);
        let first = match seat {
            SeatView::Held => {
                ahead.iter().filter(|o| self.lacks_no_seat(o, candidate.route)).count()
            }
            SeatView::Open
            | SeatView::Free
            | SeatView::Asked
            | SeatView::Full { .. }
            | SeatView::Resting { .. } => before.len(),
        };
        let full =
            candidate.max_in_flight.is_some_and(|most| road.in_flight + first as u32 >= most);
        match seat {
            SeatView::Open | SeatView::Held | SeatView::Free if full => {
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

    /// Whether somebody in the line could run on a route as far as seats go.
    fn lacks_no_seat(&self, other: &InLine, route: RouteId) -> bool {
        let Some((_, holder)) = other.hopes.iter().find(|(hoped, _)| *hoped == route) else {
            return false;
        };
        let queue = self.runners.get(&other.call).map(|runner| &runner.spec.queue);
        let row = queue.and_then(|queue| queue.candidates.iter().find(|row| row.route == route));
        let seats = self.roads.get(&route).map_or(&[][..], |road| &road.seats);
        row.is_some_and(|row| row.max_sessions.is_none())
            || seats.iter().any(|seat| seat.holder == *holder && seat.granted)
    }

    fn seat_room(
        &self,
        now: Now,
        runner: &Runner,
        candidate: &Candidate,
        road: &Road,
        before: &[Holder],
    ) -> SeatView {
        let Some(cap) = candidate.max_sessions else { return SeatView::Open };
        let holder = self.holder(runner, candidate.route);
        let own = road.seats.iter().find(|seat| seat.holder == holder);
        match own {
            Some(seat) if seat.granted => return SeatView::Held,
            Some(_) => return SeatView::Asked,
            None => {}
        }
        if let (Some((_, giver)), Some(ms)) = (road.rest, road.resting(now))
            && giver != holder
        {
            return SeatView::Resting { ms };
        }
        let idle_ms = runner.spec.queue.policy.lease_idle_ms;
        let idle_in: Vec<u64> =
            road.seats.iter().filter_map(|seat| Road::idle_in(seat, now, idle_ms)).collect();
        let idle = idle_in.iter().filter(|ms| **ms == 0).count() as u32;
        let sits = |holder: &&Holder| road.seats.iter().any(|seat| seat.holder == **holder);
        let seatless = before.iter().filter(|holder| !sits(holder)).count() as u32;
        if (cap + idle).saturating_sub(road.taken()) > seatless {
            SeatView::Free
        } else {
            SeatView::Full { soonest_ms: idle_in.into_iter().filter(|ms| *ms > 0).min() }
        }
    }

    /// A seat is asked for, or asked for again.
    pub(crate) fn ask(&mut self, now: Now, runner: &Runner, index: usize) {
        let Some(candidate) = runner.spec.queue.candidates.get(index).copied() else { return };
        let Some(cap) = candidate.max_sessions else { return };
        let holder = self.holder(runner, candidate.route);
        if let Some(seat) = self.road(candidate.route).seat(holder) {
            (seat.wanted, seat.leaving) = (true, false);
            return;
        }
        let lease = self.next_lease();
        let policy = &runner.spec.queue.policy;
        let idle_ms = policy.lease_idle_ms;
        let road = self.road(candidate.route);
        while road.taken() >= cap {
            // R26: the one that has been idle longest.
            let mut idle: Vec<(u64, Holder)> = road
                .seats
                .iter()
                .filter(|seat| Road::idle_in(seat, now, idle_ms) == Some(0))
                .map(|seat| (seat.quiet_since.mono_ms, seat.holder))
                .collect();
            idle.sort_unstable();
            let Some((_, loser)) = idle.first().copied() else { break };
            road.seats.retain(|seat| seat.holder != loser);
        }
        road.seats.push(Seat {
            holder,
            lease,
            granted: false,
            wanted: true,
            busy: 0,
            quiet_since: now,
            leaving: false,
            cap,
            queue: runner.spec.queue.id,
            rest_ms: policy.rest_ms,
        });
    }

    /// The answer to a wish.
    pub fn answer(&mut self, lease: LeaseId, route: RouteId, granted: bool) {
        let road = self.road(route);
        let Some(seat) = road.seats.iter_mut().find(|seat| seat.lease == lease) else { return };
        seat.granted = granted;
        if !granted || !seat.wanted {
            road.seats.retain(|seat| seat.lease != lease);
        }
    }

    /// A call is over: it stands in no line, and what it held for itself goes back.
    pub(crate) fn leave(&mut self, now: Now, runner: &Runner) {
        let id = runner.spec.id;
        self.line.retain(|other| other.call != id);
        for index in &runner.touched {
            let candidate = &runner.spec.queue.candidates[*index];
            self.end_trial(runner, candidate.route);
            let own = match (runner.spec.purpose, runner.spec.seating) {
                (Purpose::Main, Seating::Session) => Holder::Session(runner.spec.session),
                (Purpose::Internal, _) | (_, Seating::Call) => Holder::Call(id),
            };
            let road = self.road(candidate.route);
            if let Some(seat) = road.seat(own) {
                seat.wanted = false;
            }
            road.give_back(now, Holder::Call(id));
        }
    }

    /// R19.
    pub fn release(&mut self, release: Release) {
        match release {
            Release::Session(session) => self.talk(session).out.clear(),
            Release::Place(place) => {
                self.talk(place.session).out.remove(&(place.queue, place.route));
            }
            Release::Route(route) => {
                let road = self.road(route);
                road.rest = None;
                road.warm();
            }
            Release::All => {
                self.talks.values_mut().for_each(|talk| talk.out.clear());
                for road in self.roads.values_mut() {
                    road.rest = None;
                    road.warm();
                }
            }
        }
    }

    /// A session is over.
    pub fn end_session(&mut self, now: Now, session: SessionId) {
        for road in self.roads.values_mut() {
            road.give_back(now, Holder::Session(session));
        }
        if let Some(talk) = self.talks.get_mut(&session) {
            talk.turns.over();
        }
    }

    /// A candidate has left its queue.
    pub fn leave_queue(&mut self, now: Now, queue: QueueId, route: RouteId) {
        let road = self.road(route);
        let mut through: Vec<Holder> =
            road.seats.iter().filter(|seat| seat.queue == queue).map(|seat| seat.holder).collect();
        through.sort_unstable();
        through.into_iter().for_each(|holder| road.give_back(now, holder));
    }

    /// A kept fact after a restart.
    pub fn recall(&mut self, now: Now, fact: &Fact) {
        let today = self.day.number;
        match *fact {
            Fact::Quarantined { place, quarantine, .. } if quarantine.day == today => {
                let key = (place.queue, place.route);
                self.talk(place.session).out.insert(key, super::trial::counted(now, quarantine));
            }
            Fact::Lifted { place, .. } => {
                self.talk(place.session).out.remove(&(place.queue, place.route));
            }
            Fact::Verified { place, day } if day == today => {
                self.talk(place.session).verified.insert((place.queue, place.route));
            }
            Fact::Unverified { place } => {
                self.talk(place.session).verified.remove(&(place.queue, place.route));
            }
            Fact::Paused { whose } => self.pause(whose),
            Fact::Resumed { whose } => self.resume(whose),
            Fact::Quarantined { .. }
            | Fact::Verified { .. }
            | Fact::Cooled { .. }
            | Fact::Warmed { .. }
            | Fact::FailedOver { .. }
            | Fact::OnTrial { .. }
            | Fact::Rotated { .. }
            | Fact::Seated { .. }
            | Fact::Unseated { .. }
            | Fact::Attempted { .. }
            | Fact::Called { .. }
            | Fact::Turned { .. }
            | Fact::Opened { .. }
            | Fact::ServedInstead { .. }
            | Fact::Continued { .. }
            | Fact::NotContinued { .. } => {}
        }
    }
}
