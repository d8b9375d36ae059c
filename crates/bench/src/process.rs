//! Processes under test: started, looked at through `/proc`, ended. It ends no process that it did
//! not start.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};

use crate::clock;

/// How long a process may take to end when it is asked to.
const END_WAIT: Duration = Duration::from_secs(5);

/// A process that ends with this value.
pub(crate) struct Process {
    child: Child,
    name: &'static str,
}

/// CPU time of every thread of a process and of those that it started, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cpu {
    threads: BTreeMap<u32, u64>,
}

/// What a process and those that it started hold, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    /// Resident, summed: what they share counts for each.
    pub(crate) resident: f64,
    /// Resident, what they share divided among those who share it.
    pub(crate) proportional: f64,
}

impl Process {
    /// Starts a program; what it says goes to a file.
    pub(crate) fn start(
        name: &'static str,
        command: &mut Command,
        log: &Path,
    ) -> anyhow::Result<Self> {
        let out = fs::File::create(log).with_context(|| log.display().to_string())?;
        command.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(out);
        let child = command.spawn().with_context(|| format!("starting {name}"))?;
        Ok(Self { child, name })
    }

    /// Takes charge of a process that was started elsewhere.
    pub(crate) const fn of(name: &'static str, child: Child) -> Self {
        Self { child, name }
    }

    /// An error that says so, if it has ended by itself.
    pub(crate) fn still_runs(&mut self) -> anyhow::Result<()> {
        let ended = self.child.try_wait()?;
        ensure!(ended.is_none(), "{} ended: {}", self.name, ended.unwrap_or_default());
        Ok(())
    }

    /// As the system calls it.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn cpu(&self) -> anyhow::Result<Cpu> {
        let mut cpu = Cpu::default();
        for process in tree(self.child.id())? {
            // A thread may end while we look; then it has nothing more to tell.
            let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else { continue };
            for task in tasks.flatten() {
                let text = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
                let number = task.file_name().to_string_lossy().parse();
                let spent = text.split(' ').next().and_then(|spent| spent.parse().ok());
                if let (Ok(number), Some(spent)) = (number, spent) {
                    cpu.threads.insert(number, spent);
                }
            }
        }
        ensure!(!cpu.threads.is_empty(), "/proc tells no CPU time of {}", self.name);
        Ok(cpu)
    }

    pub(crate) fn memory(&self) -> anyhow::Result<Memory> {
        let mut memory = Memory::default();
        for process in tree(self.child.id())? {
            let path = format!("/proc/{process}/smaps_rollup");
            let text = fs::read_to_string(&path).context(path)?;
            let field = |name: &str| -> f64 {
                let line = text.lines().find_map(|line| line.strip_prefix(name));
                let digits = line.and_then(|line| line.split_whitespace().next());
                digits.and_then(|digits| digits.parse().ok()).unwrap_or(0.0)
            };
            memory.resident += field("Rss:") * 1024.0;
            memory.proportional += field("Pss:") * 1024.0;
        }
        Ok(memory)
    }

    fn stop(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        if cfg!(unix) {
            let id = self.child.id().to_string();
            let _ = Command::new("kill").args(["-TERM", &id]).status();
            let asked = clock::now();
            while asked.elapsed() < END_WAIT {
                if matches!(self.child.try_wait(), Ok(Some(_))) {
                    return;
                }
                clock::pause(Duration::from_millis(2));
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Cpu {
    /// What was spent since an earlier look, in microseconds.
    pub(crate) fn since(&self, earlier: &Self) -> f64 {
        let spent = self.threads.iter().map(|(thread, now)| {
            now.saturating_sub(earlier.threads.get(thread).copied().unwrap_or(0))
        });
        spent.sum::<u64>() as f64 / 1000.0
    }
}

/// A process and those that it started.
fn tree(root: u32) -> anyhow::Result<Vec<u32>> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").context("this system has no /proc")?.flatten() {
        let Ok(process) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        if let Some(parent) = after_name(&stat).nth(1).and_then(|text| text.parse::<u32>().ok()) {
            parents.push((process, parent));
        }
    }
    let mut found = vec![root];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(process, _)| *process));
        at += 1;
    }
    Ok(found)
}

/// The fields of `/proc/PID/stat` from the state on; the name before them may hold anything.
fn after_name(stat: &str) -> impl Iterator<Item = &str> {
    stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace()
}

/// The machine's CPU time, busy and in all, and what this process and its ended children used of
/// it, in ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MachineTime {
    busy: f64,
    all: f64,
    ours: f64,
}

impl MachineTime {
    pub(crate) fn read() -> anyhow::Result<Self> {
        let text = fs::read_to_string("/proc/stat").context("/proc/stat")?;
        let line = text.lines().next().unwrap_or_default();
        let ticks: Vec<f64> =
            line.split_whitespace().skip(1).take(8).filter_map(|text| text.parse().ok()).collect();
        ensure!(ticks.len() == 8, "/proc/stat is not as expected");
        let all: f64 = ticks.iter().sum();
        // Idle and waiting for the disk are the fourth and the fifth.
        let busy = all - ticks[3] - ticks[4];
        let own = fs::read_to_string("/proc/self/stat").context("/proc/self/stat")?;
        let ours = after_name(&own).skip(11).take(4).filter_map(|text| text.parse::<f64>().ok());
        Ok(Self { busy, all, ours: ours.sum() })
    }

    /// The share of the machine that others used since an earlier look, from 0 to 1. Right when
    /// everything that was started in between has ended.
    pub(crate) fn used_by_others_since(self, earlier: Self) -> f64 {
        let all = (self.all - earlier.all).max(1.0);
        (((self.busy - earlier.busy) - (self.ours - earlier.ours)) / all).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_spent_since_counts() {
        let at = |pairs: &[(u32, u64)]| Cpu { threads: pairs.iter().copied().collect() };
        let earlier = at(&[(1, 5_000), (2, 9_000)]);
        // Thread 2 has ended, thread 3 is new.
        assert!((at(&[(1, 8_000), (3, 2_000)]).since(&earlier) - 5.0).abs() < 1e-9);
    }

    #[test]
    fn a_name_with_blanks_and_brackets_is_passed_over() {
        let fields: Vec<&str> = after_name("12 (a b) c) S 7 8").collect();
        assert_eq!(fields, ["S", "7", "8"]);
    }
}
