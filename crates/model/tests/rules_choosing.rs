//! R0 to R6: whose state, and who runs next.

use ekiden_engine::{
    AttemptInput, CallSpec, Class, Decision, LastWord, Mode, Passed, Policy, Presence, Purpose,
    QueueId, Reason, RouteId, Switch, Wait, WaitFor, Why,
};
use ekiden_model::Stage;
use ekiden_model::stage::{candidate, queue, relay};

#[test]
fn r00_a_quarantine_belongs_to_session_queue_and_route() {
    let (mut stage, two) = (Stage::new(), relay(2));
    let other = queue(2, Policy::RELAY, two.candidates.clone());
    let call = stage.call(&two, 1);
    stage.fail_out(call, Class::Auth);
    stage.answer(call);
    assert!(stage.is_out(1, 0));
    let (same, session, elsewhere) =
        (stage.call(&two, 1), stage.call(&two, 2), stage.call(&other, 1));
    assert_eq!(stage.running(same), Some(1), "out here");
    assert_eq!(stage.running(session), Some(0), "another session");
    assert_eq!(stage.running(elsewhere), Some(0), "another queue");
}

#[test]
fn r00_a_cooldown_belongs_to_everybody() {
    let (mut stage, two) = (Stage::new(), relay(2));
    let call = stage.call(&two, 1);
    stage.fail_naming(call, Class::RateLimited, Wait::Ms(20_000));
    let other = queue(2, Policy::RELAY, two.candidates.clone());
    let (session, elsewhere) = (stage.call(&two, 2), stage.call(&other, 3));
    assert_eq!(stage.running(session), Some(1));
    assert_eq!(stage.running(elsewhere), Some(1));
}

#[test]
fn r00_without_the_relay_there_is_one_try_and_nothing_is_recorded() {
    let off = Policy { relay: Switch::Off, ..Policy::RELAY };
    let mut stage = Stage::new();
    let call = stage.call(&queue(1, off, vec![candidate(0), candidate(1)]), 1);
    stage.fail(call, Class::ServerError);
    assert_eq!(stage.tried(call), [0]);
    assert!(matches!(stage.word(call), Some(LastWord::AsItCame(_))));
    assert!(!stage.blamed());
    assert_eq!(stage.engine.tally(RouteId(0)).failures, 0);
}

#[test]
fn r00_without_the_relay_nothing_is_held() {
    let off = Policy { relay: Switch::Off, ..Policy::RELAY };
    let mut stage = Stage::new();
    let call = stage.call(&queue(1, off, vec![candidate(0)]), 1);
    stage.feed(call, ekiden_engine::AttemptInput::Sent);
    stage.feed(call, ekiden_engine::AttemptInput::Head);
    assert!(stage.effects(call).iter().any(|e| matches!(e, ekiden_engine::Effect::Commit(_))));
}

#[test]
fn r01_an_empty_queue_says_so() {
    let mut stage = Stage::new();
    let call = stage.call(&queue(1, Policy::RELAY, vec![]), 1);
    assert_eq!(stage.word(call), Some(LastWord::EmptyQueue));
}

#[test]
fn r01_a_queue_of_unknown_providers_is_empty() {
    let mut stage = Stage::new();
    let missing = ekiden_engine::Candidate { presence: Presence::Missing, ..candidate(0) };
    let call = stage.call(&queue(1, Policy::RELAY, vec![missing]), 1);
    assert_eq!(stage.word(call), Some(LastWord::EmptyQueue));
}

#[test]
fn r02_candidates_run_in_the_users_order() {
    let mut stage = Stage::new();
    let three = queue(1, Policy::RELAY, vec![candidate(5), candidate(2), candidate(9)]);
    let call = stage.call(&three, 1);
    for expected in 0..3 {
        assert_eq!(stage.running(call), Some(expected));
        stage.fail_out(call, Class::Auth);
    }
}

