//! Many open streams, and the first candidate dies for half of them. What was shown of an answer
//! cannot be taken back: those streams must end with an honest error. What was not shown must go on
//! at the next candidate. The others must not notice.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ekiden_sim::{Act, Answer, Beats, Fault, Pace, ResetPoint};
use tokio::task::JoinSet;

use crate::judge::{Rule, Went};
use crate::plan::{Plan, Tongue};
use crate::report::{say, spread};
use crate::stage::{Cue, Stage};
use crate::world::{Allowed, Provider, Told, Upstreams, World, join, provider_lines};
use crate::{Options, clock};

/// How fast streams are opened.
const OPEN_EVERY: Duration = Duration::from_millis(5);
/// How long a small run takes.
const QUICK: Duration = Duration::from_secs(20);
/// Chunks come so far apart: a fast model's words, a hundred times slower.
const GAP: Duration = Duration::from_millis(1_000);

/// What happens to a stream, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    /// Its candidate dies in the middle of the text.
    DiesShown,
    /// Its candidate dies after keep-alives alone.
    DiesWaiting,
    /// Its candidate dies in the middle of its reasoning.
    DiesThinking,
    /// Its candidate lives.
    Lives,
}

impl Fate {
    const fn of(number: u64) -> Self {
        match number % 8 {
            0 | 1 => Self::DiesShown,
            2 => Self::DiesWaiting,
            3 => Self::DiesThinking,
            _ => Self::Lives,
        }
    }

    const fn says(self) -> &'static str {
        match self {
            Self::DiesShown => "died with text shown",
            Self::DiesWaiting => "died before a word",
            Self::DiesThinking => "died while it reasoned",
            Self::Lives => "lived",
        }
    }

    /// How such a stream must end, and at which provider.
    const fn must(self) -> (Went, &'static str) {
        match self {
            Self::DiesShown => (Went::Broken, "first"),
            Self::DiesWaiting | Self::DiesThinking => (Went::Whole, "second"),
            Self::Lives => (Went::Whole, "first"),
        }
    }
}

pub(crate) async fn run(options: &Options) -> anyhow::Result<bool> {
    let span = if options.quick { QUICK } else { options.span };
    let count: u64 = if options.quick { 200 } else { 1_000 };
    let stage = Stage::new(&[], move |cue| play(span, cue));
    let names = ["first", "second"].map(str::to_owned);
    let upstreams = Upstreams::open(&stage, &names).await?;
    let folder = options.folder.join("streams");
    let (world, serving) = World::begin(&options.ekiden, &folder, stage, upstreams, config).await?;
    let mut tasks = JoinSet::new();
    tasks.spawn(Arc::clone(&world).watch());
    let ends: Arc<Mutex<BTreeMap<(Fate, Went), u64>>> = Arc::default();
    let mut clients = JoinSet::new();
    let begun = clock::now();
    for _ in 0..count {
        clients.spawn(stream(Arc::clone(&world), Arc::clone(&ends)));
        tokio::time::sleep(OPEN_EVERY).await;
    }
    say(&format!("{:>5.1} s  {count} streams are open", begun.elapsed().as_secs_f64()));
    let state = world.admin().read("/api/v1/state").await?;
    world.report.figure("calls open at once, as it says", state["open"]["calls"].to_string());
    while !clients.is_empty() && !world.is_over() {
        tokio::select! {
            ended = clients.join_next() => {
                if let Some(Err(error)) = ended { say(&format!("the soak itself is at fault: {error}")); }
            }
            () = tokio::time::sleep(Duration::from_secs(1)) => {}
        }
    }
    join(&mut clients).await;
    let took = begun.elapsed();
    world.end();
    join(&mut tasks).await;
    for ((fate, went), count) in ends.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        let name = format!("streams whose candidate {}", fate.says());
        world.report.figure(&name, format!("{count} {}", format!("{went:?}").to_lowercase()));
    }
    world.report.figure("all of them took", format!("{took:.1?}"));
    world.report.figure("the soak's own lateness", spread(&world.late()));
    if let Some(load) = crate::process::load() {
        world.report.figure("load of the machine at the end", format!("{load:.1}"));
    }
    // All are open from the first part on; what the second candidate's answers need comes on top.
    world.memory_flat((15, 35), (65, 85), Allowed { in_hundred: 15, bytes: 8 << 20 });
    world.all_returned().await?;
    if !options.quick {
        world.pools_empty().await?;
    }
    world.close().await;
    drop(serving);
    Ok(world.report.close(&folder, &options.again()))
}

