use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::Dialect::{AnthropicMessages, OpenAiChat, OpenAiResponses};
use crate::testing;

#[expect(clippy::needless_pass_by_value, reason = "rows of tests read better without borrows")]
fn asked(dialect: Dialect, body: serde_json::Value) -> Request {
    read(dialect, &Bytes::from(body.to_string())).unwrap()
}

fn facts(dialect: Dialect, body: serde_json::Value) -> Facts {
    asked(dialect, body).facts
}

fn refused(body: &[u8]) -> String {
    read(OpenAiChat, &Bytes::copy_from_slice(body)).unwrap_err().to_string()
}

fn said(role: &str, content: &str) -> serde_json::Value {
    json!({ "role": role, "content": content })
}

#[test]
fn a_refusal_says_what_and_where() {
    let cases: [(&[u8], &str); 12] = [
        (b"", "the body is not JSON: unexpected end at line 1, column 1 (offset 0)"),
        (
            b"{\"model\":\"m\",\n \"messages\":[}",
            "the body is not JSON: unexpected `}` at line 2, column 14 (offset 27)",
        ),
        (
            b"{\"a\":secret}",
            "the body is not JSON: unexpected letter at line 1, column 6 (offset 5)",
        ),
        (b"{\"a\":\"\xff\"}", "the body is not UTF-8: the byte at offset 6 begins no character"),
        (b"[1]", "the body must be a JSON object, and is an array"),
        (
            b"{\"messages\":[]}",
            "`model` is missing; name a queue or a model, as `GET /v1/models` lists them",
        ),
        (b"{\"model\":7,\"messages\":[]}", "`model` must be a string, and is a number"),
        (b"{\"model\":null,\"messages\":[]}", "`model` must be a string, and is null"),
        (
            b"{\"model\":\"m\"}",
            "`messages` is missing; it holds the conversation, an array of messages",
        ),
        (b"{\"model\":\"m\",\"messages\":\"hi\"}", "`messages` must be an array, and is a string"),
        (
            b"{\"model\":\"m\",\"messages\":[],\"stream\":\"true\"}",
            "`stream` must be a boolean, and is a string",
        ),
        (
            b"{\"max_tokens\":[],\"model\":\"m\",\"messages\":[]}",
            "`max_tokens` must be a number, and is an array",
        ),
    ];
    for (body, want) in cases {
        assert_eq!(refused(body), want);
    }
    let deep = format!("{{\"model\":\"m\",\"messages\":{}", "[".repeat(200));
    assert_eq!(
        refused(deep.as_bytes()),
        "the body is nested more than 128 levels deep at offset 151"
    );
    let error = read(OpenAiResponses, &Bytes::from_static(b"{\"model\":\"m\"}")).unwrap_err();
    assert_eq!(error.param(), Some("input"));
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(body in prop::collection::vec(any::<u8>(), 0..64), json in testing::json()) {
        for dialect in Dialect::ALL {
            let _ = read(dialect, &Bytes::from(body.clone()));
            let whole = format!("{{\"model\":\"m\",\"messages\":[{json}],\"input\":[{json}],\"tools\":[{json}],\"metadata\":{json},\"system\":{json}}}");
            prop_assert!(read(dialect, &Bytes::from(whole)).is_ok());
            let steering = format!("{{\"model\":\"m\",\"messages\":[],\"input\":[],\"stream\":{json},\"tools\":{json},\"n\":{json}}}");
            let named = matches!(read(dialect, &Bytes::from(steering)), Ok(_) | Err(BodyError::WrongType { .. }));
            prop_assert!(named);
        }
    }
}

