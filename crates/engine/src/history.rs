//! A whole engine driven by lines of text: recorded histories, generated ones, and the interface of
//! the WebAssembly build are this one thing. It adds no decision of its own.
//!
//! Each line is an operation; each answers with lines that say what the engine and the calls had
//! to say. Times are two numbers, monotonic and wall milliseconds.
//!
//! | operation | what it does |
//! | --- | --- |
//! | `day NUMBER ENDS` | the day turns |
//! | `queue …` | a queue as configured; see below |
//! | `call CALL QUEUE SESSION SEATING PURPOSE DELIVERY HISTORY TOKENS DEADLINE SEED TRIED` | a call arrives |
//! | `drive CALL MONO WALL` | settles and admits as the call asks |
//! | `feed CALL MONO WALL INPUT…` | an input, then as `drive` |
//! | `grant LEASE ROUTE granted\|refused` | the answer to a wish for a seat |
//! | `release session SESSION\|place SESSION QUEUE ROUTE\|route ROUTE\|all` | by hand |
//! | `probed MONO WALL QUEUE ROUTE whole\|failed FAILURE…` | a probe in the background ended (H4) |
//! | `pause all\|session SESSION` | nothing persists until the same words are resumed |
//! | `resume all\|session SESSION` | it may again |
//! | `end MONO WALL SESSION` | a session ends |
//! | `leave MONO WALL QUEUE ROUTE` | a candidate leaves its queue |
//! | `restart NUMBER ENDS` | the process starts anew on that day: all that was in memory is gone |
//! | `recall MONO WALL FACT…` | a fact that was kept |
//! | `trace CALL` | the call's trace; also of the last 32 that are over |
//! | `why CALL` | lines `why admitted MONO WALL PASSED MOVED DECISION` and `why fed MONO WALL INPUT`: the trace without its views |
//! | `preview MONO WALL CALL…` | the call's words after `call`: what it would be decided now, as `why` says it; nothing is taken |
//! | `presets` | the policies' fields, preset by preset |
//! | `status MONO WALL` | lines `paused WHOSE`, `route …`, `session …`: everything |
//! | `status-session MONO WALL SESSION` | the session, and the routes it has to do with; nothing if unknown |
//! | `continuation ENABLED ON_TRUNCATION ON_FAILURE TRUNCATIONS_MAX FAILURES_MAX DELAY_MS` | how turns are continued; the first three `on\|off` |
//! | `sub-agent MONO WALL SESSION` | the session's turns are left to its parent |
//! | `turn-started MONO WALL SESSION user\|continued` | a turn begins |
//! | `turn-ended MONO WALL SESSION END` | it ends: `completed`, `stopped`, `truncated`, `failed CLASS`, `missing-adapter` |
//! | `continue-due MONO WALL SESSION` | the wait is over |
//!
//! `SEATING` is `session|call`, `PURPOSE` `main|internal`, `DELIVERY` `stream|whole`, `HISTORY`
//! `fresh|ongoing`; `DEADLINE` is milliseconds or `-`; `TRIED` is a list of routes, its length
//! first: `0`, or `2 7 9`. `INPUT` is `attempt ATTEMPT …`, `client-blocked`, `client-ready`,
//! `client-gone`, `woken`, `tick` or `stop`; of an attempt `sent`, `head`,
//! `chunk BYTES wire|reasoning|output`, `malformed open|closed`,
//! `end FINISH seen|missing OUTPUT_TOKENS`, `failed CLASS ORIGIN SCOPE WAIT REACH possible|impossible`,
//! `unserved`.
//! `PASSED` and `MOVED` are lists of a candidate's place and a word: why it was passed over, or stands
//! further back than its place says: `missing`, `quarantined CLASS`, `parole-running`, `unverified`
//! (R3), `rotated` (R14), `not-current` (H3).
//!
//! The answers to `turn-ended` and `continue-due` are one line each:
//!
//! | answer | meaning |
//! | --- | --- |
//! | `continue SESSION after MS truncation\|failure COUNT` | ask `continue-due` in so long; COUNT is the how-manieth in a row |
//! | `continue SESSION now truncation\|failure COUNT` | send `continue_text` now, then say `turn-started … continued` |
//! | `continue SESSION not REASON` | nothing: `completed`, `stopped`, `off`, `sub-agent`, `limit`, `context-overflow`, `auth`, `missing-adapter`, `local-network`, `cancelled` |
//!
//! For example, with `continuation on on on 10 1 5000`:
//!
//! ```text
//! turn-ended 1000 1000 4 failed overloaded     continue 4 after 5000 failure 1
//! continue-due 6000 6000 4                     continue 4 now failure 1
//!                                              fact continued 4 failure 1
//! turn-started 6010 6010 4 continued
//! turn-ended 9000 9000 4 failed timeout        continue 4 not limit
//!                                              fact not-continued 4 limit
//! ```
//!
//! Lines of `status` (a list is its length, then its members; `-` is none; spans count from now):
//!
//! | line | fields |
//! | --- | --- |
//! | `route` | ROUTE COOLING_MS RESTING_MS PROBING(`yes\|no`) FAILURES OPENED IN_FLIGHT TAKEN SUCCESSES FAILED, then the list of holders (`session N` or `call N`) |
//! | `session` | SESSION; lists of quarantined (QUEUE ROUTE CLASS DAY SINCE_MS UNTIL_MS PAROLE_MS PAROLES), verified (QUEUE ROUTE), speeds (ROUTE TOKENS SPEAKING_MS), truncations (QUEUE COUNT); RUNNING, RUNNING_NOW; lists of routes with a seat, and of cooling routes that its own runs stand in for; PAUSED, SUB_AGENT (`yes\|no`), CONTINUED_TRUNCATIONS, CONTINUED_FAILURES, CONTINUE_AT (MONO WALL, or `-`) |
//!
//! FAILURES and OPENED are the breaker's, in a row; SUCCESSES and FAILED are today's tally. A route
//! is cooling while COOLING_MS is not `-`, else probing where PROBING is `yes`, else ready.
//!
//! A queue is `queue QUEUE DIGEST`, the policy's fields, then the list of candidates, each `ROUTE
//! present|missing MAX_SESSIONS MAX_IN_FLIGHT WINDOW CONNECT HEADERS FIRST_BYTE IDLE PROGRESS
//! FIRST_OUTPUT`. The policy's fields are, in this order: those of [`crate::Policy`] in the order
//! of its declaration, a switch as `on|off`, a set of classes as `all` or as a list. `presets`
//! answers them for the four presets, a line `preset NAME …` each.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::sync::Arc;

