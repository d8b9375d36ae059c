//! Building the WebAssembly file, and proving that it decides as the native engine does. It accepts
//! no file that asks its host for anything or that is larger than it may be.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::command::Command;
use crate::project::Project;
use crate::report::{Stopwatch, say};
use crate::stages::watch;
use crate::tally::{Runner, Tally};
use crate::{debian, digest};

/// Rust's name of the target.
pub(crate) const TARGET: &str = "wasm32-unknown-unknown";
/// Bytes that the built file may have.
const SIZE_MAX: usize = 400 * 1024;
/// WebAssembly's number for the section of imports.
const IMPORTS: u8 = 2;
/// The version of Binaryen that shrinks the file.
const BINARYEN: &str = "132.0.0";
const TEST: &str = "crates/wasm/tests/replay.test.mjs";

/// A compiler that can build the file.
pub(crate) struct Toolchain {
    /// The build, without its flags.
    pub(crate) cargo: Command,
    /// Folders whose names must not stand in the file, and what stands there instead.
    pub(crate) hidden: Vec<(PathBuf, &'static str)>,
    /// What it calls itself.
    pub(crate) version: String,
}

/// Whose compiler is asked first.
#[derive(Clone, Copy)]
pub(crate) enum From {
    /// Rustup's, and Debian's where it has no target.
    Rustup,
    /// Debian's.
    Debian,
}

pub(crate) fn build(project: &Project, from: From) -> anyhow::Result<()> {
    let watch = Stopwatch::start();
    let installed = match from {
        From::Rustup => installed(project)?,
        From::Debian => None,
    };
    let toolchain = match installed {
        Some(toolchain) => toolchain,
        None => debian::toolchain(project)?,
    };
    say(&format!("building with {}", toolchain.version));
    let out = project.target.join("wasm-build");
    // Of several that fit, rustc takes the last.
    let mut hidden = vec![(project.root.clone(), ".")];
    hidden.extend(toolchain.hidden);
    hidden.extend(downloaded().into_iter().map(|folder| (folder, "deps")));
    let flags: Vec<String> = hidden
        .iter()
        .map(|(folder, instead)| format!("--remap-path-prefix={}={instead}", folder.display()))
        .collect();
    // Cargo's own separator, since a folder's name may have blanks.
    let flags = flags.join("\u{1f}");
    toolchain.cargo.with("CARGO_ENCODED_RUSTFLAGS", flags).with("CARGO_TARGET_DIR", &out).run()?;
    let built = out.join(TARGET).join("wasm").join("ekiden_wasm.wasm");
    let small = shrink(project, &built)?;
    let bytes = fs::read(&small).with_context(|| small.display().to_string())?;
    inspect(&bytes)?;
    for (folder, _) in &hidden {
        let name = folder.to_string_lossy();
        let stands = bytes.windows(name.len()).any(|window| window == name.as_bytes());
        anyhow::ensure!(!stands, "the name of a folder of this machine stands in the file: {name}");
    }
    fs::write(project.root.join(digest::FILE), &bytes)?;
    digest::store(project, &bytes, &toolchain.version)?;
    say(&format!("{}: {} bytes in {:.1} s", digest::FILE, bytes.len(), watch.seconds()));
    Ok(())
}

/// Where cargo keeps the sources of packages.
#[expect(clippy::disallowed_methods, reason = "cargo alone says where its folder is")]
fn downloaded() -> Vec<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let sources = home.map(|home| home.join("registry").join("src"));
    let entries = sources.and_then(|sources| fs::read_dir(sources).ok());
    entries.into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Binaryen's optimiser takes away what LLVM leaves: an eighth of the file.
fn shrink(project: &Project, built: &Path) -> anyhow::Result<PathBuf> {
    let folder = project.target.join("wasm-opt");
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    let prefix = folder.to_string_lossy();
    let wanted = format!("binaryen@{BINARYEN}");
    let words = ["install", "--no-audit", "--no-fund", "--silent", "--prefix", &prefix, &wanted];
    fs::create_dir_all(&folder)?;
    Command::new(&project.root, npm, &words).run()?;
    let program = folder.join("node_modules/binaryen/bin/wasm-opt");
    let small = folder.join("ekiden.wasm");
    let (program, from, to) =
        (program.to_string_lossy(), built.to_string_lossy(), small.to_string_lossy());
    let words = [&program, "-Os", "--strip-debug", "--strip-producers", &from, "-o", &to];
    Command::new(&project.root, "node", &words).run()?;
    Ok(small)
}

/// The words of the build that every compiler gets.
pub(crate) fn words() -> Vec<&'static str> {
    vec!["build", "--quiet", "--package=ekiden-wasm", "--lib", "--profile=wasm", "--target", TARGET]
}

