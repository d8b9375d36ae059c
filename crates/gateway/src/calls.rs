//! Calls that are open, and the last that were.
//!
//! It refuses to grow: 1,000 past calls, and 32 MB of their traces. Beyond that the oldest of the long
//! traces lose their ends, so that no call is forgotten for the sake of another one's trace.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ekiden_dialect::Dialect;
use ekiden_engine::{AttemptId, CallId, Class, Now, Purpose, Trace};
use ekiden_store::{Ending, Evidence, Told, Waited};

use crate::plan::QueueRuntime;

/// Past calls that are kept.
const PAST_MAX: usize = 1_000;
/// Bytes of their traces, roughly.
const TRACES_BYTES_MAX: usize = 32 * 1024 * 1024;
/// What each call may keep of it in any case.
const SHARE_BYTES: usize = TRACES_BYTES_MAX / PAST_MAX;
/// What a trace takes without its records, roughly.
const TRACE_BYTES: usize = 1_024;
/// What a record of a trace and what hangs on it takes, roughly.
const RECORD_BYTES: usize = 160;

/// Calls that are open, and the last that were.
#[derive(Debug, Default)]
pub struct Calls {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    open: BTreeMap<CallId, Open>,
    /// For what open calls wait, since when; those that do not wait are not among them.
    waits: BTreeMap<CallId, (Waited, Now)>,
    past: VecDeque<Arc<Past>>,
    bytes: usize,
}

/// What is known of a call from its beginning.
#[derive(Clone, Debug)]
pub struct Open {
    /// Its number.
    pub id: CallId,
    /// Its public id.
    pub call: Arc<str>,
    /// The session's key; empty for background work.
    pub session: Arc<str>,
    /// The agent inside the session.
    pub agent: Option<Arc<str>>,
    /// Who waits for it.
    pub purpose: Purpose,
    /// The queue.
    pub queue: Arc<QueueRuntime>,
    /// What the client speaks.
    pub dialect: Dialect,
    /// Whether a stream was asked for.
    pub streamed: bool,
    /// When it came.
    pub began: Now,
}

/// A call that is over.
#[derive(Clone, Debug)]
pub struct Past {
    /// What was known from the beginning.
    pub open: Open,
    /// When it ended.
    pub ended: Now,
    /// How.
    pub ending: Ending,
    /// What the client was told instead of a whole answer.
    pub told: Option<Told>,
    /// Whose answer it got.
    pub route: Option<Arc<str>>,
    /// Its attempts, in order.
    pub attempts: Vec<PastAttempt>,
    /// Everything that was decided, and from what.
    pub trace: Trace,
}

/// An attempt of a call that is over.
#[derive(Clone, Debug)]
pub struct PastAttempt {
    /// Its number, from 1.
    pub attempt: AttemptId,
    /// `provider/model`.
    pub route: Arc<str>,
    /// When it began.
    pub began: Now,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// What went wrong.
    pub class: Option<Class>,
    /// What it said.
    pub evidence: Evidence,
}

impl Calls {
    /// A call begins.
    pub(crate) fn open(&self, open: Open) {
        self.inner().open.insert(open.id, open);
    }

    /// It is over.
    pub(crate) fn close(&self, past: Past) {
        let mut inner = self.inner();
        inner.open.remove(&past.open.id);
        inner.waits.remove(&past.open.id);
        if inner.past.len() == PAST_MAX
            && let Some(oldest) = inner.past.pop_front()
        {
            inner.bytes -= bytes(&oldest.trace);
        }
        inner.bytes += bytes(&past.trace);
        inner.past.push_back(Arc::new(past));
        inner.shorten();
    }

    /// Calls that are open, oldest first.
    #[must_use]
    pub fn open_now(&self) -> Vec<Open> {
        self.inner().open.values().cloned().collect()
    }

    /// For what a call waits from now on; `None`: it goes on.
    pub(crate) fn note_wait(&self, call: CallId, why: Option<Waited>, now: Now) {
        let mut inner = self.inner();
        match why {
            Some(why) => drop(inner.waits.insert(call, (why, now))),
            None => drop(inner.waits.remove(&call)),
        }
    }

    /// Calls that wait, oldest first, with what they wait for and since when.
    #[must_use]
    pub fn waiting_now(&self) -> Vec<(Open, Waited, Now)> {
        let inner = self.inner();
        let open = |(id, (why, since)): (&CallId, &(Waited, Now))| {
            Some((inner.open.get(id)?.clone(), *why, *since))
        };
        inner.waits.iter().filter_map(open).collect()
    }

    /// How many are open.
    #[must_use]
    pub fn open_count(&self) -> usize {
        self.inner().open.len()
    }

    /// Calls that are over, newest first.
    #[must_use]
    pub fn past(&self, most: usize) -> Vec<Arc<Past>> {
        self.inner().past.iter().rev().take(most).cloned().collect()
    }

