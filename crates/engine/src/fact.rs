//! What became true. Facts are what outlives a call: the store keeps them, the journal tells them.
//! They merge: a later deadline beats an earlier one, a lift beats what it lifts.

use crate::choose::Mode;
use crate::class::Class;
use crate::continuation::{Cause, NotContinued};
use crate::ids::{AttemptId, CallId, LeaseId, QueueId, RouteId, SessionId};
use crate::judge::Verdict;
use crate::pausing::Whose;
use crate::seats::Holder;

/// A candidate of one session in one queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    /// Whose conversation.
    pub session: SessionId,
    /// In which queue.
    pub queue: QueueId,
    /// Which candidate.
    pub route: RouteId,
}

/// A quarantine as it is kept (R17, R18).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quarantine {
    /// Why.
    pub class: Class,
    /// The day that it belongs to.
    pub day: u32,
    /// Since, in Unix milliseconds.
    pub since_ms: u64,
    /// Its own reset in Unix milliseconds, where one was named.
    pub until_ms: Option<u64>,
    /// When one call may try again, in Unix milliseconds; `None`: never.
    pub parole_ms: Option<u64>,
    /// How many paroles failed.
    pub paroles: u32,
}

/// Something that became true.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fact {
    /// A candidate is out for a session and queue.
    Quarantined {
        /// Where.
        place: Place,
        /// How.
        quarantine: Quarantine,
        /// The call that proved it.
        call: CallId,
        /// The attempt that proved it.
        attempt: AttemptId,
    },
    /// It is in again.
    Lifted {
        /// Where.
        place: Place,
        /// By what.
        by: LiftedBy,
    },
    /// It produced output today and has not failed since.
    Verified {
        /// Where.
        place: Place,
        /// The day that it belongs to.
        day: u32,
    },
    /// It failed.
    Unverified {
        /// Where.
        place: Place,
    },
    /// A route cools for everybody.
    Cooled {
        /// Which.
        route: RouteId,
        /// For this many milliseconds.
        ms: u64,
        /// Why.
        class: Class,
        /// The call that proved it.
        call: CallId,
        /// The attempt that proved it.
        attempt: AttemptId,
    },
    /// A cooldown was ended before its time.
    Warmed {
        /// Which.
        route: RouteId,
        /// By what.
        by: LiftedBy,
    },
    /// A call moved on.
    FailedOver {
        /// Which.
        call: CallId,
        /// From.
        from: RouteId,
        /// To.
        to: RouteId,
    },
    /// A quarantined candidate is tried.
    OnTrial {
        /// Where.
        place: Place,
        /// By which call.
        call: CallId,
        /// On parole or as a last resort.
        mode: Mode,
    },
    /// After repeated truncation the next call starts further down (R14).
    Rotated {
        /// Whose.
        session: SessionId,
        /// In which queue.
        queue: QueueId,
        /// Truncations in a row.
        truncations: u32,
    },
    /// A seat was taken.
    Seated {
        /// On which route.
        route: RouteId,
        /// By whom.
        holder: Holder,
    },
    /// A seat was given back.
    Unseated {
        /// On which route.
        route: RouteId,
        /// By whom.
        holder: Holder,
        /// The route rests this long for others; 0: not at all.
        rest_ms: u64,
    },
    /// An attempt is over: a row of the ledger.
    Attempted {
        /// The call.
        call: CallId,
        /// The attempt.
        attempt: AttemptId,
        /// On which route.
        route: RouteId,
        /// What was recorded.
        verdict: Verdict,
        /// What went wrong, if anything.
        class: Option<Class>,
        /// Output tokens as reported.
        output_tokens: Option<u32>,
        /// From first token to end, in milliseconds.
        speaking_ms: u64,
    },
    /// A call is over.
    Called {
        /// Which.
        call: CallId,
    },
    /// A new day: quarantines, verified marks, tallies and speeds are gone.
    Turned {
        /// Its number.
        day: u32,
    },
    /// A route's breaker opened: it cools for everybody (C7, H1).
    Opened {
        /// Which.
        route: RouteId,
        /// For this many milliseconds.
        ms: u64,
        /// Failures in a row.
        failures: u32,
        /// What opened it.
        by: OpenedBy,
        /// The failure.
        class: Class,
        /// The call that proved it.
        call: CallId,
        /// The attempt that proved it.
        attempt: AttemptId,
    },
    /// A call was answered by another candidate than the first one of its queue (C7).
    ServedInstead {
        /// Which.
        call: CallId,
        /// The first one.
        head: RouteId,
        /// Who answered.
        route: RouteId,
    },
    /// A turn is continued by itself (R42).
    Continued {
        /// Whose.
        session: SessionId,
        /// What for.
        cause: Cause,
        /// The how-manieth in a row.
        count: u32,
    },
    /// A turn that ended badly is not continued (R42, R43).
    NotContinued {
        /// Whose.
        session: SessionId,
        /// Why.
        why: NotContinued,
    },
    /// Nothing persists any more (P5).
    Paused {
        /// Whose calls.
        whose: Whose,
    },
    /// They persist again (P5).
    Resumed {
        /// Whose calls.
        whose: Whose,
    },
}

/// What opened a breaker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenedBy {
    /// As many failures in a row as are allowed.
    Threshold,
    /// The call that went alone after a cooldown failed.
    Probe,
    /// The failure named a wait.
    Named,
    /// A class that does not pass by itself (H2).
    AtOnce,
}

/// What ended a quarantine or a cooldown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LiftedBy {
    /// An answer.
    Success,
    /// A person.
    Release,
    /// Its own reset.
    Reset,
}

/// What the engine has to say to the shell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notice {
    /// Something became true.
    Fact(Fact),
    /// What a waiting call waits for may have changed: give it [`crate::Input::Woken`].
    Wake(CallId),
    /// A seat is wanted; answer with [`crate::Engine::answer`].
    Want(Want),
}

/// A session's wish for a seat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Want {
    /// Its name in the answer.
    pub lease: LeaseId,
    /// On which route.
    pub route: RouteId,
    /// For whom.
    pub holder: Holder,
    /// The cap that it is compared with.
    pub cap: u32,
}
