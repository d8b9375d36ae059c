//! What of an upstream's answer is changed before a client sees it: a key that it repeats, and the
//! clothes of JSON. Loops through other gateways.

use std::time::Duration;

use super::stage::{Setting, Stage, Trouble, Way};

const KEY: &str = "key-of-a-000000";

#[tokio::test(start_paused = true)]
async fn g07_the_providers_key_never_reaches_a_client_in_an_error() {
    let off = Setting { queue: "enabled = false", ..Setting::USUAL };
    let none = Setting { queue: "policy = \"none\"", ..Setting::USUAL };
    for way in Way::ALL {
        for (status, setting) in [
            ("400", &Setting::USUAL),
            ("422", &Setting::USUAL),
            ("418", &Setting::USUAL),
            ("401", &off),
            ("401", &none),
        ] {
            let body = |key: &str| {
                format!(
                    "{{\"error\":{{\"message\":\"We could not parse the JSON body of your request: \
                     Bearer {key}, {key}.\",\"type\":\"invalid_request_error\"}}}}"
                )
            };
            let stage = Stage::set(way, &format!("{status} | body:{}", body(KEY)), status, setting);
            let got = stage.ask().await;
            assert_eq!(got.raw, body("***"), "{way:?} {status} {:?}", setting.queue);
            let unchanged = body("key-of-a-000001");
            let stage = Stage::set(way, &format!("{status} | body:{unchanged}"), status, setting);
            assert_eq!(stage.ask().await.raw, unchanged, "byte for byte");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn g07_the_providers_key_never_reaches_a_client_in_a_header_or_an_event() {
    let body = format!("{{\"error\":{{\"message\":\"could not parse the JSON body: {KEY}\"}}}}");
    for way in Way::ALL {
        let stage = Stage::of(way, "ok:unasked", "ok:never");
        let headers = format!("application/json\r\nx-request-id: of-{KEY}");
        stage.trouble("a", Some(Trouble::answer("400 Bad Request", &headers, &body)));
        let got = stage.ask().await;
        assert_eq!(got.header("x-request-id"), "of-***", "{got:?}");
        assert!(!got.raw.contains(KEY), "{got:?}");
    }
    for way in Way::STREAMS {
        // Keep-alives have begun the stream, so that the error is an event.
        let body = body.replace(KEY, "key-of-b-000000");
        let stage = Stage::of(way, "hang", &format!("400 | body:{body}"));
        let got = stage.ask().await;
        assert!(got.error().is_object() && !got.raw.contains("key-of-"), "{got:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn r06_a_loop_through_another_gateway_is_told_as_one_and_nobody_is_judged() {
    let message = "This call has already been here: a provider of this gateway leads back to it.";
    let body = format!("{{\"type\":\"error\",\"error\":{{\"message\":\"{message}\"}}}}");
    for way in Way::ALL {
        let script = format!("508 | header:x-should-retry=false | body:{body}");
        let stage = Stage::of(way, &script, "ok:never");
        let got = stage.ask().await;
        assert_eq!((got.status, got.raw.as_str()), (508, body.as_str()));
        assert_eq!(got.header("x-should-retry"), "false");
        assert_eq!(stage.hits(), (1, 0));
        stage.ask().await;
        assert_eq!(stage.hits(), (2, 0), "nobody is out");
        // Any other 508 is a server's trouble.
        let stage = Stage::of(way, "508", "ok:second");
        stage.ask().await.is_whole("second");
    }
}

#[tokio::test(start_paused = true)]
async fn g01_a_whole_answer_is_json_in_name_and_without_a_mark_before_it() {
    let chat = r#"{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#;
    let anthropic = r#"{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}"#;
    for (way, body) in [(Way::ALL[1], chat), (Way::ALL[3], anthropic)] {
        for (mark, kind, wanted) in [
            ("", "text/event-stream", "application/json"),
            ("\u{feff}", "application/json; charset=utf-8", "application/json; charset=utf-8"),
            ("\u{feff}", "text/plain", "application/json"),
        ] {
            let stage = Stage::of(way, "ok:unasked", "ok:never");
            stage.trouble("a", Some(Trouble::json(&format!("{mark}{body}"), kind)));
            let got = stage.ask().await;
            assert_eq!((got.raw.as_str(), got.header("content-type")), (body, wanted));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn r13_after_the_finish_reason_the_end_is_not_waited_for_long() {
    let chat = "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\n";
    let usage = "data: {\"id\":\"c\",\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1,\"total_tokens\":2}}\n\n";
    let both = format!("{chat}{usage}");
    let anthropic = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"model\":\"m\"}}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hi\"}}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n";
    let unasked = Setting { providers: "stream_usage = false", ..Setting::USUAL };
    for (way, events, setting, ms) in [
        (Way::CHAT, chat, &Setting::USUAL, 1_000),
        (Way::CHAT, &*both, &Setting::USUAL, 250),
        (Way::CHAT, chat, &unasked, 250),
        (Way::ANTHROPIC, anthropic, &Setting::USUAL, 250),
    ] {
        let stage = Stage::set(way, "ok:unasked", "ok:never", setting);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        stage.trouble("a", Some(Trouble::Says(format!("{head}{events}").leak())));
        let got = stage.ask().await;
        got.is_whole("hi");
        let (least, most) = (Duration::from_millis(ms), Duration::from_millis(ms + 50));
        assert!((least..most).contains(&got.took), "{way:?} {ms}: {:?}", got.took);
    }
}

#[tokio::test(start_paused = true)]
async fn g05_a_head_that_goes_out_early_names_neither_candidate_nor_attempts() {
    for way in Way::STREAMS {
        let stage = Stage::of(way, "hang", "ok:second");
        let got = stage.ask().await;
        got.is_whole("second");
        assert!(got.headers.contains_key("x-ekiden-call"), "{got:?}");
        for name in ["x-ekiden-attempts", "x-ekiden-candidate"] {
            assert!(!got.headers.contains_key(name), "{got:?}");
        }
    }
}
