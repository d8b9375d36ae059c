//! Feeds the targets of `fuzz/` with whatever libFuzzer comes up with. It keeps nothing unasked: what it found new
//! stays in `fuzz/grown`, which is not committed, until `--minimise` picks the few inputs that are worth keeping.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

use crate::project::Project;
use crate::report::say;

/// Seconds a target gets unless said otherwise.
const USUAL_SECONDS: u64 = 60;
/// Longest input, in bytes: what is wrong with a long one is wrong with a short one.
const INPUT_BYTES_MAX: usize = 4096;
/// Longest time that an input may take, in seconds.
const INPUT_SECONDS_MAX: u64 = 10;

/// What is to be done with each target.
#[derive(Clone, Copy)]
enum Work {
    Seconds(u64),
    Minimise,
}

pub(crate) fn run(project: &Project, options: &[&str]) -> anyhow::Result<()> {
    let known = targets(project)?;
    let (mut work, mut chosen) = (Work::Seconds(USUAL_SECONDS), Vec::new());
    let mut words = options.iter();
    while let Some(word) = words.next() {
        match *word {
            "--minutes" => {
                let minutes = words.next().and_then(|minutes| minutes.parse::<u64>().ok());
                let minutes = minutes.context("--minutes wants a whole number behind it")?;
                work = Work::Seconds(minutes.saturating_mul(60));
            }
            "--minimise" => work = Work::Minimise,
            name if known.iter().any(|known| known == name) => chosen.push(name),
            other => anyhow::bail!("there is no target {other}, only {}", known.join(", ")),
        }
    }
    let all: Vec<&str> = known.iter().map(String::as_str).collect();
    let chosen = if chosen.is_empty() { all } else { chosen };
    project.cargo(&["+nightly", "fuzz", "--version"]).read().context(
        "fuzzing needs `rustup toolchain install nightly` and `cargo install cargo-fuzz`",
    )?;
    // A fault in one target says nothing of the others: each gets its time.
    let mut faulty = Vec::new();
    for target in chosen {
        match work {
            Work::Seconds(seconds) => {
                if let Err(error) = feed(project, target, seconds) {
                    say(&format!("{target}: {error:#}"));
                    faulty.push(target);
                }
            }
            Work::Minimise => minimise(project, target)?,
        }
    }
    anyhow::ensure!(faulty.is_empty(), "found something wrong: {}", faulty.join(", "));
    Ok(())
}

fn targets(project: &Project) -> anyhow::Result<Vec<String>> {
    let files = project.files("fuzz/fuzz_targets", ".rs")?;
    let stems = files.iter().filter_map(|file| file.file_stem());
    Ok(stems.map(|stem| stem.to_string_lossy().into_owned()).collect())
}

fn feed(project: &Project, target: &str, seconds: u64) -> anyhow::Result<()> {
    say(&format!("{target}: {seconds} seconds"));
    let (grown, kept) = (format!("fuzz/grown/{target}"), format!("fuzz/corpus/{target}"));
    fs::create_dir_all(project.root.join(&grown)).context("fuzz/grown")?;
    let limits = [
        format!("-max_total_time={seconds}"),
        format!("-max_len={INPUT_BYTES_MAX}"),
        format!("-timeout={INPUT_SECONDS_MAX}"),
        "-print_final_stats=1".to_owned(),
    ];
    let mut words = vec!["+nightly", "fuzz", "run", target, &grown, &kept, "--"];
    words.extend(limits.iter().map(String::as_str));
    project.cargo(&words).run()
}

/// Replaces the kept inputs by the fewest of all known ones that reach as much.
fn minimise(project: &Project, target: &str) -> anyhow::Result<()> {
    let (grown, kept) = (format!("fuzz/grown/{target}"), format!("fuzz/corpus/{target}"));
    let fewest = format!("fuzz/grown/{target}.fewest");
    let folder = project.root.join(&fewest);
    if folder.exists() {
        fs::remove_dir_all(&folder).context("fuzz/grown")?;
    }
    for folder in [&fewest, &grown, &kept] {
        fs::create_dir_all(project.root.join(folder)).with_context(|| folder.clone())?;
    }
    let longest = format!("-max_len={INPUT_BYTES_MAX}");
    let mut words = vec!["+nightly", "fuzz", "run", target, &fewest, &grown, &kept, "--"];
    // What is reached counts, and not how often: the inputs stay few.
    words.extend(["-set_cover_merge=1", "-use_counters=0", &longest]);
    project.cargo(&words).run()?;
    let found = inputs(&folder)?;
    anyhow::ensure!(!found.is_empty(), "nothing would be left of {kept}");
    for old in inputs(&project.root.join(&kept))? {
        fs::remove_file(old).with_context(|| kept.clone())?;
    }
    for input in &found {
        let name = input.file_name().unwrap_or_default();
        fs::copy(input, project.root.join(&kept).join(name)).with_context(|| kept.clone())?;
    }
    say(&format!("{target}: {} inputs are kept", found.len()));
    Ok(())
}

fn inputs(folder: &Path) -> anyhow::Result<Vec<std::path::PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        found.push(entry?.path());
    }
    Ok(found)
}
