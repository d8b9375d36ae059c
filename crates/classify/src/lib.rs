//! From the evidence of a failure to its class and its wait.
//!
//! This crate refuses to do anything about a failure: it says what went wrong (spec section 3) and when the sender
//! says it will be over, and the engine decides. It also refuses regular expressions, a time-zone database, clocks
//! and everything else that would not fit into a small WebAssembly module: one classifier serves the gateway and the
//! plugin. Nothing in it panics, recurses without bound, or takes more than linear time, whatever an upstream sends.
//!
//! The order of judgement: our own abort; for an answer, what its innermost error says by the rules of
//! [`rules()`]; for a 200, whether it says anything and why it stopped; for a connection, the words of the library.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod answer;
mod civil;
mod decide;
mod facts;
mod index;
mod instant;
mod json;
mod line;
mod prose;
mod rules;
mod sizes;
mod status;
mod wait;
mod words;

pub use civil::{Civil, CivilDate, Zone};
pub use decide::classify;
pub use line::{Line, LineVerdict, Phase, Printed};
pub use rules::{Rule, rules};
pub use wait::{NamedWait, span_until};

use alloc::string::String;

use ekiden_engine::class::Failure;

/// What was seen of a failure.
#[derive(Clone, Copy, Debug)]
pub enum Evidence<'a> {
    /// A whole HTTP answer; with status 200 the body is judged too, as JSON or as an event stream.
    Http {
        /// The status, `None` where only a client's rendering of the answer is known.
        status: Option<u16>,
        /// Names and values.
        headers: &'a [(&'a str, &'a str)],
        /// The body as text.
        body: &'a str,
    },
    /// One event inside a stream that began with 200.
    StreamEvent {
        /// Headers of the answer.
        headers: &'a [(&'a str, &'a str)],
        /// The event's data.
        data: &'a str,
    },
    /// A connection that gave no answer, or broke off.
    Transport {
        /// What is known without reading text.
        kind: Option<TransportKind>,
        /// Who was at the other end.
        peer: Peer,
        /// The error's text, with its causes.
        text: &'a str,
    },
    /// What a host hands its plugins.
    Host {
        /// The host's own code.
        code: &'a str,
        /// The message; `429: ` at its start is read as a status.
        message: &'a str,
        /// The status, where the host knows it.
        status: Option<u16>,
    },
}

/// What a connection failed of, as far as a program can tell without reading text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TransportKind {
    /// Nobody listens.
    Refused,
    /// The name has no address.
    Dns,
    /// There is no way to the address.
    Unreachable,
    /// The handshake failed; the text says whether for want of trust.
    Tls,
    /// Reset by the other side.
    Reset,
    /// Nothing came in time.
    Timeout,
    /// Ended before it was whole.
    Eof,
    /// A chunk or an event that cannot be read.
    MalformedChunk,
}

/// Who is at the other end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Peer {
    /// A machine elsewhere.
    #[default]
    Remote,
    /// This machine: a local model server.
    Loopback,
    /// The configured proxy.
    Proxy,
}

/// Whether we ended the attempt ourselves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum OurAbort {
    /// We did not.
    #[default]
    No,
    /// The client or the user wanted it.
    Stopped,
    /// A deadline of ours passed.
    Deadline,
}

/// What is known besides the evidence.
#[derive(Clone, Copy, Default, Debug)]
pub struct Context<'a> {
    /// Whether we ended the attempt ourselves; texts that speak of aborts prove nothing.
    pub our_abort: OurAbort,
    /// Unix milliseconds.
    pub now_wall_ms: Option<u64>,
    /// The provider's name, if known: it decides the zone of times that name none.
    pub provider: Option<&'a str>,
}

/// What went wrong.
#[derive(Clone, PartialEq, Debug)]
pub struct Verdict {
    /// Class, origin, scope and reach. Its wait is `Unnamed` while [`Verdict::wait`] is a [`NamedWait::Civil`].
    pub failure: Failure,
    /// The wait, as far as it can be known without a zone database.
    pub wait: NamedWait,
    /// The instant of recovery where one is named, perhaps beside a span.
    pub until: NamedWait,
    /// The rule that decided.
    pub rule: &'static str,
    /// The innermost message that says something, unmasked: it may echo a prompt or a key.
    pub message: Option<String>,
    /// The innermost machine code.
    pub code: Option<String>,
    /// The parameter that the error names.
    pub param: Option<String>,
    /// Sizes that an overflow names.
    pub sizes: Sizes,
}

/// Sizes in tokens that a context overflow names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Sizes {
    /// Of the prompt (with some vendors, of prompt and wished-for output together).
    pub prompt_tokens: Option<u64>,
    /// Of the model's window.
    pub window_tokens: Option<u64>,
}
