//! A fire: every candidate of one queue answers 503, and all of its clients come at once. What is
//! looked at is what burns besides: the candidates themselves (R8), other queues, and whether all is
//! well again when the fire is out. The gateway has its default settings.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ekiden_sim::{Act, Answer};
use tokio::task::JoinSet;

use crate::judge::{Rule, Went};
use crate::plan::{Plan, Tongue};
use crate::report::{quantile, say, spread};
use crate::stage::{Cue, Stage};
use crate::world::{Allowed, Provider, Upstreams, World, join, provider_lines};
use crate::{Options, clock};

/// R8: retries that a route has in hand, and of a hundred of its calls.
const BUDGET: u64 = 10;
const BUDGET_IN_HUNDRED: u64 = 10;
/// Another queue may be as much slower, and so much more for a machine that is busy with the fire.
const SLOWER: u32 = 2;
const SLOWER_MS: u64 = 5;
/// Candidates that burn.
const CANDIDATES: usize = 3;
/// A client that is told to come back later comes back after so long: ruder than any real one.
const COME_BACK_MAX: Duration = Duration::from_secs(5);
/// By when every client must have been served again.
const RECOVER_MAX: Duration = Duration::from_secs(30);
/// Clients of the other queue.
const CALM: u64 = 8;

/// What the burning candidates do.
const WELL: u8 = 0;
const BURNING: u8 = 1;
const OUT: u8 = 2;

/// What is counted meanwhile.
struct Fire {
    phase: AtomicU8,
    /// Calls of the other queue by phase.
    calm: Mutex<[Vec<Duration>; 3]>,
    /// Clients that were served after the fire.
    served: Mutex<BTreeSet<u64>>,
    /// Candidate: calls that asked it, and attempts.
    asked: Mutex<BTreeMap<String, (u64, u64)>>,
    most_in_call: AtomicUsize,
}

