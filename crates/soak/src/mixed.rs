//! Everything at once: every fault, many clients, settings that change, a process that is killed.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::desk::Desk;
use crate::dice::Dice;
use crate::faults;
use crate::plan::{Plan, QUEUES, Tongue};
use crate::report::{say, spread};
use crate::stage::{Cue, Stage};
use crate::world::{Allowed, Provider, Upstreams, World, join, provider_lines};
use crate::{Options, clock};

/// How often each provider of a queue fails, in a hundred.
const FAILING: [u64; 3] = [60, 40, 8];
/// Calls at once on the second candidate of the narrow queues.
const CAP: usize = 3;
/// When the process is killed, in a hundred parts of the run. Its last life is long enough to see
/// whether memory grows.
const KILLS: [u64; 3] = [15, 27, 40];
const SAY_EVERY: Duration = Duration::from_secs(30);

pub(crate) async fn run(options: &Options) -> anyhow::Result<bool> {
    let seed = options.seed;
    let caps = Tongue::ALL.map(|tongue| (format!("{}-2/n", tongue.name()), CAP));
    let caps: Vec<(&str, usize)> = caps.iter().map(|(route, cap)| (route.as_str(), *cap)).collect();
    let stage = Stage::new(&caps, move |cue| play(seed, cue));
    let names: Vec<String> =
        Tongue::ALL.iter().flat_map(|tongue| (1..=3).map(move |n| name(*tongue, n))).collect();
    let upstreams = Upstreams::open(&stage, &names).await?;
    let folder = options.folder.join("mixed");
    let (world, serving) = World::begin(&options.ekiden, &folder, stage, upstreams, config).await?;
    if let Some(number) = options.call {
        let told = world.call(Plan::drawn(seed, number), &mut None).await;
        let plan = Plan::drawn(seed, number);
        world.report.case(&plan, &told.heard, &told.played, &[]);
        say(&world.report.cases());
        world.end();
        world.close().await;
        return Ok(world.report.close(&folder, &options.again()));
    }
    let mut tasks = JoinSet::new();
    tasks.spawn(Arc::clone(&world).watch());
    let desk = Desk::new(Arc::clone(&world), seed);
    tasks.spawn(Arc::clone(&desk).edit());
    let mut clients = JoinSet::new();
    for index in 0..options.clients {
        clients.spawn(client(Arc::clone(&world), seed, index));
    }
    let begun = clock::now();
    let span = options.span;
    let mut kills =
        KILLS.iter().map(|part| span * u32::try_from(*part).unwrap_or(1) / 100).peekable();
    let mut say_at = SAY_EVERY;
    while begun.elapsed() < span && !world.is_over() {
        tokio::time::sleep(Duration::from_millis(200)).await;
        if kills.next_if(|at| begun.elapsed() >= *at).is_some() {
            desk.kill().await?;
        }
        if begun.elapsed() >= say_at {
            say_at += SAY_EVERY;
            progress(&world, begun.elapsed());
        }
    }
    world.end();
    join(&mut clients).await;
    join(&mut tasks).await;
    world.all_returned().await?;
    if !options.quick {
        world.pools_empty().await?;
    }
    conclude(&world, options, begun.elapsed());
    world.close().await;
    drop(serving);
    Ok(world.report.close(&folder, &options.again()))
}

fn conclude(world: &World, options: &Options, took: Duration) {
    let calls = world.report.calls();
    let attempts = world.stage.attempts();
    let rate = calls as f64 / took.as_secs_f64();
    world.report.figure("attempts", format!("{attempts}, {rate:.1} calls a second"));
    world.report.figure("clients", format!("{} at once", options.clients));
    let late = world.late();
    world.report.figure("the soak's own lateness", spread(&late));
    if let Some(load) = crate::process::load() {
        world.report.figure("load of the machine at the end", format!("{load:.1}"));
    }
    world.cancels_in_time();
    // A debug build and a minute's run have not filled all that is kept on purpose.
    let allowed = if options.quick {
        Allowed { in_hundred: 25, bytes: 32 << 20 }
    } else {
        Allowed { in_hundred: 10, bytes: 8 << 20 }
    };
    world.memory_flat((30, 50), (80, 100), allowed);
}

