//! What happens to a call between two admissions: the second half of [`Call`].

use crate::attempt::{Attempt, Beat, Clock, Finish};
use crate::call::{
    Again, AttemptInput, Call, Delivery, Effect, Ended, Input, LastWord, Output, Repair, Report,
    State, Terminal, ToolCall, Why, Wish,
};
use crate::choose::{Mode, Past};
use crate::class::{Class, Failure, Origin, Scope};
use crate::ids::AttemptId;
use crate::judge::{Reaction, Retry, Then, Verdict, react};
use crate::policy::CommitOn;
use crate::seed;
use crate::time::Now;

/// Wall time that outruns monotonic time by this much means that the machine slept (R48).
const SLEPT_MS: u64 = 5_000;
/// A call that is put to sleep again and again is treated as failing after all.
const SPARED_BY_SLEEP_MAX: u32 = 3;
/// The longest pause between two looks at a broken local network.
const NETWORK_PAUSE_MAX_MS: u64 = 5_000;

impl Call {
    /// Takes an input. Drain [`Call::poll_output`] afterwards.
    pub fn handle(&mut self, now: Now, input: Input) {
        let before = self.outputs.len();
        let over = self.is_over();
        match input {
            Input::Attempt(id, input) => self.attempt(now, id, input),
            Input::ClientBlocked => self.with_attempt(|attempt| attempt.blocked(now)),
            Input::ClientReady => self.with_attempt(|attempt| attempt.unblocked(now)),
            Input::ClientGone => self.client_gone(now),
            Input::Stop => self.stop(now),
            Input::Woken => self.woken(),
            Input::Tick => self.tick(now),
        }
        if !over {
            self.recorder.fed(now, input, self.outputs.len() > before);
        }
    }

    /// The shell lost its grip on this call: everything is given back, nobody is blamed.
    pub fn abandon(&mut self, now: Now) {
        self.handle(now, Input::ClientGone);
    }

    fn with_attempt(&mut self, change: impl FnOnce(&mut Attempt)) {
        if let State::Running(attempt) = &mut self.state {
            change(attempt);
        }
    }

    fn attempt(&mut self, now: Now, id: AttemptId, input: AttemptInput) {
        // What an abandoned attempt still has to say concerns nobody.
        let State::Running(attempt) = &mut self.state else { return };
        if attempt.id != id {
            return;
        }
        match input {
            AttemptInput::Sent => attempt.sent(now),
            AttemptInput::Head => {
                attempt.headed(now);
                self.nothing_held();
            }
            AttemptInput::Chunk { bytes, beat } => self.chunk(now, bytes, beat),
            AttemptInput::Malformed { tool_call } => self.malformed(now, tool_call),
            AttemptInput::End { finish, terminal, output_tokens } => {
                self.end(now, finish, terminal, output_tokens);
            }
            AttemptInput::Failed { failure, repair } => self.fail(now, &failure, repair),
            AttemptInput::Unserved => self.unserved(now),
        }
    }

    /// R0: with the relay off nothing is held.
    fn nothing_held(&mut self) {
        if !self.spec.queue.policy.relay.is_on() && self.spec.delivery == Delivery::Stream {
            self.commit();
        }
    }

    fn chunk(&mut self, now: Now, bytes: u32, beat: Beat) {
        let State::Running(attempt) = &mut self.state else { return };
        let first = beat == Beat::Output && !attempt.output;
        attempt.chunk(now, beat, bytes);
        let candidate = attempt.candidate;
        let full = attempt.held_bytes > self.spec.queue.policy.held_max_bytes;
        if first {
            self.reports.push(Report::Spoke { candidate });
            self.outputs.push_back(Output::Settle);
        }
        if self.commits(beat, full) {
            self.commit();
        }
    }

    /// R10.
    fn commits(&self, beat: Beat, full: bool) -> bool {
        if self.spec.delivery == Delivery::Whole {
            return false;
        }
        match (self.spec.queue.policy.commit, beat) {
            (CommitOn::FirstOutput | CommitOn::FirstToken, Beat::Output)
            | (CommitOn::FirstToken, Beat::Reasoning) => true,
            (CommitOn::Complete, _) | (_, Beat::Wire | Beat::Reasoning) => full,
        }
    }

    fn commit(&mut self) {
        let State::Running(attempt) = &mut self.state else { return };
        if !attempt.committed {
            attempt.committed = true;
            attempt.held_bytes = 0;
            self.outputs.push_back(Output::Effect(Effect::Commit(attempt.id)));
        }
    }

