//! The printed reference and schema are those of the table of keys.

use std::fs;
use std::path::PathBuf;

use ekiden_config::keys::{SECTIONS, keys_of};
use ekiden_config::reference::{markdown, schema};

fn docs(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

#[test]
fn the_reference_in_docs_is_fresh() {
    for (name, now) in [("configuration.md", markdown()), ("configuration.schema.json", schema())] {
        let written = fs::read_to_string(docs(name)).unwrap_or_default().replace("\r\n", "\n");
        assert!(
            written == now,
            "docs/{name} is old: run `cargo test -p ekiden-config -- --ignored bless`"
        );
    }
}

#[test]
#[ignore = "writes docs/"]
fn bless() {
    fs::create_dir_all(docs("")).unwrap();
    fs::write(docs("configuration.md"), markdown()).unwrap();
    fs::write(docs("configuration.schema.json"), schema()).unwrap();
}

#[test]
fn the_reference_names_every_key_in_both_languages() {
    let text = markdown();
    for key in SECTIONS.iter().flat_map(|section| section.groups).flat_map(|group| keys_of(*group))
    {
        assert!(text.contains(&format!("| `{}` |", key.name)), "{}", key.name);
        let chinese = key.about_zh.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
        assert!(chinese || key.name == "route", "{}", key.name);
    }
}

#[test]
fn the_example_of_the_reference_is_accepted() {
    let text = markdown();
    let example = text.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let env = crate::common::env(&[("DEEPSEEK_API_KEY", "k"), ("MOONSHOT_API_KEY", "k")]);
    let loaded = ekiden_config::Config::parse(example, "example", &env).unwrap();
    assert!(loaded.warnings.list.is_empty(), "{}", loaded.warnings);
}

#[test]
fn the_schema_is_json() {
    let value: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    assert_eq!(value["properties"]["reset_hour"]["maximum"], 23);
    let queue = &value["properties"]["queues"]["additionalProperties"]["properties"];
    assert_eq!(queue["retries"]["maximum"], 10);
    assert_eq!(queue["candidates"]["oneOf"][1]["items"]["oneOf"][1]["required"][0], "route");
}
