//! Policy `chain` (C1 to C8).

use std::sync::Arc;

use ekiden_engine::{AttemptInput, Failure, Repair};
use ekiden_engine::{Class, Fact, LastWord, Mode, OpenedBy, Policy, Queue, Reach, RouteId, Wait};
use ekiden_model::Stage;
use ekiden_model::stage::{candidate, queue};

fn chain(count: u32) -> Arc<Queue> {
    of(Policy::CHAIN, count)
}

fn of(policy: Policy, count: u32) -> Arc<Queue> {
    queue(1, policy, (0..count).map(candidate).collect())
}

const SWITCHING: [Class; 8] = [
    Class::EmptyResponse,
    Class::RateLimited,
    Class::Overloaded,
    Class::ServerError,
    Class::NotFound,
    Class::Timeout,
    Class::Stall,
    Class::TransportRemote,
];

#[test]
fn c01_c03_the_same_call_goes_on_at_the_first_fallback() {
    for class in SWITCHING {
        let (mut stage, three) = (Stage::new(), chain(3));
        let call = stage.call(&three, 1);
        stage.fail(call, class);
        assert_eq!(stage.tried(call), [0, 1], "{class:?}");
        stage.fail(call, class);
        stage.answer(call);
        assert_eq!(stage.tried(call), [0, 1, 2]);
        assert!(stage.delivered(call));
        assert!(stage.starts(call).iter().all(|start| start.continues == 0));
    }
}

#[test]
fn c03_a_class_outside_the_set_goes_up_uncounted() {
    let others = Class::ALL.into_iter().filter(|class| {
        let broken = matches!(class, Class::Aborted | Class::Truncated | Class::LocalNetwork);
        !SWITCHING.contains(class) && !broken
    });
    for class in others {
        let (mut stage, two) = (Stage::new(), chain(2));
        let call = stage.call(&two, 1);
        stage.fail(call, class);
        assert_eq!(stage.tried(call), [0], "{class:?}");
        assert!(stage.word(call).is_some());
        assert_eq!(stage.cools(0), None);
        assert_eq!(stage.engine.routes(stage.now).next().map(|route| route.failures), Some(0));
    }
    let (mut stage, two) = (Stage::new(), chain(2));
    let call = stage.call(&two, 1);
    let failure =
        Failure { reach: Reach::ModelSpecific, ..Failure::upstream(Class::InvalidRequest) };
    stage.feed(call, AttemptInput::Failed { failure, repair: Repair::Impossible });
    assert!(matches!(stage.word(call), Some(LastWord::AsItCame(_))), "a model's own refusal too");
}

#[test]
fn c03_the_set_is_the_user_s() {
    let only = Policy { switch_on: ekiden_engine::ClassSet::of(&[Class::Auth]), ..Policy::CHAIN };
    let (mut stage, two) = (Stage::new(), of(only, 2));
    let call = stage.call(&two, 1);
    stage.fail(call, Class::Auth);
    assert_eq!(stage.tried(call), [0, 1]);
    let call = stage.call(&two, 2);
    stage.fail(call, Class::ServerError);
    assert_eq!(stage.tried(call), [1]);
}

#[test]
fn c04_the_breaker_is_flat_and_half_opens_for_one_real_call() {
    let (mut stage, two) = (Stage::new(), chain(2));
    for _ in 0..3 {
        let call = stage.call(&two, 1);
        stage.fail(call, Class::ServerError);
        assert_eq!(stage.cools(0), Some(30_000));
        stage.answer(call);
        let during = stage.call(&two, 2);
        assert_eq!(stage.running(during), Some(1), "the head is passed over while it cools");
        stage.answer(during);
        stage.pass(30_000);
        let (probe, other) = (stage.call(&two, 3), stage.call(&two, 4));
        assert_eq!(stage.starts(probe)[0].mode, Mode::Probe);
        assert_eq!((stage.running(probe), stage.running(other)), (Some(0), Some(1)));
        stage.fail(probe, Class::ServerError);
        assert_eq!(
            stage.tried(probe),
            [0, 1],
            "a failed probe opens at once, and the call goes on"
        );
        assert_eq!(stage.cools(0), Some(30_000));
        stage.answer(probe);
        stage.answer(other);
        stage.pass(30_000);
    }
}

#[test]
fn c04_a_failed_probe_opens_at_once_whatever_the_threshold() {
    let policy = Policy { breaker_threshold: 3, ..Policy::CHAIN };
    let (mut stage, two) = (Stage::new(), of(policy, 2));
    for expected in [vec![0], vec![0], vec![0, 1]] {
        let call = stage.call(&two, 1);
        stage.fail(call, Class::Timeout);
        assert_eq!(stage.tried(call), expected);
    }
    stage.pass(30_000);
    let probe = stage.call(&two, 2);
    stage.fail(probe, Class::Timeout);
    assert_eq!(stage.tried(probe), [0, 1]);
    let by_probe = |fact: &Fact| matches!(fact, Fact::Opened { by: OpenedBy::Probe, .. });
    assert!(stage.facts.iter().any(by_probe));
}

