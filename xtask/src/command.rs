//! Running other programs. It never goes through a shell and never gives a program our input.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{self, Stdio};

use anyhow::Context as _;

use crate::report::say;

/// A program with its words, not yet started.
pub(crate) struct Command {
    inner: process::Command,
    shown: String,
}

/// How a program that was watched ended, with every line that it wrote.
pub(crate) struct Ended {
    pub(crate) good: bool,
    pub(crate) lines: Vec<String>,
}

impl Command {
    pub(crate) fn new(folder: &Path, program: impl AsRef<OsStr>, words: &[&str]) -> Self {
        let program = program.as_ref();
        let name = Path::new(program).file_name().unwrap_or(program).to_string_lossy();
        let mut inner = process::Command::new(program);
        inner.args(words).current_dir(folder).stdin(Stdio::null());
        Self { shown: format!("{name} {}", words.join(" ")), inner }
    }

    pub(crate) fn with(mut self, variable: &str, value: impl AsRef<OsStr>) -> Self {
        self.inner.env(variable, value);
        self
    }

    /// Runs it unseen and gives what it wrote to standard output.
    pub(crate) fn read(mut self) -> anyhow::Result<String> {
        let output = self.inner.output().with_context(|| self.missing())?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            anyhow::bail!("`{}` failed:\n{}", self.shown, said.trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs it in sight; a bad end is an error.
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let shown = self.shown.clone();
        anyhow::ensure!(self.watch()?.good, "`{shown}` failed");
        Ok(())
    }

    /// Runs it in sight and keeps what it wrote.
    pub(crate) fn watch(mut self) -> anyhow::Result<Ended> {
        let (reader, writer) = std::io::pipe()?;
        self.inner.stdout(writer.try_clone()?).stderr(writer);
        let mut child = self.inner.spawn().with_context(|| self.missing())?;
        // The command holds our ends of the pipe, which would never close.
        drop(self.inner);
        let mut lines = Vec::new();
        for line in BufReader::new(reader).split(b'\n') {
            let line = String::from_utf8_lossy(&line?).trim_end().to_owned();
            say(&line);
            lines.push(line);
        }
        Ok(Ended { good: child.wait()?.success(), lines })
    }

    fn missing(&self) -> String {
        let program = self.shown.split(' ').next().unwrap_or_default();
        let hint = match program {
            "node" | "npm" | "npm.cmd" => "install Node.js 20 or newer, with npm",
            "python3" | "python" => "install Python 3.9 or newer with its venv module",
            "apt-get" | "apt-cache" | "dpkg-deb" => {
                "without Debian's tools, add rustup's target wasm32-unknown-unknown"
            }
            _ => "install it and put it on the path",
        };
        format!("`{}` cannot be started: {hint}", self.shown)
    }
}
