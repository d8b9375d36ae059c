//! R7 to R16, R47 and R48: attempts, commit, clocks, whose fault it is.

use ekiden_engine::trace::Record;
use ekiden_engine::{
    AttemptId, AttemptInput, Beat, CallId, CallSpec, Candidate, Class, Clock, Clocks, CommitOn,
    Continuing, Delivery, Effect, Failure, Finish, History, Holder, Input, LastWord, Mode,
    OnOverflow, Policy, Purpose, QueueId, Reach, Repair, RouteId, SessionId, Switch, Terminal,
    ToolCall, Wait, Why,
};
use ekiden_model::Stage;
use ekiden_model::stage::{candidate, queue, relay};

fn two(policy: Policy) -> std::sync::Arc<ekiden_engine::Queue> {
    queue(1, policy, vec![candidate(0), candidate(1)])
}

fn chunk(stage: &mut Stage, call: CallId, beat: Beat) {
    stage.feed(call, AttemptInput::Chunk { bytes: 10, beat });
}

fn commits(stage: &Stage, call: CallId) -> Vec<AttemptId> {
    let committed = |effect| match effect {
        Effect::Commit(id) => Some(id),
        Effect::Start(_)
        | Effect::Resend(_)
        | Effect::Deliver(_)
        | Effect::Discard(_)
        | Effect::Cancel(_)
        | Effect::Refuse(_) => None,
    };
    stage.effects(call).into_iter().filter_map(committed).collect()
}

#[test]
fn r07_the_same_goes_again_to_the_same_candidate_before_anybody_is_judged() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    let call = stage.call(&queue, 1);
    stage.fail(call, Class::EmptyResponse);
    stage.fail(call, Class::TransportRemote);
    assert_eq!(stage.tried(call), [0, 0, 0], "at once");
    assert!(!stage.blamed());
    stage.answer(call);
    assert!(stage.is_verified(1, 0) && !stage.is_out(1, 0));
}

#[test]
fn r07_no_retries_is_one_try() {
    let mut stage = Stage::new();
    let call = stage.call(&two(Policy { retries: 0, ..Policy::RELAY }), 1);
    stage.fail(call, Class::Timeout);
    assert_eq!(stage.tried(call), [0, 1]);
}

#[test]
fn r07_overload_and_server_errors_pause_a_quarter_second_then_one() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    for class in [Class::Overloaded, Class::ServerError] {
        let session = 1 + class as u64;
        let call = stage.call(&queue, session);
        stage.fail(call, class);
        let (first, why) = stage.waits(call).unwrap();
        assert_eq!(why, Why::RetryPause);
        assert!((188..=312).contains(&first), "{first}");
        stage.pass(first);
        stage.fail(call, class);
        let (second, _) = stage.waits(call).unwrap();
        assert!((750..=1_250).contains(&second), "{second}");
        stage.pass(second);
        stage.answer(call);
    }
}

#[test]
fn r08_only_when_all_retries_failed_is_a_candidate_judged() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    let call = stage.call(&queue, 1);
    stage.fail_out(call, Class::NotFound);
    assert_eq!(stage.tried(call), [0, 0, 0, 1]);
    assert!(stage.is_out(1, 0));
}

#[test]
fn r08_a_call_makes_sixteen_attempts_at_most() {
    let mut stage = Stage::new();
    let policy = Policy { retries: 10, ..Policy::RELAY };
    let call = stage.call(&queue(1, policy, (0..4).map(candidate).collect()), 1);
    while stage.running(call).is_some() {
        stage.fail(call, Class::EmptyResponse);
    }
    assert_eq!(stage.starts(call).len(), 16);
    let mut fresh = Stage::new();
    let policy = Policy { retries: 10, attempts_max: 5, ..Policy::RELAY };
    let call = fresh.call(&queue(1, policy, (0..4).map(candidate).collect()), 1);
    while fresh.running(call).is_some() {
        fresh.fail(call, Class::EmptyResponse);
    }
    assert_eq!(fresh.starts(call).len(), 5);
}

#[test]
fn r08_retries_are_left_out_before_an_untried_candidate_loses_its_attempt() {
    let mut stage = Stage::new();
    let policy = Policy { retries: 10, attempts_max: 5, ..Policy::RELAY };
    let call = stage.call(&queue(1, policy, (0..4).map(candidate).collect()), 1);
    while stage.running(call).is_some() {
        stage.fail(call, Class::EmptyResponse);
    }
    assert_eq!(stage.tried(call), [0, 0, 1, 2, 3]);
}

