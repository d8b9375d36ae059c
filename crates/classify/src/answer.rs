//! Judging an answer that came with status 200.
//!
//! It refuses to judge what was said: only whether something was, why it stopped, and whether it stopped at all. It
//! reads OpenAI Chat and Responses, Anthropic Messages, Gemini, Bedrock Converse, Cohere and Ollama, whole or as a
//! stream.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use ekiden_engine::class::Class;

use crate::json::Json;

/// Visible text that is kept, to see whether it is an error in disguise.
const TEXT_MAX: usize = 4 * 1024;
/// Tool calls told apart in one answer.
const TOOLS_MAX: usize = 256;
/// Events read from one body.
const EVENTS_MAX: usize = 200_000;

/// How a body is framed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Framing {
    Whole,
    Stream,
}

/// The events of a body and how it was framed; `None` if it holds no JSON.
pub(crate) fn events(body: &str) -> Option<(Vec<Event>, Framing, bool)> {
    if let Some((events, done)) = stream_events(body) {
        return Some((events, Framing::Stream, done));
    }
    let first = Json::parse(body)?;
    let mut rest = body.get(first.len..)?.trim_start();
    let mut events = match first.value {
        // `[anthropic] 400 …` is prose with brackets.
        Json::Arr(items)
            if body.trim() != "[]" && !items.iter().any(|item| !item.members().is_empty()) =>
        {
            return None;
        }
        Json::Arr(items) => items.into_iter().map(Event::plain).collect(),
        value @ (Json::Null | Json::Bool(_) | Json::Num(_) | Json::Str(_) | Json::Obj(_)) => {
            alloc::vec![Event::plain(value)]
        }
    };
    while rest.starts_with('{') && events.len() < EVENTS_MAX {
        let Some(next) = Json::parse(rest) else { break };
        rest = rest.get(next.len..).unwrap_or_default().trim_start();
        events.push(Event::plain(next.value));
    }
    Some((events, Framing::Whole, true))
}

/// The events of a body that is an event stream, and whether it ended with `[DONE]`.
pub(crate) fn stream_events(body: &str) -> Option<(Vec<Event>, bool)> {
    if !is_event_stream(body) {
        return None;
    }
    let mut done = false;
    let mut events = Vec::new();
    let mut name = "";
    for line in body.lines() {
        if let Some(rest) = line.strip_prefix("event:") {
            name = rest.trim();
        } else if let Some(data) = line.strip_prefix("data:") {
            let data = data.trim();
            done |= data == "[DONE]";
            let json = Json::parse(data).map(|parsed| parsed.value);
            let failed = name == "error";
            if events.len() < EVENTS_MAX && (json.is_some() || failed) {
                events.push(Event {
                    json: json.unwrap_or_else(|| Json::Str(data.to_owned())),
                    failed,
                });
            }
        } else if line.is_empty() {
            name = "";
        }
    }
    Some((events, done))
}

fn is_event_stream(body: &str) -> bool {
    let start = body.trim_start();
    ["data:", "event:", ":", "id:", "retry:"].iter().any(|field| start.starts_with(field))
        || !start.starts_with(['{', '[', '<']) && start.contains("\ndata:")
}

/// One event of an answer.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) json: Json,
    /// Whether its frame called it an error.
    failed: bool,
}

impl Event {
    fn plain(json: Json) -> Self {
        Self { json, failed: false }
    }

