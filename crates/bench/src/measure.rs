//! One pass over everything that is measured. Whatever is compared is measured in turn within a
//! round, and the order turns with the rounds, so that what the machine does meanwhile falls on
//! all alike. It concludes nothing.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;

use crate::clock;
use crate::drive::{Driver, Load, Outcome, Sessions, Until, cancel};
use crate::figures::{Row, Target, percentile};
use crate::process::Process;
use crate::report::say;
use crate::script::{CHUNKS, Request, Script};
use crate::systems::{Kind, Places, System, Upstream};

/// How long things are measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) rounds: usize,
    pub(crate) window: Duration,
    pub(crate) warm_up: Duration,
    pub(crate) starts: usize,
    pub(crate) streams: usize,
    pub(crate) failovers: usize,
    pub(crate) sessions: u32,
    /// What the gateway's database holds before calls are measured.
    pub(crate) ledger_rows: usize,
}

impl Plan {
    pub(crate) const FULL: Self = Self {
        rounds: 5,
        window: Duration::from_millis(1000),
        warm_up: Duration::from_millis(150),
        starts: 9,
        streams: 1000,
        failovers: 300,
        sessions: 10_000,
        ledger_rows: 100_000,
    };
    /// To see that all of it works; its figures mean little.
    pub(crate) const QUICK: Self = Self {
        rounds: 1,
        window: Duration::from_millis(200),
        warm_up: Duration::from_millis(50),
        starts: 2,
        streams: 100,
        failovers: 30,
        sessions: 1000,
        ledger_rows: 2_000,
    };
}

/// Calls at once where the machine is to be full.
const MANY: usize = 64;
/// Streams at once in a burst.
const BURSTS: usize = 8;
/// Streams at once that drip.
const DRIPS: usize = 20;
/// How long a process that has nothing to do is left alone before its memory is read.
const SETTLE: Duration = Duration::from_millis(500);

/// Runs every measurement once; the gateway's columns stay empty without it.
pub(crate) fn pass(places: &Places, plan: &Plan, with_ekiden: bool) -> anyhow::Result<Vec<Row>> {
    let mut upstream = Upstream::start(places)?;
    let mut rows = Vec::new();
    let mut bench = Bench { places, plan, kinds: kinds(with_ekiden), upstream: &mut upstream };
    rows.extend(bench.start_up().context("start-up")?);
    rows.extend(bench.memory().context("memory")?);
    rows.extend(bench.calls().context("calls")?);
    rows.extend(bench.failover().context("failover")?);
    if with_ekiden {
        rows.extend(bench.growth().context("growth")?);
    }
    upstream.still_runs()?;
    Ok(rows)
}

fn kinds(with_ekiden: bool) -> Vec<Kind> {
    Kind::ALL.into_iter().filter(|kind| with_ekiden || *kind != Kind::Ekiden).collect()
}

struct Bench<'a> {
    places: &'a Places,
    plan: &'a Plan,
    kinds: Vec<Kind>,
    upstream: &'a mut Upstream,
}

/// The systems of one measurement; nothing in between has no process.
struct Field {
    nginx: System,
    ekiden: Option<System>,
}

/// What one window showed.
struct Window {
    outcome: Outcome,
    cpu_us: f64,
}

impl Window {
    fn cpu_per(&self, units: f64) -> f64 {
        self.cpu_us / (self.outcome.count() * units)
    }

    fn per_second(&self) -> f64 {
        self.outcome.count() / self.outcome.elapsed.as_secs_f64()
    }
}

