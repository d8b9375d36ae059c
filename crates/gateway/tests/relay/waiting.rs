//! Waiting, cooling, seats and days (R5, R17, R18, R21, R22, R24, R26, R27, R48).

use std::time::Duration;

use ekiden_engine::Release;
use ekiden_store::What;
use tokio::time::sleep;

use super::stage::{Setting, Stage, Way};

fn with(queue: &'static str) -> Setting {
    Setting { queue, ..Setting::default() }
}

#[tokio::test(start_paused = true)]
async fn r05_a_call_waits_for_a_cooldown_within_wait_max() {
    for way in Way::ALL {
        let stage = Stage::of(way, "429:20; ok:back", "429:40");
        let got = stage.ask().await;
        got.is_whole("back");
        assert!((19..=21).contains(&got.took.as_secs()), "{:?}", got.took);
        assert!(stage.journal().iter().any(|entry| matches!(entry.what, What::Waited { .. })));
    }
}

#[tokio::test(start_paused = true)]
async fn r05_a_waiting_call_is_woken_by_a_release_and_not_by_polling() {
    for way in Way::ALL {
        let stage = Stage::of(way, "429:25; ok:back", "429:40");
        let core = stage.gateway.core();
        let (got, ()) = tokio::join!(stage.ask(), async {
            sleep(Duration::from_secs(5)).await;
            core.release(Release::All);
        });
        got.is_whole("back");
        assert!((5..=6).contains(&got.took.as_secs()), "{:?}", got.took);
    }
}

#[tokio::test(start_paused = true)]
async fn r21_the_success_after_a_cooldown_goes_back_to_the_first() {
    for way in Way::ALL {
        let stage = Stage::of(way, "429:90; ok:first", "ok:second");
        stage.ask().await.is_whole("second");
        stage.ask().await.is_whole("second");
        assert_eq!(stage.hits(), (1, 2));
        sleep(Duration::from_secs(91)).await;
        stage.ask().await.is_whole("first");
    }
}

#[tokio::test(start_paused = true)]
async fn r09_a_failover_may_carry_continue_messages() {
    for way in Way::ALL {
        let setting = with("continue_on_failover = \"always\"\ncontinue_text = \"go on\"");
        let stage = Stage::set(way, "503", "ok:second", &setting);
        stage.ask().await.is_whole("second");
        let log = stage.b.log();
        let body = log.calls().next().unwrap().json();
        let messages = body["messages"].as_array().unwrap();
        assert_eq!(messages.len(), 2);
        assert_eq!(messages[1]["content"], "go on");
        let log = stage.a.log();
        assert!(log.calls().all(|seen| seen.json()["messages"].as_array().unwrap().len() == 1));
    }
}

#[tokio::test(start_paused = true)]
async fn r24_a_full_candidate_is_passed_over_and_a_seat_outlives_the_call() {
    for way in Way::ALL {
        let setting = Setting {
            candidates: r#"{ route = "a/m1", max_sessions = 1 }, "b/m2""#,
            ..Setting::default()
        };
        let stage = Stage::set(way, "ok:first", "ok:second", &setting);
        stage.ask_in("one").await.is_whole("first");
        stage.ask_in("two").await.is_whole("second");
        stage.ask_in("one").await.is_whole("first");
        assert!(stage.gateway.core().end_session(&session_of(&stage, "one")));
        sleep(Duration::from_secs(6)).await;
        stage.ask_in("two").await.is_whole("first");
    }
}

fn session_of(stage: &Stage, name: &str) -> String {
    let sessions = stage.gateway.core().names().sessions();
    let found = sessions.into_iter().find(|(_, key)| key.ends_with(name));
    found.expect("a known session").1.to_string()
}

