//! The house rules that no lint knows. It reads lines, not syntax, so it asks only what lines can
//! answer; clippy and rustc do the rest.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::Context as _;

use crate::digest::sections;
use crate::project::Project;
use crate::tally::Tally;
use crate::threats;

/// Lines of one file, its inline tests not counted.
const LINES_MAX: usize = 600;
/// Names that say nothing about what the thing does.
const EMPTY_NAMES: [&str; 3] = ["Manager", "Helper", "Util"];
const ITEMS: [&str; 8] = ["fn", "struct", "enum", "trait", "mod", "type", "union", "const"];

pub(crate) fn check(project: &Project) -> anyhow::Result<Tally> {
    let mut wrong = Vec::new();
    for folder in ["crates", "xtask", "fuzz"] {
        for path in project.files(folder, ".rs")? {
            let name = project.name(&path);
            let text = fs::read_to_string(&path).with_context(|| name.clone())?;
            wrong.extend(complaints(&name, &text));
        }
    }
    wrong.extend(unlinted(project)?);
    wrong.extend(threats::complaints(project)?);
    anyhow::ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(Tally::PASSED)
}

/// Manifests that do not take the workspace's lints. One takes a copy, which must be one.
fn unlinted(project: &Project) -> anyhow::Result<Vec<String>> {
    let root = fs::read_to_string(project.root.join("Cargo.toml"))?;
    let wanted = lints(&root, "[workspace.lints.");
    let mut wrong = Vec::new();
    for package in &project.packages {
        let path = package["manifest_path"].as_str().context("a package without a manifest")?;
        let manifest = fs::read_to_string(path).with_context(|| path.to_owned())?;
        let taken = sections(&manifest, |head| head == "[lints]").contains("workspace = true");
        if !taken && lints(&manifest, "[lints.") != wanted {
            let name = project.name(Path::new(path));
            wrong.push(format!("{name}: its lints are not the workspace's"));
        }
    }
    Ok(wrong)
}

/// The lints of a manifest. `unsafe_code` may be denied where the workspace forbids it, since a file
/// cannot expect what is forbidden.
fn lints(manifest: &str, start: &str) -> BTreeSet<String> {
    let lines = sections(manifest, |head| head.starts_with(start));
    let lines = lines.lines().filter(|line| line.contains('=') && !line.starts_with('#'));
    lines.filter(|line| !line.starts_with("unsafe_code ")).map(str::to_owned).collect()
}

fn complaints(name: &str, text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let for_tests = is_for_tests(name);
    let code = before_tests(text);
    let lines = code.lines().count();
    if lines > LINES_MAX && !for_tests {
        wrong.push(format!("{name}: {lines} lines; {LINES_MAX} are allowed without tests"));
    }
    if !text.starts_with("//!") && !for_tests {
        wrong.push(format!("{name}: opens with no module docs"));
    }
    for (index, line) in code.lines().enumerate() {
        if let Some(item) = item_name(line) {
            if item.starts_with("get_") {
                wrong.push(format!("{name}:{}: `{item}`: no name begins with get_", index + 1));
            }
            if EMPTY_NAMES.iter().any(|empty| item.contains(empty)) {
                wrong.push(format!("{name}:{}: `{item}` says nothing", index + 1));
            }
        }
    }
    wrong
}

/// Whether the file holds tests alone.
pub(crate) fn is_for_tests(name: &str) -> bool {
    name.ends_with("tests.rs") || name.split('/').any(|part| part == "tests" || part == "benches")
}

/// The text up to an inline test module, which house style puts last.
fn before_tests(text: &str) -> &str {
    let mut at = 0;
    let mut marked = None;
    for line in text.split_inclusive('\n') {
        if line.trim_end() == "#[cfg(test)]" {
            marked = Some(at);
        } else if let Some(start) = marked.take()
            && line.starts_with("mod ")
            && line.trim_end().ends_with('{')
        {
            return text.get(..start).unwrap_or(text);
        }
        at += line.len();
    }
    text
}

/// What the line declares, if it declares something.
fn item_name(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().filter(|word| {
        !matches!(*word, "pub" | "async" | "unsafe" | "extern" | "\"C\"" | "pub(crate)")
    });
    let first = words.next()?;
    let mut name = if ITEMS.contains(&first) { words.next()? } else { return None };
    if first == "const" && name == "fn" {
        name = words.next()?;
    }
    name.split(|c: char| !(c.is_alphanumeric() || c == '_')).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_from_its_declaration() {
        assert_eq!(item_name("    pub(crate) const fn get_it(&self) {"), Some("get_it"));
        assert_eq!(item_name("pub struct PoolManager<'a> {"), Some("PoolManager"));
        assert_eq!(item_name("let get_it = 1;"), None);
        assert_eq!(item_name("/// fn get_it()"), None);
    }

    #[test]
    fn a_copy_of_the_lints_is_compared_without_its_one_exception() {
        let root = "[workspace.lints.rust]\nunsafe_code = \"forbid\"\nmissing_docs = \"deny\"\n";
        let copy = "[lints.rust]\nunsafe_code = \"deny\"\nmissing_docs = \"deny\"\n[x]\na = 1\n";
        assert_eq!(lints(root, "[workspace.lints."), lints(copy, "[lints."));
        let old = "[lints.rust]\nunsafe_code = \"deny\"\n";
        assert_ne!(lints(root, "[workspace.lints."), lints(old, "[lints."));
    }

    #[test]
    fn each_broken_rule_is_named_once() {
        let fine = "//! Docs.\nfn it() {}\n";
        assert!(complaints("a.rs", fine).is_empty());
        assert_eq!(complaints("a.rs", "fn get_it() {}\n").len(), 2);
        let long = format!("//! Docs.\n{}", "\n".repeat(LINES_MAX));
        assert_eq!(complaints("a.rs", &long).len(), 1);
        assert!(complaints("crates/x/tests/a.rs", &long).is_empty());
        let tested = format!("//! Docs.\n#[cfg(test)]\nmod tests {{\n{}}}\n", "\n".repeat(900));
        assert!(complaints("a.rs", &tested).is_empty());
    }
}