    /// R13.
    fn malformed(&mut self, now: Now, tool_call: ToolCall) {
        let State::Running(attempt) = &self.state else { return };
        let holds_all = self.spec.queue.policy.commit == CommitOn::Complete;
        if !attempt.committed || holds_all || tool_call == ToolCall::Open {
            self.outputs.push_back(Output::Effect(Effect::Cancel(attempt.id)));
            self.fail(now, &Failure::upstream(Class::ServerError), Repair::Impossible);
        }
    }

    fn end(
        &mut self,
        now: Now,
        finish: Option<Finish>,
        terminal: Terminal,
        output_tokens: Option<u32>,
    ) {
        let State::Running(attempt) = &self.state else { return };
        let relay = self.spec.queue.policy.relay.is_on();
        let failed = match (finish, terminal) {
            (None, Terminal::Missing) => Some(Class::TransportRemote),
            (Some(Finish::Truncated), _) => None,
            (Some(Finish::Filtered), _) => (self.spec.queue.policy.failover_on_filter.is_on()
                && !attempt.committed)
                .then_some(Class::ContentFilter),
            (Some(Finish::Stop | Finish::ToolCalls) | None, _) => {
                (!attempt.output).then_some(Class::EmptyResponse)
            }
        };
        match failed {
            Some(class) if relay => {
                self.fail(now, &Failure::upstream(class), Repair::Impossible);
            }
            Some(_) | None => self.deliver(now, finish, output_tokens),
        }
    }

    fn deliver(&mut self, now: Now, finish: Option<Finish>, output_tokens: Option<u32>) {
        self.commit();
        let verdict = match finish {
            Some(Finish::Truncated) => Verdict::Truncated,
            Some(Finish::Filtered) => Verdict::Spared,
            Some(Finish::Stop | Finish::ToolCalls) | None => Verdict::Whole,
        };
        let Some(attempt) = self.take_attempt() else { return };
        let id = attempt.id;
        self.report_end(now, attempt, verdict, None, finish, output_tokens);
        self.outputs.push_back(Output::Effect(Effect::Deliver(id)));
        self.finish();
    }

    /// R48: once more on a fresh connection; a second time, or once a byte of an answer has
    /// come, it is the candidate's failure.
    fn unserved(&mut self, now: Now) {
        let State::Running(attempt) = &mut self.state else { return };
        if attempt.resent || attempt.answered() {
            self.fail(now, &Failure::upstream(Class::TransportRemote), Repair::Impossible);
        } else {
            attempt.resend(now);
            self.outputs.push_back(Output::Effect(Effect::Resend(attempt.id)));
        }
    }

    fn fail(&mut self, now: Now, failure: &Failure, repair: Repair) {
        let Some(attempt) = self.take_attempt() else { return };
        let slept = now.slept_since(attempt.began) >= SLEPT_MS
            && self.spared_by_sleep < SPARED_BY_SLEEP_MAX;
        if !self.spec.queue.policy.relay.is_on() {
            return self.fail_without_relay(now, attempt, failure.class);
        }
        if attempt.committed {
            let verdict = if slept {
                Verdict::Spared
            } else {
                react(&self.spec.queue.policy, failure, now).verdict
            };
            return self.break_off(now, attempt, verdict, failure.class);
        }
        self.outputs.push_back(Output::Effect(Effect::Discard(attempt.id)));
        self.last_failure = Some((attempt.id, failure.class));
        if slept {
            self.spared_by_sleep += 1;
            return self.same_again(now, attempt, failure.class, 0, Why::RetryPause);
        }
        let reaction = react(&self.spec.queue.policy, failure, now);
        if reaction.then == Then::WaitForNetwork {
            return self.wait_for_network(now, attempt);
        }
        if repair == Repair::Possible && !self.repaired {
            return self.mend(now, attempt, failure.class, reaction);
        }
        self.retry_or_judge(now, attempt, failure.class, reaction);
    }

    fn fail_without_relay(&mut self, now: Now, attempt: Attempt, class: Class) {
        let (id, committed) = (attempt.id, attempt.committed);
        self.report_end(now, attempt, Verdict::Spared, Some(class), None, None);
        self.refuse(if committed { LastWord::Broken(id, class) } else { LastWord::AsItCame(id) });
    }

    /// R10: after commit a failure is told as it is.
    fn break_off(&mut self, now: Now, attempt: Attempt, verdict: Verdict, class: Class) {
        let id = attempt.id;
        self.report_end(now, attempt, verdict, Some(class), None, None);
        self.refuse(LastWord::Broken(id, class));
    }

