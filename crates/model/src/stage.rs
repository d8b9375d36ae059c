//! A small driver for rule tests: calls on an engine, in virtual time, every wake-up attended to.
//! It has no opinion; tests say what they expect.

use std::collections::BTreeMap;
use std::sync::Arc;

use ekiden_engine::trace::Record;
use ekiden_engine::{
    AttemptInput, Beat, Call, CallId, CallSpec, Candidate, Class, Clocks, Day, Decision, Delivery,
    Effect, Engine, Fact, Failure, Finish, Grant, History, Input, LastWord, Notice, Now, Output,
    Passed, Policy, Presence, Purpose, Queue, QueueId, Repair, RouteId, Seating, SessionId, Start,
    Terminal, Trace, Wait, Want, Why,
};

/// The day on which every stage begins, and how it ends: at this Unix millisecond.
pub const DAY: Day = Day { number: 7, ends_ms: 86_400_000 * 8 };

/// One engine and its calls.
#[derive(Debug)]
pub struct Stage {
    /// The engine.
    pub engine: Engine,
    /// The time; [`Stage::pass`] moves it.
    pub now: Now,
    /// What became true, oldest first.
    pub facts: Vec<Fact>,
    /// Which calls were woken, in order.
    pub woken: Vec<CallId>,
    /// Wishes for seats that wait for an answer; empty while [`Stage::prompt`] is set.
    pub wants: Vec<Want>,
    /// Whether wishes are granted at once.
    pub prompt: bool,
    acts: BTreeMap<CallId, Act>,
}

#[derive(Debug)]
struct Act {
    call: Call,
    effects: Vec<(u64, Effect)>,
    wake: (Option<u64>, Why),
}

/// A candidate without caps on a remote provider.
#[must_use]
pub const fn candidate(route: u32) -> Candidate {
    Candidate {
        route: RouteId(route),
        presence: Presence::Present,
        max_sessions: None,
        max_in_flight: None,
        window: None,
        clocks: Clocks::REMOTE,
    }
}

/// A queue.
#[must_use]
pub fn queue(id: u32, policy: Policy, candidates: Vec<Candidate>) -> Arc<Queue> {
    Arc::new(Queue { id: QueueId(id), digest: 1, policy, candidates })
}

/// A queue of that many candidates with routes 0, 1, 2 … and the preset `relay`.
#[must_use]
pub fn relay(count: u32) -> Arc<Queue> {
    queue(1, Policy::RELAY, (0..count).map(candidate).collect())
}

impl Default for Stage {
    fn default() -> Self {
        Self::new()
    }
}

impl Stage {
    /// An engine that knows nothing, at noon of [`DAY`].
    #[must_use]
    pub fn new() -> Self {
        Self {
            engine: Engine::new(DAY),
            now: Now { mono_ms: 1_000_000, wall_ms: DAY.ends_ms - 43_200_000 },
            facts: Vec::new(),
            woken: Vec::new(),
            wants: Vec::new(),
            prompt: true,
            acts: BTreeMap::new(),
        }
    }

    /// What a call of a named session looks like; change what the test is about.
    #[must_use]
    pub fn spec(&self, queue: &Arc<Queue>, session: u64) -> CallSpec {
        CallSpec {
            id: CallId(self.acts.len() as u64 + 1),
            queue: Arc::clone(queue),
            session: SessionId(session),
            seating: Seating::Session,
            purpose: Purpose::Main,
            delivery: Delivery::Stream,
            history: History::Fresh,
            input_tokens: 0,
            deadline_ms: None,
            seed: 11,
            tried: Vec::new(),
        }
    }

    /// A streamed main call of a named session arrives.
    pub fn call(&mut self, queue: &Arc<Queue>, session: u64) -> CallId {
        let spec = self.spec(queue, session);
        self.arrive(spec)
    }

    /// A call arrives.
    pub fn arrive(&mut self, spec: CallSpec) -> CallId {
        let id = spec.id;
        let act = Act { call: Call::new(spec), effects: Vec::new(), wake: (None, Why::Admission) };
        self.acts.insert(id, act);
        self.drive(id);
        self.attend();
        id
    }

