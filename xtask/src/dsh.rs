//! The plugin for DeepSeek Harness: its types against two lines of the host, its unit tests, then the
//! real host with the packed plugin in it. The host is pinned and installed into a folder of its own
//! below `target/`, never into the machine.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::Value;

use crate::command::Command;
use crate::digest;
use crate::project::Project;
use crate::stages::watch;
use crate::tally::{Runner, Tally};

/// The plugin.
const PLUGIN: &str = "packages/dsh";
/// The tests in the real host.
const FOLDER: &str = "tests/dsh";
/// Test files that need a browser.
const BROWSER: &str = "browser.test.mjs";

/// By hand: fails when a test failed.
pub(crate) fn run(project: &Project, options: &[&str]) -> anyhow::Result<()> {
    let depth = match options {
        [] => Depth::Everything,
        ["--light"] => Depth::Light,
        other => anyhow::bail!("dsh has no option {}", other.join(" ")),
    };
    let tally = check(project, depth)?;
    anyhow::ensure!(tally.failed == 0, "the plugin for DeepSeek Harness: {tally}");
    Ok(())
}

/// How much is run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Without the browser.
    Light,
    /// All of it.
    Everything,
}

/// Types, unit tests, and the tests in the host.
pub(crate) fn check(project: &Project, depth: Depth) -> anyhow::Result<Tally> {
    let lab = Lab::install(project)?;
    let plugin = project.root.join(PLUGIN);
    dependencies(project, &plugin)?;
    let mut tally = Tally::default();
    for script in ["check", "check:next"] {
        lab.npm(&plugin, &["run", "--silent", script]).run()?;
        tally += Tally::PASSED;
    }
    let words = ["--test", "--test-reporter=tap", "test/**/*.test.ts"];
    tally += watch(Runner::Node, lab.node(&plugin, &words))?;
    let tarball = lab.pack(&plugin)?;
    tally += in_the_host(project, &lab, &tarball, depth)?;
    Ok(tally)
}

fn in_the_host(
    project: &Project,
    lab: &Lab,
    tarball: &Path,
    depth: Depth,
) -> anyhow::Result<Tally> {
    project.cargo(&["build", "--quiet", "--package", "ekiden"]).run()?;
    let lines = ["build", "--quiet", "--package", "ekiden-wasm", "--example", "lines"];
    project.cargo(&lines).run()?;
    let files: Vec<String> = project
        .files(FOLDER, ".test.mjs")?
        .iter()
        .filter(|path| depth == Depth::Everything || !path.ends_with(BROWSER))
        .map(|path| path.to_string_lossy().into_owned())
        .collect();
    // Two hosts at a time: each test waits for its own most of the time.
    let mut words = vec!["--test", "--test-reporter=tap", "--test-concurrency=2"];
    words.push("--test-timeout=120000");
    words.extend(files.iter().map(String::as_str));
    let built = project.target.join("debug");
    let program = |name: &str| format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let tests = lab
        .node(&project.root, &words)
        .with("DSH_LAB", &lab.folder)
        .with("DSH_PLUGIN", tarball)
        .with("EKIDEN_BIN", built.join(program("ekiden")))
        .with("EKIDEN_LINES", built.join("examples").join(program("lines")));
    watch(Runner::Node, tests)
}

/// The installed host with the Node that runs it.
struct Lab {
    folder: PathBuf,
    node: PathBuf,
    path: String,
}

impl Lab {
    #[expect(
        clippy::disallowed_methods,
        reason = "programs are found where this one would find them"
    )]
    fn install(project: &Project) -> anyhow::Result<Self> {
        let folder = project.target.join("dsh-lab");
        let script = format!("{FOLDER}/install.mjs");
        let into = folder.to_string_lossy();
        Command::new(&project.root, "node", &[&script, &into]).run()?;
        let text = fs::read_to_string(folder.join("lab.json")).context("the lab says nothing")?;
        let lab: Value = serde_json::from_str(&text).context("lab.json")?;
        let node = PathBuf::from(lab["node"].as_str().context("lab.json names no node")?);
        let bins = lab["bin"].as_array().context("lab.json names no folders of programs")?;
        let mut folders: Vec<PathBuf> =
            bins.iter().filter_map(Value::as_str).map(PathBuf::from).collect();
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        folders.extend(std::env::split_paths(&inherited));
        let path = std::env::join_paths(folders)?.to_string_lossy().into_owned();
        Ok(Self { folder, node, path })
    }

    fn node(&self, folder: &Path, words: &[&str]) -> Command {
        Command::new(folder, &self.node, words).with("PATH", &self.path)
    }

    fn npm(&self, folder: &Path, words: &[&str]) -> Command {
        Command::new(folder, npm(), words).with("PATH", &self.path)
    }

    /// The tarball that a user would install. The build is asked for by name: whether npm runs it
    /// before it packs is a matter of its settings.
    fn pack(&self, plugin: &Path) -> anyhow::Result<PathBuf> {
        self.npm(plugin, &["run", "--silent", "build"]).run()?;
        let into = self.folder.join("packed");
        fs::create_dir_all(&into)?;
        let place = into.to_string_lossy();
        let words = ["pack", "--json", "--ignore-scripts", "--loglevel=error"];
        let said =
            self.npm(plugin, &[&words[..], &["--pack-destination", &place]].concat()).read()?;
        let list: Value = serde_json::from_str(&said).context("what npm packed")?;
        let name = list[0]["filename"].as_str().context("npm names no tarball")?;
        Ok(into.join(name))
    }
}

/// The plugin's pinned development packages, unless they are there.
fn dependencies(project: &Project, plugin: &Path) -> anyhow::Result<()> {
    let stamp = project.target.join("dsh-lab").join("plugin.sha256");
    let digest = digest::of(&fs::read(plugin.join("package-lock.json"))?);
    let installed = plugin.join("node_modules").exists();
    if installed && fs::read_to_string(&stamp).is_ok_and(|old| old == digest) {
        return Ok(());
    }
    let words = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    Command::new(plugin, npm(), &words).run()?;
    fs::write(stamp, digest)?;
    Ok(())
}

const fn npm() -> &'static str {
    if cfg!(windows) { "npm.cmd" } else { "npm" }
}
