//! Errors as whole answers.

use bytes::Bytes;
use serde::Serialize;

use crate::Dialect;
use crate::write::{Reply, to_json};

/// What is wrong, as far as it decides status and type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fault {
    /// 400: the request is refused as it is.
    InvalidRequest,
    /// 401: no token of ours, or a wrong one.
    Unauthorized,
    /// 403: the token may not do this.
    Forbidden,
    /// 404.
    NotFound,
    /// 405.
    MethodNotAllowed,
    /// 413. Coding clients take it for context overflow.
    TooLarge,
    /// 415: a content coding or type that is not read.
    UnsupportedMedia,
    /// 426: no web socket here.
    UpgradeRequired,
    /// 429.
    RateLimited,
    /// 500: our own fault.
    Internal,
    /// 502: upstream gave nothing usable.
    BadGateway,
    /// 503: not now.
    Unavailable,
    /// 504: the deadline passed.
    Timeout,
}

impl Fault {
    /// HTTP status.
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Self::InvalidRequest => 400,
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::TooLarge => 413,
            Self::UnsupportedMedia => 415,
            Self::UpgradeRequired => 426,
            Self::RateLimited => 429,
            Self::Internal => 500,
            Self::BadGateway => 502,
            Self::Unavailable => 503,
            Self::Timeout => 504,
        }
    }

    /// `error.type` in Anthropic's list (its API reference, "Errors").
    const fn anthropic_type(self) -> &'static str {
        match self {
            Self::InvalidRequest
            | Self::MethodNotAllowed
            | Self::UnsupportedMedia
            | Self::UpgradeRequired => "invalid_request_error",
            Self::Unauthorized => "authentication_error",
            Self::Forbidden => "permission_error",
            Self::NotFound => "not_found_error",
            Self::TooLarge => "request_too_large",
            Self::RateLimited => "rate_limit_error",
            Self::Internal | Self::BadGateway => "api_error",
            Self::Unavailable => "overloaded_error",
            Self::Timeout => "timeout_error",
        }
    }

    /// `error.type` and `error.code` as OpenAI uses them.
    const fn openai_type(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::InvalidRequest
            | Self::NotFound
            | Self::MethodNotAllowed
            | Self::TooLarge
            | Self::UnsupportedMedia
            | Self::UpgradeRequired => ("invalid_request_error", None),
            Self::Unauthorized => ("invalid_request_error", Some("invalid_api_key")),
            Self::Forbidden => ("invalid_request_error", Some("permission_denied")),
            Self::RateLimited => ("requests", Some("rate_limit_exceeded")),
            Self::Internal | Self::BadGateway | Self::Timeout => {
                ("server_error", Some("server_error"))
            }
            Self::Unavailable => ("server_error", Some("server_is_overloaded")),
        }
    }
}

#[derive(Serialize)]
struct OpenAiBody<'a> {
    error: OpenAiError<'a>,
}

#[derive(Serialize)]
pub(super) struct OpenAiError<'a> {
    message: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    param: Option<&'a str>,
    code: Option<&'a str>,
}

#[derive(Serialize)]
struct AnthropicBody<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    error: AnthropicError<'a>,
}

#[derive(Serialize)]
struct AnthropicError<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    message: &'a str,
}

/// The parts of an error in all dialects.
#[derive(Clone, Copy)]
pub(super) struct Parts<'a> {
    pub(super) anthropic_type: &'a str,
    pub(super) openai_type: &'a str,
    pub(super) code: Option<&'a str>,
    pub(super) param: Option<&'a str>,
    pub(super) message: &'a str,
}

impl<'a> Parts<'a> {
    pub(super) const fn of(fault: Fault, message: &'a str) -> Self {
        let (openai_type, code) = fault.openai_type();
        Self { anthropic_type: fault.anthropic_type(), openai_type, code, param: None, message }
    }

    pub(super) fn body(&self, dialect: Dialect) -> Bytes {
        match dialect {
            Dialect::OpenAiChat | Dialect::OpenAiResponses => {
                to_json(&OpenAiBody { error: self.openai() })
            }
            Dialect::AnthropicMessages => {
                let error = AnthropicError { kind: self.anthropic_type, message: self.message };
                to_json(&AnthropicBody { kind: "error", error })
            }
        }
    }

    const fn openai(&self) -> OpenAiError<'a> {
        OpenAiError {
            message: self.message,
            kind: self.openai_type,
            param: self.param,
            code: self.code,
        }
    }

    fn reply(&self, dialect: Dialect, status: u16) -> Reply {
        Reply {
            status,
            headers: vec![("content-type", "application/json".to_owned())],
            body: self.body(dialect),
        }
    }
}

/// An error of that kind. `param` names the member at fault, where the dialect has a place for it.
#[must_use]
pub fn error(dialect: Dialect, fault: Fault, message: &str, param: Option<&str>) -> Reply {
    Parts { param, ..Parts::of(fault, message) }.reply(dialect, fault.status())
}