#[test]
fn r08_a_mended_request_does_not_exceed_the_calls_attempts() {
    let mut stage = Stage::new();
    let call = stage.call(&two(Policy { attempts_max: 1, ..Policy::RELAY }), 1);
    let failure = Failure::upstream(Class::InvalidRequest);
    stage.feed(call, AttemptInput::Failed { failure, repair: Repair::Possible });
    assert_eq!(stage.starts(call).len(), 1);
}

#[test]
fn r08_an_empty_retry_budget_means_one_attempt_and_a_tenth_of_a_call_refills_it() {
    let mut stage = Stage::new();
    // Nobody is judged, so that only the budget counts.
    let policy = Policy { judged_memory_ms: 0, ..Policy::RELAY };
    let one = queue(1, policy, vec![candidate(0)]);
    for session in 0..5 {
        let call = stage.call(&one, 10 + session);
        stage.fail_out(call, Class::EmptyResponse);
        assert_eq!(stage.starts(call).len(), 3, "session {session}");
    }
    let call = stage.call(&one, 20);
    stage.fail_out(call, Class::EmptyResponse);
    assert_eq!(stage.starts(call).len(), 1, "ten retries are spent");
    for session in 0..6 {
        let call = stage.call(&one, 30 + session);
        stage.answer(call);
    }
    let call = stage.call(&one, 40);
    stage.fail_out(call, Class::EmptyResponse);
    assert_eq!(stage.starts(call).len(), 2, "twelve calls gave one back");
}

#[test]
fn r08_a_judged_failure_elsewhere_within_a_minute_leaves_no_retry() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    let first = stage.call(&queue, 1);
    stage.fail_out(first, Class::EmptyResponse);
    let second = stage.call(&queue, 2);
    stage.fail(second, Class::EmptyResponse);
    assert_eq!(stage.tried(second), [0, 1]);
    stage.pass(60_000);
    let third = stage.call(&queue, 3);
    stage.fail(third, Class::EmptyResponse);
    assert_eq!(stage.tried(third), [0, 0, 0][..2], "a minute later");
}

#[test]
fn r09_the_nth_failover_says_continue_n_times_and_three_at_most() {
    let policy = Policy { continuing: Continuing::Always, retries: 0, ..Policy::RELAY };
    let mut stage = Stage::new();
    let call = stage.call(&queue(1, policy, (0..6).map(candidate).collect()), 1);
    for _ in 0..5 {
        stage.fail_out(call, Class::Auth);
    }
    let said: Vec<_> = stage.starts(call).iter().map(|start| start.continues).collect();
    assert_eq!(said, [0, 1, 2, 3, 3, 3]);
}

#[test]
fn r09_a_retry_says_what_the_attempt_before_it_said() {
    let policy = Policy { continuing: Continuing::Always, ..Policy::RELAY };
    let mut stage = Stage::new();
    let call = stage.call(&two(policy), 1);
    stage.fail_out(call, Class::Auth);
    stage.fail(call, Class::Auth);
    let said: Vec<_> = stage.starts(call).iter().map(|start| start.continues).collect();
    assert_eq!(said, [0, 0, 0, 1, 1]);
}

#[test]
fn r09_auto_continues_only_what_has_begun_and_internal_calls_never() {
    let policy = Policy { continuing: Continuing::Auto, retries: 0, ..Policy::RELAY };
    let cases = [
        (History::Fresh, Purpose::Main, 0),
        (History::Ongoing, Purpose::Main, 1),
        (History::Ongoing, Purpose::Internal, 0),
    ];
    for (history, purpose, expected) in cases {
        let mut stage = Stage::new();
        let spec = CallSpec { history, purpose, ..stage.spec(&two(policy.clone()), 1) };
        let call = stage.arrive(spec);
        stage.fail(call, Class::Auth);
        assert_eq!(stage.starts(call)[1].continues, expected, "{history:?} {purpose:?}");
    }
}

#[test]
fn r09_the_delay_comes_before_a_failover_and_never_before_a_retry() {
    let policy =
        Policy { continuing: Continuing::Always, continue_delay_ms: 5_000, ..Policy::RELAY };
    let mut stage = Stage::new();
    let call = stage.call(&two(policy), 1);
    stage.fail(call, Class::EmptyResponse);
    assert_eq!(stage.tried(call), [0, 0], "a retry waits for nothing");
    stage.fail_out(call, Class::EmptyResponse);
    assert_eq!(stage.waits(call), Some((5_000, Why::ContinueDelay)));
    stage.pass(5_000);
    stage.fail(call, Class::EmptyResponse);
    assert_eq!(stage.tried(call), [0, 0, 0, 1, 1]);
}

