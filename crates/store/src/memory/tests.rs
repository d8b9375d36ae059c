use ekiden_engine::{Class, LiftedBy};

use super::*;
use crate::entry::What;
use crate::record::Tokens;

fn place(session: &str, route: &str) -> Place {
    Place { session: session.into(), queue: "default".into(), route: route.into() }
}

fn quarantine(day: u32) -> Quarantine {
    Quarantine {
        class: Class::ServerError,
        day,
        since_ms: 1,
        until_ms: None,
        parole_ms: Some(60_001),
        paroles: 0,
    }
}

fn row(attempt: u32, state: AttemptState) -> AttemptRow {
    AttemptRow {
        call: "c1".into(),
        attempt,
        place: place("s", "a/m"),
        began_ms: 1,
        took_ms: 2,
        state,
        class: None,
        status: Some(200),
        input: Tokens::Estimated(10),
        output: Tokens::Reported(3),
        cached: None,
        cache_written: None,
        cost: None,
        token: None,
        wasted: false,
    }
}

#[test]
fn r17_a_restart_finds_what_holds_and_a_new_day_finds_nothing() {
    let store = MemoryStore::default();
    let (a, b) = (place("s", "a/m"), place("s", "b/m"));
    store.write(vec![
        Record::Quarantined { place: a.clone(), quarantine: quarantine(7) },
        Record::Quarantined { place: b.clone(), quarantine: quarantine(7) },
        Record::Lifted { place: a.clone(), by: LiftedBy::Success },
        Record::Verified { place: a.clone(), day: 7 },
    ]);
    let kept = store.recall();
    assert_eq!(
        kept,
        [
            Record::Quarantined { place: b, quarantine: quarantine(7) },
            Record::Verified { place: a.clone(), day: 7 },
        ]
    );
    store.write(vec![Record::Unverified { place: a }, Record::Turned { day: 8 }]);
    assert_eq!(store.recall(), []);
}

#[test]
fn r32_the_journal_is_bounded_and_newest_first() {
    let store = MemoryStore::new(Bounds { journal_max: 3, ..Bounds::default() });
    for number in 0..5 {
        let what = What::Turned { day: number as u32 };
        store.write(vec![Record::Journal(Entry { number, at_ms: number, call: None, what })]);
    }
    let numbers: Vec<_> = store.journal(10).iter().map(|entry| entry.number).collect();
    assert_eq!(numbers, [4, 3, 2]);
    assert_eq!(store.journal(1).len(), 1);
}

#[test]
fn r34_an_attempt_has_one_row_however_often_it_is_told_of() {
    let store = MemoryStore::default();
    store.write(vec![Record::Attempt(row(1, AttemptState::Sent))]);
    store.write(vec![Record::Attempt(row(2, AttemptState::Sent))]);
    store.write(vec![Record::Attempt(row(1, AttemptState::Complete))]);
    store.write(vec![Record::Attempt(row(1, AttemptState::Unknown))]);
    let rows: Vec<_> = store.attempts(10).iter().map(|row| (row.attempt, row.state)).collect();
    assert_eq!(rows, [(2, AttemptState::Sent), (1, AttemptState::Complete)]);
}

#[test]
fn r01_deleted_queues_are_remembered() {
    let store = MemoryStore::default();
    store.write(vec![Record::QueueDeleted { queue: "old".into() }]);
    assert!(store.deleted_queues().contains("old"));
}

#[test]
fn places_are_bounded_and_what_does_not_fit_is_counted() {
    let store = MemoryStore::new(Bounds { places_max: 2, ..Bounds::default() });
    for session in ["a", "b", "c", "a"] {
        store.write(vec![Record::Quarantined {
            place: place(session, "r"),
            quarantine: quarantine(1),
        }]);
    }
    assert_eq!((store.recall().len(), store.dropped()), (2, 1));
}
