//! What a provider can do wrong, as decisions: one primary that plays the fault and one healthy
//! second, and what the caller and the provider must then see.

use ekiden_engine::{
    AttemptInput, Beat, CallId, Class, Clocks, CommitOn, Effect, Finish, LastWord, Policy,
    Terminal, ToolCall, Wait, Why,
};
use ekiden_model::Stage;
use ekiden_model::stage::{candidate, queue, relay};

fn complete() -> Policy {
    Policy { commit: CommitOn::Complete, ..Policy::RELAY }
}

fn pair(policy: Policy) -> std::sync::Arc<ekiden_engine::Queue> {
    queue(1, policy, vec![candidate(0), candidate(1)])
}

/// Waits out whatever short pause the call makes.
fn pause(stage: &mut Stage, call: CallId) {
    if let Some((ms, Why::RetryPause | Why::NamedWait)) = stage.waits(call) {
        stage.pass(ms);
    }
}

#[test]
fn a_429_with_two_seconds_is_waited_out_on_the_same_candidate() {
    let (mut stage, two) = (Stage::new(), relay(2));
    let call = stage.call(&two, 1);
    stage.fail_naming(call, Class::RateLimited, Wait::Ms(2_000));
    pause(&mut stage, call);
    stage.answer(call);
    let at: Vec<u64> = stage.starts_at(call).iter().map(|(at, _)| *at).collect();
    assert_eq!(stage.tried(call), [0, 0]);
    assert!(at[1] - at[0] >= 1_800, "{at:?}");
    assert!(stage.delivered(call) && !stage.blamed());
}

#[test]
fn a_429_for_ever_is_tried_four_times_in_three_seconds_at_most_and_six_in_all_then_the_second() {
    let (mut stage, two) = (Stage::new(), relay(2));
    let mut hits = Vec::new();
    for session in 0..10 {
        let call = stage.call(&two, session + 1);
        while stage.running(call) == Some(0) {
            stage.fail(call, Class::RateLimited);
            pause(&mut stage, call);
        }
        let starts = stage.starts_at(call);
        hits.extend(starts.iter().filter(|(_, s)| s.candidate == 0).map(|(at, _)| *at));
        stage.answer(call);
        assert!(stage.delivered(call), "the second serves");
        stage.pass(300);
    }
    let began = hits[0];
    assert!(hits.iter().filter(|at| **at - began <= 3_000).count() <= 4, "{hits:?}");
    assert!(hits.len() <= 6, "{hits:?}");
}

#[test]
fn a_500_once_is_asked_again() {
    let (mut stage, two) = (Stage::new(), relay(2));
    let call = stage.call(&two, 1);
    stage.fail(call, Class::ServerError);
    pause(&mut stage, call);
    stage.answer(call);
    assert_eq!(stage.tried(call), [0, 0]);
    assert!(stage.delivered(call) && !stage.blamed());
}

#[test]
fn a_503_for_ever_and_a_reset_before_headers_move_on() {
    for class in [Class::Overloaded, Class::TransportRemote] {
        let (mut stage, two) = (Stage::new(), relay(2));
        let call = stage.call(&two, 1);
        stage.fail_out(call, class);
        stage.answer(call);
        assert_eq!(stage.tried(call), [0, 0, 0, 1]);
        assert!(stage.delivered(call));
    }
}

#[test]
fn no_answer_at_all_is_one_attempt_and_a_failover_when_the_clock_says_so() {
    let (mut stage, two) = (Stage::new(), relay(2));
    let call = stage.call(&two, 1);
    stage.feed(call, AttemptInput::Sent);
    stage.pass(89_999);
    assert_eq!(stage.tried(call), [0]);
    stage.pass(1);
    assert_eq!(stage.tried(call), [0, 1]);
}

#[test]
fn a_first_token_after_twenty_seconds_is_too_late_where_that_is_the_limit() {
    let clocks = Clocks { first_output_ms: 8_000, ..Clocks::REMOTE };
    let slow = ekiden_engine::Candidate { clocks, ..candidate(0) };
    let mut stage = Stage::new();
    let call = stage.call(&queue(1, Policy::RELAY, vec![slow, candidate(1)]), 1);
    stage.feed(call, AttemptInput::Sent);
    stage.feed(call, AttemptInput::Head);
    stage.pass(8_000);
    assert_eq!(stage.tried(call), [0, 1]);
    let late = AttemptInput::Chunk { bytes: 9, beat: Beat::Output };
    let first = ekiden_engine::AttemptId(1);
    stage.input(call, ekiden_engine::Input::Attempt(first, late));
    assert!(!stage.effects(call).contains(&Effect::Commit(first)));
}

