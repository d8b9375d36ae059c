//! The state as people look at it: queues with their candidates, sessions with what is out for them.
//!
//! It refuses to hold the engine while it writes: what is shown is copied first.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use ekiden_engine::{
    Day, Holder, Now, Quarantine, QueueId, RouteId, RouteStatus, SessionId, SessionStatus, Speed,
};

use ekiden_config::{Language, Mistake, Problems, Severity};
use ekiden_store::{Evidence, Place, Trouble};

use crate::front::Front;
use crate::front::admin::calls::{self, Waiting};
use crate::front::admin::shape::{ClassName, Said, Today};
use crate::names::Names;
use crate::plan::{Plan, QueueRuntime};
use crate::settings::SettingsStatus;

/// Sessions that are copied before the engine is let go again: a call that comes meanwhile waits for
/// so many at most.
const SESSIONS_AT_ONCE: usize = 64;

/// Everything at one instant.
#[derive(Serialize, JsonSchema)]
pub(in crate::front) struct State {
    version: &'static str,
    instance: String,
    now_ms: u64,
    day: DayState,
    open: Open,
    recording: Recording,
    settings: SettingsState,
    /// Whose calls do not persist: a session's key; none in it: everybody's.
    pauses: Vec<Option<Arc<str>>>,
    /// Calls that wait, oldest first; left out where none does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    waits: Vec<Waiting>,
    /// Off: every queue is (R0).
    enabled: bool,
    queues: Vec<QueueState>,
    /// Those that run or have something out come first. What candidates said is not among it: ask
    /// for the sessions themselves.
    sessions: Vec<SessionState>,
    sessions_known: usize,
    /// The `after` of `/sessions` for the next ones.
    sessions_next: Option<String>,
}

/// The logical day.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Day")]
struct DayState {
    number: u32,
    ends_ms: u64,
}

/// Whether records are being kept; serving goes on without.
#[derive(Serialize, JsonSchema)]
struct Recording {
    /// `full`, `locked`, `behind`, `disk` or `ended`; none: they are kept.
    trouble: Option<&'static str>,
    /// Records that were dropped since the start.
    dropped: u64,
    /// The folder that they are kept in; none: memory, and nothing outlives the process.
    folder: Option<String>,
    /// Why nothing outlives the process, where it was meant to.
    why_not: Option<String>,
}

/// How the settings stand.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SettingsStatus")]
pub(in crate::front) struct SettingsState {
    /// Their file, whether it is there or not; none: they have none.
    file: Option<String>,
    /// The hash of its text as it runs, the precondition of a write; `absent` where there is none.
    hash: String,
    /// When they were taken.
    since_ms: u64,
    /// Why the newest edit is not used; the last good one holds.
    refused: Vec<SettingsProblem>,
    /// Why the file cannot be written from here.
    read_only: Option<String>,
    /// Keys whose new value holds after the next start alone.
    after_restart: Vec<&'static str>,
}

/// One thing that is wrong with the settings.
#[derive(Serialize, JsonSchema)]
pub(super) struct SettingsProblem {
    /// For programs (docs/settings.md lists them).
    code: &'static str,
    /// From 1.
    line: Option<usize>,
    /// In characters, from 1.
    column: Option<usize>,
    /// What is wrong.
    message: String,
    /// What to do.
    hint: Option<String>,
}

impl SettingsProblem {
    /// What refuses settings.
    pub(super) fn errors_of(problems: &Problems, language: Language) -> Vec<Self> {
        let errors = problems.list.iter().filter(|one| one.severity == Severity::Error);
        let told = errors.map(|problem| Self {
            line: problem.place.as_ref().map(|place| place.line),
            column: problem.place.as_ref().map(|place| place.column),
            ..Self::of_mistake(&problem.mistake, language)
        });
        told.collect()
    }

    /// What stands in no file.
    pub(super) fn of_mistake(mistake: &Mistake, language: Language) -> Self {
        Self {
            code: mistake.code(),
            line: None,
            column: None,
            message: mistake.message(language),
            hint: mistake.hint(language),
        }
    }
}

impl SettingsState {
    pub(super) fn of(status: SettingsStatus, language: Language) -> Self {
        let refused = status.refused.as_ref();
        Self {
            file: status.file.map(|file| file.display().to_string()),
            hash: status.hash.to_string(),
            since_ms: status.since_ms,
            refused: refused.map_or_else(Vec::new, |all| SettingsProblem::errors_of(all, language)),
            read_only: status.read_only.map(|why| why.say(language)),
            after_restart: status.after_restart,
        }
    }
}

