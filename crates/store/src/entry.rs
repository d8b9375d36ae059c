//! The journal's lines: codes, names and spans, which the page and the CLI put into words.

use std::sync::Arc;

use ekiden_engine::Class;
use ekiden_engine::{Clock, LiftedBy, Mode, WaitFor};

use crate::masked::{Evidence, masked};
use crate::record::{CallName, Place};

/// One line of the journal (R32).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Its number; later ones are larger.
    pub number: u64,
    /// When, in Unix milliseconds.
    pub at_ms: u64,
    /// The call that led to it, if one did.
    pub call: Option<CallName>,
    /// What happened.
    pub what: What,
}

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// A candidate is out for a session and queue.
    Quarantined {
        /// Where.
        place: Place,
        /// Why.
        class: Class,
        /// Until, in Unix milliseconds, where the candidate named its own reset; else the day's.
        until_ms: Option<u64>,
        /// When one call may try again, in Unix milliseconds.
        parole_ms: Option<u64>,
        /// What it said.
        evidence: Evidence,
    },
    /// It is in again.
    Lifted {
        /// Where.
        place: Place,
        /// By what.
        by: LiftedBy,
    },
    /// A quarantined candidate is tried.
    OnTrial {
        /// Where.
        place: Place,
        /// On parole or as a last resort.
        mode: Mode,
    },
    /// A route cools for everybody.
    Cooled {
        /// Which.
        route: Arc<str>,
        /// For how long, in milliseconds.
        ms: u64,
        /// Why.
        class: Class,
        /// What it said.
        evidence: Evidence,
    },
    /// A cooldown was ended before its time.
    Warmed {
        /// Which.
        route: Arc<str>,
        /// By what.
        by: LiftedBy,
    },
    /// A call moved on.
    FailedOver {
        /// From.
        from: Arc<str>,
        /// To.
        to: Arc<str>,
        /// Why.
        class: Option<Class>,
    },
    /// A call was answered by another candidate than the head of its queue (C7).
    ServedInstead {
        /// The head.
        head: Arc<str>,
        /// Who answered.
        route: Arc<str>,
    },
    /// After repeated truncation the next call starts further down (R14).
    Rotated {
        /// Whose.
        session: Arc<str>,
        /// In which queue.
        queue: Arc<str>,
        /// Truncations in a row.
        truncations: u32,
    },
    /// A candidate was silent for too long.
    Stalled {
        /// Which.
        route: Arc<str>,
        /// The clock that ran out.
        clock: Clock,
    },
    /// A call waited because nothing could run.
    Waited {
        /// Whose.
        session: Arc<str>,
        /// In which queue.
        queue: Arc<str>,
        /// What for.
        why: Waited,
    },
    /// A failover carried `continue_text` (R9).
    Continued {
        /// To whom.
        route: Arc<str>,
        /// How many messages.
        times: u32,
    },
    /// A request was mended and sent again.
    Repaired {
        /// To whom.
        route: Arc<str>,
        /// The member that was changed or dropped.
        param: String,
    },
    /// A chunk that could not be read was skipped (R13).
    ChunkSkipped {
        /// Whose.
        route: Arc<str>,
    },
    /// A call ended without an answer, or broke off.
    Refused {
        /// Whose.
        session: Arc<str>,
        /// In which queue.
        queue: Arc<str>,
        /// What the client was told.
        told: Told,
    },
    /// A call asked for a queue that was deleted, and got the first one (R1).
    QueueGone {
        /// The id that was asked for.
        asked: Arc<str>,
        /// What it got.
        queue: Arc<str>,
    },
    /// Other settings hold from now on (G7).
    SettingsTaken,
    /// The settings were changed so that they cannot be used: the last good ones hold (G7).
    SettingsRefused {
        /// File, line and column of the first problem, as far as it has a place.
        place: Arc<str>,
        /// Its code, which stays; empty: an older version kept none.
        code: Arc<str>,
        /// What is wrong there, in English.
        message: String,
        /// The same in Chinese; empty: an older version kept none.
        chinese: String,
    },
    /// Calls no longer persist (P5).
    Paused {
        /// Whose; `None`: nobody's do.
        session: Option<Arc<str>>,
    },
    /// They persist again.
    Resumed {
        /// Whose; `None`: the pause of everybody ended.
        session: Option<Arc<str>>,
    },
    /// Somebody stopped a call (P5).
    Stopped {
        /// Whose.
        session: Arc<str>,
        /// In which queue.
        queue: Arc<str>,
    },
    /// The machine slept (R48).
    Slept {
        /// For how long, in milliseconds.
        ms: u64,
    },
    /// A new day.
    Turned {
        /// Its number.
        day: u32,
    },
}

