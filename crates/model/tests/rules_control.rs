//! What people do to running calls (P5), and calls that begin where earlier ones broke (D6).

use ekiden_engine::{
    CallSpec, Class, Continuing, Effect, Engine, Fact, Input, LastWord, Policy, RouteId, SessionId,
    Wait, Whose,
};
use ekiden_model::Stage;
use ekiden_model::stage::{DAY, candidate, queue, relay};

#[test]
fn p05_a_stopped_call_ends_and_blames_nobody() {
    let mut stage = Stage::new();
    let call = stage.call(&relay(2), 1);
    stage.input(call, Input::Stop);
    assert_eq!(stage.word(call), Some(LastWord::Stopped));
    assert!(stage.effects(call).iter().any(|effect| matches!(effect, Effect::Cancel(_))));
    assert!(!stage.blamed());
    // One that waits ends too.
    let one = relay(1);
    let call = stage.call(&one, 2);
    stage.fail_naming(call, Class::RateLimited, Wait::Ms(20_000));
    stage.input(call, Input::Stop);
    assert_eq!(stage.word(call), Some(LastWord::Stopped));
    assert_eq!(stage.engine.waiting(), 0);
}

#[test]
fn p05_a_stop_after_commit_is_no_normal_end() {
    let mut stage = Stage::new();
    let call = stage.call(&relay(2), 1);
    stage.speak(call);
    stage.input(call, Input::Stop);
    assert!(matches!(stage.word(call), Some(LastWord::Broken(_, Class::Aborted))));
    assert!(!stage.delivered(call));
}

#[test]
fn p05_r17_pauses_are_told_once_and_survive_a_restart() {
    let mut stage = Stage::new();
    let (all, mine) = (Whose::All, Whose::Session(SessionId(1)));
    for whose in [all, mine, mine] {
        stage.engine.pause(whose);
    }
    stage.engine.resume(all);
    stage.engine.resume(all);
    stage.attend();
    let told =
        [Fact::Paused { whose: all }, Fact::Paused { whose: mine }, Fact::Resumed { whose: all }];
    assert_eq!(stage.facts, told);
    let mut again = Engine::new(DAY);
    told.iter().for_each(|fact| again.recall(stage.now, fact));
    assert!(again.is_paused(SessionId(1)) && !again.is_paused(SessionId(2)));
    assert_eq!(again.pauses().collect::<Vec<_>>(), [mine]);
}

fn after(stage: &Stage, queue: &std::sync::Arc<ekiden_engine::Queue>, tried: &[u32]) -> CallSpec {
    let tried = tried.iter().copied().map(RouteId).collect();
    CallSpec { tried, ..stage.spec(queue, 1) }
}

#[test]
fn d06_what_broke_earlier_in_the_step_counts_as_tried() {
    let mut stage = Stage::new();
    let three = relay(3);
    let first = stage.call(&three, 1);
    stage.speak(first);
    stage.fail(first, Class::TransportRemote);
    assert!(matches!(stage.word(first), Some(LastWord::Broken(_, Class::TransportRemote))));
    // It is quarantined, and would be tried as a last resort if it were not said to be tried.
    let second = stage.arrive(after(&stage, &three, &[0]));
    assert_eq!(stage.running(second), Some(1));
    let moved = Fact::FailedOver { call: second, from: RouteId(0), to: RouteId(1) };
    assert!(stage.facts.contains(&moved));
    stage.speak(second);
    stage.fail(second, Class::TransportRemote);
    let third = stage.arrive(after(&stage, &three, &[0, 1]));
    assert_eq!(stage.running(third), Some(2));
    stage.speak(third);
    stage.fail(third, Class::TransportRemote);
    let last = stage.arrive(after(&stage, &three, &[0, 1, 2]));
    assert_eq!(stage.tried(last), [0u32; 0], "the step ends when no candidate is left");
    assert!(matches!(stage.word(last), Some(LastWord::ComeBack(_))));
}

#[test]
fn d06_r09_each_of_them_is_a_failover_that_says_continue() {
    let policy = Policy {
        continuing: Continuing::Always,
        continue_delay_ms: 5_000,
        retries: 0,
        ..Policy::RELAY
    };
    let four = queue(1, policy, (0..4).map(candidate).collect());
    let mut stage = Stage::new();
    let call = stage.arrive(after(&stage, &four, &[0, 1]));
    assert_eq!(stage.waits(call).map(|(ms, _)| ms), Some(5_000), "the delay before a failover");
    stage.pass(5_000);
    assert_eq!(stage.starts(call).last().map(|s| (s.candidate, s.continues)), Some((2, 2)));
    stage.fail(call, Class::Auth);
    stage.pass(5_000);
    assert_eq!(stage.starts(call).last().map(|s| (s.candidate, s.continues)), Some((3, 3)));
}
