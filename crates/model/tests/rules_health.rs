//! Policy `health` (H1 to H6).

use std::sync::Arc;

use ekiden_engine::{
    AllCooling, Class, Fact, Finish, Health, LastWord, Mode, Moves, OpenedBy, Policy, Queue,
    Release, RouteId, Wait,
};
use ekiden_model::Stage;
use ekiden_model::stage::{candidate, queue};

fn health(count: u32) -> Arc<Queue> {
    of(Policy::HEALTH, count)
}

fn of(policy: Policy, count: u32) -> Arc<Queue> {
    queue(1, policy, (0..count).map(candidate).collect())
}

/// A call of a session that fails at once; the candidate that it met.
fn fails(stage: &mut Stage, queue: &Arc<Queue>, session: u64, class: Class) -> Option<u32> {
    let call = stage.call(queue, session);
    let met = stage.running(call);
    stage.fail(call, class);
    met
}

fn answers(stage: &mut Stage, queue: &Arc<Queue>, session: u64) -> Option<u32> {
    let call = stage.call(queue, session);
    let met = stage.running(call);
    stage.answer(call);
    met
}

fn status(stage: &Stage, route: u32) -> Health {
    let route = stage.engine.routes(stage.now).find(|status| status.route == RouteId(route));
    route.map_or(Health::Ready, |status| status.health())
}

#[test]
fn h01_one_failure_cools_a_minute_for_everybody_and_quarantines_nobody() {
    let (mut stage, two) = (Stage::new(), health(2));
    assert_eq!(fails(&mut stage, &two, 1, Class::ServerError), Some(0));
    assert_eq!(stage.cools(0), Some(60_000));
    assert!(!stage.is_out(1, 0));
    assert_eq!(answers(&mut stage, &two, 2), Some(1), "another session passes it over too");
    assert_eq!(status(&stage, 0), Health::Cooling);
    let opened = stage.facts.iter().any(|fact| {
        matches!(fact, Fact::Opened { ms: 60_000, failures: 1, by: OpenedBy::Threshold, .. })
    });
    assert!(opened, "{:?}", stage.facts);
}

#[test]
fn h01_the_cooldown_doubles_to_ten_minutes_with_each_probe_that_fails() {
    let (mut stage, two) = (Stage::new(), health(2));
    let mut spans = Vec::new();
    for session in 0..6 {
        // Each session is new, so that nobody sticks to the second one.
        fails(&mut stage, &two, 10 + session, Class::Timeout);
        let span = stage.cools(0).unwrap_or(0);
        spans.push(span / 1_000);
        stage.pass(span);
        let probed = stage.call(&two, 20 + session);
        assert_eq!(stage.starts(probed).last().map(|start| start.mode), Some(Mode::Probe));
        stage.input(probed, ekiden_engine::Input::ClientGone);
    }
    assert_eq!(spans, [60, 120, 240, 480, 600, 600]);
    assert_eq!(answers(&mut stage, &two, 30), Some(0));
    fails(&mut stage, &two, 31, Class::Timeout);
    assert_eq!(stage.cools(0), Some(60_000), "an answer begins anew");
}

#[test]
fn h01_below_the_threshold_the_failure_goes_up_and_counts() {
    let policy = Policy { breaker_threshold: 3, moves: Moves::InCall, ..Policy::HEALTH };
    let (mut stage, two) = (Stage::new(), of(policy, 2));
    for _ in 0..2 {
        let call = stage.call(&two, 1);
        stage.fail(call, Class::Overloaded);
        assert_eq!(stage.tried(call), [0], "nobody moves on");
        assert!(matches!(stage.word(call), Some(LastWord::AsItCame(_))));
        assert_eq!(stage.cools(0), None);
    }
    let third = stage.call(&two, 1);
    stage.fail(third, Class::Overloaded);
    assert_eq!(stage.tried(third), [0, 1]);
    assert_eq!(stage.cools(0), Some(60_000));
}

