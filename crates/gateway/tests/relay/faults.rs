//! Every fault that a provider can play, with a healthy second candidate beside it.

use std::time::Duration;

use ekiden_engine::Class;
use ekiden_store::{AttemptState, What};
use tokio::time::{Instant, sleep};

use super::stage::{Dialect, Setting, Stage, Way};

const COMPLETE: &str = "commit = \"complete\"";

fn with(queue: &'static str) -> Setting {
    Setting { queue, ..Setting::default() }
}

fn gaps_ms(stage: &Stage) -> Vec<u128> {
    let log = stage.a.log();
    let at: Vec<_> = log.calls().map(|seen| seen.at).collect();
    at.windows(2).map(|pair| (pair[1] - pair[0]).as_millis()).collect()
}

#[tokio::test(start_paused = true)]
async fn r23_a_short_named_wait_is_waited_out_on_the_same_candidate() {
    for way in Way::ALL {
        let stage = Stage::of(way, "429:2; ok:done", "ok:never");
        stage.ask().await.is_whole("done");
        assert_eq!(stage.hits(), (2, 0));
        assert!(gaps_ms(&stage)[0] >= 1_800, "{:?}", gaps_ms(&stage));
    }
}

#[tokio::test(start_paused = true)]
async fn k6_a_rate_limit_without_a_wait_is_tried_a_few_times_and_then_cools() {
    for way in Way::ALL {
        let stage = Stage::of(way, "429", "ok:second");
        stage.ask().await.is_whole("second");
        let (a, b) = stage.hits();
        assert!((1..=4).contains(&a), "{a}");
        assert_eq!(b, 1);
        // R21: everybody's other calls pass it over.
        stage.ask_in("another").await.is_whole("second");
        assert_eq!(stage.hits().0, a);
        let cooled = stage.journal().into_iter().any(|entry| {
            matches!(entry.what, What::Cooled { class: Class::RateLimited, ms: 60_000, .. })
        });
        assert!(cooled, "{:?}", stage.journal());
    }
}

#[tokio::test(start_paused = true)]
async fn r07_one_server_error_is_retried_with_the_same_bytes() {
    for way in Way::ALL {
        let stage = Stage::of(way, "500; ok:done", "ok:never");
        let got = stage.ask().await;
        got.is_whole("done");
        assert_eq!(got.header("x-ekiden-attempts"), "2");
        assert_eq!(stage.hits(), (2, 0));
        let log = stage.a.log();
        let bodies: Vec<_> = log.calls().map(|seen| seen.body.clone()).collect();
        assert_eq!(bodies[0], bodies[1]);
        let quarantined =
            stage.journal().iter().any(|e| matches!(e.what, What::Quarantined { .. }));
        assert!(!quarantined);
    }
}

