//! HTTP/1.1 towards a provider, polled inside the call's own task: no task, no channel, no buffer
//! of its own for a connection that waits.
//!
//! It refuses every reading that another HTTP reader might not share: a length told twice or in two
//! ways, folded headers, transfer codings but `chunked`, bytes after the end (the connection is then
//! given up). It knows no pipelining, no upgrade and no trailers; those that come are read away.

mod chunked;
mod exchange;
pub(super) mod head;
mod pool;
mod request;
#[cfg(test)]
mod tests;
mod wire;

use head::Framing;

pub(crate) use exchange::{Exchange, OwnBody};
pub(super) use pool::{Pool, Reuse};

/// What is wrong with an answer's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Malformed {
    /// Its head is no head of HTTP/1.
    #[error("the answer does not begin as HTTP/1")]
    Head,
    /// Its head is longer, or has more headers, than is read.
    #[error("the head of the answer is longer than is read")]
    TooLarge,
    /// It wants to speak something else, which nobody asked for.
    #[error("the answer switches protocols")]
    Switch,
    /// Its length is no number, or is told twice or in two ways.
    #[error("the length of the answer is ambiguous")]
    Length,
    /// A transfer coding other than `chunked`.
    #[error("the answer has a transfer coding that is not read")]
    Coding,
    /// A chunk's size, end or trailer.
    #[error("a chunk of the answer is malformed")]
    Chunk,
}

/// A whole answer that was read from bytes at rest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Whole {
    /// Its status.
    pub status: u16,
    /// Its body without its framing.
    pub body: Vec<u8>,
    /// How many bytes it took; what is behind them belongs to nobody.
    pub bytes: usize,
}

/// Reads one answer from all the bytes that a connection ever gave, informational ones left out.
/// `Ok(None)`: they end before the answer does. It is what a connection does, without one; for tests
/// and fuzzing.
///
/// # Errors
/// When the bytes are no answer, or an ambiguous one.
pub fn read_whole(bytes: &[u8]) -> Result<Option<Whole>, Malformed> {
    let mut at = 0;
    let head = loop {
        match head::read(&bytes[at..], 0)? {
            head::Read::More => return Ok(None),
            head::Read::Interim(len) => at += len,
            head::Read::Final(len, head) => {
                at += len;
                break head;
            }
        }
    };
    let rest = &bytes[at..];
    let status = head.status.as_u16();
    let (body, taken) = match head.framing {
        Framing::Length(length) => match usize::try_from(length) {
            Ok(length) if length <= rest.len() => (rest[..length].to_vec(), length),
            Ok(_) | Err(_) => return Ok(None),
        },
        Framing::Close => (rest.to_vec(), rest.len()),
        Framing::Chunked => {
            let (mut chunks, mut body) = (chunked::Chunks::default(), Vec::new());
            let taken = chunks.read(rest, &mut body)?;
            if !chunks.is_over() {
                return Ok(None);
            }
            (body, taken)
        }
    };
    Ok(Some(Whole { status, body, bytes: at + taken }))
}
