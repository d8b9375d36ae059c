//! Why a call did what it did, in order: read from its trace, put into names (R33).
//!
//! It refuses prose: codes, names and spans, which the page and the CLI put into words.

use std::sync::Arc;

use ekiden_dialect::Dialect;
use ekiden_engine::trace::Record;
use ekiden_engine::{
    AttemptInput, Behind, Clock, Decision, Finish, Input, LastWord, Mode, Now, Presence, Reason,
    Terminal, Trace, WaitFor, Why,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::calls::Past;
use crate::plan::{Lack, QueueRuntime};

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
    /// A candidate was passed over, or stood further back than its place in the queue says.
    PassedOver {
        /// `provider/model`.
        route: Arc<str>,
        /// Why.
        reason: &'static str,
        /// What it lacks, where the reason is `missing`.
        #[serde(skip_serializing_if = "Option::is_none")]
        lack: Option<Lack>,
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
    /// Its turn did not come.
    NotReached {
        /// `provider/model`.
        route: Arc<str>,
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
    steps(&past.open.queue, past.open.dialect, past.open.began, &past.trace)
}

/// The steps that a trace of a call on that queue tells. Every candidate of the queue is named.
pub(crate) fn steps(queue: &QueueRuntime, asked: Dialect, began: Now, trace: &Trace) -> Vec<Step> {
    let mut telling = Telling { queue, asked, trace, steps: Vec::new() };
    let mut last_passed = Vec::new();
    for (record, moved) in trace.records.iter().zip(trace.moved()) {
        match record {
            Record::Admitted { now, passed, decision, .. } => {
                let at_ms = now.mono_ms.saturating_sub(began.mono_ms);
                // A call that asks again and finds the same says so once.
                for skip in passed.iter().filter(|skip| !last_passed.contains(*skip)) {
                    telling.passed_over(at_ms, skip.candidate, Passing::Skipped(skip.reason));
                }
                last_passed.clone_from(passed);
                for one in moved {
                    telling.passed_over(at_ms, one.candidate, Passing::Moved(one.why));
                }
                telling.steps.push(Step { at_ms, what: decided(queue, *decision) });
            }
            Record::Fed { now, input } => {
                let at_ms = now.mono_ms.saturating_sub(began.mono_ms);
                telling.steps.extend(fed(*input).map(|what| Step { at_ms, what }));
            }
        }
    }
    telling.rest();
    telling.steps
}

/// A call's steps in the making.
struct Telling<'a> {
    queue: &'a QueueRuntime,
    asked: Dialect,
    trace: &'a Trace,
    steps: Vec<Step>,
}

/// Why a candidate did not run at its place.
#[derive(Clone, Copy)]
enum Passing {
    Skipped(Reason),
    Moved(Behind),
}

impl Telling<'_> {
    fn passed_over(&mut self, at_ms: u64, index: u32, passing: Passing) {
        let (reason, class, ms) = match passing {
            Passing::Skipped(reason) => reason_told(reason),
            Passing::Moved(Behind::Missing) => reason_told(Reason::Missing),
            Passing::Moved(Behind::Quarantined(class)) => reason_told(Reason::Quarantined(class)),
            Passing::Moved(Behind::ParoleRunning) => reason_told(Reason::ParoleRunning),
            Passing::Moved(Behind::Unverified) => ("unverified", None, None),
            Passing::Moved(Behind::Rotated) => ("rotated", None, None),
            Passing::Moved(Behind::NotCurrent) => ("not_current", None, None),
        };
        let missing =
            matches!(passing, Passing::Skipped(Reason::Missing) | Passing::Moved(Behind::Missing));
        let candidate = self.queue.candidates.get(index as usize).filter(|_| missing);
        let lack = candidate.and_then(|candidate| candidate.lack(self.asked));
        let route = route(self.queue, index);
        self.steps.push(Step { at_ms, what: What::PassedOver { route, reason, lack, class, ms } });
    }

    /// Whom nothing was said of, and that something was not kept.
    fn rest(&mut self) {
        let at_ms = self.steps.last().map_or(0, |step| step.at_ms);
        let records = self.trace.left_out;
        if records > 0 {
            // What was not kept may have named them.
            return self.steps.push(Step { at_ms, what: What::LeftOut { records } });
        }
        for (index, candidate) in self.trace.spec.queue.candidates.iter().enumerate() {
            let route = route(self.queue, index as u32);
            if self.steps.iter().any(|step| step.what.route() == Some(&route)) {
                continue;
            }
            match candidate.presence {
                Presence::Missing => {
                    self.passed_over(at_ms, index as u32, Passing::Skipped(Reason::Missing));
                }
                Presence::Present => {
                    self.steps.push(Step { at_ms, what: What::NotReached { route } });
                }
            }
        }
    }
}

impl What {
    /// The candidate that it is about, where it names one.
    fn route(&self) -> Option<&Arc<str>> {
        match self {
            Self::PassedOver { route, .. }
            | Self::Began { route, .. }
            | Self::AskedForSeat { route }
            | Self::Judged { route }
            | Self::NotReached { route } => Some(route),
            Self::Paused { .. }
            | Self::Waited { .. }
            | Self::Failed { .. }
            | Self::Resent { .. }
            | Self::Malformed { .. }
            | Self::Ended { .. }
            | Self::LeftOut { .. }
            | Self::ClientGone
            | Self::Stopped
            | Self::Exhausted { .. } => None,
        }
    }
}

/// The name of a candidate's route.
pub(crate) fn route(queue: &QueueRuntime, candidate: u32) -> Arc<str> {
    let found = queue.candidates.get(candidate as usize);
    found.map_or_else(|| "?".into(), |candidate| Arc::clone(&candidate.route))
}

/// A reason's code, the class of a quarantine, and for how long, in milliseconds.
const fn reason_told(reason: Reason) -> (&'static str, Option<&'static str>, Option<u64>) {
    match reason {
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
    }
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