fn progress(world: &World, elapsed: Duration) {
    let resident = world.resident().map_or_else(String::new, |bytes| {
        format!(", {:.1} MiB resident", bytes as f64 / f64::from(1 << 20))
    });
    say(&format!(
        "{:>5.0} s  {} calls, {} attempts, {} violations{resident}",
        elapsed.as_secs_f64(),
        world.report.calls(),
        world.stage.attempts(),
        world.report.violations()
    ));
}

async fn client(world: Arc<World>, seed: u64, index: u64) {
    let mut dice = Dice::of(seed, &[2, index]);
    let mut kept = None;
    while !world.is_over() {
        let plan = Plan::drawn(seed, world.number());
        world.call(plan, &mut kept).await;
        tokio::time::sleep(Duration::from_millis(dice.between(0, 300))).await;
    }
}

fn play(seed: u64, cue: &Cue<'_>) -> ekiden_sim::Act {
    let nth = cue.provider.rsplit('-').next().and_then(|nth| nth.parse::<usize>().ok());
    let nth = nth.unwrap_or(1);
    let mut dice = Dice::of(seed, &[3, cue.plan.number, nth as u64, cue.nth]);
    let failing = FAILING.get(nth - 1).copied().unwrap_or_default();
    faults::act(&mut dice, cue.plan, failing)
}

fn name(tongue: Tongue, nth: usize) -> String {
    format!("{}-{nth}", tongue.name())
}

/// Clocks and waits are a hundredth of what people have, so that a minute sees what an hour does.
fn config(addr: SocketAddr, state: &Path, providers: &[Provider]) -> String {
    let mut text = format!(
        "# kept by whoever edits this file\n\
         listen = \"{addr}\"\nstate_dir = {:?}\ntime_zone = \"UTC\"\nkeepalive_after = \"2s\"\n\
         keepalive_every = \"1s\"\n\n\
         [limits]\ncalls_max = 2000\nsessions_max = 500\n\n[journal]\nentries_max = 2000\n\n\
         [defaults]\nretries = 2\nretry_pause = \"50ms\"\nwait_max = \"3s\"\nparole_after = \"2s\"\n\
         parole_max = \"4s\"\nparole_idle = \"2s\"\ncooldown = \"1s\"\ncooldown_max = \"2s\"\n\
         inline_wait = \"1s\"\nlease_idle = \"2s\"\nlease_rest = \"200ms\"\njudged_memory = \"1s\"\n\
         client_stall = \"20s\"\nconnect_timeout = \"2s\"\nheaders_timeout = \"2s\"\n\
         first_byte_timeout = \"2s\"\nidle_timeout = \"2s\"\nprogress_timeout = \"5s\"\n\n",
        state.display().to_string()
    );
    for provider in providers {
        let chat = provider.name.starts_with("chat");
        text += &provider_lines(provider, if chat { "openai-chat" } else { "anthropic-messages" });
    }
    for tongue in Tongue::ALL {
        for queue in QUEUES {
            text += &queue_lines(tongue, queue);
        }
    }
    text
}

fn queue_lines(tongue: Tongue, queue: &str) -> String {
    let (first, second, third) = (name(tongue, 1), name(tongue, 2), name(tongue, 3));
    let candidates = if queue == "narrow" {
        format!(
            "{{ route = \"{first}/n\", max_sessions = 2 }}, \
             {{ route = \"{second}/n\", max_in_flight = {CAP} }}, \"{third}/n\""
        )
    } else {
        format!("\"{first}/m\", \"{second}/m\", \"{third}/m\"")
    };
    let own = match queue {
        "complete" => "commit = \"complete\"\n",
        "token" => "commit = \"first-token\"\n",
        _ => "first_output_timeout = \"4s\"\n",
    };
    format!("[queues.{queue}-{}]\ncandidates = [{candidates}]\n{own}\n", tongue.name())
}
