//! The world in which a history happens: queues and policies at and around their bounds.

use std::sync::Arc;

use ekiden_engine::{
    Candidate, Clocks, CommitOn, Continuation, Continuing, Moves, OnOverflow, Policy, Presence,
    Queue, QueueId, RouteId, Switch,
};

use crate::rng::Rng;

/// Routes in all; queues share them.
pub(crate) const ROUTES: u64 = 6;

/// Queues, and how the store of leases behaves.
#[derive(Clone, Debug)]
pub struct Scene {
    /// One to three.
    pub queues: Vec<Arc<Queue>>,
    /// Whether a wish for a seat is granted at once, as by one process alone.
    pub prompt_leases: bool,
}

impl Scene {
    /// The scene of a seed.
    #[must_use]
    pub fn of(rng: &mut Rng) -> Self {
        let count = 1 + rng.below(3) as u32;
        let queues = (0..count).map(|id| Arc::new(queue(rng, QueueId(id)))).collect();
        Self { queues, prompt_leases: !rng.once_in(3) }
    }
}

/// A queue of at most six candidates.
pub(crate) fn queue(rng: &mut Rng, id: QueueId) -> Queue {
    let mut routes: Vec<u32> = (0..ROUTES as u32).collect();
    let count = rng.pick(&[0, 1, 1, 2, 2, 2, 3, 3, 4, 6]);
    let mut candidates = Vec::new();
    for _ in 0..count {
        let route = routes.remove(rng.below(routes.len() as u64) as usize);
        candidates.push(candidate(rng, RouteId(route)));
    }
    Queue { id, digest: rng.next(), policy: policy(rng), candidates }
}

fn candidate(rng: &mut Rng, route: RouteId) -> Candidate {
    let presence = if rng.once_in(16) { Presence::Missing } else { Presence::Present };
    let clocks = Clocks {
        connect_ms: rng.pick(&[10_000, 10_000, 1_000]),
        headers_ms: rng.pick(&[90_000, 600_000, 0]),
        first_byte_ms: rng.pick(&[0, 0, 600_000]),
        idle_ms: rng.pick(&[120_000, 5_000, 0, 3_600_000]),
        progress_ms: rng.pick(&[600_000, 20_000, 0]),
        first_output_ms: rng.pick(&[0, 0, 8_000]),
    };
    Candidate {
        route,
        presence,
        max_sessions: rng.pick(&[None, None, Some(1), Some(1), Some(2), Some(16)]),
        max_in_flight: rng.pick(&[None, None, None, Some(1), Some(2)]),
        window: rng.pick(&[None, None, Some(8_000), Some(32_000), Some(200_000)]),
        clocks,
    }
}

/// How turns are continued.
pub(crate) fn continuation(rng: &mut Rng) -> Continuation {
    Continuation {
        enabled: switch(rng, 6),
        on_truncation: switch(rng, 6),
        on_failure: switch(rng, 6),
        truncations_max: rng.pick(&[10, 0, 2]),
        failures_max: rng.pick(&[1, 0, 3]),
        delay_ms: rng.pick(&[5_000, 0, 1_000]),
    }
}

fn switch(rng: &mut Rng, off_once_in: u64) -> Switch {
    if rng.once_in(off_once_in) { Switch::Off } else { Switch::On }
}

fn policy(rng: &mut Rng) -> Policy {
    let usual = match rng.below(8) {
        0 => Policy::HEALTH,
        1 => Policy::CHAIN,
        2 => Policy::PERSIST,
        _ => Policy::RELAY,
    };
    if rng.once_in(4) {
        return usual;
    }
    let mut or = |usual: u64, bounds: &[u64]| if rng.once_in(2) { usual } else { rng.pick(bounds) };
    let numbers = Policy {
        retry_pause_ms: or(usual.retry_pause_ms, &[0, 1, 250]),
        wait_max_ms: or(usual.wait_max_ms, &[0, 1_000, 600_000]),
        inline_wait_ms: or(usual.inline_wait_ms, &[0, 10_000]),
        cooldown_ms: or(usual.cooldown_ms, &[0, 1, 3_600_000]),
        cooldown_max_ms: or(usual.cooldown_max_ms, &[1, 30_000]),
        continue_delay_ms: or(0, &[0, 5_000, 600_000]),
        held_max_bytes: or(usual.held_max_bytes, &[0, 100, 5_000]),
        parole_after_ms: or(usual.parole_after_ms, &[0, 1_000, 600_000]),
        parole_max_ms: or(usual.parole_max_ms, &[60_000, 14_400_000]),
        parole_idle_ms: or(usual.parole_idle_ms, &[1_000]),
        rest_ms: or(usual.rest_ms, &[0, 300_000]),
        lease_idle_ms: or(usual.lease_idle_ms, &[0, 1_000, 1_800_000]),
        judged_memory_ms: or(usual.judged_memory_ms, &[0]),
        client_stall_ms: or(usual.client_stall_ms, &[1_000]),
        retries: or(u64::from(usual.retries), &[0, 1, 10]) as u32,
        attempts_max: or(16, &[1, 2, 4]) as u32,
        continues_max: or(3, &[0, 1]) as u32,
        rotate_after: or(u64::from(usual.rotate_after), &[0, 1, 3]) as u32,
        breaker_threshold: or(u64::from(usual.breaker_threshold), &[0, 1, 3]) as u32,
        breaker_ms: or(usual.breaker_ms, &[0, 1_000]),
        breaker_max_ms: or(usual.breaker_max_ms, &[0, 120_000]),
        rounds_max: or(0, &[1, 3]) as u32,
        backoff_ms: or(usual.backoff_ms, &[0, 10]),
        backoff_max_ms: or(usual.backoff_max_ms, &[0, 1_000]),
        backoff_jitter_bp: or(2_000, &[0, 10_000]) as u32,
        ..usual
    };
    let mut rarely = |usual: Switch, other: Switch| if rng.once_in(12) { other } else { usual };
    let numbers = Policy {
        quarantine: rarely(usual.quarantine, Switch::Off),
        sticky: rarely(usual.sticky, Switch::On),
        persist: rarely(usual.persist, Switch::On),
        moves: if rng.once_in(3) { Moves::InCall } else { usual.moves },
        ..numbers
    };
    Policy {
        relay: switch(rng, 16),
        retry_when_all_quarantined: switch(rng, 3),
        failover_on_filter: if rng.once_in(3) { Switch::On } else { Switch::Off },
        continuing: match rng.below(3) {
            0 => Continuing::Always,
            1 => Continuing::Auto,
            _ => Continuing::Never,
        },
        commit: match rng.below(4) {
            0 => CommitOn::FirstToken,
            1 => CommitOn::Complete,
            _ => CommitOn::FirstOutput,
        },
        overflow: if rng.once_in(2) { OnOverflow::Larger } else { OnOverflow::Tell },
        ..numbers
    }
}
