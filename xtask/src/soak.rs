//! Builds the gateway and the soak, and starts the one on the other. It judges nothing itself.

use std::path::PathBuf;

use crate::command::Command;
use crate::project::Project;
use crate::stages::watch;
use crate::tally::{Runner, Tally};

/// Everything that cargo builds has this ending here.
const ENDING: &str = std::env::consts::EXE_SUFFIX;

/// As long as one likes, on the program as it is shipped.
pub(crate) fn run(project: &Project, options: &[&str]) -> anyhow::Result<()> {
    let quick = options.contains(&"--quick");
    program(project, options, if quick { Build::Checked } else { Build::Shipped })?.run()
}

/// A minute and a half of everything, on a build that checks its own arithmetic.
pub(crate) fn quick(project: &Project) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    for scenario in ["mixed", "outage", "streams"] {
        let options = ["--quick", "--scenario", scenario];
        tally += watch(Runner::Soak, program(project, &options, Build::Checked)?)?;
    }
    Ok(tally)
}

/// Which build of the gateway.
#[derive(Clone, Copy)]
enum Build {
    Shipped,
    /// With debug assertions and overflow checks, and built by the tests anyway.
    Checked,
}

fn program(project: &Project, options: &[&str], build: Build) -> anyhow::Result<Command> {
    let (profile, folder): (&[&str], _) = match build {
        Build::Shipped => (&["--release"], "release"),
        Build::Checked => (&[], "debug"),
    };
    let words = ["build", "--quiet", "-p", "ekiden", "-p", "ekiden-soak"];
    let words: Vec<&str> = words.iter().chain(profile).copied().collect();
    project.cargo(&words).run()?;
    let built = |name: &str| project.target.join(folder).join(format!("{name}{ENDING}"));
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let (ekiden, own) = (text(built("ekiden")), text(project.target.join("soak")));
    let words = ["--ekiden", &ekiden, "--folder", &own];
    let words: Vec<&str> = words.iter().chain(options).copied().collect();
    Ok(Command::new(&project.root, built("ekiden-soak"), &words))
}
