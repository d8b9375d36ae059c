//! The state as people look at it: queues with their candidates, sessions with what is out for them.
//!
//! It refuses to hold the engine while it writes: what is shown is copied first.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use ekiden_engine::{
    Day, Holder, Now, Quarantine, RouteId, RouteStatus, SessionId, SessionStatus, Speed,
};

use ekiden_store::{Evidence, Place};

use crate::front::Front;
use crate::front::admin::journal::said;
use crate::plan::{CandidateRuntime, Plan, QueueRuntime};

/// Sessions in one answer at most; those that run, or have something out, come first.
const SESSIONS_MAX: usize = 1_000;

#[derive(Serialize)]
pub(super) struct State {
    version: &'static str,
    instance: String,
    now_ms: u64,
    day: DayState,
    open: Open,
    queues: Vec<QueueState>,
    sessions: Vec<SessionState>,
    sessions_known: usize,
}

#[derive(Serialize)]
struct DayState {
    number: u32,
    ends_ms: u64,
}

#[derive(Serialize)]
struct Open {
    calls: u64,
    calls_max: u64,
    waiting: usize,
    held_bytes: u64,
    held_bytes_max: u64,
    tasks: usize,
}

#[derive(Serialize)]
struct QueueState {
    id: Arc<str>,
    name: Arc<str>,
    context_window: Option<u32>,
    candidates: Vec<CandidateState>,
}

#[derive(Serialize)]
struct CandidateState {
    route: Arc<str>,
    dialect: &'static str,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ends_in_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lack: Option<String>,
    in_flight: u32,
    seats_taken: u32,
    max_sessions: Option<u32>,
    max_in_flight: Option<u32>,
    context_window: Option<u32>,
    today: Today,
}

#[derive(Serialize)]
struct Today {
    successes: u32,
    failures: u32,
}

#[derive(Serialize)]
struct SessionState {
    key: Arc<str>,
    background: bool,
    running: u32,
    running_now: Option<Arc<str>>,
    seats: Vec<Arc<str>>,
    quarantined: Vec<Out>,
    verified: Vec<Verified>,
    speeds: Vec<SpeedState>,
    truncations: Vec<Truncated>,
}

#[derive(Serialize)]
struct Out {
    queue: Arc<str>,
    route: Arc<str>,
    class: &'static str,
    since_ms: u64,
    until_ms: Option<u64>,
    parole_ms: Option<u64>,
    paroles: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<serde_json::Value>,
}

#[derive(Serialize)]
struct Verified {
    queue: Arc<str>,
    route: Arc<str>,
}

#[derive(Serialize)]
struct SpeedState {
    route: Arc<str>,
    tokens: u64,
    ms: u64,
    per_second: Option<f64>,
}

#[derive(Serialize)]
struct Truncated {
    queue: Arc<str>,
    in_a_row: u32,
}

/// What is copied out of the engine.
struct Seen {
    now: Now,
    day: Day,
    routes: BTreeMap<RouteId, RouteStatus>,
    sessions: Vec<SessionStatus>,
    waiting: usize,
    evidence: BTreeMap<Place, Evidence>,
}

impl Front {
    pub(super) async fn state(&self, plan: &Arc<Plan>) -> State {
        let evidence = self.stored(|store| store.evidence()).await;
        let seen = self.core.look(|engine, now| Seen {
            now,
            day: engine.day(),
            routes: engine.routes(now).map(|route| (route.route, route)).collect(),
            sessions: engine.sessions().collect(),
            waiting: engine.waiting(),
            evidence: evidence.into_iter().collect(),
        });
        let mut sessions: Vec<&SessionStatus> = seen.sessions.iter().collect();
        sessions.sort_by_key(|session| {
            (session.running == 0, session.quarantined.is_empty(), session.session)
        });
        sessions.truncate(SESSIONS_MAX);
        State {
            version: env!("CARGO_PKG_VERSION"),
            instance: self.core.instance().to_owned(),
            now_ms: seen.now.wall_ms,
            day: DayState { number: seen.day.number, ends_ms: seen.day.ends_ms },
            open: Open {
                calls: self.calls.taken(),
                calls_max: self.calls.most(),
                waiting: seen.waiting,
                held_bytes: self.held.taken(),
                held_bytes_max: self.held.most(),
                tasks: self.core.tasks().live(),
            },
            queues: plan.queues().iter().map(|queue| self.queue_state(queue, &seen)).collect(),
            sessions: sessions.iter().map(|session| self.session_state(session, &seen)).collect(),
            sessions_known: seen.sessions.len(),
        }
    }

