//! What is held, what is let through, and that nothing mixes (R10, R12, R13, R14, R16).

use std::time::Duration;

use ekiden_store::{Ending, What};
use tokio::time::{Instant, sleep, timeout};

use super::stage::{Got, Setting, Stage, Way};

fn with(queue: &'static str) -> Setting {
    Setting { queue, ..Setting::default() }
}

#[tokio::test(start_paused = true)]
async fn g05_a_whole_answer_names_who_gave_it() {
    for way in Way::ALL {
        let stage = Stage::of(way, "ok:All is well.", "ok:never");
        let got = stage.ask().await;
        got.is_whole("All is well.");
        assert_eq!(got.header("x-ekiden-candidate"), "a/m1");
        assert_eq!(got.header("x-ekiden-queue"), "default");
        assert_eq!(got.header("x-ekiden-attempts"), "1");
        assert!(got.header("x-ekiden-call").starts_with("ek-"));
        assert_eq!(stage.hits(), (1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn g01_the_same_dialect_passes_through_byte_for_byte() {
    for way in Way::ALL {
        let stage = Stage::of(
            way,
            "think:Let me see. | ok:Yes. | tool:read {\"path\":\"a.txt\"}",
            "ok:never",
        );
        let mut body = stage.body();
        if way == Way::CHAT {
            body["stream_options"] = serde_json::json!({"include_usage": true});
        }
        let got = stage.ask_as("s", &body, &[]).await;
        assert!(got.ended_well(), "{got:?}");
        let direct = stage.a.log();
        let seen = direct.calls().next().unwrap();
        // The scripted upstream says the same to the same request, ids apart that count up.
        assert_eq!(seen.events, got.raw.matches("data: ").count() * usize::from(way.streamed));
        assert!(got.raw.contains("a.txt") || got.raw.contains("a.t"), "{}", got.raw);
    }
}

#[tokio::test(start_paused = true)]
async fn r10_first_output_commits_and_reasoning_does_not() {
    for way in Way::STREAMS {
        // Five words of reasoning, then the stream breaks: nothing was shown, so the second serves.
        let stage = Stage::of(way, "think:one two three four five | ok:text | cut:5", "ok:second");
        let got = stage.ask().await;
        got.is_whole("second");
        assert!(!got.raw.contains("three"));
    }
}

#[tokio::test(start_paused = true)]
async fn r10_first_token_lets_reasoning_through_and_commits() {
    for way in Way::STREAMS {
        let setting = with("commit = \"first-token\"");
        let script = "think:one two three four five | ok:text | cut:5";
        let stage = Stage::set(way, script, "ok:second", &setting);
        let got = stage.ask().await;
        assert!(got.raw.contains("three"), "{}", got.raw);
        assert!(!got.ended_well());
        assert_eq!(stage.hits(), (1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn r10_the_first_output_goes_on_at_once() {
    for way in Way::STREAMS {
        let stage = Stage::of(way, "ok:one two three four | drip:10s", "ok:never");
        let response = stage.begin("s", &stage.body(), &[]).await;
        let began = Instant::now();
        let mut body = response.into_body();
        let piece = body.piece().await.unwrap().unwrap();
        assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
        assert!(String::from_utf8_lossy(&piece).contains("one"));
        let mut pieces = 1;
        while let Some(Ok(_)) = body.piece().await {
            pieces += 1;
        }
        assert!(pieces >= 4, "{pieces}");
        assert!(began.elapsed() >= Duration::from_secs(30));
    }
}

#[tokio::test(start_paused = true)]
async fn r13_an_empty_answer_is_a_failure() {
    for way in Way::ALL {
        for script in ["empty", "think:hm | empty"] {
            let stage = Stage::of(way, script, "ok:second");
            let got = stage.ask().await;
            assert_eq!(got.text(), "second", "{script} {got:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn r14_a_truncation_goes_out_as_it_is_and_rotates_after_two() {
    for way in Way::ALL {
        let stage = Stage::of(way, "ok:half | length", "ok:half | length");
        let mut served = Vec::new();
        for _ in 0..6 {
            let got = stage.ask().await;
            assert!(got.ended_well(), "{got:?}");
            assert!(
                got.raw.contains("\"length\"") || got.raw.contains("\"max_tokens\""),
                "{}",
                got.raw
            );
            served.push(got.header("x-ekiden-candidate").to_owned());
        }
        assert_eq!(served, ["a/m1", "a/m1", "b/m2", "b/m2", "a/m1", "a/m1"]);
        let calls = stage.gateway.core().store().calls(10);
        assert!(calls.iter().all(|call| call.ending == Ending::Truncated), "{calls:?}");
        assert!(stage.journal().iter().any(|entry| matches!(entry.what, What::Rotated { .. })));
    }
}

#[tokio::test(start_paused = true)]
async fn r16_no_byte_of_a_failed_attempt_leaks() {
    for way in Way::STREAMS {
        let stage =
            Stage::of(way, "think:secret musing here now | error-after:3/overloaded", "ok:second");
        let got = stage.ask().await;
        got.is_whole("second");
        assert!(!got.raw.contains("musing"), "{}", got.raw);
        let ids = got.raw.matches("\"role\":\"assistant\"").count();
        assert!(ids <= 1, "one beginning alone: {}", got.raw);
    }
}

#[tokio::test(start_paused = true)]
async fn r12_and_g03_a_client_that_leaves_cancels_upstream_and_blames_nobody() {
    for way in Way::ALL {
        for script in ["hang", "ok:one two three | drip:10s"] {
            let stage = Stage::of(way, script, "ok:second");
            let body = stage.body();
            let _ = timeout(Duration::from_secs(12), async {
                let response = stage.begin("s", &body, &[]).await;
                Got::read(way, response, Instant::now()).await
            })
            .await;
            let left = Instant::now();
            let log = stage.a.wait_for(|log| log.calls().all(|seen| seen.end.is_some())).await;
            let seen = log.calls().next().unwrap();
            let at = seen.client_left_at().expect("upstream is told");
            assert!(at - left <= Duration::from_millis(100), "{way:?} {script}");
            assert_eq!(stage.hits(), (1, 0));
            stage.gateway.core().tasks().idle().await;
            let entries = stage.journal();
            assert!(entries.is_empty(), "{entries:?}");
            let calls = stage.gateway.core().store().calls(10);
            assert_eq!(calls[0].ending, Ending::Left);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn r11_a_client_that_does_not_read_stops_the_reading() {
    for way in Way::STREAMS {
        let stage = Stage::of(way, "endless | ok:abcdefgh | drip:1", "ok:second");
        let response = stage.begin("s", &stage.body(), &[]).await;
        sleep(Duration::from_secs(250)).await;
        let written = stage.a.log().calls().next().unwrap().written;
        assert!(written < 1024 * 1024, "{written}");
        sleep(Duration::from_secs(10)).await;
        assert_eq!(stage.a.log().calls().next().unwrap().written, written);
        assert!(stage.a.log().calls().next().unwrap().end.is_none(), "no clock runs meanwhile");
        drop(response);
        let log = stage.a.wait_for(|log| log.in_flight == 0).await;
        assert!(log.calls().next().unwrap().client_left_at().is_some());
        assert!(stage.journal().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn r11_no_clock_runs_while_the_client_does_not_read() {
    for way in Way::STREAMS {
        // The next word comes 200 s after the first, and 120 s of silence are allowed.
        let stage = Stage::of(way, "ok:one two | drip:200s", "ok:never");
        let mut body = stage.begin("s", &stage.body(), &[]).await.into_body();
        let mut text = String::new();
        while !text.contains("one") {
            text += std::str::from_utf8(&body.piece().await.unwrap().unwrap()).unwrap();
        }
        sleep(Duration::from_secs(150)).await;
        while let Some(piece) = body.piece().await {
            text += std::str::from_utf8(&piece.expect("it goes on")).unwrap();
        }
        assert!(text.contains("two") && stage.journal().is_empty(), "{text}");
        let silent = Stage::of(way, "ok:one two | drip:200s", "ok:never");
        let got = silent.ask().await;
        assert!(!got.ended_well(), "who reads on sees the silence end: {got:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn r00_with_the_relay_off_there_is_one_try_and_nothing_is_held_or_judged() {
    for way in Way::ALL {
        let stage = Stage::set(way, "500; ok:done", "ok:never", &with("enabled = false"));
        let got = stage.ask().await;
        assert_eq!(got.status, 500, "{got:?}");
        assert_eq!(stage.hits(), (1, 0));
        stage.ask().await.is_whole("done");
        let judged =
            stage.journal().into_iter().any(|e| matches!(e.what, What::Quarantined { .. }));
        assert!(!judged);
    }
}

#[tokio::test(start_paused = true)]
async fn usage_that_only_we_asked_for_is_taken_out_again() {
    let stage = Stage::of(Way::CHAT, "ok:hi | usage:5/2", "ok:never");
    let got = stage.ask().await;
    got.is_whole("hi");
    assert!(!got.raw.contains("usage"), "{}", got.raw);
    let log = stage.a.log();
    assert_eq!(log.calls().next().unwrap().json()["stream_options"]["include_usage"], true);
    assert_eq!(stage.ledger()[0].output, ekiden_store::Tokens::Reported(2));
    let mut body = stage.body();
    body["stream_options"] = serde_json::json!({"include_usage": true});
    let got = stage.ask_as("s", &body, &[]).await;
    assert!(got.raw.contains("\"usage\""));
}

#[tokio::test(start_paused = true)]
async fn g14_a_flood_is_read_no_further_ahead_than_the_bound() {
    for way in Way::STREAMS {
        let stage = Stage::of(way, "ok:x | endless", "ok:never");
        let response = stage.begin("s", &stage.body(), &[]).await;
        sleep(Duration::from_secs(10)).await;
        let written = stage.a.log().calls().next().unwrap().written;
        // What waits for the client, and what stands in the pipe and in the buffers beside it.
        assert!(written < 1024 * 1024, "{written}");
        drop(response);
        let log = stage.a.wait_for(|log| log.in_flight == 0).await;
        assert!(log.calls().next().unwrap().client_left_at().is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn chunks_that_are_pending_together_go_out_together() {
    for way in Way::STREAMS {
        let words = "word ".repeat(400);
        let stage = Stage::of(way, &format!("ok:{words}"), "ok:never");
        let response = stage.begin("s", &stage.body(), &[]).await;
        let mut body = response.into_body();
        let (mut pieces, mut bytes) = (0, 0);
        while let Some(piece) = body.piece().await {
            pieces += 1;
            bytes += piece.unwrap().len();
        }
        let events = stage.a.log().calls().next().unwrap().events;
        assert!(events > 400 && bytes > 20_000);
        assert!(pieces <= events / 10, "{way:?}: {events} events in {pieces} pieces");
    }
}