/// 404 for a path that does not exist.
#[must_use]
pub fn not_found(dialect: Dialect, message: &str) -> Reply {
    error(dialect, Fault::NotFound, message, None)
}

/// 404 for a model that does not exist (R1), in whatever words.
#[must_use]
pub fn unknown_model(dialect: Dialect, message: &str) -> Reply {
    Parts {
        code: Some("model_not_found"),
        param: Some("model"),
        ..Parts::of(Fault::NotFound, message)
    }
    .reply(dialect, Fault::NotFound.status())
}

/// The longest `Retry-After` that every client obeys, in seconds: beyond it Claude Code gives up at
/// once, and Qwen Code, openai-js and the AI SDK retry as if nothing had been said.
const RETRY_AFTER_MAX_S: u64 = 60;

/// 429: no candidate can run now, one can in `retry_after_s` seconds (R5; kept within 1 to 60).
#[must_use]
pub fn retry_later(dialect: Dialect, message: &str, retry_after_s: u64) -> Reply {
    Parts::of(Fault::RateLimited, message)
        .reply(dialect, Fault::RateLimited.status())
        .with("retry-after", retry_after_s.clamp(1, RETRY_AFTER_MAX_S).to_string())
}

/// The type and the code of a call that a person stopped.
const CALL_STOPPED: &str = "call_stopped";

/// Nothing gets better today: the form that makes each dialect's clients stop asking (R45).
///
/// Anthropic clients retry 429 and every 5xx unless the header forbids it; OpenAI's stop at
/// `insufficient_quota`, Codex only with a 429 that names no wait.
#[must_use]
pub fn do_not_retry(dialect: Dialect, message: &str) -> Reply {
    let status = match dialect {
        Dialect::OpenAiChat | Dialect::OpenAiResponses => 429,
        Dialect::AnthropicMessages => 529,
    };
    Parts::exhausted(message).reply(dialect, status).with("x-should-retry", "false")
}

/// A person stopped the call: nobody's fault, and not to be asked again (P5).
///
/// 499 is what gateways answer for a cancelled request, and none of the libraries repeats it; 400
/// makes Claude Code ask once more. Codex repeats any status that it does not know, but not 400.
#[must_use]
pub fn stopped(dialect: Dialect, message: &str) -> Reply {
    let status = match dialect {
        Dialect::OpenAiChat | Dialect::AnthropicMessages => 499,
        Dialect::OpenAiResponses => 400,
    };
    Parts::stopped(message).reply(dialect, status).with("x-should-retry", "false")
}

/// The conversation is too large: the one shape per dialect that its clients compact on (R15).
///
/// `tokens` is the size of the prompt, `window` the most that the model takes.
#[must_use]
pub fn context_overflow(dialect: Dialect, tokens: Option<u64>, window: Option<u64>) -> Reply {
    let message = overflow_message(dialect, tokens, window);
    Parts::overflow(&message).reply(dialect, Fault::InvalidRequest.status())
}

impl<'a> Parts<'a> {
    pub(super) const fn exhausted(message: &'a str) -> Self {
        Self {
            anthropic_type: "overloaded_error",
            openai_type: "insufficient_quota",
            code: Some("insufficient_quota"),
            param: None,
            message,
        }
    }

    /// No vendor has a type for it; what names another cause would be untrue.
    pub(super) const fn stopped(message: &'a str) -> Self {
        Self {
            anthropic_type: CALL_STOPPED,
            openai_type: CALL_STOPPED,
            code: Some(CALL_STOPPED),
            param: None,
            message,
        }
    }

    pub(super) const fn overflow(message: &'a str) -> Self {
        Self {
            anthropic_type: "invalid_request_error",
            openai_type: "invalid_request_error",
            code: Some("context_length_exceeded"),
            param: Some("messages"),
            message,
        }
    }
}

/// The sentences that clients search for. Nothing may stand around Anthropic's, and neither may
/// speak of rates or of too many requests.
pub(super) fn overflow_message(
    dialect: Dialect,
    tokens: Option<u64>,
    window: Option<u64>,
) -> String {
    match dialect {
        Dialect::AnthropicMessages => match (tokens, window) {
            (Some(tokens), Some(window)) => {
                format!("prompt is too long: {tokens} tokens > {window} maximum")
            }
            (Some(_), None) | (None, Some(_) | None) => "prompt is too long".to_owned(),
        },
        Dialect::OpenAiChat | Dialect::OpenAiResponses => {
            let window = window.map_or_else(
                || "This model's maximum context length was exceeded.".to_owned(),
                |window| format!("This model's maximum context length is {window} tokens."),
            );
            let tokens = tokens.map_or_else(String::new, |tokens| {
                format!(" However, your messages resulted in {tokens} tokens.")
            });
            format!("{window}{tokens} Please reduce the length of the messages.")
        }
    }
}
