//! What ended attempts leave behind, and what people and the calendar undo: the second half of
//! [`Engine`].

use alloc::vec::Vec;

use crate::attempt::Finish;
use crate::breaker::Strike;
use crate::call::{Call, Ended, Purpose, Report, Seating};
use crate::choose::Mode;
use crate::class::Class;
use crate::engine::{Engine, writes_to};
use crate::fact::{Fact, LiftedBy, Notice, Place, Quarantine};
use crate::ids::{AttemptId, QueueId, RouteId, SessionId};
use crate::judge::Verdict;
use crate::seats::{GivenBack, Holder};
use crate::shared::{Breaker, Probe, Quarantined, Running, Speed, Tally};
use crate::time::{Day, Now};
use crate::waiting::Waiter;

/// What is let go by hand (R19).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Release {
    /// One session in all its queues.
    Session(SessionId),
    /// One candidate of one session in one queue.
    Place(Place),
    /// One route's cooldown and rest, for everybody.
    Route(RouteId),
    /// Everything.
    All,
}

impl Engine {
    /// Takes what a call has to report. Answers [`crate::Output::Settle`].
    pub fn settle(&mut self, now: Now, call: &mut Call) {
        self.latest = now;
        for report in core::mem::take(&mut call.reports) {
            match report {
                Report::Ended(ended) => self.ended(now, call, ended),
                Report::Judged { attempt, candidate, verdict, class, retry_of } => {
                    if let Some(candidate) = call.candidate(candidate) {
                        let route = candidate.route;
                        self.judge(now, call, attempt, route, verdict, class, retry_of);
                        self.end_trial(call, route);
                        self.wake(route);
                    }
                }
                Report::Spoke { candidate } => {
                    if let Some(candidate) = call.candidate(candidate) {
                        self.spoke(now, call, candidate.route);
                    }
                }
                Report::Over => self.over(now, call),
            }
        }
    }

    fn ended(&mut self, now: Now, call: &Call, mut ended: Ended) {
        let Some(ticket) = ended.ticket.take() else { return };
        let route_id = ticket.route;
        let route = self.routes.entry(route_id).or_default();
        route.in_flight = route.in_flight.saturating_sub(1);
        let back = route.seats.end(now, ticket.holder);
        self.gave_back(route_id, back);
        let stood_in_for = self.end_run(call, ticket.attempt);
        match ended.verdict {
            Verdict::Spared => {}
            Verdict::Whole | Verdict::Truncated => {
                self.succeeded(now, call, route_id, ticket.began, &ended);
            }
            Verdict::Cooled { .. } | Verdict::Struck { .. } | Verdict::Quarantined { .. } => {
                let class = ended.class.unwrap_or(Class::ServerError);
                let (attempt, verdict) = (ended.attempt, ended.verdict);
                self.judge(now, call, attempt, route_id, verdict, class, ticket.mode);
            }
        }
        if !ended.retrying {
            self.end_trial(call, route_id);
        }
        self.notices.push_back(Notice::Fact(Fact::Attempted {
            call: call.spec.id,
            attempt: ended.attempt,
            route: route_id,
            verdict: ended.verdict,
            class: ended.class,
            output_tokens: ended.output_tokens,
            speaking_ms: ended.speaking_ms,
        }));
        self.wake(route_id);
        // R22: calls of the same session may wait for this very run.
        stood_in_for.into_iter().for_each(|route| self.wake(route));
    }

    fn end_run(&mut self, call: &Call, attempt: AttemptId) -> Vec<RouteId> {
        let Some(session) = self.sessions.get_mut(&call.spec.session) else { return Vec::new() };
        let own = |run: &Running| (run.call, run.attempt) == (call.spec.id, attempt);
        let Some(index) = session.running.iter().position(own) else { return Vec::new() };
        session.running.remove(index).instead_of
    }

    fn succeeded(&mut self, now: Now, call: &Call, route_id: RouteId, began: Now, ended: &Ended) {
        let place = Place { session: writes_to(call), queue: call.spec.queue.id, route: route_id };
        self.lift(place, LiftedBy::Success);
        let day = self.day.number;
        let session = self.write_session(now, place.session);
        if session.verified.insert((place.queue, route_id), ()).is_none() {
            self.notices.push_back(Notice::Fact(Fact::Verified { place, day }));
        }
        if call.spec.purpose == Purpose::Main {
            self.count_success(now, call, route_id, ended);
        }
        let route = self.routes.entry(route_id).or_default();
        let after = |since: Now| began.mono_ms >= since.mono_ms;
        if route.cooling.is_some_and(|cooling| after(cooling.since)) {
            route.warm();
            let by = LiftedBy::Success;
            self.notices.push_back(Notice::Fact(Fact::Warmed { route: route_id, by }));
        }
        self.tell_head(call, route_id);
        let route = self.routes.entry(route_id).or_default();
        if !route.is_cooling() {
            route.breaker = Breaker::default();
        }
        if route.probe == Probe::Running(call.spec.id) {
            route.probe = Probe::Unneeded;
        }
    }

