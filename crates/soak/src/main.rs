//! The built program under every fault at once. It refuses to look into the gateway: it sees what
//! clients get, what upstreams are asked, and what the system says of the process.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};

mod admin;
mod client;
mod clock;
mod desk;
mod dice;
mod faults;
mod judge;
mod mixed;
mod outage;
mod plan;
mod process;
mod read;
mod report;
mod stage;
mod streams;
mod wire;
mod world;

const USAGE: &str = "usage: ekiden-soak --ekiden PROGRAM --folder FOLDER [--scenario mixed|outage|streams] \
[--minutes N] [--seed S] [--clients N] [--call N] [--quick]";

/// Which run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scenario {
    Mixed,
    Outage,
    Streams,
}

impl Scenario {
    const fn name(self) -> &'static str {
        match self {
            Self::Mixed => "mixed",
            Self::Outage => "outage",
            Self::Streams => "streams",
        }
    }
}

/// What was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The gateway's program.
    pub(crate) ekiden: PathBuf,
    /// A folder for everything that is written.
    pub(crate) folder: PathBuf,
    scenario: Scenario,
    pub(crate) seed: u64,
    pub(crate) span: Duration,
    pub(crate) clients: u64,
    /// One call alone.
    pub(crate) call: Option<u64>,
    /// Small, for continuous integration.
    pub(crate) quick: bool,
}

impl Options {
    /// How the same run is had again.
    pub(crate) fn again(&self) -> String {
        let mut text =
            format!("cargo xtask soak --scenario {} --seed {}", self.scenario.name(), self.seed);
        if self.quick {
            text += " --quick";
        } else {
            text += &format!(" --minutes {}", self.span.as_secs_f64() / 60.0);
        }
        if self.clients != usual_clients(self.quick) {
            text += &format!(" --clients {}", self.clients);
        }
        if let Some(call) = self.call {
            text += &format!(" --call {call}");
        }
        text
    }

    fn read(words: &[String]) -> anyhow::Result<Self> {
        let quick = words.iter().any(|word| word == "--quick");
        let mut options = Self {
            ekiden: PathBuf::new(),
            folder: PathBuf::new(),
            scenario: Scenario::Mixed,
            seed: RandomState::new().build_hasher().finish() % 1_000_000,
            span: Duration::from_secs(if quick { 45 } else { 600 }),
            clients: usual_clients(quick),
            call: None,
            quick,
        };
        let mut words = words.iter().filter(|word| *word != "--quick");
        while let Some(word) = words.next() {
            let value = words.next().with_context(|| format!("{word} needs a value\n{USAGE}"))?;
            match word.as_str() {
                "--ekiden" => options.ekiden = value.into(),
                "--folder" => options.folder = value.into(),
                "--scenario" => {
                    options.scenario = match value.as_str() {
                        "mixed" => Scenario::Mixed,
                        "outage" => Scenario::Outage,
                        "streams" => Scenario::Streams,
                        other => bail!("there is no scenario {other}\n{USAGE}"),
                    }
                }
                "--minutes" => {
                    let minutes: f64 = value.parse().context("--minutes")?;
                    options.span = Duration::from_secs_f64(minutes * 60.0);
                }
                "--seed" => options.seed = value.parse().context("--seed")?,
                "--clients" => options.clients = value.parse().context("--clients")?,
                "--call" => options.call = Some(value.parse().context("--call")?),
                other => bail!("there is no option {other}\n{USAGE}"),
            }
        }
        anyhow::ensure!(!options.ekiden.as_os_str().is_empty(), "{USAGE}");
        anyhow::ensure!(!options.folder.as_os_str().is_empty(), "{USAGE}");
        Ok(options)
    }
}

/// Clients at once, unless said otherwise.
const fn usual_clients(quick: bool) -> u64 {
    if quick { 24 } else { 60 }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            report::say(&format!("error: {error:#}\n0 passed, 1 failed"));
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[String]) -> anyhow::Result<bool> {
    let options = Options::read(words)?;
    report::say(&format!("seed {}: {}", options.seed, options.again()));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        match options.scenario {
            Scenario::Mixed => mixed::run(&options).await,
            Scenario::Outage => outage::run(&options).await,
            Scenario::Streams => streams::run(&options).await,
        }
    })
}
