//! Policy `persist` (P1 to P5).

use std::sync::Arc;

use ekiden_engine::{
    Class, Decision, Input, LastWord, Policy, Queue, SessionId, Wait, WaitFor, Whose, Why,
};
use ekiden_model::Stage;
use ekiden_model::stage::{candidate, queue};

fn persist(count: u32) -> Arc<Queue> {
    of(Policy::PERSIST, count)
}

fn of(policy: Policy, count: u32) -> Arc<Queue> {
    queue(1, policy, (0..count).map(candidate).collect())
}

/// Fails whatever runs, round after round, and gives the waits between the rounds.
fn rounds(stage: &mut Stage, call: ekiden_engine::CallId, class: Class, rounds: usize) -> Vec<u64> {
    let mut waits = Vec::new();
    while waits.len() < rounds {
        match stage.waits(call) {
            Some((ms, Why::Candidate(WaitFor::Round))) => {
                waits.push(ms);
                stage.pass(ms);
            }
            _ => stage.fail(call, class),
        }
    }
    waits
}

#[test]
fn p01_p02_a_call_that_is_through_waits_and_goes_round_again() {
    let (mut stage, two) = (Stage::new(), persist(2));
    let call = stage.call(&two, 1);
    let waits = rounds(&mut stage, call, Class::ServerError, 40);
    for (round, wait) in waits.iter().enumerate() {
        let middle = (1_000_u64 << round.min(10)).min(30_000);
        let band = middle * 8 / 10..=(middle * 12 / 10).min(30_000);
        assert!(band.contains(wait), "round {round}: {wait}");
    }
    let distinct: std::collections::BTreeSet<_> = waits[10..].iter().collect();
    assert!(distinct.len() > 20, "jitter: {distinct:?}");
    assert_eq!(stage.tried(call)[..5], [0, 1, 0, 1, 0]);
    stage.answer(call);
    assert!(stage.delivered(call));
    assert!(!stage.blamed(), "nobody is quarantined or cooled");
}

#[test]
fn p01_max_rounds_ends_it_with_the_last_failure() {
    let policy = Policy { rounds_max: 2, ..Policy::PERSIST };
    let (mut stage, two) = (Stage::new(), of(policy, 2));
    let call = stage.call(&two, 1);
    rounds(&mut stage, call, Class::Timeout, 2);
    stage.fail(call, Class::Timeout);
    stage.fail(call, Class::Timeout);
    assert_eq!(stage.tried(call), [0, 1, 0, 1, 0, 1]);
    let last = stage.starts(call)[5].attempt;
    assert_eq!(stage.word(call), Some(LastWord::AsItCame(last)));
}

#[test]
fn p01_attempts_max_holds_for_each_round() {
    let policy = Policy { attempts_max: 2, ..Policy::PERSIST };
    let (mut stage, three) = (Stage::new(), of(policy, 3));
    let call = stage.call(&three, 1);
    rounds(&mut stage, call, Class::Timeout, 3);
    assert_eq!(stage.tried(call)[..4], [0, 1, 2, 0]);
}

#[test]
fn p01_the_client_s_cancel_and_the_deadline_end_it() {
    let (mut stage, one) = (Stage::new(), persist(1));
    let call = stage.call(&one, 1);
    stage.fail(call, Class::ServerError);
    stage.input(call, Input::ClientGone);
    assert_eq!((stage.waits(call), stage.word(call)), (None, None));
    let late = ekiden_engine::CallSpec { deadline_ms: Some(5_000), ..stage.spec(&one, 2) };
    let call = stage.arrive(late);
    for _ in 0..4 {
        stage.fail(call, Class::ServerError);
        stage.pass(2_000);
    }
    assert_eq!(stage.word(call), Some(LastWord::Deadline));
}

#[test]
fn p02_a_named_wait_is_used_in_full_up_to_cooldown_max() {
    let (mut stage, one) = (Stage::new(), persist(1));
    for (named, waits) in [(900_000, 900_000), (7_200_000, 3_600_000)] {
        let call = stage.call(&one, 1);
        stage.fail_naming(call, Class::RateLimited, Wait::Ms(named));
        assert_eq!(stage.waits(call), Some((waits, Why::Candidate(WaitFor::Cooldown))));
        stage.pass(waits);
        assert_eq!(stage.tried(call), [0, 0]);
        stage.answer(call);
    }
}

#[test]
fn p02_one_that_may_be_asked_sooner_is_not_kept_waiting_for_another_s_named_wait() {
    let (mut stage, two) = (Stage::new(), persist(2));
    let call = stage.call(&two, 1);
    stage.fail_naming(call, Class::RateLimited, Wait::Ms(600_000));
    stage.fail(call, Class::ServerError);
    let (ms, why) = stage.waits(call).unwrap();
    assert!(ms <= 1_200 && why == Why::Candidate(WaitFor::Round), "{ms} {why:?}");
    stage.pass(ms);
    assert_eq!(stage.tried(call), [0, 1, 1]);
}