    fn queue_state(&self, queue: &QueueRuntime, seen: &Seen) -> QueueState {
        let settings = self.core.plan();
        let declared = settings.config().queue(&queue.id).and_then(|queue| queue.context_window());
        // The rows are the same for every dialect, but for who is missing.
        let rows = &queue.engine(ekiden_dialect::Dialect::OpenAiChat).candidates;
        let candidates = queue.candidates.iter().zip(rows).map(|(candidate, row)| {
            let status = seen.routes.get(&row.route);
            let (state, ends_in_ms) = standing(candidate, status);
            CandidateState {
                route: Arc::clone(&candidate.route),
                dialect: candidate.provider.dialect.name(),
                state,
                ends_in_ms,
                lack: candidate.lack(candidate.provider.dialect),
                in_flight: status.map_or(0, |status| status.in_flight),
                seats_taken: status.map_or(0, |status| status.taken),
                max_sessions: row.max_sessions,
                max_in_flight: row.max_in_flight,
                context_window: row.window,
                today: Today {
                    successes: status.map_or(0, |status| status.tally.successes),
                    failures: status.map_or(0, |status| status.tally.failures),
                },
            }
        });
        QueueState {
            id: Arc::clone(&queue.id),
            name: Arc::clone(&queue.name),
            context_window: declared,
            candidates: candidates.collect(),
        }
    }

    fn session_state(&self, session: &SessionStatus, seen: &Seen) -> SessionState {
        let names = self.core.names();
        let key = names.session_name(session.session);
        let out = |(queue, route, facts): &(_, _, Quarantine)| Out {
            evidence: seen
                .evidence
                .get(&Place {
                    session: Arc::clone(&key),
                    queue: names.queue_name(*queue),
                    route: names.route_name(*route),
                })
                .map(said),
            queue: names.queue_name(*queue),
            route: names.route_name(*route),
            class: facts.class.name(),
            since_ms: facts.since_ms,
            until_ms: facts.until_ms,
            parole_ms: facts.parole_ms,
            paroles: facts.paroles,
        };
        let holder = Holder::Session(session.session);
        let held = seen.routes.values().filter(|route| route.holders.contains(&holder));
        SessionState {
            key: Arc::clone(&key),
            background: session.session == SessionId::BACKGROUND,
            running: session.running,
            running_now: session.running_now.map(|route| names.route_name(route)),
            seats: held.map(|route| names.route_name(route.route)).collect(),
            quarantined: session.quarantined.iter().map(out).collect(),
            verified: session
                .verified
                .iter()
                .map(|(queue, route)| Verified {
                    queue: names.queue_name(*queue),
                    route: names.route_name(*route),
                })
                .collect(),
            speeds: session
                .speeds
                .iter()
                .map(|(route, speed)| SpeedState {
                    route: names.route_name(*route),
                    tokens: speed.tokens,
                    ms: speed.speaking_ms,
                    per_second: per_second(*speed),
                })
                .collect(),
            truncations: session
                .truncations
                .iter()
                .map(|(queue, in_a_row)| Truncated {
                    queue: names.queue_name(*queue),
                    in_a_row: *in_a_row,
                })
                .collect(),
        }
    }
}

/// The one word for a route's state, and when it ends.
fn standing(
    candidate: &CandidateRuntime,
    status: Option<&RouteStatus>,
) -> (&'static str, Option<u64>) {
    if candidate.lack(candidate.provider.dialect).is_some() {
        return ("missing", None);
    }
    let Some(status) = status else { return ("ready", None) };
    match (status.cooling_ms, status.probing, status.resting_ms) {
        (Some(ms), _, _) => ("cooling", Some(ms)),
        (None, true, _) => ("probing", None),
        (None, false, Some(ms)) => ("resting", Some(ms)),
        (None, false, None) => ("ready", None),
    }
}

/// R30: two or more digits rounded, one digit with one decimal; nothing where nothing was said.
fn per_second(speed: Speed) -> Option<f64> {
    if speed.tokens == 0 || speed.speaking_ms == 0 {
        return None;
    }
    let exact = speed.tokens as f64 * 1000.0 / speed.speaking_ms as f64;
    Some(if exact >= 9.95 { exact.round() } else { (exact * 10.0).round() / 10.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r30_speed_has_two_digits_or_one_decimal() {
        for (tokens, speaking_ms, shown) in [
            (0, 100, None),
            (5, 0, None),
            (1_234, 10_000, Some(123.0)),
            (995, 100_000, Some(10.0)),
            (994, 100_000, Some(9.9)),
            (1, 3_000, Some(0.3)),
        ] {
            assert_eq!(per_second(Speed { tokens, speaking_ms }), shown, "{tokens}/{speaking_ms}");
        }
    }
}