    /// Something happens to a call.
    pub fn input(&mut self, id: CallId, input: Input) {
        if let Some(act) = self.acts.get_mut(&id) {
            act.call.handle(self.now, input);
        }
        self.drive(id);
        self.attend();
    }

    /// Something happens to the attempt that runs.
    pub fn feed(&mut self, id: CallId, input: AttemptInput) {
        if let Some(start) = self.starts(id).last().copied() {
            self.input(id, Input::Attempt(start.attempt, input));
        }
    }

    /// The attempt that runs fails and names no wait.
    pub fn fail(&mut self, id: CallId, class: Class) {
        self.fail_naming(id, class, Wait::Unnamed);
    }

    /// The attempt that runs fails.
    pub fn fail_naming(&mut self, id: CallId, class: Class, wait: Wait) {
        let failure = Failure { wait, ..Failure::upstream(class) };
        self.feed(id, AttemptInput::Failed { failure, repair: Repair::Impossible });
    }

    /// Fails as often as the call tries this same candidate, pauses waited out.
    pub fn fail_out(&mut self, id: CallId, class: Class) {
        let Some(candidate) = self.running(id) else { return };
        while self.running(id) == Some(candidate) {
            self.fail(id, class);
            if let Some((ms, Why::RetryPause)) = self.waits(id) {
                self.pass(ms);
            }
        }
    }

    /// A piece of visible output comes.
    pub fn speak(&mut self, id: CallId) {
        self.feed(id, AttemptInput::Sent);
        self.feed(id, AttemptInput::Head);
        self.feed(id, AttemptInput::Chunk { bytes: 40, beat: Beat::Output });
    }

    /// The answer ends.
    pub fn end(&mut self, id: CallId, finish: Finish) {
        let (finish, terminal) = (Some(finish), Terminal::Seen);
        self.feed(id, AttemptInput::End { finish, terminal, output_tokens: Some(20) });
    }

    /// A whole answer comes.
    pub fn answer(&mut self, id: CallId) {
        self.speak(id);
        self.end(id, Finish::Stop);
    }

    /// Time passes; every timer rings when it is due.
    pub fn pass(&mut self, ms: u64) {
        let target = self.now.after(ms);
        loop {
            let due = self.acts.iter().filter_map(|(id, act)| Some((act.wake.0?, *id))).min();
            let Some((at, id)) = due.filter(|(at, _)| *at <= target.mono_ms) else { break };
            self.now = self.now.after(at.saturating_sub(self.now.mono_ms));
            self.input(id, Input::Tick);
        }
        self.now = target;
    }

    /// The machine sleeps: wall time passes alone.
    pub const fn sleep(&mut self, ms: u64) {
        self.now.wall_ms += ms;
    }

    /// A wish for a seat is answered.
    pub fn grant(&mut self, want: &Want, grant: Grant) {
        self.engine.answer(want.lease, want.route, grant);
        self.attend();
    }

    /// What the engine has to say is heard.
    pub fn attend(&mut self) {
        while let Some(notice) = self.engine.poll_notice() {
            match notice {
                Notice::Fact(fact) => self.facts.push(fact),
                Notice::Wake(id) => {
                    self.woken.push(id);
                    self.input(id, Input::Woken);
                }
                Notice::Want(want) if self.prompt => self.grant(&want, Grant::Granted),
                Notice::Want(want) => self.wants.push(want),
            }
        }
    }

    /// The candidate that runs for a call.
    #[must_use]
    pub fn running(&self, id: CallId) -> Option<u32> {
        let act = self.acts.get(&id)?;
        act.call.running_route()?;
        self.starts(id).last().map(|start| start.candidate)
    }

    /// The attempts so far.
    #[must_use]
    pub fn starts(&self, id: CallId) -> Vec<Start> {
        self.starts_at(id).into_iter().map(|(_, start)| start).collect()
    }

    /// The attempts so far and when they began, in monotonic milliseconds.
    #[must_use]
    pub fn starts_at(&self, id: CallId) -> Vec<(u64, Start)> {
        let effects = self.acts.get(&id).map_or(&[][..], |act| &act.effects);
        let start = |(at, effect): &(u64, Effect)| match effect {
            Effect::Start(start) => Some((*at, *start)),
            Effect::Resend(_)
            | Effect::Commit(_)
            | Effect::Deliver(_)
            | Effect::Discard(_)
            | Effect::Cancel(_)
            | Effect::Refuse(_) => None,
        };
        effects.iter().filter_map(start).collect()
    }