pub(crate) async fn run(options: &Options) -> anyhow::Result<bool> {
    let fire = Arc::new(Fire {
        phase: AtomicU8::new(WELL),
        calm: Mutex::default(),
        served: Mutex::default(),
        asked: Mutex::default(),
        most_in_call: AtomicUsize::new(0),
    });
    let played = Arc::clone(&fire);
    let stage = Stage::new(&[], move |cue| play(&played, cue));
    let mut names: Vec<String> = (1..=CANDIDATES).map(|n| format!("down-{n}")).collect();
    names.push("calm-1".to_owned());
    let upstreams = Upstreams::open(&stage, &names).await?;
    let folder = options.folder.join("outage");
    let (world, serving) = World::begin(&options.ekiden, &folder, stage, upstreams, config).await?;
    let (before, burning, clients) = if options.quick { (4, 8, 50) } else { (15, 30, 200) };
    let mut tasks = JoinSet::new();
    tasks.spawn(Arc::clone(&world).watch());
    let mut askers = JoinSet::new();
    for index in 0..CALM {
        askers.spawn(calm(Arc::clone(&world), Arc::clone(&fire), index));
    }
    for index in 0..clients {
        askers.spawn(caught(Arc::clone(&world), Arc::clone(&fire), index));
    }
    tokio::time::sleep(Duration::from_secs(before)).await;
    fire.phase.store(BURNING, Ordering::Release);
    say(&format!("{before:>5} s  all {CANDIDATES} candidates of one queue answer 503"));
    tokio::time::sleep(Duration::from_secs(burning)).await;
    fire.phase.store(OUT, Ordering::Release);
    say(&format!("{:>5} s  they answer well again", before + burning));
    let out = clock::now();
    while fire.served() < clients as usize && out.elapsed() < RECOVER_MAX {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    recovered(&world, &fire, clients, out.elapsed());
    tokio::time::sleep(Duration::from_secs(before)).await;
    world.end();
    join(&mut askers).await;
    join(&mut tasks).await;
    budgets(&world, &fire);
    others(&world, &fire);
    world.report.figure("the soak's own lateness", spread(&world.late()));
    if let Some(load) = crate::process::load() {
        world.report.figure("load of the machine at the end", format!("{load:.1}"));
    }
    world.all_returned().await?;
    if !options.quick {
        world.pools_empty().await?;
    }
    world.memory_flat((10, 40), (70, 100), Allowed { in_hundred: 50, bytes: 64 << 20 });
    world.close().await;
    drop(serving);
    Ok(world.report.close(&folder, &options.again()))
}

fn recovered(world: &World, fire: &Fire, clients: u64, took: Duration) {
    let served = fire.served();
    let text = format!("{served} of {clients} clients after {took:.1?}");
    world.report.figure("served again by itself", text.clone());
    if served < clients as usize {
        world.report.wrong(Rule::Steady, format!("not all is well again: {text}"));
    }
}

/// No candidate was asked more often than its calls and its retry budget allow.
fn budgets(world: &World, fire: &Fire) {
    let asked = fire.asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
    for (route, (calls, attempts)) in asked.iter().filter(|(route, _)| route.starts_with("down")) {
        let retries = attempts - calls;
        let most = BUDGET + calls * BUDGET_IN_HUNDRED / 100;
        let text =
            format!("{attempts} attempts for {calls} calls: {retries} retries of at most {most}");
        world.report.figure(&format!("asked: {route}"), text.clone());
        if retries > most {
            world.report.wrong(Rule::Bounded, format!("{route}: {text}"));
        }
    }
    let most = fire.most_in_call.load(Ordering::Acquire);
    world.report.figure("most attempts in one call", most.to_string());
}

/// The other queue hardly noticed.
fn others(world: &World, fire: &Fire) {
    let [well, burning, out] = fire.calm.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (before, during) = (quantile(&well, 990), quantile(&burning, 990));
    world.report.figure("another queue before", spread(&well));
    world.report.figure("another queue meanwhile", spread(&burning));
    world.report.figure("another queue afterwards", spread(&out));
    // Clients, upstreams and the program share the machine.
    let late = quantile(&world.late(), 990);
    let most = before * SLOWER + Duration::from_millis(SLOWER_MS) + late;
    if during > most {
        let text = format!("another queue's p99 went from {before:.1?} to {during:.1?}");
        world.report.wrong(Rule::Steady, text);
    }
    if burning.is_empty() || well.is_empty() {
        world.report.wrong(Rule::Steady, "another queue was not served at all");
    }
}

impl Fire {
    fn phase(&self) -> u8 {
        self.phase.load(Ordering::Acquire)
    }

    fn served(&self) -> usize {
        self.served.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// A client of the other queue.
async fn calm(world: Arc<World>, fire: Arc<Fire>, index: u64) {
    let mut kept = None;
    while !world.is_over() {
        let phase = fire.phase();
        let session = format!("calm-{index}");
        let plan = Plan::plain(world.number(), Tongue::Messages, "calm", &session);
        let told = world.call(plan, &mut kept).await;
        if told.went != Went::Whole {
            world.report.wrong(Rule::Steady, format!("another queue's call is {:?}", told.went));
        }
        if phase == fire.phase() {
            let took = told.heard.over - told.heard.asked;
            let mut calm = fire.calm.lock().unwrap_or_else(PoisonError::into_inner);
            calm[usize::from(phase)].push(took);
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
}

/// A client of the queue that burns. It comes back as it is told.
async fn caught(world: Arc<World>, fire: Arc<Fire>, index: u64) {
    let mut kept = None;
    while !world.is_over() {
        let phase = fire.phase();
        let session = format!("caught-{index}");
        let plan = Plan::plain(world.number(), Tongue::Chat, "down", &session);
        let told = world.call(plan, &mut kept).await;
        count(&fire, &told.played.attempts);
        if told.went == Went::Whole {
            if phase == OUT {
                fire.served.lock().unwrap_or_else(PoisonError::into_inner).insert(index);
            }
            tokio::time::sleep(Duration::from_millis(1_000)).await;
            continue;
        }
        let head = told.heard.head.as_ref();
        let wait = head.and_then(|head| head.header("retry-after")?.parse().ok());
        let wait = Duration::from_secs(wait.unwrap_or(1));
        tokio::time::sleep(wait.min(COME_BACK_MAX)).await;
    }
}

fn count(fire: &Fire, attempts: &[crate::stage::Attempt]) {
    fire.most_in_call.fetch_max(attempts.len(), Ordering::AcqRel);
    let routes: BTreeSet<&str> = attempts.iter().map(|one| one.provider.as_str()).collect();
    let mut asked = fire.asked.lock().unwrap_or_else(PoisonError::into_inner);
    for route in routes {
        let own = attempts.iter().filter(|one| one.provider == route).count() as u64;
        let (calls, all) = asked.entry(route.to_owned()).or_default();
        *calls += 1;
        *all += own;
    }
}

fn play(fire: &Fire, cue: &Cue<'_>) -> Act {
    if cue.provider.starts_with("down") && fire.phase() == BURNING {
        return Act::status(503);
    }
    Act::from(Answer::text("The next runner has the sash and is on the way."))
}

fn config(addr: SocketAddr, state: &Path, providers: &[Provider]) -> String {
    let mut text =
        format!("listen = \"{addr}\"\nstate_dir = {:?}\n\n", state.display().to_string());
    for provider in providers {
        let chat = provider.name.starts_with("down");
        text += &provider_lines(provider, if chat { "openai-chat" } else { "anthropic-messages" });
    }
    let down: Vec<String> = (1..=CANDIDATES).map(|n| format!("\"down-{n}/m\"")).collect();
    text + &format!(
        "[queues.down]\ncandidates = [{}]\n\n[queues.calm]\ncandidates = [\"calm-1/m\"]\n",
        down.join(", ")
    )
}