#[test]
fn r09_the_delay_ends_at_once_when_the_client_goes() {
    let policy =
        Policy { continuing: Continuing::Always, continue_delay_ms: 5_000, ..Policy::RELAY };
    let mut stage = Stage::new();
    let call = stage.call(&two(policy), 1);
    stage.fail_out(call, Class::Auth);
    stage.input(call, Input::ClientGone);
    assert_eq!(stage.waits(call), None);
    stage.pass(60_000);
    assert_eq!(stage.tried(call), [0, 0, 0]);
}

#[test]
fn r09_a_wait_for_a_seat_does_not_swallow_the_delay() {
    let policy =
        Policy { continuing: Continuing::Always, continue_delay_ms: 5_000, ..Policy::RELAY };
    let narrow = Candidate { max_sessions: Some(1), ..candidate(1) };
    let mut stage = Stage::new();
    let call = stage.call(&queue(1, policy, vec![candidate(0), narrow]), 1);
    stage.fail_out(call, Class::Auth);
    assert_eq!(stage.waits(call), Some((5_000, Why::ContinueDelay)));
}

#[test]
fn r10_output_is_held_until_commit_and_a_failure_before_it_drops_all() {
    let mut stage = Stage::new();
    let call = stage.call(&two(Policy { commit: CommitOn::Complete, ..Policy::RELAY }), 1);
    stage.speak(call);
    assert_eq!(commits(&stage, call), []);
    stage.fail(call, Class::TransportRemote);
    assert_eq!(stage.tried(call), [0, 0]);
    let one = AttemptId(1);
    assert!(stage.effects(call).contains(&Effect::Discard(one)));
    stage.answer(call);
    assert_eq!(commits(&stage, call), [AttemptId(2)]);
}

#[test]
fn r10_first_output_commits_and_reasoning_does_not() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    let call = stage.call(&queue, 1);
    chunk(&mut stage, call, Beat::Wire);
    chunk(&mut stage, call, Beat::Reasoning);
    assert_eq!(commits(&stage, call), []);
    chunk(&mut stage, call, Beat::Output);
    assert_eq!(commits(&stage, call), [AttemptId(1)]);
}

#[test]
fn r10_first_token_commits_at_reasoning() {
    let mut stage = Stage::new();
    let call = stage.call(&two(Policy { commit: CommitOn::FirstToken, ..Policy::RELAY }), 1);
    chunk(&mut stage, call, Beat::Wire);
    assert_eq!(commits(&stage, call), []);
    chunk(&mut stage, call, Beat::Reasoning);
    assert_eq!(commits(&stage, call), [AttemptId(1)]);
}

#[test]
fn r10_complete_holds_eight_megabytes_then_lets_through() {
    let mut stage = Stage::new();
    let call = stage.call(&two(Policy { commit: CommitOn::Complete, ..Policy::RELAY }), 1);
    let full = AttemptInput::Chunk { bytes: 8 * 1024 * 1024, beat: Beat::Output };
    stage.feed(call, full);
    assert_eq!(commits(&stage, call), []);
    chunk(&mut stage, call, Beat::Output);
    assert_eq!(commits(&stage, call), [AttemptId(1)]);
}

#[test]
fn r10_a_failure_after_commit_is_told_judged_at_once_and_nobody_else_speaks() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    let before = stage.call(&queue, 1);
    stage.answer(before);
    let call = stage.call(&queue, 1);
    stage.speak(call);
    stage.fail(call, Class::TransportRemote);
    assert_eq!(stage.word(call), Some(LastWord::Broken(AttemptId(1), Class::TransportRemote)));
    assert_eq!(stage.tried(call), [0]);
    assert!(stage.is_out(1, 0) && !stage.is_verified(1, 0));
    let tally = stage.engine.tally(RouteId(0));
    assert_eq!((tally.successes, tally.failures), (1, 1));
}

