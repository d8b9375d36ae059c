//! What is looked at after each step: the ledger against its caps, the shared state against the
//! reference, and that nothing is left behind.

use std::collections::BTreeMap;

use ekiden_engine::{Call, Candidate, Holder, RouteId, Start};

use super::{Breach, Result, World};

impl World {
    pub(super) fn holders(&self) -> BTreeMap<RouteId, Vec<Holder>> {
        self.engine.routes(self.now).map(|route| (route.route, route.holders)).collect()
    }

    /// R24: whoever asks for a seat finds one free under the cap of its own row.
    pub(super) fn asked_within_cap(
        &self,
        call: &Call,
        candidate: u32,
        before: &BTreeMap<RouteId, Vec<Holder>>,
    ) -> Result {
        let row = call.spec().queue.candidates[candidate as usize];
        let Some(route) = self.engine.routes(self.now).find(|r| r.route == row.route) else {
            return Err(Breach(format!("asks for a seat where there is none: {row:?}")));
        };
        let old = before.get(&row.route).map_or(&[][..], Vec::as_slice);
        let new = route.holders.iter().any(|holder| !old.contains(holder));
        if new && row.max_sessions.is_none_or(|cap| route.taken > cap) {
            return Err(Breach(format!("over its cap: {route:?}, {row:?}")));
        }
        Ok(())
    }

    /// R24, on the engine's own ledger.
    pub(super) fn within_caps(&self, call: &Call, start: &Start) -> Result {
        let spec = call.spec();
        let candidate: &Candidate = &spec.queue.candidates[start.candidate as usize];
        let Some(route) = self.engine.routes(self.now).find(|r| r.route == candidate.route) else {
            return Err(Breach("a route that runs is not shown".into()));
        };
        if !spec.queue.policy.relay.is_on() {
            return Ok(());
        }
        if candidate.max_in_flight.is_some_and(|most| route.in_flight > most) {
            return Err(Breach(format!("too many in flight: {route:?}, {candidate:?}")));
        }
        let own = [Holder::Session(spec.session), Holder::Call(spec.id)];
        let sits = own.iter().any(|holder| route.holders.contains(holder));
        if candidate.max_sessions.is_some() && !sits {
            return Err(Breach(format!("runs without a seat: {spec:?} on {route:?}")));
        }
        Ok(())
    }

    /// The shared state, engine against reference.
    pub(super) fn compare(&self) -> Result {
        let differs = |what: &str, engine: String, rules: String| {
            if engine == rules {
                return Ok(());
            }
            Err(Breach(format!(
                "{what} at {:?}\n  the rules: {rules}\n  the engine: {engine}",
                self.now
            )))
        };
        for route in self.engine.routes(self.now) {
            let id = route.route;
            let engine = (
                route.cooling_ms,
                route.resting_ms,
                route.in_flight,
                route.taken,
                route.holders.clone(),
                (route.tally.successes, route.tally.failures),
                (route.failures, route.opened),
            );
            let rules = self.reference.route(self.now, id);
            differs(&format!("{id:?}"), format!("{engine:?}"), format!("{rules:?}"))?;
        }
        for session in self.engine.sessions() {
            let id = session.session;
            let mut out = session.quarantined.clone();
            out.retain(|(_, _, out)| out.until_ms.is_none_or(|at| at > self.now.wall_ms));
            let engine = (out, session.verified.clone(), session.truncations.clone());
            let rules = self.reference.session(self.now, id);
            differs(&format!("{id:?}"), format!("{engine:?}"), format!("{rules:?}"))?;
        }
        for (id, live) in &self.calls {
            if !self.reference.knows(*id) || live.protocol.has_ended() {
                return Err(Breach(format!("{id:?} goes on after its end")));
            }
        }
        match self.reference.overlooked(self.now, self.disturbed_ms) {
            Some((id, said)) => {
                Err(Breach(format!("{id:?} could run and was not woken at {:?}: {said}", self.now)))
            }
            None => Ok(()),
        }
    }

    pub(super) fn nothing_left(&self) -> Result {
        for route in self.engine.routes(self.now) {
            if route.in_flight > 0 || route.taken > 0 || !route.holders.is_empty() {
                return Err(Breach(format!("left behind: {route:?}")));
            }
        }
        for session in self.engine.sessions() {
            if session.running > 0 {
                return Err(Breach(format!("left behind: {session:?}")));
            }
        }
        match self.engine.waiting() {
            0 => Ok(()),
            calls => Err(Breach(format!("{calls} calls still wait"))),
        }
    }
}
