use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::Dialect::{self, AnthropicMessages, OpenAiChat, OpenAiResponses};
use crate::sse;
use crate::stream::{Beat, Reader};

fn body(reply: &Reply) -> Value {
    assert_eq!(reply.header("content-type"), Some("application/json"));
    serde_json::from_slice(&reply.body).unwrap()
}

#[test]
fn r15_overflow_is_told_in_the_words_that_each_client_compacts_on() {
    for dialect in [OpenAiChat, OpenAiResponses] {
        let reply = context_overflow(dialect, Some(130_000), Some(128_000));
        assert_eq!(reply.status, 400);
        assert_eq!(
            reply.body,
            r#"{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#
        );
    }
    let reply = context_overflow(AnthropicMessages, Some(210_000), Some(200_000));
    assert_eq!(reply.status, 400);
    assert_eq!(
        reply.body,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#
    );
}

#[test]
fn r15_overflow_without_numbers_keeps_the_words_and_invents_none() {
    for (tokens, window) in [(None, None), (Some(9), None), (None, Some(8))] {
        let chat = body(&context_overflow(OpenAiChat, tokens, window));
        let message = chat["error"]["message"].as_str().unwrap();
        assert!(message.contains("maximum context length"), "{message}");
        assert!(message.contains("reduce the length of the messages"), "{message}");
        assert_eq!(message.contains('9'), tokens.is_some());
        assert_eq!(message.contains('8'), window.is_some());
        let anthropic = body(&context_overflow(AnthropicMessages, tokens, window));
        assert_eq!(anthropic["error"]["message"], "prompt is too long");
    }
}

#[test]
fn r1_an_unknown_model_is_404_by_its_own_code() {
    let reply = unknown_model(OpenAiChat, "There is no `gpt-9\"`.");
    let error = &body(&reply)["error"];
    assert_eq!((reply.status, &error["code"]), (404, &json!("model_not_found")));
    assert_eq!(error["message"], "There is no `gpt-9\"`.");
    let reply = unknown_model(AnthropicMessages, "没有 `x`。");
    let body = body(&reply);
    assert_eq!(
        (&body["type"], &body["error"]["type"]),
        (&json!("error"), &json!("not_found_error"))
    );
    assert_eq!(body["error"]["message"], "没有 `x`。");
}

#[test]
fn r5_a_wait_is_told_within_1_to_60_seconds() {
    for dialect in Dialect::ALL {
        for (asked, told) in [(0, "1"), (1, "1"), (42, "42"), (60, "60"), (90_000, "60")] {
            let reply = retry_later(dialect, "busy", asked);
            assert_eq!((reply.status, reply.header("retry-after")), (429, Some(told)));
        }
    }
    let error = body(&retry_later(AnthropicMessages, "busy", 3))["error"].clone();
    assert_eq!(error, json!({ "type": "rate_limit_error", "message": "busy" }));
}

#[test]
fn r45_do_not_retry_has_the_form_that_stops_each_client() {
    for (dialect, status) in [(OpenAiChat, 429), (OpenAiResponses, 429), (AnthropicMessages, 529)] {
        let reply = do_not_retry(dialect, "all out");
        assert_eq!((reply.status, reply.header("x-should-retry")), (status, Some("false")));
        assert_eq!(reply.header("retry-after"), None, "Codex stops only without it");
        let body = body(&reply);
        match dialect {
            OpenAiChat | OpenAiResponses => {
                assert_eq!(body["error"]["code"], "insufficient_quota");
                assert_eq!(body["error"]["type"], "insufficient_quota");
            }
            AnthropicMessages => assert_eq!(body["error"]["type"], "overloaded_error"),
        }
    }
}

#[test]
fn p05_a_stopped_call_is_called_that_and_is_not_repeated() {
    for (dialect, status) in [(OpenAiChat, 499), (OpenAiResponses, 400), (AnthropicMessages, 499)] {
        let reply = stopped(dialect, "Somebody stopped this call.");
        assert_eq!((reply.status, reply.header("x-should-retry")), (status, Some("false")));
        assert_eq!(reply.header("retry-after"), None);
        let error = match dialect {
            OpenAiChat | OpenAiResponses => json!({
                "message": "Somebody stopped this call.", "type": "call_stopped", "param": null,
                "code": "call_stopped",
            }),
            AnthropicMessages => {
                json!({ "type": "call_stopped", "message": "Somebody stopped this call." })
            }
        };
        assert_eq!(body(&reply)["error"], error);
    }
}

const FAULTS: [StreamFault; 6] = [
    StreamFault::Broken,
    StreamFault::Overloaded,
    StreamFault::Exhausted,
    StreamFault::InvalidRequest,
    StreamFault::ContextOverflow { tokens: Some(2), window: Some(1) },
    StreamFault::Stopped,
];

