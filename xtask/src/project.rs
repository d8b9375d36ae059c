//! Where things are. It reads the tree and asks cargo, and remembers nothing.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::Value;

use crate::command::Command;

/// The workspace that this program belongs to.
pub(crate) struct Project {
    /// The folder of the workspace's Cargo.toml.
    pub(crate) root: PathBuf,
    /// Where cargo builds.
    pub(crate) target: PathBuf,
    /// What `cargo metadata` says of each member of the workspace.
    pub(crate) packages: Vec<Value>,
}

impl Project {
    pub(crate) fn find() -> anyhow::Result<Self> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = here.parent().context("xtask stands in no workspace")?.to_path_buf();
        let words = ["metadata", "--no-deps", "--format-version", "1"];
        let text = Command::new(&root, "cargo", &words).read()?;
        let mut metadata: Value = serde_json::from_str(&text).context("cargo metadata")?;
        let target = metadata["target_directory"].as_str().context("cargo names no target")?;
        let target = PathBuf::from(target);
        let Value::Array(packages) = metadata["packages"].take() else {
            anyhow::bail!("cargo metadata lists no packages")
        };
        Ok(Self { root, target, packages })
    }

    pub(crate) fn cargo(&self, words: &[&str]) -> Command {
        Command::new(&self.root, "cargo", words)
    }

    /// The path as people write it: from the root, with `/`.
    pub(crate) fn name(&self, path: &Path) -> String {
        let path = path.strip_prefix(&self.root).unwrap_or(path);
        let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
        parts.join("/")
    }

    /// All files below a folder of the project with this ending, sorted.
    pub(crate) fn files(&self, folder: &str, ending: &str) -> anyhow::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        let start = self.root.join(folder);
        if start.is_dir() {
            walk(&start, ending, &mut found)?;
        }
        found.sort();
        Ok(found)
    }
}

fn walk(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if !matches!(name.as_ref(), "target" | "node_modules") && !name.starts_with('.') {
                walk(&path, ending, found)?;
            }
        } else if name.ends_with(ending) {
            found.push(path);
        }
    }
    Ok(())
}