    /// Whether it reports a failure instead of carrying a part of the answer.
    pub(crate) fn is_error(&self) -> bool {
        let json = &self.json;
        let text = |key: &str| json.member(key).and_then(Json::text).unwrap_or_default();
        let code = |key: &str| {
            json.member(key)
                .and_then(Json::scalar)
                .is_some_and(|code| !matches!(code, "0" | "" | "200"))
        };
        let carries =
            ["choices", "content", "candidates", "output", "delta", "response", "message"]
                .iter()
                .any(|key| {
                    json.member(key)
                        .is_some_and(|value| !matches!(value, Json::Str(_) | Json::Null))
                });
        let says = ["message", "msg", "detail", "error_msg", "error_message", "Message"]
            .iter()
            .any(|key| json.member(key).is_some());
        self.failed
            || json.member("error").is_some_and(is_something)
            || json.member("errors").is_some_and(is_something)
            || matches!(text("type"), "error" | "response.failed")
            || text("object") == "error"
            || text("status") == "failed"
            || json
                .member("response")
                .is_some_and(|response| response.member("error").is_some_and(is_something))
            || json
                .member("base_resp")
                .and_then(|base| base.member("status_code"))
                .and_then(Json::scalar)
                .is_some_and(|code| code != "0")
            || code("error_code")
            || json
                .member("header")
                .and_then(|header| header.member("code"))
                .and_then(Json::scalar)
                .is_some_and(|code| code != "0")
            || matches!(json.member("success"), Some(Json::Bool(false)))
            || choices(json).iter().any(|choice| choice.member("error").is_some_and(is_something))
            || (!carries
                && says
                && (code("code") || !text("type").contains("message"))
                && (json.member("id").is_none()
                    || json
                        .member("message")
                        .and_then(Json::text)
                        .is_some_and(|said| !said.is_empty())))
            || ["status", "statusCode", "status_code"].iter().any(|key| {
                json.member(key)
                    .and_then(Json::scalar)
                    .and_then(|code| code.parse::<u16>().ok())
                    .is_some_and(|code| (400..600).contains(&code))
            })
    }

    /// The part that describes the failure.
    pub(crate) fn error(&self) -> &Json {
        let response = self.json.member("response");
        match response
            .and_then(|response| response.member("error"))
            .filter(|error| is_something(error))
        {
            Some(error) => error,
            None => choices(&self.json)
                .iter()
                .find_map(|choice| choice.member("error"))
                .filter(|_| self.json.member("error").is_none())
                .unwrap_or(&self.json),
        }
    }
}

fn is_something(value: &Json) -> bool {
    match value {
        Json::Null | Json::Bool(false) => false,
        Json::Str(text) => !text.is_empty(),
        Json::Obj(members) => !members.is_empty(),
        Json::Arr(items) => !items.is_empty(),
        Json::Bool(true) | Json::Num(_) => true,
    }
}

fn choices(json: &Json) -> &[Json] {
    json.member("choices").map(Json::items).unwrap_or_default()
}

/// What an answer amounts to.
#[derive(Default, Debug)]
pub(crate) struct Outcome {
    /// The beginning of the visible text.
    pub(crate) text: String,
    visible: bool,
    refused: bool,
    /// Tool calls by index: their arguments as far as they came.
    tools: Vec<(String, String)>,
    reasons: Vec<String>,
    ended: bool,
}

impl Outcome {
    /// Reads all events.
    pub(crate) fn read(events: &[Event], done: bool) -> Self {
        let mut outcome = Self { ended: done, ..Self::default() };
        for event in events {
            outcome.event(&event.json);
        }
        outcome
    }

    /// The class and the rule's name, `None` if nothing is wrong.
    pub(crate) fn judge(&self, framing: Framing) -> Option<(Class, &'static str)> {
        if let Some(found) = self.stopped_by() {
            return Some(found);
        }
        if self.refused && !self.visible {
            return Some((Class::ContentFilter, "answer-filtered"));
        }
        let stopped = self.ended || !self.reasons.is_empty();
        if framing == Framing::Stream && !stopped {
            return Some((Class::TransportRemote, "answer-cut"));
        }
        if self.tools.iter().any(|(_, arguments)| !complete(arguments)) {
            return Some((Class::Truncated, "answer-arguments-cut"));
        }
        (!self.visible && self.tools.is_empty()).then_some((Class::EmptyResponse, "answer-empty"))
    }

    /// What the stop reasons say by themselves.
    pub(crate) fn stopped_by(&self) -> Option<(Class, &'static str)> {
        self.reasons.iter().find_map(|reason| reason_class(reason))
    }