    fn mend(&mut self, now: Now, attempt: Attempt, class: Class, reaction: Reaction) {
        let again = Again {
            attempt: attempt.id,
            candidate: attempt.candidate,
            mode: attempt.mode,
            class,
            verdict: reaction.verdict,
            then: reaction.then,
            pause_ms: 0,
            why: Why::RetryPause,
            repair: true,
            paid: true,
        };
        self.wish_again(now, attempt, class, again);
    }

    fn retry_or_judge(&mut self, now: Now, attempt: Attempt, class: Class, reaction: Reaction) {
        let (pause_ms, why) = match reaction.retry {
            Retry::No => return self.judge(now, attempt, class, reaction),
            Retry::AtOnce => (0, Why::RetryPause),
            Retry::Paused => (self.retry_pause(), Why::RetryPause),
            Retry::Named(ms) => (ms, Why::NamedWait),
        };
        let once = matches!(attempt.mode, Mode::Parole | Mode::LastResort);
        if once || self.retries >= self.spec.queue.policy.retries {
            return self.judge(now, attempt, class, reaction);
        }
        self.retries += 1;
        let again = Again {
            attempt: attempt.id,
            candidate: attempt.candidate,
            mode: attempt.mode,
            class,
            verdict: reaction.verdict,
            then: reaction.then,
            pause_ms,
            why,
            repair: self.repaired,
            paid: false,
        };
        self.wish_again(now, attempt, class, again);
    }

    /// R7: `retry_pause`, then four times as long, each give or take a quarter.
    fn retry_pause(&self) -> u64 {
        let base = self.spec.queue.policy.retry_pause_ms;
        let full = if self.retries == 0 { base } else { base.saturating_mul(4) };
        seed::jitter(self.spec.seed, u64::from(self.attempts), full)
    }

    fn wish_again(&mut self, now: Now, attempt: Attempt, class: Class, again: Again) {
        self.report(now, attempt, Verdict::Spared, Some(class), true);
        self.state = State::Choosing(Wish::Again(again));
        self.outputs.push_back(Output::Admit);
    }

    /// The same request to the same candidate, at nobody's expense.
    fn same_again(&mut self, now: Now, attempt: Attempt, class: Class, pause_ms: u64, why: Why) {
        let again = Again {
            attempt: attempt.id,
            candidate: attempt.candidate,
            mode: attempt.mode,
            class,
            verdict: Verdict::Spared,
            then: Then::FailOver,
            pause_ms: 0,
            why,
            repair: self.repaired,
            paid: true,
        };
        self.report(now, attempt, Verdict::Spared, Some(class), true);
        let wish = Wish::Again(again);
        if pause_ms == 0 {
            self.state = State::Choosing(wish);
            self.outputs.push_back(Output::Admit);
        } else {
            let until_ms = now.mono_ms + pause_ms;
            self.state = State::Pausing { until_ms, why, wish };
            self.outputs.push_back(Output::Settle);
        }
    }

    fn wait_for_network(&mut self, now: Now, attempt: Attempt) {
        let pause = (1_000u64 << self.network_waits.min(3)).min(NETWORK_PAUSE_MAX_MS);
        if self.spec.queue.policy.persist.is_on() {
            // P4: without limit, and nobody else is troubled.
            self.network_waits += 1;
            self.round_base = self.attempts;
            return self.same_again(now, attempt, Class::LocalNetwork, pause, Why::LocalNetwork);
        }
        let left = self.spec.queue.policy.wait_max_ms.saturating_sub(self.waited_ms);
        let spent = self.attempts_left() == 0;
        if left == 0 || spent {
            self.report(now, attempt, Verdict::Spared, Some(Class::LocalNetwork), false);
            return self.refuse(LastWord::LocalNetwork);
        }
        self.network_waits += 1;
        let pause = pause.min(left);
        self.waited_ms += pause;
        self.same_again(now, attempt, Class::LocalNetwork, pause, Why::LocalNetwork);
    }

    fn judge(&mut self, now: Now, attempt: Attempt, class: Class, reaction: Reaction) {
        let (id, candidate) = (attempt.id, attempt.candidate);
        self.report(now, attempt, reaction.verdict, Some(class), false);
        self.leave(id, candidate, reaction.verdict, reaction.then);
    }

