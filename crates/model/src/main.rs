//! `ekiden-model --seed N --steps M [--worlds K]`: long runs of generated histories. Exits with 1
//! at the first breach, whose shortest history is printed.

use std::io::{Write as _, stdout};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut out = stdout().lock();
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str, usual: u64| {
        let at = words.iter().position(|word| word == name);
        at.and_then(|at| words.get(at + 1)?.parse().ok()).unwrap_or(usual)
    };
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
