//! One request of ours to a candidate: what came, when, and which clock runs (R11).
//! It does not know what its end means; the call decides that.

use crate::choose::Mode;
use crate::ids::AttemptId;
use crate::policy::Clocks;
use crate::seats::Ticket;
use crate::time::Now;

/// A limit on silence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// The request is not on its way yet.
    Connect,
    /// The answer's head has not come.
    Headers,
    /// No byte.
    Idle,
    /// Bytes, but neither output nor reasoning.
    Progress,
    /// No visible output.
    FirstOutput,
    /// A whole answer has used up its share of the call's time.
    Share,
}

/// What a piece of an answer is to the client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beat {
    /// Bytes without content: a ping, a role chunk, `created`.
    Wire,
    /// Reasoning.
    Reasoning,
    /// Text or tool-call content that the client will show or run.
    Output,
}

/// How an answer says that it ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finish {
    /// Normally.
    Stop,
    /// With tool calls.
    ToolCalls,
    /// Cut by its token limit.
    Truncated,
    /// Stopped by a content filter.
    Filtered,
}

#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) id: AttemptId,
    pub(crate) candidate: u32,
    pub(crate) mode: Mode,
    pub(crate) began: Now,
    /// Absent in a replay, where nobody holds seats.
    pub(crate) ticket: Option<Ticket>,
    clocks: Clocks,
    sent_ms: Option<u64>,
    head: bool,
    last_byte_ms: Option<u64>,
    last_progress_ms: Option<u64>,
    pub(crate) first_token_ms: Option<u64>,
    pub(crate) output: bool,
    pub(crate) committed: bool,
    pub(crate) held_bytes: u64,
    pub(crate) resent: bool,
    share_until_ms: Option<u64>,
    blocked_since_ms: Option<u64>,
    /// For how long the client did not read, in all.
    blocked_ms: u64,
}

impl Attempt {
    pub(crate) const fn new(
        id: AttemptId,
        candidate: u32,
        mode: Mode,
        began: Now,
        clocks: Clocks,
    ) -> Self {
        Self {
            id,
            candidate,
            mode,
            began,
            ticket: None,
            clocks,
            sent_ms: None,
            head: false,
            last_byte_ms: None,
            last_progress_ms: None,
            first_token_ms: None,
            output: false,
            committed: false,
            held_bytes: 0,
            resent: false,
            share_until_ms: None,
            blocked_since_ms: None,
            blocked_ms: 0,
        }
    }

    /// A whole answer has no clock but the deadline and its share of it.
    pub(crate) const fn whole(mut self, share_until_ms: Option<u64>) -> Self {
        let connect_ms = self.clocks.connect_ms;
        self.clocks = Clocks {
            connect_ms,
            headers_ms: 0,
            first_byte_ms: 0,
            idle_ms: 0,
            progress_ms: 0,
            first_output_ms: 0,
        };
        self.share_until_ms = share_until_ms;
        self
    }

    pub(crate) const fn sent(&mut self, now: Now) {
        self.sent_ms = Some(now.mono_ms);
    }

    /// The request goes once more on a fresh connection: all clocks start anew (R48).
    pub(crate) const fn resend(&mut self, now: Now) {
        self.resent = true;
        self.sent_ms = None;
        self.began = Now { mono_ms: now.mono_ms, wall_ms: now.wall_ms };
    }

    /// Whether any byte of an answer has come.
    pub(crate) const fn answered(&self) -> bool {
        self.head
    }

    pub(crate) const fn headed(&mut self, now: Now) {
        self.head = true;
        self.last_byte_ms = Some(now.mono_ms);
    }

    pub(crate) const fn chunk(&mut self, now: Now, beat: Beat, bytes: u32) {
        self.head = true;
        self.last_byte_ms = Some(now.mono_ms);
        if !self.committed {
            self.held_bytes += bytes as u64;
        }
        match beat {
            Beat::Wire => return,
            Beat::Reasoning => {}
            Beat::Output => self.output = true,
        }
        self.last_progress_ms = Some(now.mono_ms);
        if self.first_token_ms.is_none() {
            self.first_token_ms = Some(now.mono_ms);
        }
    }

    pub(crate) const fn blocked(&mut self, now: Now) {
        if self.blocked_since_ms.is_none() {
            self.blocked_since_ms = Some(now.mono_ms);
        }
    }

    /// The client reads again: what upstream owes is counted from here.
    pub(crate) const fn unblocked(&mut self, now: Now) {
        if let Some(since) = self.blocked_since_ms.take() {
            self.blocked_ms += now.mono_ms.saturating_sub(since);
            self.last_byte_ms = Some(now.mono_ms);
            self.last_progress_ms = Some(now.mono_ms);
        }
    }

    pub(crate) const fn blocked_since_ms(&self) -> Option<u64> {
        self.blocked_since_ms
    }

    /// The next clock to run out, and when. None runs while the client does not read.
    pub(crate) fn next_clock(&self) -> Option<(u64, Clock)> {
        if self.blocked_since_ms.is_some() {
            return None;
        }
        let began = self.began.mono_ms;
        let read = began.saturating_add(self.blocked_ms);
        let first_output =
            limit(self.clocks.first_output_ms, read, Clock::FirstOutput).filter(|_| !self.output);
        let share = self.share_until_ms.map(|until| (until, Clock::Share));
        let Some(sent) = self.sent_ms else {
            let connect = limit(self.clocks.connect_ms, began, Clock::Connect);
            return earliest([connect, first_output, share, None, None]);
        };
        let headers = limit(self.clocks.headers_ms, sent, Clock::Headers).filter(|_| !self.head);
        let idle = match self.last_byte_ms {
            Some(last) => limit(self.clocks.idle_ms, last, Clock::Idle),
            None if self.clocks.first_byte_ms > 0 => {
                limit(self.clocks.first_byte_ms, sent, Clock::Idle)
            }
            None => limit(self.clocks.idle_ms, sent, Clock::Idle),
        };
        let progress = self.last_byte_ms.and_then(|_| {
            let since = self.last_progress_ms.unwrap_or(sent);
            limit(self.clocks.progress_ms, since, Clock::Progress)
        });
        earliest([headers, idle, progress, first_output, share])
    }
}

const fn limit(ms: u64, since: u64, clock: Clock) -> Option<(u64, Clock)> {
    if ms == 0 { None } else { Some((since.saturating_add(ms), clock)) }
}

fn earliest(clocks: [Option<(u64, Clock)>; 5]) -> Option<(u64, Clock)> {
    clocks.into_iter().flatten().min_by_key(|(at, _)| *at)
}
