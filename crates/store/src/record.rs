//! What is kept, by name. Nothing here is prose.

use std::sync::Arc;

use ekiden_engine::{Class, LiftedBy, Quarantine, Speed, Tally};

use crate::entry::Entry;

/// A candidate of one session in one queue, by name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    /// The session's key; empty for background work.
    pub session: Arc<str>,
    /// The queue's id.
    pub queue: Arc<str>,
    /// `provider/model`.
    pub route: Arc<str>,
}

/// A call's public id, as it stands in `x-ekiden-call`.
pub type CallName = Arc<str>;

/// One thing to keep.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Record {
    /// A candidate is out (R17).
    Quarantined {
        /// Where.
        place: Place,
        /// How long and why.
        quarantine: Quarantine,
    },
    /// It is in again.
    Lifted {
        /// Where.
        place: Place,
        /// By what.
        by: LiftedBy,
    },
    /// It produced output on that day.
    Verified {
        /// Where.
        place: Place,
        /// The day.
        day: u32,
    },
    /// It failed since.
    Unverified {
        /// Where.
        place: Place,
    },
    /// A new day: what belongs to earlier ones is forgotten.
    Turned {
        /// Its number.
        day: u32,
    },
    /// A queue was deleted (R1).
    QueueDeleted {
        /// Its id.
        queue: Arc<str>,
    },
    /// One line of the journal (R32).
    Journal(Entry),
    /// An attempt began or ended: a row of the ledger (R34). The last one of an attempt holds.
    Attempt(AttemptRow),
    /// A call ended.
    Call(CallRow),
    /// Today's attempts on a route, as counted so far (R29); larger numbers hold.
    Tallied {
        /// Which.
        route: Arc<str>,
        /// The day.
        day: u32,
        /// All of that day.
        tally: Tally,
    },
    /// A session's speed on a route today, as summed so far (R30); the larger sum holds.
    Sped {
        /// The session's key; empty for background work.
        session: Arc<str>,
        /// Which.
        route: Arc<str>,
        /// The day.
        day: u32,
        /// All of that day.
        speed: Speed,
    },
    /// What a provider offers was asked (R37).
    Catalog(Catalog),
    /// A provider's catalog is to be asked anew (R37).
    CatalogForgotten {
        /// Whose.
        provider: Arc<str>,
    },
    /// Calls no longer persist (P5).
    Paused {
        /// Whose; `None`: nobody's do.
        session: Option<Arc<str>>,
        /// Since, in Unix milliseconds.
        since_ms: u64,
    },
    /// They persist again. The pause of everybody and those of sessions are apart (P5).
    Resumed {
        /// Whose; `None`: the pause of everybody ends.
        session: Option<Arc<str>>,
    },
}

impl Record {
    /// Whether it only tells: nothing is decided by it later.
    pub(crate) const fn is_row(&self) -> bool {
        match self {
            Self::Journal(_) | Self::Attempt(_) | Self::Call(_) => true,
            Self::Quarantined { .. }
            | Self::Lifted { .. }
            | Self::Verified { .. }
            | Self::Unverified { .. }
            | Self::Turned { .. }
            | Self::QueueDeleted { .. }
            | Self::Tallied { .. }
            | Self::Sped { .. }
            | Self::Catalog(_)
            | Self::CatalogForgotten { .. }
            | Self::Paused { .. }
            | Self::Resumed { .. } => false,
        }
    }

    /// Whether it is to reach the disk itself at once, not only the system's cache: what would be
    /// missed after a power cut.
    pub(crate) const fn is_precious(&self) -> bool {
        match self {
            Self::Quarantined { .. }
            | Self::Lifted { .. }
            | Self::Turned { .. }
            | Self::QueueDeleted { .. }
            | Self::Paused { .. }
            | Self::Resumed { .. } => true,
            Self::Verified { .. }
            | Self::Unverified { .. }
            | Self::Journal(_)
            | Self::Attempt(_)
            | Self::Call(_)
            | Self::Tallied { .. }
            | Self::Sped { .. }
            | Self::Catalog(_)
            | Self::CatalogForgotten { .. } => false,
        }
    }
}

/// What a provider offers, as it was cached (R37). The store does not read it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Catalog {
    /// Whose.
    pub provider: Arc<str>,
    /// The version of the writer's format; a reader that knows another one asks anew.
    pub version: u32,
    /// The writer's own JSON, at most [`CATALOG_BYTES_MAX`] bytes; a larger one is dropped.
    pub json: Arc<str>,
}

/// Bytes of one provider's catalog.
pub const CATALOG_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Providers whose catalogs are kept.
pub(crate) const CATALOGS_MAX: usize = 1_000;

/// Pauses that are kept.
pub(crate) const PAUSES_MAX: usize = 10_000;

