//! R21 to R23: what comes back soon.

use ekiden_engine::{AttemptInput, Beat, Class, Mode, Policy, Reason, Wait, WaitFor, Why};
use ekiden_model::Stage;
use ekiden_model::stage::{candidate, queue, relay};

#[test]
fn r21_a_rate_limit_cools_for_everybody_and_quarantines_nobody() {
    let (mut stage, two) = (Stage::new(), relay(2));
    let call = stage.call(&two, 1);
    stage.fail_naming(call, Class::RateLimited, Wait::Ms(40_000));
    assert_eq!(stage.cools(0), Some(40_000));
    assert!(!stage.is_out(1, 0));
    assert_eq!(stage.tried(call), [0, 1], "a named wait is no time for a retry");
}

#[test]
fn r21_without_a_name_it_cools_a_minute_and_an_instant_is_a_name() {
    let (mut stage, two) = (Stage::new(), relay(2));
    let call = stage.call(&two, 1);
    stage.fail_out(call, Class::RateLimited);
    assert_eq!(stage.tried(call), [0, 0, 0, 1]);
    assert_eq!(stage.cools(0), Some(60_000));
    let at = stage.now.wall_ms + 90_000;
    stage.fail_naming(call, Class::RateLimited, Wait::At(at));
    assert_eq!(stage.cools(1), Some(90_000));
}

#[test]
fn r21_a_route_cools_a_second_at_least() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    let call = stage.call(&queue, 1);
    for _ in 0..3 {
        assert_eq!(stage.running(call), Some(0));
        stage.fail_naming(call, Class::RateLimited, Wait::Ms(200));
        stage.pass(200);
    }
    assert_eq!(stage.running(call), Some(1));
    assert_eq!(stage.cools(0), Some(800));
}

#[test]
fn r21_a_named_wait_is_cut_to_an_hour() {
    let (mut stage, two) = (Stage::new(), relay(2));
    let call = stage.call(&two, 1);
    stage.fail_naming(call, Class::RateLimited, Wait::Ms(86_400_000));
    assert_eq!(stage.cools(0), Some(3_600_000));
}

#[test]
fn r21_a_transient_failure_that_names_a_wait_cools_instead_of_quarantining() {
    for class in [Class::Overloaded, Class::ServerError, Class::Timeout, Class::TransportRemote] {
        let (mut stage, two) = (Stage::new(), relay(2));
        let call = stage.call(&two, 1);
        stage.fail_naming(call, class, Wait::Ms(50_000));
        assert_eq!((stage.cools(0), stage.is_out(1, 0)), (Some(50_000), false), "{class:?}");
    }
}

#[test]
fn r21_no_cooldown_falls_back_to_quarantine_and_a_short_wait_is_still_waited_for() {
    let policy = Policy { cooldown_ms: 0, ..Policy::RELAY };
    for class in [Class::RateLimited, Class::Overloaded] {
        let mut stage = Stage::new();
        let call = stage.call(&queue(1, policy.clone(), vec![candidate(0), candidate(1)]), 1);
        stage.fail_naming(call, class, Wait::Ms(2_000));
        assert_eq!(stage.waits(call), Some((2_000, Why::NamedWait)), "{class:?}");
        stage.pass(2_000);
        stage.fail_naming(call, class, Wait::Ms(50_000));
        assert_eq!((stage.cools(0), stage.is_out(1, 0)), (None, true), "{class:?}");
    }
}

#[test]
fn r21_a_later_deadline_is_never_shortened() {
    let (mut stage, two) = (Stage::new(), relay(2));
    let calls = [stage.call(&two, 1), stage.call(&two, 2), stage.call(&two, 3)];
    for (call, ms) in calls.into_iter().zip([50_000, 10_000, 70_000]) {
        stage.fail_naming(call, Class::RateLimited, Wait::Ms(ms));
    }
    assert_eq!(stage.cools(0), Some(70_000));
    let mut stage = Stage::new();
    let calls = [stage.call(&two, 1), stage.call(&two, 2)];
    for (call, ms) in calls.into_iter().zip([50_000, 10_000]) {
        stage.fail_naming(call, Class::RateLimited, Wait::Ms(ms));
    }
    assert_eq!(stage.cools(0), Some(50_000));
}

#[test]
fn r21_only_a_success_that_began_after_it_clears_a_cooldown() {
    let (mut stage, two) = (Stage::new(), relay(2));
    let (old, call) = (stage.call(&two, 1), stage.call(&two, 2));
    stage.pass(1);
    stage.fail_naming(call, Class::RateLimited, Wait::Ms(50_000));
    stage.answer(old);
    assert_eq!(stage.cools(0), Some(50_000), "begun before");
    // Without the relay a call goes to the first candidate whatever the state.
    let off = Policy { relay: ekiden_engine::Switch::Off, ..Policy::RELAY };
    let blind = stage.call(&queue(2, off, vec![candidate(0)]), 3);
    stage.answer(blind);
    assert_eq!(stage.cools(0), None, "begun after");
}

