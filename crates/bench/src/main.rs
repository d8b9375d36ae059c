//! The benchmark: what a call costs through the gateway, through nginx and through nothing, side
//! by side. It refuses to tune: everything runs with the settings that people get. `cargo xtask
//! bench` builds and starts it; BENCHMARKS.md tells the method and the limits.

mod clock;
mod count;
mod counted;
mod drive;
mod figures;
mod measure;
mod process;
mod report;
mod script;
mod systems;
mod upstream;
mod wire;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};

use counted::{Extent, Step, TIMES};
use drive::{Driver, Load, Sessions, Until};
use measure::Plan;
use process::MachineTime;
use report::{Machine, Results, say};
use script::Script;
use systems::{Kind, Places, System, Upstream};

const USAGE: &str = "\
usage: ekiden-bench run --ekiden FILE --folder FOLDER [--page FILE] [--quick] [--count-only] [--without-ekiden]

  --ekiden FILE      the gateway's program, built with --release
  --folder FOLDER    where processes run and results.json is written
  --page FILE        write the results into this page, between its markers
  --quick            one short pass, to see that all of it works
  --count-only       instruction counts alone
  --without-ekiden   nginx and no proxy alone

usage: ekiden-bench load SCRIPT CONNECTIONS SECONDS --ekiden FILE --folder FOLDER

  keeps the gateway busy for a profiler and names its process;
  SCRIPT is plain, short, burst, drip or relay";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["run", options @ ..] => Options::read(options).and_then(|options| run(&options)),
        ["load", script, connections, seconds, options @ ..] => {
            Options::read(options).and_then(|options| load(script, connections, seconds, &options))
        }
        ["upstream"] => upstream::serve(),
        ["step", name, extent] => step(name, extent),
        _ => Err(anyhow::anyhow!("{USAGE}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn step(name: &str, extent: &str) -> anyhow::Result<()> {
    let step = Step::named(name).context("no such step")?;
    let extent = if extent == "steps" { Extent::Steps } else { Extent::Preparation };
    counted::run(step, TIMES, extent);
    Ok(())
}

/// Keeps the gateway busy with one kind of call.
fn load(script: &str, connections: &str, seconds: &str, options: &Options) -> anyhow::Result<()> {
    let places = options.places()?;
    let upstream = Upstream::start(&places)?;
    let system = System::ekiden(&places, &upstream, "ekiden")?;
    let found = Script::ALL.into_iter().find(|known| known.name() == script);
    let (request, events) = match found {
        Some(script) => (Kind::Ekiden.request(script), script.events()),
        None if script == "relay" => (Kind::Ekiden.failover(), 0),
        None => bail!("no such script: {script}\n\n{USAGE}"),
    };
    let mut driver = Driver::open(Load {
        target: system.addr,
        request,
        connections: connections.parse().context("CONNECTIONS")?,
        sessions: if found.is_some() { Sessions::PerConnection } else { Sessions::New(0) },
        events,
        stagger: Duration::ZERO,
    })?;
    say(&format!("process {}", system.process.id()));
    let span = Duration::from_secs(seconds.parse().context("SECONDS")?);
    let before = system.process.cpu()?;
    let outcome = driver.run(Until::Span(span))?;
    let spent = system.process.cpu()?.since(&before);
    say(&format!("{} calls, {:.1} µs CPU each", outcome.count(), spent / outcome.count()));
    Ok(())
}

#[derive(Default)]
struct Options {
    ekiden: PathBuf,
    folder: PathBuf,
    page: Option<PathBuf>,
    length: Length,
    subjects: Subjects,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Length {
    #[default]
    Full,
    Quick,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Subjects {
    #[default]
    All,
    Counts,
    WithoutEkiden,
}

impl Options {
    fn read(words: &[&str]) -> anyhow::Result<Self> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut path = || words.next().map(PathBuf::from).context(USAGE);
            match *word {
                "--ekiden" => options.ekiden = path()?,
                "--folder" => options.folder = path()?,
                "--page" => options.page = Some(path()?),
                "--quick" => options.length = Length::Quick,
                "--count-only" => options.subjects = Subjects::Counts,
                "--without-ekiden" => options.subjects = Subjects::WithoutEkiden,
                other => bail!("no such option: {other}\n\n{USAGE}"),
            }
        }
        ensure!(!options.folder.as_os_str().is_empty(), "--folder is missing\n\n{USAGE}");
        Ok(options)
    }

    fn places(&self) -> anyhow::Result<Places> {
        fs::create_dir_all(&self.folder).with_context(|| self.folder.display().to_string())?;
        Ok(Places {
            bench: std::env::current_exe()?,
            ekiden: self.ekiden.clone(),
            folder: self.folder.clone(),
        })
    }
}

fn run(options: &Options) -> anyhow::Result<()> {
    let places = options.places()?;
    let mut results =
        Results { machine: Machine::look(&places.ekiden), passes: Vec::new(), counts: Vec::new() };
    if options.subjects != Subjects::Counts {
        let (plan, passes) = match options.length {
            Length::Full => (Plan::FULL, 2),
            Length::Quick => (Plan::QUICK, 1),
        };
        ready(&places, &plan, options.subjects)?;
        let before = MachineTime::read()?;
        for pass in 1..=passes {
            say(&format!("== pass {pass} of {passes}"));
            let with_ekiden = options.subjects == Subjects::All;
            results.passes.push(measure::pass(&places, &plan, with_ekiden)?);
        }
        results.machine.others = MachineTime::read()?.used_by_others_since(before);
    }
    if options.subjects != Subjects::WithoutEkiden {
        say("== instructions");
        results.counts = count::count(&places.bench)?;
    }
    results.machine.load[1] = report::load();
    let file = places.folder.join("results.json");
    let text = results.markdown();
    say(&format!("\n{text}"));
    // Counts alone, and a short pass, are no run to compare with.
    if options.subjects == Subjects::Counts || options.length == Length::Quick {
        return Ok(());
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    let earlier = serde_json::from_str(&kept).ok().and_then(|earlier| results.against(&earlier));
    say(&earlier.unwrap_or_default());
    fs::write(&file, format!("{:#}\n", results.json()))?;
    say(&format!("All samples are in {}.", file.display()));
    match &options.page {
        Some(page) => report::write_into(page, &text),
        None => Ok(()),
    }
}

/// Says what is missing before anything is measured.
fn ready(places: &Places, plan: &Plan, subjects: Subjects) -> anyhow::Result<()> {
    ensure!(cfg!(target_os = "linux"), "the benchmark reads /proc: it runs on Linux alone");
    let nginx = Command::new("nginx").arg("-v").stderr(Stdio::null()).status();
    ensure!(nginx.is_ok(), "nginx is not installed: apt-get install nginx-light");
    let built = subjects == Subjects::WithoutEkiden || places.ekiden.is_file();
    ensure!(built, "no program at {}: cargo build --release -p ekiden", places.ekiden.display());
    let most = open_files_max(Path::new("/proc/self/limits"))?;
    let needed = plan.streams * 2 + 200;
    ensure!(most >= needed, "only {most} open files are allowed: run `ulimit -n {needed}` first");
    Ok(())
}

fn open_files_max(limits: &Path) -> anyhow::Result<usize> {
    let text = fs::read_to_string(limits).with_context(|| limits.display().to_string())?;
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().next());
    Ok(soft.and_then(|soft| soft.parse().ok()).unwrap_or(usize::MAX))
}
