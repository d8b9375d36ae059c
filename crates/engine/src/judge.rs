//! What a failure leads to (spec section 3, R7, R8, R21, R23). Pure: one table from class to
//! reaction; nothing is counted or remembered here.

use crate::class::{Class, Failure, Reach, Wait};
use crate::policy::{OnOverflow, Policy};
use crate::time::Now;

/// A route cools for so long at least.
const COOLED_MIN_MS: u64 = 1_000;

/// Whether, and how, the same bytes go to the same candidate again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Retry {
    /// Not at all.
    No,
    /// At once: behind one route there may be a pool of accounts (R7).
    AtOnce,
    /// After `retry_pause` (R7).
    Paused,
    /// After the wait that was named (R23), in milliseconds.
    Named(u64),
}

/// What is recorded against a candidate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Nothing.
    Spared,
    /// The answer was whole.
    Whole,
    /// The answer was cut by its token limit, which is no failure (R14).
    Truncated,
    /// The route cools (R21).
    Cooled {
        /// For this many milliseconds.
        ms: u64,
    },
    /// The session's candidate is out (R17).
    Quarantined {
        /// Until this Unix millisecond, where the candidate named its own reset; else the day's.
        until_ms: Option<u64>,
    },
}

/// Where the call goes when the candidate is done with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Then {
    /// To the next candidate.
    FailOver,
    /// To the next candidate; if all refuse, the first refusal goes out unchanged.
    FailOverRefused,
    /// To a candidate with a larger window (R15).
    FailOverLarger,
    /// To the client, as it came.
    Tell,
    /// To the client, as its dialect's overflow error (R15).
    TellOverflow,
    /// Nowhere: this machine's network is in trouble; wait and try the same again.
    WaitForNetwork,
}

/// The reaction to one failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reaction {
    /// Retry first.
    pub retry: Retry,
    /// Recorded when no retry is left.
    pub verdict: Verdict,
    /// The way on.
    pub then: Then,
}

/// The table.
#[must_use]
pub fn react(policy: &Policy, failure: &Failure, now: Now) -> Reaction {
    let named = named_wait(failure.wait, now);
    match failure.class {
        Class::RateLimited => rate_limited(policy, named),
        Class::Overloaded | Class::ServerError => transient(policy, named, Retry::Paused),
        Class::Timeout | Class::TransportRemote | Class::EmptyResponse => {
            transient(policy, named, Retry::AtOnce)
        }
        Class::Stall => transient(policy, None, Retry::No),
        // An upstream cannot abort for us; whoever says so broke the answer off.
        Class::Aborted | Class::Truncated => transient(policy, named, Retry::AtOnce),
        Class::QuotaExhausted => {
            let until_ms = named.map(|ms| now.wall_ms.saturating_add(ms));
            judged(Retry::AtOnce, Verdict::Quarantined { until_ms })
        }
        Class::Auth | Class::NotFound => {
            judged(Retry::AtOnce, Verdict::Quarantined { until_ms: None })
        }
        Class::InvalidRequest => match failure.reach {
            Reach::ModelSpecific => spared(Then::FailOverRefused),
            Reach::Universal => spared(Then::Tell),
        },
        Class::ContentFilter if policy.failover_on_filter.is_on() => spared(Then::FailOverRefused),
        Class::ContentFilter => spared(Then::Tell),
        Class::ContextOverflow => match policy.overflow {
            OnOverflow::Tell => spared(Then::TellOverflow),
            OnOverflow::Larger => spared(Then::FailOverLarger),
        },
        Class::LocalNetwork => spared(Then::WaitForNetwork),
    }
}

fn rate_limited(policy: &Policy, named: Option<u64>) -> Reaction {
    let retry = match named {
        Some(ms) if ms <= policy.inline_wait_ms => Retry::Named(ms),
        Some(_) => Retry::No,
        None => Retry::AtOnce,
    };
    let verdict = match policy.cooldown_ms {
        0 => Verdict::Quarantined { until_ms: None },
        // A wait of nothing names no time.
        unnamed => cooled(policy, named.filter(|ms| *ms > 0).unwrap_or(unnamed)),
    };
    judged(retry, verdict)
}

/// A transient failure that names a wait cools for it instead of being quarantined (R21).
fn transient(policy: &Policy, named: Option<u64>, otherwise: Retry) -> Reaction {
    let retry = match named {
        Some(ms) if ms <= policy.inline_wait_ms => Retry::Named(ms),
        Some(_) => Retry::No,
        None => otherwise,
    };
    match named {
        Some(ms) if policy.cooldown_ms > 0 => judged(retry, cooled(policy, ms)),
        Some(_) | None => judged(retry, Verdict::Quarantined { until_ms: None }),
    }
}

/// A named wait is a floor, and a route that cooled for milliseconds would never be passed over.
fn cooled(policy: &Policy, ms: u64) -> Verdict {
    Verdict::Cooled { ms: ms.max(COOLED_MIN_MS).min(policy.cooldown_max_ms.max(1)) }
}

const fn judged(retry: Retry, verdict: Verdict) -> Reaction {
    Reaction { retry, verdict, then: Then::FailOver }
}

const fn spared(then: Then) -> Reaction {
    Reaction { retry: Retry::No, verdict: Verdict::Spared, then }
}

fn named_wait(wait: Wait, now: Now) -> Option<u64> {
    match wait {
        Wait::Unnamed => None,
        Wait::Ms(ms) => Some(ms),
        Wait::At(at) => Some(at.saturating_sub(now.wall_ms)),
    }
}

/// Names for docs and traces.
impl Then {
    /// The word that stands in traces and docs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FailOver => "failover",
            Self::FailOverRefused => "failover-refused",
            Self::FailOverLarger => "failover-larger",
            Self::Tell => "tell",
            Self::TellOverflow => "tell-overflow",
            Self::WaitForNetwork => "wait-for-network",
        }
    }
}