#[test]
fn what_is_asked_for_is_read_in_every_spelling() {
    let chat = facts(
        OpenAiChat,
        json!({
            "model": "q", "messages": [], "stream": true, "n": 3, "max_completion_tokens": 9,
            "stream_options": { "include_usage": true }, "reasoning_effort": "low",
            "tools": [{}, {}]
        }),
    );
    assert_eq!((chat.model.as_str(), chat.stream, chat.include_usage), ("q", true, true));
    assert_eq!((chat.choices, chat.max_tokens, chat.tools), (3, Some(9), 2));
    assert_eq!(chat.effort.as_deref(), Some("low"));

    for odd in [json!(1e30), json!(100.5), json!(-5)] {
        let body = json!({ "model": "q", "messages": [], "max_tokens": odd });
        assert_eq!(facts(OpenAiChat, body).max_tokens, Some(u64::MAX), "{odd} bounds nothing");
    }
    let bare = facts(OpenAiChat, json!({ "model": "q", "messages": [], "max_tokens": 8 }));
    assert_eq!((bare.stream, bare.include_usage, bare.max_tokens), (false, false, Some(8)));
    assert_eq!((bare.choices, bare.tools, bare.effort), (1, 0, None));

    let none = facts(OpenAiChat, json!({ "model": "q", "messages": [], "n": 0 }));
    assert_eq!(none.choices, 1);

    let thinking = |value| {
        let body = json!({ "model": "q", "messages": [], "thinking": value });
        facts(AnthropicMessages, body).thinking
    };
    assert_eq!(thinking(json!({ "type": "enabled", "budget_tokens": 5 })), Thinking::Budget(5));
    assert_eq!(thinking(json!({ "type": "adaptive" })), Thinking::Adaptive);
    assert_eq!(thinking(json!({ "type": "disabled" })), Thinking::Off);
    assert_eq!(thinking(json!(null)), Thinking::Unsaid);

    let body = json!({ "model": "q", "input": "x", "reasoning": { "effort": "high" }, "max_output_tokens": 7 });
    let responses = facts(OpenAiResponses, body);
    assert_eq!((responses.effort.as_deref(), responses.max_tokens), (Some("high"), Some(7)));
}

#[test]
fn r9_a_conversation_is_under_way_after_an_answer_or_a_tool_result() {
    let under_way = |dialect, turns| {
        facts(dialect, json!({ "model": "q", "messages": turns, "input": turns })).under_way
    };
    let user = said("user", "x");
    for dialect in Dialect::ALL {
        assert!(!under_way(dialect, json!([user])), "{dialect:?}");
        assert!(under_way(dialect, json!([user, said("assistant", "y")])), "{dialect:?}");
    }
    assert!(under_way(OpenAiChat, json!([user, { "role": "tool", "content": "z" }])));
    let result = json!([{ "role": "user", "content": [{ "type": "tool_result" }] }]);
    assert!(under_way(AnthropicMessages, result));
    for kind in ["function_call", "function_call_output", "reasoning"] {
        assert!(under_way(OpenAiResponses, json!([{ "type": kind }])), "{kind}");
    }
}

#[test]
fn r47_a_request_for_a_title_alone_is_told_from_other_schemas() {
    let schema = |properties| json!({ "type": "object", "properties": properties });
    let chat = |properties| {
        let format =
            json!({ "type": "json_schema", "json_schema": { "schema": schema(properties) } });
        facts(OpenAiChat, json!({ "model": "q", "messages": [], "response_format": format }))
            .title_only
    };
    assert!(chat(json!({ "title": {} })));
    assert!(!chat(json!({ "title": {}, "body": {} })));
    assert!(!chat(json!({ "name": {} })));
    let format =
        json!({ "format": { "type": "json_schema", "schema": schema(json!({ "title": {} })) } });
    let body = json!({ "model": "q", "messages": [], "output_config": format });
    assert!(facts(AnthropicMessages, body).title_only);
    let body = json!({ "model": "q", "input": "x", "text": format });
    assert!(facts(OpenAiResponses, body).title_only);
}