    fn event(&mut self, json: &Json) {
        for choice in choices(json) {
            for key in ["finish_reason", "stop_reason", "native_finish_reason"] {
                self.reason(choice.member(key));
            }
            self.say(choice.member("text"));
            for key in ["delta", "message"] {
                self.chat(choice.member(key));
            }
        }
        self.gemini(json);
        self.anthropic(json);
        self.responses(json);
        if json.member("done").is_some_and(|done| *done == Json::Bool(true)) {
            self.ended = true;
        }
        for key in ["done_reason", "stopReason", "finish_reason", "stop_reason"] {
            self.reason(json.member(key));
        }
        if choices(json).is_empty() {
            self.chat(json.member("message"));
        }
        self.say(json.member("generated_text"));
        self.say(json.member("completion"));
        if let Some(output) = json.member("output") {
            self.say(output.member("text"));
            self.reason(output.member("finish_reason"));
            self.chat(output.member("message"));
            for choice in choices(output) {
                self.reason(choice.member("finish_reason"));
                self.chat(choice.member("message"));
            }
        }
    }

    fn chat(&mut self, message: Option<&Json>) {
        let Some(message) = message else { return };
        self.content(message.member("content"));
        if message.member("refusal").and_then(Json::text).is_some_and(|text| !text.is_empty()) {
            self.refused = true;
        }
        if let Some(call) = message.member("function_call").filter(|call| is_something(call)) {
            self.tool("function_call", call.member("arguments"));
        }
        for (index, call) in
            message.member("tool_calls").map(Json::items).unwrap_or_default().iter().enumerate()
        {
            let place = call
                .member("index")
                .and_then(Json::scalar)
                .map_or_else(|| alloc::format!("{index}"), ToOwned::to_owned);
            self.tool(
                &place,
                call.member("function").and_then(|function| function.member("arguments")),
            );
        }
    }

    fn content(&mut self, content: Option<&Json>) {
        match content {
            Some(Json::Str(_)) => self.say(content),
            Some(Json::Arr(parts)) => {
                for part in parts {
                    let kind = part.member("type").and_then(Json::text).unwrap_or_default();
                    match kind {
                        "thinking" | "redacted_thinking" | "reasoning" => {}
                        "tool_use" | "server_tool_use" | "function_call" => self.tool(kind, None),
                        "refusal" => self.refused = true,
                        _ if part.member("toolUse").is_some() => self.tool("toolUse", None),
                        _ => self.say(part.member("text")),
                    }
                }
            }
            Some(Json::Null | Json::Bool(_) | Json::Num(_) | Json::Obj(_)) | None => {}
        }
    }

    fn gemini(&mut self, json: &Json) {
        if json
            .member("promptFeedback")
            .and_then(|feedback| feedback.member("blockReason"))
            .is_some_and(is_something)
        {
            self.reasons.push("safety".to_owned());
        }
        for candidate in json.member("candidates").map(Json::items).unwrap_or_default() {
            self.reason(candidate.member("finishReason"));
            let parts = candidate
                .member("content")
                .and_then(|content| content.member("parts"))
                .map(Json::items);
            for part in parts.unwrap_or_default() {
                if part.member("thought") != Some(&Json::Bool(true)) {
                    self.say(part.member("text"));
                }
                if part.member("functionCall").is_some() || part.member("inlineData").is_some() {
                    self.visible = true;
                }
            }
        }
    }

    fn anthropic(&mut self, json: &Json) {
        match json.member("type").and_then(Json::text).unwrap_or_default() {
            "message" => self.content(json.member("content")),
            "content_block_start" => {
                let block = json.member("content_block");
                match block.and_then(|block| block.member("type")).and_then(Json::text) {
                    Some("tool_use" | "server_tool_use") => {
                        let place =
                            json.member("index").and_then(Json::scalar).unwrap_or("0").to_owned();
                        self.tool(&place, None);
                    }
                    Some("text") => self.say(block.and_then(|block| block.member("text"))),
                    Some(_) | None => {}
                }
            }
            "content_block_delta" => {
                let delta = json.member("delta");
                self.say(delta.and_then(|delta| delta.member("text")));
                if let Some(part) = delta.and_then(|delta| delta.member("partial_json")) {
                    let place =
                        json.member("index").and_then(Json::scalar).unwrap_or("0").to_owned();
                    self.tool(&place, Some(part));
                }
            }
            "message_delta" => {
                self.reason(json.member("delta").and_then(|delta| delta.member("stop_reason")));
            }
            "message_stop" => self.ended = true,
            _ => {}
        }
    }

