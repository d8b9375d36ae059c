//! `ekiden replay` on recorded traces (R33).

use insta::assert_snapshot;

use crate::program::Ekiden;

/// A call of the demo: one candidate out of quota, one silent, one broken off, one that answered.
const TRACE: &str = include_str!("../fixtures/relay.trace");

fn replayed(text: &str) -> String {
    Ekiden::new(&["replay", "-"]).input(text).result()
}

#[test]
fn r33_a_recorded_trace_gets_the_same_decisions() {
    assert_snapshot!(replayed(TRACE));
    let chinese = Ekiden::new(&["replay", "-"]).env("LC_ALL", "zh_CN.UTF-8").input(TRACE);
    assert_snapshot!(chinese.result());
}

#[test]
fn r33_a_trace_that_is_not_whole_says_so() {
    let told = replayed(&format!("{TRACE}left-out 12\n"));
    assert!(told.starts_with("exit code 0"), "{told}");
    assert!(told.contains("the trace is not whole: 12 later records were not kept"), "{told}");
    assert!(!replayed(TRACE).contains("not whole"));
}

#[test]
fn r33_the_first_decision_that_differs_is_shown() {
    // The second attempt is said to have gone to the last candidate.
    let other = TRACE.replacen(" go 2 0 ", " go 2 3 ", 1);
    assert_ne!(other, TRACE);
    assert_snapshot!(replayed(&other));
}

#[test]
fn r33_what_is_no_trace_is_refused_with_its_line() {
    assert_snapshot!(replayed("{\"call\": 1}\n"));
    let torn: String = TRACE.chars().take(TRACE.len() - 40).collect();
    let told = replayed(&torn);
    assert!(told.starts_with("exit code 1"), "{told}");
    let lines = TRACE.lines().count();
    assert!(told.contains(&format!("-:{lines}: ")), "{told}");
    assert_snapshot!(Ekiden::new(&["replay", "./not-there.trace"]).result());
}
