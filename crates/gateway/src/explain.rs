//! Why a call did what it did, in order: read from its trace, put into names (R33).
//!
//! It refuses prose: codes, names and spans, which the page and the CLI put into words.

use std::sync::Arc;

use ekiden_engine::trace::Record;
use ekiden_engine::{
    AttemptInput, Clock, Decision, Finish, Input, LastWord, Mode, Now, Reason, Terminal, WaitFor,
    Why,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::calls::Past;
use crate::plan::QueueRuntime;

/// One step of a call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct Step {
    /// Milliseconds after the call came.
    pub at_ms: u64,
    /// What happened then.
    #[serde(flatten)]
    pub what: What,
}

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(tag = "step", rename_all = "snake_case")]
#[schemars(rename = "StepWhat")]
pub enum What {
    /// A candidate was passed over.
    PassedOver {
        /// `provider/model`.
        route: Arc<str>,
        /// Why.
        reason: &'static str,
        /// The class of its quarantine.
        #[serde(skip_serializing_if = "Option::is_none")]
        class: Option<&'static str>,
        /// For how long, in milliseconds.
        #[serde(skip_serializing_if = "Option::is_none")]
        ms: Option<u64>,
    },
    /// An attempt began.
    Began {
        /// `provider/model`.
        route: Arc<str>,
        /// Its number, from 1.
        attempt: u32,
        /// The rule under which it ran.
        mode: &'static str,
        /// `continue_text` messages that it carried.
        continues: u32,
        /// Whether the request was mended first.
        mended: bool,
    },
    /// A pause before the next attempt.
    Paused {
        /// How long, in milliseconds.
        ms: u64,
        /// What for.
        why: &'static str,
    },
    /// Nothing could run.
    Waited {
        /// At most how long, in milliseconds.
        ms: u64,
        /// What for.
        why: &'static str,
    },
    /// A seat was asked for.
    AskedForSeat {
        /// `provider/model`.
        route: Arc<str>,
    },
    /// No retry after all.
    Judged {
        /// `provider/model`.
        route: Arc<str>,
    },
    /// An attempt failed.
    Failed {
        /// Its number.
        attempt: u32,
        /// How.
        class: &'static str,
        /// Whether the request could be mended.
        mendable: bool,
    },
    /// A reused connection died, and the request went once more on a fresh one.
    Resent {
        /// Its number.
        attempt: u32,
    },
    /// A chunk could not be read.
    Malformed {
        /// Its number.
        attempt: u32,
    },
    /// The upstream closed the answer.
    Ended {
        /// Its number.
        attempt: u32,
        /// The reason that it gave.
        finish: Option<&'static str>,
        /// Whether the dialect's terminal event came.
        terminal: bool,
    },
    /// What came next was not kept.
    LeftOut {
        /// How many records of the trace.
        records: u32,
    },
    /// The client left.
    ClientGone,
    /// Somebody stopped the call.
    Stopped,
    /// The call ended without an attempt that could be delivered.
    Exhausted {
        /// What the client was told.
        told: &'static str,
    },
}

/// The steps of a call, in order. What led nowhere is left out.
#[must_use]
pub fn explain(past: &Past) -> Vec<Step> {
    let mut steps = steps(&past.open.queue, past.open.began, &past.trace.records);
    if past.trace.left_out > 0 {
        let at_ms = steps.last().map_or(0, |step| step.at_ms);
        steps.push(Step { at_ms, what: What::LeftOut { records: past.trace.left_out } });
    }
    steps
}

/// The steps that a trace of a call on that queue tells.
pub(crate) fn steps(queue: &QueueRuntime, began: Now, records: &[Record]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut last_passed = Vec::new();
    for record in records {
        match record {
            Record::Admitted { now, passed, decision, .. } => {
                let at_ms = now.mono_ms.saturating_sub(began.mono_ms);
                // A call that asks again and finds the same says so once.
                let skipped = passed.iter().filter(|skip| !last_passed.contains(*skip));
                steps.extend(skipped.map(|skip| Step {
                    at_ms,
                    what: passed_over(route(queue, skip.candidate), skip.reason),
                }));
                last_passed.clone_from(passed);
                steps.push(Step { at_ms, what: decided(queue, *decision) });
            }
            Record::Fed { now, input } => {
                let at_ms = now.mono_ms.saturating_sub(began.mono_ms);
                steps.extend(fed(*input).map(|what| Step { at_ms, what }));
            }
        }
    }
    steps
}

/// The name of a candidate's route.
pub(crate) fn route(queue: &QueueRuntime, candidate: u32) -> Arc<str> {
    let found = queue.candidates.get(candidate as usize);
    found.map_or_else(|| "?".into(), |candidate| Arc::clone(&candidate.route))
}

