//! A full disk, a locked file, a narrow bound: recording stops and heals, serving never waits (G12).

use std::fs;
use std::path::Path;

use ekiden_engine::Speed;
use ekiden_store::{AttemptState, Bounds, Record, Store, Trouble, What};

use crate::made::{attempt, entry, open, place, quarantined};

const WIDE: Bounds = Bounds {
    journal_max: 10_000,
    ledger_max: 1_000_000,
    ledger_days: 30,
    places_max: 100_000,
    bytes_max: 256 << 20,
};

fn facts(count: u32) -> Vec<Record> {
    let session = |n| format!("a-session-with-a-name-as-long-as-clients-make-them-{n:08}");
    (0..count).map(|n| quarantined(&place(&session(n), "openrouter/vendor/model"), 1)).collect()
}

fn rows(numbers: std::ops::Range<u32>) -> Vec<Record> {
    let row = |n: u32| attempt(&format!("ek-1234abcd-{n}"), 1, AttemptState::Complete);
    numbers.map(|n| Record::Attempt(row(n))).collect()
}

fn bytes(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).unwrap();
    files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

#[test]
fn g12_a_full_file_keeps_nobody_waiting_and_recording_heals_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    // `PRAGMA max_page_count` under the hood: SQLite says the same as on a full disk.
    let store = open(folder.path(), Bounds { bytes_max: 300 << 10, ..WIDE });
    store.keep(facts(10)).unwrap();
    store.write(facts(5_000));
    store.write((1..=100).map(|n| entry(n, What::Slept { ms: n })).collect());
    assert_eq!(store.flush(), Err(Trouble::Full));
    assert_eq!(store.trouble(), Some(Trouble::Full));
    assert_eq!(store.recall().len(), 10, "what was there is there");
    assert_eq!((store.journal(1_000).len(), store.dropped()), (0, 100));

    store.bound(WIDE);
    store.write(vec![entry(101, What::Slept { ms: 1 })]);
    store.flush().unwrap();
    assert_eq!(store.trouble(), None);
    assert_eq!(store.recall().len(), 5_000, "facts were held back, not lost");
    assert_eq!((store.journal(1_000).len(), store.dropped()), (1, 100));
}

#[test]
fn g12_a_full_file_holds_back_only_so_much() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Bounds { bytes_max: 300 << 10, ..WIDE });
    for _ in 0..6 {
        store.write(facts(5_000));
        assert_eq!(store.flush(), Err(Trouble::Full));
    }
    assert!(store.dropped() >= 13_000, "{}", store.dropped());
    let dropped = store.dropped();
    store.bound(WIDE);
    store.flush().unwrap();
    assert_eq!((store.recall().len(), store.dropped()), (5_000, dropped));
}

#[test]
fn r34_the_oldest_rows_make_room_for_new_ones_and_for_facts() {
    let folder = tempfile::tempdir().unwrap();
    let bounds = Bounds { bytes_max: 2 << 20, ..WIDE };
    let store = open(folder.path(), bounds);
    for batch in 0..30 {
        store.keep(rows(batch * 1_000..(batch + 1) * 1_000)).unwrap();
    }
    store.keep(facts(1_000)).unwrap();
    assert_eq!((store.recall().len(), store.dropped()), (1_000, 0));
    let newest = store.attempts(1).remove(0);
    assert_eq!(&*newest.call, "ek-1234abcd-29999");
    assert!(bytes(folder.path()) <= bounds.bytes_max, "{}", bytes(folder.path()));
    assert!(store.attempts(usize::MAX).len() > 1_000);
}

#[test]
fn r34_an_attempt_that_stays_open_while_thousands_pass_has_one_row() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), WIDE);
    let long = |state| vec![Record::Attempt(attempt("long", 1, state))];
    store.keep(long(AttemptState::Sent)).unwrap();
    for batch in 0..20 {
        store.keep(rows(batch * 1_000..(batch + 1) * 1_000)).unwrap();
    }
    store.keep(long(AttemptState::Complete)).unwrap();
    store.keep(rows(19_999..20_001)).unwrap();
    let kept = store.attempts_of("long");
    assert_eq!((kept.len(), kept[0].state), (1, AttemptState::Complete));
    assert_eq!(store.attempts_of("ek-1234abcd-19999").len(), 1, "the newest are known too");
    drop(store);
    let store = open(folder.path(), WIDE);
    store.keep(rows(19_999..20_001)).unwrap();
    assert_eq!(store.attempts_of("ek-1234abcd-19999").len(), 1, "after a restart too");
}