/// The compiler in use, if it has the target or rustup can add it.
fn installed(project: &Project) -> anyhow::Result<Option<Toolchain>> {
    if !has_target(project)? {
        let words = ["target", "add", TARGET];
        if Command::new(&project.root, "rustup", &words).read().is_err() || !has_target(project)? {
            say(&format!("rustup cannot add {TARGET} here"));
            return Ok(None);
        }
    }
    let rustc = |words: &[&str]| Command::new(&project.root, "rustc", words).read();
    let version = rustc(&["--version"])?.trim().to_owned();
    let sysroot = PathBuf::from(rustc(&["--print=sysroot"])?.trim());
    let hidden = vec![(sysroot, "rust")];
    Ok(Some(Toolchain { cargo: project.cargo(&words()), hidden, version }))
}

fn has_target(project: &Project) -> anyhow::Result<bool> {
    let words = ["--print=target-libdir", "--target", TARGET];
    let folder = Command::new(&project.root, "rustc", &words).read()?;
    let Ok(files) = fs::read_dir(folder.trim()) else { return Ok(false) };
    Ok(files.flatten().any(|file| file.file_name().to_string_lossy().starts_with("libcore")))
}

/// Refuses what no host could load safely.
fn inspect(bytes: &[u8]) -> anyhow::Result<()> {
    anyhow::ensure!(bytes.starts_with(b"\0asm"), "this is no WebAssembly file");
    anyhow::ensure!(bytes.len() <= SIZE_MAX, "{} bytes; {SIZE_MAX} are allowed", bytes.len());
    anyhow::ensure!(!sections(bytes)?.contains(&IMPORTS), "the file has imports");
    Ok(())
}

/// The numbers of the sections, in order.
fn sections(bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut rest = bytes.get(8..).context("the file ends in its head")?;
    let mut found = Vec::new();
    while let Some((id, tail)) = rest.split_first() {
        found.push(*id);
        let (length, tail) = leb128(tail).context("a section without length")?;
        rest = tail.get(length..).context("a section longer than the file")?;
    }
    Ok(found)
}

/// An unsigned number in WebAssembly's notation, and what follows it.
fn leb128(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0usize;
    for (index, byte) in bytes.iter().enumerate().take(5) {
        value |= usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((value, bytes.get(index + 1..)?));
        }
    }
    None
}

/// The committed file is fresh, well formed, and decides what the native engine decides.
pub(crate) fn check(project: &Project) -> anyhow::Result<Tally> {
    digest::check(project)?;
    inspect(&fs::read(project.root.join(digest::FILE))?)?;
    project.cargo(&["build", "--quiet", "--package=ekiden-wasm", "--example=lines"]).run()?;
    let name = format!("lines{}", std::env::consts::EXE_SUFFIX);
    let native = project.target.join("debug").join("examples").join(name);
    let words = ["--test", "--test-reporter=tap", TEST];
    let node = Command::new(&project.root, "node", &words).with("EKIDEN_LINES", native);
    let mut tally = Tally::PASSED;
    tally += watch(Runner::Node, node)?;
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_imports_is_refused() {
        let plain = b"\0asm\x01\0\0\0\x01\x01\0\x03\x02\0\0";
        assert_eq!(sections(plain).unwrap(), [1, 3]);
        assert!(inspect(plain).is_ok());
        let asking = b"\0asm\x01\0\0\0\x01\x01\0\x02\x01\0";
        assert!(inspect(asking).unwrap_err().to_string().contains("imports"));
        assert!(inspect(b"\0asm\x01\0\0\0\x01\x09\0").is_err());
    }

    #[test]
    fn a_length_of_several_bytes_is_read() {
        assert_eq!(leb128(&[0xe5, 0x8e, 0x26, 7]), Some((624_485, &[7][..])));
        assert_eq!(leb128(&[0x80]), None);
    }
}
