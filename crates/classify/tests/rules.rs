//! The table of rules: its evidence, and its printed form.
#![expect(clippy::unwrap_used, reason = "a test may fail")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use ekiden_classify::{Rule, rules};
use serde_json::Value;

fn corpus_ids() -> BTreeSet<String> {
    include_str!("corpus.jsonl")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn s3_every_rule_cites_two_sources() {
    let ids = corpus_ids();
    for rule in rules() {
        let cites: BTreeSet<&str> = rule.cites.iter().copied().collect();
        assert!(cites.len() >= 2, "{} cites {cites:?}", rule.id);
        for cite in cites {
            assert!(cite.starts_with("https://") || ids.contains(cite), "{} cites {cite}", rule.id);
        }
    }
}

#[test]
fn s3_every_rule_has_its_own_name_and_something_to_match() {
    let mut names = BTreeSet::new();
    for rule in rules() {
        assert!(names.insert(rule.id), "{} twice", rule.id);
        assert!(
            !(rule.codes.is_empty() && rule.words.is_empty() && rule.statuses.is_empty()),
            "{}",
            rule.id
        );
        for pattern in rule.words.iter().chain(rule.unless).chain(rule.gate) {
            assert_eq!(
                *pattern,
                pattern.to_ascii_lowercase(),
                "{}: a pattern is lower case",
                rule.id
            );
            assert!(!pattern.starts_with('*') && !pattern.is_empty(), "{}: {pattern}", rule.id);
        }
    }
}

fn page_path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/classify.md")
}

fn list(items: &[&str]) -> String {
    let quoted: Vec<String> =
        items.iter().map(|item| format!("`{}`", item.replace('|', "\\|"))).collect();
    quoted.join(" ")
}

fn row(rule: &Rule) -> String {
    let statuses: Vec<String> = rule
        .statuses
        .iter()
        .map(|(first, last)| match (first, last) {
            (0, 0) => "none".to_owned(),
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first}–{last}"),
        })
        .collect();
    let class = if rule.long_wait_is_quota {
        format!("{}, quota_exhausted if the wait is an hour or more", rule.class.name())
    } else {
        rule.class.name().to_owned()
    };
    let mut row = format!("### {}\n\n**{class}**", rule.id);
    for (title, text) in [
        ("Status", statuses.join(", ")),
        ("Codes", list(rule.codes)),
        ("Words", list(rule.words)),
        ("Together with", list(rule.gate)),
        ("Unless", list(rule.unless)),
        ("Seen in", rule.cites.join(", ")),
    ] {
        if !text.is_empty() {
            write!(row, "\n\n{title}: {text}").unwrap();
        }
    }
    row
}

fn page() -> String {
    let mut page = String::from(
        "# How failures are classified\n\n\
         The rules in the order in which they are tried; the first that holds decides. This page is printed from the\n\
         table in `crates/classify/src/rules` (`cargo test -p ekiden-classify --test rules -- --ignored` writes it).\n\
         In words, `*` is a gap, `#` a number and `~` a word boundary; codes are compared without case and separators.\n",
    );
    for rule in rules() {
        write!(page, "\n{}\n", row(rule)).unwrap();
    }
    page
}

#[test]
fn s3_the_printed_table_is_fresh() {
    let printed = std::fs::read_to_string(page_path()).unwrap_or_default().replace("\r\n", "\n");
    assert!(printed == page(), "docs/classify.md is old: run the ignored test bless_docs");
}

#[test]
#[ignore = "writes docs/classify.md"]
fn bless_docs() {
    let path = page_path();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, page()).unwrap();
}