use crate::attempt::Beat;
use crate::call::{AttemptInput, Call, CallSpec, Input, Output};
use crate::class::Failure;
use crate::codec::{BadWord, Read, Words, bad, next, word};
use crate::continuation::{Continuation, Continue, TurnEnd, TurnStart};
use crate::engine::{Engine, Grant};
use crate::fact::{Fact, Notice};
use crate::ids::{AttemptId, CallId, LeaseId, QueueId, RouteId, SessionId};
use crate::pausing::Whose;
use crate::policy::{Policy, Queue};
use crate::settle::Release;
use crate::sorted::Sorted;
use crate::status::RouteStatus;
use crate::time::{Day, Now};

mod why;

/// An engine, its queues and its running calls.
#[derive(Debug)]
pub struct History {
    engine: Engine,
    queues: Sorted<QueueId, Arc<Queue>>,
    calls: BTreeMap<CallId, Call>,
    /// The last that ended, oldest first.
    over: VecDeque<Call>,
}

impl History {
    /// An engine that knows nothing, on day 0.
    #[must_use]
    pub const fn new() -> Self {
        let day = Day { number: 0, ends_ms: u64::MAX };
        Self {
            engine: Engine::new(day),
            queues: Sorted::new(),
            calls: BTreeMap::new(),
            over: VecDeque::new(),
        }
    }

