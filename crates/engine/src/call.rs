//! One request of a client, from its arrival to its one whole answer or its one honest error.
//!
//! A call owns no shared state and takes no lock. It asks to be admitted before every attempt, is
//! shown a [`View`], and decides; between admissions it is fed what happens and says what to do.
//! The same inputs and views always give the same decisions, which is what a replay checks.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::attempt::{Attempt, Beat, Clock, Finish};
use crate::choose::{Mode, Passed, Past, WaitFor};
use crate::class::{Class, Failure};
use crate::engine::Asker;
use crate::ids::{AttemptId, CallId, RouteId, SessionId};
use crate::judge::{Then, Verdict};
use crate::policy::{Candidate, Queue};
use crate::recorder::Recorder;
use crate::seats::Ticket;
use crate::time::Now;
use crate::trace::{Record, Trace};

/// What is known about a call when it arrives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallSpec {
    /// The call.
    pub id: CallId,
    /// Its queue as configured at this moment; a reload does not change a running call.
    pub queue: Arc<Queue>,
    /// Whose conversation it belongs to.
    pub session: SessionId,
    /// Whether a seat outlives the call (R24).
    pub seating: Seating,
    /// Whether the user waits for it (R47).
    pub purpose: Purpose,
    /// How the answer is wanted.
    pub delivery: Delivery,
    /// Whether the conversation has begun (R9).
    pub history: History,
    /// Estimated input tokens; 0: unknown (R15).
    pub input_tokens: u32,
    /// The call ends this many milliseconds after it began (R8).
    pub deadline_ms: Option<u64>,
    /// The only source of jitter.
    pub seed: u64,
    /// Candidates that broke after commit earlier in the same step, oldest first (D6): they count
    /// as tried, and each as a failover (R9). Empty where output cannot be taken back.
    pub tried: Vec<RouteId>,
}

/// How long a seat is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seating {
    /// Across calls: the session is known by name.
    Session,
    /// For the call alone: the session is a fingerprint, or `background`.
    Call,
}

/// Who waits for the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// A user or an agent.
    Main,
    /// A client's own chore: a title, a compaction, a token count (R47).
    Internal,
}

/// How an answer is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delivery {
    /// As a stream of events.
    Stream,
    /// As one body.
    Whole,
}

/// Whether anything was said before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum History {
    /// No assistant turn and no tool result.
    Fresh,
    /// At least one.
    Ongoing,
}

/// What happens to a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Input {
    /// Something happened to one attempt; ignored if that attempt is over.
    Attempt(AttemptId, AttemptInput),
    /// The client does not read what is offered.
    ClientBlocked,
    /// The client reads again.
    ClientReady,
    /// The client has left.
    ClientGone,
    /// Somebody stops this one call (P5).
    Stop,
    /// The engine said that what this call waits for may have changed.
    Woken,
    /// Time has passed.
    Tick,
}

/// What happens to an attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttemptInput {
    /// The request is on its way.
    Sent,
    /// The answer's head came, and it is no error.
    Head,
    /// A piece of the answer came.
    Chunk {
        /// Its size.
        bytes: u32,
        /// What it is.
        beat: Beat,
    },
    /// A piece that cannot be read (R13).
    Malformed {
        /// Whether a tool call has begun and not ended.
        tool_call: ToolCall,
    },
    /// The upstream closed the answer.
    End {
        /// The finish reason, if one came.
        finish: Option<Finish>,
        /// Whether the dialect's terminal event came.
        terminal: Terminal,
        /// Output tokens as reported.
        output_tokens: Option<u32>,
    },
    /// It failed.
    Failed {
        /// As classified.
        failure: Failure,
        /// Whether the shell can send a mended request to the same candidate.
        repair: Repair,
    },
    /// A reused connection died before any byte of an answer, or the protocol refused (R48).
    Unserved,
}

/// Whether a tool call is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ToolCall {
    /// Begun and not ended.
    Open,
    /// None is open.
    Closed,
}

/// Whether a stream said that it is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Terminal {
    /// `[DONE]`, `message_stop` or the like came.
    Seen,
    /// It did not.
    Missing,
}

/// Whether a refused request can be mended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repair {
    /// The shell can drop or change what was refused.
    Possible,
    /// It cannot.
    Impossible,
}

/// What the shell has to do next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output {
    /// Do this.
    Effect(Effect),
    /// Show the call to [`crate::Engine::settle`].
    Settle,
    /// Show the call to [`crate::Engine::admit`].
    Admit,
    /// Nothing until then (monotonic milliseconds; `None`: until an input comes).
    Wake(Option<u64>, Why),
}

/// Something to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Send the request to a candidate.
    Start(Start),
    /// Send it once more on a fresh connection (R48).
    Resend(AttemptId),
    /// Let what is held through, and all that follows.
    Commit(AttemptId),
    /// The answer is whole: end the client's answer as the upstream ended it.
    Deliver(AttemptId),
    /// Drop what is held of it; never a byte of it reaches the client (R16).
    Discard(AttemptId),
    /// Close its connection, without waiting.
    Cancel(AttemptId),
    /// Tell the client that there is no answer.
    Refuse(LastWord),
}

