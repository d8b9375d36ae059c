//! `ekiden classify`, lines in and lines out.

use insta::assert_snapshot;

use crate::program::Ekiden;

#[test]
fn s3_errors_are_classified_a_line_each_and_garbage_is_said() {
    let input = r#"{"id":"a","status":429,"headers":{"retry-after":"7"},"body":"slow down","phase":"http"}
{"id":2,"status":429,"headers":{},"body":"{\"error\":{\"code\":\"insufficient_quota\",\"message\":\"You exceeded your current quota\"}}","phase":"http"}
garbage

{"id":"b","status":400,"headers":{},"body":"{\"error\":{\"message\":\"Unsupported parameter: 'store'\",\"code\":\"unsupported_parameter\"}}","phase":"http"}
{"id":"c","status":null,"headers":{},"body":"read ECONNRESET","phase":"transport"}
[1, 2]
{"id":"d","status":429,"headers":{},"body":"You've hit your limit · resets 3am (Asia/Tokyo)","phase":"http","now":"2026-11-29T12:00:00Z"}
{"id":"e","phase":"carrier pigeon"}
"#;
    assert_snapshot!(Ekiden::new(&["classify"]).input(input).result());
}

#[test]
fn s3_the_rules_are_a_table() {
    let (code, out, err) = Ekiden::new(&["classify", "--rules"]).run();
    assert_eq!((code, err.as_str()), (0, ""));
    let mut lines = out.lines();
    assert!(lines.next().unwrap().starts_with("rule "), "{out}");
    assert!(lines.clone().count() > 30, "{out}");
    assert!(lines.all(|line| line.ends_with(']') && line.contains("  ")), "{out}");
}