#[test]
fn c05_success_clears() {
    let policy = Policy { breaker_threshold: 2, ..Policy::CHAIN };
    let (mut stage, two) = (Stage::new(), of(policy, 2));
    for _ in 0..4 {
        let call = stage.call(&two, 1);
        stage.fail(call, Class::Timeout);
        let call = stage.call(&two, 1);
        stage.answer(call);
    }
    assert_eq!(stage.cools(0), None);
    let two = chain(2);
    let call = stage.call(&two, 1);
    stage.fail(call, Class::Timeout);
    stage.answer(call);
    stage.pass(30_000);
    let probe = stage.call(&two, 1);
    stage.answer(probe);
    let status = stage.engine.routes(stage.now).next();
    assert_eq!(
        status.map(|route| (route.failures, route.opened, route.probing)),
        Some((0, 0, false))
    );
}

#[test]
fn c06_the_last_fallback_s_failure_is_final_and_goes_up_as_it_came() {
    let (mut stage, two) = (Stage::new(), chain(2));
    let call = stage.call(&two, 1);
    stage.fail(call, Class::Overloaded);
    stage.fail(call, Class::Timeout);
    let last = stage.starts(call)[1].attempt;
    assert_eq!(stage.word(call), Some(LastWord::AsItCame(last)));
}

#[test]
fn c04_when_all_are_cooling_the_head_is_tried_and_nobody_else() {
    let (mut stage, three) = (Stage::new(), chain(3));
    let call = stage.call(&three, 1);
    (0..3).for_each(|_| stage.fail(call, Class::ServerError));
    let call = stage.call(&three, 1);
    assert_eq!(stage.running(call), Some(0));
    stage.fail(call, Class::ServerError);
    assert_eq!(stage.tried(call), [0]);
    assert!(matches!(stage.word(call), Some(LastWord::AsItCame(_))));
}

#[test]
fn c07_each_switch_and_each_call_served_by_a_fallback_is_told() {
    let (mut stage, two) = (Stage::new(), chain(2));
    let call = stage.call(&two, 1);
    stage.fail(call, Class::ServerError);
    stage.answer(call);
    let attempt = stage.starts(call)[0].attempt;
    let (head, route) = (RouteId(0), RouteId(1));
    let class = Class::ServerError;
    let by = OpenedBy::Threshold;
    let opened = Fact::Opened { route: head, ms: 30_000, failures: 1, by, class, call, attempt };
    let moved = Fact::FailedOver { call, from: head, to: route };
    let served = Fact::ServedInstead { call, head, route };
    let told: Vec<_> = [opened, moved, served]
        .iter()
        .map(|fact| stage.facts.iter().position(|other| other == fact))
        .collect();
    assert!(told.iter().all(Option::is_some) && told.is_sorted(), "{told:?} {:?}", stage.facts);
    stage.facts.clear();
    stage.pass(30_000);
    let call = stage.call(&two, 1);
    stage.answer(call);
    assert!(!stage.facts.iter().any(|fact| matches!(fact, Fact::ServedInstead { .. })));
}

#[test]
fn c08_without_fallbacks_every_call_passes() {
    let (mut stage, alone) = (Stage::new(), chain(1));
    for session in 0..5 {
        let call = stage.call(&alone, session);
        assert_eq!(stage.tried(call), [0], "it is asked, cooling or not");
        stage.fail(call, Class::ServerError);
        assert!(matches!(stage.word(call), Some(LastWord::AsItCame(_))));
    }
    // Side by side too, and while another is trying it alone.
    stage.pass(30_000);
    let (one, other) = (stage.call(&alone, 1), stage.call(&alone, 2));
    assert_eq!((stage.running(one), stage.running(other)), (Some(0), Some(0)));
}

#[test]
fn c04_r21_a_named_wait_longer_than_the_cooldown_holds() {
    let (mut stage, two) = (Stage::new(), chain(2));
    let call = stage.call(&two, 1);
    stage.fail_naming(call, Class::RateLimited, Wait::Ms(90_000));
    assert_eq!((stage.cools(0), stage.running(call)), (Some(90_000), Some(1)));
}

#[test]
fn c04_without_a_cooldown_every_call_begins_at_the_head() {
    let policy = Policy { breaker_ms: 0, breaker_max_ms: 0, ..Policy::CHAIN };
    let (mut stage, two) = (Stage::new(), of(policy, 2));
    for _ in 0..3 {
        let call = stage.call(&two, 1);
        stage.fail(call, Class::ServerError);
        stage.answer(call);
        assert_eq!(stage.tried(call), [0, 1], "seed 003's default");
    }
}
