//! Traces and histories as words: integers and names in one line a record, so that a person can
//! read them, any language can write them, and no library is needed on either side.
//!
//! A structure is its fields in order; an alternative is its name, then its fields; an absent value
//! is `-`. There is no free text, and so no prompt and no secret.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::{self, Write as _};

/// A record that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadWord {
    /// What was expected.
    pub expected: &'static str,
    /// What stood there; empty at the end of the line.
    pub found: String,
}

impl fmt::Display for BadWord {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.found.as_str() {
            "" => write!(out, "expected {}, but the line ends", self.expected),
            found => write!(out, "expected {}, found `{found}`", self.expected),
        }
    }
}

impl core::error::Error for BadWord {}

pub(crate) type Read<'a> = core::str::SplitAsciiWhitespace<'a>;

/// What can stand in a record.
pub(crate) trait Words: Sized {
    fn write(&self, out: &mut String);
    fn read(words: &mut Read<'_>) -> Result<Self, BadWord>;
}

pub(crate) fn word(out: &mut String, word: &str) {
    if !out.is_empty() && !out.ends_with('\n') {
        out.push(' ');
    }
    out.push_str(word);
}

pub(crate) fn next<'a>(words: &mut Read<'a>, expected: &'static str) -> Result<&'a str, BadWord> {
    words.next().ok_or(BadWord { expected, found: String::new() })
}

pub(crate) fn bad<T>(expected: &'static str, found: &str) -> Result<T, BadWord> {
    Err(BadWord { expected, found: found.into() })
}

macro_rules! integers {
    ($($int:ty),*) => { $(
        impl Words for $int {
            fn write(&self, out: &mut String) {
                word(out, "");
                // Writing into a String cannot fail.
                let _ = write!(out, "{self}");
            }
            fn read(words: &mut Read<'_>) -> Result<Self, BadWord> {
                let found = next(words, "a number")?;
                found.parse().or_else(|_| bad("a number", found))
            }
        }
    )* };
}
integers!(u32, u64);

impl Words for bool {
    fn write(&self, out: &mut String) {
        word(out, if *self { "yes" } else { "no" });
    }
    fn read(words: &mut Read<'_>) -> Result<Self, BadWord> {
        match next(words, "yes or no")? {
            "yes" => Ok(true),
            "no" => Ok(false),
            found => bad("yes or no", found),
        }
    }
}

impl<T: Words> Words for Option<T> {
    fn write(&self, out: &mut String) {
        match self {
            None => word(out, "-"),
            Some(value) => value.write(out),
        }
    }
    fn read(words: &mut Read<'_>) -> Result<Self, BadWord> {
        let mut ahead = words.clone();
        if ahead.next() == Some("-") {
            *words = ahead;
            return Ok(None);
        }
        T::read(words).map(Some)
    }
}

/// More than any queue or record has; a longer list is a broken line.
const LIST_MAX: u32 = 100_000;

impl<T: Words> Words for Vec<T> {
    fn write(&self, out: &mut String) {
        (self.len() as u32).write(out);
        self.iter().for_each(|item| item.write(out));
    }
    fn read(words: &mut Read<'_>) -> Result<Self, BadWord> {
        let count = u32::read(words)?;
        if count > LIST_MAX {
            return bad("a list of at most 100000", "a longer one");
        }
        (0..count).map(|_| T::read(words)).collect()
    }
}

impl<A: Words, B: Words> Words for (A, B) {
    fn write(&self, out: &mut String) {
        self.0.write(out);
        self.1.write(out);
    }
    fn read(words: &mut Read<'_>) -> Result<Self, BadWord> {
        Ok((A::read(words)?, B::read(words)?))
    }
}

impl<A: Words, B: Words, C: Words> Words for (A, B, C) {
    fn write(&self, out: &mut String) {
        self.0.write(out);
        self.1.write(out);
        self.2.write(out);
    }
    fn read(words: &mut Read<'_>) -> Result<Self, BadWord> {
        Ok((A::read(words)?, B::read(words)?, C::read(words)?))
    }
}

impl<T: Words> Words for Arc<T> {
    fn write(&self, out: &mut String) {
        (**self).write(out);
    }
    fn read(words: &mut Read<'_>) -> Result<Self, BadWord> {
        T::read(words).map(Self::new)
    }
}

macro_rules! structs {
    ($($name:ident { $($field:ident),* $(,)? })*) => { $(
        impl Words for $name {
            fn write(&self, out: &mut String) {
                $( self.$field.write(out); )*
            }
            fn read(words: &mut Read<'_>) -> Result<Self, BadWord> {
                Ok(Self { $( $field: Words::read(words)? ),* })
            }
        }
    )* };
}

macro_rules! newtypes {
    ($($name:ident),*) => { $(
        impl Words for $name {
            fn write(&self, out: &mut String) { self.0.write(out); }
            fn read(words: &mut Read<'_>) -> Result<Self, BadWord> { Words::read(words).map(Self) }
        }
    )* };
}

/// `Variant = "name"`, with its fields as a tuple or by name.
macro_rules! enums {
    ($($name:ident { $($variant:ident $(($($tuple:ident),*))? $({$($field:ident),*})? = $word:literal),* $(,)? })*) => { $(
        impl Words for $name {
            fn write(&self, out: &mut String) {
                match self {
                    $( Self::$variant $(($($tuple),*))? $({$($field),*})? => {
                        word(out, $word);
                        $($( $tuple.write(out); )*)?
                        $($( $field.write(out); )*)?
                    } )*
                }
            }
            fn read(words: &mut Read<'_>) -> Result<Self, BadWord> {
                match next(words, stringify!($name))? {
                    $( $word => {
                        $($( let $tuple = Words::read(words)?; )*)?
                        $($( let $field = Words::read(words)?; )*)?
                        Ok(Self::$variant $(($($tuple),*))? $({$($field),*})?)
                    } )*
                    found => bad(stringify!($name), found),
                }
            }
        }
    )* };
}

mod records {
    use super::*;
    use crate::*;

    newtypes! { RouteId, QueueId, SessionId, CallId, AttemptId, LeaseId }

    structs! {
        Now { mono_ms, wall_ms }
        Day { number, ends_ms }
        Queue { id, digest, policy, candidates }
        Candidate { route, presence, max_sessions, max_in_flight, window, clocks }
        Clocks { connect_ms, headers_ms, first_byte_ms, idle_ms, progress_ms, first_output_ms }
        Policy {
            relay, retries, retry_pause_ms, attempts_max, wait_max_ms, inline_wait_ms, cooldown_ms,
            cooldown_max_ms, continuing, continues_max, continue_delay_ms, commit, held_max_bytes,
            rotate_after, overflow, retry_when_all_quarantined, failover_on_filter,
            parole_after_ms, parole_max_ms, parole_idle_ms, rest_ms, lease_idle_ms,
            judged_memory_ms, client_stall_ms, quarantine, sticky, switch_on, moves,
            breaker_threshold, breaker_ms, breaker_max_ms, breaker_at_once, all_cooling, persist,
            rounds_max, backoff_ms, backoff_max_ms, backoff_jitter_bp,
        }
        CallSpec {
            id, queue, session, seating, purpose, delivery, history, input_tokens, deadline_ms, seed,
            tried,
        }
        View { candidates, start, current, paused, reordered }
        CandidateView {
            quarantine, verified, cooling_ms, stand_in, probing, untested, seat, single
        }
        QuarantineView { class, parole, ends_ms }
        Passed { candidate, reason }
        Moved { candidate, why }
        Start { attempt, candidate, leg, continues, mode, repair }
        Failure { class, origin, scope, wait, reach }
        Place { session, queue, route }
        Quarantine { class, day, since_ms, until_ms, parole_ms, paroles }
        Want { lease, route, holder, cap }
        Tally { successes, failures }
        Speed { tokens, speaking_ms }
        RouteStatus {
            route, cooling_ms, resting_ms, probing, failures, opened, in_flight, taken, tally,
            holders,
        }
        SessionStatus {
            session, quarantined, verified, speeds, truncations, running, running_now, seats,
            stands_in_for, paused, sub_agent, continued_truncations, continued_failures,
            continue_at,
        }
        Continuation {
            enabled, on_truncation, on_failure, truncations_max, failures_max, delay_ms,
        }
    }

    enums! {
        Switch { On = "on", Off = "off" }
        Presence { Present = "present", Missing = "missing" }
        Continuing { Always = "always", Auto = "auto", Never = "never" }
        CommitOn { FirstOutput = "first-output", FirstToken = "first-token", Complete = "complete" }
        OnOverflow { Tell = "tell", Larger = "larger" }
        Seating { Session = "session", Call = "call" }
        Purpose { Main = "main", Internal = "internal" }
        Delivery { Stream = "stream", Whole = "whole" }
        History { Fresh = "fresh", Ongoing = "ongoing" }
        Origin { Upstream = "upstream", Client = "client", Local = "local" }
        Scope {
            Candidate = "candidate", Account = "account", Provider = "provider",
            Request = "request", Network = "network",
        }
        Wait { Unnamed = "unnamed", Ms(ms) = "ms", At(at) = "at" }
        Reach { ModelSpecific = "model-specific", Universal = "universal" }
        ParoleView { Never = "never", In(ms) = "in", Running = "running" }
        SeatView {
            Open = "open", Held = "held", Free = "free", Asked = "asked",
            Full { soonest_ms } = "full", Resting { ms } = "resting",
        }
        Mode { Normal = "normal", Probe = "probe", Parole = "parole", LastResort = "last-resort" }
        Reason {
            Tried = "tried", Missing = "missing", Quarantined(class) = "quarantined",
            ParoleRunning = "parole-running", Cooling(ms) = "cooling", StandIn = "stand-in",
            Probing = "probing", Full = "full", Resting(ms) = "resting",
            WindowTooSmall = "window-too-small",
        }
        Behind {
            Missing = "missing", Quarantined(class) = "quarantined",
            ParoleRunning = "parole-running", Unverified = "unverified", Rotated = "rotated",
            NotCurrent = "not-current",
        }
        WaitFor {
            Cooldown = "cooldown", Rest = "rest", Parole = "parole", StandIn = "stand-in",
            Seat = "seat", Probe = "probe", Round = "round",
        }
        Verdict {
            Spared = "spared", Whole = "whole", Truncated = "truncated",
            Cooled { ms } = "cooled", Struck { named_ms } = "struck",
            Quarantined { until_ms } = "quarantined",
        }
        Clock {
            Connect = "connect", Headers = "headers", Idle = "idle", Progress = "progress",
            FirstOutput = "first-output", Share = "share",
        }
        Why {
            Clock(clock) = "clock", Running = "running", ClientBlocked = "client-blocked",
            RetryPause = "retry-pause", NamedWait = "named-wait",
            ContinueDelay = "continue-delay", LocalNetwork = "local-network",
            Candidate(wait) = "candidate", Lease = "lease", Admission = "admission",
            Over = "over",
        }
        LastWord {
            AsItCame(attempt) = "as-it-came", Overflow(attempt) = "overflow",
            ComeBack(ms) = "come-back", DoNotRetry = "do-not-retry", EmptyQueue = "empty-queue",
            LocalNetwork = "local-network", Deadline = "deadline",
            Stopped = "stopped", Broken(attempt, class) = "broken",
        }
        Decision {
            Go(start) = "go", Lease { candidate } = "lease", Pause { ms, why } = "pause",
            Wait { ms, why } = "wait", Judge { candidate, verdict } = "judge",
            Exhausted(word) = "exhausted",
        }
        Beat { Wire = "wire", Reasoning = "reasoning", Output = "output" }
        Finish {
            Stop = "stop", ToolCalls = "tool-calls", Truncated = "truncated",
            Filtered = "filtered",
        }
        ToolCall { Open = "open", Closed = "closed" }
        Terminal { Seen = "seen", Missing = "missing" }
        Repair { Possible = "possible", Impossible = "impossible" }
        AttemptInput {
            Sent = "sent", Head = "head", Chunk { bytes, beat } = "chunk",
            Malformed { tool_call } = "malformed",
            End { finish, terminal, output_tokens } = "end",
            Failed { failure, repair } = "failed", Unserved = "unserved",
        }
        Input {
            Attempt(attempt, input) = "attempt", ClientBlocked = "client-blocked",
            ClientReady = "client-ready", ClientGone = "client-gone", Woken = "woken",
            Tick = "tick", Stop = "stop",
        }
        Effect {
            Start(start) = "start", Resend(attempt) = "resend", Commit(attempt) = "commit",
            Deliver(attempt) = "deliver", Discard(attempt) = "discard",
            Cancel(attempt) = "cancel", Refuse(word) = "refuse",
        }
        Output {
            Effect(effect) = "effect", Settle = "settle", Admit = "admit",
            Wake(at, why) = "wake",
        }
        Holder { Session(session) = "session", Call(call) = "call" }
        Grant { Granted = "granted", Refused = "refused" }
        LiftedBy { Success = "success", Release = "release", Reset = "reset" }
        Release { Session(session) = "session", Place(place) = "place", Route(route) = "route", All = "all" }
        Fact {
            Quarantined { place, quarantine, call, attempt } = "quarantined",
            Lifted { place, by } = "lifted", Verified { place, day } = "verified",
            Unverified { place } = "unverified",
            Cooled { route, ms, class, call, attempt } = "cooled",
            Warmed { route, by } = "warmed", FailedOver { call, from, to } = "failed-over",
            OnTrial { place, call, mode } = "on-trial",
            Rotated { session, queue, truncations } = "rotated",
            Seated { route, holder } = "seated",
            Unseated { route, holder, rest_ms } = "unseated",
            Attempted { call, attempt, route, verdict, class, output_tokens, speaking_ms } = "attempted",
            Called { call } = "called", Turned { day } = "turned",
            Opened { route, ms, failures, by, class, call, attempt } = "opened",
            ServedInstead { call, head, route } = "served-instead",
            Continued { session, cause, count } = "continued",
            NotContinued { session, why } = "not-continued",
            Paused { whose } = "paused", Resumed { whose } = "resumed",
        }
        OpenedBy {
            Threshold = "threshold", Probe = "probe", Named = "named", AtOnce = "at-once",
        }
        Moves { InCall = "in-call", NextCall = "next-call" }
        AllCooling { Wait = "wait", Soonest = "soonest", Head = "head" }
        Whose { All = "all", Session(session) = "session" }
        TurnStart { User = "user", Continued = "continued" }
        TurnEnd {
            Completed = "completed", Stopped = "stopped", Truncated = "truncated",
            Failed(class) = "failed", MissingAdapter = "missing-adapter",
        }
        Cause { Truncation = "truncation", Failure = "failure" }
        Continue {
            After { ms, cause, count } = "after", Now { cause, count } = "now", Not(why) = "not",
        }
        NotContinued {
            Completed = "completed", Stopped = "stopped", Off = "off", SubAgent = "sub-agent",
            Limit = "limit", ContextOverflow = "context-overflow", Auth = "auth",
            MissingAdapter = "missing-adapter", LocalNetwork = "local-network",
            Cancelled = "cancelled",
        }
        Notice { Fact(fact) = "fact", Wake(call) = "wake", Want(want) = "want" }
    }

    impl Words for ClassSet {
        fn write(&self, out: &mut String) {
            if *self == Self::ALL {
                return word(out, "all");
            }
            self.iter().collect::<Vec<_>>().write(out);
        }
        fn read(words: &mut Read<'_>) -> Result<Self, BadWord> {
            let mut ahead = words.clone();
            if ahead.next() == Some("all") {
                *words = ahead;
                return Ok(Self::ALL);
            }
            Vec::read(words).map(|classes: Vec<Class>| Self::of(&classes))
        }
    }

    impl Words for Class {
        fn write(&self, out: &mut String) {
            word(out, self.name());
        }
        fn read(words: &mut Read<'_>) -> Result<Self, BadWord> {
            let found = next(words, "a failure class")?;
            Self::from_name(found).map_or_else(|| bad("a failure class", found), Ok)
        }
    }
}
