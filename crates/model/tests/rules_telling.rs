//! R29 to R34 as far as they are decisions: tallies, speeds, running now, facts, traces.

use ekiden_engine::{
    AttemptInput, Beat, CallSpec, Class, Fact, Finish, Input, Policy, Purpose, Release, RouteId,
    SessionId, Tally, Trace, Wait,
};
use ekiden_model::Stage;
use ekiden_model::stage::{candidate, queue, relay};

#[test]
fn r29_a_tally_counts_what_was_whole_or_cut_and_what_was_judged_or_cooled() {
    let (mut stage, two) = (Stage::new(), relay(2));
    let whole = stage.call(&two, 1);
    stage.answer(whole);
    let cut = stage.call(&two, 1);
    stage.speak(cut);
    stage.end(cut, Finish::Truncated);
    let gone = stage.call(&two, 1);
    stage.input(gone, Input::ClientGone);
    let retried = stage.call(&two, 1);
    stage.fail(retried, Class::EmptyResponse);
    stage.answer(retried);
    assert_eq!(stage.engine.tally(RouteId(0)), Tally { successes: 3, failures: 0 });
    let judged = stage.call(&two, 2);
    stage.fail_out(judged, Class::Auth);
    let cooled = stage.call(&two, 3);
    stage.fail_naming(cooled, Class::RateLimited, Wait::Ms(9_000));
    assert_eq!(stage.engine.tally(RouteId(0)), Tally { successes: 3, failures: 2 });
}

#[test]
fn r30_speed_is_tokens_and_time_from_the_first_token_summed_each() {
    let (mut stage, two) = (Stage::new(), relay(1));
    for (thinks, speaks) in [(400, 600), (0, 1_000)] {
        let call = stage.call(&two, 1);
        stage.feed(call, AttemptInput::Sent);
        stage.pass(3_000);
        stage.feed(call, AttemptInput::Chunk { bytes: 4, beat: Beat::Reasoning });
        stage.pass(thinks);
        stage.feed(call, AttemptInput::Chunk { bytes: 4, beat: Beat::Output });
        stage.pass(speaks);
        stage.end(call, Finish::Stop);
    }
    let speed = stage.engine.speed(SessionId(1), RouteId(0)).unwrap();
    assert_eq!((speed.tokens, speed.speaking_ms), (40, 2_000));
}

#[test]
fn r30_no_usage_no_speed_and_internal_calls_leave_none() {
    let (mut stage, two) = (Stage::new(), relay(1));
    let call = stage.call(&two, 1);
    stage.speak(call);
    let (finish, terminal) = (Some(Finish::Stop), ekiden_engine::Terminal::Seen);
    stage.feed(call, AttemptInput::End { finish, terminal, output_tokens: None });
    let spec = CallSpec { purpose: Purpose::Internal, ..stage.spec(&two, 1) };
    let chore = stage.arrive(spec);
    stage.answer(chore);
    assert_eq!(stage.engine.speed(SessionId(1), RouteId(0)), None);
}

#[test]
fn r31_running_now_is_what_runs_else_what_last_spoke() {
    let (mut stage, two) = (Stage::new(), relay(2));
    assert_eq!(stage.engine.running_now(SessionId(1)), None);
    let call = stage.call(&two, 1);
    assert_eq!(stage.engine.running_now(SessionId(1)), Some(RouteId(0)));
    stage.fail_out(call, Class::Auth);
    assert_eq!(stage.engine.running_now(SessionId(1)), Some(RouteId(1)));
    stage.answer(call);
    let next = stage.call(&two, 1);
    stage.input(next, Input::ClientGone);
    assert_eq!(stage.engine.running_now(SessionId(1)), Some(RouteId(1)));
}

#[test]
fn r32_everything_that_people_read_about_is_a_fact() {
    let mut stage = Stage::new();
    let three =
        queue(1, Policy { rotate_after: 1, ..Policy::RELAY }, (0..3).map(candidate).collect());
    let call = stage.call(&three, 1);
    stage.fail_naming(call, Class::RateLimited, Wait::Ms(9_000));
    stage.fail_out(call, Class::ServerError);
    stage.speak(call);
    stage.end(call, Finish::Truncated);
    stage.pass(61_000);
    stage.engine.release(Release::Route(RouteId(0)));
    let trial = stage.call(&three, 1);
    stage.answer(trial);
    type Test = fn(&Fact) -> bool;
    let expected: [(&str, Test); 9] = [
        ("cooled", |f| matches!(f, Fact::Cooled { ms: 9_000, class: Class::RateLimited, .. })),
        ("quarantined", |f| matches!(f, Fact::Quarantined { .. })),
        ("failed over", |f| matches!(f, Fact::FailedOver { from: RouteId(0), to: RouteId(1), .. })),
        ("verified", |f| matches!(f, Fact::Verified { .. })),
        ("rotated", |f| matches!(f, Fact::Rotated { truncations: 1, .. })),
        ("on trial", |f| matches!(f, Fact::OnTrial { .. })),
        ("lifted", |f| matches!(f, Fact::Lifted { .. })),
        ("attempted", |f| matches!(f, Fact::Attempted { output_tokens: Some(20), .. })),
        ("called", |f| matches!(f, Fact::Called { .. })),
    ];
    for (name, test) in expected {
        assert!(stage.facts.iter().any(test), "{name}: {:?}", stage.facts);
    }
}

#[test]
fn r33_a_trace_replays_to_the_same_decisions_and_tells_another_one() {
    let (mut stage, two) = (Stage::new(), relay(2));
    let call = stage.call(&two, 1);
    stage.fail(call, Class::ServerError);
    stage.pass(400);
    stage.fail_naming(call, Class::RateLimited, Wait::Ms(20_000));
    stage.speak(call);
    stage.end(call, Finish::Stop);
    let text = stage.trace(call).unwrap().to_text();
    let read = Trace::from_text(&text).unwrap();
    assert!(read.replay().is_ok());
    // Another world: the second candidate never was there.
    let other = text.replacen(" go 3 1 1 ", " go 3 0 1 ", 1);
    assert_ne!(other, text);
    assert!(Trace::from_text(&other).unwrap().replay().is_err());
}

#[test]
fn r33_a_trace_holds_no_text() {
    let (mut stage, two) = (Stage::new(), relay(2));
    let call = stage.call(&two, 1);
    stage.answer(call);
    let text = stage.trace(call).unwrap().to_text();
    let sane = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || " -_\n".contains(c);
    assert!(text.chars().all(sane), "{text}");
}

#[test]
fn r34_one_row_for_each_attempt_and_one_for_each_call() {
    let (mut stage, two) = (Stage::new(), relay(2));
    let call = stage.call(&two, 1);
    stage.fail_out(call, Class::Auth);
    stage.answer(call);
    let attempts = stage.facts.iter().filter(|f| matches!(f, Fact::Attempted { .. })).count();
    let calls = stage.facts.iter().filter(|f| matches!(f, Fact::Called { .. })).count();
    assert_eq!((attempts, calls), (4, 1));
}