fn stalls_at(clocks: Clocks, feed: &[AttemptInput]) -> (u64, Clock) {
    let mut stage = Stage::new();
    let queue = queue(1, Policy::RELAY, vec![Candidate { clocks, ..candidate(0) }, candidate(1)]);
    let call = stage.call(&queue, 1);
    feed.iter().for_each(|input| stage.feed(call, *input));
    let Some((ms, Why::Clock(clock))) = stage.waits(call) else { return (0, Clock::Share) };
    stage.pass(ms - 1);
    assert_eq!(stage.tried(call), [0], "{clock:?} a millisecond early");
    stage.pass(1);
    assert_eq!(stage.running(call), Some(1), "{clock:?}: a silent candidate is not tried again");
    assert!(stage.effects(call).contains(&Effect::Cancel(AttemptId(1))));
    assert!(stage.is_out(1, 0), "{clock:?}");
    (ms, clock)
}

#[test]
fn r11_each_clock_runs_out_in_its_time() {
    let (sent, head) = (AttemptInput::Sent, AttemptInput::Head);
    let ping = AttemptInput::Chunk { bytes: 1, beat: Beat::Wire };
    let thought = AttemptInput::Chunk { bytes: 1, beat: Beat::Reasoning };
    let remote = Clocks::REMOTE;
    let first = Clocks { first_output_ms: 20_000, ..remote };
    let quick = Clocks { progress_ms: 30_000, ..remote };
    assert_eq!(stalls_at(remote, &[]), (10_000, Clock::Connect));
    assert_eq!(stalls_at(remote, &[sent]), (90_000, Clock::Headers));
    assert_eq!(stalls_at(remote, &[sent, head]), (120_000, Clock::Idle));
    assert_eq!(stalls_at(quick, &[sent, head, ping]), (30_000, Clock::Progress));
    assert_eq!(stalls_at(quick, &[sent, head, thought]), (30_000, Clock::Progress));
    assert_eq!(stalls_at(first, &[sent, head, thought]), (20_000, Clock::FirstOutput));
    assert_eq!(stalls_at(Clocks::LOCAL, &[sent]), (600_000, Clock::Headers));
}

#[test]
fn r11_a_stall_is_not_retried_on_the_same_candidate() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    let call = stage.call(&queue, 1);
    stage.feed(call, AttemptInput::Sent);
    stage.pass(90_000);
    assert_eq!(stage.tried(call), [0, 1]);
    assert!(stage.engine.speed(SessionId(1), RouteId(0)).is_none());
}

#[test]
fn r11_no_clock_runs_while_the_client_does_not_read() {
    let first = Clocks { first_output_ms: 20_000, ..Clocks::REMOTE };
    let slow = Candidate { clocks: first, ..candidate(0) };
    let mut stage = Stage::new();
    let policy = Policy { commit: CommitOn::FirstToken, ..Policy::RELAY };
    let call = stage.call(&queue(1, policy, vec![slow]), 1);
    stage.feed(call, AttemptInput::Sent);
    chunk(&mut stage, call, Beat::Reasoning);
    stage.pass(5_000);
    stage.input(call, Input::ClientBlocked);
    stage.pass(200_000);
    assert_eq!(stage.word(call), None);
    stage.input(call, Input::ClientReady);
    assert_eq!(stage.waits(call), Some((15_000, Why::Clock(Clock::FirstOutput))));
}

#[test]
fn r11_a_client_that_reads_nothing_for_five_minutes_is_gone() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    let call = stage.call(&queue, 1);
    stage.speak(call);
    stage.input(call, Input::ClientBlocked);
    assert_eq!(stage.waits(call), Some((300_000, Why::ClientBlocked)));
    stage.pass(300_000);
    assert!(stage.effects(call).contains(&Effect::Cancel(AttemptId(1))));
    assert!(!stage.blamed() && stage.waits(call).is_none());
}

#[test]
fn r11_a_whole_answer_has_the_deadline_alone() {
    let mut stage = Stage::new();
    let one = relay(1);
    let spec =
        CallSpec { delivery: Delivery::Whole, deadline_ms: Some(3_600_000), ..stage.spec(&one, 1) };
    let call = stage.arrive(spec);
    stage.feed(call, AttemptInput::Sent);
    stage.pass(3_599_999);
    assert_eq!(stage.tried(call), [0]);
    stage.pass(1);
    assert_eq!(stage.word(call), Some(LastWord::Deadline));
    assert!(!stage.blamed(), "a deadline blames nobody");
}

