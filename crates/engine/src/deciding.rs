//! How a call answers an admission: the half of [`Call`] that reads a view.

use alloc::vec::Vec;

use crate::attempt::Attempt;
use crate::call::{
    Again, Call, Decision, Delivery, Effect, History, LastWord, Output, Purpose, Report, Start,
    State, Why, Wish,
};
use crate::choose::{self, Asking, Choice, Mode, Passed, Past};
use crate::class::Class;
use crate::ids::{AttemptId, RouteId};
use crate::policy::{Candidate, Clocks, Continuing, Moves, Presence};
use crate::recorder::Changed;
use crate::seats::Ticket;
use crate::time::Now;
use crate::view::{SeatView, Sight};

/// An answer to a wish for a seat that takes longer is asked for again.
const LEASE_WAIT_MAX_MS: u64 = 600_000;

impl Call {
    /// Decides on a view. Called by [`crate::Engine::admit`] and by a replay.
    pub(crate) fn decide(&mut self, now: Now, view: &Sight<'_>) -> Decision {
        let started = *self.started.get_or_insert(now);
        self.count_wait(now);
        self.passed.clear();
        let again = self.is_retrying();
        let round = (self.rounds, self.round_due);
        let decision = self.decision(now, started, view);
        if !again && matches!(decision, Decision::Go(_)) {
            self.instead_of = self.passed_cooling(view);
        }
        self.carry_out(now, view, decision);
        let changed = if (self.rounds, self.round_due) == round {
            Changed::Nothing
        } else {
            Changed::Something
        };
        self.recorder.admitted(now, view.view(), &self.passed, decision, changed);
        decision
    }

    /// Whether the next admission is for a retry that has to be paid from the route's budget.
    pub(crate) const fn unpaid_retry(&self) -> bool {
        matches!(self.state, State::Choosing(Wish::Again(Again { paid: false, .. })))
    }

    /// Whether the next admission is for a retry: it goes before whoever waits.
    pub(crate) const fn is_retrying(&self) -> bool {
        matches!(
            self.state,
            State::Choosing(Wish::Again(_)) | State::Pausing { wish: Wish::Again(_), .. }
        )
    }

    /// What cools and was passed over, the candidate that this very call cooled included.
    fn passed_cooling(&self, view: &Sight<'_>) -> Vec<RouteId> {
        let cools = |passed: &&Passed| view.at(passed.candidate).cooling_ms.is_some();
        let cooled = self.passed.iter().filter(cools);
        cooled.filter_map(|p| self.candidate(p.candidate)).map(|c| c.route).collect()
    }

    /// Takes the proof of the attempt that has just begun.
    pub(crate) fn seat(&mut self, ticket: Ticket) {
        if let State::Running(attempt) = &mut self.state {
            attempt.ticket = Some(ticket);
        }
    }

    fn count_wait(&mut self, now: Now) {
        if let State::Waiting { since_ms, .. } | State::AwaitingLease { since_ms, .. } = self.state
        {
            self.waited_ms += now.mono_ms.saturating_sub(since_ms);
        }
    }

    fn decision(&mut self, now: Now, started: Now, view: &Sight<'_>) -> Decision {
        if self.deadline(started).is_some_and(|at| now.mono_ms >= at) {
            return Decision::Exhausted(LastWord::Deadline);
        }
        if !self.spec.queue.policy.relay.is_on() {
            return self.without_relay();
        }
        let wish = match self.state {
            State::Choosing(wish) | State::Pausing { wish, .. } => wish,
            State::Waiting { .. }
            | State::AwaitingLease { .. }
            | State::Running(_)
            | State::Over => Wish::Next { delayed: !self.delay_due },
        };
        match wish {
            Wish::Again(again) => self.again(view, again),
            Wish::Next { delayed } => self.next(started, now, view, delayed),
            Wish::Struck { candidate } => self.struck(started, now, view, candidate),
        }
    }

