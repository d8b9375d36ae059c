//! The kept inputs, on a stable toolchain: what fuzzing has reached and found stays reached and mended.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use std::path::{Path, PathBuf};

use ekiden_fuzz::TARGETS;

fn folder(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(kind)
}

fn feed(name: &str) {
    let (_, target) = TARGETS.into_iter().find(|(known, _)| *known == name).unwrap();
    let folder = folder("corpus").join(name);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(files.len() > 5, "{name} has hardly an input");
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        let held = std::panic::catch_unwind(|| target(&bytes)).is_ok();
        assert!(held, "fed with {}", file.display());
    }
}

#[test]
fn g1_event_streams_are_cut_the_same_whatever_the_transport_does() {
    feed("framing");
}

#[test]
fn r13_no_answer_with_an_error_in_it_is_whole() {
    feed("answers");
}

#[test]
fn g1_what_no_edit_names_stays_byte_for_byte() {
    feed("requests");
}

#[test]
fn s3_any_text_has_one_class_and_a_believable_wait() {
    feed("classifying");
}

#[test]
fn g7_any_file_is_read_or_refused_and_an_edit_keeps_its_comments() {
    feed("configuring");
}

#[test]
fn r33_the_engine_and_the_reference_model_agree() {
    feed("deciding");
}

#[test]
fn r33_any_lines_are_a_history_or_refused() {
    feed("replaying");
}

#[test]
fn g14_the_end_of_an_answer_lies_in_one_place() {
    feed("speaking");
}

#[test]
fn every_target_can_be_fuzzed() {
    let manifest = std::fs::read_to_string(folder("Cargo.toml")).unwrap();
    for (name, _) in TARGETS {
        assert!(
            manifest.contains(&format!("name = \"{name}\"")),
            "{name} is not in fuzz/Cargo.toml"
        );
        let text =
            std::fs::read_to_string(folder("fuzz_targets").join(format!("{name}.rs"))).unwrap();
        assert!(text.contains(&format!("ekiden_fuzz::{name}(")), "{name}.rs feeds something else");
    }
    let size: u64 = walk(&folder("corpus"));
    assert!(size < 2 << 20, "the kept inputs have {size} bytes; `cargo xtask fuzz --minimise`");
}

fn walk(folder: &Path) -> u64 {
    let mut size = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        size += if kind.is_dir() { walk(&entry.path()) } else { entry.metadata().unwrap().len() };
    }
    size
}