    /// Carries out one operation and appends what it led to.
    ///
    /// # Errors
    /// When the line is not an operation; nothing has happened then.
    pub fn line(&mut self, line: &str, out: &mut String) -> Result<(), BadWord> {
        let mut words = line.split_ascii_whitespace();
        let words = &mut words;
        match next(words, "an operation")? {
            "day" => self.engine.turn(Day::read(words)?),
            "queue" => {
                let queue = Queue::read(words)?;
                self.queues.insert(queue.id, Arc::new(queue));
            }
            "call" => self.arrive(words)?,
            "drive" => {
                let (id, now) = (CallId::read(words)?, Now::read(words)?);
                self.drive(now, id, out);
            }
            "feed" => {
                let (id, now) = (CallId::read(words)?, Now::read(words)?);
                let input = Input::read(words)?;
                if let Some(call) = self.calls.get_mut(&id) {
                    call.handle(now, input);
                }
                self.drive(now, id, out);
            }
            "grant" => {
                let (lease, route) = (LeaseId::read(words)?, RouteId::read(words)?);
                self.engine.answer(lease, route, Grant::read(words)?);
            }
            "release" => self.engine.release(Release::read(words)?),
            "end" => {
                let now = Now::read(words)?;
                self.engine.end_session(now, SessionId::read(words)?);
            }
            "leave" => {
                let (now, queue) = (Now::read(words)?, QueueId::read(words)?);
                self.engine.leave_queue(now, queue, RouteId::read(words)?);
            }
            "restart" => {
                self.engine = Engine::new(Day::read(words)?);
                self.calls.clear();
                self.over.clear();
            }
            "recall" => {
                let now = Now::read(words)?;
                self.engine.recall(now, &Fact::read(words)?);
            }
            look @ ("trace" | "why" | "preview") => self.look(look, words, out)?,
            "status" => self.status(Now::read(words)?, out),
            "status-session" => {
                let now = Now::read(words)?;
                self.status_session(now, SessionId::read(words)?, out);
            }
            "presets" => presets(out),
            "probed" => self.probed(words)?,
            "pause" => self.engine.pause(Whose::read(words)?),
            "resume" => self.engine.resume(Whose::read(words)?),
            found => return self.turns(found, words, out),
        }
        self.notices(out);
        Ok(())
    }

    /// A piece of an answer, as `feed CALL MONO WALL attempt ATTEMPT chunk BYTES BEAT` says it, but
    /// without words: streams have very many of them. Whether the call has anything to say now; then
    /// `drive` it. Else nothing is to be done, and a timer that rings early is told the new moment.
    pub fn beat(
        &mut self,
        now: Now,
        id: CallId,
        attempt: AttemptId,
        bytes: u32,
        beat: Beat,
    ) -> bool {
        let Some(call) = self.calls.get_mut(&id) else { return false };
        call.handle(now, Input::Attempt(attempt, AttemptInput::Chunk { bytes, beat }));
        call.has_output()
    }

    /// Runs many lines; empty ones and those that begin with `#` are passed over.
    ///
    /// # Errors
    /// With the number of the line, from 1, that is no operation.
    pub fn run(&mut self, lines: &str) -> Result<String, (usize, BadWord)> {
        let mut out = String::new();
        for (index, line) in lines.lines().enumerate() {
            if !line.trim().is_empty() && !line.starts_with('#') {
                self.line(line, &mut out).map_err(|bad| (index + 1, bad))?;
            }
        }
        Ok(out)
    }

    fn arrive(&mut self, words: &mut Read<'_>) -> Result<(), BadWord> {
        let spec = self.spec(words)?;
        self.calls.insert(spec.id, Call::new(spec));
        Ok(())
    }

