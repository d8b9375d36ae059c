use rusqlite::Connection;

use super::open::migrate;
use super::read::{EVIDENCE, RECALL};
use super::*;

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
fn questions_that_are_asked_often_need_no_scan() {
    let folder = tempfile::tempdir().unwrap();
    let file = open::writing(&folder.path().join(FILE_NAME)).unwrap();
    let newest = plan(&file, "SELECT * FROM attempt ORDER BY id DESC LIMIT 5", 0);
    assert_eq!(newest, "SCAN attempt", "from its end");
    let said = plan(&file, EVIDENCE, 1);
    assert!(said.contains("PRIMARY KEY (session=?)") && !said.contains("TEMP"), "{said}");
    let gone = plan(&file, "DELETE FROM attempt WHERE id <= (SELECT max(id) FROM attempt) - ?1", 1);
    assert!(gone.contains("PRIMARY KEY (rowid<?)"), "{gone}");
}

#[test]
fn a_row_of_a_ledger_is_written_to_its_table_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = open::writing(&folder.path().join(FILE_NAME)).unwrap();
    let indexes = "SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND tbl_name IN ('attempt', 'call')";
    let indexes: i64 = file.query_row(indexes, [], |row| row.get(0)).unwrap();
    assert_eq!(indexes, 0);
}
