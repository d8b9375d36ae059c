//! Open and past calls (R33).
//!
//! It refuses to explain by itself: what was decided stands in the trace, and is read from there.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use ekiden_engine::{Now, Purpose};
use ekiden_store::{Ending, Evidence};

use crate::calls::{Calls, Open, Past, PastAttempt};
use crate::core::Core;
use crate::explain::{Step, explain};

use super::journal::{ToldShown, waited};
use super::shape::{ClassName, Said};

/// Open and past calls.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Calls")]
pub(in crate::front) struct List {
    open: Vec<Call>,
    past: Vec<Call>,
}

/// One call.
#[derive(Serialize, JsonSchema)]
pub(in crate::front) struct Call {
    /// Its id, as in `x-ekiden-call`.
    call: Arc<str>,
    /// The session's key; empty for background work.
    session: Arc<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<Arc<str>>,
    /// `main` or `internal`.
    purpose: &'static str,
    queue: Arc<str>,
    dialect: &'static str,
    streamed: bool,
    began_ms: u64,
    took_ms: u64,
    /// `open`, `whole`, `truncated`, `refused`, `broken`, `left` or `stopped`.
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    told: Option<ToldShown>,
    #[serde(skip_serializing_if = "Option::is_none")]
    /// Whose answer it got.
    route: Option<Arc<str>>,
    attempts: Vec<Attempt>,
    /// Why it did what it did; only where one call is asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steps: Vec<Step>,
}

/// An open call that waits.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CallWaiting")]
pub(super) struct Waiting {
    call: Arc<str>,
    /// The session's key; empty for background work.
    session: Arc<str>,
    queue: Arc<str>,
    /// As in the journal; `round`: it persists, and goes round its queue again.
    #[serde(rename = "for")]
    why: &'static str,
    /// Since when, in Unix milliseconds.
    since_ms: u64,
}

/// One attempt of a call.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CallAttempt")]
struct Attempt {
    attempt: u32,
    route: Arc<str>,
    began_ms: u64,
    took_ms: u64,
    class: Option<ClassName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<Said>,
}

/// Open calls, oldest first, and at most so many past ones, newest first.
pub(super) fn list(calls: &Calls, now: Now, most: usize) -> List {
    List {
        open: calls.open_now().iter().map(|open| Call::open(open, now)).collect(),
        past: calls.past(most).iter().map(|past| Call::past(past)).collect(),
    }
}

/// Calls that wait, oldest first.
pub(super) fn waiting(calls: &Calls) -> Vec<Waiting> {
    let waiting = calls.waiting_now().into_iter();
    let told = waiting.map(|(open, why, since)| Waiting {
        call: open.call,
        session: open.session,
        queue: Arc::clone(&open.queue.id),
        why: waited(why),
        since_ms: since.wall_ms,
    });
    told.collect()
}

/// The call of that public id, with what happened to it in order if it is over.
pub(super) fn find(core: &Core, id: &str) -> Option<Call> {
    if let Some(past) = core.calls().find(id) {
        return Some(Call { steps: explain(&past), ..Call::past(&past) });
    }
    let now = core.clock().now();
    let open = core.calls().open_now();
    open.iter().find(|open| &*open.call == id).map(|open| Call::open(open, now))
}

impl Call {
    fn open(open: &Open, now: Now) -> Self {
        Self {
            call: Arc::clone(&open.call),
            session: Arc::clone(&open.session),
            agent: open.agent.clone(),
            purpose: match open.purpose {
                Purpose::Main => "main",
                Purpose::Internal => "internal",
            },
            queue: Arc::clone(&open.queue.id),
            dialect: open.dialect.name(),
            streamed: open.streamed,
            began_ms: open.began.wall_ms,
            took_ms: now.mono_ms.saturating_sub(open.began.mono_ms),
            state: "open",
            told: None,
            route: None,
            attempts: Vec::new(),
            steps: Vec::new(),
        }
    }

    fn past(past: &Past) -> Self {
        Self {
            state: match past.ending {
                Ending::Whole => "whole",
                Ending::Truncated => "truncated",
                Ending::Refused => "refused",
                Ending::Broken => "broken",
                Ending::Left => "left",
                Ending::Stopped => "stopped",
            },
            told: past.told.map(ToldShown::of),
            route: past.route.clone(),
            attempts: past.attempts.iter().map(Attempt::of).collect(),
            ..Self::open(&past.open, past.ended)
        }
    }
}

impl Attempt {
    fn of(attempt: &PastAttempt) -> Self {
        let silent = attempt.evidence == Evidence::default();
        Self {
            attempt: attempt.attempt.0,
            route: Arc::clone(&attempt.route),
            began_ms: attempt.began.wall_ms,
            took_ms: attempt.took_ms,
            class: attempt.class.map(ClassName),
            evidence: (!silent).then(|| Said::of(&attempt.evidence)),
        }
    }
}