#[test]
fn r11_a_used_up_share_of_the_deadline_blames_nobody() {
    let mut stage = Stage::new();
    let queue = relay(2);
    let spec =
        CallSpec { delivery: Delivery::Whole, deadline_ms: Some(60_000), ..stage.spec(&queue, 1) };
    let call = stage.arrive(spec);
    stage.feed(call, AttemptInput::Sent);
    stage.pass(30_000);
    assert_eq!(stage.tried(call), [0, 1]);
    assert!(!stage.blamed());
}

#[test]
fn r33_a_long_queues_trace_holds_no_candidate_that_was_only_counted_and_is_fresh() {
    let (mut stage, queue) = (Stage::new(), relay(50));
    let first = stage.call(&queue, 1);
    stage.fail_naming(first, Class::RateLimited, Wait::Ms(3_000_000));
    stage.answer(first);
    let spec =
        CallSpec { delivery: Delivery::Whole, deadline_ms: Some(490_000), ..stage.spec(&queue, 2) };
    let call = stage.arrive(spec);
    let trace = stage.trace(call).unwrap();
    let Some(Record::Admitted { view, .. }) = trace.records.first() else { panic!("{trace:?}") };
    let known: Vec<u32> = view.candidates.iter().map(|(index, _)| *index).collect();
    assert_eq!(known, [0, 1], "the one that cools, and the one that runs");
    assert!(trace.replay().is_ok());
    // The others, though not written down, share the time: 49 of them.
    stage.feed(call, AttemptInput::Sent);
    stage.pass(9_999);
    assert_eq!(stage.tried(call), [1]);
    stage.pass(1);
    assert_eq!(stage.tried(call), [1, 2]);
}

#[test]
fn r12_the_clients_abort_is_recorded_against_nobody_and_the_seat_stays() {
    let mut stage = Stage::new();
    let narrow = Candidate { max_sessions: Some(1), ..candidate(0) };
    let queue = queue(1, Policy::RELAY, vec![narrow]);
    let call = stage.call(&queue, 1);
    stage.speak(call);
    stage.input(call, Input::ClientGone);
    assert_eq!(stage.effects(call).last(), Some(&Effect::Cancel(AttemptId(1))));
    assert!(!stage.blamed());
    assert_eq!(stage.engine.tally(RouteId(0)), ekiden_engine::Tally::default());
    assert_eq!(stage.taken(0), 1);
}

#[test]
fn r13_an_empty_answer_is_a_failure() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    let call = stage.call(&queue, 1);
    chunk(&mut stage, call, Beat::Reasoning);
    stage.end(call, Finish::Stop);
    assert_eq!(stage.tried(call), [0, 0]);
    stage.end(call, Finish::Truncated);
    assert!(stage.delivered(call), "cut before it spoke is a truncation, not an empty answer");
}

#[test]
fn r13_a_stream_without_its_end_is_a_failure_unless_it_gave_a_reason() {
    let end = |finish, terminal| AttemptInput::End { finish, terminal, output_tokens: None };
    let cases = [
        (None, Terminal::Missing, false),
        (None, Terminal::Seen, true),
        (Some(Finish::Stop), Terminal::Missing, true),
        (Some(Finish::ToolCalls), Terminal::Missing, true),
    ];
    for (finish, terminal, whole) in cases {
        let (mut stage, queue) = (Stage::new(), relay(1));
        let call = stage.call(&queue, 1);
        stage.speak(call);
        stage.feed(call, end(finish, terminal));
        assert_eq!(stage.delivered(call), whole, "{finish:?} {terminal:?}");
        let broken = LastWord::Broken(AttemptId(1), Class::TransportRemote);
        assert_eq!(stage.word(call), (!whole).then_some(broken));
    }
}

#[test]
fn r13_a_malformed_chunk_before_commit_is_a_failure_and_the_answer_is_not_read_on() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    let call = stage.call(&queue, 1);
    stage.feed(call, AttemptInput::Malformed { tool_call: ToolCall::Closed });
    let cancelled = stage.effects(call).contains(&Effect::Cancel(AttemptId(1)));
    assert!(cancelled && stage.starts(call).len() == 1);
    stage.pass(400);
    assert_eq!(stage.tried(call), [0, 0]);
}

#[test]
fn r13_a_malformed_chunk_after_commit_is_skipped_unless_a_tool_call_is_open() {
    for (tool_call, whole) in [(ToolCall::Closed, true), (ToolCall::Open, false)] {
        let (mut stage, queue) = (Stage::new(), relay(2));
        let call = stage.call(&queue, 1);
        stage.speak(call);
        stage.feed(call, AttemptInput::Malformed { tool_call });
        stage.end(call, Finish::Stop);
        assert_eq!(stage.delivered(call), whole, "{tool_call:?}");
    }
}

