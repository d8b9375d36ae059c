//! Evidence and verdicts as text. It refuses to judge: that is the classifier's.
//!
//! Both are lines of a name and a value, then an empty line, then a text that may be anything.

use core::fmt::Write as _;

use ekiden_classify::{
    Civil, Context, Evidence, NamedWait, OurAbort, Peer, TransportKind, Verdict, Zone,
};
use ekiden_engine::history::failure_words;

use crate::answer::error;

/// Judges one failure.
///
/// | line | value |
/// | --- | --- |
/// | `kind` | `http`, `event`, `transport` or `host`; must be given |
/// | `status` | HTTP status |
/// | `header` | a name, a blank, the value; any number of them |
/// | `code` | the host's code |
/// | `transport` | `refused`, `dns`, `unreachable`, `tls`, `reset`, `timeout`, `eof`, `malformed-chunk` |
/// | `peer` | `remote` (if not given), `loopback`, `proxy` |
/// | `abort` | `stopped` or `deadline`: ours |
/// | `now` | Unix milliseconds |
/// | `provider` | its name |
///
/// After an empty line follows the body, the event's data, the error's text or the host's message.
///
/// The answer is `fine` where nothing is wrong; `error LINE REASON` where the text cannot be read;
/// else lines, each but the first only if there is something to say:
///
/// | line | value |
/// | --- | --- |
/// | `failure` | class, origin, scope, wait and reach, in the words that a history's `feed` takes |
/// | `wait` | `civil DATE TIME ZONE`: a wait that the host has to resolve; the failure's is `unnamed` |
/// | `until` | the instant of recovery: `at MS`, `ms MS`, or as above |
/// | `rule` | which rule decided |
/// | `code`, `param` | as the answer names them |
/// | `prompt-tokens`, `window-tokens` | the sizes that an overflow names |
///
/// `DATE` is `YYYY-MM-DD`, `----MM-DD` for the next such day, or `-` for the next such time. `ZONE`
/// is seconds east of UTC with a sign, a name of the zone database, or `-` where none was given.
/// After an empty line follows the innermost message, unmasked.
#[must_use]
pub fn classify(text: &str) -> String {
    let mut out = String::new();
    match read(text) {
        Ok(read) => match ekiden_classify::classify(&read.evidence(), &read.context) {
            Some(verdict) => write(&mut out, &verdict),
            None => out.push_str("fine\n"),
        },
        Err((line, reason)) => error(&mut out, line, &reason),
    }
    out
}

#[derive(Clone, Copy)]
enum Kind {
    Http,
    Event,
    Transport,
    Host,
}

struct Read<'a> {
    kind: Kind,
    status: Option<u16>,
    headers: Vec<(&'a str, &'a str)>,
    code: &'a str,
    transport: Option<TransportKind>,
    peer: Peer,
    context: Context<'a>,
    text: &'a str,
}

impl Read<'_> {
    fn evidence(&self) -> Evidence<'_> {
        let (status, headers, text) = (self.status, self.headers.as_slice(), self.text);
        match self.kind {
            Kind::Http => Evidence::Http { status, headers, body: text },
            Kind::Event => Evidence::StreamEvent { headers, data: text },
            Kind::Transport => Evidence::Transport { kind: self.transport, peer: self.peer, text },
            Kind::Host => Evidence::Host { code: self.code, message: text, status },
        }
    }
}

fn read(text: &str) -> Result<Read<'_>, (usize, &'static str)> {
    let mut kind = None;
    let mut read = Read {
        kind: Kind::Http,
        status: None,
        headers: Vec::new(),
        code: "UNKNOWN",
        transport: None,
        peer: Peer::Remote,
        context: Context::default(),
        text: "",
    };
    let mut rest = text;
    let mut at = 0;
    while !rest.is_empty() {
        at += 1;
        let (line, tail) = rest.split_once('\n').unwrap_or((rest, ""));
        rest = tail;
        if line.is_empty() {
            read.text = rest;
            break;
        }
        let (name, value) = line.split_once(' ').unwrap_or((line, ""));
        let understood = match name {
            "kind" => set(&mut kind, kind_of(value)),
            "status" => set(&mut read.status, value.parse().ok()),
            "header" => value.split_once(' ').map(|header| read.headers.push(header)),
            "code" => {
                read.code = value;
                Some(())
            }
            "transport" => set(&mut read.transport, transport_of(value)),
            "peer" => peer_of(value).map(|peer| read.peer = peer),
            "abort" => abort_of(value).map(|abort| read.context.our_abort = abort),
            "now" => set(&mut read.context.now_wall_ms, value.parse().ok()),
            "provider" => set(&mut read.context.provider, Some(value)),
            _ => return Err((at, "expected the name of a member, or an empty line")),
        };
        understood.ok_or((at, "the member has no such value"))?;
    }
    read.kind = kind.ok_or((at, "expected a kind"))?;
    Ok(read)
}

