//! R24 to R28: sharing a narrow upstream.

use ekiden_engine::{
    CallSpec, Candidate, Class, Fact, Finish, Grant, Holder, Input, Policy, Queue, QueueId, Reason,
    RouteId, Seating, SessionId, Switch, Wait, WaitFor, Why,
};
use ekiden_model::Stage;
use ekiden_model::stage::{candidate, queue};
use std::sync::Arc;

fn narrow(cap: u32) -> Candidate {
    Candidate { max_sessions: Some(cap), ..candidate(0) }
}

fn capped(cap: u32) -> Arc<Queue> {
    queue(1, Policy::RELAY, vec![narrow(cap), candidate(1)])
}

fn alone(cap: u32) -> Arc<Queue> {
    queue(1, Policy::RELAY, vec![narrow(cap)])
}

#[test]
fn r24_a_cap_counts_sessions_and_a_session_sits_across_calls() {
    let (mut stage, queue) = (Stage::new(), capped(2));
    for session in [1, 2] {
        let call = stage.call(&queue, session);
        stage.answer(call);
    }
    let (third, again) = (stage.call(&queue, 3), stage.call(&queue, 1));
    assert_eq!(stage.running(third), Some(1));
    assert_eq!(stage.running(again), Some(0));
    let second = stage.call(&queue, 1);
    assert_eq!(stage.running(second), Some(0), "calls of one session share its seat");
    assert_eq!(stage.taken(0), 2);
}

#[test]
fn r24_a_retry_and_a_truncation_keep_the_seat_and_a_verdict_takes_it() {
    let (mut stage, queue) = (Stage::new(), capped(1));
    let call = stage.call(&queue, 1);
    stage.fail(call, Class::EmptyResponse);
    assert_eq!(stage.taken(0), 1);
    stage.speak(call);
    stage.end(call, Finish::Truncated);
    assert_eq!(stage.taken(0), 1);
    let call = stage.call(&queue, 1);
    stage.fail_out(call, Class::Auth);
    assert_eq!(stage.taken(0), 0);
    let call = stage.call(&queue, 2);
    assert_eq!(stage.running(call), Some(1), "it rests for others");
    stage.pass(5_000);
    let call = stage.call(&queue, 3);
    assert_eq!(stage.running(call), Some(0));
    stage.fail_naming(call, Class::RateLimited, Wait::Ms(60_000));
    assert_eq!(stage.taken(0), 0, "a cooldown takes it too");
}

#[test]
fn r24_a_seat_goes_back_only_when_the_sessions_last_attempt_on_it_has_ended() {
    let (mut stage, queue) = (Stage::new(), capped(1));
    let (one, other) = (stage.call(&queue, 1), stage.call(&queue, 1));
    stage.fail_out(one, Class::Auth);
    assert_eq!(stage.taken(0), 1);
    stage.answer(other);
    assert_eq!(stage.taken(0), 0);
}

#[test]
fn r24_the_end_of_a_session_gives_its_seats_back() {
    let (mut stage, queue) = (Stage::new(), capped(1));
    let call = stage.call(&queue, 1);
    stage.engine.end_session(stage.now, SessionId(1));
    stage.attend();
    assert_eq!(stage.taken(0), 1, "its attempt still runs");
    stage.answer(call);
    assert_eq!(stage.taken(0), 0);
}

#[test]
fn r24_a_candidate_that_leaves_its_queue_gives_its_seats_back() {
    let (mut stage, queue) = (Stage::new(), capped(2));
    let other = self::queue(2, Policy::RELAY, vec![narrow(2)]);
    let (here, there) = (stage.call(&queue, 1), stage.call(&other, 2));
    stage.answer(here);
    stage.answer(there);
    stage.engine.leave_queue(stage.now, QueueId(1), RouteId(0));
    stage.attend();
    let holders = stage.engine.routes(stage.now).next().unwrap().holders;
    assert_eq!(holders, [Holder::Session(SessionId(2))]);
}