impl Bench<'_> {
    fn proxies(&self) -> impl Iterator<Item = Kind> + use<> {
        let ekiden = self.kinds.contains(&Kind::Ekiden);
        Kind::PROXIES.into_iter().filter(move |kind| ekiden || *kind != Kind::Ekiden)
    }

    fn begin(&self, kind: Kind) -> anyhow::Result<System> {
        match kind {
            Kind::Ekiden => System::ekiden(self.places, self.upstream, "ekiden"),
            Kind::Nothing | Kind::Nginx => System::nginx(self.places, self.upstream),
        }
    }

    fn field(&self) -> anyhow::Result<Field> {
        let ekiden = self.kinds.contains(&Kind::Ekiden).then(|| self.begin(Kind::Ekiden));
        let ekiden = ekiden.transpose()?;
        if let Some(system) = &ekiden {
            self.fill(system)?;
        }
        Ok(Field { nginx: self.begin(Kind::Nginx)?, ekiden })
    }

    /// A call leaves two rows: its own, and its attempt's.
    fn fill(&self, system: &System) -> anyhow::Result<()> {
        let load = load(system.addr, Kind::Ekiden.request(Script::Plain), MANY, 0);
        let each = self.plan.ledger_rows / 2 / MANY + 1;
        Driver::open(load)?.run(Until::Calls(each)).context("the rows of the database")?;
        Ok(())
    }

    /// The systems in the order of this round.
    fn order(&self, round: usize) -> Vec<Kind> {
        let mut kinds = self.kinds.clone();
        let by = round % kinds.len();
        kinds.rotate_left(by);
        kinds
    }

    fn start_up(&mut self) -> anyhow::Result<[Row; 1]> {
        say("start-up");
        let mut row = Row::new("start", "start of the process to first answer", "ms")
            .aims(Target::AtMost(50.0));
        for _ in 0..self.plan.starts {
            for kind in self.proxies() {
                let system = self.begin(kind)?;
                column(&mut row, kind).push(system.started_in.as_secs_f64() * 1e3);
            }
        }
        Ok([row])
    }

    fn memory(&mut self) -> anyhow::Result<[Row; 3]> {
        say("memory");
        let mut idle = Row::new("memory_idle", "memory, idle", "MB").aims(Target::AtMost(12.0));
        let mut shared = Row::new("memory_idle_pss", "the same, shared pages divided (PSS)", "MB");
        let mut stream =
            Row::new("memory_stream", "memory per open stream", "KB").aims(Target::AtMost(25.0));
        for kind in self.proxies() {
            let system = self.begin(kind)?;
            clock::pause(SETTLE);
            let before = system.process.memory()?;
            column(&mut idle, kind).push(before.resident / 1e6);
            column(&mut shared, kind).push(before.proportional / 1e6);
            let request = kind.request(Script::Hold);
            let mut driver = Driver::open(load(system.addr, request, self.plan.streams, 0))?;
            driver.hold()?;
            clock::pause(SETTLE);
            let held = system.process.memory()?.resident - before.resident;
            column(&mut stream, kind).push(held / 1e3 / self.plan.streams as f64);
            drop(driver);
            self.upstream.control.await_left(self.plan.streams)?;
        }
        Ok([idle, shared, stream])
    }

    fn calls(&mut self) -> anyhow::Result<Vec<Row>> {
        let field = self.field()?;
        let mut rows = CallRows::new();
        for round in 0..self.plan.rounds {
            say(&format!("calls and streams, round {} of {}", round + 1, self.plan.rounds));
            self.single_calls(&field, round, &mut rows)?;
            self.many_calls(&field, round, &mut rows)?;
            self.streams(&field, round, &mut rows)?;
            self.cancellation(&field, round, &mut rows)?;
        }
        Ok(rows.into_rows())
    }

    fn single_calls(&self, field: &Field, round: usize, rows: &mut CallRows) -> anyhow::Result<()> {
        let (mut plain, mut short) = (Latencies::default(), Latencies::default());
        for kind in self.order(round) {
            let window = self.window(field, kind, &self.load(field, kind, Script::Plain, 1))?;
            plain.take(kind, &window.outcome.whole_ns);
            if kind != Kind::Nothing {
                column(&mut rows.cpu_1, kind).push(window.cpu_per(1.0));
            }
        }
        for kind in self.order(round) {
            let window = self.window(field, kind, &self.load(field, kind, Script::Short, 1))?;
            short.take(kind, &window.outcome.first_ns);
        }
        plain.add(&mut rows.added_p50, 0.5);
        plain.add(&mut rows.added_p99, 0.99);
        short.add(&mut rows.added_first, 0.5);
        Ok(())
    }

    fn many_calls(&self, field: &Field, round: usize, rows: &mut CallRows) -> anyhow::Result<()> {
        for kind in self.order(round) {
            let window = self.window(field, kind, &self.load(field, kind, Script::Plain, MANY))?;
            column(&mut rows.rate_64, kind).push(window.per_second());
            if kind != Kind::Nothing {
                column(&mut rows.cpu_64, kind).push(window.cpu_per(1.0));
            }
        }
        Ok(())
    }

    fn streams(&self, field: &Field, round: usize, rows: &mut CallRows) -> anyhow::Result<()> {
        let mut order = self.order(round);
        order.retain(|kind| *kind != Kind::Nothing);
        for kind in &order {
            let load = self.load(field, *kind, Script::Burst, BURSTS);
            let burst = self.window(field, *kind, &load)?;
            column(&mut rows.burst, *kind).push(burst.cpu_per(CHUNKS as f64));
        }
        // A stream that drips takes two seconds; three rounds of it are enough.
        if round < 3 {
            for kind in &order {
                let mut load = self.load(field, *kind, Script::Drip, DRIPS);
                load.stagger = Duration::from_micros(500);
                let mut driver = Driver::open(load)?;
                let window = measured(process(field, *kind), || driver.run(Until::Calls(1)))?;
                column(&mut rows.drip, *kind).push(window.cpu_per(CHUNKS as f64));
            }
        }
        Ok(())
    }

    fn cancellation(
        &mut self,
        field: &Field,
        round: usize,
        rows: &mut CallRows,
    ) -> anyhow::Result<()> {
        let span = self.plan.window / 2;
        for kind in self.order(round) {
            let load = load(self.target(field, kind), kind.request(Script::Hold), 1, 0);
            let process = process(field, kind);
            let control = &mut self.upstream.control;
            let window = measured(process, || cancel(&load, control, span))?;
            let told: Vec<f64> = micros(&window.outcome.whole_ns);
            column(&mut rows.cancel, kind).push(percentile(&told, 0.5));
            if kind != Kind::Nothing {
                column(&mut rows.cancel_cpu, kind).push(window.cpu_per(1.0));
            }
        }
        Ok(())
    }

    /// The first call of a new session, with and without a candidate that fails before the good
    /// one. The very first failure of all is left out: until then nobody knows that the route
    /// fails, so that call retries as it was told to.
    fn failover(&mut self) -> anyhow::Result<[Row; 1]> {
        say("failover");
        let field = self.field()?;
        let mut row =
            Row::new("failover", "added to p50 by one failover", "µs").aims(Target::AtMost(120.0));
        let mut session = 0;
        let calls = self.plan.failovers;
        for round in 0..=self.plan.rounds {
            for kind in self.order(round).into_iter().filter(|kind| *kind != Kind::Nothing) {
                let mut p50 = |request: Request| -> anyhow::Result<f64> {
                    let mut load = load(self.target(&field, kind), request, 1, 0);
                    load.sessions = Sessions::New(session);
                    session += calls as u32;
                    let outcome = Driver::open(load)?.run(Until::Calls(calls))?;
                    Ok(percentile(&micros(&outcome.whole_ns), 0.5))
                };
                let good = p50(kind.request(Script::Plain))?;
                let failing = p50(kind.failover())?;
                // The first round warms up.
                if round > 0 {
                    column(&mut row, kind).push(failing - good);
                }
            }
        }
        Ok([row])
    }

    /// How much dearer a call is with many sessions known, and with a long queue.
    fn growth(&mut self) -> anyhow::Result<[Row; 2]> {
        say("growth with sessions and candidates");
        let few = System::ekiden(self.places, self.upstream, "ekiden-few")?;
        let many = System::ekiden(self.places, self.upstream, "ekiden-many")?;
        let mut by_sessions =
            Row::new("growth_sessions", "CPU per request, 1 → 10,000 sessions known", "%")
                .aims(Target::AtMost(10.0));
        let mut by_candidates =
            Row::new("growth_candidates", "CPU per request, 1 → 50 candidates", "%")
                .aims(Target::AtMost(10.0));
        let request = Kind::Ekiden.request(Script::Plain);
        let among = |system: &System, request: &Request, sessions: u32| {
            let mut load = load(system.addr, request.clone(), MANY, 0);
            load.sessions = Sessions::Among(sessions);
            load
        };
        let long = Request::new("/v1", "many", Script::Plain);
        let mut open = [
            (&few, Driver::open(among(&few, &request, 1))?),
            (&many, Driver::open(among(&many, &request, self.plan.sessions))?),
            (&few, Driver::open(among(&few, &long, 1))?),
        ];
        let each = self.plan.sessions as usize / MANY + 1;
        for (_, driver) in &mut open {
            driver.run(Until::Calls(each))?;
        }
        for round in 0..self.plan.rounds {
            let mut cpu = [0.0; 3];
            for step in 0..open.len() {
                let index = (round + step) % open.len();
                let (system, driver) = &mut open[index];
                let until = Until::Span(self.plan.window);
                let window = measured(Some(&system.process), || driver.run(until))?;
                cpu[index] = window.cpu_per(1.0);
            }
            by_sessions.ekiden.push((cpu[1] / cpu[0] - 1.0) * 100.0);
            by_candidates.ekiden.push((cpu[2] / cpu[0] - 1.0) * 100.0);
        }
        Ok([by_sessions, by_candidates])
    }

    fn target(&self, field: &Field, kind: Kind) -> SocketAddr {
        match (kind, &field.ekiden) {
            (Kind::Ekiden, Some(ekiden)) => ekiden.addr,
            (Kind::Nginx, _) => field.nginx.addr,
            (Kind::Nothing | Kind::Ekiden, _) => self.upstream.good,
        }
    }

    fn load(&self, field: &Field, kind: Kind, script: Script, connections: usize) -> Load {
        load(self.target(field, kind), kind.request(script), connections, script.events())
    }

    fn window(&self, field: &Field, kind: Kind, load: &Load) -> anyhow::Result<Window> {
        let mut driver = Driver::open(load.clone())?;
        driver.run(Until::Span(self.plan.warm_up))?;
        let until = Until::Span(self.plan.window);
        measured(process(field, kind), || driver.run(until)).with_context(|| format!("{kind:?}"))
    }
}

