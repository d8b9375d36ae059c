//! A process that is killed while it writes the settings leaves a whole file, and loses nothing that
//! it was told is written (G7, G12).

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use ekiden_config::edit::{Change, SettingsFile};
use ekiden_config::{Config, FixedEnv, StoredKeys, Value};

use crate::common::BASE;

const CHILD: &str = "killed::a_child_that_writes_until_it_is_killed";
/// The bound of the key that counts.
const MOST: u64 = 100_000;

#[test]
fn g12_kill_9_loses_no_acknowledged_setting() {
    rounds(15);
}

#[test]
#[ignore = "takes minutes; before a release"]
fn g12_kill_9_a_thousand_times_loses_no_acknowledged_setting() {
    rounds(1_000);
}

fn rounds(count: u64) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    std::fs::write(&path, format!("# Mine.\n{BASE}[journal]\nentries_max = 1 # counts\n")).unwrap();
    let mut last = 0;
    for round in 0..count {
        let told = kill_one(folder.path(), round);
        let text = std::fs::read_to_string(&path).unwrap();
        let config = Config::load(&path, &FixedEnv::new()).unwrap().config;
        let kept = u64::from(config.journal.entries_max);
        assert!(kept >= told.max(last), "round {round}: {told} told, {kept} kept");
        assert!(text.starts_with("# Mine.\n") && text.ends_with(" # counts\n"), "{text}");
        StoredKeys::open(folder.path()).unwrap();
        last = kept;
    }
    assert!(last > count);
    // The next writer sweeps what the dead left.
    let file = SettingsFile::at(&path);
    let change = Change::Set { path: "reset_hour".into(), value: Value::Integer(2) };
    let seen = file.read().unwrap().hash;
    file.change(&seen, &[change], &FixedEnv::new(), None).unwrap();
    let names = std::fs::read_dir(folder.path()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let drafts: Vec<String> =
        names.filter(|name| name.starts_with(".ekiden-draft-config.toml")).collect();
    assert_eq!(drafts, Vec::<String>::new());
}

/// Starts a child, kills it somewhere in its work, and gives the last number that it was told is
/// written.
fn kill_one(folder: &Path, round: u64) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([CHILD, "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{}", folder.display()).unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut left = round % 5;
    let (mut last, mut killed) = (0, false);
    while let Some(Ok(line)) = lines.next() {
        // The harness may have begun the line.
        let Some((_, number)) = line.rsplit_once("kept ") else { continue };
        last = number.parse().unwrap();
        if left == 0 && !killed {
            for _ in 0..round * 7_919 % 200_000 {
                std::hint::spin_loop();
            }
            child.kill().unwrap();
            killed = true;
        }
        left = left.saturating_sub(1);
    }
    child.wait().unwrap();
    last
}

#[test]
#[ignore = "a child of the other tests"]
fn a_child_that_writes_until_it_is_killed() {
    let mut folder = String::new();
    std::io::stdin().read_line(&mut folder).unwrap();
    let folder = Path::new(folder.trim());
    if folder.as_os_str().is_empty() {
        return;
    }
    let path = folder.join("config.toml");
    let file = SettingsFile::at(&path);
    let config = Config::load(&path, &FixedEnv::new()).unwrap().config;
    let mut out = std::io::stdout();
    for number in u64::from(config.journal.entries_max) + 1..MOST {
        let change =
            Change::Set { path: "journal.entries_max".into(), value: Value::Integer(number) };
        let seen = file.read().unwrap().hash;
        file.change(&seen, &[change], &FixedEnv::new(), None).unwrap();
        writeln!(out, "kept {number}").unwrap();
        out.flush().unwrap();
        StoredKeys::set(folder, "a", &secrecy::SecretString::from(format!("k{number}"))).unwrap();
    }
}
