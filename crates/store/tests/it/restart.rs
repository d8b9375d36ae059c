//! A process that is started anew, again and again, decides as one that never stopped: for what
//! lives on disk. What lives in memory alone (cooldowns, seats, rests, budgets, rotation) is
//! switched off here by policy.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ekiden_engine::{
    AttemptId, AttemptInput, Beat, Call, CallId, CallSpec, Candidate, Class, Clocks, Day, Delivery,
    Effect, Engine, Fact, Failure, Finish, History, Input, Notice, Now, OnOverflow, Output, Policy,
    Presence, Purpose, Queue, QueueId, Release, Repair, RouteId, Seating, SessionId, SessionStatus,
    Switch, Terminal, Wait,
};
use ekiden_store::{Bounds, Place, Record, SqliteStore, Store};

use crate::made::{Chance, open};

const DAY_MS: u64 = 86_400_000;
const ROUTES: u32 = 4;
const SESSIONS: u64 = 4;

#[test]
fn r17_r18_r29_r30_a_restarted_process_decides_as_one_that_never_stopped() {
    let (mut calls, mut restarts, mut kinds) = (0, 0, BTreeMap::new());
    for seed in 0..40 {
        let mut pair = Pair::new(seed);
        for step in 0..60 {
            pair.step(step, &mut kinds);
        }
        calls += pair.calls;
        restarts += pair.restarts;
    }
    // The histories are worth something only if they go where the state is.
    assert!(calls > 1_000 && restarts > 300, "{calls} calls, {restarts} restarts");
    for kind in ["quarantined", "lifted", "on_trial", "verified", "unverified", "turned"] {
        assert!(kinds.get(kind).copied().unwrap_or(0) > 20, "{kinds:?}");
    }
}

/// One that never stops, and one that does.
struct Pair {
    chance: Chance,
    seed: u64,
    now: Now,
    day: Day,
    queues: Vec<Arc<Queue>>,
    steady: Engine,
    stopping: Stopping,
    calls: u64,
    restarts: u32,
}

/// The engine that is started anew, and its store.
struct Stopping {
    engine: Engine,
    store: Option<SqliteStore>,
    folder: PathBuf,
    _folder: tempfile::TempDir,
}

impl Pair {
    fn new(seed: u64) -> Self {
        let mut chance = Chance(seed);
        let day = Day { number: 20_000, ends_ms: 20_001 * DAY_MS };
        let queues = (0..2).map(|id| Arc::new(queue(&mut chance, id))).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let store = Some(open(&path, Bounds::default()));
        let engine = Engine::new(day);
        let stopping = Stopping { engine, store, folder: path, _folder: folder };
        let now = Now { mono_ms: 1_000, wall_ms: 20_000 * DAY_MS };
        let steady = Engine::new(day);
        Self { chance, seed, now, day, queues, steady, stopping, calls: 0, restarts: 0 }
    }

    fn step(&mut self, step: u64, kinds: &mut BTreeMap<&'static str, u32>) {
        match self.chance.below(16) {
            0..9 => self.call(Cut::Never, kinds),
            9 => {
                let cut = Cut::After(self.chance.below(6));
                self.call(cut, kinds);
                self.restart();
            }
            10..12 => self.restart(),
            12 => self.turn(kinds),
            13 => {
                let release = self.release();
                self.steady.release(release);
                self.stopping.engine.release(release);
                self.told(kinds);
            }
            _ => self.now = self.now.after(self.chance.pick(&[1, 61_000, 3_700_000])),
        }
        if self.now.wall_ms >= self.day.ends_ms {
            self.turn(kinds);
        }
        self.same(step);
    }

