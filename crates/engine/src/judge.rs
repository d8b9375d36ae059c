//! What a failure leads to (spec section 3, R7, R8, R21, R23). Pure: one table from class to
//! reaction; nothing is counted or remembered here.

use crate::class::{Class, Failure, Reach, Wait};
use crate::policy::{Moves, OnOverflow, Policy, Switch};
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
    /// A failure that quarantines nobody: it counts, and the route's breaker may open (spec
    /// section 4).
    Struck {
        /// The route cools for the wait that was named, in milliseconds.
        named_ms: Option<u64>,
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
    if !moves_on(policy, failure.class) {
        return spared(match failure.class {
            Class::ContextOverflow => Then::TellOverflow,
            Class::LocalNetwork => Then::WaitForNetwork,
            Class::RateLimited
            | Class::Overloaded
            | Class::ServerError
            | Class::Timeout
            | Class::TransportRemote
            | Class::EmptyResponse
            | Class::Stall
            | Class::QuotaExhausted
            | Class::Auth
            | Class::NotFound
            | Class::InvalidRequest
            | Class::ContentFilter
            | Class::Aborted
            | Class::Truncated => Then::Tell,
        });
    }
    let named = named_wait(failure.wait, now);
    let reaction = by_class(policy, failure, now, named);
    let verdict = match policy.quarantine {
        Switch::On => reaction.verdict,
        // Silence names no time.
        Switch::Off if failure.class == Class::Stall => {
            without_quarantine(policy, reaction.verdict, None)
        }
        Switch::Off => without_quarantine(policy, reaction.verdict, named),
    };
    let then = match policy.moves {
        Moves::InCall => reaction.then,
        Moves::NextCall => told_instead(reaction.then),
    };
    Reaction { verdict, then, ..reaction }
}

/// C3: whether a failure of that class counts and moves on at all.
const fn moves_on(policy: &Policy, class: Class) -> bool {
    match class {
        // Said by an upstream, these are a broken answer.
        Class::Aborted | Class::Truncated => policy.switch_on.contains(Class::TransportRemote),
        Class::LocalNetwork => true,
        Class::RateLimited
        | Class::Overloaded
        | Class::ServerError
        | Class::Timeout
        | Class::TransportRemote
        | Class::EmptyResponse
        | Class::Stall
        | Class::QuotaExhausted
        | Class::Auth
        | Class::NotFound
        | Class::InvalidRequest
        | Class::ContentFilter
        | Class::ContextOverflow => policy.switch_on.contains(class),
    }
}

/// Nobody is out for the day: a wait that was named is kept, everything else only counts.
fn without_quarantine(policy: &Policy, verdict: Verdict, named: Option<u64>) -> Verdict {
    match verdict {
        Verdict::Cooled { .. } | Verdict::Quarantined { .. } => {}
        Verdict::Spared | Verdict::Whole | Verdict::Truncated | Verdict::Struck { .. } => {
            return verdict;
        }
    }
    let cools = named.filter(|ms| *ms > 0 && policy.cooldown_ms > 0);
    match cools.map(|ms| cooled_ms(policy, ms)) {
        Some(ms) if policy.breaker_threshold == 0 => Verdict::Cooled { ms },
        named_ms => Verdict::Struck { named_ms },
    }
}

/// H5: nothing moves on inside the call.
const fn told_instead(then: Then) -> Then {
    match then {
        Then::FailOverRefused => Then::Tell,
        Then::FailOverLarger => Then::TellOverflow,
        Then::FailOver | Then::Tell | Then::TellOverflow | Then::WaitForNetwork => then,
    }
}

fn by_class(policy: &Policy, failure: &Failure, now: Now, named: Option<u64>) -> Reaction {
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
    Verdict::Cooled { ms: cooled_ms(policy, ms) }
}

fn cooled_ms(policy: &Policy, ms: u64) -> u64 {
    ms.max(COOLED_MIN_MS).min(policy.cooldown_max_ms.max(1))
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