#[test]
fn r24_fingerprints_and_background_sit_for_the_call_alone() {
    let (mut stage, queue) = (Stage::new(), capped(1));
    let spec = CallSpec { seating: Seating::Call, ..stage.spec(&queue, 9) };
    let call = stage.arrive(spec);
    assert_eq!(stage.taken(0), 1);
    stage.answer(call);
    assert_eq!(stage.taken(0), 0);
}

#[test]
fn r24_in_flight_caps_calls_instead_of_sessions() {
    let busy = Candidate { max_in_flight: Some(1), ..candidate(0) };
    let queue = queue(1, Policy::RELAY, vec![busy, candidate(1)]);
    let mut stage = Stage::new();
    let (one, two) = (stage.call(&queue, 1), stage.call(&queue, 1));
    assert_eq!((stage.running(one), stage.running(two)), (Some(0), Some(1)));
    stage.answer(one);
    let three = stage.call(&queue, 2);
    assert_eq!(stage.running(three), Some(0));
}

#[test]
fn r24_whoever_has_the_seat_does_not_wait_behind_those_who_want_it() {
    let both = Candidate { max_in_flight: Some(1), ..narrow(1) };
    let (mut stage, queue) = (Stage::new(), queue(1, Policy::RELAY, vec![both]));
    let first = stage.call(&queue, 1);
    stage.answer(first);
    let wants = stage.call(&queue, 2);
    assert!(stage.running(wants).is_none());
    let again = stage.call(&queue, 1);
    assert_eq!(stage.running(again), Some(0), "the one before it waits for this very seat");
}

#[test]
fn r24_one_ledger_for_all_queues_and_each_row_compares_its_own_cap() {
    let mut stage = Stage::new();
    let (wide, tight) = (queue(1, Policy::RELAY, vec![narrow(3)]), alone_in(2, 1));
    for session in [1, 2] {
        let call = stage.call(&wide, session);
        stage.answer(call);
    }
    let call = stage.call(&tight, 3);
    assert_eq!(stage.running(call), Some(1), "two sit where this row allows one");
    let call = stage.call(&wide, 4);
    assert_eq!(stage.running(call), Some(0), "and where the other allows three");
}

fn alone_in(id: u32, cap: u32) -> Arc<Queue> {
    queue(id, Policy::RELAY, vec![narrow(cap), candidate(1)])
}

#[test]
fn r24_attempts_of_rows_without_a_cap_fill_the_route_and_leak_nothing() {
    let open = queue(2, Policy::RELAY, vec![candidate(0)]);
    let (mut stage, queue) = (Stage::new(), capped(1));
    let call = stage.call(&open, 1);
    let other = stage.call(&queue, 2);
    assert_eq!(stage.running(other), Some(1));
    stage.answer(call);
    assert_eq!(stage.taken(0), 0);
}

#[test]
fn r25_full_is_no_failure() {
    let (mut stage, queue) = (Stage::new(), capped(1));
    let first = stage.call(&queue, 1);
    let second = stage.call(&queue, 2);
    let (passed, _) = stage.admission(second).unwrap();
    assert_eq!(passed[0].reason, Reason::Full);
    assert_eq!(stage.running(second), Some(1));
    assert!(!stage.blamed() && stage.running(first) == Some(0));
}

#[test]
fn r25_a_refused_seat_is_asked_for_again_after_any_change() {
    let busy = Candidate { max_in_flight: Some(1), ..candidate(1) };
    let (both, one) =
        (queue(1, Policy::RELAY, vec![narrow(1), busy]), queue(2, Policy::RELAY, vec![busy]));
    let mut stage = Stage::new();
    stage.prompt = false;
    let (runs, first) = (stage.call(&one, 2), stage.call(&one, 3));
    let call = stage.call(&both, 1);
    let want = stage.wants.remove(0);
    stage.grant(&want, Grant::Refused);
    assert!(stage.running(call).is_none() && stage.wants.is_empty());
    // The busy one goes to whoever came first, so that it is as busy as before.
    stage.answer(runs);
    assert_eq!(stage.running(first), Some(0));
    assert_eq!(stage.wants.len(), 1, "the seat is asked for again");
}