    fn drive(&mut self, now: Now, id: CallId, out: &mut String) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        loop {
            let output = call.poll_output();
            out.push_str(&output_line(id, &output));
            out.push('\n');
            match output {
                Output::Effect(_) => {}
                Output::Settle => self.engine.settle(now, call),
                Output::Admit => {
                    self.engine.admit(now, call);
                }
                Output::Wake(..) => break,
            }
        }
        if call.is_over() {
            self.set_aside(id);
        }
    }

    fn notices(&mut self, out: &mut String) {
        while let Some(notice) = self.engine.poll_notice() {
            Notice::write(&notice, out);
            out.push('\n');
        }
    }

    fn probed(&mut self, words: &mut Read<'_>) -> Result<(), BadWord> {
        let (now, queue) = (Now::read(words)?, QueueId::read(words)?);
        let route = RouteId::read(words)?;
        let failure = match next(words, "whole or failed")? {
            "whole" => None,
            "failed" => Some(Failure::read(words)?),
            found => return bad("whole or failed", found),
        };
        let Some(queue) = self.queues.get(&queue) else {
            return bad("the number of a known queue", "another");
        };
        self.engine.probed(now, &queue.policy, route, failure);
        Ok(())
    }

    /// Operations on the turns of a session (R42, R43).
    fn turns(&mut self, word: &str, words: &mut Read<'_>, out: &mut String) -> Result<(), BadWord> {
        if word == "continuation" {
            self.engine.set_continuation(Continuation::read(words)?);
            return Ok(());
        }
        let known = ["sub-agent", "turn-started", "turn-ended", "continue-due"];
        if !known.contains(&word) {
            return bad("an operation", word);
        }
        let (now, session) = (Now::read(words)?, SessionId::read(words)?);
        let said = match word {
            "sub-agent" => {
                self.engine.mark_sub_agent(now, session);
                None
            }
            "turn-started" => {
                self.engine.turn_started(now, session, TurnStart::read(words)?);
                None
            }
            "turn-ended" => Some(self.engine.turn_ended(now, session, TurnEnd::read(words)?)),
            _ => Some(self.engine.continue_due(now, session)),
        };
        if let Some(said) = said {
            tell(out, "continue", &[&session, &said]);
        }
        self.notices(out);
        Ok(())
    }

    fn status(&self, now: Now, out: &mut String) {
        self.engine.pauses().for_each(|whose| tell(out, "paused", &[&whose]));
        self.engine.routes(now).for_each(|route| tell(out, "route", &[&route]));
        self.engine.sessions().for_each(|session| tell(out, "session", &[&session]));
    }

    /// The session, and every route that it has anything to do with.
    fn status_session(&self, now: Now, session: SessionId, out: &mut String) {
        let Some(status) = self.engine.session(session) else { return };
        let concerned = |route: &RouteStatus| {
            let id = route.route;
            status.quarantined.iter().any(|(_, other, _)| *other == id)
                || status.verified.iter().any(|(_, other)| *other == id)
                || status.speeds.iter().any(|(other, _)| *other == id)
                || status.seats.contains(&id)
                || status.stands_in_for.contains(&id)
                || status.running_now == Some(id)
        };
        let routes = self.engine.routes(now).filter(concerned);
        routes.for_each(|route| tell(out, "route", &[&route]));
        tell(out, "session", &[&status]);
    }
}

impl Default for History {
    fn default() -> Self {
        Self::new()
    }
}

/// The line that makes a queue known.
#[must_use]
pub fn queue_line(queue: &Queue) -> String {
    let mut out = String::from("queue");
    queue.write(&mut out);
    out
}

/// The line with which a call arrives.
#[must_use]
pub fn call_line(spec: &CallSpec) -> String {
    let mut out = String::from("call");
    spec.id.write(&mut out);
    spec.queue.id.write(&mut out);
    spec.session.write(&mut out);
    spec.seating.write(&mut out);
    spec.purpose.write(&mut out);
    spec.delivery.write(&mut out);
    spec.history.write(&mut out);
    spec.input_tokens.write(&mut out);
    spec.deadline_ms.write(&mut out);
    spec.seed.write(&mut out);
    spec.tried.write(&mut out);
    out
}

/// The line that drives a call.
#[must_use]
pub fn drive_line(id: CallId, now: Now) -> String {
    let mut out = String::from("drive");
    id.write(&mut out);
    now.write(&mut out);
    out
}

/// The line that feeds a call.
#[must_use]
pub fn feed_line(id: CallId, now: Now, input: Input) -> String {
    let mut out = String::from("feed");
    id.write(&mut out);
    now.write(&mut out);
    input.write(&mut out);
    out
}

/// The line that answers a wish for a seat.
#[must_use]
pub fn grant_line(lease: LeaseId, route: RouteId, grant: Grant) -> String {
    let mut out = String::from("grant");
    lease.write(&mut out);
    route.write(&mut out);
    grant.write(&mut out);
    out
}