/// An attempt to begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
    /// Its name in all that follows.
    pub attempt: AttemptId,
    /// The candidate's place in the queue, from 0.
    pub candidate: u32,
    /// The answer's leg, from 1; a continuation opens another.
    pub leg: u32,
    /// `continue_text` messages after the original ones (R9).
    pub continues: u32,
    /// The rule under which it runs.
    pub mode: Mode,
    /// Whether the request is to be mended first.
    pub repair: bool,
}

/// What an exhausted or broken call answers (R45).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LastWord {
    /// That attempt's error, unchanged.
    AsItCame(AttemptId),
    /// The asker's dialect's context overflow error, from that attempt's sizes.
    Overflow(AttemptId),
    /// 429: something comes back in that many milliseconds.
    ComeBack(u64),
    /// Nothing comes back today.
    DoNotRetry,
    /// The queue has no candidates.
    EmptyQueue,
    /// This machine's network is in trouble.
    LocalNetwork,
    /// The call's own time is up.
    Deadline,
    /// Somebody stopped it (P5).
    Stopped,
    /// It broke after output was let through.
    Broken(AttemptId, Class),
}

/// Why a call is quiet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// An attempt runs; this clock is the next to run out.
    Clock(Clock),
    /// An attempt runs and no clock does.
    Running,
    /// The client does not read.
    ClientBlocked,
    /// Before a retry.
    RetryPause,
    /// A named wait (R23).
    NamedWait,
    /// Before a failover that says 'continue' (R9).
    ContinueDelay,
    /// This machine's network is in trouble.
    LocalNetwork,
    /// Nothing can run (R5).
    Candidate(WaitFor),
    /// A seat has been asked for.
    Lease,
    /// It asked to be admitted.
    Admission,
    /// The call is over.
    Over,
}

/// What an admission decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// An attempt begins.
    Go(Start),
    /// A seat is wanted first.
    Lease {
        /// On this candidate.
        candidate: u32,
    },
    /// A pause of that many milliseconds; the retry is paid for.
    Pause {
        /// How long.
        ms: u64,
        /// What for.
        why: Why,
    },
    /// Nothing can run; wait at most that many milliseconds.
    Wait {
        /// How long.
        ms: u64,
        /// What for.
        why: WaitFor,
    },
    /// No retry after all: the candidate is judged, and the call asks again.
    Judge {
        /// Which candidate.
        candidate: u32,
        /// What is recorded.
        verdict: Verdict,
    },
    /// The call is over.
    Exhausted(LastWord),
}

/// What a call tells the engine.
#[derive(Debug)]
pub(crate) enum Report {
    /// An attempt is over; its ticket comes back.
    Ended(Ended),
    /// A failed attempt's retry does not happen: the candidate is judged after all.
    Judged { attempt: AttemptId, candidate: u32, verdict: Verdict, class: Class, retry_of: Mode },
    /// First visible output.
    Spoke { candidate: u32 },
    /// The call is over.
    Over,
}

#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) attempt: AttemptId,
    pub(crate) ticket: Option<Ticket>,
    pub(crate) verdict: Verdict,
    pub(crate) class: Option<Class>,
    pub(crate) finish: Option<Finish>,
    pub(crate) output: bool,
    pub(crate) output_tokens: Option<u32>,
    pub(crate) speaking_ms: u64,
    /// The same candidate is about to be tried again.
    pub(crate) retrying: bool,
}

#[derive(Debug)]
pub(crate) enum State {
    Choosing(Wish),
    Pausing { until_ms: u64, why: Why, wish: Wish },
    Waiting { since_ms: u64, until_ms: u64, why: WaitFor },
    AwaitingLease { since_ms: u64, until_ms: u64, candidate: u32 },
    Running(Attempt),
    Over,
}

/// What a call wants from its next admission.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wish {
    /// Any candidate that it has not tried.
    Next { delayed: bool },
    /// The same candidate again.
    Again(Again),
    /// To know whether that failure opened its candidate's breaker.
    Struck { candidate: u32 },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Again {
    pub(crate) attempt: AttemptId,
    pub(crate) candidate: u32,
    pub(crate) mode: Mode,
    pub(crate) class: Class,
    pub(crate) verdict: Verdict,
    pub(crate) then: Then,
    pub(crate) pause_ms: u64,
    pub(crate) why: Why,
    pub(crate) repair: bool,
    /// Taken from the retry budget, or free.
    pub(crate) paid: bool,
}