const fn load(target: SocketAddr, request: Request, connections: usize, events: usize) -> Load {
    let sessions = Sessions::PerConnection;
    Load { target, request, connections, sessions, events, stagger: Duration::ZERO }
}

fn measured(
    process: Option<&Process>,
    run: impl FnOnce() -> anyhow::Result<Outcome>,
) -> anyhow::Result<Window> {
    let before = process.map(Process::cpu).transpose()?.unwrap_or_default();
    let outcome = run()?;
    let after = process.map(Process::cpu).transpose()?.unwrap_or_default();
    Ok(Window { outcome, cpu_us: after.since(&before) })
}

fn process(field: &Field, kind: Kind) -> Option<&Process> {
    match kind {
        Kind::Nothing => None,
        Kind::Nginx => Some(&field.nginx.process),
        Kind::Ekiden => field.ekiden.as_ref().map(|system| &system.process),
    }
}

const fn column(row: &mut Row, kind: Kind) -> &mut Vec<f64> {
    match kind {
        Kind::Nothing => &mut row.nothing,
        Kind::Nginx => &mut row.nginx,
        Kind::Ekiden => &mut row.ekiden,
    }
}

fn micros(nanos: &[u64]) -> Vec<f64> {
    nanos.iter().map(|nanos| *nanos as f64 / 1000.0).collect()
}

