//! R46: the engine at both ends of every bound. Values outside are refused by the configuration.

use ekiden_engine::{Candidate, Class, Continuing, LastWord, Policy, Wait, Why};
use ekiden_model::Stage;
use ekiden_model::stage::{candidate, queue};

fn attempts(policy: Policy) -> usize {
    let mut stage = Stage::new();
    let call = stage.call(&queue(1, policy, vec![candidate(0)]), 1);
    stage.fail_out(call, Class::Timeout);
    stage.starts(call).len()
}

#[test]
fn r46_retries_from_none_to_ten() {
    for retries in [0, 1, 10] {
        assert_eq!(attempts(Policy { retries, ..Policy::RELAY }), retries as usize + 1);
    }
}

#[test]
fn r46_continue_delay_from_none_to_ten_minutes() {
    for continue_delay_ms in [0, 600_000] {
        let policy = Policy { continue_delay_ms, continuing: Continuing::Always, ..Policy::RELAY };
        let mut stage = Stage::new();
        let call = stage.call(&queue(1, policy, vec![candidate(0), candidate(1)]), 1);
        stage.fail_out(call, Class::Auth);
        stage.pass(continue_delay_ms);
        assert_eq!(stage.running(call), Some(1));
    }
}

#[test]
fn r46_wait_max_from_none_to_ten_minutes() {
    for (wait_max_ms, waits) in [(0, false), (600_000, true)] {
        let policy = Policy { wait_max_ms, ..Policy::RELAY };
        let mut stage = Stage::new();
        let call = stage.call(&queue(1, policy, vec![candidate(0)]), 1);
        stage.fail_naming(call, Class::RateLimited, Wait::Ms(600_000));
        assert_eq!(stage.waits(call).is_some(), waits);
        assert_eq!(stage.word(call), (!waits).then_some(LastWord::ComeBack(600_000)));
    }
}

#[test]
fn r46_idle_off_or_an_hour() {
    for (idle_ms, waits) in [(0, None), (3_600_000, Some(3_600_000))] {
        let clocks = ekiden_engine::Clocks {
            idle_ms,
            headers_ms: 0,
            progress_ms: 0,
            ..ekiden_engine::Clocks::REMOTE
        };
        let mut stage = Stage::new();
        let call =
            stage.call(&queue(1, Policy::RELAY, vec![Candidate { clocks, ..candidate(0) }]), 1);
        stage.feed(call, ekiden_engine::AttemptInput::Sent);
        assert_eq!(stage.waits(call).map(|(ms, _)| ms), waits);
    }
}

#[test]
fn r46_cooldown_off_or_an_hour() {
    for (cooldown_ms, cools) in [(0, None), (3_600_000, Some(3_600_000))] {
        let policy = Policy { cooldown_ms, retries: 0, ..Policy::RELAY };
        let mut stage = Stage::new();
        let call = stage.call(&queue(1, policy, vec![candidate(0)]), 1);
        stage.fail(call, Class::RateLimited);
        assert_eq!(stage.cools(0), cools);
    }
}

#[test]
fn r46_rest_off_or_five_minutes() {
    for rest_ms in [0, 300_000] {
        let narrow = Candidate { max_sessions: Some(1), ..candidate(0) };
        let queue = queue(1, Policy { rest_ms, ..Policy::RELAY }, vec![narrow]);
        let mut stage = Stage::new();
        let call = stage.call(&queue, 1);
        stage.answer(call);
        stage.engine.end_session(stage.now, ekiden_engine::SessionId(1));
        let other = stage.call(&queue, 2);
        stage.pass(rest_ms);
        assert_eq!(stage.running(other), Some(0));
    }
}

#[test]
fn r46_caps_from_one_to_sixteen() {
    for cap in [1, 16] {
        let narrow = Candidate { max_sessions: Some(cap), ..candidate(0) };
        let queue = queue(1, Policy::RELAY, vec![narrow]);
        let mut stage = Stage::new();
        let calls: Vec<_> = (0..20).map(|session| stage.call(&queue, session + 1)).collect();
        let running = calls.iter().filter(|call| stage.running(**call).is_some()).count();
        assert_eq!(running, cap as usize);
        assert!(
            calls
                .iter()
                .skip(cap as usize)
                .all(|call| { matches!(stage.waits(*call), Some((_, Why::Candidate(_)))) })
        );
    }
}