/// One call. See the module's documentation for how it is driven.
#[derive(Debug)]
pub struct Call {
    pub(crate) spec: CallSpec,
    pub(crate) state: State,
    pub(crate) started: Option<Now>,
    pub(crate) past: Vec<Past>,
    pub(crate) attempts: u32,
    pub(crate) retries: u32,
    pub(crate) failovers: u32,
    pub(crate) last_candidate: Option<u32>,
    /// The pause before the coming failover is still to be made (R9).
    pub(crate) delay_due: bool,
    pub(crate) waited_ms: u64,
    pub(crate) network_waits: u32,
    pub(crate) spared_by_sleep: u32,
    pub(crate) repaired: bool,
    pub(crate) refusals: u32,
    pub(crate) first_refusal: Option<AttemptId>,
    pub(crate) overflow: Option<AttemptId>,
    pub(crate) window_above: Option<u32>,
    /// The last attempt that failed, and how.
    pub(crate) last_failure: Option<(AttemptId, Class)>,
    /// Further rounds through the queue (P1).
    pub(crate) rounds: u32,
    /// Attempts before this round.
    pub(crate) round_base: u32,
    /// When the next round begins, and whether this one ended for want of attempts.
    pub(crate) round_due: Option<(u64, bool)>,
    pub(crate) outputs: VecDeque<Output>,
    pub(crate) reports: Vec<Report>,
    pub(crate) recorder: Recorder,
    /// Whom the last choice passed over, and why.
    pub(crate) passed: Vec<Passed>,
    /// Of these the ones that cooled: this call's attempts stand in for them (R22).
    pub(crate) instead_of: Vec<RouteId>,
    /// Candidates whose seat it was refused since it last had none to ask for; they count as full.
    pub(crate) denied: Vec<u32>,
    /// Candidates that it has run on or has wanted a seat of.
    pub(crate) touched: Vec<u32>,
}

impl Call {
    /// A call that has just arrived. Its first output is [`Output::Admit`].
    #[must_use]
    pub fn new(spec: CallSpec) -> Self {
        let past = before(&spec);
        let broke = !spec.tried.is_empty();
        Self {
            recorder: Recorder::new(&spec),
            state: State::Choosing(Wish::Next { delayed: !broke }),
            started: None,
            past,
            attempts: 0,
            retries: 0,
            failovers: (spec.tried.len() as u32).saturating_sub(1),
            last_candidate: None,
            delay_due: broke,
            waited_ms: 0,
            network_waits: 0,
            spared_by_sleep: 0,
            repaired: false,
            refusals: 0,
            first_refusal: None,
            overflow: None,
            window_above: None,
            last_failure: None,
            rounds: 0,
            round_base: 0,
            round_due: None,
            outputs: VecDeque::from([Output::Admit]),
            reports: Vec::new(),
            passed: Vec::new(),
            instead_of: Vec::new(),
            denied: Vec::new(),
            touched: Vec::new(),
            spec,
        }
    }

    /// What the call was made of.
    #[must_use]
    pub const fn spec(&self) -> &CallSpec {
        &self.spec
    }

    /// What to do next. Drain it after every input and admission; it always ends in
    /// [`Output::Wake`], so that no timer can be forgotten.
    pub fn poll_output(&mut self) -> Output {
        if let Some(output) = self.outputs.pop_front() {
            return output;
        }
        let (at, why) = self.wake();
        Output::Wake(at, why)
    }

    /// Whether [`Call::poll_output`] would say anything but [`Output::Wake`].
    #[must_use]
    pub fn has_output(&self) -> bool {
        !self.outputs.is_empty()
    }

    /// Everything that was decided, and from what, complete enough to replay.
    #[must_use]
    pub fn trace(&self) -> Trace {
        self.recorder.trace()
    }

    /// The last that was kept of it; absent where the trace is full. After an admission it is that one.
    #[must_use]
    pub fn last_record(&self) -> Option<&Record> {
        self.recorder.last()
    }

    /// Whether the call is over.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    pub(crate) fn asker(&self) -> Asker {
        let CallSpec { id, session, seating, purpose, .. } = self.spec;
        Asker { id, queue: Arc::clone(&self.spec.queue), session, seating, purpose }
    }

    /// Remembers whom there is something to give back to.
    pub(crate) fn touch(&mut self, candidate: u32) {
        if !self.touched.contains(&candidate) {
            self.touched.push(candidate);
        }
    }

    pub(crate) fn candidate(&self, index: u32) -> Option<&Candidate> {
        self.spec.queue.candidates.get(index as usize)
    }

    /// The route that is being tried now.
    #[must_use]
    pub fn running_route(&self) -> Option<RouteId> {
        match &self.state {
            State::Running(attempt) => Some(self.candidate(attempt.candidate)?.route),
            State::Choosing(_)
            | State::Pausing { .. }
            | State::Waiting { .. }
            | State::AwaitingLease { .. }
            | State::Over => None,
        }
    }
}

/// What earlier calls of the same step have done (D6).
fn before(spec: &CallSpec) -> Vec<Past> {
    let broke = if spec.queue.policy.persist.is_on() { Past::NextRound } else { Past::Tried };
    let past = |candidate: &Candidate| {
        if spec.tried.contains(&candidate.route) { broke } else { Past::Untried }
    };
    spec.queue.candidates.iter().map(past).collect()
}