#[test]
fn r02_what_is_passed_over_is_said() {
    let mut stage = Stage::new();
    let mut candidates: Vec<_> = (0..4).map(candidate).collect();
    candidates[2].max_sessions = Some(1);
    let four = queue(1, Policy::RELAY, candidates);
    let call = stage.call(&four, 1);
    stage.fail_out(call, Class::NotFound);
    stage.fail_naming(call, Class::RateLimited, Wait::Ms(60_000));
    assert_eq!(stage.running(call), Some(2));
    let before = stage.call(&four, 2);
    assert_eq!(stage.running(before), Some(0), "another session is not out");
    let next = stage.call(&four, 1);
    assert_eq!(stage.running(next), Some(2), "the session sits there");
    let mut chore = stage.spec(&four, 1);
    chore.purpose = Purpose::Main;
    chore.seating = ekiden_engine::Seating::Call;
    let crowded = stage.arrive(chore);
    let (passed, _) = stage.admission(crowded).unwrap();
    let expected = [
        Passed { candidate: 0, reason: Reason::Quarantined(Class::NotFound) },
        Passed { candidate: 1, reason: Reason::Cooling(60_000) },
        Passed { candidate: 2, reason: Reason::Full },
    ];
    assert_eq!(passed, expected);
    assert_eq!(stage.running(crowded), Some(3));
}

#[test]
fn r03_the_unverified_stand_behind_the_verified_once_one_is_out() {
    let (mut stage, four) = (Stage::new(), relay(4));
    let call = stage.call(&four, 1);
    stage.fail_out(call, Class::Auth);
    stage.fail_out(call, Class::Auth);
    stage.answer(call);
    assert!(stage.is_verified(1, 2));
    stage.engine.release(ekiden_engine::Release::Place(ekiden_engine::Place {
        session: ekiden_engine::SessionId(1),
        queue: QueueId(1),
        route: RouteId(1),
    }));
    // 0 is out, 1 is unverified, 2 is verified.
    let next = stage.call(&four, 1);
    assert_eq!(stage.running(next), Some(2));
    let other = stage.call(&four, 2);
    assert_eq!(stage.running(other), Some(0), "for this session alone");
}

#[test]
fn r04_before_a_failover_the_order_is_read_again_from_the_top() {
    let (mut stage, three) = (Stage::new(), relay(3));
    let first = stage.call(&three, 1);
    stage.fail_naming(first, Class::RateLimited, Wait::Ms(20_000));
    stage.feed(first, AttemptInput::Sent);
    let call = stage.call(&three, 2);
    assert_eq!(stage.running(call), Some(1), "0 cools");
    stage.feed(call, AttemptInput::Sent);
    stage.pass(20_000);
    stage.fail_out(call, Class::Auth);
    assert_eq!(stage.running(call), Some(0), "0 is free now and comes before 2");
}

#[test]
fn r05_the_soonest_moment_is_waited_for() {
    let (mut stage, two) = (Stage::new(), relay(2));
    let call = stage.call(&two, 1);
    stage.fail_naming(call, Class::RateLimited, Wait::Ms(25_000));
    stage.fail_naming(call, Class::RateLimited, Wait::Ms(10_000));
    assert_eq!(stage.waits(call), Some((10_000, Why::Candidate(WaitFor::Cooldown))));
    stage.pass(10_000);
    assert_eq!(stage.running(call), Some(1));
    stage.answer(call);
    assert!(stage.delivered(call));
}

#[test]
fn r05_a_wait_beyond_wait_max_is_a_429_with_the_soonest_moment() {
    let (mut stage, two) = (Stage::new(), relay(2));
    let call = stage.call(&two, 1);
    stage.fail_naming(call, Class::RateLimited, Wait::Ms(45_000));
    stage.fail_naming(call, Class::RateLimited, Wait::Ms(90_000));
    assert_eq!(stage.word(call), Some(LastWord::ComeBack(45_000)));
}

