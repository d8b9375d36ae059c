//! What an attempt leads to (R7, R8, R10 to R13, R17, R18, R21, R23, R47, R48).

use ekiden_engine::{
    AttemptId, AttemptInput, Beat, CallId, Class, Clock, Clocks, CommitOn, Delivery, Effect,
    Failure, Finish, Holder, Input, LastWord, Mode, Now, Purpose, Quarantine, Repair, Start,
    Terminal, Then, ToolCall, Verdict, Why,
};

use super::choice::writes_to;
use super::ledger::Lone;
use super::table::{jittered, table};
use super::{Again, Phase, Reference, Runner, Said};

/// A running attempt.
#[derive(Clone, Debug)]
pub(crate) struct Try {
    pub(crate) id: AttemptId,
    candidate: usize,
    mode: Mode,
    began: Now,
    admitted: Now,
    clocks: Clocks,
    seat: Option<Holder>,
    share_until_ms: Option<u64>,
    sent_ms: Option<u64>,
    head: bool,
    byte_ms: Option<u64>,
    progress_ms: Option<u64>,
    pub(crate) output: bool,
    pub(crate) committed: bool,
    held: u64,
    resent: bool,
    blocked_since_ms: Option<u64>,
    blocked_ms: u64,
}

impl Try {
    pub(crate) fn new(
        now: Now,
        runner: &Runner,
        start: Start,
        seat: Option<Holder>,
        share_until_ms: Option<u64>,
    ) -> Self {
        let candidate = runner.spec.queue.candidates[start.candidate as usize];
        let mut clocks = candidate.clocks;
        if start.mode == Mode::Parole {
            let most = runner.spec.queue.policy.parole_idle_ms;
            clocks.first_byte_ms = 0;
            clocks.idle_ms = if clocks.idle_ms == 0 { most } else { clocks.idle_ms.min(most) };
        }
        if runner.spec.delivery == Delivery::Whole {
            clocks.headers_ms = 0;
            clocks.first_byte_ms = 0;
            clocks.idle_ms = 0;
            clocks.progress_ms = 0;
            clocks.first_output_ms = 0;
        }
        Self {
            id: start.attempt,
            candidate: start.candidate as usize,
            mode: start.mode,
            began: now,
            admitted: now,
            clocks,
            seat,
            share_until_ms,
            sent_ms: None,
            head: false,
            byte_ms: None,
            progress_ms: None,
            output: false,
            committed: false,
            held: 0,
            resent: false,
            blocked_since_ms: None,
            blocked_ms: 0,
        }
    }

    /// R11: which clock has run out.
    fn run_out(&self, now: Now) -> Option<Clock> {
        if self.blocked_since_ms.is_some() {
            return None;
        }
        let mut clocks = Vec::new();
        let mut clock = |ms: u64, since: u64, clock: Clock| {
            if ms > 0 {
                clocks.push((since.saturating_add(ms), clock));
            }
        };
        if let Some(sent) = self.sent_ms {
            if !self.head {
                clock(self.clocks.headers_ms, sent, Clock::Headers);
            }
            match self.byte_ms {
                Some(last) => {
                    clock(self.clocks.idle_ms, last, Clock::Idle);
                    let progress = self.progress_ms.unwrap_or(sent);
                    clock(self.clocks.progress_ms, progress, Clock::Progress);
                }
                None if self.clocks.first_byte_ms > 0 => {
                    clock(self.clocks.first_byte_ms, sent, Clock::Idle);
                }
                None => clock(self.clocks.idle_ms, sent, Clock::Idle),
            }
        } else {
            clock(self.clocks.connect_ms, self.began.mono_ms, Clock::Connect);
        }
        if !self.output {
            let since = self.began.mono_ms + self.blocked_ms;
            clock(self.clocks.first_output_ms, since, Clock::FirstOutput);
        }
        clocks.extend(self.share_until_ms.map(|until| (until, Clock::Share)));
        clocks.sort_by_key(|(at, _)| *at);
        clocks.into_iter().next().filter(|(at, _)| *at <= now.mono_ms).map(|(_, clock)| clock)
    }
}