    /// C7: a call that a fallback served.
    fn tell_head(&mut self, call: &Call, route: RouteId) {
        let queue = &call.spec.queue;
        let head = queue.candidates.first().map(|candidate| candidate.route);
        if let Some(head) = head.filter(|head| *head != route && queue.policy.breaker_threshold > 0)
        {
            let served = Fact::ServedInstead { call: call.spec.id, head, route };
            self.notices.push_back(Notice::Fact(served));
        }
    }

    fn count_success(&mut self, now: Now, call: &Call, route_id: RouteId, ended: &Ended) {
        self.routes.entry(route_id).or_default().tally.successes += 1;
        let (id, queue) = (call.spec.session, call.spec.queue.id);
        let rotate_after = call.spec.queue.policy.rotate_after;
        let session = self.write_session(now, id);
        if let Some(tokens) = ended.output_tokens.filter(|tokens| *tokens > 0) {
            let speed = session.speeds.or_default(route_id);
            speed.tokens += u64::from(tokens);
            speed.speaking_ms += ended.speaking_ms;
        }
        if ended.output {
            session.last_output = Some(route_id);
        }
        if call.spec.queue.policy.sticky.is_on() {
            session.current.insert(queue, route_id);
        }
        match (ended.verdict, ended.finish) {
            (Verdict::Truncated, _) => {
                let count = session.truncations.or_default(queue);
                *count = count.saturating_add(1);
                let truncations = *count;
                if rotate_after > 0 && truncations.is_multiple_of(rotate_after) {
                    let fact = Fact::Rotated { session: id, queue, truncations };
                    self.notices.push_back(Notice::Fact(fact));
                }
            }
            (_, Some(Finish::ToolCalls)) => {}
            (_, Some(Finish::Stop | Finish::Truncated | Finish::Filtered) | None) => {
                session.truncations.remove(&queue);
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a verdict and whom it concerns")]
    fn judge(
        &mut self,
        now: Now,
        call: &Call,
        attempt: AttemptId,
        route_id: RouteId,
        verdict: Verdict,
        class: Class,
        mode: Mode,
    ) {
        let id = call.spec.id;
        let place = Place { session: writes_to(call), queue: call.spec.queue.id, route: route_id };
        match verdict {
            Verdict::Spared | Verdict::Whole | Verdict::Truncated => return,
            Verdict::Cooled { ms } => {
                self.cool(now, route_id, ms);
                let fact = Fact::Cooled { route: route_id, ms, class, call: id, attempt };
                self.notices.push_back(Notice::Fact(fact));
                if mode == Mode::Parole {
                    self.prolong(now, call, place, attempt);
                }
            }
            Verdict::Struck { named_ms } => {
                let strike = Strike { call: id, attempt, route: route_id, class, mode, named_ms };
                self.strike(now, &call.spec.queue.policy, &strike);
                self.routes.entry(route_id).or_default().judged(place.session, now);
            }
            Verdict::Quarantined { until_ms } => {
                self.quarantine(now, call, attempt, place, class, until_ms, mode);
                self.routes.entry(route_id).or_default().judged(place.session, now);
            }
        }
        if self
            .write_session(now, place.session)
            .verified
            .remove(&(place.queue, route_id))
            .is_some()
        {
            self.notices.push_back(Notice::Fact(Fact::Unverified { place }));
        }
        // R47: a chore gives nothing back in its session's name.
        let holder = match call.spec.purpose {
            Purpose::Main => self.holder(&call.asker(), route_id),
            Purpose::Internal => Holder::Call(call.spec.id),
        };
        let route = self.routes.entry(route_id).or_default();
        if call.spec.purpose == Purpose::Main {
            route.tally.failures += 1;
        }
        let back = route.seats.give_back(now, holder);
        self.gave_back(route_id, back);
    }

    /// Takes a candidate out and tells it, so that what holds is what is kept.
    #[expect(clippy::too_many_arguments, reason = "a verdict and whom it concerns")]
    fn quarantine(
        &mut self,
        now: Now,
        call: &Call,
        attempt: AttemptId,
        place: Place,
        class: Class,
        until_ms: Option<u64>,
        mode: Mode,
    ) {
        let (day, policy) = (self.day, &call.spec.queue.policy);
        let session = self.write_session(now, place.session);
        let key = (place.queue, place.route);
        // Only a failed parole doubles the span: calls that fail side by side are one proof, and
        // last resorts in an outage would put parole off for an hour within a minute.
        let trial = u32::from(mode == Mode::Parole);
        let paroles = session.quarantined.get(&key).map_or(0, |out| out.facts.paroles + trial);
        let parole_ms = (class.is_transient() && policy.parole_after_ms > 0).then(|| {
            let span = policy.parole_after_ms.saturating_mul(1 << paroles.min(20));
            now.wall_ms.saturating_add(span.min(policy.parole_max_ms))
        });
        let quarantine = Quarantine {
            class,
            day: day.number,
            since_ms: now.wall_ms,
            // Its own reset or the day's, whichever is first.
            until_ms: until_ms.filter(|at| *at < day.ends_ms),
            parole_ms,
            paroles,
        };
        session.quarantined.insert(key, Quarantined::new(now, quarantine));
        let fact = Fact::Quarantined { place, quarantine, call: call.spec.id, attempt };
        self.notices.push_back(Notice::Fact(fact));
    }

    /// A parole that ended in a cooldown counts as failed, after a restart too.
    fn prolong(&mut self, now: Now, call: &Call, place: Place, attempt: AttemptId) {
        let known = self.sessions.get(&place.session);
        let out = known.and_then(|session| session.quarantined.get(&(place.queue, place.route)));
        if let Some(class) = out.map(|out| out.facts.class) {
            self.quarantine(now, call, attempt, place, class, None, Mode::Parole);
        }
    }

    /// Whether a lone run of this call was ended, so that another may begin.
    fn end_trial(&mut self, call: &Call, route_id: RouteId) -> bool {
        let id = call.spec.id;
        let route = self.routes.entry(route_id).or_default();
        let mut ended = route.probe == Probe::Running(id);
        if ended {
            route.probe = Probe::Needed;
        }
        if let Some(session) = self.sessions.get_mut(&call.spec.session)
            && let Some(out) = session.quarantined.at_mut(&(call.spec.queue.id, route_id))
            && out.trial == Some(id)
        {
            out.trial = None;
            ended = true;
        }
        ended
    }

    /// R22: at the first output of the lone call the others follow.
    fn spoke(&mut self, now: Now, call: &Call, route_id: RouteId) {
        let route = self.routes.entry(route_id).or_default();
        if route.probe == Probe::Running(call.spec.id) {
            route.probe = Probe::Unneeded;
            self.wake(route_id);
        }
        if call.spec.purpose == Purpose::Main {
            self.write_session(now, call.spec.session).last_output = Some(route_id);
        }
    }

    fn over(&mut self, now: Now, call: &Call) {
        let id = call.spec.id;
        if let Some(waiter) = self.forget_waiter(id) {
            self.step_aside(&waiter);
        }
        for candidate in &call.touched {
            let Some(route_id) = call.candidate(*candidate).map(|candidate| candidate.route) else {
                continue;
            };
            if self.end_trial(call, route_id) {
                self.wake(route_id);
            }
            let own = match (call.spec.purpose, call.spec.seating) {
                (Purpose::Main, Seating::Session) => Holder::Session(call.spec.session),
                (Purpose::Internal, _) | (_, Seating::Call) => Holder::Call(id),
            };
            let route = self.routes.entry(route_id).or_default();
            let unwanted = route.seats.unwant(own);
            let back = route.seats.give_back_call(now, id);
            if unwanted {
                self.wake(route_id);
            }
            self.gave_back(route_id, back);
        }
        self.notices.push_back(Notice::Fact(Fact::Called { call: id }));
    }

    fn gave_back(&mut self, route: RouteId, back: Option<GivenBack>) {
        if let Some(GivenBack { holder, rest_ms }) = back {
            self.notices.push_back(Notice::Fact(Fact::Unseated { route, holder, rest_ms }));
            self.wake(route);
        }
    }

    fn lift(&mut self, place: Place, by: LiftedBy) {
        let Some(session) = self.sessions.get_mut(&place.session) else { return };
        if session.quarantined.remove(&(place.queue, place.route)).is_some() {
            self.notices.push_back(Notice::Fact(Fact::Lifted { place, by }));
            self.wake(place.route);
        }
    }

    /// The day has turned. A day that has passed never comes back (R17).
    pub fn turn(&mut self, day: Day) {
        if day.number <= self.day.number {
            // Another reset hour: the same day ends at another moment.
            if day.number == self.day.number {
                self.day = day;
            }
            return;
        }
        self.day = day;
        for session in self.sessions.values_mut() {
            session.quarantined.clear();
            session.verified.clear();
            session.speeds.clear();
        }
        for route in self.routes.values_mut() {
            route.tally = Tally::default();
        }
        self.sessions.retain(|_, session| !session.is_blank());
        self.notices.push_back(Notice::Fact(Fact::Turned { day: day.number }));
        let waiting: Vec<_> = self.waiters.iter().map(Waiter::call).collect();
        self.notices.extend(waiting.into_iter().map(Notice::Wake));
    }

    /// Lets go by hand (R19). Never a side effect on another session, but for what belongs to
    /// everybody.
    pub fn release(&mut self, release: Release) {
        match release {
            Release::Session(session) => self.release_session(session),
            Release::Place(place) => self.lift(place, LiftedBy::Release),
            Release::Route(route) => self.release_route(route),
            Release::All => {
                let sessions: Vec<_> = self.sessions.keys().copied().collect();
                let routes: Vec<_> = self.routes.keys().copied().collect();
                sessions.into_iter().for_each(|session| self.release_session(session));
                routes.into_iter().for_each(|route| self.release_route(route));
            }
        }
    }

    fn release_session(&mut self, session: SessionId) {
        let Some(state) = self.sessions.get(&session) else { return };
        let out: Vec<_> = state.quarantined.keys().copied().collect();
        for (queue, route) in out {
            self.lift(Place { session, queue, route }, LiftedBy::Release);
        }
    }

    fn release_route(&mut self, route_id: RouteId) {
        let Some(route) = self.routes.get_mut(&route_id) else { return };
        route.seats.end_rest();
        if route.warm() {
            let by = LiftedBy::Release;
            self.notices.push_back(Notice::Fact(Fact::Warmed { route: route_id, by }));
        }
        self.wake(route_id);
    }

    /// The session is over: its seats go back (R24).
    pub fn end_session(&mut self, now: Now, session: SessionId) {
        self.latest = now;
        let routes: Vec<_> = self.routes.keys().copied().collect();
        for route in routes {
            self.give_back(now, route, Holder::Session(session));
        }
        if let Some(state) = self.sessions.get_mut(&session) {
            state.turns.end();
        }
    }

    /// A candidate has left its queue: the seats that were taken through it go back (R24).
    pub fn leave_queue(&mut self, now: Now, queue: QueueId, route: RouteId) {
        self.latest = now;
        let holders = self.routes.get(&route).map(|state| state.seats.held_through(queue));
        for holder in holders.unwrap_or_default() {
            self.give_back(now, route, holder);
        }
    }

    fn give_back(&mut self, now: Now, route_id: RouteId, holder: Holder) {
        let Some(route) = self.routes.get_mut(&route_id) else { return };
        // A seat that is only asked for, or still used, goes later; who waits may count on it.
        let pending = route.seats.knows(holder);
        let back = route.seats.give_back(now, holder);
        match back {
            Some(_) => self.gave_back(route_id, back),
            None if pending => self.wake(route_id),
            None => {}
        }
    }

    /// Takes up a fact that was kept, after a restart. Only what lives on disk is taken up.
    pub fn recall(&mut self, now: Now, fact: &Fact) {
        match *fact {
            Fact::Quarantined { place, quarantine, .. } if quarantine.day == self.day.number => {
                let out = Quarantined::new(now, quarantine);
                let session = self.write_session(now, place.session);
                session.quarantined.insert((place.queue, place.route), out);
            }
            Fact::Lifted { place, .. } => {
                let session = self.write_session(now, place.session);
                session.quarantined.remove(&(place.queue, place.route));
            }
            Fact::Verified { place, day } if day == self.day.number => {
                let session = self.write_session(now, place.session);
                session.verified.insert((place.queue, place.route), ());
            }
            Fact::Unverified { place } => {
                let session = self.write_session(now, place.session);
                session.verified.remove(&(place.queue, place.route));
            }
            Fact::Paused { whose } => {
                self.pauses.insert(whose, ());
            }
            Fact::Resumed { whose } => {
                self.pauses.remove(&whose);
            }
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

    /// Takes up today's attempts on a route, after a restart (R29). Another day's are left out; of
    /// two numbers the larger one holds.
    pub fn recall_tally(&mut self, day: u32, route: RouteId, kept: Tally) {
        if day == self.day.number {
            let tally = &mut self.routes.entry(route).or_default().tally;
            tally.successes = tally.successes.max(kept.successes);
            tally.failures = tally.failures.max(kept.failures);
        }
    }

    /// Takes up how fast a candidate wrote in a session today, after a restart (R30). Another day's
    /// is left out; of two sums the larger one holds.
    pub fn recall_speed(
        &mut self,
        now: Now,
        day: u32,
        session: SessionId,
        route: RouteId,
        kept: Speed,
    ) {
        if day == self.day.number {
            let speed = self.write_session(now, session).speeds.or_default(route);
            if kept.tokens > speed.tokens {
                *speed = kept;
            }
        }
    }
}