#[test]
fn a_cut_after_two_thirds_is_a_whole_answer_with_complete_and_else_an_explicit_error() {
    let cut = AttemptInput::End { finish: None, terminal: Terminal::Missing, output_tokens: None };
    let mut stage = Stage::new();
    let call = stage.call(&pair(complete()), 1);
    for _ in 0..3 {
        stage.speak(call);
        stage.feed(call, cut);
    }
    stage.answer(call);
    assert!(stage.delivered(call));
    let mut stage = Stage::new();
    let call = stage.call(&relay(2), 1);
    stage.speak(call);
    stage.feed(call, cut);
    assert!(matches!(stage.word(call), Some(LastWord::Broken(_, Class::TransportRemote))));
    assert!(!stage.delivered(call));
}

#[test]
fn silence_in_the_middle_is_the_same() {
    let mut stage = Stage::new();
    let call = stage.call(&pair(complete()), 1);
    stage.speak(call);
    stage.pass(120_000);
    assert_eq!(stage.running(call), Some(1));
    stage.answer(call);
    assert!(stage.delivered(call));
    let mut stage = Stage::new();
    let call = stage.call(&relay(2), 1);
    stage.speak(call);
    stage.pass(120_000);
    assert!(matches!(stage.word(call), Some(LastWord::Broken(_, Class::Stall))));
}

#[test]
fn one_malformed_chunk_in_an_otherwise_whole_stream_is_a_whole_answer() {
    let (mut stage, two) = (Stage::new(), relay(2));
    let call = stage.call(&two, 1);
    stage.speak(call);
    stage.feed(call, AttemptInput::Malformed { tool_call: ToolCall::Closed });
    stage.speak(call);
    stage.end(call, Finish::Stop);
    assert!(stage.delivered(call));
    let mut stage = Stage::new();
    let call = stage.call(&pair(complete()), 1);
    stage.speak(call);
    stage.feed(call, AttemptInput::Malformed { tool_call: ToolCall::Closed });
    pause(&mut stage, call);
    stage.answer(call);
    assert!(stage.delivered(call) && stage.tried(call) == [0, 0]);
}

#[test]
fn no_terminal_event_ends_at_once_and_counts_its_tokens() {
    let (mut stage, two) = (Stage::new(), relay(2));
    let call = stage.call(&two, 1);
    stage.speak(call);
    let finish = Some(Finish::Stop);
    let terminal = Terminal::Missing;
    stage.feed(call, AttemptInput::End { finish, terminal, output_tokens: Some(7) });
    assert!(stage.delivered(call));
    let told = |f: &&ekiden_engine::Fact| {
        matches!(f, ekiden_engine::Fact::Attempted { output_tokens: Some(7), .. })
    };
    assert_eq!(stage.facts.iter().filter(told).count(), 1);
}

#[test]
fn a_context_overflow_and_a_content_filter_are_one_attempt() {
    for class in [Class::ContextOverflow, Class::ContentFilter] {
        let (mut stage, two) = (Stage::new(), relay(2));
        let call = stage.call(&two, 1);
        stage.fail(call, class);
        assert_eq!(stage.tried(call), [0]);
        assert!(stage.word(call).is_some() && !stage.blamed());
    }
}

#[test]
fn a_second_that_refuses_a_continuation_never_hides_the_first_ones_failure() {
    let (mut stage, two) = (Stage::new(), relay(2));
    let call = stage.call(&two, 1);
    stage.fail_out(call, Class::ServerError);
    stage.fail(call, Class::InvalidRequest);
    assert!(!matches!(stage.word(call), Some(LastWord::AsItCame(_))), "{:?}", stage.word(call));
}

#[test]
fn a_primary_that_is_down_for_a_minute_is_hit_seldom_and_taken_up_again() {
    let (mut stage, two) = (Stage::new(), relay(2));
    let (mut hits, mut back_after) = (0, None);
    let began = stage.now.mono_ms;
    // One session, a call every four seconds for three minutes.
    for turn in 0..45 {
        let down = stage.now.mono_ms < began + 60_000;
        let call = stage.call(&two, 1);
        while down && stage.running(call) == Some(0) {
            hits += 1;
            stage.fail(call, Class::TransportRemote);
            pause(&mut stage, call);
        }
        if !down && stage.running(call) == Some(0) && back_after.is_none() {
            back_after = Some(stage.now.mono_ms - began - 60_000);
        }
        stage.answer(call);
        assert!(stage.delivered(call), "call {turn}");
        stage.pass(4_000);
    }
    assert!(hits <= 4, "{hits} hits while it was down");
    assert!(back_after.is_some_and(|ms| ms <= 30_000), "by parole: {back_after:?}");
    assert!(!stage.is_out(1, 0) && stage.is_verified(1, 0));
}

#[test]
fn new_sessions_hit_a_dead_primary_once_each() {
    let (mut stage, two) = (Stage::new(), relay(2));
    let mut hits = Vec::new();
    for session in 0..10 {
        let call = stage.call(&two, session + 1);
        stage.fail_out(call, Class::TransportRemote);
        hits.push(stage.tried(call).iter().filter(|candidate| **candidate == 0).count());
        stage.answer(call);
        stage.pass(1_000);
    }
    assert_eq!(hits[0], 3);
    assert!(hits[1..].iter().all(|count| *count == 1), "{hits:?}");
}