    /// The call of that public id that is over.
    #[must_use]
    pub fn find(&self, call: &str) -> Option<Arc<Past>> {
        self.inner().past.iter().rev().find(|past| &*past.open.call == call).cloned()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // A panic between two lines leaves a call in the list of open ones, nothing worse.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Takes the ends off the oldest traces that are longer than their share, until all fit.
    fn shorten(&mut self) {
        if self.bytes <= TRACES_BYTES_MAX {
            return;
        }
        for past in &mut self.past {
            let before = bytes(&past.trace);
            if before > SHARE_BYTES {
                let past = Arc::make_mut(past);
                past.trace.shorten((SHARE_BYTES - TRACE_BYTES) / record_bytes(&past.trace));
                self.bytes -= before.saturating_sub(bytes(&past.trace));
            }
            if self.bytes <= TRACES_BYTES_MAX {
                return;
            }
        }
    }
}

fn bytes(trace: &Trace) -> usize {
    TRACE_BYTES + trace.records.len() * record_bytes(trace)
}

/// What a record takes: an admission holds a view of each candidate.
fn record_bytes(trace: &Trace) -> usize {
    RECORD_BYTES + trace.spec.queue.candidates.len() * RECORD_BYTES / 4
}

#[cfg(test)]
mod tests {
    use ekiden_config::{Config, FixedEnv};
    use ekiden_engine::trace::Record;
    use ekiden_engine::{CallSpec, Delivery, History, Input, Seating, SessionId};

    use super::*;

    const TEXT: &str = r#"
        [providers.a]
        base_url = "http://127.0.0.1:9/v1"
        dialect = "openai-chat"
        [queues.default]
        candidates = ["a/m1", "a/m2"]
    "#;

    fn queue() -> Arc<QueueRuntime> {
        let config = Config::parse(TEXT, "config.toml", &FixedEnv::default()).expect("good").config;
        let plan = crate::Core::new(config, crate::CoreOptions::default()).plan();
        Arc::clone(&plan.queues()[0])
    }

    fn past(queue: &Arc<QueueRuntime>, id: u64, records: usize) -> Past {
        let began = Now::default();
        let open = Open {
            id: CallId(id),
            call: format!("ek-{id}").into(),
            session: "s".into(),
            agent: None,
            purpose: Purpose::Main,
            queue: Arc::clone(queue),
            dialect: Dialect::OpenAiChat,
            streamed: true,
            began,
        };
        let spec = CallSpec {
            id: CallId(id),
            queue: Arc::clone(queue.engine(Dialect::OpenAiChat)),
            session: SessionId(1),
            seating: Seating::Call,
            purpose: Purpose::Main,
            delivery: Delivery::Stream,
            history: History::Fresh,
            input_tokens: 0,
            deadline_ms: None,
            seed: 1,
            tried: Vec::new(),
        };
        let records = vec![Record::Fed { now: began, input: Input::Woken }; records];
        let trace = Trace { spec, records, left_out: 0 };
        let (ending, attempts) = (Ending::Left, Vec::new());
        Past { open, ended: began, ending, told: None, route: None, attempts, trace }
    }

    fn held(calls: &Calls) -> usize {
        let inner = calls.inner();
        let sum = inner.past.iter().map(|past| bytes(&past.trace)).sum::<usize>();
        assert_eq!(sum, inner.bytes, "what is counted is what is kept");
        sum
    }

    #[test]
    fn r33_long_traces_push_no_other_call_out() {
        let (calls, queue) = (Calls::default(), queue());
        for id in 1..=1_000 {
            calls.close(past(&queue, id, if id % 10 == 0 { 4_096 } else { 20 }));
        }
        assert!(held(&calls) <= TRACES_BYTES_MAX);
        for id in 1..=1_000 {
            let past = calls.find(&format!("ek-{id}")).expect("one of the newest 1,000");
            let whole = past.trace.left_out == 0;
            assert!(whole || id % 10 == 0, "a short trace stays whole");
            let records = if id % 10 == 0 { 4_096 } else { 20 };
            assert_eq!(past.trace.records.len() + past.trace.left_out as usize, records);
        }
        assert_eq!(calls.find("ek-1000").expect("the newest").trace.left_out, 0);
        let old = calls.find("ek-10").expect("an old one");
        let told = crate::explain::explain(&old).pop().map(|step| step.what);
        let records = old.trace.left_out;
        assert!(records > 0);
        assert_eq!(told, Some(crate::explain::What::LeftOut { records }), "and it says so");
    }

    #[test]
    fn r33_a_thousand_long_traces_fit_and_the_oldest_call_goes_first() {
        let (calls, queue) = (Calls::default(), queue());
        for id in 1..=1_003 {
            calls.close(past(&queue, id, 4_096));
        }
        assert!(held(&calls) <= TRACES_BYTES_MAX);
        assert!(calls.find("ek-3").is_none() && calls.find("ek-4").is_some());
        assert_eq!(calls.past(usize::MAX).len(), 1_000);
    }
}
