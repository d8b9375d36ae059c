//! What went wrong with a connection, told from the client's errors by type, and by words only
//! where the library tells no more.

use std::error::Error;
use std::io;

use ekiden_classify::TransportKind;

use super::coding::DecodeFault;
use super::connect::ConnectFault;
use super::h1::Malformed;

/// Why there is no answer, or no whole one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fault {
    /// What is known without reading text.
    pub(crate) kind: Option<TransportKind>,
    /// The error with its causes; no request is in it.
    pub(crate) text: String,
    /// Where it struck.
    pub(crate) at: At,
}

/// Where a fault struck.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum At {
    /// Before a connection stood.
    Connect,
    /// At the proxy, before a connection stood.
    Proxy,
    /// Between connection and head.
    Request,
    /// A reused connection died before any byte of an answer, or the protocol refused (R48).
    Unserved,
    /// Inside the body.
    Body,
}

/// Before the head of an answer. `reused`: the connection had carried a request before.
pub(super) fn request_fault(
    error: &hyper_util::client::legacy::Error,
    reused: Option<bool>,
) -> Fault {
    let text = chain(error);
    if let Some(connect) = find::<ConnectFault>(error) {
        return Fault { kind: connect_kind(connect), text, at: connect_at(connect) };
    }
    if error.is_connect()
        && find::<io::Error>(error).is_none()
        && find::<hyper::Error>(error).is_none()
    {
        // The pool gave the connection up before it was used.
        return Fault { kind: None, text, at: At::Unserved };
    }
    let parse = find::<hyper::Error>(error).is_some_and(hyper::Error::is_parse);
    let died = reused == Some(true) && !parse;
    let at = if died || refused_by_protocol(&text) { At::Unserved } else { At::Request };
    let kind = if parse { Some(TransportKind::MalformedChunk) } else { kind_of(error) };
    Fault { kind, text, at }
}

/// There is no connection.
pub(super) fn connect_fault(fault: &ConnectFault) -> Fault {
    Fault { kind: connect_kind(fault), text: chain(fault), at: connect_at(fault) }
}

/// The connection broke.
pub(super) fn broke(at: At, error: &io::Error) -> Fault {
    Fault { kind: io_kind(error), text: format!("the connection broke: {error}"), at }
}

/// The connection was closed in an answer.
pub(super) fn closed(at: At) -> Fault {
    let text = "the connection was closed before the answer was complete".to_owned();
    Fault { kind: Some(TransportKind::Eof), text, at }
}

/// What came is no answer.
pub(super) fn malformed(at: At, error: Malformed) -> Fault {
    Fault { kind: Some(TransportKind::MalformedChunk), text: error.to_string(), at }
}

/// Inside the body of an answer.
pub(super) fn body_fault(error: &hyper::Error) -> Fault {
    let kind = if error.is_parse() {
        Some(TransportKind::MalformedChunk)
    } else if error.is_incomplete_message() {
        Some(TransportKind::Eof)
    } else {
        kind_of(error)
    };
    Fault { kind, text: chain(error), at: At::Body }
}

impl From<DecodeFault> for Fault {
    fn from(fault: DecodeFault) -> Self {
        let kind = Some(TransportKind::MalformedChunk);
        Self { kind, text: fault.to_string(), at: At::Body }
    }
}

const fn connect_at(fault: &ConnectFault) -> At {
    match fault {
        ConnectFault::Proxy(_) => At::Proxy,
        ConnectFault::Dns(_)
        | ConnectFault::Guarded
        | ConnectFault::Tcp(_)
        | ConnectFault::Tls(_)
        | ConnectFault::Trust(_) => At::Connect,
    }
}

fn connect_kind(fault: &ConnectFault) -> Option<TransportKind> {
    match fault {
        ConnectFault::Dns(_) => Some(TransportKind::Dns),
        ConnectFault::Tcp(error) => io_kind(error),
        ConnectFault::Tls(error) => match io_kind(error) {
            Some(kind @ (TransportKind::Reset | TransportKind::Eof)) => Some(kind),
            _ => Some(TransportKind::Tls),
        },
        ConnectFault::Trust(_) => Some(TransportKind::Tls),
        ConnectFault::Guarded | ConnectFault::Proxy(_) => None,
    }
}

fn kind_of(error: &(dyn Error + 'static)) -> Option<TransportKind> {
    if let Some(kind) = find::<io::Error>(error).and_then(io_kind) {
        return Some(kind);
    }
    let hyper = find::<hyper::Error>(error)?;
    let cut = hyper.is_incomplete_message() || hyper.is_canceled() || hyper.is_closed();
    cut.then_some(TransportKind::Eof)
}

fn io_kind(error: &io::Error) -> Option<TransportKind> {
    use io::ErrorKind as Kind;
    const KINDS: [(&[Kind], TransportKind); 5] = [
        (&[Kind::ConnectionRefused], TransportKind::Refused),
        (
            &[
                Kind::HostUnreachable,
                Kind::NetworkUnreachable,
                Kind::NetworkDown,
                Kind::AddrNotAvailable,
            ],
            TransportKind::Unreachable,
        ),
        (
            &[Kind::ConnectionReset, Kind::ConnectionAborted, Kind::BrokenPipe, Kind::NotConnected],
            TransportKind::Reset,
        ),
        (&[Kind::TimedOut], TransportKind::Timeout),
        (&[Kind::UnexpectedEof], TransportKind::Eof),
    ];
    let found = KINDS.iter().find(|(kinds, _)| kinds.contains(&error.kind()));
    found.map(|(_, kind)| *kind)
}

/// HTTP/2 says in two ways that it has not begun to serve a request; the client's library tells
/// neither by type.
fn refused_by_protocol(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let goaway = text.contains("go away") || text.contains("goaway");
    text.contains("refused stream")
        || text.contains("refused_stream")
        || (goaway && text.contains("not a result of an error"))
}

fn find<'e, E: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e E> {
    let mut cause = Some(error);
    while let Some(at) = cause {
        if let Some(found) = at.downcast_ref::<E>() {
            return Some(found);
        }
        cause = at.source();
    }
    None
}

/// The error with its causes. Causes that repeat what stands before them are left out.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(at) = cause {
        let said = at.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = at.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r48_a_protocol_that_refuses_is_told_from_one_that_breaks() {
        for text in [
            "http2 error: stream error received: refused stream before processing any application logic",
            "connection error received: go away: not a result of an error",
        ] {
            assert!(refused_by_protocol(text), "{text}");
        }
        for text in ["go away: enhance your calm", "stream no longer needed", "connection reset"] {
            assert!(!refused_by_protocol(text), "{text}");
        }
    }

    #[test]
    fn a_fault_is_told_by_type_and_with_its_causes_once() {
        let error = ConnectFault::Tcp(io::ErrorKind::ConnectionRefused.into());
        assert_eq!(connect_kind(&error), Some(TransportKind::Refused));
        assert_eq!(chain(&error), "no connection: connection refused");
        let error = ConnectFault::Tls(io::ErrorKind::UnexpectedEof.into());
        assert_eq!(connect_kind(&error), Some(TransportKind::Eof));
        let error = ConnectFault::Tls(io::Error::other("invalid peer certificate"));
        assert_eq!(connect_kind(&error), Some(TransportKind::Tls));
    }
}
