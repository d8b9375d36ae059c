//! What is shared: the state of a route for everybody, and of a session for itself (R0).

use alloc::vec::Vec;

use crate::continuation::Turns;
use crate::fact::Quarantine;
use crate::ids::{AttemptId, CallId, QueueId, RouteId, SessionId};
use crate::seats::Seats;
use crate::sorted::Sorted;
use crate::time::Now;

/// The retry budget's bucket, in thousandths of a retry (R8).
pub(crate) const BUDGET_FULL: u32 = 10_000;
/// One retry.
pub(crate) const BUDGET_RETRY: u32 = 1_000;
/// What each call gives back: a tenth of a retry.
pub(crate) const BUDGET_CALL: u32 = 100;
/// How many sessions' judged failures are remembered for each route.
const JUDGED_MAX: usize = 8;

#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) cooling: Option<Cooling>,
    /// When the last cooldown was over, for R22.
    pub(crate) cooled_until: Option<Now>,
    pub(crate) probe: Probe,
    pub(crate) breaker: Breaker,
    pub(crate) seats: Seats,
    pub(crate) in_flight: u32,
    pub(crate) budget: u32,
    judged: Vec<(SessionId, Now)>,
    pub(crate) tally: Tally,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Cooling {
    pub(crate) since: Now,
    pub(crate) until: Now,
}

/// Consecutive failures of a route (policies `health` and `chain`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Breaker {
    /// Failures in a row.
    pub(crate) failures: u32,
    /// How often it has opened in a row.
    pub(crate) opened: u32,
}

/// Whether the first call after a cooldown goes alone (R22).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Probe {
    Unneeded,
    Needed,
    Running(CallId),
}

/// Attempts of today (R29).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Whole or truncated.
    pub successes: u32,
    /// Judged or cooled.
    pub failures: u32,
}

/// How fast a candidate wrote in one session today (R30).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Speed {
    /// Output tokens, summed.
    pub tokens: u64,
    /// Milliseconds from first token to end, summed.
    pub speaking_ms: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Session {
    pub(crate) quarantined: Sorted<(QueueId, RouteId), Quarantined>,
    pub(crate) verified: Sorted<(QueueId, RouteId), ()>,
    pub(crate) truncations: Sorted<QueueId, u32>,
    pub(crate) running: Vec<Running>,
    pub(crate) speeds: Sorted<RouteId, Speed>,
    pub(crate) last_output: Option<RouteId>,
    pub(crate) turns: Turns,
    /// Who answered last, for queues where that one stays the first (H3).
    pub(crate) current: Sorted<QueueId, RouteId>,
    pub(crate) seen: Now,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Quarantined {
    pub(crate) facts: Quarantine,
    /// When its parole is due, on both clocks: one that is set back does not prolong it.
    pub(crate) parole: Option<Now>,
    pub(crate) trial: Option<CallId>,
}

#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) call: CallId,
    pub(crate) attempt: AttemptId,
    pub(crate) route: RouteId,
    pub(crate) began: Now,
    /// Whether it is the session's own work, not a chore of its client (R31, R47).
    pub(crate) main: bool,
    /// Passed over because they cooled (R22).
    pub(crate) instead_of: Vec<RouteId>,
}

impl Default for Route {
    fn default() -> Self {
        Self {
            cooling: None,
            cooled_until: None,
            probe: Probe::Unneeded,
            breaker: Breaker::default(),
            seats: Seats::default(),
            in_flight: 0,
            budget: BUDGET_FULL,
            judged: Vec::new(),
            tally: Tally::default(),
        }
    }
}

impl Route {
    /// R21: a later deadline is never shortened by an earlier one.
    pub(crate) fn cool(&mut self, now: Now, ms: u64) {
        let until = now.after(ms);
        let later = |cooling: &Cooling| cooling.until.mono_ms >= until.mono_ms;
        match &mut self.cooling {
            Some(cooling) if later(cooling) => cooling.since = now,
            _ => self.cooling = Some(Cooling { since: now, until }),
        }
        self.probe = Probe::Unneeded;
    }

    /// A cooldown whose time is up makes way for one lone call.
    pub(crate) fn warm_up(&mut self, now: Now) {
        if let Some(cooling) = self.cooling
            && now.reached(cooling.until)
        {
            self.cooling = None;
            self.cooled_until = Some(cooling.until);
            self.probe = Probe::Needed;
        }
    }

    pub(crate) const fn is_cooling(&self) -> bool {
        self.cooling.is_some()
    }

    /// When the last cooldown was over, or the present one will be.
    pub(crate) fn cooled_until(&self) -> Option<Now> {
        self.cooling.map(|cooling| cooling.until).or(self.cooled_until)
    }

    pub(crate) fn warm(&mut self) -> bool {
        let was = self.cooling.take().is_some() || self.probe != Probe::Unneeded;
        self.probe = Probe::Unneeded;
        self.cooled_until = None;
        self.breaker = Breaker::default();
        was
    }

    pub(crate) fn judged(&mut self, session: SessionId, now: Now) {
        self.judged.retain(|(other, _)| *other != session);
        if self.judged.len() == JUDGED_MAX {
            self.judged.remove(0);
        }
        self.judged.push((session, now));
    }

    /// R8: the budget is empty, or another session saw it fail a moment ago.
    pub(crate) fn single(&self, session: SessionId, now: Now, memory_ms: u64) -> bool {
        let fresh = |at: Now| now.mono_ms < at.mono_ms.saturating_add(memory_ms);
        self.budget < BUDGET_RETRY
            || self.judged.iter().any(|(other, at)| *other != session && fresh(*at))
    }
}

impl Quarantined {
    /// As recorded now, or taken up again after a restart.
    pub(crate) fn new(now: Now, facts: Quarantine) -> Self {
        let span = |at: u64| at.saturating_sub(now.wall_ms.max(facts.since_ms));
        let parole = facts.parole_ms.map(|at| now.after(span(at)));
        Self { facts, parole, trial: None }
    }
}

impl Session {
    /// Whether nothing would be lost with it.
    pub(crate) fn is_blank(&self) -> bool {
        self.quarantined.is_empty()
            && self.verified.is_empty()
            && self.running.is_empty()
            && self.speeds.is_empty()
            && self.truncations.is_empty()
            && self.turns.is_blank()
            && self.current.is_empty()
    }

    /// Whether it has neither failed nor answered here today.
    pub(crate) fn knows_nothing(&self, key: (QueueId, RouteId)) -> bool {
        !self.quarantined.contains_key(&key) && !self.verified.contains_key(&key)
    }

    /// R22: a run of this session that began before the limit was over stands in for the route.
    pub(crate) fn stands_in(&self, route: RouteId, over: Now) -> bool {
        let before = |run: &Running| run.began.mono_ms < over.mono_ms;
        self.running.iter().any(|run| before(run) && run.instead_of.contains(&route))
    }

    /// R14: where the ring begins.
    pub(crate) fn rotation(&self, queue: QueueId, rotate_after: u32) -> u32 {
        let count = self.truncations.get(&queue).copied().unwrap_or(0);
        count.checked_div(rotate_after).unwrap_or(0)
    }
}
