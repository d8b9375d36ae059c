//! What follows from a failure (R7, R8, R15, R21, R23).

use ekiden_engine::{
    Class, Failure, Moves, Now, OnOverflow, Policy, Reach, Then, Verdict, Wait, Why,
};

/// What follows from a failure: spec section 3, then section 4.
pub(crate) fn table(
    policy: &Policy,
    failure: &Failure,
    now: Now,
) -> (Option<(u64, Why)>, Verdict, Then) {
    let broken = matches!(failure.class, Class::Aborted | Class::Truncated);
    let class = if broken { Class::TransportRemote } else { failure.class };
    // C3.
    if class != Class::LocalNetwork && !policy.switch_on.contains(class) {
        let overflow = class == Class::ContextOverflow;
        return (None, Verdict::Spared, if overflow { Then::TellOverflow } else { Then::Tell });
    }
    let (retry, verdict, then) = relay_table(policy, failure, now);
    let next = policy.moves == Moves::NextCall;
    let then = if next && then == Then::FailOverRefused { Then::Tell } else { then };
    let then = if next && then == Then::FailOverLarger { Then::TellOverflow } else { then };
    let judged = matches!(verdict, Verdict::Cooled { .. } | Verdict::Quarantined { .. });
    if policy.quarantine.is_on() || !judged {
        return (retry, verdict, then);
    }
    let named = match failure.wait {
        _ if class == Class::Stall || policy.cooldown_ms == 0 => 0,
        Wait::Unnamed => 0,
        Wait::Ms(ms) => ms,
        Wait::At(at) => at.saturating_sub(now.wall_ms),
    };
    let cut = named.max(1_000).min(policy.cooldown_max_ms.max(1));
    let verdict = match (named, policy.breaker_threshold) {
        (0, _) => Verdict::Struck { named_ms: None },
        (_, 0) => Verdict::Cooled { ms: cut },
        (_, _) => Verdict::Struck { named_ms: Some(cut) },
    };
    (retry, verdict, then)
}

fn relay_table(
    policy: &Policy,
    failure: &Failure,
    now: Now,
) -> (Option<(u64, Why)>, Verdict, Then) {
    let named = match failure.wait {
        Wait::Unnamed => None,
        Wait::Ms(ms) => Some(ms),
        Wait::At(at) => Some(at.saturating_sub(now.wall_ms)),
    };
    // R23: a short wait is waited for; a long one is no time for a retry.
    let waits = |otherwise: Option<(u64, Why)>| match named {
        None => otherwise,
        Some(ms) => (ms <= policy.inline_wait_ms).then_some((ms, Why::NamedWait)),
    };
    let cools = |ms: u64| Verdict::Cooled { ms: ms.max(1_000).min(policy.cooldown_max_ms.max(1)) };
    let day = Verdict::Quarantined { until_ms: None };
    let at_once = Some((0, Why::RetryPause));
    let transient = match named {
        Some(ms) if policy.cooldown_ms > 0 => cools(ms),
        Some(_) | None => day,
    };
    match failure.class {
        Class::RateLimited if policy.cooldown_ms == 0 => (waits(at_once), day, Then::FailOver),
        Class::RateLimited => (
            waits(at_once),
            cools(named.filter(|ms| *ms > 0).unwrap_or(policy.cooldown_ms)),
            Then::FailOver,
        ),
        Class::Overloaded | Class::ServerError => {
            (waits(Some((policy.retry_pause_ms, Why::RetryPause))), transient, Then::FailOver)
        }
        Class::Timeout
        | Class::TransportRemote
        | Class::EmptyResponse
        | Class::Aborted
        | Class::Truncated => (waits(at_once), transient, Then::FailOver),
        Class::Stall => (None, day, Then::FailOver),
        Class::QuotaExhausted => {
            let until_ms = named.map(|ms| now.wall_ms.saturating_add(ms));
            (at_once, Verdict::Quarantined { until_ms }, Then::FailOver)
        }
        Class::Auth | Class::NotFound => (at_once, day, Then::FailOver),
        Class::InvalidRequest => match failure.reach {
            Reach::Universal => (None, Verdict::Spared, Then::Tell),
            Reach::ModelSpecific => (None, Verdict::Spared, Then::FailOverRefused),
        },
        Class::ContentFilter if policy.failover_on_filter.is_on() => {
            (None, Verdict::Spared, Then::FailOverRefused)
        }
        Class::ContentFilter => (None, Verdict::Spared, Then::Tell),
        Class::ContextOverflow => match policy.overflow {
            OnOverflow::Tell => (None, Verdict::Spared, Then::TellOverflow),
            OnOverflow::Larger => (None, Verdict::Spared, Then::FailOverLarger),
        },
        Class::LocalNetwork => (None, Verdict::Spared, Then::WaitForNetwork),
    }
}

/// The product's jitter: a quarter up or down, from the call's seed.
pub(crate) fn jittered(seed: u64, attempt: u32, span: u64) -> u64 {
    if span < 2 {
        return span;
    }
    let step = u64::from(attempt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    span - span / 4 + crate::rng::Rng::new(seed ^ step).next() % (span / 2)
}

/// P2: doubling, give or take, and never beyond the bound.
pub(crate) fn backoff(policy: &Policy, seed: u64, rounds: u32) -> u64 {
    let mut span = policy.backoff_ms;
    for _ in 0..rounds.min(30) {
        span = span.saturating_mul(2);
    }
    let most = policy.backoff_max_ms;
    let span = span.min(most);
    let reach = (u128::from(span) * u128::from(policy.backoff_jitter_bp) / 10_000) as u64;
    let step = (1_u64 << 32 | u64::from(rounds)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let value =
        span.saturating_sub(reach) + crate::rng::Rng::new(seed ^ step).next() % (2 * reach + 1);
    if value > most { most.saturating_sub(value - most) } else { value }
}
