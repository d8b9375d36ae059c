//! Upstreams, the program between, and who stands before it: what all scenarios share. It refuses to
//! say what a scenario is.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ekiden_sim::{Director, Upstream};
use tokio::sync::{Mutex as AsyncMutex, watch};
use tokio::task::JoinSet;

use crate::admin::Admin;
use crate::client::{self, Heard, HeardEnd};
use crate::clock;
use crate::judge::{Case, LATE_MAX, Rule, Verdict, Went};
use crate::plan::Plan;
use crate::process::{Gateway, Holds};
use crate::report::{Report, quantile, say};
use crate::stage::{Played, Stage};
use crate::wire::Conn;

/// How long an attempt may go on when its call is over.
const SETTLE_WAIT: Duration = Duration::from_secs(5);
const SETTLE_LOOK: Duration = Duration::from_millis(5);
/// Between two looks at what the process holds.
const HOLDS_EVERY: Duration = Duration::from_millis(500);
/// What the probe of the soak's own lateness waits for.
const PROBE: Duration = Duration::from_millis(5);
/// How long the gateway may take to give everything back.
const RETURN_WAIT: Duration = Duration::from_secs(30);
/// How long a connection may be kept that nobody uses; the gateway keeps them for 50 s.
const POOL_WAIT: Duration = Duration::from_secs(120);
/// A descriptor or two may be an interface's connection that is just being closed.
const DESCRIPTOR_SLACK: usize = 4;
/// G3, measured at the upstream.
const CANCEL_MAX: Duration = Duration::from_millis(100);

/// Of so many calls one has its record read.
const RECORDED_EVERY: u64 = 50;

/// By when it must be there.
const RECORD_WAIT: Duration = Duration::from_secs(3);

/// Which of its lives the process is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Era {
    pub(crate) number: u32,
    pub(crate) up: bool,
}

pub(crate) struct World {
    pub(crate) stage: Arc<Stage>,
    pub(crate) report: Report,
    pub(crate) gateway: AsyncMutex<Gateway>,
    pub(crate) addr: SocketAddr,
    era: watch::Sender<Era>,
    over: AtomicBool,
    next: AtomicU64,
    samples: Mutex<Vec<Sample>>,
    late: Mutex<Vec<Duration>>,
    upstreams: Vec<Upstream>,
    /// How many there are.
    providers: usize,
    /// What the process held when it had just started.
    at_rest: Mutex<(Holds, u64)>,
}

/// What the process held at some instant.
#[derive(Clone, Copy, Debug)]
struct Sample {
    era: u32,
    holds: Holds,
}

/// One upstream: its name stands in the path of its requests.
pub(crate) struct Provider {
    pub(crate) name: String,
    pub(crate) addr: SocketAddr,
}

/// Upstreams that listen, each on a port of its own, all played by one stage.
pub(crate) struct Upstreams {
    pub(crate) providers: Vec<Provider>,
    all: Vec<Upstream>,
    /// Their connections end with it.
    serving: JoinSet<()>,
}

impl Upstreams {
    pub(crate) async fn open(stage: &Arc<Stage>, names: &[String]) -> anyhow::Result<Self> {
        let upstream = Upstream::directed(Arc::clone(stage) as Arc<dyn Director>);
        // The stage remembers; the log is for the counts of connections alone.
        upstream.keep(1);
        let mut serving = JoinSet::new();
        let mut providers = Vec::new();
        for name in names {
            let (listener, addr) = Upstream::bind().await?;
            serving.spawn(upstream.clone().run(listener, std::future::pending()));
            providers.push(Provider { name: name.clone(), addr });
        }
        Ok(Self { providers, all: vec![upstream], serving })
    }
}

impl World {
    /// Starts the program in front of these upstreams.
    pub(crate) async fn begin(
        program: &Path,
        folder: &Path,
        stage: Arc<Stage>,
        upstreams: Upstreams,
        config: impl FnOnce(SocketAddr, &Path, &[Provider]) -> String,
    ) -> anyhow::Result<(Arc<Self>, JoinSet<()>)> {
        let Upstreams { providers, all, serving } = upstreams;
        let providers_count = providers.len();
        let mut gateway =
            Gateway::prepare(program, folder, |addr, state| config(addr, state, &providers))?;
        gateway.start().await?;
        let addr = gateway.addr;
        let world = Self {
            stage,
            report: Report::default(),
            gateway: AsyncMutex::new(gateway),
            addr,
            era: watch::Sender::new(Era { number: 1, up: true }),
            over: AtomicBool::new(false),
            next: AtomicU64::new(0),
            samples: Mutex::default(),
            late: Mutex::default(),
            upstreams: all,
            providers: providers_count,
            at_rest: Mutex::default(),
        };
        world.rests().await?;
        Ok((Arc::new(world), serving))
    }