#[tokio::test(start_paused = true)]
async fn r27_two_sessions_on_one_seat_wait_for_each_other() {
    for way in Way::ALL {
        let setting = Setting {
            candidates: r#"{ route = "a/m1", max_sessions = 1 }"#,
            queue: "lease_idle = \"2s\"",
            ..Setting::default()
        };
        let stage = Stage::set(way, "head:3s | ok:first", "ok:never", &setting);
        let (one, two) = tokio::join!(stage.ask_in("one"), stage.ask_in("two"));
        one.is_whole("first");
        two.is_whole("first");
        assert_eq!(stage.a.log().in_flight_max, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn r17_a_new_day_forgets_quarantines() {
    for way in Way::ALL {
        let setting = with("parole_after = \"0\"");
        let stage = Stage::set(way, "503", "ok:second", &setting);
        stage.ask().await.is_whole("second");
        stage.a.script("ok:first".parse().unwrap());
        stage.ask().await.is_whole("second");
        // Noon to one o'clock at night.
        sleep(Duration::from_secs(13 * 3600 + 1)).await;
        stage.ask().await.is_whole("first");
    }
}

#[tokio::test(start_paused = true)]
async fn r18_parole_lets_a_quarantined_candidate_prove_itself() {
    for way in Way::ALL {
        let stage = Stage::of(way, "503", "ok:second");
        stage.ask().await.is_whole("second");
        stage.a.script("ok:first".parse().unwrap());
        sleep(Duration::from_secs(61)).await;
        stage.ask().await.is_whole("first");
        assert!(stage.journal().iter().any(|entry| matches!(entry.what, What::OnTrial { .. })));
        assert!(stage.journal().iter().any(|entry| matches!(entry.what, What::Lifted { .. })));
    }
}

#[tokio::test(start_paused = true)]
async fn r48_an_attempt_that_the_machine_slept_through_blames_nobody() {
    for way in Way::ALL {
        let stage = Stage::of(way, "head:10s | cut:0; ok:first", "ok:never");
        let core = stage.gateway.core();
        let (got, ()) = tokio::join!(stage.ask(), async {
            sleep(Duration::from_secs(5)).await;
            core.clock().jump(3_600_000);
        });
        got.is_whole("first");
        let judged =
            stage.journal().into_iter().any(|e| matches!(e.what, What::Quarantined { .. }));
        assert!(!judged);
        let slept = |entry: &ekiden_store::Entry| matches!(entry.what, What::Slept { .. });
        assert!(stage.journal().iter().any(slept));
        assert_eq!(stage.hits(), (2, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn r20_background_work_touches_no_session() {
    for way in Way::ALL {
        let stage = Stage::of(way, "503", "ok:second");
        stage.ask_in("real").await.is_whole("second");
        stage.a.script("ok:first".parse().unwrap());
        stage.ask_in("other").await.is_whole("first");
    }
}

#[tokio::test(start_paused = true)]
async fn r22_after_a_cooldown_one_call_goes_alone() {
    for way in Way::ALL {
        let stage = Stage::of(way, "429:90; head:5s | ok:first", "ok:second");
        stage.ask_in("one").await.is_whole("second");
        sleep(Duration::from_secs(91)).await;
        let (one, two) = tokio::join!(stage.ask_in("two"), stage.ask_in("three"));
        let served = [one.text(), two.text()];
        assert!(served.contains(&"first".to_owned()) && served.contains(&"second".to_owned()));
        stage.ask_in("four").await.is_whole("first");
    }
}

#[tokio::test(start_paused = true)]
async fn r17_a_restart_takes_up_what_was_kept() {
    for way in Way::ALL {
        let stage = Stage::of(way, "503", "ok:second");
        stage.ask().await.is_whole("second");
        let store = std::sync::Arc::clone(stage.gateway.core().store());
        let again = Stage::restarted(way, "ok:first", "ok:second", store);
        let names = again.gateway.core().names();
        let (a, b) = (names.route("a/m1"), names.route("b/m2"));
        assert_eq!(again.gateway.core().tally(a).failures, 1);
        assert_eq!(again.gateway.core().tally(b).successes, 1);
        again.ask().await.is_whole("second");
        assert_eq!(again.hits(), (0, 1));
        assert_eq!(again.gateway.core().tally(b).successes, 2);
        again.ask_in("another").await.is_whole("first");
    }
}

#[tokio::test(start_paused = true)]
async fn r17_of_more_sessions_than_are_remembered_those_that_are_out_somewhere_are_recalled() {
    for way in Way::ALL {
        let stage = Stage::of(way, "503", "ok:second");
        stage.ask_in("out").await.is_whole("second");
        stage.a.script("ok:first".parse().unwrap());
        sleep(Duration::from_secs(61)).await;
        for session in ["f", "g", "h", "i", "j", "k", "l", "m"] {
            stage.ask_in(session).await.is_whole("first");
        }
        let store = std::sync::Arc::clone(stage.gateway.core().store());
        let few = Setting { more: "[limits]\nsessions_max = 4", ..Setting::default() };
        let again = Stage::restarted_with(way, "ok:first", "ok:second", &few, store);
        again.ask_in("out").await.is_whole("second");
    }
}

#[tokio::test(start_paused = true)]
async fn r24_a_reload_keeps_running_calls_and_gives_back_what_left() {
    for way in Way::ALL {
        let stage = Stage::of(way, "head:5s | ok:first", "ok:second");
        let next = Setting { candidates: r#""b/m2""#, ..Setting::default() };
        let config = Stage::config(way, &next);
        let (got, ()) = tokio::join!(stage.ask(), async {
            sleep(Duration::from_secs(1)).await;
            stage.gateway.core().reload(config);
        });
        got.is_whole("first");
        stage.ask().await.is_whole("second");
    }
}

#[tokio::test(start_paused = true)]
async fn r47_a_side_call_writes_nothing_to_its_session() {
    for way in Way::ALL {
        let stage = Stage::of(way, "503", "ok:second");
        let headers = [("x-claude-code-request-class", "auxiliary")];
        stage.ask_as("s", &stage.body(), &headers).await.is_whole("second");
        stage.a.script("ok:first".parse().unwrap());
        stage.ask().await.is_whole("first");
    }
}