    /// R0: off means one try on the first candidate.
    fn without_relay(&self) -> Decision {
        let present = |candidate: &Candidate| candidate.presence == Presence::Present;
        match self.spec.queue.candidates.iter().position(present) {
            Some(index) => Decision::Go(self.start(index as u32, Mode::Normal, 0, false)),
            None => Decision::Exhausted(LastWord::EmptyQueue),
        }
    }

    fn again(&self, view: &Sight<'_>, again: Again) -> Decision {
        let go = Decision::Go(self.start(
            again.candidate,
            again.mode,
            choose::continues(&self.spec.queue.policy, self.said_continue()),
            again.repair,
        ));
        let judge = Decision::Judge { candidate: again.candidate, verdict: again.verdict };
        if again.class == Class::LocalNetwork && self.is_paused(view) {
            return Decision::Exhausted(LastWord::LocalNetwork);
        }
        let state = view.at(again.candidate);
        // During a pause its place may have gone to somebody else: nothing exceeds a cap (R5).
        let seated = matches!(state.seat, SeatView::Open | SeatView::Held);
        let left = self.attempts_left();
        if state.cooling_ms.is_some() || !seated || left == 0 {
            return judge;
        }
        if again.paid {
            return go;
        }
        let room = left > choose::untried_runnable(&self.asking(view), again.candidate);
        match (state.single || !room, again.pause_ms) {
            (true, _) => judge,
            (false, 0) => go,
            (false, ms) => Decision::Pause { ms, why: again.why },
        }
    }

    fn next(&mut self, started: Now, now: Now, view: &Sight<'_>, delayed: bool) -> Decision {
        self.begin_round(now, view);
        let mut passed = core::mem::take(&mut self.passed);
        let denied = self.denied(now, view);
        let asking = Asking { denied: &denied, ..self.asking(view) };
        let choice = choose::choose(&asking, &mut passed);
        self.passed = passed;
        self.denied = denied;
        let spent = self.attempts_left() == 0;
        match choice {
            Choice::Run { candidate, mode } if !spent => self.run(view, candidate, mode, delayed),
            Choice::Ask { candidate, .. } if !spent => Decision::Lease { candidate },
            Choice::Run { .. }
            | Choice::Ask { .. }
            | Choice::Wait { .. }
            | Choice::Nothing { .. } => {
                let left = self.deadline(started).map_or(u64::MAX, |at| at - now.mono_ms);
                match self.wait(now, view, choice, spent) {
                    Ok((ms, why)) => Decision::Wait { ms: ms.min(left), why },
                    Err(soonest_ms) => Decision::Exhausted(self.last_word(soonest_ms)),
                }
            }
        }
    }

    /// H1, C3: a failure that opened no breaker goes up, and so does one after which only the next
    /// call moves on (H5).
    fn struck(&mut self, started: Now, now: Now, view: &Sight<'_>, candidate: u32) -> Decision {
        let policy = &self.spec.queue.policy;
        let state = view.at(candidate);
        let open = state.cooling_ms.is_some() || state.untested || state.probing;
        let stays = policy.breaker_threshold > 0 && (!open || policy.moves == Moves::NextCall);
        if stays && !policy.persist.is_on() {
            let soonest_ms = choose::soonest_of(&self.asking(view));
            return Decision::Exhausted(self.last_word(soonest_ms));
        }
        self.next(started, now, view, false)
    }

    /// The routes that this call would take as soon as nobody else stands in the way.
    pub(crate) fn hopes(&self, view: &Sight<'_>) -> Vec<RouteId> {
        choose::hopes(&self.asking(view)).collect()
    }

    /// After a no, a seat that can be asked for again is not asked for again before the call has
    /// waited for something else to change: else two that say no are asked in turn, and a third
    /// never.
    fn denied(&mut self, now: Now, view: &Sight<'_>) -> Vec<u32> {
        let mut denied = core::mem::take(&mut self.denied);
        let State::AwaitingLease { candidate, until_ms, .. } = self.state else {
            return Vec::new();
        };
        let askable =
            |index: &u32| matches!(view.at(*index).seat, SeatView::Free | SeatView::Asked);
        denied.retain(askable);
        let no = match view.at(candidate).seat {
            SeatView::Free => true,
            // An answer that does not come is a no, also to a call that never loses its patience.
            SeatView::Asked => now.mono_ms >= until_ms,
            SeatView::Open | SeatView::Held | SeatView::Full { .. } | SeatView::Resting { .. } => {
                false
            }
        };
        denied.extend(no.then_some(candidate));
        denied
    }

