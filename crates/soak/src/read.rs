//! Streams taken apart by a reader of the soak's own, so that a fault in the gateway's cannot hide
//! itself. It knows only what the scripted upstreams write.

use serde_json::Value;

use crate::plan::Tongue;

/// The events of a stream, each with the empty line that ends it, and what came after the last one.
pub(crate) fn events(bytes: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let mut all = Vec::new();
    let mut rest = bytes;
    while let Some(end) = rest.windows(2).position(|pair| pair == b"\n\n") {
        let (event, after) = rest.split_at(end + 2);
        all.push(event);
        rest = after;
    }
    (all, rest)
}

/// What one event is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// A comment or a ping: alive, and nothing said.
    Beat,
    Said(Value),
    /// The dialect's last event.
    Terminal,
    Error(Value),
    /// No JSON where it should be.
    Malformed,
}

pub(crate) fn kind(tongue: Tongue, event: &[u8]) -> Kind {
    let Ok(text) = std::str::from_utf8(event) else { return Kind::Malformed };
    if text.starts_with(':') {
        return Kind::Beat;
    }
    let Some(data) = text.lines().find_map(|line| line.strip_prefix("data: ")) else {
        return Kind::Malformed;
    };
    if tongue == Tongue::Chat && data == "[DONE]" {
        return Kind::Terminal;
    }
    let Ok(json) = serde_json::from_str::<Value>(data) else { return Kind::Malformed };
    match json["type"].as_str() {
        Some("ping") => Kind::Beat,
        Some("message_stop") => Kind::Terminal,
        _ if !json["error"].is_null() => Kind::Error(json),
        _ => Kind::Said(json),
    }
}

/// Whether an event gives the reason for which an answer ends.
pub(crate) fn is_finish(tongue: Tongue, json: &Value) -> bool {
    match tongue {
        Tongue::Chat => {
            let choices = json["choices"].as_array().into_iter().flatten();
            choices.into_iter().any(|choice| !choice["finish_reason"].is_null())
        }
        Tongue::Messages => !json["delta"]["stop_reason"].is_null(),
    }
}

/// Whether an event is a chunk that tells of usage and nothing else (Chat).
pub(crate) fn is_usage_alone(json: &Value) -> bool {
    json["choices"].as_array().is_some_and(Vec::is_empty) && !json["usage"].is_null()
}

/// Whether a client's event is what the upstream's becomes for it.
pub(crate) fn is_same(client: &[u8], upstream: &[u8], hides_usage: bool) -> bool {
    if client == upstream {
        return true;
    }
    if !hides_usage {
        return false;
    }
    match (kind(Tongue::Chat, client), kind(Tongue::Chat, upstream)) {
        (Kind::Said(client), Kind::Said(mut upstream)) => {
            if let Some(members) = upstream.as_object_mut() {
                members.remove("usage");
            }
            client == upstream
        }
        (Kind::Beat | Kind::Said(_) | Kind::Terminal | Kind::Error(_) | Kind::Malformed, _) => {
            false
        }
    }
}

/// Whether a whole answer's JSON is one: it says something, and why it ends, and its tool calls can
/// be read.
pub(crate) fn is_whole(tongue: Tongue, body: &[u8]) -> bool {
    let Ok(json) = serde_json::from_slice::<Value>(body) else { return false };
    match tongue {
        Tongue::Chat => {
            let choice = &json["choices"][0];
            let text = choice["message"]["content"].as_str().is_some_and(|text| !text.is_empty());
            let tools = choice["message"]["tool_calls"].as_array();
            let readable = |call: &Value| {
                let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
                serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object())
            };
            let sound = tools.is_none_or(|tools| tools.iter().all(readable));
            !choice["finish_reason"].is_null() && (text || tools.is_some()) && sound
        }
        Tongue::Messages => {
            let blocks = json["content"].as_array().map(Vec::as_slice).unwrap_or_default();
            let shown = |block: &&Value| block["type"] == "text" || block["type"] == "tool_use";
            let sound = |block: &Value| block["type"] != "tool_use" || block["input"].is_object();
            !json["stop_reason"].is_null()
                && blocks.iter().any(|block| shown(&block))
                && blocks.iter().all(sound)
        }
    }
}

/// Whether every tool call of a stream has arguments that can be read.
pub(crate) fn has_whole_tools(tongue: Tongue, all: &[&[u8]]) -> bool {
    let mut arguments: Vec<String> = Vec::new();
    for event in all {
        let Kind::Said(json) = kind(tongue, event) else { continue };
        match tongue {
            Tongue::Chat => {
                let calls = json["choices"][0]["delta"]["tool_calls"].as_array();
                for call in calls.into_iter().flatten() {
                    let index = call["index"].as_u64().unwrap_or_default() as usize;
                    arguments.resize(arguments.len().max(index + 1), String::new());
                    let more = call["function"]["arguments"].as_str().unwrap_or_default();
                    arguments[index].push_str(more);
                }
            }
            Tongue::Messages => {
                if json["type"] == "content_block_start" {
                    let is_tool = json["content_block"]["type"] == "tool_use";
                    arguments.extend(is_tool.then(String::new));
                }
                if let (Some(more), Some(last)) =
                    (json["delta"]["partial_json"].as_str(), arguments.last_mut())
                {
                    last.push_str(more);
                }
            }
        }
    }
    arguments.iter().all(|text| serde_json::from_str::<Value>(text).is_ok_and(|v| v.is_object()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_taken_apart_at_its_empty_lines() {
        let (all, rest) = events(b": a\n\ndata: {}\n\ndata: {\"hal");
        assert_eq!(all, [b": a\n\n".as_slice(), b"data: {}\n\n"]);
        assert_eq!(rest, b"data: {\"hal");
    }

    #[test]
    fn events_are_known_by_what_they_say() {
        let chat = |text: &str| kind(Tongue::Chat, text.as_bytes());
        assert_eq!(chat(": hm\n\n"), Kind::Beat);
        assert_eq!(chat("data: [DONE]\n\n"), Kind::Terminal);
        assert_eq!(chat("data: {\"cho\n\n"), Kind::Malformed);
        assert!(matches!(chat("data: {\"error\":{}}\n\n"), Kind::Error(_)));
        assert!(matches!(chat("data: {\"choices\":[]}\n\n"), Kind::Said(_)));
        let stop = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
        assert_eq!(kind(Tongue::Messages, stop.as_bytes()), Kind::Terminal);
    }

    #[test]
    fn usage_is_hidden_and_nothing_else() {
        let upstream = b"data: {\"a\":1,\"usage\":null}\n\n";
        assert!(is_same(b"data: {\"a\":1}\n\n", upstream, true));
        assert!(!is_same(b"data: {\"a\":1}\n\n", upstream, false));
        assert!(!is_same(b"data: {\"a\":2}\n\n", upstream, true));
    }

    #[test]
    fn half_a_tool_call_is_none() {
        let piece = |text: &str| {
            let call = serde_json::json!({ "index": 0, "function": { "arguments": text } });
            let body = serde_json::json!({ "choices": [{ "delta": { "tool_calls": [call] } }] });
            format!("data: {body}\n\n").into_bytes()
        };
        let (first, second) = (piece("{\"a\":"), piece("1}"));
        assert!(has_whole_tools(Tongue::Chat, &[&first, &second]));
        assert!(!has_whole_tools(Tongue::Chat, &[&first]));
        assert!(has_whole_tools(Tongue::Chat, &[]));
    }
}
