//! What people may look at: the third part of [`Engine`]. Reading changes nothing but what time
//! itself has changed.

use alloc::vec::Vec;

use crate::call::{Call, Decision};
use crate::engine::Engine;
use crate::fact::Quarantine;
use crate::ids::{QueueId, RouteId, SessionId};
use crate::seats::Holder;
use crate::shared::{Probe, Route, Session, Speed, Tally};
use crate::time::Now;

/// The state of a route, for everybody.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RouteStatus {
    /// Which.
    pub route: RouteId,
    /// It cools for this many milliseconds still.
    pub cooling_ms: Option<u64>,
    /// It rests for this many milliseconds still.
    pub resting_ms: Option<u64>,
    /// Its cooldown is over and its lone run has not spoken yet (R22).
    pub probing: bool,
    /// Failures in a row that its breaker has counted (H1, C4).
    pub failures: u32,
    /// How often in a row its breaker has opened.
    pub opened: u32,
    /// Attempts that run.
    pub in_flight: u32,
    /// Who holds a seat, or has asked for one.
    pub holders: Vec<Holder>,
    /// Seats that are taken, attempts of rows without a cap included.
    pub taken: u32,
    /// Today's attempts (R29).
    pub tally: Tally,
}

/// The state of a route as people call it (H6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Health {
    /// It can be asked.
    Ready,
    /// It is passed over.
    Cooling,
    /// Its cooldown is over, and one call goes first.
    Probing,
}

impl RouteStatus {
    /// What people call it.
    #[must_use]
    pub const fn health(&self) -> Health {
        match (self.cooling_ms, self.probing) {
            (Some(_), _) => Health::Cooling,
            (None, true) => Health::Probing,
            (None, false) => Health::Ready,
        }
    }
}

/// The state of a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionStatus {
    /// Which.
    pub session: SessionId,
    /// What is out for the day.
    pub quarantined: Vec<(QueueId, RouteId, Quarantine)>,
    /// What produced output today and has not failed since.
    pub verified: Vec<(QueueId, RouteId)>,
    /// How fast each candidate wrote today (R30).
    pub speeds: Vec<(RouteId, Speed)>,
    /// Truncations in a row (R14).
    pub truncations: Vec<(QueueId, u32)>,
    /// Attempts that run.
    pub running: u32,
    /// What runs at this instant, else what last produced output (R31).
    pub running_now: Option<RouteId>,
    /// Where it holds a seat, or has asked for one (R24).
    pub seats: Vec<RouteId>,
    /// Which cooling routes its own runs hold back beyond their cooldown (R22).
    pub stands_in_for: Vec<RouteId>,
    /// Whether its calls do not persist at this moment (P5).
    pub paused: bool,
    /// Whether its turns are left to a parent (R42).
    pub sub_agent: bool,
    /// Truncations in a row that were continued (R42).
    pub continued_truncations: u32,
    /// Failures in a row that were continued (R42).
    pub continued_failures: u32,
    /// When a turn is to be continued.
    pub continue_at: Option<Now>,
}

impl Engine {
    /// Every route that was ever asked.
    pub fn routes(&self, now: Now) -> impl Iterator<Item = RouteStatus> + '_ {
        self.routes.iter().map(move |(id, route)| RouteStatus {
            route: *id,
            cooling_ms: route.cooling.map(|cooling| now.until(cooling.until)).filter(|ms| *ms > 0),
            resting_ms: route.seats.rest_ms(now),
            probing: route.probe != Probe::Unneeded,
            failures: route.breaker.failures,
            opened: route.breaker.opened,
            in_flight: route.in_flight,
            holders: route.seats.holders().collect(),
            taken: route.seats.taken(),
            tally: route.tally,
        })
    }

    /// Every session that is remembered.
    pub fn sessions(&self) -> impl Iterator<Item = SessionStatus> + '_ {
        self.sessions.keys().filter_map(|id| self.session(*id))
    }

    /// One session.
    #[must_use]
    pub fn session(&self, id: SessionId) -> Option<SessionStatus> {
        let session = self.sessions.get(&id)?;
        let out = |((queue, route), out): (&(QueueId, RouteId), &crate::shared::Quarantined)| {
            (*queue, *route, out.facts)
        };
        Some(SessionStatus {
            session: id,
            quarantined: session.quarantined.iter().map(out).collect(),
            verified: session.verified.keys().copied().collect(),
            speeds: session.speeds.iter().map(|(route, speed)| (*route, *speed)).collect(),
            truncations: session.truncations.iter().map(|(queue, n)| (*queue, *n)).collect(),
            running: session.running.len() as u32,
            running_now: self.running_now(id),
            seats: self.seats_of(id),
            stands_in_for: self.stands_in_for(session),
            paused: self.is_paused(id),
            sub_agent: session.turns.is_sub_agent(),
            continued_truncations: session.turns.continued().0,
            continued_failures: session.turns.continued().1,
            continue_at: session.turns.due_at(),
        })
    }

    fn seats_of(&self, id: SessionId) -> Vec<RouteId> {
        let holder = Holder::Session(id);
        let sits = self.routes.iter().filter(|(_, route)| route.seats.knows(holder));
        sits.map(|(id, _)| *id).collect()
    }

    fn stands_in_for(&self, session: &Session) -> Vec<RouteId> {
        let mut routes: Vec<RouteId> = Vec::new();
        for run in &session.running {
            for id in &run.instead_of {
                let over = self.routes.get(id).and_then(Route::cooled_until);
                if over.is_some_and(|over| session.stands_in(*id, over)) && !routes.contains(id) {
                    routes.push(*id);
                }
            }
        }
        routes
    }

    /// The sum of a session's speed on a route today (R30).
    #[must_use]
    pub fn speed(&self, session: SessionId, route: RouteId) -> Option<Speed> {
        self.sessions.get(&session)?.speeds.get(&route).copied()
    }

    /// Today's attempts on a route (R29).
    #[must_use]
    pub fn tally(&self, route: RouteId) -> Tally {
        self.routes.get(&route).map(|route| route.tally).unwrap_or_default()
    }

    /// What runs for a session at this instant, else what last produced output (R31).
    #[must_use]
    pub fn running_now(&self, session: SessionId) -> Option<RouteId> {
        let session = self.sessions.get(&session)?;
        let running = session.running.iter().rev().find(|run| run.main).map(|run| run.route);
        running.or(session.last_output)
    }

    /// How many calls wait (R5).
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiters.len()
    }

    /// What a call that has just arrived would be decided now. Nothing is taken: the call must be
    /// thrown away, and its trace says why.
    pub fn preview(&mut self, now: Now, call: &mut Call) -> Decision {
        let session = call.spec().session;
        let known = self.sessions.contains_key(&session);
        self.sessions.entry(session).or_default();
        let (decision, _) = self.show(now, call, u64::MAX);
        if !known {
            self.sessions.remove(&session);
        }
        decision
    }
}
