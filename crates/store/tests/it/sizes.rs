//! What thirty days of 1,000 sessions with 20 candidates take. Times are for people to read: run
//! `cargo test --release -p ekiden-store --test it sizes -- --ignored --nocapture`.

use std::path::Path;
use std::time::Duration;

use ekiden_engine::{Class, Quarantine, Speed, Tally};
use ekiden_store::{
    AttemptRow, AttemptState, Bounds, Evidence, Place, Record, Store, SumBy, SumFilter, What,
};

use crate::made::{attempt, call, entry, open, out};

const BOUNDS: Bounds = Bounds {
    journal_max: 200,
    ledger_max: 200_000,
    ledger_days: 30,
    places_max: 100_000,
    bytes_max: 256 << 20,
};

/// Days, each of which puts every candidate of every session out once.
fn live(folder: &Path, days: u32, sessions: u32, candidates: u32) {
    let store = open(folder, BOUNDS);
    let mut number = 0;
    for day in 1..=days {
        store.keep(vec![Record::Turned { day }]).unwrap();
        for session in 0..sessions {
            let mut records = Vec::new();
            for candidate in 0..candidates {
                number += 1;
                records.extend(lived(day, session, candidate, number));
            }
            store.write(records);
            if session % 50 == 0 {
                store.flush().unwrap();
            }
        }
        store.flush().unwrap();
    }
    assert_eq!(store.dropped(), 0);
}

fn lived(day: u32, session: u32, candidate: u32, number: u64) -> [Record; 7] {
    let session = session_key(session);
    let route = format!("openrouter/vendor-{candidate}/model-with-a-name");
    let place = Place {
        session: session.as_str().into(),
        queue: "default".into(),
        route: route.as_str().into(),
    };
    let evidence = Evidence {
        status: Some(503),
        code: Some("overloaded_error".into()),
        param: None,
        message: Some("The service is overloaded. ".repeat(7)),
    };
    let name = format!("ek-1234abcd-{number}");
    let class = Class::Overloaded;
    let quarantine = Quarantine { class, since_ms: number, ..out(day) };
    let (until_ms, parole_ms) = (None, Some(number + 60_000));
    let what = What::Quarantined { place: place.clone(), class, until_ms, parole_ms, evidence };
    let row = AttemptRow { place: place.clone(), ..attempt(&name, 1, AttemptState::Unknown) };
    [
        Record::Quarantined { place: place.clone(), quarantine },
        entry(number, what),
        Record::Verified { place, day },
        Record::Tallied {
            route: route.as_str().into(),
            day,
            tally: Tally { successes: 1, failures: number as u32 },
        },
        Record::Sped {
            session: session.as_str().into(),
            route: route.as_str().into(),
            day,
            speed: Speed { tokens: number, speaking_ms: number },
        },
        Record::Attempt(row),
        Record::Call(call(&name, 1)),
    ]
}

fn session_key(number: u32) -> String {
    format!("claude-code:0190c5f2-7d11-7aa4-9d5c-{number:012}")
}

fn bytes(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).unwrap();
    files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

#[test]
fn days_that_have_passed_leave_nothing_to_recall() {
    let folder = tempfile::tempdir().unwrap();
    live(folder.path(), 5, 20, 20);
    let store = open(folder.path(), BOUNDS);
    assert_eq!(store.recall().len(), 400 * 3 + 20, "today's alone");
    let sessions: Vec<_> = (0..20).map(|at| session_key(at).as_str().into()).collect();
    assert_eq!((store.evidence(&sessions).len(), store.journal(1_000).len()), (400, 200));
    assert_eq!(store.attempts(usize::MAX).len(), 2_000);
    assert_eq!(store.sums(&SumFilter::by(SumBy::Day), 100).len(), 5);
}

#[test]
#[ignore = "takes a minute, and is worth it only with --release"]
#[expect(clippy::disallowed_methods, reason = "it measures")]
fn thirty_days_of_a_thousand_sessions_open_within_200_ms() {
    let folder = tempfile::tempdir().unwrap();
    let clock = std::time::Instant::now;
    let began = clock();
    live(folder.path(), 30, 1_000, 20);
    println!("written in {:?}, {} MB", began.elapsed(), bytes(folder.path()) >> 20);
    let mut opened = Vec::new();
    for _ in 0..5 {
        let began = clock();
        let store = open(folder.path(), BOUNDS);
        let ready = began.elapsed();
        let recalled = store.recall().len();
        let took = began.elapsed();
        println!("open {ready:?}, open and recall {took:?}, {recalled} records");
        assert_eq!(recalled, 60_020);
        opened.push(took);
        for (name, by) in
            [("day", SumBy::Day), ("route", SumBy::Route), ("session", SumBy::Session)]
        {
            let began = clock();
            let lines = store.sums(&SumFilter::by(by), 1_000).len();
            println!("sums by {name}: {:?}, {lines} lines", began.elapsed());
        }
    }
    assert!(bytes(folder.path()) <= BOUNDS.bytes_max);
    opened.sort();
    assert!(opened[0] < Duration::from_millis(200), "{opened:?}");
}