#[tokio::test(start_paused = true)]
async fn k7_what_is_down_for_good_is_left_and_remembered() {
    for way in Way::ALL {
        for script in ["503", "reset", "html", "zero", "empty", "error:overloaded", "error:server"]
        {
            let stage = Stage::of(way, script, "ok:second");
            let got = stage.ask().await;
            assert!(got.ended_well(), "{script} {got:?}");
            assert_eq!(got.text(), "second", "{script} {way:?}");
            assert_eq!(got.header("x-ekiden-candidate"), "b/m2");
            let (a, _) = stage.hits();
            assert!((1..=3).contains(&a), "{script}: {a}");
            stage.ask().await.is_whole("second");
            assert_eq!(stage.hits().0, a, "{script} {way:?}: it is out for this session");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn k1_an_error_inside_a_200_fails_over_like_one_with_a_status() {
    for way in Way::ALL {
        for script in ["error:quota", "error-after:0/quota", "error-after:0/overloaded"] {
            let stage = Stage::of(way, script, "ok:second");
            stage.ask().await.is_whole("second");
            assert_eq!(stage.hits().1, 1, "{script}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn r11_no_answer_at_all_is_one_attempt_and_moves_on_when_the_clock_says_so() {
    for way in Way::ALL {
        let stage = Stage::of(way, "hang", "ok:second");
        let got = stage.ask().await;
        got.is_whole("second");
        assert_eq!(stage.hits(), (1, 1));
        let expected = if way.streamed { 90..=91 } else { 147..=148 };
        assert!(expected.contains(&got.took.as_secs()), "{way:?} {:?}", got.took);
        let left = stage.a.log().calls().next().and_then(ekiden_sim::Seen::client_left_at);
        assert!(left.is_some(), "the silent one is left at once");
        // A whole answer may be in the making all the time: it has had its share, and is not blamed.
        let class = if way.streamed { Class::Stall } else { Class::Timeout };
        assert_eq!(stage.ledger()[0].class, Some(class));
        let stalled = |entry: &ekiden_store::Entry| matches!(entry.what, What::Stalled { .. });
        assert_eq!(stage.journal().iter().any(stalled), way.streamed);
    }
}

#[tokio::test(start_paused = true)]
async fn k3_headers_and_then_nothing_is_a_stall_too() {
    for way in Way::STREAMS {
        let stage = Stage::of(way, "silent", "ok:second");
        let got = stage.ask().await;
        got.is_whole("second");
        assert_eq!(got.took.as_secs(), 120);
        assert_eq!(stage.hits(), (1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn r11_the_first_output_clock_leaves_a_candidate_that_is_late() {
    for way in Way::STREAMS {
        let setting = with("first_output_timeout = \"5s\"");
        let stage = Stage::set(way, "first:20s | ok:late", "ok:second", &setting);
        let got = stage.ask().await;
        got.is_whole("second");
        assert_eq!(got.took.as_secs(), 5);
        assert_eq!(stage.hits(), (1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn r10_a_cut_or_a_silence_late_in_the_stream_is_rescued_with_commit_complete() {
    for way in Way::STREAMS {
        for script in ["cut:6", "eof:6", "silence:6/30s", "error-after:6/server", "mangled:5"] {
            let stage = Stage::set(way, script, "ok:second", &with(COMPLETE));
            let got = stage.ask().await;
            assert!(got.ended_well(), "{script} {got:?}");
            assert_eq!(got.text(), "second", "{script}");
            assert!(!got.raw.contains("sash"), "{script}: no byte of the first one");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn r10_after_commit_a_cut_is_an_explicit_error_and_nobody_goes_on() {
    for way in Way::STREAMS {
        for script in ["cut:6", "eof:6", "silence:6/30s", "error-after:6/server"] {
            let stage = Stage::of(way, script, "ok:second");
            let got = stage.ask().await;
            assert_eq!(got.status, 200);
            assert!(!got.ended_well(), "{script} {got:?}");
            assert!(got.text().starts_with("The sash"), "{script}");
            assert!(got.error()["message"].is_string(), "{script} {}", got.raw);
            assert_eq!(stage.hits(), (1, 0), "{script}");
            // It is judged at once: the next call goes to the second.
            stage.ask().await.is_whole("second");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn k2_a_whole_answer_that_breaks_off_is_tried_again_or_elsewhere() {
    for way in Way::ALL.into_iter().filter(|way| !way.streamed) {
        for script in ["cut:6", "eof:6", "silence:6/30s", "mangled:5", "wrong-length:16"] {
            let stage = Stage::of(way, script, "ok:second");
            let got = stage.ask().await;
            assert_eq!(got.text(), "second", "{script} {got:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn r13_one_malformed_chunk_in_a_whole_stream_is_skipped_and_journalled() {
    for way in Way::STREAMS {
        let stage = Stage::of(way, "malformed:3", "ok:second");
        let got = stage.ask().await;
        got.is_whole(ekiden_sim::DEFAULT_TEXT);
        assert!(!got.raw.contains("broken"), "{}", got.raw);
        assert!(
            stage.journal().iter().any(|entry| matches!(entry.what, What::ChunkSkipped { .. }))
        );
        assert_eq!(stage.hits(), (1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn r13_a_malformed_chunk_before_output_is_a_failure() {
    for way in Way::STREAMS {
        let stage = Stage::of(way, "malformed:0", "ok:second");
        stage.ask().await.is_whole("second");
    }
}

#[tokio::test(start_paused = true)]
async fn r13_a_stream_without_its_terminal_event_but_with_a_finish_ends_at_once() {
    for way in Way::STREAMS {
        let stage = Stage::of(way, "no-end | usage:11/7", "ok:never");
        let got = stage.ask().await;
        got.is_whole(ekiden_sim::DEFAULT_TEXT);
        assert!(got.took < Duration::from_secs(4), "{:?}", got.took);
        assert_eq!(stage.ledger().last().unwrap().output, ekiden_store::Tokens::Reported(7));
    }
}

#[tokio::test(start_paused = true)]
async fn r15_a_context_overflow_is_one_attempt_and_the_canonical_error() {
    for way in Way::ALL {
        let stage = Stage::of(way, "overflow", "ok:never");
        let got = stage.ask().await;
        assert_eq!(got.status, 400, "{got:?}");
        assert_eq!(stage.hits(), (1, 0));
        let error = got.error();
        let message = error["message"].as_str().unwrap();
        match way.dialect {
            Dialect::Chat => {
                assert_eq!(error["code"], "context_length_exceeded");
                assert!(message.starts_with("This model's maximum context length is"), "{message}");
            }
            Dialect::Anthropic => assert!(message.starts_with("prompt is too long: "), "{message}"),
        }
        let quarantined =
            stage.journal().iter().any(|e| matches!(e.what, What::Quarantined { .. }));
        assert!(!quarantined);
    }
}

#[tokio::test(start_paused = true)]
async fn k5_a_content_filter_is_one_attempt_and_its_reason_reaches_the_caller() {
    for way in Way::ALL {
        let stage = Stage::of(way, "filter", "ok:never");
        let got = stage.ask().await;
        assert_eq!(stage.hits(), (1, 0), "{got:?}");
        assert_eq!(got.status, 400);
        let said = stage.a.log();
        assert_eq!(said.calls().count(), 1);
        assert!(got.error()["message"].is_string(), "{}", got.raw);
    }
}

#[tokio::test(start_paused = true)]
async fn k10_a_refused_prefill_is_never_shown_because_none_is_sent() {
    for way in Way::ALL {
        let stage = Stage::set(way, "cut:3", "no-prefill | ok:second", &with(COMPLETE));
        stage.ask().await.is_whole("second");
        let log = stage.b.log();
        let body = log.calls().next().unwrap().json();
        assert_eq!(body["messages"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn k7_a_primary_that_is_down_for_a_minute_is_asked_seldom_and_then_again() {
    for way in Way::ALL {
        let stage = Stage::of(way, "503", "ok:second");
        let began = Instant::now();
        let mut back_after = None;
        while began.elapsed() < Duration::from_secs(130) {
            if began.elapsed() >= Duration::from_secs(60) && back_after.is_none() {
                stage.a.script("ok:first".parse().unwrap());
                back_after = Some(None);
            }
            let got = stage.ask().await;
            assert!(got.ended_well(), "{got:?}");
            if let Some(None) = back_after
                && got.text() == "first"
            {
                back_after = Some(Some(began.elapsed().as_secs() - 60));
            }
            sleep(Duration::from_secs(4)).await;
        }
        let seconds = back_after.flatten().expect("the first one serves again");
        assert!(seconds <= 30, "{seconds}");
        let while_down =
            stage.a.log().calls().filter(|seen| seen.at < began + Duration::from_secs(60)).count();
        assert!(while_down <= 6, "{while_down}");
    }
}

#[tokio::test(start_paused = true)]
async fn k11_failed_attempts_are_no_completions() {
    for way in Way::ALL {
        let stage = Stage::of(way, "503", "ok:second | usage:11/7");
        let got = stage.ask().await;
        assert_eq!(got.header("x-ekiden-candidate"), "b/m2");
        let rows = stage.ledger();
        let (last, failed) = rows.split_last().unwrap();
        assert_eq!((&*last.place.route, last.state), ("b/m2", AttemptState::Complete));
        assert_eq!(last.output, ekiden_store::Tokens::Reported(7));
        assert!(!last.wasted);
        for row in failed {
            assert_eq!((row.state, row.class), (AttemptState::Unknown, Some(Class::Overloaded)));
            assert!(row.wasted);
        }
        let calls = stage.gateway.core().store().calls(10);
        assert_eq!(calls.len(), 1);
        assert_eq!(calls[0].route.as_deref(), Some("b/m2"));
    }
}
