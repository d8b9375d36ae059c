//! Unwrapping: from the many envelopes of an error to its codes, its messages and its numbers.
//!
//! It refuses to judge. Innermost first is the only order it knows, because whoever stands nearest to the trouble
//! knows most about it.

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::instant::{Instant, clock_span, epoch, instant, seconds, span};
use crate::json::Json;
use crate::prose::Named;
use crate::status::{leading_status, status_in};
use crate::words::{normal, tidy};

/// Envelopes inside envelopes that are opened.
const DEPTH_MAX: u32 = 16;
/// Bytes of one message that are kept.
const MESSAGE_MAX: usize = 8 * 1024;
/// Bytes of all messages together that are kept: every pattern of every rule is looked for in them.
const WORDS_MAX: usize = 16 * 1024;
/// Bytes of one piece of prose that are read.
const PROSE_MAX: usize = 64 * 1024;
/// Messages that are kept.
const MESSAGES_MAX: usize = 24;
/// Objects looked for inside one piece of prose.
const EMBEDDED_MAX: usize = 6;
/// Items of one array that are opened.
const ITEMS_MAX: usize = 12;

/// Letters of the longest member that names a wait.
const WAIT_KEY_MAX: usize = 20;

/// A machine code, with where it stood where that changes its meaning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Code {
    /// `""` for the usual members, `minimax`, `baidu` or `mistral` for vendors whose bare numbers clash with others'.
    pub(crate) space: &'static str,
    pub(crate) text: String,
}

/// All that an answer says about its failure.
#[derive(Default, Clone, Debug)]
pub(crate) struct Facts {
    /// The innermost HTTP status.
    pub(crate) status: Option<u16>,
    pub(crate) codes: Vec<Code>,
    /// Innermost first, as written.
    pub(crate) messages: Vec<String>,
    pub(crate) param: Option<String>,
    /// Waits of structured members.
    pub(crate) spans_ms: Vec<u64>,
    pub(crate) instants: Vec<Instant>,
    /// Header lines found inside the body (name in lower case).
    pub(crate) headers: Vec<(String, String)>,
    /// Sizes of structured members: prompt tokens, window.
    pub(crate) prompt_tokens: Option<u64>,
    pub(crate) window_tokens: Option<u64>,
    /// Whether anything in the body called itself an error.
    pub(crate) error_seen: bool,
}

/// Members that hold words for people.
const MESSAGE_KEYS: [&str; 19] = [
    "message",
    "msg",
    "error_msg",
    "status_msg",
    "detail",
    "error_message",
    "errorMessage",
    "Message",
    "description",
    "error_description",
    "title",
    "quotaId",
    "quotaMetric",
    "upstream_message",
    "uiMessage",
    "blockReasonMessage",
    "errMsg",
    "ErrorMessage",
    "reason_message",
];

impl Facts {
    /// Adds a body or a message of unknown form.
    pub(crate) fn add_text(&mut self, text: &str) {
        self.text(text, 0);
    }

    /// Adds a value that was read already.
    pub(crate) fn add_json(&mut self, value: &Json) {
        self.visit(value, 0);
    }

    /// Notes an outer status, which an inner one has already beaten.
    pub(crate) fn outer_status(&mut self, status: Option<u16>) {
        self.status = self.status.or(status);
    }

    /// All messages in the form that patterns are written for, innermost first, one a line.
    pub(crate) fn words(&self) -> String {
        let mut words = String::new();
        let wraps = |message: &str| message.eq_ignore_ascii_case("provider returned error");
        let unwrapped =
            self.messages.iter().any(|message| !wraps(message) && message.contains(' '));
        for message in &self.messages {
            if !(unwrapped && wraps(message)) {
                words.push_str(&normal(message));
                words.push('\n');
            }
        }
        for code in self.codes.iter().filter(|code| is_errno(&code.text)) {
            words.push_str(&normal(&code.text));
            words.push('\n');
        }
        words
    }

    /// The same with the case kept.
    pub(crate) fn original_words(&self) -> String {
        let mut words = String::new();
        for message in &self.messages {
            words.push_str(&tidy(message));
            words.push('\n');
        }
        words
    }