#[test]
fn r05_a_waiting_call_is_woken_by_the_change() {
    let (mut stage, one) = (Stage::new(), relay(1));
    let call = stage.call(&one, 1);
    stage.fail_naming(call, Class::RateLimited, Wait::Ms(25_000));
    assert!(stage.waits(call).is_some());
    stage.engine.release(ekiden_engine::Release::Route(RouteId(0)));
    stage.attend();
    assert_eq!(stage.running(call), Some(0));
}

fn crowd(stage: &mut Stage, cap: u32, count: u64) -> Vec<ekiden_engine::CallId> {
    let narrow = ekiden_engine::Candidate { max_in_flight: Some(cap), ..candidate(0) };
    let one = queue(1, Policy::RELAY, vec![narrow]);
    (1..=count).map(|session| stage.call(&one, session)).collect()
}

#[test]
fn r05_first_come_first_served() {
    let mut stage = Stage::new();
    let calls = crowd(&mut stage, 1, 4);
    assert_eq!(stage.running(calls[0]), Some(0));
    assert!(calls[1..].iter().all(|call| stage.running(*call).is_none()));
    for pair in calls.windows(2) {
        stage.answer(pair[0]);
        let runs: Vec<_> = calls.iter().filter(|call| stage.running(**call).is_some()).collect();
        assert_eq!(runs, [&pair[1]]);
    }
}

#[test]
fn r05_a_seat_that_is_freed_wakes_as_many_as_can_be_served() {
    let (mut stage, count) = (Stage::new(), 200);
    let calls = crowd(&mut stage, 2, count);
    for (served, pair) in calls.windows(3).enumerate() {
        stage.woken.clear();
        stage.answer(pair[0]);
        assert_eq!(stage.woken, [pair[2]], "after {served} answers");
        assert_eq!(stage.running(pair[2]), Some(0));
    }
}

#[test]
fn r05_whoever_leaves_its_place_in_the_line_wakes_the_next_alone() {
    let mut stage = Stage::new();
    let calls = crowd(&mut stage, 1, 5);
    // The place is free, and the first in line leaves before it has heard of it.
    stage.input(calls[1], ekiden_engine::Input::ClientGone);
    stage.woken.clear();
    stage.answer(calls[0]);
    assert_eq!(stage.woken, [calls[2]]);
    assert_eq!(stage.running(calls[2]), Some(0));
    assert!(calls[3..].iter().all(|call| stage.running(*call).is_none()));
}

#[test]
fn r05_what_changes_nothing_on_a_route_wakes_nobody() {
    let (mut stage, two) = (Stage::new(), relay(1));
    let other = stage.call(&two, 3);
    stage.speak(other);
    stage.pass(10);
    let waiting = stage.call(&two, 1);
    stage.fail_naming(waiting, Class::RateLimited, Wait::Ms(25_000));
    stage.woken.clear();
    // The cooldown is younger than this attempt, so that its end does not lift it.
    stage.end(other, ekiden_engine::Finish::Stop);
    assert!(stage.woken.is_empty(), "{:?}", stage.woken);
    stage.pass(25_000);
    assert_eq!(stage.running(waiting), Some(0));
}

#[test]
fn r05_a_newcomer_does_not_overtake_whoever_waits() {
    let mut stage = Stage::new();
    let calls = crowd(&mut stage, 1, 2);
    stage.woken.clear();
    // The place is free before anybody has heard of it.
    stage.prompt = false;
    stage.speak(calls[0]);
    let late = crowd(&mut stage, 1, 1)[0];
    stage.end(calls[0], ekiden_engine::Finish::Stop);
    assert_eq!(stage.running(calls[1]), Some(0));
    assert_eq!(stage.running(late), None);
    assert_eq!(stage.woken.first(), Some(&calls[1]), "woken in the order of arrival");
}