#[test]
fn h01_an_answer_in_between_clears_the_count() {
    let policy = Policy { breaker_threshold: 2, ..Policy::HEALTH };
    let (mut stage, two) = (Stage::new(), of(policy, 2));
    fails(&mut stage, &two, 1, Class::Overloaded);
    answers(&mut stage, &two, 1);
    fails(&mut stage, &two, 1, Class::Overloaded);
    assert_eq!(stage.cools(0), None);
}

#[test]
fn h01_calls_that_fail_side_by_side_are_one_proof() {
    let (mut stage, two) = (Stage::new(), health(2));
    let calls: Vec<_> = (1..4).map(|session| stage.call(&two, session)).collect();
    for call in calls {
        stage.fail(call, Class::ServerError);
    }
    assert_eq!(stage.cools(0), Some(60_000));
}

#[test]
fn h02_what_does_not_pass_by_itself_cools_at_once_to_the_maximum() {
    for class in [Class::Auth, Class::NotFound] {
        let policy = Policy { breaker_threshold: 5, ..Policy::HEALTH };
        let (mut stage, two) = (Stage::new(), of(policy, 2));
        fails(&mut stage, &two, 1, class);
        assert_eq!(stage.cools(0), Some(600_000), "{class:?}");
    }
}

#[test]
fn h01_r21_a_wait_that_is_named_cools_for_it() {
    let (mut stage, two) = (Stage::new(), health(2));
    let call = stage.call(&two, 1);
    stage.fail_naming(call, Class::RateLimited, Wait::Ms(200_000));
    assert_eq!(stage.cools(0), Some(200_000));
}

#[test]
fn h03_the_current_one_stays_even_when_an_earlier_one_recovers() {
    let (mut stage, three) = (Stage::new(), health(3));
    fails(&mut stage, &three, 1, Class::Timeout);
    assert_eq!(answers(&mut stage, &three, 1), Some(1));
    stage.pass(60_000);
    assert_eq!(answers(&mut stage, &three, 1), Some(1), "it sticks");
    assert_eq!(answers(&mut stage, &three, 2), Some(0), "another session begins at the top");
    fails(&mut stage, &three, 1, Class::Timeout);
    assert_eq!(answers(&mut stage, &three, 1), Some(0), "until it fails");
    let free = of(Policy { sticky: ekiden_engine::Switch::Off, ..Policy::HEALTH }, 3);
    stage.pass(60_000);
    assert_eq!(answers(&mut stage, &free, 1), Some(0));
}

#[test]
fn h05_the_switch_takes_effect_from_the_next_call_or_inside_the_call() {
    let (mut stage, two) = (Stage::new(), health(2));
    let call = stage.call(&two, 1);
    stage.fail(call, Class::ServerError);
    assert_eq!(stage.tried(call), [0]);
    assert!(matches!(stage.word(call), Some(LastWord::AsItCame(_))));
    assert_eq!(answers(&mut stage, &two, 1), Some(1));
    let inside = of(Policy { moves: Moves::InCall, ..Policy::HEALTH }, 2);
    let mut stage = Stage::new();
    let call = stage.call(&inside, 1);
    stage.fail(call, Class::ServerError);
    assert_eq!(stage.tried(call), [0, 1]);
}

#[test]
fn h01_when_all_are_cooling_the_one_that_ends_first_is_tried() {
    let (mut stage, two) = (Stage::new(), health(2));
    fails(&mut stage, &two, 1, Class::Timeout);
    stage.pass(10_000);
    assert_eq!(fails(&mut stage, &two, 1, Class::Auth), Some(1));
    let call = stage.call(&two, 2);
    assert_eq!(stage.running(call), Some(0));
    assert_eq!(stage.starts(call)[0].mode, Mode::LastResort);
    stage.fail(call, Class::Timeout);
    assert!(matches!(stage.word(call), Some(LastWord::AsItCame(_))));
    assert_eq!(stage.cools(0), Some(60_000), "it proves that it still fails, not that it is worse");
    let call = stage.call(&two, 2);
    stage.answer(call);
    assert_eq!(status(&stage, 0), Health::Ready, "an answer ends the cooldown at once");
    let waits = of(Policy { all_cooling: AllCooling::Wait, ..Policy::HEALTH }, 1);
    fails(&mut stage, &waits, 3, Class::Timeout);
    let call = stage.call(&waits, 3);
    assert_eq!(stage.tried(call), [0_u32; 0]);
}

