//! The settings file: any text is read or refused with a place, and an edit keeps what it does not touch.

use std::collections::BTreeMap;

use ekiden_config::edit::{Change, EditError, SettingsFile};
use ekiden_config::{Config, FixedEnv, Value};

/// The bytes are the file.
pub fn configuring(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let env = FixedEnv::new();
    match Config::parse(text, "config.toml", &env) {
        Ok(loaded) => {
            let again = Config::parse(text, "config.toml", &env);
            let digest = again.map(|again| again.config.digest());
            assert!(
                digest.is_ok_and(|digest| digest == loaded.config.digest()),
                "read differently"
            );
            edited(text, &env);
        }
        Err(problems) => {
            let told = problems.to_string();
            assert!(!told.is_empty(), "refused without a word");
        }
    }
}

/// Sets one key and looks at all the rest.
fn edited(text: &str, env: &FixedEnv) {
    let Ok(folder) = tempfile::tempdir() else { return };
    let path = folder.path().join("config.toml");
    if std::fs::write(&path, text).is_err() {
        return;
    }
    let file = SettingsFile::at(&path);
    let Ok(seen) = file.read() else { return };
    let change = Change::Set { path: "defaults.retries".to_owned(), value: Value::Integer(3) };
    let changed = match file.change(&seen.hash, &[change], env, None) {
        Ok(changed) => changed,
        // Values that hold each other may refuse any change; they do so with words.
        Err(EditError::Invalid(problems)) => {
            assert!(!problems.to_string().is_empty(), "refused without a word");
            return;
        }
        Err(error) => {
            assert!(!error.to_string().is_empty(), "refused without a word");
            return;
        }
    };
    let after = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        Config::parse(&after, "config.toml", env).is_ok(),
        "an edit leaves a file that is refused"
    );
    let kept = comments(&after);
    for (comment, times) in comments(text) {
        let left = kept.get(comment).copied().unwrap_or_default();
        assert!(left >= times, "an edit has lost a comment");
    }
    assert!(file.read().is_ok_and(|seen| seen.hash == changed.hash), "another text is on the disk");
}

/// Lines that hold a comment alone, and how often.
fn comments(text: &str) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for line in text.lines().map(str::trim).filter(|line| line.starts_with('#')) {
        *counts.entry(line).or_default() += 1;
    }
    counts
}