#[test]
fn r10_an_error_in_a_stream_is_one_event_and_no_normal_end() {
    for dialect in Dialect::ALL {
        for fault in FAULTS {
            let bytes = error_event(dialect, fault, "it \"broke\"\nhere", Some("resp_7"));
            let mut events = sse::Reader::new();
            events.push(bytes.clone());
            let event = events.next_event().unwrap().unwrap();
            assert_eq!(events.held_bytes(), 0);
            let mut reader = Reader::new(dialect);
            assert!(matches!(reader.read(&event), Beat::Error(_)), "{bytes:?}");
            assert!(!reader.is_complete());
        }
    }
    let text = |dialect, fault| {
        String::from_utf8(error_event(dialect, fault, "m", Some("resp_7")).to_vec()).unwrap()
    };
    assert_eq!(
        text(OpenAiChat, StreamFault::Broken),
        "data: {\"error\":{\"message\":\"m\",\"type\":\"server_error\",\"param\":null,\"code\":\"server_error\"}}\n\n"
    );
    assert_eq!(
        text(AnthropicMessages, StreamFault::Overloaded),
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"m\"}}\n\n"
    );
    let failed = text(OpenAiResponses, FAULTS[4]);
    assert!(failed.starts_with("event: response.failed\ndata: {\"type\":\"response.failed\""));
    assert!(failed.contains("\"id\":\"resp_7\"") && failed.contains("\"context_length_exceeded\""));
    assert!(text(OpenAiResponses, StreamFault::Broken).contains("\"code\":\"server_error\""));
    assert!(text(OpenAiResponses, StreamFault::Exhausted).contains("\"insufficient_quota\""));
    assert!(text(OpenAiResponses, StreamFault::Stopped).contains("\"invalid_prompt\""));
    assert_eq!(
        text(AnthropicMessages, StreamFault::Stopped),
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"call_stopped\",\"message\":\"m\"}}\n\n"
    );
}

#[test]
fn g2_keep_alives_are_wire_to_every_reader() {
    for dialect in Dialect::ALL {
        let event = sse::Event::parse(keep_alive(dialect));
        assert_eq!(Reader::new(dialect).read(&event), Beat::Wire);
    }
    assert_eq!(keep_alive(OpenAiChat), ": keep-alive\n\n");
    assert_eq!(keep_alive(AnthropicMessages), "event: ping\ndata: {\"type\":\"ping\"}\n\n");
    let mut reader = Reader::new(OpenAiResponses);
    let created = sse::Event::parse(responses_created("resp_1", "m", 7));
    assert_eq!(reader.read(&created), Beat::Wire);
    assert_eq!(reader.answer().id.as_deref(), Some("resp_1"));
}

#[test]
fn g1_a_model_list_serves_both_shapes() {
    let entries = [
        ModelEntry {
            id: "default", name: "默认模板", created_s: 1_764_459_000, window: Some(9)
        },
        ModelEntry { id: "b", name: "B", created_s: 0, window: None },
    ];
    let list = body(&model_list(&entries));
    assert_eq!(
        list["data"][0],
        json!({
            "id": "default", "object": "model", "type": "model", "display_name": "默认模板",
            "created": 1_764_459_000, "created_at": "2025-11-29T23:30:00Z", "owned_by": "ekiden",
            "context_length": 9
        })
    );
    assert_eq!(list["object"], "list");
    assert_eq!((&list["first_id"], &list["last_id"]), (&json!("default"), &json!("b")));
    assert_eq!(
        (&list["has_more"], &list["data"][1]["created_at"]),
        (&json!(false), &json!("1970-01-01T00:00:00Z"))
    );
    assert_eq!(body(&model(&entries[0])), list["data"][0]);
    assert_eq!(body(&model_list(&[]))["first_id"], Value::Null);
    assert_eq!(body(&count_tokens(12)), json!({ "input_tokens": 12 }));
}

#[test]
fn leap_days_are_days() {
    for (second, want) in [
        (951_782_400, "2000-02-29T00:00:00Z"),
        (1_709_251_199, "2024-02-29T23:59:59Z"),
        (4_107_542_400, "2100-03-01T00:00:00Z"),
    ] {
        let entry = ModelEntry { id: "a", name: "a", created_s: second, window: None };
        assert_eq!(body(&model(&entry))["created_at"], want);
    }
}

#[test]
fn every_fault_has_its_status_in_every_dialect() {
    for (fault, status) in [
        (Fault::InvalidRequest, 400),
        (Fault::Unauthorized, 401),
        (Fault::Forbidden, 403),
        (Fault::NotFound, 404),
        (Fault::MethodNotAllowed, 405),
        (Fault::TooLarge, 413),
        (Fault::UnsupportedMedia, 415),
        (Fault::UpgradeRequired, 426),
        (Fault::RateLimited, 429),
        (Fault::Internal, 500),
        (Fault::BadGateway, 502),
        (Fault::Unavailable, 503),
        (Fault::Timeout, 504),
    ] {
        for dialect in Dialect::ALL {
            let reply = error(dialect, fault, "why", Some("model"));
            assert_eq!((reply.status, &body(&reply)["error"]["message"]), (status, &json!("why")));
        }
    }
    assert_eq!(not_found(OpenAiChat, "no such path").status, 404);
}

proptest! {
    #[test]
    fn any_message_is_escaped(message in any::<String>()) {
        for dialect in Dialect::ALL {
            prop_assert_eq!(&body(&error(dialect, Fault::Internal, &message, None))["error"]["message"], &json!(message));
            let event = error_event(dialect, StreamFault::Broken, &message, Some(&message));
            prop_assert_eq!(memchr::memchr_iter(b'\n', &event).count(), if dialect == OpenAiChat { 2 } else { 3 });
        }
    }
}
