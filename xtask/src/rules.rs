//! Which numbered rule is named by which test. It reads names of tests only: whether a test proves
//! its rule is for its reader to say.

use std::collections::BTreeMap;
use std::path::Path;

use crate::project::Project;
use crate::report::say;

/// The families of rules and how many each has.
const FAMILIES: [(char, u32); 6] = [('r', 48), ('g', 14), ('d', 7), ('h', 7), ('c', 9), ('p', 6)];

pub(crate) fn show(project: &Project) -> anyhow::Result<()> {
    let mut named: BTreeMap<(char, u32), u32> = BTreeMap::new();
    for folder in ["crates", "packages", "tests", "fuzz"] {
        for ending in [".rs", ".mjs", ".ts", ".py"] {
            for path in project.files(folder, ending)? {
                for rule in rules_of(&path)? {
                    *named.entry(rule).or_default() += 1;
                }
            }
        }
    }
    for (family, last) in FAMILIES {
        let first = u32::from(family != 'r');
        let (have, missing): (Vec<u32>, Vec<u32>) =
            (first..=last).partition(|number| named.contains_key(&(family, *number)));
        let tests: u32 = have.iter().filter_map(|number| named.get(&(family, *number))).sum();
        let family = family.to_ascii_uppercase();
        let list: Vec<String> = missing.iter().map(|number| format!("{family}{number}")).collect();
        say(&format!("{family}: {} rules named by {tests} tests; by none: {}", have.len(), {
            if list.is_empty() { "-".to_owned() } else { list.join(" ") }
        }));
    }
    Ok(())
}

fn rules_of(path: &Path) -> anyhow::Result<Vec<(char, u32)>> {
    let text = std::fs::read_to_string(path)?;
    let test = |line: &&str| {
        ["fn ", "async fn ", "def ", "async def ", "test(", "it("]
            .iter()
            .any(|start| line.trim_start().starts_with(start))
    };
    Ok(text.lines().filter(test).flat_map(rules_in).collect())
}

/// `fn r13_an_empty_answer()` and `test('R13: …')` both name R13.
fn rules_in(line: &str) -> Vec<(char, u32)> {
    line.split(|c: char| !c.is_ascii_alphanumeric())
        .filter_map(|word| {
            let family = word.chars().next()?.to_ascii_lowercase();
            let number = word.get(1..)?.parse().ok()?;
            FAMILIES.iter().any(|(known, _)| *known == family).then_some((family, number))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_s_name_says_its_rules() {
        assert_eq!(rules_in("fn r21_and_r22_a_cooldown() {"), [('r', 21), ('r', 22)]);
        assert_eq!(rules_in("test('G4: sessions by header', () => {"), [('g', 4)]);
        assert!(rules_in("fn reads_x1_and_utf8() {").is_empty());
    }
}