    /// Done with a candidate; the call goes where the reaction says.
    pub(crate) fn leave(&mut self, id: AttemptId, candidate: u32, verdict: Verdict, then: Then) {
        let window = self.candidate(candidate).and_then(|candidate| candidate.window);
        let past_now = self.past_after(verdict, then);
        if let Some(past) = self.past.get_mut(candidate as usize) {
            *past = past_now;
        }
        match then {
            Then::FailOver | Then::WaitForNetwork => {}
            Then::FailOverRefused => {
                self.refusals += 1;
                self.first_refusal.get_or_insert(id);
            }
            Then::FailOverLarger => {
                self.overflow.get_or_insert(id);
                self.window_above = Some(window.unwrap_or(u32::MAX));
            }
            Then::Tell => return self.refuse(self.told(id)),
            Then::TellOverflow => return self.refuse(LastWord::Overflow(id)),
        }
        self.delay_due = true;
        let struck = matches!(verdict, Verdict::Struck { .. });
        self.state = State::Choosing(if struck {
            Wish::Struck { candidate }
        } else {
            Wish::Next { delayed: false }
        });
        self.outputs.push_back(Output::Admit);
    }

    /// R45: a candidate's own refusal of our key or of a name is never told as it came.
    fn told(&self, id: AttemptId) -> LastWord {
        match self.last_failure {
            Some((_, Class::Auth | Class::QuotaExhausted | Class::NotFound)) => {
                LastWord::DoNotRetry
            }
            Some(_) | None => LastWord::AsItCame(id),
        }
    }

    /// What a candidate that is done with is to this call from now on.
    fn past_after(&self, verdict: Verdict, then: Then) -> Past {
        let class = self.last_failure.map(|(_, class)| class);
        let passes = self.spec.queue.policy.persist.is_on()
            && then == Then::FailOver
            && class.is_some_and(Class::may_pass);
        match verdict {
            Verdict::Cooled { .. } => Past::Cooled,
            Verdict::Spared
            | Verdict::Whole
            | Verdict::Truncated
            | Verdict::Struck { .. }
            | Verdict::Quarantined { .. } => {
                if passes {
                    Past::NextRound
                } else {
                    Past::Tried
                }
            }
        }
    }

    fn client_gone(&mut self, now: Now) {
        if self.is_over() {
            return;
        }
        if let Some(attempt) = self.take_attempt() {
            self.outputs.push_back(Output::Effect(Effect::Cancel(attempt.id)));
            self.report(now, attempt, Verdict::Spared, Some(Class::Aborted), false);
        }
        self.finish();
    }

    /// P5: this one call ends; nobody is blamed.
    fn stop(&mut self, now: Now) {
        if self.is_over() {
            return;
        }
        let Some(attempt) = self.take_attempt() else {
            return self.refuse(LastWord::Stopped);
        };
        let (id, committed) = (attempt.id, attempt.committed);
        self.outputs.push_back(Output::Effect(Effect::Cancel(id)));
        if !committed {
            self.outputs.push_back(Output::Effect(Effect::Discard(id)));
        }
        self.report(now, attempt, Verdict::Spared, Some(Class::Aborted), false);
        self.refuse(if committed {
            LastWord::Broken(id, Class::Aborted)
        } else {
            LastWord::Stopped
        });
    }

    fn woken(&mut self) {
        if matches!(self.state, State::Waiting { .. } | State::AwaitingLease { .. }) {
            self.outputs.push_back(Output::Admit);
        }
    }

    fn tick(&mut self, now: Now) {
        let deadline = self.started.and_then(|started| self.deadline(started));
        if deadline.is_some_and(|at| now.mono_ms >= at) && !self.is_over() {
            return self.out_of_time(now);
        }
        match &self.state {
            State::Running(attempt) => self.tick_attempt(now, attempt.next_clock()),
            State::Pausing { until_ms, .. }
            | State::Waiting { until_ms, .. }
            | State::AwaitingLease { until_ms, .. } => {
                if now.mono_ms >= *until_ms {
                    self.outputs.push_back(Output::Admit);
                }
            }
            State::Choosing(_) | State::Over => {}
        }
    }

    fn tick_attempt(&mut self, now: Now, clock: Option<(u64, Clock)>) {
        let State::Running(attempt) = &self.state else { return };
        let stall_ms = self.spec.queue.policy.client_stall_ms;
        if attempt.blocked_since_ms().is_some_and(|since| now.mono_ms >= since + stall_ms) {
            return self.client_gone(now);
        }
        let Some((at, clock)) = clock else { return };
        if now.mono_ms < at {
            return;
        }
        self.outputs.push_back(Output::Effect(Effect::Cancel(attempt.id)));
        let class = match clock {
            // Silence while connecting is silence: the same host again would cost as much again.
            Clock::Connect
            | Clock::Headers
            | Clock::Idle
            | Clock::Progress
            | Clock::FirstOutput => Class::Stall,
            Clock::Share => return self.share_used_up(now),
        };
        let failure = Failure {
            origin: Origin::Upstream,
            scope: Scope::Candidate,
            ..Failure::upstream(class)
        };
        self.fail(now, &failure, Repair::Impossible);
    }