fn passed_over(route: Arc<str>, reason: Reason) -> What {
    let (reason, class, ms) = match reason {
        Reason::Tried => ("tried", None, None),
        Reason::Missing => ("missing", None, None),
        Reason::Quarantined(class) => ("quarantined", Some(class.name()), None),
        Reason::ParoleRunning => ("parole_running", None, None),
        Reason::Cooling(ms) => ("cooling", None, Some(ms)),
        Reason::StandIn => ("stand_in", None, None),
        Reason::Probing => ("probing", None, None),
        Reason::Full => ("full", None, None),
        Reason::Resting(ms) => ("resting", None, Some(ms)),
        Reason::WindowTooSmall => ("window_too_small", None, None),
    };
    What::PassedOver { route, reason, class, ms }
}

fn decided(queue: &QueueRuntime, decision: Decision) -> What {
    match decision {
        Decision::Go(start) => What::Began {
            route: route(queue, start.candidate),
            attempt: start.attempt.0,
            mode: match start.mode {
                Mode::Normal => "normal",
                Mode::Probe => "probe",
                Mode::Parole => "parole",
                Mode::LastResort => "last_resort",
            },
            continues: start.continues,
            mended: start.repair,
        },
        Decision::Lease { candidate } => What::AskedForSeat { route: route(queue, candidate) },
        Decision::Pause { ms, why } => What::Paused { ms, why: why_name(why) },
        Decision::Wait { ms, why } => What::Waited { ms, why: wait_name(why) },
        Decision::Judge { candidate, .. } => What::Judged { route: route(queue, candidate) },
        Decision::Exhausted(word) => What::Exhausted { told: word_name(word) },
    }
}

fn fed(input: Input) -> Option<What> {
    let (id, input) = match input {
        Input::Attempt(id, input) => (id.0, input),
        Input::ClientGone => return Some(What::ClientGone),
        Input::Stop => return Some(What::Stopped),
        Input::ClientBlocked | Input::ClientReady | Input::Woken | Input::Tick => return None,
    };
    match input {
        AttemptInput::Failed { failure, repair } => Some(What::Failed {
            attempt: id,
            class: failure.class.name(),
            mendable: repair == ekiden_engine::Repair::Possible,
        }),
        AttemptInput::Unserved => Some(What::Resent { attempt: id }),
        AttemptInput::Malformed { .. } => Some(What::Malformed { attempt: id }),
        AttemptInput::End { finish, terminal, .. } => Some(What::Ended {
            attempt: id,
            finish: finish.map(finish_name),
            terminal: terminal == Terminal::Seen,
        }),
        AttemptInput::Sent | AttemptInput::Head | AttemptInput::Chunk { .. } => None,
    }
}

const fn finish_name(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::ToolCalls => "tool_calls",
        Finish::Truncated => "truncated",
        Finish::Filtered => "filtered",
    }
}

const fn wait_name(why: WaitFor) -> &'static str {
    match why {
        WaitFor::Cooldown => "cooldown",
        WaitFor::Rest => "rest",
        WaitFor::Parole => "parole",
        WaitFor::StandIn => "stand_in",
        WaitFor::Seat => "seat",
        WaitFor::Probe => "probe",
        WaitFor::Round => "round",
    }
}

const fn why_name(why: Why) -> &'static str {
    match why {
        Why::Clock(clock) => match clock {
            Clock::Connect => "connect",
            Clock::Headers => "headers",
            Clock::Idle => "idle",
            Clock::Progress => "progress",
            Clock::FirstOutput => "first_output",
            Clock::Share => "share",
        },
        Why::Running => "running",
        Why::ClientBlocked => "client_blocked",
        Why::RetryPause => "retry_pause",
        Why::NamedWait => "named_wait",
        Why::ContinueDelay => "continue_delay",
        Why::LocalNetwork => "local_network",
        Why::Candidate(why) => wait_name(why),
        Why::Lease => "seat",
        Why::Admission => "admission",
        Why::Over => "over",
    }
}

const fn word_name(word: LastWord) -> &'static str {
    match word {
        LastWord::AsItCame(_) => "as_it_came",
        LastWord::Overflow(_) => "overflow",
        LastWord::ComeBack(_) => "come_back",
        LastWord::DoNotRetry => "do_not_retry",
        LastWord::EmptyQueue => "empty_queue",
        LastWord::LocalNetwork => "local_network",
        LastWord::Deadline => "deadline",
        LastWord::Stopped => "stopped",
        LastWord::Broken(..) => "broken",
    }
}
