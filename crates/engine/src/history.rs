//! A whole engine driven by lines of text: recorded histories, generated ones, and the interface of
//! the WebAssembly build are this one thing. It adds no decision of its own.
//!
//! Each line is an operation; each answers with lines that say what the engine and the calls had
//! to say. Times are two numbers, monotonic and wall milliseconds.
//!
//! | operation | what it does |
//! | --- | --- |
//! | `day NUMBER ENDS` | the day turns |
//! | `queue …` | a queue as configured |
//! | `call …` with its queue's number | a call arrives |
//! | `drive CALL MONO WALL` | settles and admits as the call asks |
//! | `feed CALL MONO WALL INPUT…` | an input, then as `drive` |
//! | `grant LEASE ROUTE granted\|refused` | the answer to a wish for a seat |
//! | `release …` | by hand |
//! | `end MONO WALL SESSION` | a session ends |
//! | `leave MONO WALL QUEUE ROUTE` | a candidate leaves its queue |
//! | `restart NUMBER ENDS` | the process starts anew on that day: all that was in memory is gone |
//! | `recall MONO WALL FACT…` | a fact that was kept |
//! | `trace CALL` | the call's trace |

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;

use crate::call::{Call, CallSpec, Input, Output};
use crate::class::Failure;
use crate::codec::{BadWord, Read, Words, bad, next};
use crate::engine::{Engine, Grant};
use crate::fact::{Fact, Notice};
use crate::ids::{CallId, LeaseId, QueueId, RouteId, SessionId};
use crate::policy::Queue;
use crate::settle::Release;
use crate::time::{Day, Now};

/// An engine, its queues and its running calls.
#[derive(Debug)]
pub struct History {
    engine: Engine,
    queues: BTreeMap<QueueId, Arc<Queue>>,
    calls: BTreeMap<CallId, Call>,
}

impl History {
    /// An engine that knows nothing, on day 0.
    #[must_use]
    pub const fn new() -> Self {
        let day = Day { number: 0, ends_ms: u64::MAX };
        Self { engine: Engine::new(day), queues: BTreeMap::new(), calls: BTreeMap::new() }
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
            }
            "recall" => {
                let now = Now::read(words)?;
                self.engine.recall(now, &Fact::read(words)?);
            }
            "trace" => self.trace(CallId::read(words)?, out),
            found => return bad("an operation", found),
        }
        self.notices(out);
        Ok(())
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
        let (id, queue) = (CallId::read(words)?, QueueId::read(words)?);
        let Some(queue) = self.queues.get(&queue).cloned() else {
            return bad("the number of a known queue", "another");
        };
        let spec = CallSpec {
            id,
            queue,
            session: Words::read(words)?,
            seating: Words::read(words)?,
            purpose: Words::read(words)?,
            delivery: Words::read(words)?,
            history: Words::read(words)?,
            input_tokens: Words::read(words)?,
            deadline_ms: Words::read(words)?,
            seed: Words::read(words)?,
        };
        self.calls.insert(id, Call::new(spec));
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
            self.calls.remove(&id);
        }
    }

    fn notices(&mut self, out: &mut String) {
        while let Some(notice) = self.engine.poll_notice() {
            Notice::write(&notice, out);
            out.push('\n');
        }
    }

    fn trace(&self, id: CallId, out: &mut String) {
        if let Some(call) = self.calls.get(&id) {
            out.push_str(&call.trace().to_text());
        }
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