fn set<T>(place: &mut Option<T>, value: Option<T>) -> Option<()> {
    *place = Some(value?);
    Some(())
}

fn kind_of(word: &str) -> Option<Kind> {
    Some(match word {
        "http" => Kind::Http,
        "event" => Kind::Event,
        "transport" => Kind::Transport,
        "host" => Kind::Host,
        _ => return None,
    })
}

fn transport_of(word: &str) -> Option<TransportKind> {
    Some(match word {
        "refused" => TransportKind::Refused,
        "dns" => TransportKind::Dns,
        "unreachable" => TransportKind::Unreachable,
        "tls" => TransportKind::Tls,
        "reset" => TransportKind::Reset,
        "timeout" => TransportKind::Timeout,
        "eof" => TransportKind::Eof,
        "malformed-chunk" => TransportKind::MalformedChunk,
        _ => return None,
    })
}

fn peer_of(word: &str) -> Option<Peer> {
    Some(match word {
        "remote" => Peer::Remote,
        "loopback" => Peer::Loopback,
        "proxy" => Peer::Proxy,
        _ => return None,
    })
}

fn abort_of(word: &str) -> Option<OurAbort> {
    Some(match word {
        "stopped" => OurAbort::Stopped,
        "deadline" => OurAbort::Deadline,
        _ => return None,
    })
}

// Writing into a String cannot fail, so that nothing below looks at a result.

fn write(out: &mut String, verdict: &Verdict) {
    let _ = writeln!(out, "failure {}", failure_words(verdict.failure));
    if let NamedWait::Civil(civil) = &verdict.wait {
        out.push_str("wait ");
        write_civil(out, civil);
    }
    match &verdict.until {
        NamedWait::Unnamed => {}
        NamedWait::Ms(ms) => {
            let _ = writeln!(out, "until ms {ms}");
        }
        NamedWait::At(at) => {
            let _ = writeln!(out, "until at {at}");
        }
        NamedWait::Civil(civil) => {
            out.push_str("until ");
            write_civil(out, civil);
        }
    }
    let _ = writeln!(out, "rule {}", verdict.rule);
    for (name, value) in [("code", &verdict.code), ("param", &verdict.param)] {
        if let Some(value) = value {
            // A line break would begin a member of its own.
            let _ = writeln!(out, "{name} {}", value.replace(['\n', '\r'], " "));
        }
    }
    let sizes = &verdict.sizes;
    for (name, tokens) in
        [("prompt-tokens", sizes.prompt_tokens), ("window-tokens", sizes.window_tokens)]
    {
        if let Some(tokens) = tokens {
            let _ = writeln!(out, "{name} {tokens}");
        }
    }
    if let Some(message) = &verdict.message {
        let _ = write!(out, "\n{message}");
    }
}

fn write_civil(out: &mut String, civil: &Civil) {
    out.push_str("civil ");
    match civil.date {
        None => out.push('-'),
        Some(date) => {
            let _ = match date.year {
                None => write!(out, "----{:02}-{:02}", date.month, date.day),
                Some(year) => write!(out, "{year:04}-{:02}-{:02}", date.month, date.day),
            };
        }
    }
    let _ = write!(out, " {:02}:{:02}:{:02} ", civil.hour, civil.minute, civil.second);
    let _ = match &civil.zone {
        Zone::Fixed(offset_s) => writeln!(out, "{offset_s:+}"),
        Zone::Named(name) => writeln!(out, "{name}"),
        Zone::Unknown => writeln!(out, "-"),
    };
}
