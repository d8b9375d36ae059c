//! Tool calls that break off are never closed as valid (K2, R10, R13).

use super::stage::{Got, Setting, Stage, Trouble, Way};

const CALL: &str = "tool:read {\"path\": \"/tmp/par";
const COMPLETE: Setting = Setting { queue: "commit = \"complete\"", ..Setting::USUAL };

/// No word of the two dialects that has a client run the tool.
#[track_caller]
fn runs_no_tool(got: &Got) {
    for word in ["\"finish_reason\":\"tool_calls\"", "\"stop_reason\":\"tool_use\""] {
        assert!(!got.raw.contains(word), "{:?}: {}", got.way, got.raw);
    }
    assert!(!got.ended_well() && got.error().is_object(), "{got:?}");
}

/// A streamed answer with these events, and whether its connection is closed.
fn stream(events: &[&str]) -> Trouble {
    let mut text =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
            .to_owned();
    for event in events {
        text.push_str(event);
        text.push_str("\n\n");
    }
    Trouble::Says(text.leak())
}

const START: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"model\":\"m\",\"stop_reason\":null,\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}";
const BEGIN: &str = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"read\",\"input\":{}}}";
const PIECE: &str = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"path\\\":1}\"}}";
const USE: &str = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":5}}";
const STOP: &str = "event: message_stop\ndata: {\"type\":\"message_stop\"}";
const CHUNK: &str = "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"t\",\"type\":\"function\",\"function\":{\"name\":\"read\",\"arguments\":\"{\\\"path\\\":\"}}]},\"finish_reason\":null}]}";
const DONE: &str = "data: [DONE]";

#[tokio::test(start_paused = true)]
async fn k2_r13_a_torn_tool_call_that_was_let_through_ends_with_an_error() {
    for way in Way::STREAMS {
        let stage = Stage::of(way, CALL, "ok:never");
        let got = stage.ask().await;
        assert!(got.raw.contains("/tmp/p"), "{}", got.raw);
        runs_no_tool(&got);
        assert_eq!(stage.hits(), (1, 0), "R10: no second voice");
        let cut = stage.ask_as("t", &stage.body(), &[("user-agent", "opencode/1.18.33")]).await;
        assert!(cut.cut && !cut.raw.contains("\"tool_calls\"}"), "{cut:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn k2_r10_a_torn_tool_call_that_is_held_is_retried_and_failed_over() {
    for way in Way::STREAMS {
        let again = format!("{CALL}; ok:done");
        let stage = Stage::set(way, &again, "ok:never", &COMPLETE);
        stage.ask().await.is_whole("done");
        assert_eq!(stage.hits(), (2, 0));
        let stage = Stage::set(way, CALL, "ok:second", &COMPLETE);
        let got = stage.ask().await;
        got.is_whole("second");
        assert!(!got.raw.contains("/tmp/p"), "R16: {}", got.raw);
        assert_eq!(stage.hits(), (3, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn k2_r13_a_whole_answer_with_a_torn_tool_call_is_retried_and_failed_over() {
    let chat = r#"{"id":"c","choices":[{"index":0,"message":{"role":"assistant","tool_calls":[{"id":"t","type":"function","function":{"name":"read","arguments":"{\"path\":"}}]},"finish_reason":"tool_calls"}]}"#;
    let anthropic = r#"{"id":"m","type":"message","role":"assistant","content":[{"type":"tool_use","id":"t","name":"read","input":"{\"path\":"}],"stop_reason":"tool_use"}"#;
    for (way, body) in [(Way::ALL[1], chat), (Way::ALL[3], anthropic)] {
        let stage = Stage::of(way, "ok:unasked", "ok:second");
        stage.trouble("a", Some(Trouble::json(body, "application/json")));
        stage.ask().await.is_whole("second");
        assert_eq!(stage.ledger().len(), 4, "three times there, then the next");
    }
}

#[tokio::test(start_paused = true)]
async fn k2_r13_a_tool_call_without_a_reason_for_ending_is_torn_as_well() {
    for (way, events) in [
        (Way::CHAT, vec![CHUNK, DONE]),
        (Way::ANTHROPIC, vec![START, BEGIN, PIECE, STOP]),
        (Way::ANTHROPIC, vec![START, BEGIN, PIECE, USE, STOP]),
        (Way::ANTHROPIC, vec![START, BEGIN, PIECE, USE]),
    ] {
        for setting in [Setting::USUAL, COMPLETE] {
            let stage = Stage::set(way, "ok:unasked", "ok:second", &setting);
            stage.trouble("a", Some(stream(&events)));
            let got = stage.ask().await;
            if setting.queue.is_empty() {
                runs_no_tool(&got);
            } else {
                got.is_whole("second");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn k2_r10_half_an_event_in_which_nothing_stands_is_not_passed_on() {
    let text = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hm\"}}";
    for half in
        ["event: messag", "event: message_delta\ndata:", "event: message_delta\ndata: {\"ty"]
    {
        let stage = Stage::of(Way::ANTHROPIC, "ok:unasked", "ok:never");
        let body = format!("{START}\n\n{text}\n\n{half}");
        let length = body.len();
        let said: &'static str = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .leak();
        stage.trouble("a", Some(Trouble::Says(said)));
        let got = stage.ask().await;
        assert!(got.raw.contains("Hm") && got.error().is_object(), "{got:?}");
        assert!(!got.raw.contains(&format!("{half}\n\n")), "{half}: {}", got.raw);
    }
}

#[tokio::test(start_paused = true)]
async fn k2_r14_a_tool_call_that_the_token_limit_cut_goes_out_as_it_is() {
    for way in Way::STREAMS {
        for setting in [Setting::USUAL, COMPLETE] {
            let stage = Stage::set(way, &format!("{CALL} | length"), "ok:never", &setting);
            let got = stage.ask().await;
            assert!(got.ended_well() && got.raw.contains("/tmp/p"), "{got:?}");
            let told = ["\"length\"", "\"max_tokens\""];
            assert!(told.iter().any(|word| got.raw.contains(word)), "{}", got.raw);
            assert_eq!(stage.hits(), (1, 0));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn k2_r00_with_the_relay_off_a_torn_tool_call_is_no_end_either() {
    for way in Way::STREAMS {
        let off = Setting { queue: "enabled = false", ..Setting::USUAL };
        let stage = Stage::set(way, CALL, "ok:never", &off);
        runs_no_tool(&stage.ask().await);
        assert_eq!(stage.hits(), (1, 0));
    }
}