#[test]
fn h06_a_reset_by_hand_makes_a_candidate_ready() {
    let (mut stage, two) = (Stage::new(), health(2));
    fails(&mut stage, &two, 1, Class::NotFound);
    stage.engine.release(Release::Route(RouteId(0)));
    stage.attend();
    assert_eq!(status(&stage, 0), Health::Ready);
    fails(&mut stage, &two, 1, Class::Timeout);
    assert_eq!(stage.cools(0), Some(60_000), "the breaker begins anew");
}

#[test]
fn health_never_rotates_and_never_says_continue() {
    let (mut stage, two) = (Stage::new(), health(2));
    for _ in 0..4 {
        let call = stage.call(&two, 1);
        assert_eq!(stage.running(call), Some(0));
        stage.speak(call);
        stage.end(call, Finish::Truncated);
    }
    assert!(stage.facts.iter().all(|fact| !matches!(fact, Fact::Rotated { .. })));
}

#[test]
fn r45_a_refusal_of_our_own_key_is_not_told_as_it_came() {
    let (mut stage, two) = (Stage::new(), health(2));
    let call = stage.call(&two, 1);
    stage.fail(call, Class::Auth);
    assert!(matches!(stage.word(call), Some(LastWord::ComeBack(_) | LastWord::DoNotRetry)));
}

#[test]
fn h04_a_probe_in_the_background_finds_dead_and_recovered_ones() {
    let (mut stage, two) = (Stage::new(), health(2));
    let probed = |stage: &mut Stage, failure| {
        stage.engine.probed(stage.now, &two.policy, RouteId(0), failure);
        stage.attend();
    };
    probed(&mut stage, Some(ekiden_engine::Failure::upstream(Class::ServerError)));
    assert_eq!(stage.cools(0), Some(60_000), "nobody had to run into it");
    assert_eq!(answers(&mut stage, &two, 1), Some(1));
    assert_eq!(stage.engine.tally(RouteId(0)).failures, 0, "it is no attempt");
    stage.pass(60_000);
    probed(&mut stage, Some(ekiden_engine::Failure::upstream(Class::Timeout)));
    assert_eq!(stage.cools(0), Some(120_000));
    probed(&mut stage, None);
    assert_eq!(status(&stage, 0), Health::Ready);
    assert_eq!(answers(&mut stage, &two, 2), Some(0));
}

#[test]
fn h04_a_probe_that_finds_the_last_one_cooling_wakes_who_waits() {
    let narrow = ekiden_engine::Candidate { max_sessions: Some(1), ..candidate(0) };
    let policy = Policy { rest_ms: 5_000, ..Policy::CHAIN };
    let both = queue(1, policy.clone(), vec![narrow, candidate(1)]);
    let mut stage = Stage::new();
    let first = stage.call(&both, 1);
    stage.answer(first);
    stage.engine.end_session(stage.now, ekiden_engine::SessionId(1));
    let broken = Some(ekiden_engine::Failure::upstream(Class::Overloaded));
    stage.engine.probed(stage.now, &policy, RouteId(1), broken);
    let waits = stage.call(&both, 2);
    assert!(stage.running(waits).is_none(), "the first rests, the second cools");
    stage.engine.probed(stage.now, &policy, RouteId(0), broken);
    stage.attend();
    assert_eq!(stage.running(waits), Some(1));
}