async fn stream(world: Arc<World>, ends: Arc<Mutex<BTreeMap<(Fate, Went), u64>>>) {
    let number = world.number();
    let fate = Fate::of(number);
    let tongue = if number % 16 < 8 { Tongue::Chat } else { Tongue::Messages };
    let queue = format!("open-{}", tongue.name());
    let plan = Plan::plain(number, tongue, &queue, &format!("stream-{number}"));
    let told = world.call(plan, &mut None).await;
    *ends.lock().unwrap_or_else(PoisonError::into_inner).entry((fate, told.went)).or_default() += 1;
    expect(&world, number, fate, &told);
}

fn expect(world: &World, number: u64, fate: Fate, told: &Told) {
    let (must, provider) = fate.must();
    let last = told.played.attempts.last().map(|one| one.provider.as_str()).unwrap_or_default();
    if told.went != must || !last.starts_with(provider) {
        let rule = if must == Went::Whole { Rule::Kept } else { Rule::Honest };
        let text = format!("stream {number}, {}: {:?} at {last}", fate.says(), told.went);
        world.report.wrong(rule, text);
    }
}

/// Half of the time until the first candidate dies, half of it afterwards.
fn play(span: Duration, cue: &Cue<'_>) -> Act {
    let half = span / 2;
    let words = |span: Duration| {
        let count = (span.as_millis() / GAP.as_millis().max(1)).max(2);
        vec!["sash"; usize::try_from(count).unwrap_or(2)].join(" ")
    };
    if cue.provider.starts_with("second") {
        return Act::from(Answer::text(words(half)).drip(GAP));
    }
    if cue.nth > 0 {
        return Act::Reset(ResetPoint::Request);
    }
    let middle = usize::try_from(half.as_millis() / GAP.as_millis().max(1)).unwrap_or(1).max(1);
    Act::from(match Fate::of(cue.plan.number) {
        Fate::Lives => Answer::text(words(span)).drip(GAP),
        Fate::DiesShown => {
            Answer::text(words(span)).drip(GAP).fault(Fault::Reset { after: middle })
        }
        Fate::DiesThinking => {
            let thinking = Answer::text("Never said.").thinking(words(span)).drip(GAP);
            thinking.fault(Fault::Reset { after: middle })
        }
        Fate::DiesWaiting => {
            let beats = Some(Beats { every: GAP, during: half });
            let pace = Pace { beats, ..Pace::default() };
            Answer::text("Never said.").pace(pace).fault(Fault::Cut { after: 0 })
        }
    })
}

fn config(addr: SocketAddr, state: &Path, providers: &[Provider]) -> String {
    let mut text = format!(
        "listen = \"{addr}\"\nstate_dir = {:?}\n\n[limits]\ncalls_max = 4000\n\n",
        state.display().to_string()
    );
    for Provider { name, addr } in providers {
        for (tongue, dialect) in [("chat", "openai-chat"), ("messages", "anthropic-messages")] {
            let provider = Provider { name: format!("{name}-{tongue}"), addr: *addr };
            text += &provider_lines(&provider, dialect);
        }
    }
    for tongue in ["chat", "messages"] {
        text += &format!(
            "[queues.open-{tongue}]\ncandidates = [\"first-{tongue}/m\", \"second-{tongue}/m\"]\n\n"
        );
    }
    text
}
