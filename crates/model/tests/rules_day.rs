//! R17 to R20: out for the day, parole, release by hand, background.

use ekiden_engine::{
    AttemptInput, CallSpec, Candidate, Class, Clock, Clocks, Day, Engine, Fact, LiftedBy, Mode,
    Place, Policy, Queue, QueueId, Release, RouteId, Seating, SessionId, Wait, Why,
};
use ekiden_model::Stage;
use ekiden_model::stage::{DAY, candidate, queue, relay};
use std::sync::Arc;

const TOMORROW: Day = Day { number: 8, ends_ms: DAY.ends_ms + 82_800_000 };

fn place(session: u64, route: u32) -> Place {
    Place { session: SessionId(session), queue: QueueId(1), route: RouteId(route) }
}

fn out(stage: &mut Stage, queue: &Arc<Queue>, session: u64, class: Class) {
    let call = stage.call(queue, session);
    stage.fail_out(call, class);
    stage.input(call, ekiden_engine::Input::ClientGone);
}

fn quarantine(stage: &Stage, session: u64) -> Option<ekiden_engine::Quarantine> {
    Some(stage.engine.session(SessionId(session))?.quarantined.first()?.2)
}

#[test]
fn r17_a_quarantine_ends_when_the_day_turns() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    out(&mut stage, &queue, 1, Class::Auth);
    let kept = quarantine(&stage, 1).unwrap();
    assert_eq!((kept.class, kept.day, kept.since_ms), (Class::Auth, 7, stage.now.wall_ms));
    stage.engine.turn(TOMORROW);
    assert!(!stage.is_out(1, 0));
    let call = stage.call(&queue, 1);
    assert_eq!(stage.running(call), Some(0));
}

#[test]
fn r17_a_day_that_has_passed_never_comes_back() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    stage.engine.turn(TOMORROW);
    out(&mut stage, &queue, 1, Class::Auth);
    stage.engine.turn(DAY);
    assert_eq!(stage.engine.day(), TOMORROW);
    assert!(stage.is_out(1, 0), "a clock set back lifts nothing");
    assert_eq!(quarantine(&stage, 1).map(|kept| kept.day), Some(8));
}

#[test]
fn r17_a_failure_belongs_to_the_day_in_which_it_is_judged() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    let call = stage.call(&queue, 1);
    stage.engine.turn(TOMORROW);
    stage.fail_out(call, Class::Auth);
    assert_eq!(quarantine(&stage, 1).map(|kept| kept.day), Some(8));
}

#[test]
fn r17_verified_tallies_and_speeds_live_one_day() {
    let (mut stage, queue) = (Stage::new(), relay(1));
    let call = stage.call(&queue, 1);
    stage.speak(call);
    stage.pass(500);
    stage.end(call, ekiden_engine::Finish::Stop);
    assert!(stage.is_verified(1, 0));
    assert_eq!(stage.engine.tally(RouteId(0)).successes, 1);
    assert!(stage.engine.speed(SessionId(1), RouteId(0)).is_some());
    stage.engine.turn(TOMORROW);
    assert!(!stage.is_verified(1, 0));
    assert_eq!(stage.engine.tally(RouteId(0)).successes, 0);
    assert!(stage.engine.speed(SessionId(1), RouteId(0)).is_none());
}

#[test]
fn r17_a_quota_comes_back_at_its_own_reset_or_the_days_whichever_is_first() {
    for (wait_ms, own) in [(3_600_000, true), (7 * 86_400_000, false)] {
        let (mut stage, queue) = (Stage::new(), relay(2));
        let call = stage.call(&queue, 1);
        for _ in 0..3 {
            stage.fail_naming(call, Class::QuotaExhausted, Wait::Ms(wait_ms));
        }
        let until = quarantine(&stage, 1).unwrap().until_ms;
        assert_eq!(until, own.then_some(stage.now.wall_ms + wait_ms));
        stage.pass(wait_ms.min(4_000_000));
        let next = stage.call(&queue, 1);
        assert_eq!(stage.running(next), Some(u32::from(!own)));
    }
}

