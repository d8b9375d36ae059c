use super::*;
use crate::Dialect::{AnthropicMessages, OpenAiChat, OpenAiResponses};

fn end(dialect: Dialect, body: &str) -> &'static str {
    match read(dialect, body.as_bytes()) {
        Whole::Answer(answer) => match answer.end() {
            End::Whole => "whole",
            End::Truncated => "truncated",
            End::Torn => "torn",
            End::Filtered => "filtered",
            End::Empty => "empty",
            End::Cut => "cut",
        },
        Whole::Error(_) => "error",
        Whole::Malformed(_) => "malformed",
    }
}

#[test]
#[rustfmt::skip]
fn r13_k1_a_200_is_an_answer_an_error_or_nothing() {
    for (dialect, body, want) in [
        (OpenAiChat, r#"{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#, "whole"),
        (OpenAiChat, "\n\n\n {\"choices\":[{\"message\":{\"content\":\"hi\"}}]}", "whole"),
        (OpenAiChat, "\u{feff}{\"choices\":[{\"message\":{\"content\":\"hi\"}}]}", "whole"),
        (OpenAiChat, r#"{"choices":[{"message":{"content":null,"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#, "whole"),
        (OpenAiChat, r#"{"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":"{\"a\":"}}]},"finish_reason":"tool_calls"}]}"#, "torn"),
        (OpenAiChat, r#"{"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":"{\"a\":"}}]},"finish_reason":null}]}"#, "torn"),
        (OpenAiChat, r#"{"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":"{\"a\":"}}]},"finish_reason":"length"}]}"#, "truncated"),
        (OpenAiChat, r#"{"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":"\"a\":1}"}}]},"finish_reason":"stop"}]}"#, "torn"),
        (OpenAiChat, r#"{"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":""}}]}}]}"#, "whole"),
        (OpenAiChat, r#"{"choices":[{"message":{"content":""},"finish_reason":"stop"},{"index":1,"message":{"content":"b"},"finish_reason":"stop"}]}"#, "whole"),
        (OpenAiChat, r#"{"choices":[{"message":{"content":"","reasoning_content":"hm"},"finish_reason":"stop"}]}"#, "empty"),
        (OpenAiChat, r#"{"choices":[{"message":{"content":""},"finish_reason":"length"}]}"#, "truncated"),
        (OpenAiChat, r#"{"choices":[{"message":{"content":null},"finish_reason":"content_filter"}]}"#, "filtered"),
        (OpenAiChat, r#"{"choices":[]}"#, "empty"),
        (OpenAiChat, "{}", "empty"),
        (OpenAiChat, r#"{"error":{"message":"no credits","code":402}}"#, "error"),
        (OpenAiChat, r#"{"choices":[{"message":{"content":""},"finish_reason":"network_error"}]}"#, "error"),
        (OpenAiChat, r#"{"base_resp":{"status_code":1002}}"#, "error"),
        (OpenAiChat, "<!DOCTYPE html><title>502</title>", "malformed"),
        (OpenAiChat, "", "malformed"),
        (OpenAiChat, r#"{"choices":[{"message":{"content":"cut of"#, "malformed"),
        (OpenAiChat, "[]", "malformed"),
        (AnthropicMessages, r#"{"type":"message","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}"#, "whole"),
        (AnthropicMessages, r#"{"type":"message","content":[{"type":"tool_use","id":"t","name":"n","input":{}}],"stop_reason":"tool_use"}"#, "whole"),
        (AnthropicMessages, r#"{"type":"message","content":[{"type":"tool_use","id":"t","name":"n","input":"{\"a\":"}],"stop_reason":"tool_use"}"#, "torn"),
        (AnthropicMessages, r#"{"type":"message","content":[{"type":"tool_use","id":"t","name":"n","input":"{\"a\":"}],"stop_reason":"max_tokens"}"#, "truncated"),
        (AnthropicMessages, r#"{"type":"message","content":[{"type":"thinking","thinking":"x"}],"stop_reason":"end_turn"}"#, "empty"),
        (AnthropicMessages, r#"{"type":"message","content":[],"stop_reason":"end_turn"}"#, "empty"),
        (AnthropicMessages, r#"{"type":"message","content":[],"stop_reason":"max_tokens"}"#, "truncated"),
        (AnthropicMessages, r#"{"type":"error","error":{"type":"overloaded_error"}}"#, "error"),
        (OpenAiResponses, r#"{"status":"completed","error":null,"output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}]}"#, "whole"),
        (OpenAiResponses, r#"{"status":"completed","output":[{"type":"function_call","name":"f"}]}"#, "whole"),
        (OpenAiResponses, r#"{"status":"completed","output":[{"type":"function_call","name":"f","arguments":"{\"a"}]}"#, "torn"),
        (OpenAiResponses, r#"{"status":"incomplete","output":[{"type":"function_call","name":"f","arguments":"{\"a"}]}"#, "truncated"),
        (OpenAiResponses, r#"{"status":"completed","output":[{"type":"reasoning"}]}"#, "empty"),
        (OpenAiResponses, r#"{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}"#, "truncated"),
        (OpenAiResponses, r#"{"status":"failed","error":{"code":"server_error"}}"#, "error"),
    ] {
        assert_eq!(end(dialect, body), want, "{dialect:?} {body}");
    }
}

#[test]
fn a_whole_answer_tells_its_model_and_its_tokens() {
    let body = br#"{"id":"msg_1","type":"message","model":"claude-x","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":2,"cache_creation_input_tokens":3,"output_tokens":4}}"#;
    let Whole::Answer(answer) = read(AnthropicMessages, body) else { panic!("an answer") };
    assert_eq!((answer.id.as_deref(), answer.model.as_deref()), (Some("msg_1"), Some("claude-x")));
    assert_eq!((answer.usage.input, answer.usage.output), (Some(5), Some(4)));
    assert_eq!((answer.output, answer.finish), (true, Some(Finish::Stop)));
}

#[test]
fn an_error_keeps_its_text() {
    let body = r#" {"error": {"message": "x"}} "#;
    assert_eq!(read(OpenAiChat, body.as_bytes()), Whole::Error(body.to_owned()));
}
