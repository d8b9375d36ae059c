//! What a call would do now, and why.
//!
//! It refuses to do it: the call is made up, decided once, and thrown away.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use ekiden_dialect::Dialect;
use ekiden_engine::{
    Call, CallId, CallSpec, Decision, Delivery, History, Purpose, Seating, SessionId,
};

use crate::explain::{Step, route, steps};
use crate::front::Front;
use crate::plan::QueueRuntime;

use super::refusal::Refusal;

/// The call that is asked about.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "DryRunCall")]
pub(in crate::front) struct Wish {
    /// Whose: a session's key, or its own name; a new session if left out or unknown.
    session: Option<String>,
    /// What the client speaks; what the first candidate speaks if left out.
    dialect: Option<DialectName>,
    /// The size of the conversation in tokens; 0: unknown.
    input_tokens: u32,
    /// Whether it is a client's own chore, such as a title.
    internal: bool,
}

/// What a client speaks.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[schemars(rename = "DialectName")]
enum DialectName {
    #[serde(rename = "openai-chat")]
    OpenAiChat,
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    #[serde(rename = "anthropic-messages")]
    AnthropicMessages,
}

/// What it would do.
#[derive(Serialize, JsonSchema)]
pub(in crate::front) struct DryRun {
    queue: Arc<str>,
    /// The session's key; none: a new one.
    session: Option<Arc<str>>,
    /// `run`, `wait` or `refuse`.
    would: &'static str,
    /// Whom it would ask.
    route: Option<Arc<str>>,
    /// How long it would wait at most before it looks again.
    wait_ms: Option<u64>,
    /// Whom it would pass over and why, what it would do, and whose turn would come later, as in a
    /// call's steps.
    steps: Vec<Step>,
}

impl Front {
    pub(super) fn dry_run(
        &self,
        queue: &QueueRuntime,
        wish: &Wish,
    ) -> Result<DryRun, Box<Refusal>> {
        let names = self.core.names();
        let known = match wish.session.as_deref() {
            None => None,
            Some(name) => self.session_if_known(name)?,
        };
        let own = || queue.candidates.first().map(|first| first.provider.dialect);
        let dialect = wish.dialect.map(DialectName::dialect).or_else(own);
        let dialect = dialect.unwrap_or(Dialect::OpenAiChat);
        let spec = CallSpec {
            // Calls are counted from 1.
            id: CallId(0),
            queue: Arc::clone(queue.engine(dialect)),
            session: known.unwrap_or(SessionId(u64::MAX)),
            seating: match known {
                Some(SessionId::BACKGROUND) => Seating::Call,
                Some(_) | None => Seating::Session,
            },
            purpose: if wish.internal { Purpose::Internal } else { Purpose::Main },
            delivery: Delivery::Stream,
            history: History::Ongoing,
            input_tokens: wish.input_tokens,
            deadline_ms: None,
            seed: 0,
            tried: Vec::new(),
        };
        let mut call = Call::new(spec);
        let began = self.core.clock().now();
        let decision = self.core.preview(&mut call);
        let (would, candidate, wait_ms) = match decision {
            Decision::Go(start) => ("run", Some(start.candidate), None),
            // The seat is there, or the call would be told to wait.
            Decision::Lease { candidate } => ("run", Some(candidate), None),
            Decision::Pause { ms, .. } | Decision::Wait { ms, .. } => ("wait", None, Some(ms)),
            Decision::Judge { .. } | Decision::Exhausted(_) => ("refuse", None, None),
        };
        Ok(DryRun {
            queue: Arc::clone(&queue.id),
            session: known.map(|session| names.session_name(session)),
            would,
            route: candidate.map(|candidate| route(queue, candidate)),
            wait_ms,
            steps: steps(queue, dialect, began, &call.trace()),
        })
    }
}

impl DialectName {
    const fn dialect(self) -> Dialect {
        match self {
            Self::OpenAiChat => Dialect::OpenAiChat,
            Self::OpenAiResponses => Dialect::OpenAiResponses,
            Self::AnthropicMessages => Dialect::AnthropicMessages,
        }
    }
}