    fn call(&mut self, cut: Cut, kinds: &mut BTreeMap<&'static str, u32>) {
        self.calls += 1;
        let spec = CallSpec {
            id: CallId(self.calls),
            queue: Arc::clone(&self.queues[self.chance.below(2) as usize]),
            session: SessionId(self.chance.below(SESSIONS)),
            seating: Seating::Session,
            purpose: self.chance.pick(&[Purpose::Main, Purpose::Main, Purpose::Internal]),
            delivery: Delivery::Stream,
            history: History::Ongoing,
            input_tokens: 0,
            deadline_ms: None,
            seed: self.seed,
            tried: Vec::new(),
        };
        // The world does to both the same.
        let world = self.chance.next();
        let steady = run(&mut self.steady, self.now, spec.clone(), cut, world);
        let stopping = run(&mut self.stopping.engine, self.now, spec, cut, world);
        assert_eq!(steady, stopping, "seed {} call {}", self.seed, self.calls);
        self.now = steady.1.after(self.chance.below(5_000));
        self.told(kinds);
    }

    fn turn(&mut self, kinds: &mut BTreeMap<&'static str, u32>) {
        self.next_day();
        self.steady.turn(self.day);
        if self.chance.below(2) == 0 {
            self.stopping.engine.turn(self.day);
            self.told(kinds);
        } else {
            // It slept over it.
            self.told(kinds);
            self.restart();
        }
    }

    fn next_day(&mut self) {
        let number = self.day.number + 1;
        self.day = Day { number, ends_ms: u64::from(number + 1) * DAY_MS };
        self.now.wall_ms = self.now.wall_ms.max(u64::from(number) * DAY_MS);
    }

    fn release(&mut self) -> Release {
        let session = SessionId(self.chance.below(SESSIONS));
        let route = RouteId(self.chance.below(u64::from(ROUTES)) as u32);
        let place = ekiden_engine::Place { session, queue: QueueId(0), route };
        self.chance.pick(&[
            Release::Session(session),
            Release::Place(place),
            Release::Route(route),
            Release::All,
        ])
    }

    fn restart(&mut self) {
        self.restarts += 1;
        self.stopping.restart(self.now, self.day);
    }

    /// What both have to say is told; the store hears the one that stops.
    fn told(&mut self, kinds: &mut BTreeMap<&'static str, u32>) {
        while self.steady.poll_notice().is_some() {}
        self.stopping.told(self.day.number, kinds);
    }

    fn same(&self, step: u64) {
        let (seed, stopping) = (self.seed, &self.stopping.engine);
        for session in 0..SESSIONS {
            let state = |engine: &Engine| engine.session(SessionId(session)).map(on_disk);
            assert_eq!(
                state(&self.steady).unwrap_or_default(),
                state(stopping).unwrap_or_default(),
                "seed {seed} step {step} session {session}"
            );
        }
        for route in (0..ROUTES).map(RouteId) {
            let tally = (self.steady.tally(route), stopping.tally(route));
            assert_eq!(tally.0, tally.1, "seed {seed} step {step} {route:?}");
        }
    }
}

type OnDisk = (
    Vec<(QueueId, RouteId, ekiden_engine::Quarantine)>,
    Vec<(QueueId, RouteId)>,
    Vec<(RouteId, ekiden_engine::Speed)>,
);

fn on_disk(status: SessionStatus) -> OnDisk {
    (status.quarantined, status.verified, status.speeds)
}

impl Stopping {
    fn store(&self) -> &SqliteStore {
        self.store.as_ref().unwrap()
    }

    fn restart(&mut self, now: Now, day: Day) {
        drop(self.store.take());
        self.engine = Engine::new(day);
        let store = open(Path::new(&self.folder), Bounds::default());
        for record in store.recall() {
            recall(&mut self.engine, now, record);
        }
        self.store = Some(store);
    }

    fn told(&mut self, day: u32, kinds: &mut BTreeMap<&'static str, u32>) {
        let mut records = Vec::new();
        while let Some(notice) = self.engine.poll_notice() {
            let Notice::Fact(fact) = notice else { continue };
            if let Some((kind, record)) = record(&fact) {
                *kinds.entry(kind).or_default() += 1;
                records.push(record);
            }
            if let Fact::Attempted { route, .. } = fact {
                let tally = self.engine.tally(route);
                records.push(Record::Tallied { route: route_name(route), day, tally });
                for session in (0..SESSIONS).map(SessionId) {
                    let sped = |speed| Record::Sped {
                        session: session_name(session),
                        route: route_name(route),
                        day,
                        speed,
                    };
                    records.extend(self.engine.speed(session, route).map(sped));
                }
            }
        }
        self.store().write(records);
    }
}