impl Reference {
    /// A call is fed and driven until it is quiet.
    pub fn feed(&mut self, now: Now, id: CallId, input: Input) -> Vec<Said> {
        let Some(mut runner) = self.runners.remove(&id) else { return Vec::new() };
        let asks = match input {
            Input::Attempt(attempt, what) => {
                let own = matches!(&runner.phase, Phase::Running(run) if run.id == attempt);
                own && self.happens(now, &mut runner, what)
            }
            Input::ClientBlocked => {
                if let Phase::Running(run) = &mut runner.phase {
                    run.blocked_since_ms.get_or_insert(now.mono_ms);
                }
                false
            }
            Input::ClientReady => {
                if let Phase::Running(run) = &mut runner.phase
                    && let Some(since) = run.blocked_since_ms.take()
                {
                    run.blocked_ms += now.mono_ms - since;
                    run.byte_ms = Some(now.mono_ms);
                    run.progress_ms = Some(now.mono_ms);
                }
                false
            }
            Input::ClientGone => self.gone(now, &mut runner),
            Input::Stop => self.stop(now, &mut runner),
            Input::Woken => matches!(runner.phase, Phase::Waiting { .. } | Phase::Asked { .. }),
            Input::Tick => self.tick(now, &mut runner),
        };
        self.settle_down(now, id, runner, asks)
    }

    fn gone(&mut self, now: Now, runner: &mut Runner) -> bool {
        if let Some(run) = take(runner) {
            self.effect(Effect::Cancel(run.id));
            self.ends(now, runner, &run, Verdict::Spared, None, false);
        }
        runner.phase = Phase::Over;
        false
    }

    /// P5.
    fn stop(&mut self, now: Now, runner: &mut Runner) -> bool {
        let mut word = LastWord::Stopped;
        if let Some(run) = take(runner) {
            self.effect(Effect::Cancel(run.id));
            if run.committed {
                word = LastWord::Broken(run.id, Class::Aborted);
            } else {
                self.effect(Effect::Discard(run.id));
            }
            self.ends(now, runner, &run, Verdict::Spared, None, false);
        }
        self.refuse(runner, word)
    }

    fn tick(&mut self, now: Now, runner: &mut Runner) -> bool {
        let began = runner.began.map_or(0, |began| began.mono_ms);
        let deadline = runner.spec.deadline_ms.map(|ms| began.saturating_add(ms));
        if deadline.is_some_and(|at| at <= now.mono_ms) {
            let mut word = LastWord::Deadline;
            if let Some(run) = take(runner) {
                self.effect(Effect::Cancel(run.id));
                if run.committed {
                    word = LastWord::Broken(run.id, Class::Timeout);
                } else {
                    self.effect(Effect::Discard(run.id));
                }
                self.ends(now, runner, &run, Verdict::Spared, None, false);
            }
            return self.refuse(runner, word);
        }
        match &runner.phase {
            Phase::Pausing(until_ms, _)
            | Phase::Waiting { until_ms, .. }
            | Phase::Asked { until_ms, .. } => *until_ms <= now.mono_ms,
            Phase::Choosing | Phase::Again(_) | Phase::Over => false,
            Phase::Running(run) => {
                let stall_ms = runner.spec.queue.policy.client_stall_ms;
                if run.blocked_since_ms.is_some_and(|since| since + stall_ms <= now.mono_ms) {
                    return self.gone(now, runner);
                }
                match run.run_out(now) {
                    None => false,
                    Some(clock) => self.clock_ran_out(now, runner, clock),
                }
            }
        }
    }

    fn clock_ran_out(&mut self, now: Now, runner: &mut Runner, clock: Clock) -> bool {
        let Some(run) = take(runner) else { return false };
        self.effect(Effect::Cancel(run.id));
        match clock {
            // R11: a deadline blames nobody.
            Clock::Share => {
                self.effect(Effect::Discard(run.id));
                runner.failed = Some((run.id, Class::Timeout));
                self.ends(now, runner, &run, Verdict::Spared, Some(Class::Timeout), false);
                let again = again(&run, Class::Timeout, Verdict::Spared, Then::FailOver);
                self.done_with(runner, &again)
            }
            Clock::Connect
            | Clock::Headers
            | Clock::Idle
            | Clock::Progress
            | Clock::FirstOutput => {
                self.fails(now, runner, &run, &Failure::upstream(Class::Stall), false)
            }
        }
    }