#[test]
fn r13_with_complete_a_malformed_chunk_is_always_a_failure() {
    let policy = Policy { commit: CommitOn::Complete, held_max_bytes: 0, ..Policy::RELAY };
    let mut stage = Stage::new();
    let call = stage.call(&two(policy), 1);
    stage.speak(call);
    stage.feed(call, AttemptInput::Malformed { tool_call: ToolCall::Closed });
    assert!(matches!(stage.word(call), Some(LastWord::Broken(..))));
}

fn truncations(stage: &mut Stage, queue: &std::sync::Arc<ekiden_engine::Queue>) -> Vec<u32> {
    let mut first = Vec::new();
    for _ in 0..6 {
        let call = stage.call(queue, 1);
        let began = stage.running(call).unwrap_or(u32::MAX);
        stage.speak(call);
        stage.end(call, Finish::Truncated);
        assert!(stage.delivered(call) && stage.is_verified(1, began));
        first.push(began);
    }
    first
}

#[test]
fn r14_two_truncations_in_a_row_start_one_further_in_a_ring() {
    assert_eq!(truncations(&mut Stage::new(), &relay(2)), [0, 0, 1, 1, 0, 0]);
    assert_eq!(truncations(&mut Stage::new(), &relay(3)), [0, 0, 1, 1, 2, 2]);
}

#[test]
fn r14_only_a_normal_end_clears_the_count_and_a_new_day_does_not() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    let count = |stage: &Stage| {
        let session = stage.engine.session(SessionId(1)).unwrap();
        session.truncations.iter().map(|(_, count)| *count).sum::<u32>()
    };
    for finish in [Finish::Truncated, Finish::ToolCalls] {
        let call = stage.call(&queue, 1);
        stage.speak(call);
        stage.end(call, finish);
    }
    let gone = stage.call(&queue, 1);
    stage.input(gone, Input::ClientGone);
    assert_eq!(count(&stage), 1, "tool calls, failures and aborts leave it");
    stage.engine.turn(ekiden_engine::Day { number: 8, ends_ms: stage.engine.day().ends_ms * 2 });
    assert_eq!(count(&stage), 1, "a new day leaves it");
    let call = stage.call(&queue, 1);
    stage.answer(call);
    assert_eq!(count(&stage), 0);
}

#[test]
fn r15_an_overflow_is_told_and_blames_nobody() {
    let (mut stage, queue) = (Stage::new(), relay(3));
    let call = stage.call(&queue, 1);
    stage.fail(call, Class::ContextOverflow);
    assert_eq!(stage.tried(call), [0]);
    assert_eq!(stage.word(call), Some(LastWord::Overflow(AttemptId(1))));
    assert!(!stage.blamed());
}

#[test]
fn r15_larger_moves_only_to_a_larger_known_window() {
    let policy = Policy { overflow: OnOverflow::Larger, ..Policy::RELAY };
    let windows = [Some(32_000), Some(32_000), None, Some(8_000), Some(200_000)];
    let candidates = windows.iter().enumerate();
    let candidates =
        candidates.map(|(route, window)| Candidate { window: *window, ..candidate(route as u32) });
    let mut stage = Stage::new();
    let call = stage.call(&queue(1, policy, candidates.collect()), 1);
    stage.fail(call, Class::ContextOverflow);
    assert_eq!(stage.tried(call), [0, 4]);
    stage.fail(call, Class::ContextOverflow);
    assert_eq!(stage.word(call), Some(LastWord::Overflow(AttemptId(1))), "the first one's");
}

#[test]
fn r15_a_window_that_is_surely_too_small_is_passed_over_but_the_last_one_is_tried() {
    let small = |route| Candidate { window: Some(10_000), ..candidate(route) };
    let both = queue(1, Policy::RELAY, vec![small(0), candidate(1)]);
    for (tokens, expected) in [(12_000, 0), (12_001, 1)] {
        let mut stage = Stage::new();
        let spec = CallSpec { input_tokens: tokens, ..stage.spec(&both, 1) };
        let call = stage.arrive(spec);
        assert_eq!(stage.running(call), Some(expected), "{tokens}");
    }
    let mut stage = Stage::new();
    let alone = queue(2, Policy::RELAY, vec![small(0)]);
    let spec = CallSpec { input_tokens: 90_000, ..stage.spec(&alone, 1) };
    let call = stage.arrive(spec);
    assert_eq!(stage.running(call), Some(0));
}