#[test]
fn r05_a_waiting_call_holds_nobody_back_where_it_cannot_run_itself() {
    let mut stage = Stage::new();
    let narrow = ekiden_engine::Candidate { max_sessions: Some(1), ..candidate(1) };
    let two = queue(1, Policy::RELAY, vec![candidate(0), narrow]);
    let waits = stage.call(&two, 1);
    stage.fail_naming(waits, Class::RateLimited, Wait::Ms(20_000));
    stage.fail_out(waits, Class::Auth);
    assert!(matches!(stage.waits(waits), Some((20_000, _))), "it is out at 1");
    stage.pass(6_000);
    let other = stage.call(&two, 2);
    assert_eq!(stage.running(other), Some(1));
}

#[test]
fn r05_when_all_are_out_the_quarantined_are_tried_in_order_and_success_lifts() {
    let (mut stage, two) = (Stage::new(), relay(2));
    let call = stage.call(&two, 1);
    stage.fail_out(call, Class::Auth);
    stage.fail_out(call, Class::Auth);
    assert_eq!(stage.word(call), Some(LastWord::DoNotRetry));
    let next = stage.call(&two, 1);
    assert_eq!(stage.starts(next)[0].mode, Mode::LastResort);
    stage.fail(next, Class::ServerError);
    assert_eq!(stage.tried(next), [0, 1], "one attempt each");
    stage.answer(next);
    assert!(!stage.is_out(1, 1) && stage.is_out(1, 0));
}

#[test]
fn r05_the_last_resort_can_be_switched_off() {
    let off = Policy { retry_when_all_quarantined: Switch::Off, ..Policy::RELAY };
    let mut stage = Stage::new();
    let one = queue(1, off, vec![candidate(0)]);
    let call = stage.call(&one, 1);
    stage.fail_out(call, Class::Auth);
    let next = stage.call(&one, 1);
    assert_eq!(stage.tried(next), [0u32; 0]);
    assert_eq!(stage.word(next), Some(LastWord::DoNotRetry));
}

#[test]
fn r05_a_retry_does_not_exceed_a_cap() {
    let mut stage = Stage::new();
    let calls = crowd(&mut stage, 1, 2);
    stage.fail(calls[0], Class::ServerError);
    assert!(matches!(stage.waits(calls[0]), Some((_, Why::RetryPause))));
    assert_eq!(stage.running(calls[1]), Some(0), "the place went to who waited");
    stage.pass(1_000);
    let in_flight = stage.engine.routes(stage.now).next().unwrap().in_flight;
    assert_eq!(in_flight, 1);
    assert_eq!(stage.running(calls[0]), None);
}

#[test]
fn r05_a_call_that_goes_elsewhere_wakes_whoever_stood_behind_it() {
    let mut stage = Stage::new();
    let narrow = |route| ekiden_engine::Candidate { max_in_flight: Some(1), ..candidate(route) };
    let both = queue(1, Policy::RELAY, vec![narrow(0), narrow(1)]);
    let only = queue(2, Policy::RELAY, vec![narrow(0)]);
    let (zero, one) = (stage.call(&both, 1), stage.call(&both, 2));
    let (first, second) = (stage.call(&both, 3), stage.call(&only, 4));
    stage.answer(one);
    assert_eq!(stage.running(first), Some(1));
    stage.answer(zero);
    assert_eq!(stage.running(second), Some(0));
}

#[test]
fn r05_a_deadline_cuts_a_wait_short() {
    let (mut stage, one) = (Stage::new(), relay(1));
    let spec = CallSpec { deadline_ms: Some(4_000), ..stage.spec(&one, 1) };
    let call = stage.arrive(spec);
    stage.fail_naming(call, Class::RateLimited, Wait::Ms(25_000));
    assert!(matches!(stage.admission(call), Some((_, Decision::Wait { ms: 4_000, .. }))));
    stage.pass(4_000);
    assert_eq!(stage.word(call), Some(LastWord::Deadline));
}
