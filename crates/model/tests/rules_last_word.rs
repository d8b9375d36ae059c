//! R45: what an exhausted call answers.

use ekiden_engine::{
    AttemptId, AttemptInput, Class, Failure, LastWord, Policy, Reach, Repair, Wait,
};
use ekiden_model::Stage;
use ekiden_model::stage::{candidate, queue, relay};

/// Feeds a queue of two these failures, and gives the last word.
fn word(failures: &[Failure]) -> Option<LastWord> {
    let mut stage = Stage::new();
    let policy = Policy { retries: 0, ..Policy::RELAY };
    let call = stage.call(&queue(1, policy, vec![candidate(0), candidate(1)]), 1);
    for failure in failures {
        let failed = AttemptInput::Failed { failure: *failure, repair: Repair::Impossible };
        stage.feed(call, failed);
    }
    stage.word(call)
}

fn fails(class: Class) -> Failure {
    Failure::upstream(class)
}

#[test]
fn r45_an_error_that_the_client_can_act_on_goes_out_as_it_came() {
    let one = AttemptId(1);
    let universal = Failure { reach: Reach::Universal, ..fails(Class::InvalidRequest) };
    assert_eq!(word(&[universal]), Some(LastWord::AsItCame(one)));
    assert_eq!(word(&[fails(Class::ContentFilter)]), Some(LastWord::AsItCame(one)));
    assert_eq!(word(&[fails(Class::ContextOverflow)]), Some(LastWord::Overflow(one)));
    let second = [fails(Class::Auth), fails(Class::ContentFilter)];
    assert_eq!(word(&second), Some(LastWord::AsItCame(AttemptId(2))));
}

#[test]
fn r45_what_comes_back_today_is_a_429_with_the_soonest_moment() {
    let cools = Failure { wait: Wait::Ms(45_000), ..fails(Class::RateLimited) };
    assert_eq!(word(&[fails(Class::Auth), cools]), Some(LastWord::ComeBack(45_000)));
    let transient = fails(Class::Timeout);
    assert_eq!(word(&[transient, transient]), Some(LastWord::ComeBack(60_000)), "its parole");
    let quota = Failure { wait: Wait::Ms(3_600_000), ..fails(Class::QuotaExhausted) };
    assert_eq!(word(&[quota, fails(Class::Auth)]), Some(LastWord::ComeBack(3_600_000)));
}

#[test]
fn r45_what_does_not_come_back_today_says_do_not_retry() {
    for class in [Class::Auth, Class::NotFound, Class::QuotaExhausted] {
        assert_eq!(word(&[fails(class), fails(class)]), Some(LastWord::DoNotRetry), "{class:?}");
    }
}

#[test]
fn r45_when_all_refuse_the_first_refusal_goes_out_and_only_then() {
    let refuses = fails(Class::InvalidRequest);
    assert_eq!(word(&[refuses, refuses]), Some(LastWord::AsItCame(AttemptId(1))));
    assert_eq!(word(&[refuses, fails(Class::Auth)]), Some(LastWord::DoNotRetry));
}

#[test]
fn r45_a_call_that_spent_its_attempts_says_that_others_could_still_run() {
    let mut stage = Stage::new();
    let policy = Policy { attempts_max: 1, ..Policy::RELAY };
    let call = stage.call(&queue(1, policy, vec![candidate(0), candidate(1)]), 1);
    stage.fail(call, Class::Auth);
    assert_eq!(stage.word(call), Some(LastWord::ComeBack(0)));
}

#[test]
fn r45_a_candidates_own_401_402_403_404_never_goes_out_as_such() {
    for class in [Class::Auth, Class::QuotaExhausted, Class::NotFound] {
        let (mut stage, one) = (Stage::new(), relay(1));
        let call = stage.call(&one, 1);
        stage.fail_out(call, class);
        assert!(!matches!(stage.word(call), None | Some(LastWord::AsItCame(_))), "{class:?}");
    }
}
