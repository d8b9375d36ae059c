//! The program under test: started as people start it, looked at from outside, killed, started
//! again. It ends no process that it did not start.

use std::fs::{self, OpenOptions};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};

use crate::admin::Admin;
use crate::clock;
use crate::stage::PROVIDER_KEY;

/// How long it may take until it is ready, and until it has ended.
const START_WAIT: Duration = Duration::from_secs(20);
const END_WAIT: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The variable that holds the providers' key.
pub(crate) const KEY_VARIABLE: &str = "EKIDEN_SOAK_KEY";

/// A gateway that ends with this value.
pub(crate) struct Gateway {
    program: PathBuf,
    folder: PathBuf,
    pub(crate) file: PathBuf,
    pub(crate) addr: SocketAddr,
    child: Option<Child>,
    /// How often it was started.
    pub(crate) starts: u32,
}

/// What a process holds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Holds {
    /// Resident memory in bytes.
    pub(crate) resident: u64,
    /// Open files and sockets.
    pub(crate) descriptors: usize,
    pub(crate) threads: usize,
}

impl Gateway {
    /// Makes a folder of its own below `folder`. `config` gets the address and the state folder.
    pub(crate) fn prepare(
        program: &Path,
        folder: &Path,
        config: impl FnOnce(SocketAddr, &Path) -> String,
    ) -> anyhow::Result<Self> {
        let shown = || folder.display().to_string();
        if folder.exists() {
            fs::remove_dir_all(folder).with_context(shown)?;
        }
        fs::create_dir_all(folder).with_context(shown)?;
        // Somebody could take the port before the gateway does; then it says so and the run ends.
        let addr = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let file = folder.join("ekiden.toml");
        fs::write(&file, config(addr, &folder.join("state")))?;
        Ok(Self {
            program: program.to_owned(),
            folder: folder.to_owned(),
            file,
            addr,
            child: None,
            starts: 0,
        })
    }

    /// Starts it and waits until it is ready.
    pub(crate) async fn start(&mut self) -> anyhow::Result<()> {
        let log = OpenOptions::new().create(true).append(true).open(self.log())?;
        let mut command = Command::new(&self.program);
        command.args(["serve", "--config"]).arg(&self.file);
        command.env(KEY_VARIABLE, PROVIDER_KEY);
        command.env("HOME", &self.folder).env("USERPROFILE", &self.folder);
        for variable in ["EKIDEN_CONFIG", "EKIDEN_LISTEN", "EKIDEN_LOG", "EKIDEN_STATE_DIR"] {
            command.env_remove(variable);
        }
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().context("starting the gateway")?;
        self.child = Some(child);
        self.starts += 1;
        let begun = clock::now();
        while Admin::new(self.addr).reach("/readyz").await.is_err() {
            self.still_runs()?;
            ensure!(begun.elapsed() < START_WAIT, "it does not get ready: {}", self.said());
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    /// An error that says so, if it has ended by itself.
    pub(crate) fn still_runs(&mut self) -> anyhow::Result<()> {
        let Some(child) = &mut self.child else { bail!("it is not started") };
        if let Some(ended) = child.try_wait()? {
            bail!("it ended by itself ({ended}): {}", self.said());
        }
        Ok(())
    }

    /// `kill -9`, and nothing less.
    pub(crate) fn kill(&mut self) -> anyhow::Result<()> {
        if let Some(mut child) = self.child.take() {
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    /// Asks it to end, and says how long that took; an error if it has to be killed.
    pub(crate) async fn stop(&mut self) -> anyhow::Result<Duration> {
        let Some(mut child) = self.child.take() else { bail!("it is not started") };
        let asked = clock::now();
        if cfg!(unix) {
            Command::new("kill").args(["-TERM", &child.id().to_string()]).status()?;
        } else {
            child.kill()?;
        }
        while asked.elapsed() < END_WAIT {
            if let Some(ended) = child.try_wait()? {
                ensure!(ended.success() || cfg!(not(unix)), "it ended with {ended}");
                return Ok(asked.elapsed());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        child.kill()?;
        child.wait()?;
        bail!("it did not end within {END_WAIT:?}")
    }

    /// None where the system does not tell.
    pub(crate) fn holds(&self) -> Option<Holds> {
        let process = format!("/proc/{}", self.child.as_ref()?.id());
        let status = fs::read_to_string(format!("{process}/status")).ok()?;
        let field = |name: &str| -> Option<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        Some(Holds {
            resident: field("VmRSS:")? * 1024,
            descriptors: fs::read_dir(format!("{process}/fd")).ok()?.count(),
            threads: usize::try_from(field("Threads:")?).ok()?,
        })
    }

    /// All that it has written to its standard output and error.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(self.log()).unwrap_or_default()
    }

    fn log(&self) -> PathBuf {
        self.folder.join("output.log")
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// How busy the machine is: runnable processes on average over the last minute.
pub(crate) fn load() -> Option<f64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}
