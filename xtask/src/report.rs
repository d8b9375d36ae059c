//! What the reader sees: each stage with its seconds, then one line that counts. It judges nothing.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Instant;

use crate::tally::Tally;

/// Writes one line to standard output. A reader who has gone away is no failure of the stage.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Seconds since it was made.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "the seconds of a stage are for people to read")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

/// The stages so far.
pub(crate) struct Report {
    rows: Vec<String>,
    total: Tally,
    watch: Stopwatch,
}

impl Report {
    pub(crate) fn new() -> Self {
        Self { rows: Vec::new(), total: Tally::default(), watch: Stopwatch::start() }
    }

    /// Runs one stage. One that breaks counts as one failure, and the next one still runs.
    pub(crate) fn stage(&mut self, name: &str, work: impl FnOnce() -> anyhow::Result<Tally>) {
        say(&format!("\n== {name}"));
        let watch = Stopwatch::start();
        let tally = work().unwrap_or_else(|error| {
            say(&format!("error: {error:#}"));
            Tally::FAILED
        });
        let verdict = if tally.failed == 0 { "ok" } else { "FAILED" };
        let row = format!("{name:<12} {:>7.1} s  {verdict:<6} {tally}", watch.seconds());
        say(&format!("== {row}"));
        self.rows.push(row);
        self.total += tally;
    }

    /// The table, then the closing line.
    pub(crate) fn close(self) -> ExitCode {
        say("\n== summary");
        self.rows.iter().for_each(|row| say(row));
        say(&format!("{:<12} {:>7.1} s", "all", self.watch.seconds()));
        say(&format!("{} passed, {} failed", self.total.passed, self.total.failed));
        if self.total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}
