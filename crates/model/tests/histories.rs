//! Recorded histories and what an engine says to them. The build for WebAssembly replays the same
//! files. After a change that is meant: `cargo test -p ekiden-model -- --ignored bless_histories`.

use std::fs;
use std::path::{Path, PathBuf};

use ekiden_model::run_history;

fn recorded() -> Vec<(PathBuf, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("histories");
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_history = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        name.is_some_and(|name| name.ends_with(".txt") && !name.ends_with(".out.txt"))
    };
    files.filter(is_history).map(|path| (path.clone(), path.with_extension("out.txt"))).collect()
}

#[test]
fn recorded_histories_give_what_they_gave() {
    let recorded = recorded();
    assert!(!recorded.is_empty());
    for (history, expected) in recorded {
        let said = run_history(&fs::read_to_string(&history).unwrap()).unwrap();
        // A checkout on Windows may have other line ends.
        let expected = fs::read_to_string(&expected).unwrap_or_default().replace('\r', "");
        let line = said.lines().zip(expected.lines()).position(|(one, other)| one != other);
        assert!(said == expected, "{} differs from line {line:?} on", history.display());
    }
}

#[test]
#[ignore = "writes crates/model/histories/*.out.txt"]
fn bless_histories() {
    for (history, out) in recorded() {
        fs::write(out, run_history(&fs::read_to_string(history).unwrap()).unwrap()).unwrap();
    }
}
