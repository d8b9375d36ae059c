//! The operations of a history. Numbers are picks: they are read against the world as it is when
//! their turn comes, so that leaving any operation out leaves a history.

use std::fmt;

use ekiden_engine::{
    AttemptInput, Beat, Class, Delivery, Failure, Finish, History, Now, Origin, Purpose, Reach,
    Repair, Scope, Terminal, ToolCall, Wait,
};

use crate::rng::Rng;

/// One thing that happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// A call arrives.
    Arrive {
        /// Whose: 0 is `background`, then fingerprints, then named sessions.
        session: u64,
        /// On which queue.
        queue: u64,
        /// For whom.
        purpose: Purpose,
        /// How.
        delivery: Delivery,
        /// After what.
        history: History,
        /// Estimated input tokens.
        tokens: u32,
        /// Milliseconds.
        deadline_ms: Option<u64>,
        /// For its jitter.
        seed: u64,
        /// Which candidates broke earlier in the same step, a bit each.
        tried: u64,
    },
    /// A running attempt gets this.
    Feed(u64, What),
    /// An attempt that is over says something.
    Stale(u64, What),
    /// The client of a call does not read.
    Blocked(u64),
    /// It reads again.
    Ready(u64),
    /// It has left.
    Gone(u64),
    /// Time passes, both clocks; every timer that comes due rings on time.
    Advance(u64),
    /// Time passes to the next timer.
    NextWake,
    /// Time passes, and the timers ring late.
    Lag(u64),
    /// Somebody sets the wall clock.
    SetClock(i64),
    /// The machine sleeps: wall time passes alone.
    Sleep(u64),
    /// The day ends.
    Turn,
    /// The day turns to one that has passed.
    TurnBack,
    /// A wish for a seat is answered.
    Answer(u64, bool),
    /// A wish for a seat is never answered.
    Lose(u64),
    /// By hand.
    Release(u64, u64),
    /// A session ends.
    EndSession(u64),
    /// A queue is configured anew.
    Configure(u64, u64),
    /// The process dies and starts again.
    Restart,
    /// A wake-up that nothing called for.
    Woken(u64),
    /// A probe in the background ends.
    Probed(u64, What),
    /// Somebody stops a call.
    Stop(u64),
    /// Somebody pauses or resumes.
    Pause(u64),
    /// A session's turn begins or ends, or a continuation is due.
    Turns(u64, u64),
}

/// What an attempt gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// The request went out.
    Sent,
    /// A good head came.
    Head,
    /// Bytes without content.
    Ping,
    /// Reasoning.
    Thought(u32),
    /// Visible output.
    Text(u32),
    /// An unreadable piece; inside a tool call or not.
    Malformed(bool),
    /// A whole answer: whatever was missing came first.
    Whole,
    /// A normal end with tool calls.
    ToolCalls,
    /// Cut by the token limit.
    Truncated,
    /// Stopped by a filter.
    Filtered,
    /// A normal end, whatever came.
    Stop,
    /// Closed without an end.
    Cut,
    /// A terminal event without a finish reason.
    Terminal,
    /// A failure, with the wait that it names, in milliseconds; negative: as an instant.
    Fails(Class, Option<i64>),
    /// A request that every model refuses.
    Universal,
    /// A request that can be mended.
    Mendable,
    /// A dead connection.
    Unserved,
}

impl Op {
    /// The next operation.
    #[must_use]
    pub fn next(rng: &mut Rng) -> Self {
        let pick = rng.next() >> 32;
        match rng.below(100) {
            0..18 => Self::arrive(rng),
            18..58 => Self::Feed(pick, What::next(rng)),
            58..60 => Self::Stale(pick, What::next(rng)),
            60..62 => Self::Blocked(pick),
            62..64 => Self::Ready(pick),
            64..67 => Self::Gone(pick),
            67 if rng.once_in(2) => Self::Pause(pick),
            68 => Self::Turns(pick, rng.next() >> 32),
            67..71 => Self::Advance(rng.pick(&[1, 250, 1_000, 5_000, 60_000, 600_000])),
            71..82 => Self::NextWake,
            82..84 => Self::Lag(rng.pick(&[10, 2_000, 30_000, 90_000])),
            84 => Self::SetClock(rng.pick(&[-3_600_000, 3_600_000, -1_000, 90_000, -86_400_000])),
            85 => Self::Sleep(rng.pick(&[4_999, 5_000, 60_000, 7_200_000])),
            86 => Self::Turn,
            87 => Self::TurnBack,
            88..93 => Self::Answer(pick, !rng.once_in(4)),
            93 => Self::Lose(pick),
            94 => Self::Release(rng.below(8), pick),
            95..97 => Self::EndSession(pick),
            97 => Self::Configure(pick, rng.next()),
            98 if rng.once_in(3) => Self::Restart,
            98 => Self::NextWake,
            _ if rng.once_in(2) => Self::Woken(pick),
            _ if rng.once_in(2) => Self::Stop(pick),
            _ => Self::Probed(pick, What::next(rng)),
        }
    }