#[test]
fn r17_quarantines_and_verified_marks_survive_a_restart_and_cooldowns_do_not() {
    let (mut stage, three) = (Stage::new(), relay(3));
    let call = stage.call(&three, 1);
    stage.fail_naming(call, Class::RateLimited, Wait::Ms(600_000));
    stage.fail_out(call, Class::Auth);
    stage.answer(call);
    let facts = std::mem::take(&mut stage.facts);
    stage.engine = Engine::new(DAY);
    facts.iter().for_each(|fact| stage.engine.recall(stage.now, fact));
    assert!(stage.is_out(1, 1) && stage.is_verified(1, 2));
    assert_eq!(stage.cools(0), None);
    stage.engine = Engine::new(TOMORROW);
    facts.iter().for_each(|fact| stage.engine.recall(stage.now, fact));
    assert!(!stage.is_out(1, 1) && !stage.is_verified(1, 2), "yesterday's are not taken up");
}

#[test]
fn r18_after_a_minute_one_live_call_may_try_again_and_success_lifts() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    out(&mut stage, &queue, 1, Class::ServerError);
    stage.pass(58_000);
    let early = stage.call(&queue, 1);
    assert_eq!(stage.running(early), Some(1));
    stage.pass(2_000);
    let trial = stage.call(&queue, 1);
    assert_eq!(stage.starts(trial)[0].mode, Mode::Parole);
    let second = stage.call(&queue, 1);
    assert_eq!(stage.running(second), Some(1), "one call at a time");
    stage.answer(trial);
    assert!(!stage.is_out(1, 0) && stage.is_verified(1, 0));
}

#[test]
fn r18_a_parole_is_one_attempt_and_its_span_doubles_to_an_hour() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    out(&mut stage, &queue, 1, Class::Timeout);
    let mut spans = Vec::new();
    for _ in 0..8 {
        let kept = quarantine(&stage, 1).unwrap();
        let span = kept.parole_ms.unwrap() - kept.since_ms;
        spans.push(span / 60_000);
        stage.pass(span);
        let call = stage.call(&queue, 1);
        assert_eq!(stage.starts(call)[0].mode, Mode::Parole);
        stage.fail(call, Class::Timeout);
        assert_eq!(stage.tried(call), [0, 1], "no retry");
        stage.answer(call);
    }
    assert_eq!(spans, [1, 2, 4, 8, 16, 32, 60, 60]);
}

#[test]
fn r18_two_calls_that_fail_at_once_do_not_double_the_span() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    let calls = [stage.call(&queue, 1), stage.call(&queue, 1)];
    for call in calls {
        stage.fail_out(call, Class::Timeout);
    }
    let kept = quarantine(&stage, 1).unwrap();
    assert_eq!(kept.parole_ms, Some(kept.since_ms + 60_000));
    assert_eq!(kept.paroles, 0);
}

#[test]
fn r18_a_failed_last_resort_does_not_put_parole_off() {
    let (mut stage, queue) = (Stage::new(), relay(1));
    out(&mut stage, &queue, 1, Class::Timeout);
    for _ in 0..5 {
        let call = stage.call(&queue, 1);
        assert_eq!(stage.starts(call)[0].mode, Mode::LastResort);
        stage.fail(call, Class::Timeout);
    }
    let kept = quarantine(&stage, 1).unwrap();
    assert_eq!((kept.parole_ms, kept.paroles), (Some(kept.since_ms + 60_000), 0));
}

#[test]
fn r18_a_parole_is_silent_for_thirty_seconds_at_most() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    out(&mut stage, &queue, 1, Class::Stall);
    stage.pass(60_000);
    let call = stage.call(&queue, 1);
    stage.feed(call, AttemptInput::Sent);
    assert_eq!(stage.waits(call), Some((30_000, Why::Clock(Clock::Idle))));
    let quick = Clocks { idle_ms: 5_000, ..Clocks::REMOTE };
    let brisk = Candidate { clocks: quick, ..candidate(0) };
    let (mut stage, queue) =
        (Stage::new(), self::queue(1, Policy::RELAY, vec![brisk, candidate(1)]));
    out(&mut stage, &queue, 1, Class::Stall);
    stage.pass(60_000);
    let call = stage.call(&queue, 1);
    stage.feed(call, AttemptInput::Sent);
    assert_eq!(stage.waits(call), Some((5_000, Why::Clock(Clock::Idle))));
}

