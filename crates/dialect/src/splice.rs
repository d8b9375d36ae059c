//! Changes in a body what must change, and nothing else.
//!
//! It refuses to rewrite: whatever an edit does not touch goes out as the bytes that came in, with
//! their order, blanks, escapes, long numbers and duplicate keys. A spliced body is a list of
//! pieces that share the original's memory, so that every attempt of a call holds it once.

mod apply;
mod plan;
mod turns;

use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use crate::request::Request;

/// A body in pieces; cheap to clone.
#[derive(Clone)]
pub struct Body {
    pieces: Arc<[Bytes]>,
    len: usize,
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Prompts must not reach logs by way of a debug print.
        f.debug_struct("Body")
            .field("pieces", &self.pieces.len())
            .field("bytes", &self.len)
            .finish()
    }
}

impl Body {
    /// A body of one piece.
    #[must_use]
    pub fn whole(bytes: Bytes) -> Self {
        Self { len: bytes.len(), pieces: Arc::new([bytes]) }
    }

    pub(crate) fn from_pieces(pieces: Vec<Bytes>) -> Self {
        Self { len: pieces.iter().map(Bytes::len).sum(), pieces: pieces.into() }
    }

    /// The pieces in order; none is empty but that of an empty body.
    pub fn pieces(&self) -> impl ExactSizeIterator<Item = &Bytes> {
        self.pieces.iter()
    }

    /// Total length, in bytes.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no byte.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All in one; copies unless it is one piece already.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        if let [only] = &*self.pieces {
            return only.clone();
        }
        let mut all = BytesMut::with_capacity(self.len);
        for piece in &*self.pieces {
            all.extend_from_slice(piece);
        }
        all.freeze()
    }
}

/// What to change. The default changes nothing.
///
/// Edits that a dialect has no place for do nothing there.
#[derive(Clone, Debug, Default)]
pub struct Edits<'a> {
    /// The model's name at the candidate.
    pub model: Option<&'a str>,
    /// The candidate's output limit in tokens: what is above it is lowered to it. Anthropic's
    /// thinking budget must stay below the limit, so it shrinks along, or goes when less than the
    /// vendor's smallest budget (1,024) would be left.
    pub max_tokens_cap: Option<u64>,
    /// Under which name Chat's output limit goes out.
    pub max_tokens_name: MaxTokensName,
    /// The effort level.
    pub effort: Effort<'a>,
    /// Anthropic's `thinking` parameter.
    pub thinking: ThinkingMode,
    /// Ask a Chat stream for its usage where the client did not.
    pub ask_usage: bool,
    /// User messages to put after the original ones (R9).
    pub append: Option<Append<'a>>,
    /// Members of the outermost object to leave out, such as `context_management`, `metadata`,
    /// `store`. `model` and the conversation cannot be left out.
    pub drop_members: &'a [&'a str],
    /// Members to leave out of every tool (and of Chat's `function` in it), such as
    /// `defer_loading`, `strict`.
    pub drop_tool_members: &'a [&'a str],
    /// Which of Anthropic's `thinking` and `redacted_thinking` blocks stay.
    pub thinking_blocks: ThinkingBlocks<'a>,
    /// Leave `reasoning_content` out of Chat's assistant messages.
    pub drop_reasoning_content: bool,
    /// Anthropic's `system` turns inside the conversation become user turns.
    pub system_turns_as_user: bool,
    /// Chat's and Responses' `developer` role becomes `system`.
    pub developer_as_system: bool,
}

/// Under which name Chat's output limit goes out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MaxTokensName {
    /// As the client wrote it.
    #[default]
    AsWritten,
    /// `max_tokens`, the name that compatible providers know.
    MaxTokens,
    /// `max_completion_tokens`, the only one that OpenAI's reasoning models take.
    MaxCompletionTokens,
}

/// What happens to the effort level.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Effort<'a> {
    /// As the client wrote it.
    #[default]
    AsWritten,
    /// This level, whether the client named one or not.
    Set(&'a str),
    /// None.
    Remove,
}

/// What happens to Anthropic's `thinking` parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ThinkingMode {
    /// As the client wrote it.
    #[default]
    AsWritten,
    /// `adaptive` becomes `enabled` with this budget in tokens; other values stay.
    AdaptiveAsBudget(u64),
    /// Left out.
    Remove,
}

/// User messages to append.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Append<'a> {
    /// How many.
    pub times: u8,
    /// What each says.
    pub text: &'a str,
}

/// Which thinking blocks stay.
#[derive(Clone, Copy, Default)]
pub enum ThinkingBlocks<'a> {
    /// All.
    #[default]
    Keep,
    /// None.
    Strip,
    /// Those whose signature (or `data`, when redacted) passes; blocks without any are stripped.
    KeepIf(&'a dyn Fn(&str) -> bool),
}

impl std::fmt::Debug for ThinkingBlocks<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Keep => "Keep",
            Self::Strip => "Strip",
            Self::KeepIf(_) => "KeepIf",
        })
    }
}

/// The body with these edits made.
#[must_use]
pub fn splice(request: &Request, edits: &Edits<'_>) -> Body {
    match plan::plan(request, edits) {
        Ok(changes) => apply::apply(request.body(), changes),
        // The body was read whole before, so its parts read again; were that ever wrong, the
        // client's own bytes are the honest answer.
        Err(_) => Body::whole(request.body().clone()),
    }
}

#[cfg(test)]
mod tests;
