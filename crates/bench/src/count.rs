//! Counts instructions with valgrind. It measures no time: counts are the same on a busy machine.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};

use crate::counted::{Step, TIMES};

/// Instructions that one step takes, for every step.
pub(crate) fn count(bench: &Path) -> anyhow::Result<Vec<(Step, f64)>> {
    Step::ALL
        .into_iter()
        .map(|step| {
            let with = collected(bench, step, "steps")?;
            let without = collected(bench, step, "preparation")?;
            Ok((step, with.saturating_sub(without) as f64 / TIMES as f64))
        })
        .collect()
}

fn collected(bench: &Path, step: Step, extent: &str) -> anyhow::Result<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(bench)
        .args(["step", step.name(), extent])
        .stdin(Stdio::null())
        .output()
        .context("valgrind cannot be started: apt-get install valgrind")?;
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "counting {} failed:\n{text}", step.name());
    match instructions(&text) {
        Some(count) => Ok(count),
        None => bail!("valgrind says no count:\n{text}"),
    }
}

/// The figure in callgrind's line `==1234== Collected : 56789`.
fn instructions(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.contains("Collected"))?;
    line.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read_from_callgrind_s_last_lines() {
        let text = "==7== Events    : Ir\n==7== Collected : 123456\n==7== \n";
        assert_eq!(instructions(text), Some(123_456));
        assert_eq!(instructions("==7== nothing"), None);
    }
}
