//! Every transition as a row: each test checks its rows, and the same rows are the tables of
//! `docs/engine-tables.md`. After a change: `cargo test -p ekiden-engine -- --ignored bless_docs`.

mod attempts;
mod calls;
mod choices;
mod reactions;
mod seats;

use std::string::String;
use std::vec::Vec;
use std::{format, fs};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/engine-tables.md");

/// A table in Markdown.
fn table(
    title: &str,
    lead: &str,
    head: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head: Vec<String> = head.iter().map(|cell| (*cell).into()).collect();
    let rule: Vec<String> = head.iter().map(|_| "---".into()).collect();
    let body: String = rows.into_iter().map(|row| line(&row)).collect();
    format!("\n## {title}\n\n{lead}\n\n{}{}{body}", line(&head), line(&rule))
}

fn page() -> String {
    let mut page = String::from(
        "# The engine's tables\n\nPrinted from the rows of the engine's own table tests \
         (`crates/engine/src/tables/`): every row is checked, and a test fails when this page is \
         not what the rows say. Names are those of traces.\n",
    );
    for table in
        [reactions::page(), choices::page(), attempts::page(), seats::page(), calls::page()]
    {
        page.push_str(&table);
    }
    page
}

#[test]
fn docs_are_fresh() {
    // A checkout on Windows may have other line ends.
    let kept = fs::read_to_string(PATH).unwrap_or_default().replace('\r', "");
    assert!(kept == page(), "docs/engine-tables.md is not what the tables say: bless_docs");
}

#[test]
#[ignore = "writes docs/engine-tables.md"]
fn bless_docs() {
    fs::write(PATH, page()).unwrap();
}