#[test]
fn r22_a_session_that_passed_it_over_finishes_its_run_first() {
    let (mut stage, two) = (Stage::new(), relay(2));
    let call = stage.call(&two, 1);
    stage.fail_naming(call, Class::RateLimited, Wait::Ms(20_000));
    assert_eq!(stage.running(call), Some(1));
    stage.feed(call, AttemptInput::Sent);
    stage.pass(20_000);
    let same = stage.call(&two, 1);
    let (passed, _) = stage.admission(same).unwrap();
    assert_eq!(passed[0].reason, Reason::StandIn);
    assert_eq!(stage.running(same), Some(1));
    let other = stage.call(&two, 2);
    assert_eq!(stage.running(other), Some(0), "another session is not held back");
    stage.answer(other);
    stage.answer(call);
    // `same` began after the limit was over and passed nothing over for its cooldown.
    let next = stage.call(&two, 1);
    assert_eq!(stage.running(next), Some(0));
}

#[test]
fn r22_a_retry_stands_in_too() {
    let (mut stage, two) = (Stage::new(), relay(2));
    let call = stage.call(&two, 1);
    stage.fail_naming(call, Class::RateLimited, Wait::Ms(20_000));
    stage.fail(call, Class::EmptyResponse);
    assert_eq!(stage.tried(call), [0, 1, 1]);
    stage.feed(call, AttemptInput::Sent);
    stage.pass(20_000);
    let same = stage.call(&two, 1);
    assert_eq!(stage.running(same), Some(1));
}

#[test]
fn r22_whoever_waits_for_the_stand_in_is_woken_by_its_end() {
    let one = queue(2, Policy::RELAY, vec![candidate(0)]);
    let (mut stage, two) = (Stage::new(), relay(2));
    let call = stage.call(&two, 1);
    stage.fail_naming(call, Class::RateLimited, Wait::Ms(20_000));
    stage.feed(call, AttemptInput::Sent);
    stage.pass(20_000);
    let waits = stage.call(&one, 1);
    assert!(matches!(stage.waits(waits), Some((_, Why::Candidate(WaitFor::StandIn)))));
    stage.answer(call);
    assert_eq!(stage.running(waits), Some(0));
}

#[test]
fn r22_after_a_cooldown_one_call_goes_alone_and_the_others_follow_at_its_first_output() {
    let one = queue(2, Policy::RELAY, vec![candidate(0)]);
    let (mut stage, two) = (Stage::new(), relay(2));
    let call = stage.call(&two, 1);
    stage.fail_naming(call, Class::RateLimited, Wait::Ms(20_000));
    stage.feed(call, AttemptInput::Sent);
    stage.pass(20_000);
    let lone = stage.call(&one, 2);
    assert_eq!(stage.starts(lone)[0].mode, Mode::Probe);
    let (elsewhere, waits) = (stage.call(&two, 3), stage.call(&one, 4));
    assert_eq!(stage.running(elsewhere), Some(1));
    assert!(matches!(stage.waits(waits), Some((_, Why::Candidate(WaitFor::Probe)))));
    stage.feed(lone, AttemptInput::Sent);
    stage.feed(lone, AttemptInput::Chunk { bytes: 4, beat: Beat::Reasoning });
    assert_eq!(stage.running(waits), None, "reasoning is no output");
    stage.speak(lone);
    assert_eq!(stage.running(waits), Some(0));
    assert_eq!(stage.starts(waits)[0].mode, Mode::Normal);
}

#[test]
fn r22_when_the_lone_call_fails_the_next_goes_alone() {
    let one = queue(2, Policy::RELAY, vec![candidate(0)]);
    let (mut stage, two) = (Stage::new(), relay(2));
    let call = stage.call(&two, 1);
    stage.fail_naming(call, Class::RateLimited, Wait::Ms(20_000));
    stage.feed(call, AttemptInput::Sent);
    stage.pass(20_000);
    let lone = stage.call(&two, 2);
    let waits = stage.call(&one, 4);
    stage.fail_out(lone, Class::Auth);
    assert_eq!(stage.starts(waits)[0].mode, Mode::Probe);
}

#[test]
fn r23_a_named_wait_of_three_seconds_is_simply_waited_for() {
    let (mut stage, two) = (Stage::new(), relay(2));
    let call = stage.call(&two, 1);
    stage.fail_naming(call, Class::RateLimited, Wait::Ms(3_000));
    assert_eq!(stage.waits(call), Some((3_000, Why::NamedWait)));
    stage.pass(3_000);
    assert_eq!(stage.tried(call), [0, 0]);
    assert!(!stage.blamed());
    let call = stage.call(&two, 2);
    stage.fail_naming(call, Class::RateLimited, Wait::Ms(3_001));
    assert_eq!(stage.running(call), Some(1));
}

#[test]
fn r23_such_waits_count_as_retries() {
    let (mut stage, two) = (Stage::new(), relay(2));
    let call = stage.call(&two, 1);
    for _ in 0..3 {
        stage.fail_naming(call, Class::RateLimited, Wait::Ms(1_000));
        stage.pass(1_000);
    }
    assert_eq!(stage.tried(call), [0, 0, 0, 1]);
}