    fn run(&self, view: &Sight<'_>, candidate: u32, mode: Mode, delayed: bool) -> Decision {
        let failover = match self.last_candidate {
            Some(last) => last != candidate,
            None => self.broke_before(),
        };
        let says = self.says_continue();
        let continues = match (failover, says) {
            (_, false) => 0,
            (moved, true) => {
                choose::continues(&self.spec.queue.policy, self.failovers + u32::from(moved))
            }
        };
        let delay = self.spec.queue.policy.continue_delay_ms;
        let single = view.at(candidate).single;
        let hurried = single || matches!(mode, Mode::Parole | Mode::LastResort);
        if failover && says && delay > 0 && !delayed && !hurried {
            return Decision::Pause { ms: delay, why: Why::ContinueDelay };
        }
        Decision::Go(self.start(candidate, mode, continues, false))
    }

    /// Whether candidates broke earlier in the same step (D6).
    const fn broke_before(&self) -> bool {
        !self.spec.tried.is_empty()
    }

    /// R9. An internal call never says it.
    fn says_continue(&self) -> bool {
        let allowed = match self.spec.queue.policy.continuing {
            Continuing::Always => true,
            Continuing::Auto => self.spec.history == History::Ongoing,
            Continuing::Never => false,
        };
        allowed && self.spec.purpose == Purpose::Main
    }

    fn said_continue(&self) -> u32 {
        if self.says_continue() { self.failovers } else { 0 }
    }

    fn start(&self, candidate: u32, mode: Mode, continues: u32, repair: bool) -> Start {
        Start { attempt: AttemptId(self.attempts + 1), candidate, leg: 1, continues, mode, repair }
    }

    /// R45.
    fn last_word(&self, soonest_ms: Option<u64>) -> LastWord {
        let present = |candidate: &Candidate| candidate.presence == Presence::Present;
        if !self.spec.queue.candidates.iter().any(present) {
            return LastWord::EmptyQueue;
        }
        if let Some(attempt) = self.overflow {
            return LastWord::Overflow(attempt);
        }
        if let Some((attempt, class)) = self.last_failure
            && self.goes_up(class)
        {
            return LastWord::AsItCame(attempt);
        }
        let tried = self.past.iter().filter(|past| **past != Past::Untried).count();
        let nobody_else = soonest_ms.is_none() && !self.spec.queue.candidates.is_empty();
        match (self.first_refusal, soonest_ms) {
            (Some(attempt), _) if self.refusals as usize == tried && nobody_else => {
                LastWord::AsItCame(attempt)
            }
            (_, Some(ms)) => LastWord::ComeBack(ms),
            (_, None) => LastWord::DoNotRetry,
        }
    }

    fn carry_out(&mut self, now: Now, view: &Sight<'_>, decision: Decision) {
        match decision {
            Decision::Go(start) => self.begin(now, view, start),
            Decision::Lease { candidate } => {
                self.touch(candidate);
                let patience = self.patience_ms(view).min(LEASE_WAIT_MAX_MS);
                let since_ms = now.mono_ms;
                self.state = State::AwaitingLease {
                    since_ms,
                    until_ms: since_ms + patience.max(1),
                    candidate,
                };
            }
            Decision::Pause { ms, why } => {
                let wish = match self.state {
                    State::Choosing(Wish::Again(again))
                    | State::Pausing { wish: Wish::Again(again), .. } => {
                        Wish::Again(Again { paid: true, ..again })
                    }
                    State::Choosing(Wish::Next { .. })
                    | State::Pausing { wish: Wish::Next { .. } | Wish::Struck { .. }, .. }
                    | State::Choosing(Wish::Struck { .. })
                    | State::Waiting { .. }
                    | State::AwaitingLease { .. }
                    | State::Running(_)
                    | State::Over => {
                        self.delay_due = false;
                        Wish::Next { delayed: true }
                    }
                };
                self.state = State::Pausing { until_ms: now.mono_ms + ms, why, wish };
            }
            Decision::Wait { ms, why } => {
                let until_ms = now.mono_ms.saturating_add(ms);
                self.state = State::Waiting { since_ms: now.mono_ms, until_ms, why };
            }
            Decision::Judge { .. } => self.judge_wish(),
            Decision::Exhausted(word) => self.refuse(word),
        }
    }