#[test]
fn g4_ids_are_read_from_every_place_that_clients_use() {
    let ids = |more: serde_json::Value| {
        let mut body = json!({ "model": "q", "messages": [] });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        facts(AnthropicMessages, body).ids
    };
    let session =
        |user_id: &str| ids(json!({ "metadata": { "user_id": user_id } })).metadata_session_id;
    assert_eq!(session(r#"{"device_id":"d","session_id":"s-1"}"#).as_deref(), Some("s-1"));
    assert_eq!(session("user_ab_account__session_0f-9").as_deref(), Some("0f-9"));
    assert_eq!(session("somebody"), None);
    assert_eq!(session("{broken"), None);
    let all = ids(json!({
        "user": "u", "safety_identifier": "si", "prompt_cache_key": "p",
        "client_metadata": { "session_id": "c" }, "metadata": { "user_id": "m" }
    }));
    assert_eq!(all.user.as_deref(), Some("u"));
    assert_eq!(all.safety_identifier.as_deref(), Some("si"));
    assert_eq!(all.prompt_cache_key.as_deref(), Some("p"));
    assert_eq!(all.client_session_id.as_deref(), Some("c"));
    assert_eq!(all.metadata_user_id.as_deref(), Some("m"));
    assert_eq!(ids(json!({ "user": "", "metadata": null })), Ids::default());
}

#[test]
fn g4_the_root_of_a_conversation_does_not_move() {
    let root = |day: &str, more: &str| {
        let system = format!("You are an agent.\nBe brief.\nToday's date: {day}\nFiles: {more}");
        let user =
            format!("<system-reminder>{more}\n</system-reminder>\n fix the bug <system-reminder>x");
        let body = json!({
            "model": "q",
            "system": [
                { "type": "text", "text": format!("x-anthropic-billing-header: {more}") },
                { "type": "text", "text": system }
            ],
            "messages": [
                { "role": "user", "content": [
                    { "type": "text", "text": format!("<system-reminder>{more}</system-reminder>") },
                    { "type": "text", "text": user } ] },
                said("assistant", more), said("user", more)
            ]
        });
        asked(AnthropicMessages, body).root()
    };
    let one = root("2026-11-29", "a");
    assert_eq!(one, root("2026-11-30", "b"));
    assert_eq!(one.system.as_deref(), Some("You are an agent.\nBe brief."));
    assert_eq!(one.user.as_deref(), Some("fix the bug"));
    assert!(!format!("{one:?}").contains("bug"));

    let body = json!({ "model": "q", "messages": [said("developer", "Hi"), said("user", "<system-reminder>x"), said("user", "go")] });
    let chat = asked(OpenAiChat, body).root();
    assert_eq!((chat.system.as_deref(), chat.user.as_deref()), (Some("Hi"), Some("go")));
    let body = json!({ "model": "q", "instructions": "I\n2026-01-02", "input": "go" });
    let responses = asked(OpenAiResponses, body).root();
    assert_eq!((responses.system.as_deref(), responses.user.as_deref()), (Some("I"), Some("go")));
    assert_eq!(asked(OpenAiChat, json!({ "model": "q", "messages": [] })).root(), Root::default());
}

#[test]
fn g4_lines_that_name_time_or_place_end_the_stable_text() {
    for line in [
        "Current date: Sunday",
        "The current time is noon",
        "Working directory: /home/a",
        "<env>",
        "# Environment",
        "cwd=/tmp",
        "Git status: clean",
        "logged at 12:34:56",
    ] {
        let text = format!("Be brief.\n{line}\nmore");
        let body = json!({ "model": "q", "messages": [said("system", &text)] });
        assert_eq!(asked(OpenAiChat, body).root().system.as_deref(), Some("Be brief."), "{line}");
    }
}

#[test]
fn r15_tokens_are_estimated_by_bytes_of_text_and_a_flat_rate_for_media() {
    let tokens = |content: serde_json::Value| {
        let facts = facts(
            AnthropicMessages,
            json!({ "model": "q", "messages": [{ "role": "user", "content": content }] }),
        );
        (facts.input_tokens, facts.media)
    };
    let (bare, _) = tokens(json!(""));
    assert!(bare < 8);
    assert_eq!(tokens(json!("a".repeat(4000))).0, bare + 1000);
    // 3 bytes a character, written as six: `\u6c49`.
    let escaped = format!(
        r#"{{"model":"q","messages":[{{"role":"user","content":"{}"}}]}}"#,
        "\\u6c49".repeat(4000)
    );
    let facts = read(AnthropicMessages, &Bytes::from(escaped)).unwrap().facts;
    assert_eq!(facts.input_tokens, bare + 3000);
    let picture =
        |data: String| json!([{ "type": "image", "source": { "type": "base64", "data": data } }]);
    let (small, media) = tokens(picture("x".repeat(10)));
    assert_eq!((media, tokens(picture("x".repeat(1_000_000))).0), (1, small));
    assert!((MEDIA_TOKENS..MEDIA_TOKENS + 30).contains(&small));
    let signed = |length: usize| json!([{ "type": "thinking", "thinking": "t", "signature": "s".repeat(length) }]);
    assert_eq!(tokens(signed(1)), tokens(signed(9000)));
}

#[test]
fn when_a_key_comes_twice_the_last_one_counts() {
    let body = Bytes::from_static(br#"{"model":"a","messages":3,"model":"b","messages":[]}"#);
    assert_eq!(read(OpenAiChat, &body).unwrap().facts.model, "b");
}
