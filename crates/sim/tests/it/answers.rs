//! Sound answers, in both dialects, streamed and whole.

use std::io::Read as _;

use ekiden_sim::{Answer, DEFAULT_TEXT, Script, Upstream};
use serde_json::json;

use crate::client::{Rig, Way, played, post};

#[tokio::test(start_paused = true)]
async fn an_answer_says_the_words_of_the_script() {
    for way in Way::ALL {
        let reply = played("ok:Grüße, 第一棒  done.\n", way).await;
        let said = reply.said(way);
        assert_eq!(reply.code, Some(200));
        assert!(reply.whole && said.ended, "{way:?}");
        assert_eq!(said.text, "Grüße, 第一棒  done.", "{way:?}");
        assert_eq!(said.finish.as_deref(), Some(if way.is_chat() { "stop" } else { "end_turn" }));
        // Four chunks of text: two spaces in a row make one of a space alone.
        assert_eq!(said.usage, Some(((way.body().to_string().len() as u64).div_ceil(4), 4)));
        assert_eq!((said.broken, said.error), (0, None));
        let kind =
            if way.streams() { "text/event-stream; charset=utf-8" } else { "application/json" };
        assert_eq!(reply.header("content-type"), Some(kind));
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_request_gets_the_same_bytes() {
    for way in Way::ALL {
        let act = "think:Hm. | tool:read {\"path\":\"a\"} | ok:Reading.";
        assert_eq!(played(act, way).await.body, played(act, way).await.body);
    }
}

#[tokio::test(start_paused = true)]
async fn a_chat_stream_has_the_chunks_of_its_grammar() {
    let reply = played("ok:Hello there", Way::ChatStream).await;
    let text = reply.text();
    let events: Vec<&str> = text.split_terminator("\n\n").collect();
    assert_eq!(events.len(), 6);
    let chunk = |index: usize| -> serde_json::Value {
        serde_json::from_str(events[index].strip_prefix("data: ").unwrap()).unwrap()
    };
    assert_eq!(chunk(0)["choices"][0]["delta"], json!({ "role": "assistant", "content": "" }));
    assert_eq!(chunk(1)["choices"][0]["delta"], json!({ "content": "Hello " }));
    assert_eq!(chunk(2)["choices"][0]["delta"], json!({ "content": "there" }));
    assert_eq!(chunk(3)["choices"][0]["finish_reason"], "stop");
    assert_eq!(chunk(3)["usage"], json!(null));
    assert_eq!(chunk(4)["choices"], json!([]));
    assert_eq!(chunk(4)["usage"]["completion_tokens"], 2);
    assert_eq!(events[5], "data: [DONE]");
    for index in 0..5 {
        assert_eq!(chunk(index)["id"], "chatcmpl-sim-000000");
        assert_eq!(chunk(index)["model"], "sim-a");
        assert_eq!(chunk(index)["object"], "chat.completion.chunk");
    }
}

#[tokio::test(start_paused = true)]
async fn a_chat_stream_has_a_usage_chunk_only_if_asked() {
    let mut body = Way::ChatStream.body();
    body["stream_options"] = json!(null);
    let reply = Rig::new("ok:Hello").send(&Way::ChatStream.request_of(&body)).await;
    assert!(!reply.text().contains("usage"));
    assert_eq!(reply.said(Way::ChatStream).text, "Hello");
}

#[tokio::test(start_paused = true)]
async fn a_messages_stream_has_the_events_of_its_grammar() {
    let reply = played("think:Hm. | ok:Hello | tool:read {}", Way::MessagesStream).await;
    let block = ["content_block_start", "content_block_delta", "content_block_stop"];
    let thinking =
        ["content_block_start", "content_block_delta", "content_block_delta", "content_block_stop"];
    let mut names = vec!["message_start", "ping"];
    names.extend(thinking);
    names.extend(block);
    names.extend(block);
    names.extend(["message_delta", "message_stop"]);
    assert_eq!(reply.said(Way::MessagesStream).names, names);
    assert!(reply.text().contains(r#""signature":"sim-signature-sim-a-000000""#));
    for index in 0..3 {
        assert!(reply.text().contains(&format!(r#""index":{index},"#)));
    }
}

#[tokio::test(start_paused = true)]
async fn reasoning_comes_before_the_text() {
    for way in Way::ALL {
        let reply = played("think:Let me see. | ok:Yes.", way).await;
        let said = reply.said(way);
        assert_eq!((said.thinking.as_str(), said.text.as_str()), ("Let me see.", "Yes."));
        assert!(!way.streams() || reply.text().find("Let ") < reply.text().find("Yes."));
    }
}

#[tokio::test(start_paused = true)]
async fn tool_calls_keep_their_arguments() {
    let arguments = r#"{"path":"小/a.txt","depth":12345678901234567890}"#;
    for way in Way::ALL {
        let answer = Answer::tool("read", arguments).and_tool("list", "{}");
        let mut rig = Rig::of(Upstream::new(Script::always(answer)));
        let said = rig.ask(way).await.said(way);
        assert_eq!(said.text, "");
        let names: Vec<&str> = said.tools.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["read", "list"], "{way:?}");
        if way == Way::MessagesWhole {
            assert!(said.tools[0].1.contains("小/a.txt"));
        } else {
            assert_eq!(said.tools[0].1, arguments);
        }
        assert_eq!(said.tools[1].1, "{}");
        let finish = if way.is_chat() { "tool_calls" } else { "tool_use" };
        assert_eq!(said.finish.as_deref(), Some(finish));
    }
}

#[tokio::test(start_paused = true)]
async fn answers_end_as_the_script_says() {
    for way in Way::ALL {
        let pick = |chat: &'static str, messages| if way.is_chat() { chat } else { messages };
        let truncated = played("length", way).await.said(way);
        assert_eq!(truncated.finish.as_deref(), Some(pick("length", "max_tokens")));
        assert_eq!(truncated.text, DEFAULT_TEXT);
        assert!(truncated.ended);
        let filtered = played("filtered | ok:I", way).await.said(way);
        assert_eq!(filtered.finish.as_deref(), Some(pick("content_filter", "refusal")));
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_answer_is_whole_and_says_nothing() {
    for way in Way::ALL {
        let reply = played("empty", way).await;
        let said = reply.said(way);
        assert!(reply.whole && said.ended && said.finish.is_some(), "{way:?}");
        assert_eq!((said.text.as_str(), said.tools.len(), said.broken), ("", 0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn usage_is_counted_given_or_missing() {
    for way in Way::ALL {
        assert_eq!(played("usage:12/34", way).await.said(way).usage, Some((12, 34)), "{way:?}");
        let reply = played("no-usage", way).await;
        let said = reply.said(way);
        assert_eq!((said.usage, said.text.as_str(), said.ended), (None, DEFAULT_TEXT, true));
        assert!(!reply.text().contains("output_tokens"));
        assert!(!reply.text().contains("completion_tokens"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_huge_answer_is_one_event() {
    for way in Way::ALL {
        let reply = played("huge:1000000", way).await;
        assert_eq!(reply.said(way).text.len(), 1_000_000);
        let longest = reply.text().split("\n\n").map(str::len).max();
        assert!(longest.is_some_and(|length| length > 1_000_000), "{way:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_coded_body_decodes_to_the_plain_one() {
    for way in Way::ALL {
        let plain = played("think:Hm. | ok:One two", way).await;
        let coded = played("think:Hm. | ok:One two | gzip", way).await;
        assert_eq!(coded.header("content-encoding"), Some("gzip"));
        let mut text = String::new();
        flate2::read::GzDecoder::new(&coded.body[..]).read_to_string(&mut text).unwrap();
        assert_eq!(text, plain.text(), "{way:?}");
        assert!(coded.whole);
    }
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_ends_with_the_assistant_is_refused_if_the_script_says_so() {
    for way in Way::ALL {
        let mut body = way.body();
        body["messages"] = json!([
            { "role": "user", "content": "hi" }, { "role": "assistant", "content": "Well" },
        ]);
        let mut rig = Rig::new("no-prefill | ok:Fine");
        let refused = rig.send(&way.request_of(&body)).await;
        assert_eq!(refused.code, Some(400));
        assert!(refused.text().contains("prefill"));
        assert_eq!(rig.ask(way).await.said(way).text, "Fine");
        rig.upstream.script("ok:Fine".parse().unwrap());
        assert_eq!(rig.send(&way.request_of(&body)).await.said(way).text, "Fine");
    }
}

#[tokio::test(start_paused = true)]
async fn models_are_listed_and_tokens_counted_outside_the_script() {
    let mut rig = Rig::new("500");
    rig.upstream.script_for("small", "ok".parse().unwrap());
    rig.upstream.script_for("large", "ok".parse().unwrap());
    let list = rig.send(b"GET /v1/models?limit=1000 HTTP/1.1\r\nhost: sim\r\n\r\n").await.json();
    assert_eq!(list["data"][0]["id"], "small");
    assert_eq!(list["data"][1]["object"], "model");
    assert_eq!(list["last_id"], "large");
    rig.upstream.list_models(["only"]);
    let list = rig.send(b"GET /v1/models HTTP/1.1\r\nhost: sim\r\n\r\n").await.json();
    assert_eq!(list["data"].as_array().map(Vec::len), Some(1));
    let counted = rig.send(&post("/v1/messages/count_tokens", r#"{"model":"small"}"#)).await;
    assert_eq!(counted.json(), json!({ "input_tokens": 5 }));
    assert_eq!(rig.send(b"GET /nowhere HTTP/1.1\r\n\r\n").await.code, Some(404));
    assert_eq!(rig.upstream.log().calls().count(), 0);
    assert_eq!(rig.ask(Way::ChatWhole).await.code, Some(500));
}