    /// R11: a deadline blames nobody, and neither does a share of it.
    fn share_used_up(&mut self, now: Now) {
        let Some(attempt) = self.take_attempt() else { return };
        self.outputs.push_back(Output::Effect(Effect::Discard(attempt.id)));
        self.last_failure = Some((attempt.id, Class::Timeout));
        let reaction =
            Reaction { retry: Retry::No, verdict: Verdict::Spared, then: Then::FailOver };
        self.judge(now, attempt, Class::Timeout, reaction);
    }

    /// R11: a deadline blames nobody.
    fn out_of_time(&mut self, now: Now) {
        let Some(attempt) = self.take_attempt() else {
            return self.refuse(LastWord::Deadline);
        };
        let (id, committed) = (attempt.id, attempt.committed);
        self.outputs.push_back(Output::Effect(Effect::Cancel(id)));
        if !committed {
            self.outputs.push_back(Output::Effect(Effect::Discard(id)));
        }
        self.report(now, attempt, Verdict::Spared, Some(Class::Timeout), false);
        self.refuse(if committed {
            LastWord::Broken(id, Class::Timeout)
        } else {
            LastWord::Deadline
        });
    }

    fn take_attempt(&mut self) -> Option<Attempt> {
        match core::mem::replace(&mut self.state, State::Over) {
            State::Running(attempt) => Some(attempt),
            other @ (State::Choosing(_)
            | State::Pausing { .. }
            | State::Waiting { .. }
            | State::AwaitingLease { .. }
            | State::Over) => {
                self.state = other;
                None
            }
        }
    }

    fn report(
        &mut self,
        now: Now,
        attempt: Attempt,
        verdict: Verdict,
        class: Option<Class>,
        retrying: bool,
    ) {
        self.ended(now, attempt, verdict, class, None, None, retrying);
    }

    fn report_end(
        &mut self,
        now: Now,
        attempt: Attempt,
        verdict: Verdict,
        class: Option<Class>,
        finish: Option<Finish>,
        output_tokens: Option<u32>,
    ) {
        self.ended(now, attempt, verdict, class, finish, output_tokens, false);
    }

    #[expect(clippy::too_many_arguments, reason = "the facts of one ended attempt, gathered here")]
    fn ended(
        &mut self,
        now: Now,
        attempt: Attempt,
        verdict: Verdict,
        class: Option<Class>,
        finish: Option<Finish>,
        output_tokens: Option<u32>,
        retrying: bool,
    ) {
        let speaking_ms =
            attempt.first_token_ms.map_or(0, |first| now.mono_ms.saturating_sub(first));
        self.reports.push(Report::Ended(Ended {
            attempt: attempt.id,
            ticket: attempt.ticket,
            verdict,
            class,
            finish,
            output: attempt.output,
            output_tokens,
            speaking_ms,
            retrying,
        }));
    }

    /// When the shell has to come back by itself.
    pub(crate) fn wake(&self) -> (Option<u64>, Why) {
        let (at, why) = match &self.state {
            State::Choosing(_) => (None, Why::Admission),
            State::Pausing { until_ms, why, .. } => (Some(*until_ms), *why),
            State::Waiting { until_ms, why, .. } => (Some(*until_ms), Why::Candidate(*why)),
            State::AwaitingLease { until_ms, .. } => (Some(*until_ms), Why::Lease),
            State::Running(attempt) => match (attempt.blocked_since_ms(), attempt.next_clock()) {
                (Some(since), _) => {
                    let stall_ms = self.spec.queue.policy.client_stall_ms;
                    (Some(since.saturating_add(stall_ms)), Why::ClientBlocked)
                }
                (None, Some((at, clock))) => (Some(at), Why::Clock(clock)),
                (None, None) => (None, Why::Running),
            },
            State::Over => return (None, Why::Over),
        };
        let deadline = self.started.and_then(|started| self.deadline(started));
        match (at, deadline) {
            (Some(at), Some(deadline)) => (Some(at.min(deadline)), why),
            (None, Some(deadline)) => (Some(deadline), why),
            (at, None) => (at, why),
        }
    }
}