    pub(crate) fn admin(&self) -> Admin {
        Admin::new(self.addr)
    }

    /// The number of a call that nobody has made.
    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Release);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    pub(crate) fn era(&self) -> Era {
        *self.era.borrow()
    }

    pub(crate) fn set_era(&self, era: Era) {
        self.era.send_replace(era);
    }

    /// Waits until the process is up, and says in which of its lives.
    pub(crate) async fn up(&self) -> u32 {
        let mut eras = self.era.subscribe();
        match eras.wait_for(|era| era.up).await {
            Ok(era) => era.number,
            // Cannot be: the sender lives in `self`.
            Err(_) => 0,
        }
    }

    /// Makes one call and judges it.
    pub(crate) async fn call(&self, plan: Plan, kept: &mut Option<Conn>) -> Told {
        let plan = Arc::new(plan);
        let era = self.up().await;
        self.stage.opens(&plan);
        let heard = client::call(&self.stage, self.addr, &plan, kept).await;
        let killed = self.era() != Era { number: era, up: true };
        if heard.end == HeardEnd::Left {
            // A request may be on its way.
            tokio::time::sleep_until(heard.over + LATE_MAX).await;
        }
        let settle_by = clock::now() + SETTLE_WAIT;
        while !self.stage.is_settled(plan.number) && clock::now() < settle_by {
            tokio::time::sleep(SETTLE_LOOK).await;
        }
        let played = self.stage.take(plan.number);
        let Verdict { went, mut wrong } =
            Case { plan: &plan, heard: &heard, played: &played, killed }.judge();
        if plan.number.is_multiple_of(RECORDED_EVERY) && !killed {
            wrong.extend(self.recorded(era, &heard, went).await.map(|text| (Rule::Named, text)));
        }
        if !wrong.is_empty() {
            self.report.case(&plan, &heard, &played, &wrong);
        }
        self.report.call(went, wrong, &plan);
        Told { went, heard, played }
    }

    /// What is wrong with the record (R33) of a call in that life of the process: the next one knows
    /// none of them.
    async fn recorded(&self, life: u32, heard: &Heard, went: Went) -> Option<String> {
        let id = heard.head.as_ref()?.header("x-ekiden-call")?;
        let era = Era { number: life, up: true };
        let by = clock::now() + RECORD_WAIT;
        loop {
            let read = self.admin().read(&format!("/api/v1/calls/{id}")).await;
            if self.era() != era {
                return None;
            }
            let state = match &read {
                Ok(record) => record["state"].as_str().unwrap_or_default().to_owned(),
                Err(error) => error.to_string(),
            };
            if fits(went, &state) {
                return None;
            }
            // Its client has heard all before the call itself is over.
            if clock::now() > by {
                return Some(format!("call {id} was {went:?} and its record says {state}"));
            }
            tokio::time::sleep(SETTLE_LOOK).await;
        }
    }

    /// Looks at the process, and at the soak's own lateness, until the end.
    pub(crate) async fn watch(self: Arc<Self>) {
        let mut look_at = clock::now();
        while !self.is_over() {
            let before = clock::now();
            tokio::time::sleep(PROBE).await;
            let late = before.elapsed().saturating_sub(PROBE);
            self.late.lock().unwrap_or_else(PoisonError::into_inner).push(late);
            if clock::now() < look_at {
                continue;
            }
            look_at = clock::now() + HOLDS_EVERY;
            let era = self.era();
            let Ok(mut gateway) = self.gateway.try_lock() else { continue };
            if !era.up {
                continue;
            }
            if let Err(error) = gateway.still_runs() {
                self.report.wrong(Rule::Steady, error.to_string());
                self.end();
            }
            if let Some(holds) = gateway.holds() {
                let sample = Sample { era: era.number, holds };
                self.samples.lock().unwrap_or_else(PoisonError::into_inner).push(sample);
            }
        }
    }

    /// The resident memory at the last look, in bytes.
    pub(crate) fn resident(&self) -> Option<u64> {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        samples.last().map(|sample| sample.holds.resident)
    }

    /// How late the soak itself was woken: what it measures cannot be better than that.
    pub(crate) fn late(&self) -> Vec<Duration> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes what the process holds while nobody asks.
    async fn rests(&self) -> anyhow::Result<()> {
        let state = self.admin().read("/api/v1/state").await?;
        let tasks = state["open"]["tasks"].as_u64().unwrap_or_default();
        let holds = self.gateway.lock().await.holds().unwrap_or_default();
        *self.at_rest.lock().unwrap_or_else(PoisonError::into_inner) = (holds, tasks);
        Ok(())
    }

    /// Everything comes back once nobody asks any more.
    pub(crate) async fn all_returned(&self) -> anyhow::Result<()> {
        let begun = clock::now();
        loop {
            let missing = self.missing().await?;
            if missing.is_empty() {
                self.report.figure("all given back after", format!("{:.1?}", begun.elapsed()));
                return Ok(());
            }
            if begun.elapsed() > RETURN_WAIT {
                for text in missing {
                    self.report.wrong(Rule::Returned, text);
                }
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
    }

    /// Connections that are kept for the next call are not kept for ever.
    pub(crate) async fn pools_empty(&self) -> anyhow::Result<()> {
        let begun = clock::now();
        while self.upstream_connections() > 0 && begun.elapsed() < POOL_WAIT {
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        let left = self.upstream_connections();
        let state = self.admin().read("/api/v1/state").await?;
        let tasks = state["open"]["tasks"].as_u64().unwrap_or_default();
        let took = begun.elapsed();
        let text = format!("{left} upstream connections and {tasks} tasks after {took:.1?}");
        self.report.figure("left when nobody asks", text.clone());
        if left > 0 {
            self.report.wrong(Rule::Returned, text);
            return Ok(());
        }
        for text in self.missing().await? {
            self.report.wrong(Rule::Returned, text);
        }
        Ok(())
    }

    fn upstream_connections(&self) -> usize {
        self.upstreams.iter().map(|upstream| upstream.log().connections_open).sum()
    }

    async fn missing(&self) -> anyhow::Result<Vec<String>> {
        let state = self.admin().read("/api/v1/state").await?;
        let mut missing = Vec::new();
        for name in ["calls", "waiting", "held_bytes"] {
            let count = state["open"][name].as_u64().unwrap_or_default();
            if count > 0 {
                missing.push(format!("{count} {name} are still open"));
            }
        }
        for session in state["sessions"].as_array().into_iter().flatten() {
            let key = session["key"].as_str().unwrap_or_default();
            if session["running"].as_u64().unwrap_or_default() > 0 {
                missing.push(format!("session {key} still runs"));
            }
            if session["seats"].as_array().is_some_and(|seats| !seats.is_empty()) {
                let path = format!("/api/v1/sessions/{key}/end");
                self.admin().ask("POST", &path, None, None).await?;
            }
        }
        for candidate in candidates(&state) {
            let count = |name: &str| candidate[name].as_u64().unwrap_or_default();
            let route = candidate["route"].as_str().unwrap_or_default();
            if count("in_flight") > 0 || count("seats_taken") > 0 {
                let (runs, seats) = (count("in_flight"), count("seats_taken"));
                missing.push(format!("{route} has {runs} in flight and {seats} seats taken"));
            }
        }
        let (rest, rest_tasks) = *self.at_rest.lock().unwrap_or_else(PoisonError::into_inner);
        if self.stage.open() > 0 {
            missing.push(format!("{} attempts go on upstream", self.stage.open()));
        }
        let upstream = self.upstream_connections();
        // A connection that is kept may have a task that watches it, and a provider's pool as well.
        let tasks = state["open"]["tasks"].as_u64().unwrap_or_default();
        if tasks > rest_tasks + (upstream + 2 * self.providers) as u64 + 1 {
            missing.push(format!(
                "{tasks} tasks live, {rest_tasks} at the start, with {upstream} upstream connections"
            ));
        }
        if let Some(holds) = self.gateway.lock().await.holds() {
            let most = rest.descriptors + upstream + DESCRIPTOR_SLACK;
            if holds.descriptors > most {
                missing.push(format!(
                    "{} descriptors, {} at the start, {upstream} of them to upstreams now",
                    holds.descriptors, rest.descriptors
                ));
            }
        }
        Ok(missing)
    }

    /// The resident memory of the process's last life: it must not grow between two parts of it,
    /// each from and to so many in a hundred of its samples.
    pub(crate) fn memory_flat(
        &self,
        early: (usize, usize),
        late: (usize, usize),
        allowed: Allowed,
    ) {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let last = samples.last().map(|sample| sample.era).unwrap_or_default();
        let own: Vec<u64> = samples
            .iter()
            .filter(|sample| sample.era == last)
            .map(|sample| sample.holds.resident)
            .collect();
        if own.len() < 20 {
            self.report.figure("resident memory", "not measured on this system");
            return;
        }
        let part = |(from, to): (usize, usize)| {
            median(&own[own.len() * from / 100..(own.len() * to / 100).min(own.len())])
        };
        let (before, after) = (part(early), part(late));
        let most = before + before * allowed.in_hundred / 100 + allowed.bytes;
        let mib = |bytes: u64| bytes as f64 / (1024.0 * 1024.0);
        let peak = own.iter().max().copied().unwrap_or_default();
        let text = format!(
            "{:.1} MiB early, {:.1} late (at most {:.1}), peak {:.1}",
            mib(before),
            mib(after),
            mib(most),
            mib(peak)
        );
        self.report.figure("resident memory, medians", text.clone());
        if after > most {
            self.report.wrong(Rule::Returned, format!("memory grows: {text}"));
        }
        let descriptors = samples.iter().map(|sample| sample.holds.descriptors).max();
        let threads = samples.iter().map(|sample| sample.holds.threads).max();
        let text =
            format!("{} and {}", descriptors.unwrap_or_default(), threads.unwrap_or_default());
        self.report.figure("most descriptors and threads", text);
    }

    /// G3: how soon upstreams were left when clients had left. The soak shares the machine with
    /// the program, so that its own lateness is granted on top.
    pub(crate) fn cancels_in_time(&self) {
        let cancels = self.stage.cancels();
        self.report.figure("upstream left after client left", crate::report::spread(&cancels));
        let most = CANCEL_MAX + quantile(&self.late(), 990);
        let p99 = quantile(&cancels, 990);
        if p99 > most {
            let text = format!("p99 of cancellation is {p99:.1?}, allowed {most:.1?}");
            self.report.wrong(Rule::Ended, text);
        }
    }

    /// Stops the program in order and looks at what it has said.
    pub(crate) async fn close(&self) {
        let mut gateway = self.gateway.lock().await;
        match gateway.stop().await {
            Ok(took) => self.report.figure("ended after SIGTERM in", format!("{took:.1?}")),
            Err(error) => self.report.wrong(Rule::Steady, format!("SIGTERM: {error}")),
        }
        let said = gateway.said();
        for line in said.lines().filter(|line| line.contains("panicked")) {
            self.report.wrong(Rule::Steady, format!("it said: {line}"));
        }
        if said.contains(crate::stage::PROVIDER_KEY) || said.contains(crate::plan::CLIENT_KEY) {
            self.report.wrong(Rule::Passed, "a key stands in what it wrote");
        }
        for stray in self.stage.strays() {
            self.report.wrong(Rule::Bounded, stray);
        }
    }
}

/// Whether a call's record tells how it went.
fn fits(went: Went, state: &str) -> bool {
    match went {
        Went::Whole => matches!(state, "whole" | "truncated"),
        Went::Broken => matches!(state, "broken" | "refused"),
        Went::Refused => state == "refused",
        // It may have left when all was on its way.
        Went::Left => matches!(state, "left" | "whole" | "truncated" | "broken" | "refused"),
        Went::Killed | Went::Wrong => true,
    }
}

/// What memory may grow by, together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowed {
    pub(crate) in_hundred: u64,
    pub(crate) bytes: u64,
}

/// A call that is over.
pub(crate) struct Told {
    pub(crate) went: Went,
    pub(crate) heard: Heard,
    pub(crate) played: Played,
}

/// The candidates of every queue in a state.
pub(crate) fn candidates(state: &serde_json::Value) -> impl Iterator<Item = &serde_json::Value> {
    let queues = state["queues"].as_array().into_iter().flatten();
    queues.flat_map(|queue| queue["candidates"].as_array().into_iter().flatten())
}

/// Providers as the configuration names them.
pub(crate) fn provider_lines(provider: &Provider, dialect: &str) -> String {
    let version = if dialect == "openai-chat" { "/v1" } else { "" };
    let Provider { name, addr } = provider;
    let variable = crate::process::KEY_VARIABLE;
    format!(
        "[providers.{name}]\nbase_url = \"http://{addr}/{name}{version}\"\ndialect = \"{dialect}\"\n\
         api_key_env = \"{variable}\"\n\n"
    )
}

/// Says that a task ended badly, which is a fault of the soak.
pub(crate) async fn join(tasks: &mut JoinSet<()>) {
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended {
            say(&format!("the soak itself is at fault: {error}"));
        }
    }
}

fn median(values: &[u64]) -> u64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}