/// When the process is stopped in the middle of a call: after so many inputs.
#[derive(Clone, Copy)]
enum Cut {
    Never,
    After(u64),
}

/// What a call said, and when it was over.
fn run(engine: &mut Engine, now: Now, spec: CallSpec, cut: Cut, world: u64) -> (Vec<Output>, Now) {
    let (mut call, mut now, mut said) = (Call::new(spec), now, Vec::new());
    let mut world = Chance(world);
    let mut inputs = Vec::new();
    for input in 0..200 {
        let wake = drive(engine, now, &mut call, &mut said, &mut inputs, &mut world);
        if call.is_over() {
            break;
        }
        if matches!(cut, Cut::After(most) if input >= most) {
            // Whoever never stops sees its client leave, which blames nobody (R12).
            call.handle(now, Input::ClientGone);
            inputs.clear();
            drive(engine, now, &mut call, &mut Vec::new(), &mut inputs, &mut world);
            break;
        }
        if inputs.is_empty() {
            let ms = wake.map_or(1, |at| at.saturating_sub(now.mono_ms)).max(1);
            now = now.after(ms);
            call.handle(now, Input::Tick);
        } else {
            now = now.after(10);
            call.handle(now, inputs.remove(0));
        }
    }
    assert!(call.is_over(), "{said:?}");
    (said, now)
}

fn drive(
    engine: &mut Engine,
    now: Now,
    call: &mut Call,
    said: &mut Vec<Output>,
    inputs: &mut Vec<Input>,
    world: &mut Chance,
) -> Option<u64> {
    loop {
        let output = call.poll_output();
        said.push(output.clone());
        match output {
            Output::Effect(Effect::Start(start)) => {
                inputs.clear();
                inputs.extend(answer(start.attempt, now, world));
            }
            Output::Effect(_) => {}
            Output::Settle => engine.settle(now, call),
            Output::Admit => {
                engine.admit(now, call);
            }
            Output::Wake(at, _) => return at,
        }
    }
}

/// What a candidate does.
fn answer(attempt: AttemptId, now: Now, world: &mut Chance) -> Vec<Input> {
    let sent = AttemptInput::Sent;
    let chunk = AttemptInput::Chunk { bytes: 10, beat: Beat::Output };
    let failed = |class, wait| {
        let failure = Failure { wait, ..Failure::upstream(class) };
        AttemptInput::Failed { failure, repair: Repair::Impossible }
    };
    let class = world.pick(&[
        Class::ServerError,
        Class::Overloaded,
        Class::TransportRemote,
        Class::Auth,
        Class::NotFound,
        Class::QuotaExhausted,
        Class::RateLimited,
        Class::InvalidRequest,
        Class::ContentFilter,
    ]);
    let end = AttemptInput::End {
        finish: Some(world.pick(&[Finish::Stop, Finish::ToolCalls, Finish::Truncated])),
        terminal: Terminal::Seen,
        output_tokens: world.pick(&[None, Some(5), Some(900)]),
    };
    let story = match world.below(10) {
        0..4 => vec![sent, chunk, end],
        4..7 => vec![sent, failed(class, Wait::Unnamed)],
        7 => vec![sent, chunk, failed(class, Wait::Unnamed)],
        8 => {
            let reset = now.wall_ms + world.pick(&[1_000, 7_200_000]);
            vec![sent, failed(Class::QuotaExhausted, Wait::At(reset))]
        }
        _ => vec![sent],
    };
    story.into_iter().map(|input| Input::Attempt(attempt, input)).collect()
}

