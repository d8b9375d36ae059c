//! A compiler for WebAssembly from Debian's packages, where rustup's server is out of reach. The
//! packages are unpacked below `target/` and never installed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::command::Command;
use crate::project::Project;
use crate::report::say;
use crate::wasm::{TARGET, Toolchain, words};

/// The newest compiler that Debian keeps for building browsers.
const COMPILER: &str = "rustc-web";
const SOURCES: &str = "rust-web-src";

pub(crate) fn toolchain(project: &Project) -> anyhow::Result<Toolchain> {
    let folder = project.target.join("wasm-toolchain");
    let root = folder.join("root");
    let packages = packages(project)?;
    unpack(&folder, &root, &packages)?;
    let lib = folder_ending(&root.join("usr/lib"), "-linux-gnu")?;
    let linker = file_starting(&root.join("usr/bin"), "wasm-ld")?;
    let rustc = root.join("usr/bin/rustc");
    link_sources(&root)?;
    let version = Command::new(&project.root, &rustc, &["--version"])
        .with("LD_LIBRARY_PATH", &lib)
        .read()?
        .trim()
        .to_owned();
    let mut all = words();
    all.push("-Zbuild-std=std,panic_abort");
    all.push("-Zbuild-std-features=optimize_for_size");
    let cargo = project
        .cargo(&all)
        .with("RUSTC", &rustc)
        .with("LD_LIBRARY_PATH", &lib)
        .with("RUSTC_BOOTSTRAP", "1")
        .with(&format!("CARGO_TARGET_{}_LINKER", TARGET.to_uppercase().replace('-', "_")), linker);
    let hidden = vec![(root, "rust")];
    Ok(Toolchain { cargo, hidden, version })
}

/// `package=version` of the compiler and of what it needs, as apt knows them.
fn packages(project: &Project) -> anyhow::Result<Vec<String>> {
    let apt_cache = |words: &[&str]| Command::new(&project.root, "apt-cache", words).read();
    if apt_cache(&["show", COMPILER]).is_err() {
        Command::new(&project.root, "apt-get", &["update", "-qq"])
            .run()
            .context("apt knows no rustc-web: run `apt-get update` as root")?;
    }
    let needs = |package: &str, start: &str| -> anyhow::Result<String> {
        let text = apt_cache(&["depends", package])?;
        let found = text.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
        let mut found = found.filter(|name| name.starts_with(start));
        Ok(found.next().with_context(|| format!("{package} needs no {start}*"))?.to_owned())
    };
    let development = needs(COMPILER, "libstd-rust-web-dev")?;
    let library = needs(&development, "libstd-rust-web-")?;
    let llvm = needs(&library, "libllvm")?;
    let linker = format!("lld-{}", llvm.trim_start_matches("libllvm"));
    [COMPILER, SOURCES, &development, &library, &llvm, &linker]
        .into_iter()
        .map(|package| {
            let text = apt_cache(&["policy", package])?;
            let version = text.lines().find_map(|line| line.trim().strip_prefix("Candidate: "));
            Ok(format!("{package}={}", version.with_context(|| package.to_owned())?))
        })
        .collect()
}

fn unpack(folder: &Path, root: &Path, packages: &[String]) -> anyhow::Result<()> {
    let stamp = folder.join("packages");
    let wanted = packages.join("\n");
    if fs::read_to_string(&stamp).is_ok_and(|have| have == wanted) {
        return Ok(());
    }
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    let files = folder.join("files");
    fs::create_dir_all(&files)?;
    say(&format!("fetching {}", packages.join(" ")));
    let mut words = vec!["download", "-qq"];
    words.extend(packages.iter().map(String::as_str));
    Command::new(&files, "apt-get", &words).run()?;
    for file in fs::read_dir(&files)? {
        let (file, root) = (file?.path(), root.to_string_lossy());
        Command::new(folder, "dpkg-deb", &["-x", &file.to_string_lossy(), &root]).run()?;
    }
    fs::remove_dir_all(&files)?;
    fs::write(stamp, wanted)?;
    Ok(())
}

/// Cargo looks for the library's sources beside the compiler; Debian keeps them elsewhere.
fn link_sources(root: &Path) -> anyhow::Result<()> {
    let place = root.join("usr/lib/rustlib/src");
    let link = place.join("rust");
    if link.join("library").is_dir() {
        return Ok(());
    }
    let sources = fs::read_dir(root.join("usr/src"))?
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.join("library").is_dir())
        .context("the sources of Rust's library are not where Debian keeps them")?;
    fs::create_dir_all(&place)?;
    if link.symlink_metadata().is_ok() {
        fs::remove_file(&link)?;
    }
    symlink(&sources, &link)
}

#[cfg(unix)]
fn symlink(sources: &Path, link: &Path) -> anyhow::Result<()> {
    std::os::unix::fs::symlink(sources, link).context("linking the sources")
}

#[cfg(not(unix))]
fn symlink(_: &Path, _: &Path) -> anyhow::Result<()> {
    anyhow::bail!("Debian's packages are for Debian; here, add rustup's target {TARGET}")
}

fn folder_ending(folder: &Path, ending: &str) -> anyhow::Result<PathBuf> {
    entry(folder, |name| name.ends_with(ending))
}

fn file_starting(folder: &Path, start: &str) -> anyhow::Result<PathBuf> {
    entry(folder, |name| name.starts_with(start))
}

fn entry(folder: &Path, wanted: impl Fn(&str) -> bool) -> anyhow::Result<PathBuf> {
    fs::read_dir(folder)
        .with_context(|| folder.display().to_string())?
        .flatten()
        .find(|entry| wanted(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .with_context(|| format!("nothing fits in {}", folder.display()))
}