#[test]
fn r15_a_larger_one_that_is_due_is_waited_for_first() {
    let small = Candidate { window: Some(10_000), ..candidate(0) };
    let both = queue(1, Policy::RELAY, vec![small, candidate(1)]);
    let mut stage = Stage::new();
    let only = queue(2, Policy::RELAY, vec![candidate(1)]);
    let first = stage.call(&only, 2);
    stage.fail_naming(first, Class::RateLimited, Wait::Ms(20_000));
    let spec = CallSpec { input_tokens: 90_000, ..stage.spec(&both, 1) };
    let call = stage.arrive(spec);
    assert_eq!(stage.tried(call), [0u32; 0]);
    assert_eq!(stage.waits(call).map(|(ms, _)| ms), Some(20_000));
}

#[test]
fn r16_of_a_failed_attempt_nothing_reaches_the_client() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    let call = stage.call(&queue, 1);
    chunk(&mut stage, call, Beat::Reasoning);
    stage.fail(call, Class::TransportRemote);
    // What the dead attempt still has to say concerns nobody.
    let late = AttemptInput::Chunk { bytes: 5, beat: Beat::Output };
    stage.input(call, Input::Attempt(AttemptId(1), late));
    assert_eq!(commits(&stage, call), []);
    stage.answer(call);
    assert_eq!(commits(&stage, call), [AttemptId(2)]);
}

fn chore(stage: &Stage, queue: &std::sync::Arc<ekiden_engine::Queue>) -> CallSpec {
    CallSpec { purpose: Purpose::Internal, ..stage.spec(queue, 1) }
}

#[test]
fn r47_an_internal_call_sees_the_sessions_view_and_writes_nothing_to_it() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    let main = stage.call(&queue, 1);
    stage.fail_out(main, Class::Auth);
    stage.answer(main);
    let tally = stage.engine.tally(RouteId(1));
    let spec = chore(&stage, &queue);
    let internal = stage.arrive(spec);
    assert_eq!(stage.running(internal), Some(1), "0 is out for the session");
    stage.fail_out(internal, Class::Auth);
    assert!(stage.is_verified(1, 1) && !stage.is_out(1, 1));
    assert!(stage.is_out(SessionId::BACKGROUND.0, 1), "background learns it");
    assert_eq!(stage.engine.tally(RouteId(1)), tally);
    assert_eq!(stage.engine.running_now(SessionId(1)), Some(RouteId(1)));
}

#[test]
fn r47_an_internal_call_does_not_rotate() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    truncations(&mut stage, &queue);
    let main = stage.call(&queue, 1);
    assert_eq!(stage.running(main), Some(1), "six truncations");
    let spec = chore(&stage, &queue);
    let internal = stage.arrive(spec);
    assert_eq!(stage.running(internal), Some(0));
    stage.speak(internal);
    stage.end(internal, Finish::Truncated);
    let count = stage.engine.session(SessionId(1)).unwrap().truncations;
    assert_eq!(count, [(QueueId(1), 6)]);
}

#[test]
fn r47_an_internal_call_uses_its_sessions_seat_and_leaves_it_there() {
    let narrow = Candidate { max_sessions: Some(1), ..candidate(0) };
    let one = queue(1, Policy::RELAY, vec![narrow, candidate(1)]);
    let mut stage = Stage::new();
    let main = stage.call(&one, 1);
    stage.answer(main);
    let spec = chore(&stage, &one);
    let internal = stage.arrive(spec);
    assert_eq!(stage.running(internal), Some(0));
    stage.fail_out(internal, Class::Auth);
    let holders = stage.engine.routes(stage.now).next().unwrap().holders;
    assert_eq!(holders, [Holder::Session(SessionId(1))], "its failure takes no seat away");
    let mut fresh = Stage::new();
    let spec = chore(&fresh, &one);
    let internal = fresh.arrive(spec);
    let holders = fresh.engine.routes(fresh.now).next().unwrap().holders;
    assert_eq!(holders, [Holder::Call(internal)], "it takes none in the session's name");
}

#[test]
fn r48_a_dead_connection_is_used_once_more_and_is_no_attempt() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    let call = stage.call(&queue, 1);
    stage.feed(call, AttemptInput::Unserved);
    assert_eq!(stage.starts(call).len(), 1);
    assert!(stage.effects(call).contains(&Effect::Resend(AttemptId(1))));
    stage.feed(call, AttemptInput::Unserved);
    assert_eq!(stage.starts(call).len(), 2, "the second time it is the candidate's failure");
}

