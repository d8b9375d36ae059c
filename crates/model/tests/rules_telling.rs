//! R29 to R34 as far as they are decisions: tallies, speeds, running now, facts, traces.

use ekiden_engine::{
    AttemptInput, Beat, CallSpec, Class, Clock, Fact, Finish, Input, Policy, Purpose, Release,
    RouteId, SessionId, Tally, Trace, Wait, Why,
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
fn r33_a_wait_that_is_woken_a_thousand_times_leaves_a_short_trace_that_replays() {
    let mut stage = Stage::new();
    let narrow = |most| ekiden_engine::Candidate { max_in_flight: Some(most), ..candidate(0) };
    let one = queue(1, Policy { wait_max_ms: 600_000, ..Policy::RELAY }, vec![narrow(1)]);
    let running = stage.call(&one, 1);
    let waiting = stage.call(&one, 2);
    for _ in 0..1_000 {
        stage.pass(10);
        stage.input(waiting, Input::Woken);
    }
    stage.answer(running);
    stage.answer(waiting);
    let trace = stage.trace(waiting).unwrap();
    assert!(trace.records.len() < 12, "{} records", trace.records.len());
    assert_eq!(trace.left_out, 0);
    trace.replay().unwrap();
}

#[test]
fn r33_a_client_that_reads_slowly_leaves_a_short_trace_that_replays() {
    let policy = Policy { client_stall_ms: 300_000, ..Policy::RELAY };
    let mut candidate = candidate(0);
    candidate.clocks.first_output_ms = 40_000;
    let one = queue(1, policy, vec![candidate]);
    let mut stage = Stage::new();
    let call = stage.call(&one, 1);
    stage.feed(call, AttemptInput::Sent);
    stage.feed(call, AttemptInput::Head);
    for _ in 0..5_000 {
        stage.feed(call, AttemptInput::Chunk { bytes: 9, beat: Beat::Reasoning });
        stage.input(call, Input::ClientBlocked);
        stage.pass(150);
        stage.input(call, Input::ClientReady);
        stage.pass(5);
    }
    // 25 of 40 seconds were the candidate's own, so that the clock still has 15 to go.
    let clock = Some((15_000, Why::Clock(Clock::FirstOutput)));
    assert_eq!(stage.waits(call), clock);
    stage.pass(15_000);
    assert!(stage.running(call).is_none(), "its first output did not come in time");
    let trace = stage.trace(call).unwrap();
    assert!(trace.records.len() < 16, "{} records", trace.records.len());
    let said = trace.replay().unwrap();
    assert!(said.contains("cancel"), "the clock runs out in the replay too: {said}");
}

#[test]
fn r33_chunks_that_are_skipped_leave_one_record() {
    let (mut stage, two) = (Stage::new(), relay(2));
    let call = stage.call(&two, 1);
    stage.speak(call);
    for _ in 0..5_000 {
        let tool_call = ekiden_engine::ToolCall::Closed;
        stage.feed(call, AttemptInput::Malformed { tool_call });
        stage.feed(call, AttemptInput::Chunk { bytes: 9, beat: Beat::Output });
    }
    stage.end(call, Finish::Stop);
    let trace = stage.trace(call).unwrap();
    assert!(trace.records.len() < 12, "{} records", trace.records.len());
    trace.replay().unwrap();
}

#[test]
fn r33_a_trace_that_is_not_whole_says_so() {
    let (mut stage, two) = (Stage::new(), relay(2));
    let call = stage.call(&two, 1);
    stage.fail_out(call, Class::Auth);
    stage.answer(call);
    let mut trace = stage.trace(call).unwrap();
    let whole = trace.records.len();
    trace.shorten(2);
    assert_eq!((trace.records.len(), trace.left_out as usize), (2, whole - 2));
    let text = trace.to_text();
    assert!(text.ends_with(&format!("\nleft-out {}\n", whole - 2)), "{text}");
    assert_eq!(Trace::from_text(&text).unwrap(), trace);
    trace.replay().unwrap();
    let more = format!("{text}fed 1 1 woken\n");
    assert!(Trace::from_text(&more).is_err(), "nothing comes after what was left out");
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