    fn arrive(rng: &mut Rng) -> Self {
        Self::Arrive {
            session: rng.below(6),
            queue: rng.next() >> 32,
            purpose: if rng.once_in(5) { Purpose::Internal } else { Purpose::Main },
            delivery: if rng.once_in(4) { Delivery::Whole } else { Delivery::Stream },
            history: if rng.once_in(2) { History::Ongoing } else { History::Fresh },
            tokens: rng.pick(&[0, 0, 500, 9_000, 10_000, 50_000]),
            deadline_ms: rng.pick(&[None, None, None, Some(1), Some(20_000), Some(600_000)]),
            seed: rng.next(),
            tried: if rng.once_in(8) { rng.below(64) } else { 0 },
        }
    }
}

impl What {
    fn next(rng: &mut Rng) -> Self {
        match rng.below(40) {
            0..4 => Self::Sent,
            4..6 => Self::Head,
            6 => Self::Ping,
            7..9 => Self::Thought(rng.pick(&[1, 40, 4_000])),
            9..13 => Self::Text(rng.pick(&[1, 40, 4_000])),
            13 => Self::Malformed(rng.once_in(2)),
            14..21 => Self::Whole,
            21 => Self::ToolCalls,
            22..24 => Self::Truncated,
            24 => Self::Filtered,
            25 => Self::Stop,
            26 => Self::Cut,
            27 => Self::Terminal,
            28..38 => {
                let class = Class::ALL[rng.below(Class::ALL.len() as u64) as usize];
                let waits = [None, None, None, Some(0), Some(2_000), Some(20_000), Some(-40_000)];
                Self::Fails(class, rng.pick(&waits).or_else(|| rng.pick(&[None, Some(86_400_000)])))
            }
            38 if rng.once_in(2) => Self::Universal,
            38 => Self::Mendable,
            _ => Self::Unserved,
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{self:?}")
    }
}

/// What that is to an attempt, at this time.
pub(crate) fn inputs(what: What, now: Now) -> Vec<AttemptInput> {
    let chunk = |bytes: u32, beat: Beat| AttemptInput::Chunk { bytes, beat };
    let end =
        |finish, terminal, tokens| AttemptInput::End { finish, terminal, output_tokens: tokens };
    let failed = |failure| AttemptInput::Failed { failure, repair: Repair::Impossible };
    let refused = Failure { scope: Scope::Request, ..Failure::upstream(Class::InvalidRequest) };
    match what {
        What::Sent => vec![AttemptInput::Sent],
        What::Head => vec![AttemptInput::Head],
        What::Ping => vec![chunk(12, Beat::Wire)],
        What::Thought(bytes) => vec![chunk(bytes, Beat::Reasoning)],
        What::Text(bytes) => vec![chunk(bytes, Beat::Output)],
        What::Malformed(open) => {
            let tool_call = if open { ToolCall::Open } else { ToolCall::Closed };
            vec![AttemptInput::Malformed { tool_call }]
        }
        What::Whole => vec![
            AttemptInput::Sent,
            AttemptInput::Head,
            chunk(30, Beat::Output),
            end(Some(Finish::Stop), Terminal::Seen, Some(20)),
        ],
        What::ToolCalls => {
            vec![chunk(30, Beat::Output), end(Some(Finish::ToolCalls), Terminal::Seen, Some(9))]
        }
        What::Truncated => vec![end(Some(Finish::Truncated), Terminal::Seen, Some(4_096))],
        What::Filtered => vec![end(Some(Finish::Filtered), Terminal::Seen, None)],
        What::Stop => vec![end(Some(Finish::Stop), Terminal::Missing, None)],
        What::Cut => vec![end(None, Terminal::Missing, None)],
        What::Terminal => vec![end(None, Terminal::Seen, None)],
        What::Fails(class, wait) => {
            let wait = match wait {
                None => Wait::Unnamed,
                Some(ms) if ms < 0 => Wait::At(now.wall_ms.saturating_add(ms.unsigned_abs())),
                Some(ms) => Wait::Ms(ms.unsigned_abs()),
            };
            vec![failed(Failure { wait, ..Failure::upstream(class) })]
        }
        What::Universal => {
            vec![failed(Failure { reach: Reach::Universal, origin: Origin::Client, ..refused })]
        }
        What::Mendable => {
            vec![AttemptInput::Failed { failure: refused, repair: Repair::Possible }]
        }
        What::Unserved => vec![AttemptInput::Unserved],
    }
}