/// What is open and held.
#[derive(Serialize, JsonSchema)]
struct Open {
    calls: u64,
    calls_max: u64,
    waiting: usize,
    held_bytes: u64,
    held_bytes_max: u64,
    tasks: usize,
}

/// A queue with its candidates.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Queue")]
struct QueueState {
    id: Arc<str>,
    name: Arc<str>,
    /// Off: one try on the first candidate; nothing is held, retried, judged or recorded (R0).
    enabled: bool,
    /// The window of its first candidate that has one.
    context_window: Option<u32>,
    /// Where a client should compact: 0.8 of the window.
    compaction_point: Option<u32>,
    candidates: Vec<CandidateState>,
}

/// A candidate as it stands for everybody.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Candidate")]
struct CandidateState {
    route: Arc<str>,
    dialect: &'static str,
    /// `ready`, `cooling`, `resting`, `probing`, or `missing` with `lack` saying what.
    state: &'static str,
    /// When the state ends by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    ends_in_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lack: Option<String>,
    in_flight: u32,
    seats_taken: u32,
    max_sessions: Option<u32>,
    max_in_flight: Option<u32>,
    context_window: Option<u32>,
    /// The effort that is sent, if the model knows it.
    effort: Option<String>,
    /// The levels that the model is known to have; empty: nobody says.
    effort_levels: Vec<String>,
    today: Today,
}

/// Sessions; those that run or have something out come first.
#[derive(Serialize, JsonSchema)]
pub(in crate::front) struct Sessions {
    sessions: Vec<SessionState>,
    /// How many there are in all.
    sessions_known: usize,
    /// The `after` of the next page.
    next: Option<String>,
}

/// A session.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Session")]
pub(in crate::front) struct SessionState {
    /// Its key; empty for background work.
    key: Arc<str>,
    background: bool,
    /// Attempts that run.
    running: u32,
    /// What runs, else what last produced output.
    running_now: Option<Arc<str>>,
    /// Routes on which it holds a seat.
    seats: Vec<Arc<str>>,
    quarantined: Vec<Out>,
    verified: Vec<Verified>,
    speeds: Vec<SpeedState>,
    truncations: Vec<Truncated>,
}

/// A candidate that is out for one session.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Quarantined")]
struct Out {
    queue: Arc<str>,
    route: Arc<str>,
    class: ClassName,
    since_ms: u64,
    /// Its own reset; none: the day's.
    until_ms: Option<u64>,
    parole_ms: Option<u64>,
    paroles: u32,
    /// What it said; in answers about sessions, not in the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<Said>,
}

/// A candidate that produced output today and has not failed since.
#[derive(Serialize, JsonSchema)]
struct Verified {
    queue: Arc<str>,
    route: Arc<str>,
}

/// How fast a candidate wrote today.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Speed")]
struct SpeedState {
    route: Arc<str>,
    /// Output tokens.
    tokens: u64,
    /// From the first token to the end, summed.
    ms: u64,
    per_second: Option<f64>,
}

/// Truncations in a row.
#[derive(Serialize, JsonSchema)]
struct Truncated {
    queue: Arc<str>,
    in_a_row: u32,
}

/// What is copied out of the engine.
struct Seen {
    now: Now,
    day: Day,
    routes: BTreeMap<RouteId, RouteStatus>,
    waiting: usize,
    /// What quarantined candidates said, of the sessions that are shown; taken out where it is.
    evidence: HashMap<Place, Evidence>,
    seats: HashMap<SessionId, Vec<RouteId>>,
    /// Few: a tree finds them without hashing.
    queue_names: BTreeMap<QueueId, Arc<str>>,
    route_names: BTreeMap<RouteId, Arc<str>>,
}