#[test]
fn r18_no_parole_for_quota_or_auth_nor_where_it_is_off() {
    for class in [Class::QuotaExhausted, Class::Auth, Class::NotFound] {
        let (mut stage, queue) = (Stage::new(), relay(2));
        out(&mut stage, &queue, 1, class);
        assert_eq!(quarantine(&stage, 1).unwrap().parole_ms, None, "{class:?}");
    }
    let never = Policy { parole_after_ms: 0, ..Policy::RELAY };
    let mut stage = Stage::new();
    let queue = queue(1, never, vec![candidate(0), candidate(1)]);
    out(&mut stage, &queue, 1, Class::ServerError);
    stage.pass(40_000_000);
    let call = stage.call(&queue, 1);
    assert_eq!(stage.running(call), Some(1));
}

#[test]
fn r18_a_clock_set_back_does_not_prolong_a_parole() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    out(&mut stage, &queue, 1, Class::ServerError);
    stage.now.wall_ms -= 7_200_000;
    stage.pass(60_000);
    let call = stage.call(&queue, 1);
    assert_eq!(stage.running(call), Some(0));
}

#[test]
fn r18_a_failed_parole_of_a_cooling_kind_counts_too() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    out(&mut stage, &queue, 1, Class::ServerError);
    stage.pass(60_000);
    let call = stage.call(&queue, 1);
    stage.fail_naming(call, Class::RateLimited, Wait::Ms(10_000));
    let kept = quarantine(&stage, 1).unwrap();
    assert_eq!((kept.paroles, kept.class), (1, Class::ServerError));
    // What is kept on disk is what holds: a restart gives no parole before its time.
    let told = stage.facts.iter().rev().find_map(|fact| {
        if let Fact::Quarantined { quarantine, .. } = fact { Some(*quarantine) } else { None }
    });
    assert_eq!(told, Some(kept));
}

#[test]
fn r19_releases_let_go_of_what_they_name_and_nothing_else() {
    let setup = || {
        let (mut stage, queue) = (Stage::new(), relay(3));
        for session in [1, 2] {
            let call = stage.call(&queue, session);
            stage.fail_out(call, Class::Auth);
            stage.fail_out(call, Class::Auth);
        }
        let call = stage.call(&queue, 3);
        stage.fail_naming(call, Class::RateLimited, Wait::Ms(600_000));
        stage
    };
    let state = |stage: &Stage| {
        let out = [(1, 0), (1, 1), (2, 0), (2, 1)].map(|(s, r)| stage.is_out(s, r));
        (out, stage.cools(0).is_some())
    };
    let cases = [
        (Release::Place(place(1, 0)), ([false, true, true, true], true)),
        (Release::Session(SessionId(1)), ([false, false, true, true], true)),
        (Release::Route(RouteId(0)), ([true; 4], false)),
        (Release::All, ([false; 4], false)),
    ];
    for (release, expected) in cases {
        let mut stage = setup();
        assert_eq!(state(&stage), ([true; 4], true));
        stage.engine.release(release);
        stage.attend();
        assert_eq!(state(&stage), expected, "{release:?}");
    }
}

#[test]
fn r19_a_release_is_told() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    out(&mut stage, &queue, 1, Class::Auth);
    stage.engine.release(Release::Place(place(1, 0)));
    stage.attend();
    let lifted = Fact::Lifted { place: place(1, 0), by: LiftedBy::Release };
    assert_eq!(stage.facts.last(), Some(&lifted));
}

#[test]
fn r20_background_never_touches_a_real_session() {
    let (mut stage, queue) = (Stage::new(), relay(2));
    let spec = CallSpec {
        session: SessionId::BACKGROUND,
        seating: Seating::Call,
        ..stage.spec(&queue, 0)
    };
    let call = stage.arrive(spec);
    stage.fail_out(call, Class::Auth);
    assert!(stage.is_out(0, 0) && !stage.is_out(1, 0));
    let real = stage.call(&queue, 1);
    assert_eq!(stage.running(real), Some(0));
}