impl What {
    /// The names of all kinds.
    pub const KINDS: [&'static str; 22] = [
        "quarantined",
        "lifted",
        "on_trial",
        "cooled",
        "warmed",
        "failed_over",
        "served_instead",
        "rotated",
        "stalled",
        "waited",
        "continued",
        "repaired",
        "chunk_skipped",
        "refused",
        "queue_gone",
        "settings_taken",
        "settings_refused",
        "paused",
        "resumed",
        "stopped",
        "slept",
        "turned",
    ];

    /// Its kind's name in API, file and docs: one of [`Self::KINDS`].
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Quarantined { .. } => "quarantined",
            Self::Lifted { .. } => "lifted",
            Self::OnTrial { .. } => "on_trial",
            Self::Cooled { .. } => "cooled",
            Self::Warmed { .. } => "warmed",
            Self::FailedOver { .. } => "failed_over",
            Self::ServedInstead { .. } => "served_instead",
            Self::Rotated { .. } => "rotated",
            Self::Stalled { .. } => "stalled",
            Self::Waited { .. } => "waited",
            Self::Continued { .. } => "continued",
            Self::Repaired { .. } => "repaired",
            Self::ChunkSkipped { .. } => "chunk_skipped",
            Self::Refused { .. } => "refused",
            Self::QueueGone { .. } => "queue_gone",
            Self::SettingsTaken => "settings_taken",
            Self::SettingsRefused { .. } => "settings_refused",
            Self::Paused { .. } => "paused",
            Self::Resumed { .. } => "resumed",
            Self::Stopped { .. } => "stopped",
            Self::Slept { .. } => "slept",
            Self::Turned { .. } => "turned",
        }
    }

    /// With no more of an error than may be kept.
    pub(crate) fn bounded(mut self) -> Self {
        match &mut self {
            Self::Quarantined { class, evidence, .. } | Self::Cooled { class, evidence, .. } => {
                *evidence = std::mem::take(evidence).bounded(*class);
            }
            Self::Repaired { param, .. } => *param = cut(param),
            Self::QueueGone { asked, .. } => *asked = cut(asked).into(),
            Self::SettingsRefused { message, chinese, .. } => {
                *message = masked(message, &[]);
                *chinese = masked(chinese, &[]);
            }
            Self::Lifted { .. }
            | Self::OnTrial { .. }
            | Self::Warmed { .. }
            | Self::FailedOver { .. }
            | Self::ServedInstead { .. }
            | Self::Rotated { .. }
            | Self::Stalled { .. }
            | Self::Waited { .. }
            | Self::Continued { .. }
            | Self::ChunkSkipped { .. }
            | Self::Refused { .. }
            | Self::SettingsTaken
            | Self::Paused { .. }
            | Self::Resumed { .. }
            | Self::Stopped { .. }
            | Self::Slept { .. }
            | Self::Turned { .. } => {}
        }
        self
    }
}

/// Characters of a name that somebody outside chose for this one occasion.
const NAME_CHARS_MAX: usize = 200;

fn cut(name: &str) -> String {
    name.chars().take(NAME_CHARS_MAX).collect()
}

/// What a call waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waited {
    /// Nothing could run.
    Candidate(WaitFor),
    /// This machine's network was in trouble.
    LocalNetwork,
}

/// What a client was told instead of a whole answer (R45).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Told {
    /// A candidate's error as it came.
    AsItCame,
    /// Its conversation is too large.
    Overflow,
    /// To come back in that many seconds.
    ComeBack(u64),
    /// That nothing comes back today.
    DoNotRetry,
    /// That the queue has no candidates.
    EmptyQueue,
    /// That this machine's network is in trouble.
    LocalNetwork,
    /// That the call's own time is up.
    Deadline,
    /// That the answer broke off.
    Broken(Class),
    /// That somebody stopped the call (P5).
    Stopped,
}
