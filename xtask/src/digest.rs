//! Whether the committed WebAssembly file was built from the sources beside it. It compares texts
//! and needs no compiler; it cannot tell whether the build was honest.

use std::fmt::Write as _;
use std::fs;

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};

use crate::house::is_for_tests;
use crate::project::Project;

/// The built file.
pub(crate) const FILE: &str = "crates/wasm/ekiden.wasm";
/// What it was built from.
pub(crate) const STORED: &str = "crates/wasm/ekiden.wasm.digest";
/// The crates that go into it.
const CRATES: [&str; 3] = ["crates/engine", "crates/classify", "crates/wasm"];

/// SHA-256, in hexadecimal.
pub(crate) fn of(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        // Writing into a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// One digest of everything that decides what the file will be: the sources without their tests,
/// the three manifests, the build profile, and the packages and versions that the lock file pins.
pub(crate) fn of_sources(project: &Project) -> anyhow::Result<String> {
    let mut all = String::new();
    for folder in CRATES {
        for path in project.files(&format!("{folder}/src"), "")? {
            let name = project.name(&path);
            if !is_for_tests(&name) {
                let bytes = fs::read(&path).with_context(|| name.clone())?;
                let _ = writeln!(all, "{name} {}", of(&bytes));
            }
        }
        let manifest = project.root.join(folder).join("Cargo.toml");
        let text = fs::read_to_string(&manifest).with_context(|| folder.to_owned())?;
        all.push_str(&without_tests(&text));
    }
    all.push_str(&profile(&fs::read_to_string(project.root.join("Cargo.toml"))?));
    all.push_str(&locked(project)?);
    Ok(of(all.as_bytes()))
}

/// A manifest's sections but those for tests.
fn without_tests(manifest: &str) -> String {
    sections(manifest, |head| !head.starts_with("[dev-dependencies") && head != "[lints]")
}

/// The sections of the profile that the file is built with, and of the one that it inherits from.
fn profile(manifest: &str) -> String {
    sections(manifest, |head| head == "[profile.wasm]" || head == "[profile.release]")
}

/// The lines of the wanted sections, their heads included.
pub(crate) fn sections(manifest: &str, wanted: impl Fn(&str) -> bool) -> String {
    let mut head = "";
    let mut kept = String::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            head = line.trim();
        }
        if wanted(head) {
            kept.push_str(line.trim_end());
            kept.push('\n');
        }
    }
    kept
}

/// Names and versions, without the folders that cargo shows behind those of this workspace.
fn locked(project: &Project) -> anyhow::Result<String> {
    let words = [
        "tree",
        "--locked",
        "--package=ekiden-wasm",
        "--edges=normal,build",
        "--prefix=none",
        "--target=wasm32-unknown-unknown",
    ];
    let tree = project.cargo(&words).read()?;
    let names = tree.lines().filter_map(|line| line.split(" (").next());
    let mut names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    names.sort_unstable();
    names.dedup();
    Ok(names.join("\n"))
}

/// Writes the digest for the file that was just built.
pub(crate) fn store(project: &Project, file: &[u8], compiler: &str) -> anyhow::Result<()> {
    let text = format!(
        "# Written by `cargo xtask wasm`, compared by `cargo xtask test`.\n\
         sources {}\nfile {}\ncompiler {compiler}\n",
        of_sources(project)?,
        of(file),
    );
    fs::write(project.root.join(STORED), text).context(STORED)
}

/// Compares the committed file and the sources with the stored digest.
pub(crate) fn check(project: &Project) -> anyhow::Result<()> {
    let stored = fs::read_to_string(project.root.join(STORED)).context(STORED)?;
    let file = fs::read(project.root.join(FILE)).context(FILE)?;
    let row =
        |name: &str| stored.lines().find_map(|line| line.strip_prefix(name)).map_or("", str::trim);
    anyhow::ensure!(row("file ") == of(&file), "{FILE} is not the file that {STORED} names");
    anyhow::ensure!(
        row("sources ") == of_sources(project)?,
        "{FILE} was built from other sources: run `cargo xtask wasm` and commit what it writes"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_the_one_that_others_compute() {
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(of(b"abc"), known);
    }

    #[test]
    fn what_only_tests_use_does_not_count() {
        let manifest = "[package]\nname = \"x\"\n[dev-dependencies]\na = \"1\"\n[dependencies]\n";
        assert_eq!(without_tests(manifest), "[package]\nname = \"x\"\n[dependencies]\n");
        assert_eq!(profile("[profile.dev]\na\n[profile.wasm]\nb\n"), "[profile.wasm]\nb\n");
    }
}
