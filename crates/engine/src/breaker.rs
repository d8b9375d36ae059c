//! The breaker of a route: what failures in a row lead to where nobody is quarantined (policies
//! `health` and `chain`). It neither counts a class that its policy does not, nor chooses who runs
//! instead.

use crate::choose::Mode;
use crate::class::{Class, Failure};
use crate::engine::Engine;
use crate::fact::{Fact, LiftedBy, Notice, OpenedBy};
use crate::ids::{AttemptId, CallId, RouteId};
use crate::judge::{Verdict, react};
use crate::policy::Policy;
use crate::shared::{Probe, Route};
use crate::time::Now;

/// One failure that counts.
pub(crate) struct Strike {
    pub(crate) call: CallId,
    pub(crate) attempt: AttemptId,
    pub(crate) route: RouteId,
    pub(crate) class: Class,
    pub(crate) mode: Mode,
    pub(crate) named_ms: Option<u64>,
}

impl Engine {
    /// A probe in the background has ended (H4): an answer makes the route ready for everybody, a
    /// failure counts as a call's would. It is no attempt: nothing is tallied, and no session hears
    /// of it. Where the policy has no breaker, only an answer does anything.
    ///
    /// The facts name call 0, which no call bears.
    pub fn probed(&mut self, now: Now, policy: &Policy, route: RouteId, failure: Option<Failure>) {
        self.latest = now;
        let state = self.routes.entry(route).or_default();
        state.warm_up(now);
        let Some(failure) = failure else {
            if state.warm() {
                let by = LiftedBy::Success;
                self.notices.push_back(Notice::Fact(Fact::Warmed { route, by }));
                self.wake(route);
            }
            return;
        };
        let Verdict::Struck { named_ms } = react(policy, &failure, now).verdict else { return };
        let mode = match (state.is_cooling(), state.probe) {
            (true, _) => Mode::LastResort,
            (false, Probe::Needed) => Mode::Probe,
            (false, Probe::Unneeded | Probe::Running(_)) => Mode::Normal,
        };
        if policy.breaker_threshold > 0 {
            let (attempt, class) = (AttemptId(0), failure.class);
            let strike = Strike { call: CallId(0), attempt, route, class, mode, named_ms };
            self.strike(now, policy, &strike);
            // Now that all are cooling, whoever waits for another reason may try one of them.
            self.wake(route);
        }
    }

    /// Counts a failure; the breaker may open.
    pub(crate) fn strike(&mut self, now: Now, policy: &Policy, strike: &Strike) {
        let route = self.routes.entry(strike.route).or_default();
        route.breaker.failures = route.breaker.failures.saturating_add(1);
        let Some((by, ms)) = open(policy, route, strike) else { return };
        if strike.mode != Mode::LastResort || route.breaker.opened == 0 {
            route.breaker.opened = route.breaker.opened.saturating_add(1);
        }
        let failures = route.breaker.failures;
        self.cool(now, strike.route, ms);
        let fact = Fact::Opened {
            route: strike.route,
            ms,
            failures,
            by,
            class: strike.class,
            call: strike.call,
            attempt: strike.attempt,
        };
        self.notices.push_back(Notice::Fact(fact));
    }
}

/// What opens it, and for how long.
fn open(policy: &Policy, route: &Route, strike: &Strike) -> Option<(OpenedBy, u64)> {
    let named = strike.named_ms;
    if policy.breaker_at_once.contains(strike.class) {
        return Some((OpenedBy::AtOnce, policy.breaker_max_ms.max(named.unwrap_or(0))));
    }
    // Whoever began before it opened proves nothing new.
    let late = route.is_cooling() && strike.mode != Mode::LastResort;
    let probe = strike.mode == Mode::Probe;
    let spent = policy.breaker_threshold > 0 && route.breaker.failures >= policy.breaker_threshold;
    let by = match (probe, spent) {
        (true, _) if policy.breaker_threshold > 0 => Some(OpenedBy::Probe),
        (_, true) => Some(OpenedBy::Threshold),
        (_, false) => None,
    };
    match (by.filter(|_| !late), named) {
        (Some(by), named) => Some((by, span(policy, route, strike.mode).max(named.unwrap_or(0)))),
        (None, Some(ms)) => Some((OpenedBy::Named, ms)),
        (None, None) => None,
    }
}

/// `breaker_ms`, doubling with each opening in a row; a call that ran because all were cooling
/// proves that it still is, not that it is worse.
fn span(policy: &Policy, route: &Route, mode: Mode) -> u64 {
    let before = route.breaker.opened;
    let doubled = if mode == Mode::LastResort { before.saturating_sub(1) } else { before };
    policy.breaker_ms.saturating_mul(1 << doubled.min(20)).min(policy.breaker_max_ms)
}
