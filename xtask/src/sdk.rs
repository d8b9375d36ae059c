//! The official client libraries against the built gateway, in front of scripted upstreams. Their packages are pinned and installed
//! into a folder of their own below `target/`, never into the machine.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::command::Command;
use crate::digest;
use crate::project::Project;
use crate::stages::watch;
use crate::tally::{Runner, Tally};

/// Where the tests and their pinned packages stand.
const FOLDER: &str = "tests/sdk";

pub(crate) fn run(project: &Project) -> anyhow::Result<Tally> {
    let pinned = project.root.join(FOLDER).join("requirements.txt");
    let pinned_text = fs::read(&pinned).with_context(|| format!("{FOLDER}/requirements.txt"))?;
    let python = environment(project, &pinned, &pinned_text)?;
    project.cargo(&["build", "--quiet", "--package", "ekiden"]).run()?;
    let upstream = ["build", "--quiet", "--package", "ekiden-sim", "--example", "upstream"];
    project.cargo(&upstream).run()?;
    let program =
        project.target.join("debug").join(format!("ekiden{}", std::env::consts::EXE_SUFFIX));
    let words = ["-m", "pytest", FOLDER, "-q", "-p", "no:cacheprovider"];
    let pytest = Command::new(&project.root, python, &words)
        .with("EKIDEN_BIN", program)
        .with("PYTHONDONTWRITEBYTECODE", "1");
    watch(Runner::Pytest, pytest)
}

/// The Python of an environment that holds exactly the pinned packages.
fn environment(project: &Project, pinned: &Path, text: &[u8]) -> anyhow::Result<PathBuf> {
    let folder = project.target.join("sdk-venv");
    let bin = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
    let python = folder.join(bin);
    let stamp = folder.join("pinned.sha256");
    let digest = digest::of(text);
    if python.exists() && fs::read_to_string(&stamp).is_ok_and(|old| old == digest) {
        return Ok(python);
    }
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let (folder, pinned) = (folder.to_string_lossy(), pinned.to_string_lossy());
    let system = if cfg!(windows) { "python" } else { "python3" };
    Command::new(&project.root, system, &["-m", "venv", &folder])
        .run()
        .context("no virtual environment: install Python's venv module (Debian: python3-venv)")?;
    let words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", &pinned];
    Command::new(&project.root, &python, &words).run()?;
    fs::write(stamp, digest)?;
    Ok(python)
}