/// Each system's latencies of one round, in microseconds.
#[derive(Default)]
struct Latencies {
    all: Vec<(Kind, Vec<f64>)>,
}

impl Latencies {
    fn take(&mut self, kind: Kind, nanos: &[u64]) {
        self.all.push((kind, micros(nanos)));
    }

    /// Without a proxy the time itself, with one what it adds to that.
    fn add(&self, row: &mut Row, share: f64) {
        let of = |kind| {
            let found = self.all.iter().find(|(other, _)| *other == kind);
            found.map(|(_, samples)| percentile(samples, share))
        };
        let Some(bare) = of(Kind::Nothing) else { return };
        row.nothing.push(bare);
        for kind in Kind::PROXIES {
            if let Some(time) = of(kind) {
                column(row, kind).push(time - bare);
            }
        }
    }
}

/// What the calls of one pass show.
struct CallRows {
    cpu_1: Row,
    cpu_64: Row,
    rate_64: Row,
    added_p50: Row,
    added_p99: Row,
    added_first: Row,
    burst: Row,
    drip: Row,
    cancel: Row,
    cancel_cpu: Row,
}

impl CallRows {
    fn new() -> Self {
        Self {
            cpu_1: Row::new("cpu_1", "CPU per request, 1 at a time", "µs"),
            cpu_64: Row::new("cpu_64", "CPU per request, 64 at a time", "µs")
                .aims(Target::TimesNginx(1.7)),
            rate_64: Row::new("rate_64", "requests per second, 64 at a time", ""),
            added_p50: Row::new("added_p50", "added to p50, 1 at a time", "µs")
                .aims(Target::TimesNginx(2.0)),
            added_p99: Row::new("added_p99", "added to p99, 1 at a time", "µs"),
            added_first: Row::new("added_first", "added to p50 of a stream's first chunk", "µs"),
            burst: Row::new("burst", "CPU per chunk, 200 in a burst", "µs")
                .aims(Target::AtMost(1.2)),
            drip: Row::new("drip", "CPU per chunk, one each 10 ms", "µs"),
            cancel: Row::new("cancel", "client gone until upstream is left, p50", "µs")
                .aims(Target::AtMost(100_000.0)),
            cancel_cpu: Row::new("cancel_cpu", "CPU per cancelled stream", "µs"),
        }
    }

    fn into_rows(self) -> Vec<Row> {
        let Self { cpu_1, cpu_64, rate_64, added_p50, added_p99, added_first, .. } = self;
        let Self { burst, drip, cancel, cancel_cpu, .. } = self;
        vec![
            cpu_1,
            cpu_64,
            rate_64,
            added_p50,
            added_p99,
            added_first,
            burst,
            drip,
            cancel,
            cancel_cpu,
        ]
    }
}