#[test]
fn r25_a_refused_seat_is_passed_over_and_not_asked_for_again_at_once() {
    let (mut stage, queue) = (Stage::new(), capped(1));
    stage.prompt = false;
    let call = stage.call(&queue, 1);
    assert!(matches!(stage.waits(call), Some((_, Why::Lease))));
    let want = stage.wants.remove(0);
    stage.grant(&want, Grant::Refused);
    assert_eq!(stage.running(call), Some(1));
    assert!(stage.wants.is_empty() && !stage.blamed());
}

#[test]
fn r26_an_idle_seat_is_taken_back_only_when_the_cap_is_full_and_somebody_wants_in() {
    let (mut stage, queue) = (Stage::new(), capped(2));
    for session in [1, 2] {
        let call = stage.call(&queue, session);
        stage.answer(call);
        stage.pass(1_000);
    }
    stage.pass(300_000);
    assert_eq!(stage.taken(0), 2, "nobody wants in");
    let call = stage.call(&queue, 3);
    assert_eq!(stage.running(call), Some(0));
    let holders = stage.engine.routes(stage.now).next().unwrap().holders;
    let expected = [2, 3].map(|session| Holder::Session(SessionId(session)));
    assert_eq!(holders, expected, "the longest idle one went");
}

#[test]
fn r26_a_running_seat_is_never_idle() {
    let (mut stage, queue) = (Stage::new(), alone(1));
    let call = stage.call(&queue, 1);
    stage.speak(call);
    stage.input(call, Input::ClientBlocked);
    stage.pass(299_000);
    stage.input(call, Input::ClientReady);
    stage.pass(100_000);
    let other = stage.call(&queue, 2);
    assert_eq!(stage.running(other), None);
}

#[test]
fn r26_whoever_waits_is_there_when_a_seat_becomes_idle() {
    let policy = Policy { wait_max_ms: 600_000, ..Policy::RELAY };
    let queue = queue(1, policy, vec![narrow(1)]);
    let mut stage = Stage::new();
    let call = stage.call(&queue, 1);
    stage.answer(call);
    let other = stage.call(&queue, 2);
    assert_eq!(stage.waits(other), Some((300_000, Why::Candidate(WaitFor::Seat))));
    stage.pass(300_000);
    assert_eq!(stage.running(other), Some(0));
}

#[test]
fn r26_a_narrower_row_takes_back_as_many_as_it_needs() {
    let (mut stage, wide) = (Stage::new(), alone(3));
    for session in [1, 2, 3] {
        let call = stage.call(&wide, session);
        stage.answer(call);
    }
    stage.pass(300_000);
    let call = stage.call(&alone_in(2, 1), 4);
    assert_eq!(stage.running(call), Some(0));
    assert_eq!(stage.taken(0), 1);
}

#[test]
fn r26_a_seat_that_waits_for_its_call_is_not_idle() {
    let policy = Policy { lease_idle_ms: 0, ..Policy::RELAY };
    let queue = queue(1, policy, vec![narrow(1)]);
    let mut stage = Stage::new();
    stage.prompt = false;
    let (one, two) = (stage.call(&queue, 1), stage.call(&queue, 2));
    let want = stage.wants.remove(0);
    stage.grant(&want, Grant::Granted);
    assert_eq!((stage.running(one), stage.running(two)), (Some(0), None));
}

#[test]
fn r27_a_full_route_rests_for_others_when_a_seat_is_given_back() {
    let (mut stage, queue) = (Stage::new(), alone(1));
    let call = stage.call(&queue, 1);
    stage.answer(call);
    stage.engine.end_session(stage.now, SessionId(1));
    stage.attend();
    let other = stage.call(&queue, 2);
    assert_eq!(stage.waits(other), Some((5_000, Why::Candidate(WaitFor::Rest))));
    let own = stage.call(&queue, 1);
    assert_eq!(stage.running(own), None, "it stands in line behind the other now");
    stage.pass(5_000);
    assert_eq!(stage.running(other), Some(0));
}

