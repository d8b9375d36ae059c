//! The project's chores. It decides nothing about the product, installs nothing outside `target/`,
//! and touches no file of the tree but the built WebAssembly file, its digest, and on wish the
//! results in BENCHMARKS.md.

use std::process::ExitCode;

mod arrows;
mod bench;
mod clients;
mod command;
mod debian;
mod digest;
mod dsh;
mod fuzz;
mod house;
mod project;
mod report;
mod rules;
mod sdk;
mod soak;
mod stages;
mod tally;
mod threats;
mod wasm;

use project::Project;
use stages::Extent;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test           everything that continuous integration runs
  test --fast    the same without the slow stages
  check          formatting, lints, dependency arrows, house rules
  wasm           build crates/wasm/ekiden.wasm and write its digest
  wasm --debian  the same with Debian's compiler, which is used anyway where rustup has no target
  bench          what a call costs through the gateway, nginx and nothing; --quick for one short
                 pass, --count-only for instructions alone, --write to renew BENCHMARKS.md
  clients        real clients through every fault; --light for the libraries alone, --only=NAME,NAME
                 for some agents, --write to renew the tables of docs/clients.md
  dsh            the plugin in the real DeepSeek Harness; --light without the browser
  soak           every fault at once, as long as you like: --minutes N, --seed S, --quick; and
                 --scenario outage for a fire, --scenario streams for a thousand open streams
  fuzz           feed every reader with made-up bytes, a minute each: --minutes N, names of targets,
                 --minimise to keep the fewest inputs that reach as much; needs a nightly toolchain
  rules          which numbered rules are named by a test, and which by none";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(code) => code,
        Err(error) => {
            report::say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> anyhow::Result<ExitCode> {
    let project = Project::find()?;
    match words {
        ["test"] => Ok(stages::run(&project, Extent::Everything)),
        ["test", "--fast"] => Ok(stages::run(&project, Extent::Fast)),
        ["check"] => Ok(stages::run(&project, Extent::Checks)),
        ["wasm"] => wasm::build(&project, wasm::From::Rustup).map(|()| ExitCode::SUCCESS),
        ["wasm", "--debian"] => {
            wasm::build(&project, wasm::From::Debian).map(|()| ExitCode::SUCCESS)
        }
        ["bench", options @ ..] => bench::run(&project, options).map(|()| ExitCode::SUCCESS),
        ["clients", options @ ..] => clients::run(&project, options).map(|()| ExitCode::SUCCESS),
        ["dsh", options @ ..] => dsh::run(&project, options).map(|()| ExitCode::SUCCESS),
        ["soak", options @ ..] => soak::run(&project, options).map(|()| ExitCode::SUCCESS),
        ["fuzz", options @ ..] => fuzz::run(&project, options).map(|()| ExitCode::SUCCESS),
        ["rules"] => rules::show(&project).map(|()| ExitCode::SUCCESS),
        [] | ["help" | "--help" | "-h"] => {
            report::say(USAGE);
            Ok(ExitCode::SUCCESS)
        }
        other => anyhow::bail!("no such command: {}\n\n{USAGE}", other.join(" ")),
    }
}
