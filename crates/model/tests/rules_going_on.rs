//! Going on by itself (R42, R43), as the engine decides it for any host.

use ekiden_engine::{
    Cause, Class, Continuation, Continue, Fact, NotContinued, SessionId, Switch, TurnEnd, TurnStart,
};
use ekiden_model::Stage;

const ON: Continuation = Continuation { enabled: Switch::On, ..Continuation::OFF };
const ME: SessionId = SessionId(1);

fn stage(settings: Continuation) -> Stage {
    let mut stage = Stage::new();
    stage.engine.set_continuation(settings);
    stage
}

fn ended(stage: &mut Stage, end: TurnEnd) -> Continue {
    let said = stage.engine.turn_ended(stage.now, ME, end);
    stage.attend();
    said
}

fn due(stage: &mut Stage) -> Continue {
    let said = stage.engine.continue_due(stage.now, ME);
    stage.attend();
    said
}

/// A turn ends so, the wait passes, and the text is sent.
fn goes_on(stage: &mut Stage, end: TurnEnd) -> bool {
    let waits = matches!(ended(stage, end), Continue::After { ms: 5_000, .. });
    stage.pass(5_000);
    let goes = matches!(due(stage), Continue::Now { .. });
    assert_eq!(waits, goes);
    if goes {
        stage.engine.turn_started(stage.now, ME, TurnStart::Continued);
    }
    goes
}

#[test]
fn r42_truncations_and_failures_are_counted_apart() {
    let mut stage = stage(ON);
    let failed = TurnEnd::Failed(Class::Overloaded);
    assert!(goes_on(&mut stage, failed));
    for _ in 0..10 {
        assert!(goes_on(&mut stage, TurnEnd::Truncated));
    }
    assert!(!goes_on(&mut stage, TurnEnd::Truncated));
    assert!(!goes_on(&mut stage, failed));
    let why = NotContinued::Limit;
    let told = stage.facts.iter().filter(|f| **f == Fact::NotContinued { session: ME, why });
    assert_eq!(told.count(), 2);
    let last = Fact::Continued { session: ME, cause: Cause::Truncation, count: 10 };
    assert!(stage.facts.contains(&last));
}

#[test]
fn r42_a_user_s_message_or_a_normal_end_resets_both_counts() {
    for end in [None, Some(TurnEnd::Completed)] {
        let mut stage = stage(ON);
        assert!(goes_on(&mut stage, TurnEnd::Failed(Class::Timeout)));
        assert!(!goes_on(&mut stage, TurnEnd::Failed(Class::Timeout)));
        match end {
            Some(end) => assert!(!goes_on(&mut stage, end)),
            None => stage.engine.turn_started(stage.now, ME, TurnStart::User),
        }
        assert!(goes_on(&mut stage, TurnEnd::Failed(Class::Timeout)), "{end:?}");
    }
}

#[test]
fn r42_the_delay_is_waited_first_and_asking_early_says_how_long() {
    let mut stage = stage(ON);
    let first = Continue::After { ms: 5_000, cause: Cause::Failure, count: 1 };
    assert_eq!(ended(&mut stage, TurnEnd::Failed(Class::Stall)), first);
    stage.pass(4_999);
    assert_eq!(due(&mut stage), Continue::After { ms: 1, cause: Cause::Failure, count: 1 });
    stage.pass(1);
    assert_eq!(due(&mut stage), Continue::Now { cause: Cause::Failure, count: 1 });
    assert_eq!(due(&mut stage), Continue::Not(NotContinued::Cancelled), "once");
}

#[test]
fn r42_a_stop_a_message_or_an_end_during_the_wait_cancels_it() {
    type Cancels = (&'static str, fn(&mut Stage));
    let cancels: [Cancels; 4] = [
        ("stop", |stage| assert!(!goes_on(stage, TurnEnd::Stopped))),
        ("message", |stage| stage.engine.turn_started(stage.now, ME, TurnStart::User)),
        ("normal end", |stage| assert!(!goes_on(stage, TurnEnd::Completed))),
        ("end of the session", |stage| stage.engine.end_session(stage.now, ME)),
    ];
    for (name, cancel) in cancels {
        let mut stage = stage(ON);
        ended(&mut stage, TurnEnd::Truncated);
        stage.pass(2_000);
        cancel(&mut stage);
        stage.pass(3_000);
        assert_eq!(due(&mut stage), Continue::Not(NotContinued::Cancelled), "{name}");
    }
}

#[test]
fn r42_each_kind_has_its_switch_and_switching_off_during_the_wait_holds() {
    let off = Switch::Off;
    for settings in [Continuation { on_failure: off, ..ON }, Continuation::OFF] {
        let said = ended(&mut stage(settings), TurnEnd::Failed(Class::Overloaded));
        assert_eq!(said, Continue::Not(NotContinued::Off));
    }
    let mut stage = stage(Continuation { on_failure: off, ..ON });
    assert!(matches!(ended(&mut stage, TurnEnd::Truncated), Continue::After { .. }));
    stage.engine.set_continuation(Continuation { on_truncation: off, ..ON });
    stage.pass(5_000);
    assert_eq!(due(&mut stage), Continue::Not(NotContinued::Off));
}

#[test]
fn r42_a_sub_agent_s_turns_are_left_to_its_parent() {
    let mut stage = stage(ON);
    stage.engine.mark_sub_agent(stage.now, ME);
    let said = ended(&mut stage, TurnEnd::Truncated);
    assert_eq!(said, Continue::Not(NotContinued::SubAgent));
    assert!(stage.facts.is_empty(), "no business of this session's journal");
}

#[test]
fn r43_what_asking_again_cannot_mend_is_not_continued_and_the_reason_is_told() {
    let cases = [
        (TurnEnd::Failed(Class::ContextOverflow), NotContinued::ContextOverflow),
        (TurnEnd::Failed(Class::Auth), NotContinued::Auth),
        (TurnEnd::MissingAdapter, NotContinued::MissingAdapter),
        (TurnEnd::Failed(Class::LocalNetwork), NotContinued::LocalNetwork),
    ];
    for (end, why) in cases {
        let mut stage = stage(ON);
        assert_eq!(ended(&mut stage, end), Continue::Not(why));
        assert_eq!(stage.facts, [Fact::NotContinued { session: ME, why }]);
        assert!(!stage.blamed());
    }
}

#[test]
fn r43_remote_trouble_still_continues() {
    let barred = [Class::ContextOverflow, Class::Auth, Class::LocalNetwork, Class::Aborted];
    for class in Class::ALL.into_iter().filter(|class| !barred.contains(class)) {
        let said = ended(&mut stage(ON), TurnEnd::Failed(class));
        assert!(matches!(said, Continue::After { .. }), "{class:?}");
    }
}

#[test]
fn r42_our_own_abort_is_a_stop() {
    let said = ended(&mut stage(ON), TurnEnd::Failed(Class::Aborted));
    assert_eq!(said, Continue::Not(NotContinued::Stopped));
}
