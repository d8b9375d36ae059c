//! What all calls share: the plan, the engine behind its one lock, names, store, the way out, and
//! what is known of open and past calls.
//!
//! It refuses to do a call's work: it admits, settles, tells and remembers.

mod recall;
mod record;
pub(crate) mod spending;
mod stop;

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use ekiden_config::Config;
use ekiden_engine::{
    Call, CallId, Engine, Fact, Grant, Notice, Now, Release, RouteId, SessionId, Speed, Tally,
    Verdict,
};
use ekiden_store::{AttemptRow, Record, Store, What};
use tokio::sync::Notify;

use crate::calls::{Calls, Open, Past};
use crate::catalog::Catalogs;
use crate::changes::{Change, Changes, Opened};
use crate::clock::Clock;
use crate::issuers::Issuers;
use crate::names::Names;
use crate::plan::{Plan, QueueRuntime};
use crate::settings::{Settings, SettingsSource, bounds};
use crate::state::Keeping;
use crate::tasks::Tasks;
use crate::tokens::ClientTokens;
pub(crate) use stop::Stop;

use crate::upstream::{Dial, Proxies, Upstream};

/// What the gateway runs on; tests replace parts.
#[derive(Default)]
pub struct CoreOptions {
    /// The clocks; `None`: this machine's.
    pub clock: Option<Clock>,
    /// Asked before each connection; `None`: the network.
    pub dial: Option<Dial>,
    /// The environment's proxies.
    pub proxies: Proxies,
    /// Where records go; `None`: memory.
    pub store: Option<Arc<dyn Store>>,
    /// Where settings come from while it runs; `None`: they stay.
    pub settings: Option<SettingsSource>,
    /// Where the store keeps, for people.
    pub keeping: Keeping,
    /// Who may call and look from other machines (G9); `None`: nobody, and none is kept.
    pub tokens: Option<Arc<ClientTokens>>,
    /// The source of jitter and of ids; `None`: a new one each time.
    pub seed: Option<u64>,
    /// Starts and counts tasks.
    pub tasks: Tasks,
}

impl std::fmt::Debug for CoreOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CoreOptions").field("seed", &self.seed).finish_non_exhaustive()
    }
}

/// What all calls share.
#[derive(Debug)]
pub struct Core {
    pub(crate) clock: Clock,
    pub(crate) tasks: Tasks,
    pub(crate) upstream: Upstream,
    pub(crate) names: Names,
    pub(crate) issuers: Issuers,
    pub(crate) settings: Settings,
    pub(crate) keeping: Keeping,
    store: Arc<dyn Store>,
    engine: Mutex<Decisions>,
    plan: RwLock<Arc<Plan>>,
    waiting: Mutex<HashMap<CallId, Reach>>,
    pub(crate) calls: Calls,
    pub(crate) changes: Changes,
    pub(crate) tokens: Arc<ClientTokens>,
    pub(crate) spending: Arc<spending::Spending>,
    pub(crate) catalogs: Catalogs,
    instance: String,
    seed: u64,
    next_call: AtomicU64,
    next_entry: AtomicU64,
    /// Whoever holds it tells: what became true first is kept first, whichever thread saw it.
    telling: Mutex<()>,
    pub(crate) counters: Counters,
}

/// The ways to an open call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reach {
    /// What it waits for may have come.
    pub(crate) woken: Arc<Notify>,
    /// It is to end.
    pub(crate) stop: Arc<Stop>,
}

/// What is behind the one lock.
#[derive(Debug)]
struct Decisions {
    engine: Engine,
    /// When it was last asked: a machine that slept since shows in the two clocks (R48).
    asked: Now,
}

/// A sleep of this length is told, in milliseconds.
const SLEPT_MS: u64 = 5_000;

/// What an ended attempt has changed in the sums of today.
struct Summed {
    route: RouteId,
    day: u32,
    tally: Tally,
    speed: Option<(SessionId, Speed)>,
}

/// Counted since the start.
#[derive(Debug, Default)]
pub struct Counters {
    /// Requests that went once more on a fresh connection (R48).
    pub resent: AtomicU64,
    /// Chunks that were skipped (R13).
    pub chunks_skipped: AtomicU64,
    /// Requests that were mended and sent again.
    pub repaired: AtomicU64,
}

