//! What came of it all: rules with their violations, figures beside them, and one line that counts.
//! It judges nothing.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::client::Heard;
use crate::judge::{Rule, Went};
use crate::plan::Plan;
use crate::stage::Played;

/// How many violations of each rule are shown; the file has all.
const SHOWN_MAX: usize = 5;
/// How much of a body is written into the file.
const BODY_MAX: usize = 4_000;

/// Writes one line to standard output. A reader who has gone away is no failure.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

#[derive(Debug, Default)]
pub(crate) struct Report {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    wrong: Vec<(Rule, String)>,
    went: BTreeMap<Went, u64>,
    figures: Vec<(String, String)>,
    cases: String,
}

impl Report {
    /// A rule was violated, outside any call.
    pub(crate) fn wrong(&self, rule: Rule, text: impl Into<String>) {
        let text = text.into();
        say(&format!("violated: {}: {text}", rule.says()));
        self.lock().wrong.push((rule, text));
    }

    /// A call is over.
    pub(crate) fn call(&self, went: Went, wrong: Vec<(Rule, String)>, plan: &Plan) {
        let mut inner = self.lock();
        *inner.went.entry(went).or_default() += 1;
        for (rule, text) in wrong {
            let text = format!("call {} on {}: {text}", plan.number, plan.queue);
            inner.wrong.push((rule, text));
        }
    }

    /// All that is known of a call that violates a rule.
    pub(crate) fn case(
        &self,
        plan: &Plan,
        heard: &Heard,
        played: &Played,
        wrong: &[(Rule, String)],
    ) {
        let mut text = String::new();
        for (rule, wrong) in wrong {
            let _ = writeln!(text, "== call {}: {}: {wrong}", plan.number, rule.says());
        }
        let _ = writeln!(
            text,
            "   {} streamed={} {:?} {:?} session={:?} deadline={:?} usage={}",
            plan.queue,
            plan.streamed,
            plan.agent,
            plan.manner,
            plan.session,
            plan.deadline_ms,
            plan.wants_usage
        );
        for one in &played.attempts {
            let begun = one.begun.saturating_duration_since(heard.asked);
            let ended = one.end.map(|end| (end.how, end.at.saturating_duration_since(heard.asked)));
            let act = format!("{:?}", one.act);
            let act: String = act.chars().take(600).collect();
            let _ = writeln!(text, "   {} at {begun:?} until {ended:?}: {act}", one.route());
            let _ = writeln!(text, "      said {:?}", shown(&one.said));
        }
        let took = heard.over - heard.asked;
        let _ = writeln!(text, "   heard {:?} after {took:?}: {:?}", heard.end, heard.head);
        let _ = writeln!(text, "      {:?}\n", shown(&heard.body));
        self.lock().cases.push_str(&text);
    }

    /// A line of the table.
    pub(crate) fn figure(&self, name: &str, value: impl Into<String>) {
        self.lock().figures.push((name.to_owned(), value.into()));
    }

    /// All that was written of calls.
    pub(crate) fn cases(&self) -> String {
        self.lock().cases.clone()
    }

    pub(crate) fn calls(&self) -> u64 {
        self.lock().went.values().sum()
    }

    pub(crate) fn violations(&self) -> usize {
        self.lock().wrong.len()
    }

    /// Shows the table and says whether all is well. `again` is how the same run is had again.
    pub(crate) fn close(&self, folder: &Path, again: &str) -> bool {
        let inner = self.lock();
        say("\n== figures");
        let went: Vec<String> =
            inner.went.iter().map(|(went, n)| format!("{n} {went:?}")).collect();
        say(&format!("{:<34} {}", "calls", went.join(", ").to_lowercase()));
        for (name, value) in &inner.figures {
            say(&format!("{name:<34} {value}"));
        }
        say("\n== rules");
        let mut failed = 0;
        for rule in Rule::ALL {
            let own: Vec<&String> =
                inner.wrong.iter().filter(|(of, _)| *of == rule).map(|(_, text)| text).collect();
            if own.is_empty() {
                say(&format!("{:<64} ok", rule.says()));
                continue;
            }
            failed += 1;
            say(&format!("{:<64} VIOLATED {} times", rule.says(), own.len()));
            for text in own.iter().take(SHOWN_MAX) {
                say(&format!("    {text}"));
            }
        }
        if failed > 0 {
            let file = folder.join("violations.txt");
            let mut text = format!("{again}\n\n{}", inner.cases);
            for (rule, wrong) in &inner.wrong {
                let _ = writeln!(text, "{}: {wrong}", rule.says());
            }
            match std::fs::write(&file, text) {
                Ok(()) => say(&format!("\nall of them, with every byte: {}", file.display())),
                Err(error) => say(&format!("\n{} cannot be written: {error}", file.display())),
            }
            say(&format!("again: {again}"));
        }
        say(&format!("\n{} passed, {failed} failed", Rule::ALL.len() - failed));
        failed == 0
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The beginning and the end, where it goes wrong.
fn shown(bytes: &[u8]) -> String {
    if bytes.len() <= BODY_MAX {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let (head, tail) = (&bytes[..BODY_MAX / 4], &bytes[bytes.len() - BODY_MAX * 3 / 4..]);
    let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
    format!("{head} …({} bytes)… {tail}", bytes.len())
}

/// The value that so many in a thousand do not exceed.
pub(crate) fn quantile(values: &[Duration], in_thousand: usize) -> Duration {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let index = sorted.len().saturating_sub(1) * in_thousand / 1_000;
    sorted.get(index).copied().unwrap_or_default()
}

/// Median, 99th of a hundred, and the longest, as text.
pub(crate) fn spread(values: &[Duration]) -> String {
    format!(
        "{} times, median {:.1?}, p99 {:.1?}, max {:.1?}",
        values.len(),
        quantile(values, 500),
        quantile(values, 990),
        quantile(values, 1_000)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_were_there() {
        let values: Vec<Duration> = (1..=100).rev().map(Duration::from_millis).collect();
        assert_eq!(quantile(&values, 0), Duration::from_millis(1));
        assert_eq!(quantile(&values, 500), Duration::from_millis(50));
        assert_eq!(quantile(&values, 990), Duration::from_millis(99));
        assert_eq!(quantile(&values, 1_000), Duration::from_millis(100));
        assert_eq!(quantile(&[], 500), Duration::ZERO);
    }
}
