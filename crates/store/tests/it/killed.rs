//! A process that is killed at any moment, under load, loses nothing that it was told is kept, and
//! leaves a sound file (G12).

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use ekiden_store::{
    AttemptState, Bounds, Catalog, Entry, Place, Record, StateFolder, Store, Tokens, What,
};
use rusqlite::Connection;

use crate::made::{Chance, attempt, call, open, out};

const CHILD: &str = "killed::a_child_that_writes_until_it_is_killed";
/// Entries and places that are kept; far more than one round writes.
const KEPT: u64 = 4_000;

const BOUNDS: Bounds = Bounds {
    journal_max: KEPT as usize,
    ledger_max: 3_000,
    ledger_days: 30,
    places_max: 100_000,
    bytes_max: 32 << 20,
};

#[test]
fn g12_kill_9_loses_nothing_acknowledged() {
    rounds(25, 1);
}

#[test]
#[ignore = "takes minutes; before a release"]
fn g12_kill_9_a_thousand_times_loses_nothing_acknowledged() {
    rounds(1_000, 2);
}

fn rounds(count: u32, seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    let chance = &mut Chance(seed);
    let (mut acknowledged, mut written) = (0, 0);
    for round in 0..count {
        let last = kill_one(folder.path(), acknowledged, chance);
        assert!(last >= acknowledged);
        acknowledged = last;
        written = check(folder.path(), acknowledged, written, round);
        // What was written without being acknowledged is there as well.
        acknowledged = acknowledged.max(written);
    }
    assert!(acknowledged > u64::from(count), "{acknowledged}");
}

/// Starts a child that goes on after `from`, kills it at some moment, and gives the last number
/// that it was told is kept.
fn kill_one(folder: &Path, from: u64, chance: &mut Chance) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([CHILD, "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let order = format!("{}\n{from}\n{}\n", folder.display(), chance.next());
    let mut input = child.stdin.take().unwrap();
    input.write_all(order.as_bytes()).unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // Killed after so many answers, and then somewhere within the next batch.
    let mut left = chance.below(12);
    let (mut last, mut killed) = (from, false);
    while let Some(Ok(line)) = lines.next() {
        // The harness may have begun the line.
        let Some((_, number)) = line.rsplit_once("kept ") else { continue };
        last = number.parse().unwrap();
        if left == 0 && !killed {
            for _ in 0..chance.below(400_000) {
                std::hint::spin_loop();
            }
            child.kill().unwrap();
            killed = true;
        }
        left = left.saturating_sub(1);
    }
    assert!(killed, "the child ended by itself after {last}");
    child.wait().unwrap();
    drop(input);
    last
}

/// The last number that is in the file.
fn check(folder: &Path, acknowledged: u64, before: u64, round: u32) -> u64 {
    let names: BTreeSet<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    let known = ["ekiden.sqlite", "ekiden.sqlite-shm", "ekiden.sqlite-wal", "lock", "owner"];
    assert!(names.iter().all(|name| known.contains(&name.as_str())), "{names:?}");

    let store = open(folder, BOUNDS);
    store.flush().unwrap();
    let entries = store.journal(usize::MAX);
    let last = entries.first().map_or(0, |entry| entry.number);
    assert!(last >= acknowledged, "round {round}: {last} of {acknowledged}");
    let oldest = last.saturating_sub(KEPT - 1).max(1);
    let expected: Vec<_> = (oldest..=last).rev().collect();
    let numbers: Vec<_> = entries.iter().map(|entry| entry.number).collect();
    assert!(numbers == expected, "round {round}: gaps since {before}");
    // What was written together is there together.
    let places: BTreeSet<_> = store
        .recall()
        .into_iter()
        .filter_map(|record| {
            let Record::Quarantined { place, quarantine } = record else { return None };
            assert_eq!(place, place_of(quarantine.since_ms));
            Some(quarantine.since_ms)
        })
        .collect();
    let first = last.saturating_sub(PLACES - 1).max(1);
    assert!((first..=last).all(|number| places.contains(&number)), "round {round}");
    assert!(store.attempts(1).iter().all(|row| row.began_ms == last), "round {round}");
    drop(store);
    let file = Connection::open(folder.join(ekiden_store::FILE_NAME)).unwrap();
    let sound: String = file.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok", "round {round}");
    last
}

/// Places take turns.
const PLACES: u64 = 500;

fn place_of(number: u64) -> Place {
    Place {
        session: format!("session-{}", number % PLACES).into(),
        queue: "default".into(),
        route: "a/m".into(),
    }
}

fn records(number: u64) -> Vec<Record> {
    let name = format!("ek-{number}");
    let quarantine = ekiden_engine::Quarantine { since_ms: number, ..out(1) };
    let row = ekiden_store::AttemptRow {
        began_ms: number,
        output: Tokens::Reported(number),
        ..attempt(&name, 1, AttemptState::Complete)
    };
    let what = What::Slept { ms: number };
    let mut records = vec![
        Record::Quarantined { place: place_of(number), quarantine },
        Record::Journal(Entry { number, at_ms: number, call: Some(name.as_str().into()), what }),
        Record::Attempt(row),
        Record::Call(call(&name, 1)),
    ];
    if number.is_multiple_of(50) {
        let json = "x".repeat(60_000).into();
        records.push(Record::Catalog(Catalog { provider: "a".into(), version: 1, json }));
    }
    records
}

#[test]
#[ignore = "is killed by the other tests here"]
fn a_child_that_writes_until_it_is_killed() {
    let mut lines = std::io::stdin().lines().map_while(Result::ok);
    let (Some(folder), Some(from), Some(seed)) = (lines.next(), lines.next(), lines.next()) else {
        return;
    };
    let (mut number, mut chance): (u64, _) = (from.parse().unwrap(), Chance(seed.parse().unwrap()));
    let owned = StateFolder::claim(Path::new(&folder)).unwrap();
    owned.announce("127.0.0.1:1").unwrap();
    let store = open(owned.path(), BOUNDS);
    loop {
        for _ in 0..=chance.below(60) {
            number += 1;
            store.write(records(number));
        }
        store.flush().unwrap();
        let mut said = std::io::stdout().lock();
        writeln!(said, "kept {number}").unwrap();
        said.flush().unwrap();
    }
}