#[test]
fn r27_the_one_that_gave_it_back_is_not_held_up() {
    let (mut stage, queue) = (Stage::new(), capped(1));
    let call = stage.call(&queue, 1);
    stage.answer(call);
    stage.engine.end_session(stage.now, SessionId(1));
    let (own, other) = (stage.call(&queue, 1), stage.call(&queue, 2));
    assert_eq!((stage.running(own), stage.running(other)), (Some(0), Some(1)));
}

#[test]
fn r27_no_rest_where_seats_were_left_or_where_it_is_off() {
    let cases = [(2, Policy::RELAY), (1, Policy { rest_ms: 0, ..Policy::RELAY })];
    for (cap, policy) in cases {
        let queue = queue(1, policy, vec![narrow(cap)]);
        let mut stage = Stage::new();
        let call = stage.call(&queue, 1);
        stage.answer(call);
        stage.engine.end_session(stage.now, SessionId(1));
        let other = stage.call(&queue, 2);
        assert_eq!(stage.running(other), Some(0));
    }
}

#[test]
fn r27_a_rest_is_waited_out_in_full_even_beyond_wait_max() {
    let policy = Policy { rest_ms: 300_000, wait_max_ms: 0, ..Policy::RELAY };
    let queue = queue(1, policy, vec![narrow(1)]);
    let mut stage = Stage::new();
    let call = stage.call(&queue, 1);
    stage.answer(call);
    stage.engine.end_session(stage.now, SessionId(1));
    let other = stage.call(&queue, 2);
    stage.pass(299_999);
    assert_eq!((stage.running(other), stage.word(other)), (None, None));
    stage.pass(1);
    assert_eq!(stage.running(other), Some(0));
}

#[test]
fn r27_a_shorter_rest_does_not_shorten_a_longer_one() {
    let long = queue(1, Policy { rest_ms: 300_000, ..Policy::RELAY }, vec![narrow(2)]);
    let short = queue(2, Policy { rest_ms: 1_000, ..Policy::RELAY }, vec![narrow(1)]);
    let mut stage = Stage::new();
    let (one, two) = (stage.call(&long, 1), stage.call(&long, 2));
    stage.answer(one);
    stage.answer(two);
    stage.engine.end_session(stage.now, SessionId(1));
    stage.attend();
    assert_eq!(stage.engine.routes(stage.now).next().unwrap().resting_ms, Some(300_000));
    stage.engine.end_session(stage.now, SessionId(2));
    stage.attend();
    let own = stage.call(&short, 1);
    stage.answer(own);
    stage.engine.end_session(stage.now, SessionId(1));
    assert_eq!(stage.engine.routes(stage.now).next().unwrap().resting_ms, Some(300_000));
}

#[test]
fn r28_an_answer_that_does_not_come_is_a_no() {
    let (mut stage, queue) = (Stage::new(), capped(1));
    stage.prompt = false;
    let call = stage.call(&queue, 1);
    stage.pass(30_000);
    assert_eq!(stage.running(call), Some(1));
    let want = stage.wants.remove(0);
    stage.answer(call);
    stage.grant(&want, Grant::Granted);
    assert!(!stage.facts.iter().any(|fact| matches!(fact, Fact::Seated { .. })));
    assert_eq!(stage.taken(0), 0, "a lease that nobody wants any more is returned");
    assert!(stage.engine.routes(stage.now).all(|route| route.resting_ms.is_none()));
}

#[test]
fn r28_a_wish_that_is_never_answered_does_not_fill_the_route_for_ever() {
    let (mut stage, queue) = (Stage::new(), capped(1));
    stage.prompt = false;
    let call = stage.call(&queue, 1);
    stage.input(call, Input::ClientGone);
    stage.pass(300_000);
    stage.wants.clear();
    let other = stage.call(&queue, 2);
    assert!(matches!(stage.waits(other), Some((_, Why::Lease))));
}