/// Ids of deleted queues that are kept; the oldest ones go.
pub(crate) const DELETED_MAX: usize = 10_000;

/// More tokens, or milliseconds, of one attempt are a broken report; sums must not overflow.
pub(crate) const AMOUNT_MAX: u64 = 1 << 40;

/// More than one attempt can cost; the sums of as many rows as there may be must not overflow.
pub(crate) const COST_NANO_MAX: u64 = 1 << 43;

/// One attempt in the ledger.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AttemptRow {
    /// The call.
    pub call: CallName,
    /// The attempt's number in it, from 1; with the call it names the row.
    pub attempt: u32,
    /// Where.
    pub place: Place,
    /// When it began, in Unix milliseconds.
    pub began_ms: u64,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// How far it came.
    pub state: AttemptState,
    /// What went wrong.
    pub class: Option<Class>,
    /// The HTTP status, if an answer came.
    pub status: Option<u16>,
    /// Input tokens.
    pub input: Tokens,
    /// Output tokens.
    pub output: Tokens,
    /// Of the input, what was read from a cache, if upstream said so.
    pub cached: Option<u64>,
    /// Of the input, what was written to a cache, if upstream said so.
    pub cache_written: Option<u64>,
    /// What it cost; `None`: nobody said, and there is no price, or nobody knows the tokens.
    pub cost: Option<Cost>,
    /// The id of the client's token; `None`: it showed none.
    pub token: Option<Arc<str>>,
    /// Whether nothing of it reached the client: waste.
    pub wasted: bool,
}

/// How far an attempt came, as far as billing goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttemptState {
    /// The request went out, and nothing is known of its end.
    Sent,
    /// It was refused or broke off; what was billed is unknown.
    Unknown,
    /// It was answered to its end.
    Complete,
}

/// In what a price is asked. Nothing here turns one into another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Currency {
    /// US dollars.
    Usd,
    /// Chinese yuan.
    Cny,
}

impl Currency {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Usd, Self::Cny];

    /// Its code, by ISO 4217.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Usd => "USD",
            Self::Cny => "CNY",
        }
    }

    pub(crate) fn of(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|currency| currency.code() == code)
    }
}

/// What an attempt cost: as the upstream said, else by the price that held when it ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost {
    /// In which currency.
    pub currency: Currency,
    /// Billionths of it.
    pub nano: u64,
    /// Who says so.
    pub basis: Basis,
}

impl Cost {
    /// What an upstream says that it asks, in billionths of a US dollar.
    #[must_use]
    pub const fn reported_usd(nano: u64) -> Self {
        Self { currency: Currency::Usd, nano, basis: Basis::Reported }
    }
}

/// Who says what an attempt cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Basis {
    /// The upstream named the amount.
    Reported,
    /// We do, from a price and the tokens; where those come from, the row says.
    Estimated,
}

/// A number of tokens and where it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Tokens {
    /// The upstream said so.
    Reported(u64),
    /// Ours, from the size of the text.
    Estimated(u64),
    /// Nobody knows.
    #[default]
    Unknown,
}

impl Tokens {
    /// No more than one attempt can have.
    pub(crate) fn bounded(self) -> Self {
        match self {
            Self::Reported(count) => Self::Reported(count.min(AMOUNT_MAX)),
            Self::Estimated(count) => Self::Estimated(count.min(AMOUNT_MAX)),
            Self::Unknown => Self::Unknown,
        }
    }
}

impl AttemptRow {
    /// The row as it is kept: with no more tokens, milliseconds and cost than one attempt can have.
    /// Whoever adds rows up beside the ledger adds these.
    #[must_use]
    pub fn bounded(self) -> Self {
        Self {
            took_ms: self.took_ms.min(AMOUNT_MAX),
            input: self.input.bounded(),
            output: self.output.bounded(),
            cached: self.cached.map(|count| count.min(AMOUNT_MAX)),
            cache_written: self.cache_written.map(|count| count.min(AMOUNT_MAX)),
            cost: self.cost.map(|cost| Cost { nano: cost.nano.min(COST_NANO_MAX), ..cost }),
            ..self
        }
    }
}

/// One call in the ledger.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallRow {
    /// Its public id.
    pub call: CallName,
    /// The session's key.
    pub session: Arc<str>,
    /// The queue's id.
    pub queue: Arc<str>,
    /// When it came, in Unix milliseconds.
    pub began_ms: u64,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// Attempts in all.
    pub attempts: u32,
    /// Whose answer the client got.
    pub route: Option<Arc<str>>,
    /// How it ended.
    pub ending: Ending,
}

/// How a call ended for its client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// With a whole answer.
    Whole,
    /// With an answer that was cut by its token limit.
    Truncated,
    /// With an error before any output.
    Refused,
    /// With an error after output.
    Broken,
    /// The client left.
    Left,
    /// Somebody stopped it (P5).
    Stopped,
}