    fn responses(&mut self, json: &Json) {
        let kind = json.member("type").and_then(Json::text).unwrap_or_default();
        let response = json.member("response").unwrap_or(json);
        if matches!(kind, "response.completed" | "response.incomplete" | "response.done") {
            self.ended = true;
        }
        if let Some(details) = response.member("incomplete_details") {
            self.reason(details.member("reason"));
        }
        match kind {
            "response.output_text.delta" => self.say(json.member("delta")),
            "response.refusal.delta" => self.refused = true,
            "response.output_item.done" => self.item(json.member("item")),
            _ => {}
        }
        for item in response.member("output").map(Json::items).unwrap_or_default() {
            self.item(Some(item));
        }
    }

    fn item(&mut self, item: Option<&Json>) {
        let Some(item) = item else { return };
        match item.member("type").and_then(Json::text).unwrap_or_default() {
            "message" => self.content(item.member("content")),
            kind if kind.ends_with("_call") => self.visible = true,
            _ => {}
        }
    }

    fn say(&mut self, text: Option<&Json>) {
        if let Some(text) = text.and_then(Json::text).filter(|text| !text.trim().is_empty()) {
            self.visible = true;
            if self.text.len() + text.len() <= TEXT_MAX {
                self.text.push_str(text);
            }
        }
    }

    fn reason(&mut self, reason: Option<&Json>) {
        if let Some(reason) = reason.and_then(Json::text).filter(|reason| !reason.is_empty()) {
            self.reasons.push(reason.to_ascii_lowercase());
        }
    }

    fn tool(&mut self, place: &str, part: Option<&Json>) {
        let part = part.and_then(Json::text).unwrap_or_default();
        let room = self.tools.len() < TOOLS_MAX;
        match self.tools.iter_mut().rev().find(|(known, _)| known == place) {
            Some((_, arguments)) => arguments.push_str(part),
            None if room => self.tools.push((place.to_owned(), part.to_owned())),
            None => {}
        }
    }
}

/// What a stop reason says by itself.
fn reason_class(reason: &str) -> Option<(Class, &'static str)> {
    match reason {
        "length"
        | "max_tokens"
        | "max_output_tokens"
        | "max_token"
        | "model_length"
        | "max_completion_tokens"
        | "model_context_window_exceeded"
        | "max_length" => Some((Class::Truncated, "answer-length")),
        "content_filter"
        | "content_filtered"
        | "refusal"
        | "safety"
        | "recitation"
        | "prohibited_content"
        | "blocklist"
        | "spii"
        | "image_safety"
        | "sensitive"
        | "guardrail_intervened"
        | "error_toxic"
        | "model_armor"
        | "language"
        | "image_prohibited_content"
        | "content-filter"
        | "image_recitation" => Some((Class::ContentFilter, "answer-filtered")),
        "insufficient_system_resource" => Some((Class::Overloaded, "answer-no-resource")),
        "network_error" | "error" | "abort" | "error_limit" | "server_error" => {
            Some((Class::ServerError, "answer-failed"))
        }
        "malformed_function_call" | "unexpected_tool_call" => {
            Some((Class::EmptyResponse, "answer-malformed-call"))
        }
        _ => None,
    }
}

/// Whether tool arguments are whole: nothing at all, or one readable object.
fn complete(arguments: &str) -> bool {
    let arguments = arguments.trim();
    if arguments.is_empty() || arguments == "null" || arguments == "\"\"" {
        return true;
    }
    Json::parse(arguments).is_some_and(|parsed| parsed.whole && parsed.len == arguments.len())
}