#[test]
fn p03_never_for_what_waiting_cannot_mend() {
    let never = [
        Class::Auth,
        Class::NotFound,
        Class::QuotaExhausted,
        Class::ContextOverflow,
        Class::InvalidRequest,
        Class::ContentFilter,
    ];
    for class in never {
        let (mut stage, one) = (Stage::new(), persist(1));
        let call = stage.call(&one, 1);
        stage.fail(call, class);
        assert!(stage.word(call).is_some(), "{class:?}");
        assert_eq!(stage.tried(call), [0], "{class:?}");
    }
    let (mut stage, two) = (Stage::new(), persist(2));
    let call = stage.call(&two, 1);
    stage.fail(call, Class::Auth);
    rounds(&mut stage, call, Class::ServerError, 3);
    assert_eq!(stage.tried(call), [0, 1, 1, 1, 1], "the others go round without it");
}

#[test]
fn p04_whatever_may_pass_goes_round() {
    let passes = Class::ALL.into_iter().filter(|class| class.may_pass());
    for class in passes {
        let (mut stage, one) = (Stage::new(), persist(1));
        let call = stage.call(&one, 1);
        rounds(&mut stage, call, class, 3);
        assert_eq!(stage.tried(call).len(), 4, "{class:?}");
    }
}

#[test]
fn p04_local_trouble_is_waited_out_without_limit_at_one_candidate_alone() {
    let (mut stage, two) = (Stage::new(), persist(2));
    let call = stage.call(&two, 1);
    for _ in 0..100 {
        stage.fail(call, Class::LocalNetwork);
        let (ms, why) = stage.waits(call).unwrap();
        assert!((1_000..=5_000).contains(&ms) && why == Why::LocalNetwork);
        stage.pass(ms);
    }
    assert!(stage.tried(call).iter().all(|candidate| *candidate == 0));
    stage.answer(call);
    assert!(stage.delivered(call) && !stage.blamed());
}

#[test]
fn p05_a_pause_ends_a_waiting_call_with_its_last_failure_at_once() {
    for whose in [Whose::All, Whose::Session(SessionId(1))] {
        let (mut stage, two) = (Stage::new(), persist(2));
        let call = stage.call(&two, 1);
        rounds(&mut stage, call, Class::ServerError, 3);
        stage.fail(call, Class::ServerError);
        stage.fail(call, Class::Overloaded);
        let last = stage.starts(call).last().map(|start| start.attempt);
        stage.engine.pause(whose);
        stage.attend();
        assert_eq!(stage.word(call), last.map(LastWord::AsItCame), "{whose:?}");
    }
}

#[test]
fn p05_new_calls_do_not_persist_until_resume_and_others_are_not_concerned() {
    let (mut stage, two) = (Stage::new(), persist(2));
    let mine = Whose::Session(SessionId(1));
    stage.engine.pause(mine);
    let call = stage.call(&two, 1);
    stage.fail(call, Class::ServerError);
    assert_eq!(stage.tried(call), [0, 1], "the queue is still gone through once");
    stage.fail(call, Class::ServerError);
    assert!(matches!(stage.word(call), Some(LastWord::AsItCame(_))));
    let other = stage.call(&two, 2);
    rounds(&mut stage, other, Class::ServerError, 1);
    stage.engine.resume(mine);
    let call = stage.call(&two, 1);
    rounds(&mut stage, call, Class::ServerError, 2);
    assert_eq!(stage.word(call), None);
}

#[test]
fn p05_local_trouble_ends_with_a_pause_too() {
    let (mut stage, one) = (Stage::new(), persist(1));
    let call = stage.call(&one, 1);
    stage.fail(call, Class::LocalNetwork);
    stage.engine.pause(Whose::All);
    stage.attend();
    stage.pass(5_000);
    assert_eq!(stage.word(call), Some(LastWord::LocalNetwork));
}

#[test]
fn p05_a_stop_ends_one_call_and_no_other() {
    let (mut stage, one) = (Stage::new(), persist(1));
    let (call, other) = (stage.call(&one, 1), stage.call(&one, 2));
    stage.fail(call, Class::ServerError);
    stage.fail(other, Class::ServerError);
    stage.input(call, Input::Stop);
    assert_eq!((stage.word(call), stage.word(other)), (Some(LastWord::Stopped), None));
}

#[test]
fn p01_d06_candidates_that_broke_earlier_in_the_step_come_again_in_the_next_round() {
    let (mut stage, one) = (Stage::new(), persist(1));
    let tried = vec![ekiden_engine::RouteId(0)];
    let spec = ekiden_engine::CallSpec { tried, ..stage.spec(&one, 1) };
    let call = stage.arrive(spec);
    let admitted = stage.admission(call).map(|(_, decision)| decision);
    assert!(matches!(admitted, Some(Decision::Wait { why: WaitFor::Round, .. })));
    stage.pass(1_200);
    assert_eq!(stage.tried(call), [0]);
}

#[test]
fn p01_an_answer_in_another_session_wakes_nobody_early() {
    let (mut stage, one) = (Stage::new(), persist(1));
    let call = stage.call(&one, 1);
    stage.fail(call, Class::ServerError);
    let before = stage.waits(call);
    let other = stage.call(&one, 2);
    stage.answer(other);
    assert_eq!(stage.waits(call), before, "its backoff is its own");
}
