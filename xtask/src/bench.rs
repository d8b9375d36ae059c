//! Builds the gateway as it is shipped and the benchmark, and starts the one on the other. It
//! measures nothing itself.

use crate::command::Command;
use crate::project::Project;

/// Everything that cargo builds has this ending here.
const ENDING: &str = std::env::consts::EXE_SUFFIX;

pub(crate) fn run(project: &Project, options: &[&str]) -> anyhow::Result<()> {
    let built = |name: &str| project.target.join("release").join(format!("{name}{ENDING}"));
    let text = |path: std::path::PathBuf| path.to_string_lossy().into_owned();
    let ekiden = text(built("ekiden"));
    let folder = text(project.target.join("bench"));
    let page = text(project.root.join("BENCHMARKS.md"));
    let whole = !options.contains(&"--quick") && !options.contains(&"--count-only");
    anyhow::ensure!(whole || !options.contains(&"--write"), "only a whole run is worth keeping");
    let mut words = vec!["run", "--ekiden", &ekiden, "--folder", &folder];
    for option in options {
        match *option {
            "--write" => words.extend(["--page", &page]),
            "--quick" | "--count-only" => words.push(option),
            other => anyhow::bail!("bench has no option {other}"),
        }
    }
    let build = ["build", "--release", "-p", "ekiden", "-p", "ekiden-bench"];
    project.cargo(&build).run()?;
    Command::new(&project.root, built("ekiden-bench"), &words).run()
}