#[test]
fn r48_a_connection_that_dies_after_its_first_byte_is_a_failure() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    let call = stage.call(&queue, 1);
    stage.feed(call, AttemptInput::Head);
    stage.feed(call, AttemptInput::Unserved);
    assert!(!stage.effects(call).contains(&Effect::Resend(AttemptId(1))));
    assert_eq!(stage.tried(call), [0, 0]);
}

#[test]
fn r48_what_a_sleeping_machine_saw_blames_nobody() {
    for (slept, spared) in [(5_000, true), (4_999, false)] {
        let mut stage = Stage::new();
        let call = stage.call(&two(Policy { retries: 0, ..Policy::RELAY }), 1);
        stage.sleep(slept);
        stage.fail(call, Class::TransportRemote);
        assert_eq!(!stage.blamed(), spared, "{slept}");
        assert_eq!(stage.tried(call), if spared { [0, 0] } else { [0, 1] });
    }
    let mut stage = Stage::new();
    let call = stage.call(&relay(2), 1);
    stage.speak(call);
    stage.sleep(7_200_000);
    stage.fail(call, Class::TransportRemote);
    assert!(matches!(stage.word(call), Some(LastWord::Broken(..))), "the client is told");
    assert!(!stage.blamed());
}

#[test]
fn section_3_a_universal_refusal_and_a_filter_go_out_as_they_came() {
    let universal = Failure { reach: Reach::Universal, ..Failure::upstream(Class::InvalidRequest) };
    for failure in [universal, Failure::upstream(Class::ContentFilter)] {
        let (mut stage, queue) = (Stage::new(), relay(2));
        let call = stage.call(&queue, 1);
        stage.feed(call, AttemptInput::Failed { failure, repair: Repair::Impossible });
        assert_eq!(stage.tried(call), [0]);
        assert_eq!(stage.word(call), Some(LastWord::AsItCame(AttemptId(1))));
        assert!(!stage.blamed());
    }
}

#[test]
fn section_3_a_refusal_that_is_not_proven_universal_fails_over_and_the_first_goes_out() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    let call = stage.call(&queue, 1);
    stage.fail(call, Class::InvalidRequest);
    assert_eq!(stage.tried(call), [0, 1]);
    stage.fail(call, Class::InvalidRequest);
    assert_eq!(stage.word(call), Some(LastWord::AsItCame(AttemptId(1))));
    assert!(!stage.blamed());
}

#[test]
fn section_3_a_refused_request_is_mended_once_where_it_can_be() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    let call = stage.call(&queue, 1);
    let failure = Failure::upstream(Class::InvalidRequest);
    let refused = AttemptInput::Failed { failure, repair: Repair::Possible };
    stage.feed(call, refused);
    stage.feed(call, refused);
    let mended: Vec<_> = stage.starts(call).iter().map(|s| (s.candidate, s.repair)).collect();
    assert_eq!(mended, [(0, false), (0, true), (1, false)]);
}

#[test]
fn section_3_a_filter_moves_on_where_that_is_wished() {
    let mut stage = Stage::new();
    let call = stage.call(&two(Policy { failover_on_filter: Switch::On, ..Policy::RELAY }), 1);
    stage.fail(call, Class::ContentFilter);
    stage.fail(call, Class::ContentFilter);
    assert_eq!(stage.tried(call), [0, 1]);
    assert_eq!(stage.word(call), Some(LastWord::AsItCame(AttemptId(1))));
}

#[test]
fn section_3_this_machines_network_is_waited_for_and_blames_nobody() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    let call = stage.call(&queue, 1);
    let mut pauses = Vec::new();
    while stage.word(call).is_none() {
        stage.fail(call, Class::LocalNetwork);
        if let Some((ms, Why::LocalNetwork)) = stage.waits(call) {
            pauses.push(ms);
            stage.pass(ms);
        }
    }
    assert_eq!(pauses.iter().sum::<u64>(), 30_000, "{pauses:?}");
    assert_eq!(stage.word(call), Some(LastWord::LocalNetwork));
    assert!(stage.tried(call).iter().all(|candidate| *candidate == 0), "no failover");
    assert!(!stage.blamed());
    assert!(stage.starts(call).iter().all(|start| start.mode == Mode::Normal));
}