/// Three narrow candidates; nobody answers wishes.
fn unanswered() -> (Stage, Arc<Queue>) {
    let narrow = |route| Candidate { max_sessions: Some(1), ..candidate(route) };
    let mut stage = Stage::new();
    stage.prompt = false;
    (stage, queue(1, Policy::PERSIST, vec![narrow(0), narrow(1), narrow(2)]))
}

#[test]
fn r28_two_that_do_not_answer_do_not_hide_a_third() {
    let (mut stage, queue) = unanswered();
    let call = stage.call(&queue, 1);
    stage.pass(600_000);
    stage.pass(600_000);
    let asked: Vec<_> = stage.wants.iter().map(|want| want.route).collect();
    assert_eq!(asked, [0, 1, 2].map(RouteId));
    stage.grant(&stage.wants[2].clone(), Grant::Granted);
    assert_eq!(stage.running(call), Some(2));
}

#[test]
fn r28_two_that_say_no_are_not_asked_in_turn() {
    let (mut stage, queue) = unanswered();
    let call = stage.call(&queue, 1);
    for asked in 0..3 {
        let want = stage.wants.pop().unwrap();
        assert_eq!(want.route, RouteId(asked));
        stage.grant(&want, Grant::Refused);
    }
    assert!(stage.wants.is_empty(), "{:?}", stage.wants);
    assert!(matches!(stage.waits(call), Some((60_000.., Why::Candidate(WaitFor::Seat)))));
    // It is not given up: whoever persists asks again.
    let (ms, _) = stage.waits(call).unwrap();
    stage.pass(ms);
    assert_eq!(stage.wants.len(), 1);
}

#[test]
fn r28_a_late_answer_finds_a_call_that_asks_elsewhere_by_now() {
    let (mut stage, queue) = unanswered();
    let call = stage.call(&queue, 1);
    stage.pass(600_000);
    assert_eq!(stage.wants[1].route, RouteId(1));
    stage.grant(&stage.wants[0].clone(), Grant::Granted);
    assert_eq!(stage.running(call), Some(0));
}

#[test]
fn r28_a_wish_that_another_call_of_the_session_drops_is_made_again() {
    let (mut stage, queue) = unanswered();
    let (one, two) = (stage.call(&queue, 1), stage.call(&queue, 1));
    stage.input(one, Input::ClientGone);
    stage.grant(&stage.wants[0].clone(), Grant::Granted);
    assert_eq!(stage.running(two), Some(0));
}

#[test]
fn r28_an_attempt_without_the_relay_leaves_the_wish_of_another_call() {
    let (mut stage, queue) = unanswered();
    let policy = Policy { relay: Switch::Off, ..Policy::RELAY };
    let plain = Arc::new(Queue { id: QueueId(2), policy, ..(*queue).clone() });
    let (asks, runs) = (stage.call(&queue, 1), stage.call(&plain, 1));
    assert_eq!(stage.running(runs), Some(0));
    stage.grant(&stage.wants[0].clone(), Grant::Granted);
    assert_eq!((stage.running(asks), stage.wants.len()), (Some(0), 1));
}

#[test]
fn r05_calls_that_wait_for_seats_do_not_wake_each_other() {
    let (mut stage, queue) = unanswered();
    let calls: Vec<_> = (0..12).map(|_| stage.call(&queue, 1)).collect();
    // Six hours without an answer to anything.
    stage.pass(6 * 3_600_000);
    assert_eq!((stage.woken.len(), stage.wants.len()), (0, 3));
    for want in std::mem::take(&mut stage.wants) {
        stage.grant(&want, Grant::Granted);
    }
    assert!(calls.iter().all(|call| stage.running(*call).is_some()));
}

#[test]
fn r28_one_wish_for_all_calls_of_a_session() {
    let (mut stage, queue) = (Stage::new(), capped(1));
    stage.prompt = false;
    let (one, two) = (stage.call(&queue, 1), stage.call(&queue, 1));
    assert_eq!(stage.wants.len(), 1);
    let want = stage.wants.remove(0);
    stage.grant(&want, Grant::Granted);
    assert_eq!((stage.running(one), stage.running(two)), (Some(0), Some(0)));
}
