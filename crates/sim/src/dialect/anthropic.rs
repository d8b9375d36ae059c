//! Anthropic Messages.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Frame, Kind, Turn};
use crate::act::{Answer, Finish, Trouble, pieces, words};

pub(crate) fn frames(turn: &Turn, answer: &Answer) -> Vec<Frame> {
    let mut out = vec![start(turn, answer), Frame { kind: Kind::Start, bytes: ping() }];
    let mut block = 0;
    if !answer.thinking.is_empty() {
        open(&mut out, block, &json!({ "type": "thinking", "thinking": "", "signature": "" }));
        for word in words(&answer.thinking) {
            let delta = json!({ "type": "thinking_delta", "thinking": word });
            push_delta(&mut out, Kind::Chunk, block, &delta);
        }
        let signature = json!({ "type": "signature_delta", "signature": signature(turn) });
        push_delta(&mut out, Kind::Part, block, &signature);
        shut(&mut out, &mut block);
    }
    if !answer.text.is_empty() {
        open(&mut out, block, &json!({ "type": "text", "text": "" }));
        for word in words(&answer.text) {
            let delta = json!({ "type": "text_delta", "text": word });
            push_delta(&mut out, Kind::Chunk, block, &delta);
        }
        shut(&mut out, &mut block);
    }
    for (index, tool) in answer.tools.iter().enumerate() {
        let id = tool_id(turn, index);
        let opening = json!({ "type": "tool_use", "id": id, "name": tool.name, "input": {} });
        open(&mut out, block, &opening);
        for piece in pieces(&tool.arguments) {
            let delta = json!({ "type": "input_json_delta", "partial_json": piece });
            push_delta(&mut out, Kind::ToolChunk(index), block, &delta);
        }
        shut(&mut out, &mut block);
    }
    let mut end = json!({
        "type": "message_delta",
        "delta": { "stop_reason": stop_reason(answer), "stop_sequence": null },
    });
    if let Some((_, output)) = turn.tokens(answer) {
        end["usage"] = json!({ "output_tokens": output });
    }
    out.push(frame(Kind::Finish, &end));
    out.push(frame(Kind::Terminal, &json!({ "type": "message_stop" })));
    out
}

pub(crate) fn whole(turn: &Turn, answer: &Answer) -> Value {
    let mut content = Vec::new();
    if !answer.thinking.is_empty() {
        content.push(json!({
            "type": "thinking", "thinking": answer.thinking, "signature": signature(turn),
        }));
    }
    if !answer.text.is_empty() {
        content.push(json!({ "type": "text", "text": answer.text }));
    }
    for (index, tool) in answer.tools.iter().enumerate() {
        let input = serde_json::from_str(&tool.arguments)
            .unwrap_or_else(|_| Value::String(tool.arguments.clone()));
        let id = tool_id(turn, index);
        content.push(json!({ "type": "tool_use", "id": id, "name": tool.name, "input": input }));
    }
    let mut body = message(turn, &content);
    body["stop_reason"] = json!(stop_reason(answer));
    if let Some((input, output)) = turn.tokens(answer) {
        body["usage"] = usage(input, output);
    }
    body
}

pub(crate) fn error(turn: &Turn, trouble: Trouble) -> Value {
    let model = turn.model();
    let (kind, message) = match trouble {
        Trouble::RateLimited => (
            "rate_limit_error",
            "This request would exceed the rate limit of 50 requests per minute.".to_owned(),
        ),
        Trouble::Overloaded => ("overloaded_error", "Overloaded".to_owned()),
        Trouble::ServerError => ("api_error", "Internal server error".to_owned()),
        Trouble::Timeout => ("timeout_error", "Request timed out.".to_owned()),
        Trouble::Quota => {
            ("billing_error", "Your credit balance is too low to access the API.".to_owned())
        }
        Trouble::Auth => ("authentication_error", "invalid x-api-key".to_owned()),
        Trouble::Forbidden => {
            ("permission_error", format!("Your key has no permission to use {model}."))
        }
        Trouble::NotFound => ("not_found_error", format!("model: {model}")),
        Trouble::Invalid => {
            ("invalid_request_error", "The request could not be processed as it stands.".to_owned())
        }
        Trouble::Prefill => (
            "invalid_request_error",
            "This model does not support assistant message prefill. The conversation must end \
             with a user message."
                .to_owned(),
        ),
        Trouble::ContextOverflow => (
            "invalid_request_error",
            "prompt is too long: 204801 tokens > 200000 maximum".to_owned(),
        ),
        Trouble::TooLarge => ("request_too_large", "Request exceeds the maximum size".to_owned()),
        Trouble::ContentFilter => {
            ("invalid_request_error", "Output blocked by content filtering policy".to_owned())
        }
    };
    json!({
        "type": "error",
        "error": { "type": kind, "message": message },
        "request_id": format!("req_sim_{:06}", turn.number),
    })
}

pub(crate) fn ping() -> Bytes {
    Bytes::from_static(b"event: ping\ndata: {\"type\":\"ping\"}\n\n")
}

fn start(turn: &Turn, answer: &Answer) -> Frame {
    let mut message = message(turn, &[]);
    if let Some((input, _)) = turn.tokens(answer) {
        message["usage"] = usage(input, 1);
    }
    frame(Kind::Start, &json!({ "type": "message_start", "message": message }))
}

fn message(turn: &Turn, content: &[Value]) -> Value {
    json!({
        "id": format!("msg_sim_{:06}", turn.number), "type": "message", "role": "assistant",
        "model": turn.model(), "content": content, "stop_reason": null, "stop_sequence": null,
    })
}

fn usage(input: u64, output: u64) -> Value {
    json!({
        "input_tokens": input, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
        "output_tokens": output,
    })
}

fn open(out: &mut Vec<Frame>, index: usize, block: &Value) {
    let body = json!({ "type": "content_block_start", "index": index, "content_block": block });
    out.push(frame(Kind::Part, &body));
}

fn push_delta(out: &mut Vec<Frame>, kind: Kind, index: usize, delta: &Value) {
    let body = json!({ "type": "content_block_delta", "index": index, "delta": delta });
    out.push(frame(kind, &body));
}

fn shut(out: &mut Vec<Frame>, index: &mut usize) {
    out.push(frame(Kind::Part, &json!({ "type": "content_block_stop", "index": *index })));
    *index += 1;
}

fn frame(kind: Kind, body: &Value) -> Frame {
    let event = body["type"].as_str().unwrap_or_default();
    Frame { kind, bytes: Bytes::from(format!("event: {event}\ndata: {body}\n\n")) }
}

fn stop_reason(answer: &Answer) -> &'static str {
    match answer.finish {
        Finish::Natural if answer.tools.is_empty() => "end_turn",
        Finish::Natural => "tool_use",
        Finish::Truncated => "max_tokens",
        Finish::Filtered => "refusal",
    }
}

fn signature(turn: &Turn) -> String {
    format!("sim-signature-{}-{:06}", turn.model(), turn.number)
}

fn tool_id(turn: &Turn, index: usize) -> String {
    format!("toolu_sim_{:06}_{index}", turn.number)
}
