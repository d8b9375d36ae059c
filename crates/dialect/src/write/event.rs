//! Events that the gateway puts into a stream itself.

use bytes::Bytes;
use serde::Serialize;

use crate::Dialect;
use crate::write::error::{Fault, Parts, overflow_message};
use crate::write::to_json;

/// Why a stream ends without being whole.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StreamFault {
    /// The candidate broke off after its output was let through; asking again may help.
    Broken,
    /// Nobody answers just now; asking again may help.
    Overloaded,
    /// Nothing gets better today; asking again does not help.
    Exhausted,
    /// A person stopped the call; asking again is not wanted (P5).
    Stopped,
    /// The request is refused as it is.
    InvalidRequest,
    /// The conversation is too large (R15).
    ContextOverflow {
        /// The size of the prompt, in tokens.
        tokens: Option<u64>,
        /// The most that the model takes, in tokens.
        window: Option<u64>,
    },
}

/// An error event: after it the stream ends, without the dialect's terminal event (R10).
///
/// `response_id` is the id that a Responses client was given in `response.created`. The message of
/// an overflow is the canonical sentence; `message` is then unread.
#[must_use]
pub fn error_event(
    dialect: Dialect,
    fault: StreamFault,
    message: &str,
    response_id: Option<&str>,
) -> Bytes {
    let overflow;
    let parts = match fault {
        StreamFault::Broken => Parts::of(Fault::BadGateway, message),
        StreamFault::Overloaded => Parts::of(Fault::Unavailable, message),
        StreamFault::Exhausted => Parts::exhausted(message),
        StreamFault::Stopped => Parts::stopped(message),
        StreamFault::InvalidRequest => {
            // Codex gives up on this code; without one it would send the same again.
            Parts { code: Some("invalid_prompt"), ..Parts::of(Fault::InvalidRequest, message) }
        }
        StreamFault::ContextOverflow { tokens, window } => {
            overflow = overflow_message(dialect, tokens, window);
            Parts::overflow(&overflow)
        }
    };
    match dialect {
        Dialect::OpenAiChat => framed("", &parts.body(dialect)),
        Dialect::AnthropicMessages => framed("error", &parts.body(dialect)),
        Dialect::OpenAiResponses => {
            let code = match fault {
                // Codex tries again on this code, and stops on `server_is_overloaded`.
                StreamFault::Broken | StreamFault::Overloaded => "server_error",
                // It repeats what has a code that it does not know; the message says what happened.
                StreamFault::Stopped => "invalid_prompt",
                StreamFault::Exhausted
                | StreamFault::InvalidRequest
                | StreamFault::ContextOverflow { .. } => parts.code.unwrap_or("server_error"),
            };
            let error = ResponseError { code, message: parts.message };
            let response = Response {
                id: response_id.unwrap_or("resp_failed"),
                object: "response",
                created_at: None,
                status: "failed",
                error: Some(error),
                incomplete_details: None,
                model: None,
                output: [],
                usage: None,
            };
            framed(
                "response.failed",
                &to_json(&ResponseEvent { kind: "response.failed", sequence_number: 0, response }),
            )
        }
    }
}

/// What keeps a waiting client of the dialect alive (G2).
///
/// A comment is enough for Chat clients. Anthropic's may come before `message_start`. Codex counts
/// events with data alone, and the OpenAI libraries want [`responses_created`] before any of them.
#[must_use]
pub const fn keep_alive(dialect: Dialect) -> Bytes {
    Bytes::from_static(match dialect {
        Dialect::OpenAiChat => b": keep-alive\n\n",
        Dialect::OpenAiResponses => b"event: keepalive\ndata: {\"type\":\"keepalive\"}\n\n",
        Dialect::AnthropicMessages => b"event: ping\ndata: {\"type\":\"ping\"}\n\n",
    })
}

/// The `response.created` that must come before a Responses keep-alive.
///
/// `created_s` is in Unix seconds.
#[must_use]
pub fn responses_created(id: &str, model: &str, created_s: u64) -> Bytes {
    let response = Response {
        id,
        object: "response",
        created_at: Some(created_s),
        status: "in_progress",
        error: None,
        incomplete_details: None,
        model: Some(model),
        output: [],
        usage: None,
    };
    let event = ResponseEvent { kind: "response.created", sequence_number: 0, response };
    framed("response.created", &to_json(&event))
}

#[derive(Serialize)]
struct ResponseEvent<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    sequence_number: u64,
    response: Response<'a>,
}

#[derive(Serialize)]
struct Response<'a> {
    id: &'a str,
    object: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<u64>,
    status: &'static str,
    error: Option<ResponseError<'a>>,
    incomplete_details: Option<()>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    output: [(); 0],
    usage: Option<()>,
}

#[derive(Serialize)]
struct ResponseError<'a> {
    code: &'a str,
    message: &'a str,
}

/// One event; JSON text has no line feeds, so one data line holds it.
fn framed(name: &str, data: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(name.len() + data.len() + 18);
    if !name.is_empty() {
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(name.as_bytes());
        out.push(b'\n');
    }
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(data);
    out.extend_from_slice(b"\n\n");
    Bytes::from(out)
}