    fn happens(&mut self, now: Now, runner: &mut Runner, what: AttemptInput) -> bool {
        let policy = runner.spec.queue.policy.clone();
        let stream = runner.spec.delivery == Delivery::Stream;
        let route = |runner: &Runner, run: &Try| runner.spec.queue.candidates[run.candidate].route;
        let Some(mut run) = take(runner) else { return false };
        match what {
            AttemptInput::Sent => run.sent_ms = Some(now.mono_ms),
            AttemptInput::Head => {
                run.head = true;
                run.byte_ms = Some(now.mono_ms);
                if stream && !policy.relay.is_on() {
                    self.commit(&mut run);
                }
            }
            AttemptInput::Chunk { bytes, beat } => {
                run.head = true;
                run.byte_ms = Some(now.mono_ms);
                if beat != Beat::Wire {
                    run.progress_ms = Some(now.mono_ms);
                }
                if !run.committed {
                    run.held += u64::from(bytes);
                }
                if beat == Beat::Output && !run.output {
                    run.output = true;
                    let road = self.road(route(runner, &run));
                    if road.lone == Lone::Runs(runner.spec.id) {
                        road.lone = Lone::NotNeeded;
                    }
                }
                // R10.
                let speaks = match policy.commit {
                    CommitOn::FirstOutput => beat == Beat::Output,
                    CommitOn::FirstToken => beat != Beat::Wire,
                    CommitOn::Complete => false,
                };
                if stream && (speaks || run.held > policy.held_max_bytes) {
                    self.commit(&mut run);
                }
            }
            AttemptInput::Malformed { tool_call } => {
                let whole = policy.commit == CommitOn::Complete;
                if !run.committed || whole || tool_call == ToolCall::Open {
                    self.effect(Effect::Cancel(run.id));
                    let failure = Failure::upstream(Class::ServerError);
                    return self.fails(now, runner, &run, &failure, false);
                }
            }
            AttemptInput::End { finish, terminal, .. } => {
                return self.upstream_ended(now, runner, run, finish, terminal);
            }
            AttemptInput::Failed { failure, repair } => {
                return self.fails(now, runner, &run, &failure, repair == Repair::Possible);
            }
            AttemptInput::Unserved => {
                if run.resent || run.head {
                    let failure = Failure::upstream(Class::TransportRemote);
                    return self.fails(now, runner, &run, &failure, false);
                }
                run.resent = true;
                run.sent_ms = None;
                run.began = now;
                self.effect(Effect::Resend(run.id));
            }
        }
        runner.phase = Phase::Running(run);
        false
    }

    fn commit(&mut self, run: &mut Try) {
        if !run.committed {
            run.committed = true;
            run.held = 0;
            self.effect(Effect::Commit(run.id));
        }
    }

    /// R13, R14.
    fn upstream_ended(
        &mut self,
        now: Now,
        runner: &mut Runner,
        mut run: Box<Try>,
        finish: Option<Finish>,
        terminal: Terminal,
    ) -> bool {
        let policy = &runner.spec.queue.policy;
        let class = match finish {
            None if terminal == Terminal::Missing => Some(Class::TransportRemote),
            Some(Finish::Truncated) => None,
            Some(Finish::Filtered) if policy.failover_on_filter.is_on() && !run.committed => {
                Some(Class::ContentFilter)
            }
            Some(Finish::Filtered) => None,
            Some(Finish::Stop | Finish::ToolCalls) | None => {
                (!run.output).then_some(Class::EmptyResponse)
            }
        };
        if let Some(class) = class.filter(|_| policy.relay.is_on()) {
            return self.fails(now, runner, &run, &Failure::upstream(class), false);
        }
        self.commit(&mut run);
        let verdict = match finish {
            Some(Finish::Truncated) => Verdict::Truncated,
            Some(Finish::Filtered) => Verdict::Spared,
            Some(Finish::Stop | Finish::ToolCalls) | None => Verdict::Whole,
        };
        self.ends(now, runner, &run, verdict, None, false);
        if matches!(verdict, Verdict::Whole | Verdict::Truncated) {
            self.proved(now, runner, &run, verdict, finish);
        }
        self.end_trial(runner, runner.spec.queue.candidates[run.candidate].route);
        self.effect(Effect::Deliver(run.id));
        runner.phase = Phase::Over;
        false
    }

