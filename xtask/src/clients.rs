//! Real clients against the built gateway: installs them, pinned, into folders of their own below
//! `target/clients`, and starts the program that plays the faults. It judges nothing itself, and
//! installs nothing into the machine.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::command::Command;
use crate::digest;
use crate::project::Project;
use crate::stages::watch;
use crate::tally::{Runner, Tally};

/// Where the program and the lists of packages stand.
const FOLDER: &str = "tests/clients";

/// Installers that npm leaves out, and without which the package is empty: package and script.
const INSTALLERS: [(&str, &str); 3] = [
    ("@anthropic-ai/claude-code", "install.cjs"),
    ("opencode-ai", "postinstall.mjs"),
    ("cline", "postinstall.mjs"),
];

/// Everything, by hand: it takes twenty minutes.
pub(crate) fn run(project: &Project, options: &[&str]) -> anyhow::Result<()> {
    let page = project.root.join("docs").join("clients.md").to_string_lossy().into_owned();
    let mut words = Vec::new();
    for option in options {
        match *option {
            "--write" => words.extend(["--write", page.as_str()]),
            "--light" => words.push("--light"),
            only if only.starts_with("--only=") => words.push(only),
            other => anyhow::bail!("clients has no option {other}"),
        }
    }
    libraries(project)?;
    if !options.contains(&"--light") {
        agents(project)?;
    }
    program(project, &words)?.run()
}

/// The libraries alone, without the cases in which they try again for minutes.
pub(crate) fn light(project: &Project) -> anyhow::Result<Tally> {
    libraries(project)?;
    watch(Runner::Pytest, program(project, &["--light"])?)
}

fn program(project: &Project, options: &[&str]) -> anyhow::Result<Command> {
    project.cargo(&["build", "--quiet", "--package", "ekiden"]).run()?;
    let upstream = ["build", "--quiet", "--package", "ekiden-sim", "--example", "upstream"];
    project.cargo(&upstream).run()?;
    let built = format!("ekiden{}", std::env::consts::EXE_SUFFIX);
    let script = format!("{FOLDER}/run.py");
    let words: Vec<&str> = ["-B", &script].into_iter().chain(options.iter().copied()).collect();
    Ok(Command::new(&project.root, python(), &words)
        .with("EKIDEN_BIN", project.target.join("debug").join(built))
        .with("CLIENTS_FOLDER", below(project, "")))
}

fn libraries(project: &Project) -> anyhow::Result<()> {
    let list = project.root.join(FOLDER).join("requirements.txt");
    environment(project, "py", &list)?;
    if let Some(folder) = packages(project, "sdk")? {
        folder.settled()?;
    }
    Ok(())
}

fn agents(project: &Project) -> anyhow::Result<()> {
    environment(project, "aider", &project.root.join(FOLDER).join("aider.txt"))?;
    let Some(folder) = packages(project, "agents")? else { return Ok(()) };
    for (package, script) in INSTALLERS {
        let package = folder.path.join("node_modules").join(package);
        // A package for another machine has no script to run, and is told as missing later.
        if package.join(script).exists() {
            Command::new(&package, "node", &[script]).run()?;
        }
    }
    folder.settled()
}

/// A folder of packages that is being made.
struct Unsettled {
    path: PathBuf,
    digest: String,
}

impl Unsettled {
    /// Marks it as whole.
    fn settled(self) -> anyhow::Result<()> {
        fs::write(self.path.join(STAMP), self.digest).context("the mark of a whole installation")
    }
}

/// Holds the digest of the list that a folder was made of.
const STAMP: &str = "pinned.sha256";

/// Installs npm's packages of that list, unless they are there.
fn packages(project: &Project, name: &str) -> anyhow::Result<Option<Unsettled>> {
    let list = project.root.join(FOLDER).join(name);
    let path = below(project, name);
    let lock = list.join("package-lock.json");
    let mut text = fs::read(list.join("package.json"))?;
    if lock.exists() {
        text.extend(fs::read(&lock)?);
    }
    let digest = digest::of(&text);
    if !fresh(&path, &digest)? {
        return Ok(None);
    }
    fs::copy(list.join("package.json"), path.join("package.json"))?;
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    let quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
    let verb = if lock.exists() {
        fs::copy(&lock, path.join("package-lock.json"))?;
        "ci"
    } else {
        "install"
    };
    let words: Vec<&str> = [verb].into_iter().chain(quiet).collect();
    Command::new(&path, npm, &words).run()?;
    Ok(Some(Unsettled { path, digest }))
}

/// An environment of Python with the packages of that list, unless it is there.
fn environment(project: &Project, name: &str, list: &Path) -> anyhow::Result<()> {
    let path = below(project, name);
    let digest = digest::of(&fs::read(list)?);
    if !fresh(&path, &digest)? {
        return Ok(());
    }
    let words = ["-m", "venv", &path.to_string_lossy()];
    Command::new(&project.root, python(), &words)
        .run()
        .context("no virtual environment: install Python's venv module (Debian: python3-venv)")?;
    let bin = path.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let list = list.to_string_lossy();
    let words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", &list];
    Command::new(&project.root, bin, &words).run()?;
    Unsettled { path, digest }.settled()
}

/// Empties the folder, unless it was made of this list.
fn fresh(path: &Path, digest: &str) -> anyhow::Result<bool> {
    if fs::read_to_string(path.join(STAMP)).is_ok_and(|old| old == digest) {
        return Ok(false);
    }
    if path.exists() {
        fs::remove_dir_all(path)?;
    }
    fs::create_dir_all(path)?;
    Ok(true)
}

fn below(project: &Project, name: &str) -> PathBuf {
    project.target.join("clients").join(name)
}

const fn python() -> &'static str {
    if cfg!(windows) { "python" } else { "python3" }
}