/// What a call knows about its attempts, for the records that settling it leads to.
pub(crate) trait Witness {
    /// Whose it is.
    fn session(&self) -> SessionId;
    /// What an attempt's candidate said when it failed.
    fn evidence(&self, attempt: ekiden_engine::AttemptId) -> ekiden_store::Evidence;
    /// The ledger's row of an attempt that is over.
    fn row(&self, ended: &Ended) -> Option<AttemptRow>;
    /// What the last failure was, for a failover's entry.
    fn last_class(&self) -> Option<ekiden_engine::Class>;
}

/// What became of a seat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Held {
    Taken,
    GivenBack,
}

/// An attempt's end as the engine tells it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) attempt: ekiden_engine::AttemptId,
    pub(crate) verdict: Verdict,
    pub(crate) class: Option<ekiden_engine::Class>,
    pub(crate) at: Now,
}

impl Core {
    /// Starts with what the store still knows.
    #[must_use]
    pub fn new(config: Arc<Config>, options: CoreOptions) -> Arc<Self> {
        let calendar =
            || crate::clock::Calendar::new(config.time_zone.as_deref(), config.reset_hour);
        let clock = options.clock.unwrap_or_else(|| Clock::system(calendar()));
        let seed = options.seed.unwrap_or_else(|| RandomState::new().build_hasher().finish());
        let instance = format!("{:08x}", seed as u32 ^ (seed >> 32) as u32);
        let tasks = options.tasks;
        let upstream = Upstream::new(tasks.clone(), options.proxies, options.dial);
        let names = Names::new(config.limits.sessions_max as usize);
        let store = options.store.unwrap_or_else(|| memory(&config));
        // Numbers go on where the last process left off.
        let told = store.journal(1).first().map_or(0, |entry| entry.number);
        let now = clock.now();
        let engine =
            Engine::new(clock.day(now)).with_sessions_max(config.limits.sessions_max as usize);
        let settings = Settings::new(options.settings, Arc::clone(&config), now.wall_ms);
        let catalogs = Catalogs::recall(&*store);
        let plan = Plan::new(config, &catalogs, &names, &upstream, &instance);
        let core = Arc::new(Self {
            clock,
            tasks,
            upstream,
            names,
            issuers: Issuers::default(),
            settings,
            keeping: options.keeping,
            store,
            engine: Mutex::new(Decisions { engine, asked: now }),
            plan: RwLock::new(Arc::new(plan)),
            waiting: Mutex::default(),
            calls: Calls::default(),
            changes: Changes::default(),
            tokens: options.tokens.unwrap_or_default(),
            spending: Arc::default(),
            catalogs,
            instance,
            seed,
            next_call: AtomicU64::new(0),
            next_entry: AtomicU64::new(told),
            telling: Mutex::default(),
            counters: Counters::default(),
        });
        core.recall();
        core
    }

