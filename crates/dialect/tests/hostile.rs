//! Bodies and streams that are made to cost: a step that were quadratic would not end within hours here.

use std::fmt::Write as _;

use bytes::Bytes;
use ekiden_dialect::request::{self, BodyError, Request};
use ekiden_dialect::splice::{
    Append, Edits, Effort, MaxTokensName, ThinkingBlocks, ThinkingMode, splice,
};
use ekiden_dialect::stream::Reader;
use ekiden_dialect::{Dialect, sse, whole};

const MANY: usize = 50_000;

fn read(dialect: Dialect, body: &str) -> Result<Request, BodyError> {
    request::read(dialect, &Bytes::from(body.to_owned()))
}

/// Every edit at once.
fn edits() -> Edits<'static> {
    Edits {
        model: Some("m"),
        max_tokens_cap: Some(100),
        max_tokens_name: MaxTokensName::MaxCompletionTokens,
        effort: Effort::Set("low"),
        thinking: ThinkingMode::AdaptiveAsBudget(2_000),
        ask_usage: true,
        append: Some(Append { times: 1, text: "go on" }),
        drop_members: &["metadata", "store"],
        drop_tool_members: &["strict"],
        thinking_blocks: ThinkingBlocks::Strip,
        drop_reasoning_content: true,
        system_turns_as_user: true,
        developer_as_system: true,
    }
}

fn repeated(piece: &str) -> String {
    vec![piece; MANY].join(",")
}

#[test]
fn g14_bodies_of_many_small_parts_take_linear_time() {
    let turn = r#"{"role":"user","content":"a"}"#;
    let block = r#"{"type":"thinking","thinking":"t","signature":"s"}"#;
    let members = (0..MANY).fold(String::new(), |mut all, n| {
        write!(all, "\"m{n}\":1,\"metadata\":1,\"max_tokens\":9,").unwrap();
        all
    });
    for body in [
        format!(r#"{{{members}"model":"q","messages":[{turn}]}}"#),
        format!(r#"{{"model":"q","messages":[{}]}}"#, repeated(turn)),
        format!(
            r#"{{"model":"q","messages":[{{"role":"assistant","content":[{}]}}]}}"#,
            repeated(block)
        ),
        format!(
            r#"{{"model":"q","messages":[{turn}],"tools":[{}]}}"#,
            repeated(r#"{"strict":1,"name":"n"}"#)
        ),
        format!(r#"{{"model":"q",{},"messages":[{turn}]}}"#, repeated(r#""messages":[]"#)),
        format!(r#"{{{},"messages":[{turn}]}}"#, repeated(r#""model":"q""#)),
        format!(r#"{{"model":"q","messages":[{turn}],"x":"{}"}}"#, "\\u0041".repeat(MANY)),
        format!(
            r#"{{"model":"q","messages":[{{"role":"user","content":"{}"}}]}}"#,
            "<system-reminder>".repeat(MANY / 4)
        ),
        format!(
            r#"{{"model":"q","messages":[{{"role":"system","content":"{}"}}]}}"#,
            "dat-:\\n".repeat(MANY)
        ),
    ] {
        for dialect in [Dialect::OpenAiChat, Dialect::AnthropicMessages] {
            let request = read(dialect, &body).unwrap();
            assert!(!splice(&request, &edits()).is_empty());
        }
        let input = body.replace("\"messages\"", "\"input\"");
        let request = read(Dialect::OpenAiResponses, &input).unwrap();
        assert!(!splice(&request, &edits()).is_empty());
    }
}

#[test]
fn g14_deep_nesting_is_refused_everywhere_and_never_overflows_the_stack() {
    for open in ["[", "{\"a\":", "{\"content\":[", "[{\"schema\":"] {
        let deep = open.repeat(MANY);
        for dialect in Dialect::ALL {
            let name = if dialect == Dialect::OpenAiResponses { "input" } else { "messages" };
            let body = format!(r#"{{"model":"q","{name}":{deep}"#);
            let refused = read(dialect, &body);
            assert!(matches!(refused, Err(BodyError::TooDeep { .. })), "{open}");
            for text in
                [deep.clone(), format!(r#"{{"choices":{deep}"#), format!(r#"{{"output":{deep}"#)]
            {
                let _ = whole::read(dialect, text.as_bytes());
                let _ = Reader::new(dialect)
                    .read(&sse::Event::parse(Bytes::from(format!("data: {text}\n\n"))));
            }
        }
    }
}

#[test]
fn r13_streams_of_many_parts_take_linear_time() {
    let chat = |index: usize| {
        format!(
            r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":{index},"id":"c{index}","function":{{"name":"n","arguments":"{{"}}}}]}}}}]}}"#
        )
    };
    let anthropic = |index: usize| {
        format!(
            r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"tool_use","id":"t","name":"n","input":{{}}}}}}"#
        )
    };
    let responses = |index: usize| {
        format!(
            r#"{{"type":"response.output_item.added","output_index":{index},"item":{{"type":"function_call","id":"f{index}","call_id":"c","name":"n","arguments":""}}}}"#
        )
    };
    for (dialect, event) in [
        (Dialect::OpenAiChat, &chat as &dyn Fn(usize) -> String),
        (Dialect::AnthropicMessages, &anthropic),
        (Dialect::OpenAiResponses, &responses),
    ] {
        let mut reader = Reader::new(dialect);
        for index in 0..MANY / 4 {
            let data = event(index);
            let _ = reader.read(&sse::Event::parse(Bytes::from(format!("data: {data}\n\n"))));
        }
        assert!(reader.tool_open(), "{}", dialect.name());
    }
}