    fn fails(
        &mut self,
        now: Now,
        runner: &mut Runner,
        run: &Try,
        failure: &Failure,
        mendable: bool,
    ) -> bool {
        let policy = runner.spec.queue.policy.clone();
        let class = failure.class;
        if !policy.relay.is_on() {
            self.ends(now, runner, run, Verdict::Spared, Some(class), false);
            return self.refuse(
                runner,
                if run.committed {
                    LastWord::Broken(run.id, class)
                } else {
                    LastWord::AsItCame(run.id)
                },
            );
        }
        // R48: the wall clock outran the other by five seconds; three times in a call at most.
        let (wall, mono) =
            (now.wall_ms.saturating_sub(run.began.wall_ms), now.mono_ms - run.began.mono_ms);
        let slept = wall.saturating_sub(mono) >= 5_000 && runner.sleeps < 3;
        let (retry, verdict, then) = table(&policy, failure, now);
        if run.committed {
            let verdict = if slept { Verdict::Spared } else { verdict };
            self.ends(now, runner, run, verdict, Some(class), false);
            return self.refuse(runner, LastWord::Broken(run.id, class));
        }
        self.effect(Effect::Discard(run.id));
        runner.failed = Some((run.id, class));
        let free = Again {
            free: true,
            mend: runner.mended,
            ..again(run, class, Verdict::Spared, Then::FailOver)
        };
        if slept {
            runner.sleeps += 1;
            self.ends(now, runner, run, Verdict::Spared, None, true);
            runner.phase = Phase::Again(free);
            return true;
        }
        if then == Then::WaitForNetwork {
            return self.network(now, runner, run, free);
        }
        if mendable && !runner.mended {
            self.ends(now, runner, run, Verdict::Spared, None, true);
            let mend = Again { free: true, mend: true, ..again(run, class, verdict, then) };
            runner.phase = Phase::Again(mend);
            return true;
        }
        let trial = matches!(run.mode, Mode::Parole | Mode::LastResort);
        match retry {
            Some((pause_ms, why)) if !trial && runner.retries < policy.retries => {
                let upstream_busy = matches!(class, Class::Overloaded | Class::ServerError);
                let pause_ms = if upstream_busy && why == Why::RetryPause {
                    let span = if runner.retries == 0 { pause_ms } else { pause_ms * 4 };
                    jittered(runner.spec.seed, runner.attempts, span)
                } else {
                    pause_ms
                };
                runner.retries += 1;
                self.ends(now, runner, run, Verdict::Spared, None, true);
                let mend = runner.mended;
                let same = Again { pause_ms, why, mend, ..again(run, class, verdict, then) };
                runner.phase = Phase::Again(same);
                true
            }
            Some(_) | None => {
                self.ends(now, runner, run, verdict, Some(class), false);
                self.done_with(runner, &again(run, class, verdict, then))
            }
        }
    }

    fn network(&mut self, now: Now, runner: &mut Runner, run: &Try, free: Again) -> bool {
        let policy = &runner.spec.queue.policy;
        if policy.persist.is_on() {
            // P4: without limit.
            let pause = [1_000, 2_000, 4_000].get(runner.network_waits as usize).copied();
            runner.network_waits += 1;
            runner.round_from = runner.attempts;
            self.ends(now, runner, run, Verdict::Spared, None, true);
            let again = Again { class: Class::LocalNetwork, ..free };
            runner.phase = Phase::Pausing(now.mono_ms + pause.unwrap_or(5_000), Some(again));
            return false;
        }
        let left = policy.wait_max_ms.saturating_sub(runner.waited_ms);
        if left == 0 || runner.attempts >= policy.attempts_max {
            self.ends(now, runner, run, Verdict::Spared, None, false);
            return self.refuse(runner, LastWord::LocalNetwork);
        }
        let pause = [1_000, 2_000, 4_000].get(runner.network_waits as usize).copied();
        let pause = pause.unwrap_or(5_000).min(left);
        runner.network_waits += 1;
        runner.waited_ms += pause;
        self.ends(now, runner, run, Verdict::Spared, None, true);
        runner.phase = Phase::Pausing(now.mono_ms + pause, Some(free));
        false
    }

