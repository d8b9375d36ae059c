//! Versions of the file.

use std::fs;

use ekiden_store::{
    AttemptRow, AttemptState, Basis, Bounds, Cost, Currency, FILE_NAME, OpenError, SqliteStore,
    Store, SumBy, SumFilter, SumKey, Tokens,
};
use rusqlite::Connection;

use crate::made::{attempt, open};

/// A file of each version that was ever released, as SQL, with something in every table.
const RELEASED: &[(u32, &str)] = &[
    (1, include_str!("../schema/v1.sql")),
    (2, include_str!("../schema/v2.sql")),
    (3, include_str!("../schema/v3.sql")),
];

#[test]
fn a_file_of_every_version_is_read_and_written_on() {
    for (version, sql) in RELEASED {
        let folder = tempfile::tempdir().unwrap();
        let old = Connection::open(folder.path().join(FILE_NAME)).unwrap();
        old.execute_batch(sql).unwrap();
        drop(old);
        let store = open(folder.path(), Bounds::default());
        assert_eq!(store.recall().len(), 6, "version {version}");
        let sessions = ["s".into()];
        assert_eq!(store.evidence(&sessions).len(), 1, "version {version}");
        assert_eq!(store.journal(10).len(), 1, "version {version}");
        assert_eq!((store.attempts(10).len(), store.calls(10).len()), (1, 1), "version {version}");
        assert_eq!(store.sums(&SumFilter::by(SumBy::Day), 10).len(), 1, "version {version}");
        assert_eq!((store.catalogs().len(), store.deleted_queues().len()), (1, 1));
        store.keep(vec![ekiden_store::Record::Turned { day: 20_001 }]).unwrap();
        assert_eq!(store.recall().len(), 2, "pauses outlive the day");
        let newest: i64 = Connection::open(store.path())
            .unwrap()
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .unwrap();
        assert_eq!(newest, i64::from(RELEASED.last().unwrap().0), "a new version needs its file");
    }
}

#[test]
fn r34_an_attempt_of_a_file_without_prices_has_no_cost_and_a_new_one_has() {
    let folder = tempfile::tempdir().unwrap();
    let old = Connection::open(folder.path().join(FILE_NAME)).unwrap();
    old.execute_batch(RELEASED[0].1).unwrap();
    drop(old);
    let store = open(folder.path(), Bounds::default());
    let before = &store.attempts(10)[0];
    assert_eq!((before.cost, before.cached, before.token.clone()), (None, None, None));
    assert_eq!(before.input, Tokens::Estimated(1_200), "the rest is as it was");
    let cost = Cost { currency: Currency::Cny, nano: 77, basis: Basis::Reported };
    let row = attempt("ek-2-1", 1, AttemptState::Complete);
    let row = AttemptRow { cost: Some(cost), token: Some("t".into()), cached: Some(5), ..row };
    store.keep(vec![ekiden_store::Record::Attempt(row.clone())]).unwrap();
    assert_eq!(store.attempts(1), [row]);
    let sums = store.sums(&SumFilter::by(SumBy::Token), 10);
    let keys: Vec<_> = sums.iter().map(|sum| sum.key.clone()).collect();
    assert_eq!(keys, [SumKey::Name("".into()), SumKey::Name("t".into())]);
    assert_eq!((sums[0].all.priced, sums[1].all.priced), (0, 1));
    assert_eq!(sums[1].all.cost[Currency::Cny as usize].reported, 77);
}

#[test]
fn r34_costs_of_a_file_that_knew_prices_alone_are_estimates_and_reported_ones_stay() {
    let folder = tempfile::tempdir().unwrap();
    let basis_of = |number: usize| {
        let path = folder.path().join(number.to_string());
        fs::create_dir(&path).unwrap();
        let old = Connection::open(path.join(FILE_NAME)).unwrap();
        old.execute_batch(RELEASED[number].1).unwrap();
        old.execute("UPDATE attempt SET cost_source = 'reported'", []).unwrap();
        drop(old);
        let store = open(&path, Bounds::default());
        let cost = store.attempts(1)[0].cost.unwrap();
        let sums = store.sums(&SumFilter::by(SumBy::Day), 10);
        let sum = sums[0].all.cost[Currency::Usd as usize];
        (cost.nano, cost.basis, sum.reported, sum.estimated)
    };
    assert_eq!(
        basis_of(1),
        (522_000, Basis::Estimated, 0, 522_000),
        "counted from reported tokens"
    );
    assert_eq!(basis_of(2), (522_000, Basis::Reported, 522_000, 0));
}

#[test]
fn a_newer_file_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path(), Bounds::default()));
    let path = folder.path().join(FILE_NAME);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let before = fs::read(&path).unwrap();
    let refused = SqliteStore::open(folder.path(), Bounds::default()).unwrap_err();
    assert!(matches!(refused, OpenError::Newer { found: 99, known: 3, .. }), "{refused:?}");
    let text = refused.to_string();
    assert!(text.ends_with("has version 99, and this program knows versions up to 3"), "{text}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn the_file_of_another_program_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE_NAME);
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE notes (text)").unwrap();
    let before = fs::read(&path).unwrap();
    let refused = SqliteStore::open(folder.path(), Bounds::default()).unwrap_err();
    assert!(matches!(refused, OpenError::Foreign { .. }), "{refused:?}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn what_is_no_database_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE_NAME);
    let before = "not a database, whatever it is ".repeat(500);
    fs::write(&path, &before).unwrap();
    let refused = SqliteStore::open(folder.path(), Bounds::default()).unwrap_err();
    assert!(matches!(refused, OpenError::Damaged { .. }), "{refused:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let refused = SqliteStore::open(&folder.path().join("no"), Bounds::default()).unwrap_err();
    assert!(matches!(refused, OpenError::Unusable { .. }), "{refused:?}");
}