    fn judge_wish(&mut self) {
        let (State::Choosing(Wish::Again(again)) | State::Pausing { wish: Wish::Again(again), .. }) =
            self.state
        else {
            return;
        };
        self.reports.push(Report::Judged {
            attempt: again.attempt,
            candidate: again.candidate,
            verdict: again.verdict,
            class: again.class,
            retry_of: again.mode,
        });
        self.leave(again.attempt, again.candidate, again.verdict, again.then);
    }

    fn begin(&mut self, now: Now, view: &Sight<'_>, start: Start) {
        let Some(candidate) = self.candidate(start.candidate).copied() else { return };
        let moved = self.last_candidate != Some(start.candidate);
        if moved {
            self.failovers += u32::from(self.last_candidate.is_some() || self.broke_before());
            self.retries = 0;
            self.repaired = false;
            self.last_candidate = Some(start.candidate);
        }
        self.touch(start.candidate);
        self.begin_again(start.candidate);
        self.delay_due = false;
        self.repaired |= start.repair;
        self.attempts += 1;
        let clocks = self.clocks(&candidate, start.mode);
        let mut attempt = Attempt::new(start.attempt, start.candidate, start.mode, now, clocks);
        if self.spec.delivery == Delivery::Whole {
            attempt = attempt.whole(self.share(now, view, start.candidate));
        }
        self.state = State::Running(attempt);
        self.outputs.push_back(Output::Effect(Effect::Start(start)));
    }

    fn clocks(&self, candidate: &Candidate, mode: Mode) -> Clocks {
        match mode {
            Mode::Parole => {
                let most = self.spec.queue.policy.parole_idle_ms;
                let idle_ms = match candidate.clocks.idle_ms {
                    0 => most,
                    ms => ms.min(most),
                };
                Clocks { idle_ms, first_byte_ms: 0, ..candidate.clocks }
            }
            Mode::Normal | Mode::Probe | Mode::LastResort => candidate.clocks,
        }
    }

    /// A whole answer cannot be kept alive, so that the candidates share what is left of the
    /// deadline; the last one may use it up.
    fn share(&self, now: Now, view: &Sight<'_>, candidate: u32) -> Option<u64> {
        // Without the relay there is nobody to share with.
        let relay = self.spec.queue.policy.relay.is_on();
        let deadline = self.deadline(self.started.filter(|_| relay)?)?;
        let others = u64::from(choose::untried_runnable(&self.asking(view), candidate));
        let left = deadline.saturating_sub(now.mono_ms);
        (others > 0).then(|| now.mono_ms + left / (others + 1))
    }

    pub(crate) fn deadline(&self, started: Now) -> Option<u64> {
        self.spec.deadline_ms.map(|ms| started.mono_ms.saturating_add(ms))
    }

    fn asking<'a>(&'a self, view: &'a Sight<'a>) -> Asking<'a> {
        Asking {
            queue: &self.spec.queue,
            view,
            past: &self.past,
            input_tokens: self.spec.input_tokens,
            window_above: self.window_above,
            patience_ms: self.patience_ms(view),
            unspent: self.attempts == 0,
            denied: &[],
        }
    }

    pub(crate) fn refuse(&mut self, word: LastWord) {
        self.outputs.push_back(Output::Effect(Effect::Refuse(word)));
        self.finish();
    }

    pub(crate) fn finish(&mut self) {
        self.state = State::Over;
        self.reports.push(Report::Over);
        self.outputs.push_back(Output::Settle);
    }
}
