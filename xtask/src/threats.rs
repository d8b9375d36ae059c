//! THREAT_MODEL.md against the tests that it names. It does not judge whether a test shows what is claimed.

use std::collections::BTreeSet;
use std::fs;

use anyhow::Context as _;

use crate::project::Project;

/// Parts of the product that must start no other program: a child would inherit the keys of its environment.
const CHILDLESS: [&str; 9] =
    ["engine", "classify", "dialect", "config", "store", "gateway", "console", "cli", "wasm"];

/// What is wrong, one line each.
pub(crate) fn complaints(project: &Project) -> anyhow::Result<Vec<String>> {
    let page = fs::read_to_string(project.root.join("THREAT_MODEL.md"))
        .context("THREAT_MODEL.md cannot be read")?;
    let mut known = BTreeSet::new();
    let mut wrong = Vec::new();
    for path in project.files("crates", ".rs")? {
        let text = fs::read_to_string(&path).with_context(|| project.name(&path))?;
        known.extend(functions(&text).map(str::to_owned));
        let name = project.name(&path);
        let childless = CHILDLESS.iter().any(|of| name.starts_with(&format!("crates/{of}/src/")));
        if childless && text.contains("process::Command") {
            wrong.push(format!("{name}: starts a program, which THREAT_MODEL.md denies"));
        }
    }
    for claim in claims(&page) {
        let missing = match claim.split_once(": ") {
            Some((file, title)) => {
                !fs::read_to_string(project.root.join(file)).is_ok_and(|text| text.contains(title))
            }
            None => !known.contains(claim),
        };
        if missing {
            wrong.push(format!("THREAT_MODEL.md: there is no test `{claim}`"));
        }
    }
    Ok(wrong)
}

/// Names of functions in a file.
fn functions(text: &str) -> impl Iterator<Item = &str> {
    text.split("fn ").skip(1).filter_map(|rest| rest.split_once('(')).map(|(name, _)| name.trim())
}

/// What in quotes is a test: a name of several words, or a file and the title of a test in it.
fn claims(page: &str) -> impl Iterator<Item = &str> {
    let quoted = page.split('`').skip(1).step_by(2);
    quoted.filter(|quoted| {
        let name =
            |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
        let titled = quoted.split_once(": ").is_some_and(|(file, _)| file.contains(".test."));
        titled || quoted.matches('_').count() > 2 && quoted.chars().all(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_titles_of_tests_are_told_from_other_quotes() {
        let page = "`keys.toml` and `g1_a_b_c`, `allowed_origins`, `a/b.test.ts: it holds`";
        assert_eq!(claims(page).collect::<Vec<_>>(), ["g1_a_b_c", "a/b.test.ts: it holds"]);
        let text = "async fn g1_a_b_c() {}\n    fn other (x: u8) {}";
        assert_eq!(functions(text).collect::<Vec<_>>(), ["g1_a_b_c", "other"]);
    }
}
