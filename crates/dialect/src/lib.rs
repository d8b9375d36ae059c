//! The wire formats: bytes into events, and back.
//!
//! This crate refuses to know sockets, clocks and settings. It opens nothing, waits for nothing and
//! decides nothing about candidates: it says what the bytes of a client or of an upstream mean, and
//! writes the bytes that a client of that dialect understands. Times come as arguments.
//!
//! - [`sse`] cuts a byte stream into server-sent events, each with its original bytes;
//! - [`request`] reads what a call asks for; [`splice`] changes what must change in it, and nothing else;
//! - [`stream`] and [`whole`] say what an answer has shown so far and how it ended;
//! - [`write`](mod@write) makes errors, keep-alives and model lists in the asker's dialect.

mod answer;
mod json;
pub mod request;
pub mod splice;
pub mod sse;
pub mod stream;
pub mod whole;
pub mod write;

#[cfg(test)]
mod testing;

pub use json::JsonError;

/// The language that a client or an upstream speaks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Dialect {
    /// OpenAI Chat Completions, `POST /v1/chat/completions`.
    OpenAiChat,
    /// OpenAI Responses, `POST /v1/responses`.
    OpenAiResponses,
    /// Anthropic Messages, `POST /v1/messages`.
    AnthropicMessages,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 3] = [Self::OpenAiChat, Self::OpenAiResponses, Self::AnthropicMessages];

    /// The name used in settings, API and journal.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::AnthropicMessages => "anthropic-messages",
        }
    }

    /// The dialect of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.name() == name)
    }
}