impl Front {
    /// Everything, with at most so many sessions.
    pub(super) fn state(&self, plan: &Arc<Plan>, most: usize, language: Language) -> State {
        let mut seen = self.seen();
        let (store, keeping) = (self.core.store(), self.core.keeping());
        let page = self.page(None, most);
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
            recording: Recording {
                trouble: store.trouble().map(trouble),
                dropped: store.dropped(),
                folder: keeping.folder.as_ref().map(|folder| folder.display().to_string()),
                why_not: keeping.why_not.as_ref().map(|why| why.say(language)),
            },
            settings: SettingsState::of(self.core.settings(), language),
            pauses: self.core.pauses(),
            waits: calls::waiting(self.core.calls()),
            enabled: plan.config().enabled,
            queues: plan.queues().iter().map(|it| queue_state(it, &seen, language)).collect(),
            sessions: self.session_states(&page, &mut seen),
            sessions_known: page.known,
            sessions_next: page.next,
        }
    }

    /// At most so many sessions behind that place, those that matter first.
    pub(super) async fn sessions(&self, after: Option<Rank>, most: usize) -> Sessions {
        let mut seen = self.seen();
        let page = self.page(after, most);
        seen.evidence = self.evidence(&page.sessions).await;
        Sessions {
            sessions: self.session_states(&page, &mut seen),
            sessions_known: page.known,
            next: page.next,
        }
    }

    /// One session; `None`: nothing is remembered of it.
    pub(super) async fn session(&self, id: SessionId) -> Option<SessionState> {
        let mut seen = self.seen();
        let status = self.core.look(|engine, _| engine.session(id))?;
        let known = Known { name: self.core.names().session_name(id), status };
        seen.evidence = self.evidence(std::slice::from_ref(&known)).await;
        Some(self.session_state(&known, &mut seen))
    }

    fn seen(&self) -> Seen {
        let mut seen = self.core.look(|engine, now| Seen {
            now,
            day: engine.day(),
            routes: engine.routes(now).map(|route| (route.route, route)).collect(),
            waiting: engine.waiting(),
            evidence: HashMap::new(),
            seats: HashMap::new(),
            queue_names: BTreeMap::new(),
            route_names: BTreeMap::new(),
        });
        for (id, route) in &seen.routes {
            for holder in &route.holders {
                if let Holder::Session(session) = holder {
                    seen.seats.entry(*session).or_default().push(*id);
                }
            }
        }
        seen
    }

    /// Each session is whole; two of them may be a moment apart.
    fn page(&self, after: Option<Rank>, most: usize) -> Page {
        let mut names = self.core.names().sessions();
        names.push((SessionId::BACKGROUND, "".into()));
        let mut sessions = Vec::new();
        for slice in names.chunks(SESSIONS_AT_ONCE) {
            self.core.look(|engine, _| {
                sessions.extend(slice.iter().filter_map(|(id, name)| {
                    Some(Known { status: engine.session(*id)?, name: Arc::clone(name) })
                }));
            });
        }
        let known = sessions.len();
        // Ranks are sorted and not sessions, which are large; each is one session's.
        let ranks = sessions.iter().enumerate().map(|(at, session)| (session.rank(), at));
        let mut order: Vec<(Rank, usize)> =
            ranks.filter(|(rank, _)| after.is_none_or(|after| *rank > after)).collect();
        order.sort_unstable();
        let more = order.len() > most;
        let mut sessions: Vec<Option<Known>> = sessions.into_iter().map(Some).collect();
        let shown = order.iter().take(most).filter_map(|(_, at)| sessions.get_mut(*at)?.take());
        let sessions: Vec<Known> = shown.collect();
        let next = sessions.last().filter(|_| more).map(|last| last.rank().to_string());
        Page { sessions, known, next }
    }

    async fn evidence(&self, of: &[Known]) -> HashMap<Place, Evidence> {
        let out = of.iter().filter(|known| !known.status.quarantined.is_empty());
        let keys: Vec<Arc<str>> = out.map(|known| Arc::clone(&known.name)).collect();
        self.stored(move |store| store.evidence(&keys)).await.into_iter().collect()
    }

    fn session_states(&self, page: &Page, seen: &mut Seen) -> Vec<SessionState> {
        page.sessions.iter().map(|known| self.session_state(known, seen)).collect()
    }

    fn session_state(&self, known: &Known, seen: &mut Seen) -> SessionState {
        let names = self.core.names();
        let Known { name: key, status: session } = known;
        let key = Arc::clone(key);
        let quarantined = session.quarantined.iter();
        let quarantined = quarantined.map(|out| seen.out(names, &key, out)).collect();
        let held = seen.seats.get(&session.session).into_iter().flatten();
        SessionState {
            key,
            background: session.session == SessionId::BACKGROUND,
            running: session.running,
            running_now: session.running_now.map(|route| names.route_name(route)),
            seats: held.map(|route| names.route_name(*route)).collect(),
            quarantined,
            verified: session
                .verified
                .iter()
                .map(|(queue, route)| Verified {
                    queue: seen.queue(names, *queue),
                    route: seen.route(names, *route),
                })
                .collect(),
            speeds: session
                .speeds
                .iter()
                .map(|(route, speed)| SpeedState {
                    route: seen.route(names, *route),
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

/// Where a session stands in the list: those that run first, then those that have something out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Rank(u8, SessionId);

impl std::fmt::Display for Rank {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.0, self.1.0)
    }
}

impl std::str::FromStr for Rank {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (rank, id) = text.split_once('.').unwrap_or((text, ""));
        Ok(Self(rank.parse()?, SessionId(id.parse()?)))
    }
}

/// A session that is remembered.
struct Known {
    name: Arc<str>,
    status: SessionStatus,
}

impl Known {
    fn rank(&self) -> Rank {
        let rank = match (self.status.running, self.status.quarantined.is_empty()) {
            (0, true) => 2,
            (0, false) => 1,
            (_, _) => 0,
        };
        Rank(rank, self.status.session)
    }
}

/// Some of the sessions.
struct Page {
    sessions: Vec<Known>,
    known: usize,
    next: Option<String>,
}

impl Seen {
    // Few names come many times, and each look at the table takes its lock.
    fn queue(&mut self, names: &Names, id: QueueId) -> Arc<str> {
        Arc::clone(self.queue_names.entry(id).or_insert_with(|| names.queue_name(id)))
    }

    fn route(&mut self, names: &Names, id: RouteId) -> Arc<str> {
        Arc::clone(self.route_names.entry(id).or_insert_with(|| names.route_name(id)))
    }

    fn out(
        &mut self,
        names: &Names,
        session: &Arc<str>,
        (queue, route, facts): &(QueueId, RouteId, Quarantine),
    ) -> Out {
        let (queue, route) = (self.queue(names, *queue), self.route(names, *route));
        let place = Place { session: Arc::clone(session), queue, route };
        // Even an empty table hashes what is looked for, and the state has none.
        let found = if self.evidence.is_empty() { None } else { self.evidence.remove(&place) };
        let evidence = found.map(Said::from);
        let Place { queue, route, .. } = place;
        Out {
            queue,
            route,
            class: ClassName(facts.class),
            since_ms: facts.since_ms,
            until_ms: facts.until_ms,
            parole_ms: facts.parole_ms,
            paroles: facts.paroles,
            evidence,
        }
    }
}

fn queue_state(queue: &QueueRuntime, seen: &Seen, language: Language) -> QueueState {
    // The rows are the same for every dialect, but for who is missing.
    let row = queue.engine(ekiden_dialect::Dialect::OpenAiChat);
    let candidates = queue.candidates.iter().zip(&row.candidates).map(|(candidate, row)| {
        let status = seen.routes.get(&row.route);
        let lack = candidate.lack(candidate.provider.dialect);
        let (state, ends_in_ms) = if lack.is_some() { ("missing", None) } else { standing(status) };
        CandidateState {
            route: Arc::clone(&candidate.route),
            dialect: candidate.provider.dialect.name(),
            state,
            ends_in_ms,
            lack: lack.map(|lack| lack.say(language)),
            in_flight: status.map_or(0, |status| status.in_flight),
            seats_taken: status.map_or(0, |status| status.taken),
            max_sessions: row.max_sessions,
            max_in_flight: row.max_in_flight,
            context_window: row.window,
            effort: candidate.effort.clone(),
            effort_levels: candidate.effort_levels.clone(),
            today: Today::of(status.map(|status| status.tally).unwrap_or_default()),
        }
    });
    QueueState {
        id: Arc::clone(&queue.id),
        name: Arc::clone(&queue.name),
        enabled: row.policy.relay.is_on(),
        context_window: queue.context_window,
        compaction_point: queue.context_window.map(super::catalog::compaction_point),
        candidates: candidates.collect(),
    }
}

/// The one word for a route's state, and when it ends.
fn standing(status: Option<&RouteStatus>) -> (&'static str, Option<u64>) {
    let Some(status) = status else { return ("ready", None) };
    match (status.cooling_ms, status.probing, status.resting_ms) {
        (Some(ms), _, _) => ("cooling", Some(ms)),
        (None, true, _) => ("probing", None),
        (None, false, Some(ms)) => ("resting", Some(ms)),
        (None, false, None) => ("ready", None),
    }
}

/// The one word for why records are not kept.
const fn trouble(trouble: Trouble) -> &'static str {
    match trouble {
        Trouble::Full => "full",
        Trouble::Locked => "locked",
        Trouble::Behind => "behind",
        Trouble::Disk => "disk",
        Trouble::Ended => "ended",
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
