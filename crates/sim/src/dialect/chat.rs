//! OpenAI Chat Completions.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{CREATED, Frame, Kind, Turn};
use crate::act::{Answer, Finish, Trouble, pieces, words};

pub(crate) fn frames(turn: &Turn, answer: &Answer) -> Vec<Frame> {
    let mut out = vec![delta(turn, Kind::Start, &json!({ "role": "assistant", "content": "" }))];
    for word in words(&answer.thinking) {
        out.push(delta(turn, Kind::Chunk, &json!({ "reasoning_content": word })));
    }
    for word in words(&answer.text) {
        out.push(delta(turn, Kind::Chunk, &json!({ "content": word })));
    }
    for (index, tool) in answer.tools.iter().enumerate() {
        let opening = json!({ "tool_calls": [{
            "index": index, "id": tool_id(turn, index), "type": "function",
            "function": { "name": tool.name, "arguments": "" },
        }] });
        out.push(delta(turn, Kind::Part, &opening));
        for piece in pieces(&tool.arguments) {
            let more =
                json!({ "tool_calls": [{ "index": index, "function": { "arguments": piece } }] });
            out.push(delta(turn, Kind::ToolChunk(index), &more));
        }
    }
    let last = json!([{ "index": 0, "delta": {}, "logprobs": null, "finish_reason": finish_reason(answer) }]);
    out.push(frame(Kind::Finish, &chunk(turn, &last)));
    if let Some(usage) = usage(turn, answer).filter(|_| turn.ask.include_usage) {
        let mut body = chunk(turn, &json!([]));
        body["usage"] = usage;
        out.push(frame(Kind::Finish, &body));
    }
    out.push(Frame { kind: Kind::Terminal, bytes: Bytes::from_static(b"data: [DONE]\n\n") });
    out
}

pub(crate) fn whole(turn: &Turn, answer: &Answer) -> Value {
    let mut message = json!({ "role": "assistant", "content": answer.text, "refusal": null });
    if answer.text.is_empty() && !answer.tools.is_empty() {
        message["content"] = Value::Null;
    }
    if !answer.thinking.is_empty() {
        message["reasoning_content"] = json!(answer.thinking);
    }
    if !answer.tools.is_empty() {
        let calls = answer.tools.iter().enumerate().map(|(index, tool)| {
            json!({
                "id": tool_id(turn, index), "type": "function",
                "function": { "name": tool.name, "arguments": tool.arguments },
            })
        });
        message["tool_calls"] = calls.collect();
    }
    let mut body = json!({
        "id": id(turn), "object": "chat.completion", "created": CREATED, "model": turn.model(),
        "system_fingerprint": "fp_sim",
        "choices": [{
            "index": 0, "message": message, "logprobs": null,
            "finish_reason": finish_reason(answer),
        }],
    });
    if let Some(usage) = usage(turn, answer) {
        body["usage"] = usage;
    }
    body
}

pub(crate) fn error(turn: &Turn, trouble: Trouble) -> Value {
    let invalid = "invalid_request_error";
    let (kind, code, param) = match trouble {
        Trouble::RateLimited => ("requests", Some("rate_limit_exceeded"), None),
        Trouble::Overloaded => ("server_error", Some("server_is_overloaded"), None),
        Trouble::ServerError => ("server_error", None, None),
        Trouble::Timeout => ("timeout", Some("timeout"), None),
        Trouble::Quota => ("insufficient_quota", Some("insufficient_quota"), None),
        Trouble::Auth => (invalid, Some("invalid_api_key"), None),
        Trouble::Forbidden => (invalid, None, None),
        Trouble::NotFound => (invalid, Some("model_not_found"), None),
        Trouble::Invalid => (invalid, Some("invalid_value"), Some("messages")),
        Trouble::Prefill => (invalid, Some("unsupported_value"), Some("messages")),
        Trouble::ContextOverflow => (invalid, Some("context_length_exceeded"), Some("messages")),
        Trouble::TooLarge => (invalid, Some("request_too_large"), None),
        Trouble::ContentFilter => (invalid, Some("content_filter"), Some("prompt")),
    };
    let message = message(turn.model(), trouble);
    json!({ "error": { "message": message, "type": kind, "param": param, "code": code } })
}

fn message(model: &str, trouble: Trouble) -> String {
    let fixed = match trouble {
        Trouble::RateLimited => {
            return format!(
                "Rate limit reached for {model} on requests per min (RPM): Limit 60, Used 60."
            );
        }
        Trouble::Forbidden => return format!("This key has no permission to use {model}."),
        Trouble::NotFound => {
            return format!("The model `{model}` does not exist or you do not have access to it.");
        }
        Trouble::Overloaded => "The engine is currently overloaded, please try again later.",
        Trouble::ServerError => "The server had an error while processing your request.",
        Trouble::Timeout => "The request timed out.",
        Trouble::Quota => "You exceeded your current quota; this account has no credit left.",
        Trouble::Auth => "Incorrect API key provided.",
        Trouble::Invalid => "The request could not be processed as it stands.",
        Trouble::Prefill => "This model does not support assistant message prefill.",
        Trouble::ContextOverflow => {
            "This model's maximum context length is 8192 tokens. However, your messages resulted \
             in 9001 tokens. Please reduce the length of the messages."
        }
        Trouble::TooLarge => "Request too large.",
        Trouble::ContentFilter => {
            "The response was filtered due to the prompt triggering the content management policy."
        }
    };
    fixed.to_owned()
}

fn delta(turn: &Turn, kind: Kind, delta: &Value) -> Frame {
    let choices = json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": null }]);
    frame(kind, &chunk(turn, &choices))
}

fn chunk(turn: &Turn, choices: &Value) -> Value {
    let mut body = json!({
        "id": id(turn), "object": "chat.completion.chunk", "created": CREATED,
        "model": turn.model(), "system_fingerprint": "fp_sim", "choices": choices,
    });
    if turn.ask.include_usage {
        body["usage"] = Value::Null;
    }
    body
}

fn frame(kind: Kind, body: &Value) -> Frame {
    Frame { kind, bytes: Bytes::from(format!("data: {body}\n\n")) }
}

fn finish_reason(answer: &Answer) -> &'static str {
    match answer.finish {
        Finish::Natural if answer.tools.is_empty() => "stop",
        Finish::Natural => "tool_calls",
        Finish::Truncated => "length",
        Finish::Filtered => "content_filter",
    }
}

fn usage(turn: &Turn, answer: &Answer) -> Option<Value> {
    let (input, output) = turn.tokens(answer)?;
    let reasoning = (words(&answer.thinking).count() as u64).min(output);
    let mut usage = json!({
        "prompt_tokens": input, "completion_tokens": output,
        "total_tokens": input.saturating_add(output),
        "prompt_tokens_details": { "cached_tokens": 0 },
        "completion_tokens_details": { "reasoning_tokens": reasoning },
    });
    if let Some(micro) = answer.cost_micro {
        usage["cost"] = json!(micro as f64 / 1e6);
    }
    Some(usage)
}

fn id(turn: &Turn) -> String {
    format!("chatcmpl-sim-{:06}", turn.number)
}

fn tool_id(turn: &Turn, index: usize) -> String {
    format!("call_sim_{:06}_{index}", turn.number)
}