    fn text(&mut self, text: &str, depth: u32) {
        let text = text.trim();
        if text.is_empty() || depth > DEPTH_MAX {
            return;
        }
        if let Some(parsed) = Json::parse(text).filter(|parsed| worth_reading(&parsed.value)) {
            self.visit(&parsed.value, depth + 1);
            let rest = text.get(parsed.len..).unwrap_or_default().trim();
            if !rest.is_empty() {
                self.text(rest, depth + 1);
            }
            return;
        }
        let text = clip(text, PROSE_MAX);
        if let Some(page) = page(text) {
            self.status = self.status.or(status_in(&normal(&page)));
            self.message(&page);
            return;
        }
        let prose = self.embedded(text, depth);
        let prose = prose.trim();
        if !prose.is_empty() {
            let words = normal(prose);
            self.status = self.status.or(status_in(&words));
            self.codes_in(prose);
            self.message(prose);
        }
    }

    /// Opens the objects inside prose and returns the prose without them.
    fn embedded(&mut self, text: &str, depth: u32) -> String {
        let mut prose = String::new();
        let mut at = 0;
        for _ in 0..EMBEDDED_MAX {
            let Some(rest) = text.get(at..) else { break };
            let Some(open) = object_start(rest) else { break };
            let found = rest.get(open..).unwrap_or_default();
            let unescaped = found.starts_with("{\\\"").then(|| found.replace("\\\"", "\""));
            let Some(parsed) = Json::parse(unescaped.as_deref().unwrap_or(found)) else { break };
            prose.push_str(rest.get(..open).unwrap_or_default());
            self.visit(&parsed.value, depth + 1);
            if unescaped.is_some() {
                at = text.len();
                break;
            }
            at += open + parsed.len;
        }
        prose.push_str(text.get(at..).unwrap_or_default());
        prose
    }

    fn visit(&mut self, value: &Json, depth: u32) {
        if depth > DEPTH_MAX {
            return;
        }
        match value {
            Json::Arr(items) => {
                for item in items.iter().take(ITEMS_MAX) {
                    self.visit(item, depth + 1);
                }
            }
            Json::Obj(members) => self.object(members, depth),
            Json::Str(text) => self.text(text, depth + 1),
            Json::Null | Json::Bool(_) | Json::Num(_) => {}
        }
    }

    fn object(&mut self, members: &[(String, Json)], depth: u32) {
        let own_space = space(members);
        // Inner envelopes first, so that what they say stands first.
        for (key, value) in members {
            self.inner(key, value, depth);
        }
        // What a message says stands nearer to the trouble than the codes beside it.
        for (key, value) in members {
            self.said(key, value, depth);
        }
        for (key, value) in members {
            self.member(key, value, own_space);
        }
    }

    fn inner(&mut self, key: &str, value: &Json, depth: u32) {
        match key {
            "error" | "errors" | "err" | "header" | "upstream_error" | "metadata" | "raw"
            | "previous_errors" | "base_resp" | "response" | "innererror" | "inner_error"
            | "cause" | "body" | "data" | "details" | "provider_error" | "original_error"
            | "exception" | "lastError" | "last_error" | "failure" | "responseBody"
            | "error_details" | "violations" | "fieldViolations" | "Error" | "reasons"
            | "attempts" | "Response" => {
                self.error_seen |=
                    matches!(key, "error" | "errors" | "Error") && !matches!(value, Json::Null);
                match value {
                    Json::Str(text) => self.text(text, depth + 1),
                    Json::Obj(_) | Json::Arr(_) => self.visit(value, depth + 1),
                    Json::Null | Json::Bool(_) | Json::Num(_) => {}
                }
            }
            "headers" => {
                for (name, value) in value.members().iter().take(64) {
                    if let Some(value) = value.scalar() {
                        self.headers.push((name.to_ascii_lowercase(), value.to_owned()));
                    }
                }
            }
            _ => {}
        }
    }

    fn said(&mut self, key: &str, value: &Json, depth: u32) {
        if !MESSAGE_KEYS.contains(&key) {
            return;
        }
        match value {
            Json::Str(text) => self.text(text, depth + 1),
            Json::Obj(_) | Json::Arr(_) => self.visit(value, depth + 1),
            Json::Null | Json::Bool(_) | Json::Num(_) => {}
        }
    }

