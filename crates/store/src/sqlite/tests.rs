use rusqlite::Connection;

use super::open::migrate;
use super::read::{EVIDENCE, RECALL, sums_sql};
use super::*;
use crate::page::{SumBy, SumKey};

fn version(file: &Connection) -> i64 {
    file.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

#[test]
fn each_step_is_taken_once_and_in_order() {
    let mut file = Connection::open_in_memory().unwrap();
    let first = "CREATE TABLE a (x); INSERT INTO a VALUES (1)";
    let steps = [first, "ALTER TABLE a ADD COLUMN y DEFAULT 2", "UPDATE a SET y = y + x"];
    migrate(&mut file, &steps[..1]).unwrap();
    assert_eq!(version(&file), 1);
    migrate(&mut file, &steps).unwrap();
    migrate(&mut file, &steps).unwrap();
    assert_eq!(version(&file), 3);
    let y: i64 = file.query_row("SELECT y FROM a", [], |row| row.get(0)).unwrap();
    assert_eq!(y, 3);
}

#[test]
fn a_step_that_fails_leaves_the_version_before_it() {
    let mut file = Connection::open_in_memory().unwrap();
    let steps = ["CREATE TABLE a (x)", "CREATE TABLE b (x); INSERT INTO nowhere VALUES (1)"];
    migrate(&mut file, &steps).unwrap_err();
    assert_eq!(version(&file), 1);
    let tables = "SELECT group_concat(name) FROM sqlite_schema";
    let tables: String = file.query_row(tables, [], |row| row.get(0)).unwrap();
    assert_eq!(tables, "a", "nothing half done");
}

fn plan(file: &Connection, sql: &str, values: usize) -> String {
    let mut statement = file.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    assert_eq!(statement.parameter_count(), values);
    let none = vec![rusqlite::types::Null; values];
    let steps = statement.query_map(rusqlite::params_from_iter(none), |row| row.get(3));
    steps.unwrap().collect::<Result<Vec<String>, _>>().unwrap().join("; ")
}

#[test]
fn what_is_read_at_the_start_needs_no_sorting() {
    let folder = tempfile::tempdir().unwrap();
    let file = open::writing(&folder.path().join(FILE_NAME)).unwrap();
    for sql in RECALL {
        let plan = plan(&file, sql, 0);
        assert!(plan.starts_with("SCAN") && !plan.contains("TEMP B-TREE"), "{sql}: {plan}");
    }
}

#[test]
fn questions_that_pages_ask_use_indexes() {
    let folder = tempfile::tempdir().unwrap();
    let file = open::writing(&folder.path().join(FILE_NAME)).unwrap();
    let today = SumFilter { from_day: Some(1), to_day: Some(1), ..SumFilter::by(SumBy::Route) };
    let plan_of = |filter: &SumFilter, values| plan(&file, &sums_sql(filter), values);
    let found = plan_of(&today, 3);
    assert!(found.contains("attempt_by_day (day>? AND day<?)"), "{found}");
    let one = SumFilter { session: Some("s".into()), ..SumFilter::by(SumBy::Route) };
    let found = plan_of(&one, 2);
    assert!(found.contains("attempt_by_session (session=?)"), "{found}");
    let page = SumFilter { after: Some(SumKey::Name("s".into())), ..SumFilter::by(SumBy::Session) };
    let found = plan_of(&page, 2);
    assert!(found.contains("attempt_by_session (session>?)"), "{found}");
    let newest = plan(&file, "SELECT * FROM attempt ORDER BY id DESC LIMIT 5", 0);
    assert_eq!(newest, "SCAN attempt");
    let one = plan(&file, "SELECT * FROM attempt WHERE call = ?1 ORDER BY attempt", 1);
    assert!(one.contains("sqlite_autoindex_attempt_1 (call=?)") && !one.contains("TEMP"), "{one}");
    let said = plan(&file, EVIDENCE, 1);
    assert!(said.contains("PRIMARY KEY (session=?)") && !said.contains("TEMP"), "{said}");
    let gone = plan(&file, "DELETE FROM attempt WHERE day < ?1", 1);
    assert!(gone.contains("attempt_by_day (day<?)"), "{gone}");
    let gone = plan(&file, "DELETE FROM attempt WHERE id <= (SELECT max(id) FROM attempt) - ?1", 1);
    assert!(gone.contains("PRIMARY KEY (rowid<?)"), "{gone}");
}
