//! Calls that are open, and the last that were.
//!
//! It refuses to grow: 1,000 past calls or 32 MB of their traces, whichever is less.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ekiden_dialect::Dialect;
use ekiden_engine::{AttemptId, CallId, Class, Now, Purpose, Trace};
use ekiden_store::{Ending, Evidence, Told};

use crate::plan::QueueRuntime;

/// Past calls that are kept.
const PAST_MAX: usize = 1_000;
/// Bytes of their traces, roughly.
const TRACES_BYTES_MAX: usize = 32 * 1024 * 1024;
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
        inner.bytes += bytes(&past);
        inner.past.push_back(Arc::new(past));
        while inner.past.len() > PAST_MAX || inner.bytes > TRACES_BYTES_MAX {
            match inner.past.pop_front() {
                Some(oldest) => inner.bytes -= bytes(&oldest),
                None => return,
            }
        }
    }

    /// Calls that are open, oldest first.
    #[must_use]
    pub fn open_now(&self) -> Vec<Open> {
        self.inner().open.values().cloned().collect()
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

fn bytes(past: &Past) -> usize {
    let candidates = past.trace.spec.queue.candidates.len();
    1_024 + past.trace.records.len() * (RECORD_BYTES + candidates * RECORD_BYTES / 4)
}
