//! One line of an error corpus, in and out.
//!
//! It refuses to read or write JSON and to look up zones: whoever prints lines does that.

use ekiden_engine::class::{Class, Reach};

use crate::civil::Civil;
use crate::wait::{NamedWait, span_until};
use crate::{Context, Evidence, OurAbort, Peer, Verdict, classify};

/// A quota's wait from which on the end of the wait is the quota's reset: five minutes, in milliseconds.
const RESET_FROM_MS: u64 = 300_000;

/// Where the failure was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// In an HTTP answer.
    Http,
    /// In an event stream.
    Sse,
    /// On the connection.
    Transport,
    /// By a plugin's host.
    Host,
}

impl Phase {
    /// The phase of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "http" => Some(Self::Http),
            "sse" => Some(Self::Sse),
            "transport" => Some(Self::Transport),
            "host" => Some(Self::Host),
            _ => None,
        }
    }
}

/// The members of a line that the judgement needs.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// HTTP status.
    pub status: Option<u16>,
    /// Names and values.
    pub headers: &'a [(&'a str, &'a str)],
    /// The body, the transport error's text, or the host's message.
    pub body: &'a str,
    /// Where it was seen.
    pub phase: Phase,
    /// The host's code.
    pub code: Option<&'a str>,
    /// Whether the abort was our own.
    pub our_abort: OurAbort,
    /// Unix milliseconds.
    pub now_wall_ms: Option<u64>,
    /// The provider's name.
    pub provider: Option<&'a str>,
}

/// The judgement of a line, before zones are looked up.
#[derive(Clone, PartialEq, Debug)]
pub struct LineVerdict {
    verdict: Option<Verdict>,
    now_wall_ms: Option<u64>,
}

/// What is printed for a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Printed {
    /// The class, `None` for an answer with nothing wrong in it.
    pub class: Option<Class>,
    /// The wait in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// The instant of recovery in Unix milliseconds.
    pub resets_at_ms: Option<u64>,
    /// For [`Class::InvalidRequest`], whether another model may accept the request.
    pub model_specific: Option<bool>,
}

impl Line<'_> {
    /// Judges the line.
    #[must_use]
    pub fn judge(&self) -> LineVerdict {
        let context = Context {
            our_abort: self.our_abort,
            now_wall_ms: self.now_wall_ms,
            provider: self.provider,
        };
        let evidence = match self.phase {
            Phase::Http | Phase::Sse => {
                Evidence::Http { status: self.status, headers: self.headers, body: self.body }
            }
            Phase::Transport => {
                Evidence::Transport { kind: None, peer: Peer::Remote, text: self.body }
            }
            Phase::Host => Evidence::Host {
                code: self.code.unwrap_or("UNKNOWN"),
                message: self.body,
                status: self.status,
            },
        };
        LineVerdict { verdict: classify(&evidence, &context), now_wall_ms: self.now_wall_ms }
    }
}

impl LineVerdict {
    /// The verdict, `None` for an answer with nothing wrong in it.
    #[must_use]
    pub fn verdict(&self) -> Option<&Verdict> {
        self.verdict.as_ref()
    }

    /// What to print; `resolve` turns a calendar time in a zone that has to be looked up into Unix milliseconds,
    /// given now.
    #[must_use]
    pub fn print(&self, resolve: impl Fn(&Civil, u64) -> Option<u64>) -> Printed {
        let Some(verdict) = &self.verdict else {
            return Printed {
                class: None,
                retry_after_ms: None,
                resets_at_ms: None,
                model_specific: None,
            };
        };
        let class = verdict.failure.class;
        let instant = |named: &NamedWait| match named {
            NamedWait::At(at) => Some(*at),
            NamedWait::Civil(civil) => {
                let now = self.now_wall_ms?;
                civil.resolve_fixed(now).or_else(|| resolve(civil, now))
            }
            NamedWait::Unnamed | NamedWait::Ms(_) => None,
        };
        let named = instant(&verdict.until).or_else(|| instant(&verdict.wait));
        let retry_after_ms = match &verdict.wait {
            NamedWait::Ms(ms) => Some(*ms),
            NamedWait::At(_) | NamedWait::Civil(_) => {
                named.zip(self.now_wall_ms).map(|(at, now)| span_until(at, now))
            }
            NamedWait::Unnamed => None,
        };
        let reset_of_quota =
            retry_after_ms.filter(|ms| class == Class::QuotaExhausted && *ms >= RESET_FROM_MS);
        Printed {
            class: Some(class),
            retry_after_ms,
            resets_at_ms: named.or_else(|| Some(self.now_wall_ms? + reset_of_quota?)),
            model_specific: (class == Class::InvalidRequest)
                .then_some(verdict.failure.reach == Reach::ModelSpecific),
        }
    }
}
