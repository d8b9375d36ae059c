//! Long runs of generated histories, and recorded ones over again.
//!
//! `ekiden-model --seed N --steps M [--worlds K] [--print]` lives through K histories of M
//! operations and exits with 1 at the first breach, whose shortest history it prints.
//! `ekiden-model --history FILE` prints what an engine says to a recorded one.

use std::io::{Write as _, stdout};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut out = stdout().lock();
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |name: &str| {
        let at = words.iter().position(|word| word == name)?;
        words.get(at + 1)
    };
    let number = |name: &str, usual: u64| word(name).and_then(|w| w.parse().ok()).unwrap_or(usual);
    if let Some(file) = word("--history") {
        let said = std::fs::read_to_string(file).map_err(|error| error.to_string());
        let said = said.and_then(|lines| {
            let line = |(line, bad)| format!("line {line}: {bad}");
            ekiden_model::run_history(&lines).map_err(line)
        });
        let (text, code) = match said {
            Ok(said) => (said, ExitCode::SUCCESS),
            Err(error) => (format!("error: {error}\n"), ExitCode::FAILURE),
        };
        let _ = out.write_all(text.as_bytes());
        return code;
    }
    let (first, steps) = (number("--seed", 1), number("--steps", 200) as usize);
    let worlds = number("--worlds", 1);
    let print = words.iter().any(|word| word == "--print");
    for seed in first..first.saturating_add(worlds) {
        match ekiden_model::find(seed, steps) {
            Ok(world) if print => {
                let _ = write!(out, "{}", world.history());
            }
            Ok(_) => {}
            Err(found) => {
                let _ = writeln!(out, "{found}");
                return ExitCode::FAILURE;
            }
        }
    }
    let _ =
        writeln!(out, "# {worlds} histories of {steps} operations from seed {first}: no breach");
    ExitCode::SUCCESS
}
