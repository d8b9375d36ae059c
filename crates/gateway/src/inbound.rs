//! A call as it came in: read, named and limited, with nothing decided yet.
//!
//! This module refuses to do anything: it is what the server hands to the relay.

use std::sync::Arc;

use ekiden_config::Language;
use ekiden_dialect::{Dialect, request};
use ekiden_engine::Purpose;
use http::HeaderMap;

use crate::core::spending::Reserved;
use crate::front::{HeldBytes, OpenCall};
use crate::plan::QueueRuntime;

/// A call, ready to be relayed.
#[derive(Debug)]
pub struct Inbound {
    /// What the client speaks, and what it is answered in.
    pub dialect: Dialect,
    /// The body, read once and shared by all attempts.
    pub request: Arc<request::Request>,
    /// The queue that its model name means (R1).
    pub queue: Arc<QueueRuntime>,
    /// Whose conversation it belongs to (G4).
    pub session: SessionKey,
    /// Whether a user waits for it (R47).
    pub purpose: Purpose,
    /// Who asks, as far as it changes the answer.
    pub client: ClientProfile,
    /// The call ends this many milliseconds after it began (R8); `None`: no limit.
    pub deadline_ms: Option<u64>,
    /// The client's own headers; few of them go on (G14).
    pub headers: HeaderMap,
    /// The query of the client's URL, without `?`.
    pub query: Option<String>,
    /// Keep it while the call lives: it bounds open calls and held bodies.
    pub permit: CallPermit,
}

/// Which conversation a call belongs to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SessionKey {
    /// The same for every call of the session and for no other: the digest of the client's key,
    /// then the session's name. Empty for [`SessionKind::Background`].
    pub key: String,
    /// How well it is known.
    pub kind: SessionKind,
    /// The agent inside the session, if the client names one; seats and quarantine go by session.
    pub agent: Option<String>,
}

/// How well a session is known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SessionKind {
    /// The client names it: seats outlive calls (R24).
    Named,
    /// Recognised by the root of its conversation: seats are held for the call alone.
    Fingerprint,
    /// The bucket of calls that have no session (R20).
    Background,
}

/// Who asks, as far as it changes the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClientProfile {
    /// The program.
    pub program: Program,
    /// Whether it asked for usage in the stream; if not, ours is taken out again.
    pub wants_usage: bool,
    /// What the person behind it reads.
    pub language: Language,
}

impl ClientProfile {
    /// How a failure after output is told to it (R10).
    #[must_use]
    pub const fn told_by(&self) -> ToldBy {
        self.program.told_by()
    }
}

/// Client programs that are known by their `User-Agent`, Cline by its system text, and whose
/// behaviour was measured.
///
/// pi and aider show their library's name alone, and are told like it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Program {
    /// Claude Code.
    ClaudeCode,
    /// Codex CLI.
    Codex,
    /// opencode.
    Opencode,
    /// Qwen Code.
    QwenCode,
    /// Cline.
    Cline,
    /// A library, or a program that nothing is known about.
    Other,
}

impl Program {
    /// How a failure after output is told. Every measured coding agent repeats the turn when the
    /// connection is cut, and some of them give up on an error event; libraries raise the event as
    /// an exception and take a cut for one of their own.
    #[must_use]
    pub const fn told_by(self) -> ToldBy {
        match self {
            Self::ClaudeCode | Self::Opencode | Self::QwenCode => ToldBy::Cut,
            // Codex knows `response.failed` and tries again (Responses only). Cline asks again after
            // a cut, and shows the piece and the whole as one answer: better that it gives up.
            Self::Codex | Self::Cline | Self::Other => ToldBy::Event,
        }
    }

    /// Its name in the API.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::QwenCode => "qwen-code",
            Self::Cline => "cline",
            Self::Other => "other",
        }
    }
}

/// How a failure after output is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ToldBy {
    /// An error event of the dialect, then the end of the stream.
    Event,
    /// The connection is cut.
    Cut,
}

/// Bounds open calls and held bodies; all are given back when it is dropped.
#[expect(dead_code, reason = "kept for what dropping them gives back")]
#[derive(Debug, Default)]
pub struct CallPermit {
    /// Its place among the open calls; `None`: it is not counted.
    pub(crate) call: Option<OpenCall>,
    /// The body's share of what may be held.
    pub(crate) held: Option<HeldBytes>,
    /// Its place among the open calls of its token.
    pub(crate) token: Option<OpenCall>,
    /// The id of that token, for the ledger.
    pub(crate) payer: Option<Arc<str>>,
    /// What it may take from that token's budget.
    pub(crate) reserved: Option<Reserved>,
}