fn queue(chance: &mut Chance, id: u32) -> Queue {
    let candidate = |route| Candidate {
        route: RouteId(route),
        presence: Presence::Present,
        max_sessions: None,
        max_in_flight: None,
        window: None,
        clocks: Clocks::REMOTE,
    };
    let policy = Policy {
        retries: 0,
        cooldown_ms: 0,
        rotate_after: 0,
        judged_memory_ms: 0,
        overflow: OnOverflow::Tell,
        parole_after_ms: chance.pick(&[60_000, 60_000, 0]),
        retry_when_all_quarantined: chance.pick(&[Switch::On, Switch::Off]),
        ..Policy::RELAY
    };
    let candidates = (0..ROUTES).skip(id as usize).map(candidate).collect();
    Queue { id: QueueId(id), digest: 0, policy, candidates }
}

fn session_name(id: SessionId) -> Arc<str> {
    if id == SessionId::BACKGROUND { "".into() } else { format!("s-{}", id.0).into() }
}

fn route_name(id: RouteId) -> Arc<str> {
    format!("provider/{}", id.0).into()
}

fn name(place: &ekiden_engine::Place) -> Place {
    Place {
        session: session_name(place.session),
        queue: format!("q-{}", place.queue.0).into(),
        route: route_name(place.route),
    }
}

fn number(name: &str) -> u64 {
    name.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0)
}

fn numbers(place: &Place) -> ekiden_engine::Place {
    ekiden_engine::Place {
        session: SessionId(number(&place.session)),
        queue: QueueId(number(&place.queue) as u32),
        route: RouteId(number(&place.route) as u32),
    }
}

/// What of a fact is kept.
fn record(fact: &Fact) -> Option<(&'static str, Record)> {
    Some(match fact {
        Fact::Quarantined { place, quarantine, .. } => {
            let record = Record::Quarantined { place: name(place), quarantine: *quarantine };
            ("quarantined", record)
        }
        Fact::Lifted { place, by } => ("lifted", Record::Lifted { place: name(place), by: *by }),
        Fact::Verified { place, day } => {
            ("verified", Record::Verified { place: name(place), day: *day })
        }
        Fact::Unverified { place } => ("unverified", Record::Unverified { place: name(place) }),
        Fact::Turned { day } => ("turned", Record::Turned { day: *day }),
        Fact::OnTrial { place, mode, .. } => {
            let what = ekiden_store::What::OnTrial { place: name(place), mode: *mode };
            let entry = ekiden_store::Entry { number: 1, at_ms: 0, call: None, what };
            ("on_trial", Record::Journal(entry))
        }
        Fact::Cooled { .. }
        | Fact::Warmed { .. }
        | Fact::FailedOver { .. }
        | Fact::Rotated { .. }
        | Fact::Seated { .. }
        | Fact::Unseated { .. }
        | Fact::Attempted { .. }
        | Fact::Called { .. }
        | Fact::Opened { .. }
        | Fact::ServedInstead { .. }
        | Fact::Continued { .. }
        | Fact::NotContinued { .. }
        | Fact::Paused { .. }
        | Fact::Resumed { .. } => return None,
    })
}

fn recall(engine: &mut Engine, now: Now, record: Record) {
    match record {
        Record::Quarantined { place, quarantine } => {
            let (call, attempt) = (CallId(0), AttemptId(0));
            let place = numbers(&place);
            engine.recall(now, &Fact::Quarantined { place, quarantine, call, attempt });
        }
        Record::Verified { place, day } => {
            engine.recall(now, &Fact::Verified { place: numbers(&place), day });
        }
        Record::Tallied { route, day, tally } => {
            engine.recall_tally(day, RouteId(number(&route) as u32), tally);
        }
        Record::Sped { session, route, day, speed } => {
            let (session, route) = (SessionId(number(&session)), RouteId(number(&route) as u32));
            engine.recall_speed(now, day, session, route, speed);
        }
        Record::Lifted { .. }
        | Record::Unverified { .. }
        | Record::Turned { .. }
        | Record::QueueDeleted { .. }
        | Record::Journal(_)
        | Record::Attempt(_)
        | Record::Call(_)
        | Record::Catalog(_)
        | Record::CatalogForgotten { .. }
        | Record::Paused { .. }
        | Record::Resumed { .. } => {}
    }
}