    /// The plan that new calls run on.
    #[must_use]
    pub fn plan(&self) -> Arc<Plan> {
        Arc::clone(&self.plan.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// From now on new calls run on this configuration; running ones keep theirs. Seats of
    /// candidates that left their queue go back (R24).
    pub fn reload(&self, config: Arc<Config>) {
        self.keep_by(&config);
        let (last, next) = self.planned(config);
        for queue in last.queues() {
            let kept = next.queue(&queue.id);
            let gone = queue.candidates.iter().filter(|old| {
                !kept.is_some_and(|queue| queue.candidates.iter().any(|new| new.route == old.route))
            });
            let id = self.names.queue(&queue.id);
            for candidate in gone {
                let route = self.names.route(&candidate.route);
                self.with_engine(None, |engine, now| engine.leave_queue(now, id, route));
            }
            if kept.is_none() {
                self.write(vec![Record::QueueDeleted { queue: Arc::clone(&queue.id) }]);
            }
        }
        self.with_engine(None, |engine, now| engine.turn(self.clock.day(now)));
        self.changed_settings();
    }

    /// Makes the plan of what holds once more, with what the catalog says now.
    pub(crate) fn replan(&self) {
        let config = Arc::clone(self.plan().config());
        self.planned(config);
        self.changed_settings();
    }

    /// The plan before, and the one that new calls run on from now on.
    fn planned(&self, config: Arc<Config>) -> (Arc<Plan>, Arc<Plan>) {
        let (names, upstream) = (&self.names, &self.upstream);
        let next = Plan::new(config, &self.catalogs, names, upstream, &self.instance);
        let next = Arc::new(next);
        let mut plan = self.plan.write().unwrap_or_else(PoisonError::into_inner);
        (std::mem::replace(&mut *plan, Arc::clone(&next)), next)
    }

    /// Says so to those who look on.
    pub(crate) fn changed_settings(&self) {
        self.changes.push([()], |()| Change::Settings);
    }

    /// Where the store keeps.
    #[must_use]
    pub const fn keeping(&self) -> &Keeping {
        &self.keeping
    }

    /// The queue that a name outside the queues stands for: `provider/model`. `None`: no such
    /// provider, or too many different names were asked for.
    #[must_use]
    pub fn direct(&self, provider: &str, model: &str) -> Option<Arc<QueueRuntime>> {
        self.plan().direct(provider, model, &self.names)
    }

    /// The value of our own loop header (R6).
    #[must_use]
    pub fn instance(&self) -> &str {
        &self.instance
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The clocks.
    #[must_use]
    pub const fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Starts and counts tasks.
    #[must_use]
    pub const fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Open and past calls.
    #[must_use]
    pub const fn calls(&self) -> &Calls {
        &self.calls
    }

    /// The names behind the engine's numbers.
    #[must_use]
    pub const fn names(&self) -> &Names {
        &self.names
    }

    /// Counted since the start.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Turns the day when it is due and gives the moment at which the next one begins, in Unix
    /// milliseconds. For a timer; each admission looks too.
    pub fn turn(&self) -> u64 {
        self.with_engine(None, |engine, _| engine.day().ends_ms)
    }

    /// Lets go by hand (R19).
    pub fn release(&self, release: Release) {
        self.with_engine(None, |engine, _| engine.release(release));
    }

    /// The session is over: its seats go back (R24). Whether it was known.
    pub fn end_session(&self, key: &str) -> bool {
        let Some(session) = self.names.known_session(key) else { return false };
        self.with_engine(None, |engine, now| engine.end_session(now, session));
        true
    }

    /// Today's attempts on a route (R29).
    #[must_use]
    pub fn tally(&self, route: RouteId) -> Tally {
        self.decisions().engine.tally(route)
    }

    /// A session's speed on a route today (R30).
    #[must_use]
    pub fn speed(&self, session: SessionId, route: RouteId) -> Option<Speed> {
        self.decisions().engine.speed(session, route)
    }

    /// What runs for a session at this instant, else what last produced output (R31).
    #[must_use]
    pub fn running_now(&self, session: SessionId) -> Option<RouteId> {
        self.decisions().engine.running_now(session)
    }

    /// Reads the engine. The day may be a moment late; whatever changes it turns it first.
    pub(crate) fn look<T>(&self, see: impl FnOnce(&Engine, Now) -> T) -> T {
        let now = self.clock.now();
        see(&self.decisions().engine, now)
    }

    /// Writes a journal entry (R32).
    pub fn note(&self, call: Option<Arc<str>>, what: What) {
        let entry = self.entry(self.clock.now(), call, what);
        self.write(vec![entry]);
    }

    /// Keeps records and shows them to those who look on.
    pub(crate) fn write(&self, records: Vec<Record>) {
        self.changes.kept(&records);
        self.store.write(records);
    }

    /// A call's number, public id and seed.
    pub(crate) fn new_call(&self) -> (CallId, Arc<str>, u64) {
        let number = self.next_call.fetch_add(1, Ordering::Relaxed) + 1;
        let seed = self.seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        (CallId(number), self.call_name(CallId(number)), seed)
    }

    /// A call's public id.
    pub(crate) fn call_name(&self, id: CallId) -> Arc<str> {
        ["ek-", &self.instance, "-", &id.0.to_string()].concat().into()
    }

    /// A call begins; this is how it is reached.
    pub(crate) fn open_call(&self, open: Open, reach: Reach) {
        self.waiting().insert(open.id, reach);
        self.changes.push([&open], |open| {
            Change::Opened(Arc::new(Opened {
                call: Arc::clone(&open.call),
                session: Arc::clone(&open.session),
                agent: open.agent.clone(),
                queue: Arc::clone(&open.queue.id),
                began_ms: open.began.wall_ms,
            }))
        });
        self.calls.open(open);
    }

    pub(crate) fn close_call(&self, past: Past) {
        self.waiting().remove(&past.open.id);
        self.calls.close(past);
    }

    /// Answers [`ekiden_engine::Output::Admit`].
    pub(crate) fn admit(&self, call: &mut Call, witness: &dyn Witness) -> ekiden_engine::Decision {
        self.with_engine(Some(witness), |engine, now| engine.admit(now, call))
    }

    /// Answers [`ekiden_engine::Output::Settle`].
    pub(crate) fn settle(&self, call: &mut Call, witness: &dyn Witness) {
        self.with_engine(Some(witness), |engine, now| engine.settle(now, call));
    }

    /// What would be decided for a call that has just arrived. It takes nothing and changes nothing
    /// but what time itself has changed.
    pub(crate) fn preview(&self, call: &mut Call) -> ekiden_engine::Decision {
        self.with_engine(None, |engine, now| engine.preview(now, call))
    }

    fn with_engine<R>(
        &self,
        witness: Option<&dyn Witness>,
        act: impl FnOnce(&mut Engine, Now) -> R,
    ) -> R {
        let now = self.clock.now();
        let mut notices = Vec::new();
        let mut sums = Vec::new();
        let (result, slept_ms, telling) = {
            let mut decisions = self.decisions();
            let slept_ms = now.slept_since(std::mem::replace(&mut decisions.asked, now));
            let engine = &mut decisions.engine;
            if now.wall_ms >= engine.day().ends_ms {
                engine.turn(self.clock.day(now));
            }
            let result = act(engine, now);
            while let Some(notice) = engine.poll_notice() {
                match notice {
                    // One gateway is the authority for its seats: the engine has counted already.
                    Notice::Want(want) => engine.answer(want.lease, want.route, Grant::Granted),
                    Notice::Fact(fact) => {
                        sums.extend(summed(engine, &fact, witness));
                        notices.push(notice);
                    }
                    Notice::Wake(_) => notices.push(notice),
                }
            }
            // Taken before the engine is let go, or two threads could tell in the wrong order.
            let telling = (!notices.is_empty()).then(|| self.telling());
            (result, slept_ms, telling)
        };
        if slept_ms >= SLEPT_MS {
            self.note(None, What::Slept { ms: slept_ms });
        }
        if !notices.is_empty() {
            self.tell(now, &notices, sums, witness);
        }
        drop(telling);
        result
    }

    fn telling(&self) -> MutexGuard<'_, ()> {
        self.telling.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, now: Now, notices: &[Notice], sums: Vec<Summed>, witness: Option<&dyn Witness>) {
        let mut records = Vec::new();
        for notice in notices {
            match notice {
                Notice::Wake(call) => {
                    if let Some(reach) = self.waiting().get(call) {
                        reach.woken.notify_one();
                    }
                }
                Notice::Fact(fact) => self.record(now, fact, witness, &mut records),
                Notice::Want(_) => {}
            }
        }
        for Summed { route, day, tally, speed } in sums {
            let route = self.names.route_name(route);
            if let Some((session, speed)) = speed {
                let (session, route) = (self.names.session_name(session), Arc::clone(&route));
                records.push(Record::Sped { session, route, day, speed });
            }
            records.push(Record::Tallied { route, day, tally });
        }
        if !records.is_empty() {
            self.write(records);
        }
    }

    fn decisions(&self) -> MutexGuard<'_, Decisions> {
        // The engine does not panic; if it did, going on is better than refusing every call.
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<CallId, Reach>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// R29, R30: the sums that an attempt has added to, as they stand now.
fn summed(engine: &Engine, fact: &Fact, witness: Option<&dyn Witness>) -> Option<Summed> {
    let Fact::Attempted { route, verdict, .. } = *fact else { return None };
    let speed = match verdict {
        Verdict::Spared => return None,
        Verdict::Cooled { .. } | Verdict::Struck { .. } | Verdict::Quarantined { .. } => None,
        Verdict::Whole | Verdict::Truncated => witness.and_then(|call| {
            let session = call.session();
            Some((session, engine.speed(session, route)?))
        }),
    };
    Some(Summed { route, day: engine.day().number, tally: engine.tally(route), speed })
}

fn memory(config: &Config) -> Arc<dyn Store> {
    Arc::new(ekiden_store::MemoryStore::new(bounds(config)))
}