    fn member(&mut self, key: &str, value: &Json, own_space: &'static str) {
        match key {
            "code" | "type" | "status" | "error_code" | "errorCode" | "error_type"
            | "errorType" | "reason" | "__type" | "status_code" | "statusCode" | "http_status"
            | "httpStatus" | "upstream_status" | "raw_status_code" | "Code" | "http_code"
            | "upstream_code" | "errCode" | "code_name" | "statusText" | "status_name" => {
                self.code(key, value, own_space);
            }
            "param" => {
                if let Some(param) = value.text().filter(|param| !param.is_empty()) {
                    self.param.get_or_insert_with(|| param.to_owned());
                }
            }
            "n_prompt_tokens" => {
                self.prompt_tokens = value.scalar().and_then(|number| number.parse().ok());
            }
            "n_ctx" => self.window_tokens = value.scalar().and_then(|number| number.parse().ok()),
            _ => self.wait_member(key, value),
        }
    }

    fn code(&mut self, key: &str, value: &Json, own_space: &'static str) {
        let Some(text) = value.scalar() else { return };
        let number: Option<u16> = text.parse().ok();
        let http = number.filter(|number| (400..600).contains(number));
        match http {
            Some(status) if own_space.is_empty() => self.status = self.status.or(Some(status)),
            _ => {
                let (leading, rest) = leading_status(text);
                if let Some(status) = leading.filter(|_| number.is_none()) {
                    self.status = self.status.or(Some(status));
                }
                let text = if number.is_none() && leading.is_some() { rest } else { text };
                if text.is_empty()
                    || (number == Some(0))
                    || (key == "type" && matches!(text, "error" | "response.failed"))
                {
                    return;
                }
                self.push_code(own_space, text);
            }
        }
    }

    fn push_code(&mut self, space: &'static str, text: &str) {
        if self.codes.len() < 64 && text.len() <= 120 {
            self.codes.push(Code { space, text: text.to_owned() });
            // `user_weekly_rate_limited:pro`: the plan behind the colon changes nothing.
            if let Some((head, _)) = text.split_once(':').filter(|(head, _)| head.contains('_')) {
                self.codes.push(Code { space, text: head.to_owned() });
            }
        }
    }

    /// Machine codes inside prose: MiniMax's number in brackets at the end, `[1305]` of Zhipu's clients.
    fn codes_in(&mut self, prose: &str) {
        let trimmed = prose.trim_end_matches(['.', ' ', '\n']);
        let bracket = trimmed
            .strip_suffix(')')
            .and_then(|rest| rest.rsplit_once('('))
            .map(|(_, inner)| inner);
        if let Some(inner) = bracket.filter(|inner| is_four_digits(inner)) {
            self.push_code("minimax", inner);
        }
        for (at, _) in prose.match_indices('[').take(4) {
            let inner = prose.get(at + 1..at + 5).unwrap_or_default();
            if is_four_digits(inner) && prose.get(at + 5..at + 6) == Some("]") {
                self.push_code("", inner);
            }
        }
    }

    fn wait_member(&mut self, key: &str, value: &Json) {
        let Some(text) = value.scalar() else { return };
        let mut letters = [0; WAIT_KEY_MAX];
        let mut len = 0;
        for letter in key.bytes().filter(|letter| !matches!(letter, b'_' | b'-')) {
            let Some(slot) = letters.get_mut(len) else { return };
            *slot = letter.to_ascii_lowercase();
            len += 1;
        }
        let name = letters.get(..len).and_then(|name| core::str::from_utf8(name).ok());
        let text = text.trim();
        match name.unwrap_or_default() {
            "retryafterms" | "retryinms" | "providerretryafterms" | "waitms" => {
                self.spans_ms.extend(text.parse::<u64>().ok());
            }
            "retryafter" | "retryafterseconds" | "resetsinseconds" | "resetinseconds"
            | "resetafterseconds" | "retryinseconds" | "resetafter" | "retrydelay"
            | "quotaresetdelay" | "waitseconds" | "resetin" | "resetsin" | "retryafters"
            | "secondsuntilreset" | "retryin" | "cooldownseconds" => {
                match relative(&normal(text)) {
                    Some(ms) => self.spans_ms.push(ms),
                    None => self.instants.extend(whole_instant(text)),
                }
            }
            "resetsat"
            | "resetat"
            | "resettime"
            | "quotaresettimestamp"
            | "resettimestamp"
            | "retryat"
            | "availableat"
            | "nextresettime"
            | "resetdate"
            | "resetsattime"
            | "quotaresettime"
            | "nextreset" => {
                self.instants.extend(whole_instant(text));
            }
            "xratelimitreset" => {
                self.headers.push(("x-ratelimit-reset".to_owned(), text.to_string()));
            }
            _ => {}
        }
    }