    /// The candidates of the attempts so far.
    #[must_use]
    pub fn tried(&self, id: CallId) -> Vec<u32> {
        self.starts(id).into_iter().map(|start| start.candidate).collect()
    }

    /// Everything the call had its shell do.
    #[must_use]
    pub fn effects(&self, id: CallId) -> Vec<Effect> {
        let effects = self.acts.get(&id).map_or(&[][..], |act| &act.effects);
        effects.iter().map(|(_, effect)| *effect).collect()
    }

    /// Whether the client has its whole answer.
    #[must_use]
    pub fn delivered(&self, id: CallId) -> bool {
        self.effects(id).iter().any(|effect| matches!(effect, Effect::Deliver(_)))
    }

    /// What the client was told instead of an answer.
    #[must_use]
    pub fn word(&self, id: CallId) -> Option<LastWord> {
        self.effects(id).into_iter().find_map(|effect| match effect {
            Effect::Refuse(word) => Some(word),
            Effect::Start(_)
            | Effect::Resend(_)
            | Effect::Commit(_)
            | Effect::Deliver(_)
            | Effect::Discard(_)
            | Effect::Cancel(_) => None,
        })
    }

    /// For how long the call is quiet, and why; nothing without a timer.
    #[must_use]
    pub fn waits(&self, id: CallId) -> Option<(u64, Why)> {
        let act = self.acts.get(&id)?;
        Some((act.wake.0?.saturating_sub(self.now.mono_ms), act.wake.1))
    }

    /// What a call decided, and from what.
    #[must_use]
    pub fn trace(&self, id: CallId) -> Option<Trace> {
        Some(self.acts.get(&id)?.call.trace())
    }

    /// The last admission of a call: whom it passed over, and what it decided.
    #[must_use]
    pub fn admission(&self, id: CallId) -> Option<(Vec<Passed>, Decision)> {
        let trace = self.acts.get(&id)?.call.trace();
        trace.records.into_iter().rev().find_map(|record| match record {
            Record::Admitted { passed, decision, .. } => Some((passed, decision)),
            Record::Fed { .. } => None,
        })
    }

    /// Whether a session's candidate is out.
    #[must_use]
    pub fn is_out(&self, session: u64, route: u32) -> bool {
        let session = self.engine.session(SessionId(session));
        session.is_some_and(|s| s.quarantined.iter().any(|(_, r, _)| *r == RouteId(route)))
    }

    /// Whether a session's candidate is verified.
    #[must_use]
    pub fn is_verified(&self, session: u64, route: u32) -> bool {
        let session = self.engine.session(SessionId(session));
        session.is_some_and(|s| s.verified.iter().any(|(_, r)| *r == RouteId(route)))
    }

    /// For how long a route cools.
    #[must_use]
    pub fn cools(&self, route: u32) -> Option<u64> {
        self.engine.routes(self.now).find(|r| r.route == RouteId(route))?.cooling_ms
    }

    /// How many seats of a route are taken.
    #[must_use]
    pub fn taken(&self, route: u32) -> u32 {
        let route = self.engine.routes(self.now).find(|r| r.route == RouteId(route));
        route.map_or(0, |route| route.taken)
    }

    /// Whether anything was recorded against anybody.
    #[must_use]
    pub fn blamed(&self) -> bool {
        self.facts.iter().any(|f| matches!(f, Fact::Quarantined { .. } | Fact::Cooled { .. }))
    }

    fn drive(&mut self, id: CallId) {
        let Some(act) = self.acts.get_mut(&id) else { return };
        loop {
            match act.call.poll_output() {
                Output::Effect(effect) => act.effects.push((self.now.mono_ms, effect)),
                Output::Settle => self.engine.settle(self.now, &mut act.call),
                Output::Admit => {
                    self.engine.admit(self.now, &mut act.call);
                }
                Output::Wake(at, why) => {
                    act.wake = (at, why);
                    return;
                }
            }
        }
    }
}