/// A failure in the words that `feed CALL MONO WALL attempt ATTEMPT failed …` takes.
#[must_use]
pub fn failure_words(failure: Failure) -> String {
    let mut out = String::new();
    failure.write(&mut out);
    out
}

/// The line for a new day.
#[must_use]
pub fn day_line(day: Day) -> String {
    words("day", &[&day])
}

/// The line that lets go by hand.
#[must_use]
pub fn release_line(release: Release) -> String {
    words("release", &[&release])
}

/// The line that ends a session.
#[must_use]
pub fn end_line(now: Now, session: SessionId) -> String {
    words("end", &[&now, &session])
}

/// The line with which a candidate leaves its queue.
#[must_use]
pub fn leave_line(now: Now, queue: QueueId, route: RouteId) -> String {
    words("leave", &[&now, &queue, &route])
}

/// The line that starts anew.
#[must_use]
pub fn restart_line(day: Day) -> String {
    words("restart", &[&day])
}

/// The line that recalls a fact.
#[must_use]
pub fn recall_line(now: Now, fact: &Fact) -> String {
    words("recall", &[&now, fact])
}

/// What a call says, as [`History`] writes it.
#[must_use]
pub fn output_line(id: CallId, output: &Output) -> String {
    words("call", &[&id, output])
}

/// What the engine says, as [`History`] writes it.
#[must_use]
pub fn notice_line(notice: &Notice) -> String {
    let mut out = String::new();
    notice.write(&mut out);
    out
}

/// The line with which a probe in the background ends (H4).
#[must_use]
pub fn probed_line(now: Now, queue: QueueId, route: RouteId, failure: Option<Failure>) -> String {
    let mut out = words("probed", &[&now, &queue, &route]);
    match failure {
        None => word(&mut out, "whole"),
        Some(failure) => {
            word(&mut out, "failed");
            failure.write(&mut out);
        }
    }
    out
}

/// The line that pauses (P5).
#[must_use]
pub fn pause_line(whose: Whose) -> String {
    words("pause", &[&whose])
}

/// The line that resumes (P5).
#[must_use]
pub fn resume_line(whose: Whose) -> String {
    words("resume", &[&whose])
}

/// The line that sets how turns are continued (R42).
#[must_use]
pub fn continuation_line(settings: &Continuation) -> String {
    words("continuation", &[settings])
}

/// The line that leaves a session's turns to its parent (R42).
#[must_use]
pub fn sub_agent_line(now: Now, session: SessionId) -> String {
    words("sub-agent", &[&now, &session])
}

/// The line with which a turn begins (R42).
#[must_use]
pub fn turn_started_line(now: Now, session: SessionId, start: TurnStart) -> String {
    words("turn-started", &[&now, &session, &start])
}

/// The line with which a turn ends (R42).
#[must_use]
pub fn turn_ended_line(now: Now, session: SessionId, end: TurnEnd) -> String {
    words("turn-ended", &[&now, &session, &end])
}

/// The line that asks whether it is time to go on (R42).
#[must_use]
pub fn continue_due_line(now: Now, session: SessionId) -> String {
    words("continue-due", &[&now, &session])
}

/// An answer about a session's turn, as [`History`] writes it.
#[must_use]
pub fn continue_line(session: SessionId, said: Continue) -> String {
    words("continue", &[&session, &said])
}

fn presets(out: &mut String) {
    let presets = [
        ("relay", Policy::RELAY),
        ("health", Policy::HEALTH),
        ("chain", Policy::CHAIN),
        ("persist", Policy::PERSIST),
    ];
    for (name, policy) in &presets {
        out.push_str("preset ");
        tell(out, name, &[policy]);
    }
}

fn tell(out: &mut String, first: &str, rest: &[&dyn Write]) {
    out.push_str(&words(first, rest));
    out.push('\n');
}

/// A word and what follows it.
fn words(first: &str, rest: &[&dyn Write]) -> String {
    let mut out = String::from(first);
    rest.iter().for_each(|word| word.append(&mut out));
    out
}

/// The writing half of [`Words`], for values of different types in one list.
trait Write {
    fn append(&self, out: &mut String);
}

impl<T: Words> Write for T {
    fn append(&self, out: &mut String) {
        self.write(out);
    }
}