    fn message(&mut self, text: &str) {
        let text = text.trim();
        if text.is_empty()
            || self.messages.len() >= MESSAGES_MAX
            || self.messages.iter().any(|known| known == text)
        {
            return;
        }
        let room = WORDS_MAX.saturating_sub(self.messages.iter().map(String::len).sum());
        let kept = clip(text, MESSAGE_MAX.min(room));
        if !kept.is_empty() {
            self.messages.push(kept.to_owned());
        }
    }
}

fn whole_instant(text: &str) -> Option<Instant> {
    instant(&normal(text), &tidy(text)).map(|(found, _)| found)
}

fn is_four_digits(text: &str) -> bool {
    text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a code is one of a network library: `ECONNRESET`, `UND_ERR_SOCKET`, `SELF_SIGNED_CERT_IN_CHAIN`.
fn is_errno(code: &str) -> bool {
    let shouts =
        code.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    shouts
        && ["E", "UND_ERR", "SELF_SIGNED", "UNABLE_TO", "CERT_", "DEPTH_ZERO"]
            .iter()
            .any(|start| code.starts_with(start))
        && code != "EMPTY_RESPONSE"
}

/// A span in any notation; a bare number is seconds.
pub(crate) fn relative(lower: &str) -> Option<u64> {
    let whole = |found: (u64, usize)| (found.1 == lower.len()).then_some(found.0);
    let sign = lower.starts_with('-');
    if sign {
        return Some(crate::wait::PAST_MS);
    }
    if epoch(lower).is_some_and(|found| found.1 == lower.len()) {
        return None;
    }
    span(lower)
        .and_then(whole)
        .or_else(|| seconds(lower).and_then(whole))
        .or_else(|| clock_span(lower).and_then(whole))
}

/// The wait of structured members: the longest span, else the latest instant.
pub(crate) fn structured(facts: &Facts) -> Option<Named> {
    match facts.spans_ms.iter().max() {
        Some(ms) => Some(Named::Ms(*ms)),
        None => facts.instants.first().cloned().map(Named::Until),
    }
}

/// The beginning of a text, at most so many bytes of it.
pub(crate) fn clip(text: &str, bytes_max: usize) -> &str {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Where the bare numbers of an object belong to.
fn space(members: &[(String, Json)]) -> &'static str {
    let has = |key: &str| members.iter().any(|(name, _)| name == key);
    if has("status_msg") && has("status_code") {
        "minimax"
    } else if has("error_msg") && has("error_code") {
        "baidu"
    } else if has("object") && has("message") && has("code") {
        "mistral"
    } else {
        ""
    }
}

/// An array or object with at least one named member in it: `[Errno 111] …` and `[500] …` are prose.
fn worth_reading(value: &Json) -> bool {
    !value.members().is_empty() || value.items().iter().any(|item| !item.members().is_empty())
}

/// Where an object begins that has a quoted name first.
fn object_start(text: &str) -> Option<usize> {
    let mut tries = 0;
    for (at, _) in text.match_indices('{') {
        let after = text.get(at + 1..)?.trim_start_matches([' ', '\n', '\r', '\t']);
        if after.starts_with('"') || after.starts_with('\'') || after.starts_with("\\\"") {
            return Some(at);
        }
        tries += 1;
        if tries > 64 {
            return None;
        }
    }
    None
}

/// The words of an HTML page: title, headings and text without markup, scripts and styles.
fn page(text: &str) -> Option<String> {
    if !text.contains('<') {
        return None;
    }
    let head: String = text.chars().take(400).collect::<String>().to_ascii_lowercase();
    if !["<html", "<!doctype", "<title", "<head", "<body", "<h1", "<center"]
        .iter()
        .any(|tag| head.contains(tag))
    {
        return None;
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('<') {
        out.push_str(rest.get(..open).unwrap_or_default());
        out.push(' ');
        let tag = rest.get(open..).unwrap_or_default();
        let skipped =
            ["<script", "<style"].iter().zip(["</script", "</style"]).find(|(start, _)| {
                tag.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start))
            });
        let from = match skipped {
            Some((_, end)) => tag.find(end).unwrap_or(tag.len()),
            None => 0,
        };
        let close = tag
            .get(from..)
            .and_then(|tail| tail.find('>'))
            .map_or(tag.len(), |close| from + close + 1);
        rest = tag.get(close..).unwrap_or_default();
        if out.len() > MESSAGE_MAX {
            break;
        }
    }
    out.push_str(rest);
    Some(out.split_whitespace().collect::<Vec<_>>().join(" "))
}
