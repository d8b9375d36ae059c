use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::Dialect::{self, AnthropicMessages, OpenAiChat, OpenAiResponses};
use crate::request;
use crate::testing;

fn spliced(dialect: Dialect, body: &str, edits: &Edits<'_>) -> String {
    let body = Bytes::copy_from_slice(body.as_bytes());
    let request = request::read(dialect, &body).unwrap();
    let out = splice(&request, edits);
    let all = out.to_bytes();
    assert_eq!(out.len(), all.len());
    assert_eq!(out.pieces().map(Bytes::len).sum::<usize>(), all.len());
    String::from_utf8(all.to_vec()).unwrap()
}

fn value(dialect: Dialect, body: &Value, edits: &Edits<'_>) -> Value {
    let out = spliced(dialect, &body.to_string(), edits);
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{out}: {error}"))
}

#[expect(clippy::needless_pass_by_value, reason = "rows of tests read better without borrows")]
fn chat(more: Value) -> Value {
    let mut body = json!({ "model": "q", "messages": [{ "role": "user", "content": "hi" }] });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

/// Members before and after the model, as text.
fn members() -> impl Strategy<Value = String> {
    let member = (testing::blanks(), testing::string(), testing::json(), testing::blanks())
        .prop_filter("not a member that is read", |(_, key, _, _)| {
            let read = ["\"model\"", "\"messages\"", "\"n\"", "\"tools\"", "\"stream\""];
            !read.contains(&key.as_str())
        })
        .prop_map(|(a, key, value, b)| format!("{a}{key}:{value}{b}"));
    prop::collection::vec(member, 0..4).prop_map(|members| members.join(","))
}

fn joined(parts: &[&str]) -> String {
    parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(",")
}

proptest! {
    #[test]
    fn g1_with_another_model_every_other_byte_stays(before in members(), after in members(), turns in prop::collection::vec(testing::json(), 0..4)) {
        let messages = format!("\"messages\" : [{}]", turns.join(" ,"));
        let body = |model: &str| {
            format!(" {{{}}} ", joined(&[&before, &format!("\"model\":{model}"), &messages, &after]))
        };
        for dialect in [OpenAiChat, AnthropicMessages] {
            let out = spliced(dialect, &body("\"queue\""), &Edits { model: Some("a\"b"), ..Edits::default() });
            prop_assert_eq!(&out, &body("\"a\\\"b\""));
            prop_assert_eq!(spliced(dialect, &body("\"queue\""), &Edits::default()), body("\"queue\""));
        }
    }

    #[test]
    fn any_edits_leave_json(body in conversation(), edits in any_edits()) {
        for dialect in [OpenAiChat, AnthropicMessages] {
            let out = spliced(dialect, &body, &edits);
            let value: Value = serde_json::from_str(&out).map_err(|error| TestCaseError::fail(format!("{out}: {error}")))?;
            prop_assert_eq!(&value["model"], "m");
            prop_assert_eq!(value["messages"].as_array().unwrap().last().unwrap(), &json!({"role":"user","content":"继续"}));
            let again = spliced(dialect, &out, &Edits { append: None, ..edits.clone() });
            prop_assert_eq!(again, out, "edits that were made have nothing left to do");
        }
    }
}

/// Edits that are due only where a turn of that kind stands.
#[test]
fn g6_no_spelling_of_a_role_or_a_block_hides_it_from_the_edits() {
    let edits = Edits {
        thinking_blocks: ThinkingBlocks::Strip,
        drop_reasoning_content: true,
        system_turns_as_user: true,
        developer_as_system: true,
        ..Edits::default()
    };
    let turn = |turn: &str| format!(r#"{{"model":"q","messages":[{{}},{turn}]}}"#);
    let twice = |turn: &str| format!(r#"{{"messages":[{turn}],"model":"q","messages":[]}}"#);
    let thought = r#"{"role":"assistant","content":[{"\u0074ype":"th\u0069nking","thinking":"x"},{"type":"text","text":"a"}]}"#;
    for (dialect, written) in [
        (OpenAiChat, r#"{"r\u006fle":"develo\u0070er","content":"d"}"#),
        (OpenAiChat, r#"{"reasoning_content":"r","role":"assist\u0061nt"}"#),
        (AnthropicMessages, r#"{"role":"syst\u0065m","content":"s"}"#),
        (AnthropicMessages, thought),
    ] {
        let body = turn(written);
        assert_ne!(spliced(dialect, &body, &edits), body, "{written}");
        // Of a conversation that comes twice the last counts.
        let body = twice(written);
        assert_eq!(spliced(dialect, &body, &edits), body, "{written}");
    }
}

fn conversation() -> impl Strategy<Value = String> {
    let block = prop_oneof![
        Just(json!({"type":"thinking","thinking":"t","signature":"mine"})),
        Just(json!({"type":"thinking","thinking":"t","signature":"other"})),
        Just(json!({"type":"redacted_thinking","data":"x"})),
        Just(json!({"type":"text","text":"hello"})),
        Just(json!({"type":"tool_use","id":"1","name":"n","input":{}})),
        Just(json!({"type":"tool_result","tool_use_id":"1"})),
    ];
    let turn = (
        prop::sample::select(vec!["user", "assistant", "system", "developer", "tool"]),
        prop::collection::vec(block, 0..4),
        any::<bool>(),
    )
        .prop_map(|(role, content, reasons)| {
            let mut turn = json!({ "role": role, "content": content });
            if reasons {
                turn["reasoning_content"] = json!("r");
            }
            turn
        });
    let extra = prop::sample::subsequence(
        vec![
            ("max_tokens", json!(9000)),
            ("max_completion_tokens", json!(9000)),
            ("stream", json!(true)),
            ("stream_options", json!({})),
            ("output_config", json!({"effort": "low", "format": null})),
            ("reasoning_effort", json!("low")),
            ("thinking", json!({"type":"enabled","budget_tokens":8000})),
            ("store", json!(false)),
            ("tools", json!([{"name":"t","defer_loading":true,"function":{"strict":true}}])),
        ],
        0..9,
    );
    (prop::collection::vec(turn, 0..6), extra).prop_map(|(turns, extra)| {
        let mut body = json!({ "model": "q", "messages": turns });
        for (name, member) in extra {
            body[name] = member;
        }
        body.to_string()
    })
}

fn any_edits() -> impl Strategy<Value = Edits<'static>> {
    let flags = prop::collection::vec(any::<bool>(), 8);
    (flags, prop::option::of(1_u64..10_000), 0..3_usize).prop_map(|(flags, cap, pick)| Edits {
        model: Some("m"),
        max_tokens_cap: cap,
        max_tokens_name: [
            MaxTokensName::AsWritten,
            MaxTokensName::MaxTokens,
            MaxTokensName::MaxCompletionTokens,
        ][pick],
        effort: [Effort::AsWritten, Effort::Set("high"), Effort::Remove][pick],
        thinking: if flags[0] { ThinkingMode::Remove } else { ThinkingMode::AsWritten },
        ask_usage: flags[1],
        append: Some(Append { times: 2, text: "继续" }),
        drop_members: if flags[2] { &["store", "output_config", "model"] } else { &[] },
        drop_tool_members: if flags[3] { &["defer_loading", "strict"] } else { &[] },
        thinking_blocks: if flags[4] {
            ThinkingBlocks::KeepIf(&|mark: &str| mark == "mine")
        } else {
            ThinkingBlocks::Keep
        },
        drop_reasoning_content: flags[5],
        system_turns_as_user: flags[6],
        developer_as_system: flags[7],
    })
}

#[test]
fn a_spliced_body_shares_the_original() {
    let long = "x".repeat(4096);
    let body = Bytes::from(chat(json!({ "zz": long })).to_string());
    let request = request::read(OpenAiChat, &body).unwrap();
    let out = splice(&request, &Edits { model: Some("m"), ..Edits::default() });
    let shared = |piece: &Bytes| body.as_ptr_range().contains(&piece.as_ptr());
    assert_eq!(out.pieces().filter(|piece| shared(piece)).count(), 2);
    assert_eq!(out.pieces().filter(|piece| !shared(piece)).map(Bytes::len).sum::<usize>(), 3);
}

#[test]
fn debug_prints_hold_no_prompt() {
    let body = Bytes::from(chat(json!({ "zz": "secret words" })).to_string());
    let request = request::read(OpenAiChat, &body).unwrap();
    let event = crate::sse::Event::parse(Bytes::from_static(b"data: secret words\n\n"));
    let mut reader = crate::sse::Reader::new();
    reader.push(Bytes::from_static(b"data: secret words"));
    let printed =
        format!("{request:?} {:?} {event:?} {reader:?}", splice(&request, &Edits::default()));
    assert!(!printed.contains("secret"), "{printed}");
}

#[test]
fn both_of_two_equal_keys_are_changed() {
    let edits = Edits { model: Some("m"), ..Edits::default() };
    let body = r#"{"model":"a","messages":[],"mod\u0065l":"b"}"#;
    let out = spliced(OpenAiChat, body, &edits);
    assert_eq!(out, r#"{"model":"m","messages":[],"mod\u0065l":"m"}"#);
}

#[test]
fn r9_n_user_messages_follow_and_none_of_the_others_changes() {
    let edits = Edits { append: Some(Append { times: 2, text: "go\non" }), ..Edits::default() };
    let added = r#"{"role":"user","content":"go\non"},{"role":"user","content":"go\non"}"#;
    for dialect in [OpenAiChat, AnthropicMessages] {
        for (turns, comma) in [("", ""), (r#"{"role":"user","content": "a"} "#, ",")] {
            let out = spliced(dialect, &format!(r#"{{"messages":[{turns}],"model":"q"}}"#), &edits);
            let want = format!(r#"{{"messages":[{}{comma}{added}"#, turns.trim_end());
            assert!(out.starts_with(&want), "{out}");
            serde_json::from_str::<Value>(&out).unwrap();
        }
    }
    let out = value(OpenAiResponses, &json!({ "model": "q", "input": "hi" }), &edits);
    assert_eq!(out["input"][0], json!({ "role": "user", "content": "hi" }));
    assert_eq!(out["input"].as_array().unwrap().len(), 3);
}

#[test]
fn the_output_limit_is_lowered_and_never_raised() {
    let cap = |cap| Edits { max_tokens_cap: Some(cap), ..Edits::default() };
    for name in ["max_tokens", "max_completion_tokens"] {
        for (asked, want) in [("32000", "8192"), ("100", "100"), ("1e400", "8192"), ("9e3", "8192")]
        {
            let body = format!(r#"{{"model":"q","messages":[],"{name}":{asked}}}"#);
            let out = spliced(OpenAiChat, &body, &cap(8192));
            assert_eq!(out, body.replace(asked, want));
        }
    }
    assert_eq!(value(OpenAiChat, &chat(json!({})), &cap(5)), chat(json!({})));
    let asked = json!({ "model": "q", "input": "hi", "max_output_tokens": 9 });
    assert_eq!(value(OpenAiResponses, &asked, &cap(5))["max_output_tokens"], 5);
}

#[test]
fn the_thinking_budget_stays_below_a_lowered_limit() {
    let asked = chat(json!({
        "max_tokens": 32000, "thinking": { "type": "enabled", "budget_tokens": 10000 }
    }));
    let budget = |cap| {
        let edits = Edits { max_tokens_cap: Some(cap), ..Edits::default() };
        value(AnthropicMessages, &asked, &edits)["thinking"]["budget_tokens"].as_u64()
    };
    assert_eq!(budget(64000), Some(10000));
    assert_eq!(budget(16000), Some(10000));
    assert_eq!(budget(8000), Some(6000));
    assert_eq!(budget(1000), None);
}

#[test]
fn the_output_limit_takes_the_name_that_the_candidate_knows() {
    let named = |name| Edits { max_tokens_name: name, ..Edits::default() };
    let old = chat(json!({ "max_tokens": 7 }));
    let new = chat(json!({ "max_completion_tokens": 7 }));
    let both = chat(json!({ "max_tokens": 7, "max_completion_tokens": 9 }));
    assert_eq!(value(OpenAiChat, &old, &named(MaxTokensName::MaxCompletionTokens)), new);
    assert_eq!(value(OpenAiChat, &new, &named(MaxTokensName::MaxTokens)), old);
    assert_eq!(value(OpenAiChat, &both, &named(MaxTokensName::MaxTokens)), old);
    let out = spliced(OpenAiChat, &both.to_string(), &named(MaxTokensName::MaxTokens));
    assert_eq!(out.matches("tokens").count(), 1, "{out}");
    assert_eq!(value(AnthropicMessages, &old, &named(MaxTokensName::MaxCompletionTokens)), old);
}

#[test]
fn effort_is_set_and_removed_where_each_dialect_keeps_it() {
    let set = Edits { effort: Effort::Set("high"), ..Edits::default() };
    let remove = Edits { effort: Effort::Remove, ..Edits::default() };
    let bare = chat(json!({}));
    assert_eq!(value(OpenAiChat, &bare, &set)["reasoning_effort"], "high");
    assert_eq!(value(OpenAiChat, &chat(json!({ "reasoning_effort": "low" })), &remove), bare);
    assert_eq!(value(AnthropicMessages, &bare, &set)["output_config"], json!({"effort": "high"}));
    let asked = chat(json!({ "output_config": { "effort": "low", "format": { "a": 1 } } }));
    let kept = json!({ "format": { "a": 1 } });
    assert_eq!(value(AnthropicMessages, &asked, &remove)["output_config"], kept);
    let out = value(AnthropicMessages, &asked, &set);
    assert_eq!(out["output_config"], json!({ "effort": "high", "format": { "a": 1 } }));
    let empty = chat(json!({ "output_config": {} }));
    assert_eq!(value(AnthropicMessages, &empty, &set)["output_config"]["effort"], "high");
    let null = chat(json!({ "output_config": null }));
    assert_eq!(value(AnthropicMessages, &null, &set)["output_config"]["effort"], "high");
    let input = json!({ "model": "q", "input": "hi", "reasoning": { "summary": "auto" } });
    let out = value(OpenAiResponses, &input, &set);
    assert_eq!(out["reasoning"], json!({ "summary": "auto", "effort": "high" }));
}

#[test]
fn usage_is_asked_for_in_streams_that_did_not() {
    let edits = Edits { ask_usage: true, ..Edits::default() };
    let asked = json!({ "include_usage": true });
    for options in [json!({}), json!({ "include_usage": false }), json!({ "x": 1 }), json!(null)] {
        let body = chat(json!({ "stream": true, "stream_options": options }));
        assert_eq!(value(OpenAiChat, &body, &edits)["stream_options"]["include_usage"], true);
    }
    let out = value(OpenAiChat, &chat(json!({ "stream": true })), &edits);
    assert_eq!(out["stream_options"], asked);
    for quiet in [json!({}), json!({ "stream": true, "stream_options": asked })] {
        assert_eq!(value(OpenAiChat, &chat(quiet.clone()), &edits), chat(quiet));
    }
    let stream = chat(json!({ "stream": true }));
    assert_eq!(value(AnthropicMessages, &stream, &edits), stream);
}

#[test]
fn g6_foreign_thinking_goes_and_what_was_said_stays() {
    let own = |mark: &str| mark == "mine/1";
    let edits = Edits { thinking_blocks: ThinkingBlocks::KeepIf(&own), ..Edits::default() };
    let body = r#"{"model":"q","messages":[
        {"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"mine\/1"},{"type":"text","text":"one"}]},
        {"role":"assistant","content":[{"type":"thinking","thinking":"b","signature":"other"} , {"type":"tool_use","id":"t","name":"n","input":{}}]},
        {"role":"user","content":[{"type":"thinking","thinking":"said by the user"}]},
        {"role":"assistant","content":[{"type":"redacted_thinking","data":"x"}]},
        {"role":"user","content":"end"}]}"#;
    let out = spliced(AnthropicMessages, body, &edits);
    let want = body
        .replace(r#"{"type":"thinking","thinking":"b","signature":"other"} , "#, "")
        .replace(
            "\n        {\"role\":\"assistant\",\"content\":[{\"type\":\"redacted_thinking\",\"data\":\"x\"}]},",
            "",
        );
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(value(&out), value(&want));
    let none = Edits { thinking_blocks: ThinkingBlocks::Strip, ..Edits::default() };
    assert!(!spliced(AnthropicMessages, body, &none).contains("mine"));
}

#[test]
fn g6_when_every_turn_goes_the_appended_one_is_the_first() {
    let edits = Edits {
        thinking_blocks: ThinkingBlocks::Strip,
        append: Some(Append { times: 1, text: "go" }),
        ..Edits::default()
    };
    let thought =
        json!({ "role": "assistant", "content": [{ "type": "thinking", "thinking": "t" }] });
    let body = json!({ "model": "q", "messages": [thought, thought] });
    assert_eq!(
        value(AnthropicMessages, &body, &edits)["messages"],
        json!([{ "role": "user", "content": "go" }])
    );
}

#[test]
fn k9_a_tool_loop_that_lost_its_thinking_does_not_ask_for_more() {
    let asked = |last: Value| {
        json!({
            "model": "q", "thinking": { "type": "enabled", "budget_tokens": 2000 },
            "messages": [
                { "role": "assistant", "content": [
                    { "type": "thinking", "thinking": "b", "signature": "other" },
                    { "type": "tool_use", "id": "t", "name": "n", "input": {} } ] },
                { "role": "user", "content": last } ]
        })
    };
    let edits = Edits { thinking_blocks: ThinkingBlocks::Strip, ..Edits::default() };
    let in_loop = asked(json!([{ "type": "tool_result", "tool_use_id": "t" }]));
    assert_eq!(value(AnthropicMessages, &in_loop, &edits).get("thinking"), None);
    assert!(value(AnthropicMessages, &asked(json!("go on")), &edits).get("thinking").is_some());
    assert!(value(AnthropicMessages, &in_loop, &Edits::default()).get("thinking").is_some());

    // A turn before the loop lost its thinking, the loop's own turn did not.
    let mut mixed = in_loop;
    let turns = mixed["messages"].as_array_mut().unwrap();
    let mut own = turns[0].clone();
    own["content"][0]["signature"] = json!("mine");
    turns.insert(1, json!({ "role": "user", "content": "and" }));
    turns.insert(2, own);
    let keep = |mark: &str| mark == "mine";
    let edits = Edits { thinking_blocks: ThinkingBlocks::KeepIf(&keep), ..Edits::default() };
    assert!(value(AnthropicMessages, &mixed, &edits).get("thinking").is_some());
}

#[test]
fn a_system_turn_becomes_a_user_turn_and_never_parts_a_call_from_its_result() {
    let edits = Edits { system_turns_as_user: true, ..Edits::default() };
    let call = json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "t" }] });
    let result =
        json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t" }] });
    let system = |text: &str| json!({ "role": "system", "content": text });
    let user = |text: &str| json!({ "role": "user", "content": text });
    let out = |turns: Value| {
        value(AnthropicMessages, &json!({ "model": "q", "messages": turns }), &edits)["messages"]
            .clone()
    };
    assert_eq!(out(json!([user("a"), system("b")])), json!([user("a"), user("b")]));
    assert_eq!(
        out(json!([call, system("b"), system("c"), result, user("d")])),
        json!([call, result, user("b"), user("c"), user("d")])
    );
    // What is moved stays, whatever goes behind it.
    let thought =
        json!({ "role": "assistant", "content": [{ "type": "thinking", "thinking": "t" }] });
    let edits = Edits { thinking_blocks: ThinkingBlocks::Strip, ..edits };
    let body = json!({ "model": "q", "messages": [call, system("b"), result, thought, user("d")] });
    let out = value(AnthropicMessages, &body, &edits);
    assert_eq!(out["messages"], json!([call, result, user("b"), user("d")]));
}

#[test]
fn compatible_providers_get_only_what_they_know() {
    let edits = Edits {
        drop_members: &["store", "metadata", "context_management", "messages"],
        drop_tool_members: &["defer_loading", "strict"],
        developer_as_system: true,
        drop_reasoning_content: true,
        ..Edits::default()
    };
    let body = json!({
        "store": false, "model": "q", "metadata": {},
        "messages": [
            { "role": "developer", "content": "d" },
            { "role": "assistant", "content": "", "reasoning_content": "r" },
            { "role": "user", "content": "x", "reasoning_content": "kept" } ],
        "tools": [{ "type": "function", "strict": true, "function": { "name": "f", "strict": false } }],
        "context_management": { "edits": [] }
    });
    let want = json!({
        "model": "q",
        "messages": [
            { "role": "system", "content": "d" },
            { "role": "assistant", "content": "" },
            { "role": "user", "content": "x", "reasoning_content": "kept" } ],
        "tools": [{ "type": "function", "function": { "name": "f" } }]
    });
    assert_eq!(value(OpenAiChat, &body, &edits), want);
}

#[test]
fn adaptive_thinking_becomes_a_budget_or_goes() {
    let asked = chat(json!({
        "max_tokens": 32000, "thinking": { "type": "adaptive", "display": "omitted" }
    }));
    let with = |thinking| {
        let edits = Edits { thinking, ..Edits::default() };
        value(AnthropicMessages, &asked, &edits).get("thinking").cloned()
    };
    let budget = Some(json!({ "type": "enabled", "budget_tokens": 4096 }));
    assert_eq!(with(ThinkingMode::AdaptiveAsBudget(4096)), budget);
    assert_eq!(with(ThinkingMode::Remove), None);
    assert_eq!(with(ThinkingMode::AsWritten), asked.get("thinking").cloned());
}
