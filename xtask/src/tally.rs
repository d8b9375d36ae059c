//! Counting tests from what the runners print. It does not guess: a runner whose closing line is
//! missing has failed.

use std::fmt;
use std::ops::AddAssign;

use crate::command::Ended;

/// How many tests passed, failed, and were left out. A check without tests counts as one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Tally {
    pub(crate) const PASSED: Self = Self { passed: 1, failed: 0, skipped: 0 };
    pub(crate) const FAILED: Self = Self { passed: 0, failed: 1, skipped: 0 };
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(out, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

/// Whose closing lines to read.
#[derive(Clone, Copy)]
pub(crate) enum Runner {
    /// `cargo nextest run`
    Nextest,
    /// `cargo test`, one closing line a binary.
    Libtest,
    /// `pytest`
    Pytest,
    /// `node --test`, its TAP summary.
    Node,
    /// The soak: `12 passed, 0 failed` alone on its line.
    Soak,
}

/// Reads the counts of a runner that has ended.
pub(crate) fn count(runner: Runner, ended: &Ended) -> Tally {
    let mut tally = Tally::default();
    let mut closed = false;
    for line in &ended.lines {
        let line = line.trim();
        let closing = match runner {
            Runner::Nextest => line.starts_with("Summary ["),
            Runner::Libtest => line.starts_with("test result:"),
            Runner::Pytest => pytest_closes(line),
            Runner::Node => {
                line.starts_with("# pass ")
                    || line.starts_with("# fail ")
                    || line.starts_with("# skipped ")
            }
            Runner::Soak => soak_closes(line),
        };
        if closing {
            closed = true;
            tally += match runner {
                Runner::Node => node(line),
                Runner::Nextest | Runner::Libtest | Runner::Pytest | Runner::Soak => numbers(line),
            };
        }
    }
    if !(ended.good && closed) && tally.failed == 0 {
        tally += Tally::FAILED;
    }
    tally
}

/// `12 passed, 1 failed in 0.41s`, with or without a frame of `=`.
fn pytest_closes(line: &str) -> bool {
    let line = line.trim_matches(['=', ' ']);
    line.starts_with(|first: char| first.is_ascii_digit())
        && line.contains(" in ")
        && ["passed", "failed", "error"].iter().any(|word| line.contains(word))
}

/// `12 passed, 0 failed`
fn soak_closes(line: &str) -> bool {
    line.strip_suffix(" failed").and_then(|rest| rest.split_once(" passed, ")).is_some_and(
        |(passed, failed)| passed.parse::<u64>().is_ok() && failed.parse::<u64>().is_ok(),
    )
}

/// `3 passed`, `1 failed` and their like, anywhere in the line.
fn numbers(line: &str) -> Tally {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut tally = Tally::default();
    for pair in words.windows(2) {
        let [number, word] = pair else { continue };
        let Ok(number) = number.trim_start_matches('(').parse::<u64>() else { continue };
        match word.trim_matches(['.', ',', ';', ')']) {
            "passed" => tally.passed += number,
            "failed" | "error" | "errors" => tally.failed += number,
            "timed" => tally.failed += number,
            "skipped" | "ignored" => tally.skipped += number,
            _ => {}
        }
    }
    tally
}

/// `# pass 3`
fn node(line: &str) -> Tally {
    let number = line.rsplit(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0);
    let mut tally = Tally::default();
    match line.split(' ').nth(1) {
        Some("pass") => tally.passed = number,
        Some("skipped") => tally.skipped = number,
        _ => tally.failed = number,
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(runner: Runner, good: bool, lines: &[&str]) -> Tally {
        let lines = lines.iter().map(ToString::to_string).collect();
        count(runner, &Ended { good, lines })
    }

    fn tally(passed: u64, failed: u64, skipped: u64) -> Tally {
        Tally { passed, failed, skipped }
    }

    #[test]
    fn every_runner_s_closing_line_is_counted() {
        let line = "     Summary [   1.2s] 12 tests run: 9 passed (1 slow), 2 failed, 1 timed out, 3 skipped";
        assert_eq!(after(Runner::Nextest, false, &[line]), tally(9, 3, 3));
        let line = "test result: ok. 4 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out";
        assert_eq!(after(Runner::Libtest, true, &[line, line]), tally(8, 0, 2));
        let line = "===== 1 failed, 10 passed, 2 skipped in 2.10s =====";
        assert_eq!(after(Runner::Pytest, false, &[line]), tally(10, 1, 2));
        assert_eq!(after(Runner::Pytest, true, &["7 passed in 0.1s"]), tally(7, 0, 0));
        let line = "12 passed, 1 failed";
        assert_eq!(after(Runner::Soak, false, &["3 failed", line]), tally(12, 1, 0));
        let lines = ["# tests 3", "# pass 3", "# fail 0", "# skipped 1"];
        assert_eq!(after(Runner::Node, true, &lines), tally(3, 0, 1));
    }

    #[test]
    fn a_runner_that_broke_before_it_counted_has_failed() {
        assert_eq!(after(Runner::Nextest, false, &["error: could not compile"]), Tally::FAILED);
        assert_eq!(after(Runner::Libtest, true, &[]), Tally::FAILED);
        let line = "test result: ok. 4 passed; 0 failed; 0 ignored";
        assert_eq!(after(Runner::Libtest, false, &[line]), tally(4, 1, 0));
    }
}