    pub(super) fn refuse(&mut self, runner: &mut Runner, word: LastWord) -> bool {
        self.said.push(Said::Effect(Effect::Refuse(word)));
        runner.phase = Phase::Over;
        false
    }

    /// An attempt is over: its place is free, and what it proved is recorded.
    fn ends(
        &mut self,
        now: Now,
        runner: &Runner,
        run: &Try,
        verdict: Verdict,
        class: Option<Class>,
        goes_again: bool,
    ) {
        let id = runner.spec.id;
        let route = runner.spec.queue.candidates[run.candidate].route;
        self.road(route).end(now, run.seat);
        let own = |r: &super::Run| r.call == id && r.attempt == run.id;
        self.talk(runner.spec.session).runs.retain(|other| !own(other));
        let judged = matches!(
            verdict,
            Verdict::Cooled { .. } | Verdict::Struck { .. } | Verdict::Quarantined { .. }
        );
        if let Some(class) = class.filter(|_| judged) {
            self.judge(now, runner, &again(run, class, verdict, Then::FailOver));
        }
        let proved = matches!(verdict, Verdict::Whole | Verdict::Truncated);
        if !goes_again && !proved {
            self.end_trial(runner, route);
        }
    }

    fn proved(
        &mut self,
        _now: Now,
        runner: &Runner,
        run: &Try,
        verdict: Verdict,
        finish: Option<Finish>,
    ) {
        let route = runner.spec.queue.candidates[run.candidate].route;
        let (queue, me) = (runner.spec.queue.id, writes_to(runner));
        let talk = self.talk(me);
        talk.out.remove(&(queue, route));
        talk.verified.insert((queue, route));
        let road = self.road(route);
        // R21: begun after the cooldown did.
        if road.cooling.is_none_or(|(since, _)| run.admitted.mono_ms >= since.mono_ms) {
            (road.failures, road.opened) = (0, 0);
            if road.cooling.is_some() {
                road.warm();
            }
        }
        if road.lone == Lone::Runs(runner.spec.id) {
            road.lone = Lone::NotNeeded;
        }
        if runner.spec.purpose == Purpose::Internal {
            return;
        }
        road.good += 1;
        // R14.
        let sticky = runner.spec.queue.policy.sticky.is_on();
        let talk = self.talk(me);
        if sticky {
            talk.current.insert(queue, route);
        }
        match (verdict, finish) {
            (Verdict::Truncated, _) => *talk.truncations.entry(queue).or_default() += 1,
            (_, Some(Finish::ToolCalls)) => {}
            (_, _) => {
                talk.truncations.remove(&queue);
            }
        }
    }
}

fn again(run: &Try, class: Class, verdict: Verdict, then: Then) -> Again {
    Again {
        failed: run.id,
        candidate: run.candidate,
        mode: run.mode,
        class,
        verdict,
        then,
        pause_ms: 0,
        why: Why::RetryPause,
        mend: false,
        free: false,
    }
}

fn take(runner: &mut Runner) -> Option<Box<Try>> {
    match std::mem::replace(&mut runner.phase, Phase::Choosing) {
        Phase::Running(run) => Some(run),
        other @ (Phase::Choosing
        | Phase::Again(_)
        | Phase::Pausing(..)
        | Phase::Waiting { .. }
        | Phase::Asked { .. }
        | Phase::Over) => {
            runner.phase = other;
            None
        }
    }
}

/// A quarantine with its parole counted on both clocks.
pub(crate) fn counted(now: Now, out: Quarantine) -> (Quarantine, Option<CallId>, Option<Now>) {
    let due = out.parole_ms.map(|at| {
        let left = at.saturating_sub(now.wall_ms).min(at.saturating_sub(out.since_ms));
        now.after(left)
    });
    (out, None, due)
}