#[test]
fn a_narrower_bound_makes_the_file_smaller() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), WIDE);
    store.keep(rows(0..10_000)).unwrap();
    store.keep(facts(100)).unwrap();
    drop(store);
    let before = bytes(folder.path());
    let bounds = Bounds { bytes_max: 512 << 10, ..WIDE };
    let store = open(folder.path(), bounds);
    store.flush().unwrap();
    assert_eq!(store.recall().len(), 100);
    assert!(!store.attempts(10).is_empty());
    drop(store);
    let after = bytes(folder.path());
    assert!(before > bounds.bytes_max && after <= bounds.bytes_max, "{before} {after}");
}

#[test]
fn g12_a_file_that_another_program_holds_is_written_when_it_lets_go() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), WIDE);
    store.keep(facts(1)).unwrap();
    let other = rusqlite::Connection::open(store.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.write(facts(20));
    store.write(rows(0..20));
    assert_eq!(store.flush(), Err(Trouble::Locked));
    assert_eq!(store.recall().len(), 1, "reading goes on");
    other.execute_batch("ROLLBACK").unwrap();
    store.flush().unwrap();
    assert_eq!((store.recall().len(), store.attempts(100).len(), store.dropped()), (20, 20, 0));
}

#[test]
fn g12_a_quarantine_is_in_the_file_within_a_second_though_nobody_asks_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), WIDE);
    let path = store.path().to_owned();
    store.write(facts(1));
    let (found, wait) = std::sync::mpsc::channel();
    let looking = std::thread::spawn(move || {
        let other = rusqlite::Connection::open(path).unwrap();
        let count = "SELECT count(*) FROM quarantine";
        let count = || other.query_row::<i64, _, _>(count, [], |row| row.get(0)).unwrap();
        while count() == 0 {
            std::thread::yield_now();
        }
        let _ = found.send(());
    });
    wait.recv_timeout(std::time::Duration::from_secs(1)).unwrap();
    looking.join().unwrap();
}

#[test]
fn r30_a_sum_that_is_gathered_is_in_the_file_soon_though_nothing_else_comes() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), WIDE);
    let path = store.path().to_owned();
    let sped = |tokens| Record::Sped {
        session: "s".into(),
        route: "a/m".into(),
        day: 1,
        speed: Speed { tokens, speaking_ms: 1 },
    };
    store.write(vec![sped(1)]);
    store.write(vec![sped(2)]);
    let (found, wait) = std::sync::mpsc::channel();
    let looking = std::thread::spawn(move || {
        let other = rusqlite::Connection::open(path).unwrap();
        let sum = "SELECT ifnull(sum(tokens), 0) FROM speed";
        while other.query_row::<i64, _, _>(sum, [], |row| row.get(0)).unwrap() != 2 {
            std::thread::yield_now();
        }
        let _ = found.send(());
    });
    wait.recv_timeout(std::time::Duration::from_secs(4)).unwrap();
    looking.join().unwrap();
}

#[test]
fn reading_does_not_wait_for_writing_nor_writing_for_reading() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), WIDE);
    store.keep(facts(10)).unwrap();
    let reader = rusqlite::Connection::open(store.path()).unwrap();
    // A reader that has begun sees what was there then, and is in nobody's way.
    reader.execute_batch("BEGIN; SELECT count(*) FROM quarantine").unwrap();
    store.keep(facts(20)).unwrap();
    assert_eq!(store.recall().len(), 20);
    let count = "SELECT count(*) FROM quarantine";
    let seen: i64 = reader.query_row(count, [], |row| row.get(0)).unwrap();
    assert_eq!(seen, 10);
}

#[test]
fn g13_what_was_written_before_the_end_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), WIDE);
    store.write(facts(50));
    drop(store);
    let names = || fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(names(), 1, "the log went into the file");
    assert_eq!(open(folder.path(), WIDE).recall().len(), 50);
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_the_file_and_its_log() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), WIDE);
    store.keep(facts(1)).unwrap();
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(Result::unwrap).collect();
    assert!(files.len() > 1);
    for file in files {
        let mode = file.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", file.file_name());
    }
}
