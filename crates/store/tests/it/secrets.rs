//! What must not be on disk is not there, in no byte of any file.

use std::fs;

use ekiden_engine::Class;
use ekiden_store::{Bounds, Evidence, Record, Store, What};

use crate::made::{entry, open, place, quarantined, said};

#[test]
fn r17_no_key_and_no_prompt_is_in_the_file_or_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Bounds::default());
    let a = place("s", "a/m");
    let known = "correct-horse-battery";
    let text = format!(
        "Incorrect API key provided: sk-proj-MARKERabcdef0123456789. Bearer {known}. \
         VISIBLE words stay {}TAILMARKER",
        "x ".repeat(400)
    );
    let kept = |class| {
        Evidence::kept(class, Some(401), Some("sk-ant-CODEMARKER99"), None, &text, &[known])
    };
    let quarantine = |class, evidence| What::Quarantined {
        place: a.clone(),
        class,
        until_ms: None,
        parole_ms: None,
        evidence,
    };
    store.write(vec![
        quarantined(&a, 1),
        entry(1, quarantine(Class::Auth, kept(Class::Auth))),
        // Made by hand, past the one who should have masked it.
        entry(2, said(&a, Class::Auth, "Bearer sk-live-MARKER0123456789 is VISIBLE")),
        entry(3, said(&a, Class::ContentFilter, "PROMPTMARKER")),
        entry(
            4,
            What::Cooled {
                route: "a/m".into(),
                ms: 1,
                class: Class::InvalidRequest,
                evidence: Evidence {
                    param: Some("messages[3]".into()),
                    message: Some("PROMPTMARKER".into()),
                    ..Evidence::default()
                },
            },
        ),
        Record::Turned { day: 1 },
    ]);
    store.flush().unwrap();
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap()).collect();
    assert!(files.iter().any(|file| file.file_name().to_string_lossy().ends_with("-wal")));
    let has = |word: &str| {
        let in_file =
            |bytes: Vec<u8>| bytes.windows(word.len()).any(|part| part == word.as_bytes());
        files.iter().any(|file| in_file(fs::read(file.path()).unwrap()))
    };
    assert!(has("VISIBLE"), "the search finds what is there");
    for marker in ["MARKER", "correct-horse", "TAILMARKER", "PROMPTMARKER", "CODEMARKER"] {
        assert!(!has(marker), "{marker}");
    }
    let longest = store.journal(10).into_iter().filter_map(|entry| {
        let What::Quarantined { evidence, .. } = entry.what else { return None };
        evidence.message
    });
    assert_eq!(longest.map(|text| text.chars().count()).max(), Some(400));
}
