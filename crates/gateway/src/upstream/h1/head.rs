//! The head of an answer: its status, its headers, and where its body ends (RFC 9112, section 6).
//!
//! It refuses to guess: where two readers could find different ends, there is none.

use std::mem::MaybeUninit;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use super::Malformed;

/// Headers of an answer at most.
pub(in crate::upstream) const HEADERS_MAX: usize = 200;
/// Bytes of an answer's head at most.
pub(in crate::upstream) const HEAD_BYTES_MAX: usize = 256 * 1024;

/// What every head begins with.
const BEGIN: &[u8] = b"HTTP/1.";

/// What stands in the bytes so far.
#[derive(Debug)]
pub(super) enum Read {
    /// No whole head.
    More,
    /// An informational head of so many bytes; the answer comes after it.
    Interim(usize),
    /// The answer's head and how many bytes it took.
    Final(usize, Box<Head>),
}

/// The head of an answer.
#[derive(Debug)]
pub(super) struct Head {
    /// Its status.
    pub(super) status: StatusCode,
    /// Its headers.
    pub(super) headers: HeaderMap,
    /// Where its body ends.
    pub(super) framing: Framing,
    /// What becomes of the connection.
    pub(super) after: After,
}

/// Where a body ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Framing {
    /// After so many bytes.
    Length(u64),
    /// With its last chunk.
    Chunked,
    /// With the connection.
    Close,
}

/// What becomes of a connection after an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum After {
    /// It can carry another request.
    Kept,
    /// The server closes it.
    Closed,
}

/// Reads the head at the start of `bytes`. The first `known` of them were read before and hold no
/// whole head: a head that comes byte by byte is searched once.
///
/// # Errors
/// When it is none, or an ambiguous one.
pub(super) fn read(bytes: &[u8], known: usize) -> Result<Read, Malformed> {
    let begin = &bytes[..bytes.len().min(BEGIN.len())];
    if !BEGIN.starts_with(begin) {
        return Err(Malformed::Head);
    }
    if !has_end(bytes, known) {
        return if bytes.len() > HEAD_BYTES_MAX {
            Err(Malformed::TooLarge)
        } else {
            Ok(Read::More)
        };
    }
    let mut slots = [const { MaybeUninit::uninit() }; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut []);
    let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        bytes,
        &mut slots,
    );
    let len = match parsed {
        Ok(httparse::Status::Complete(len)) if len > HEAD_BYTES_MAX => {
            return Err(Malformed::TooLarge);
        }
        Ok(httparse::Status::Complete(len)) => len,
        Ok(httparse::Status::Partial) => return Ok(Read::More),
        Err(httparse::Error::TooManyHeaders) => return Err(Malformed::TooLarge),
        Err(_) => return Err(Malformed::Head),
    };
    let status = response.code.and_then(|code| StatusCode::from_u16(code).ok());
    let status = status.ok_or(Malformed::Head)?;
    if status == StatusCode::SWITCHING_PROTOCOLS {
        return Err(Malformed::Switch);
    }
    if status.is_informational() {
        return Ok(Read::Interim(len));
    }
    let headers = headers(&bytes[..len], response.headers)?;
    let version = response.version.unwrap_or(0);
    let framing = framing(status, version, &headers)?;
    let kept = version == 1 && framing != Framing::Close && !says_close(&headers);
    let after = if kept { After::Kept } else { After::Closed };
    Ok(Read::Final(len, Box::new(Head { status, headers, framing, after })))
}

/// Whether an empty line stands in the bytes; before `known` there was none.
fn has_end(bytes: &[u8], known: usize) -> bool {
    let from = known.saturating_sub(2).min(bytes.len());
    let rest = &bytes[from..];
    memchr::memchr_iter(b'\n', rest)
        .any(|at| matches!(rest[at + 1..], [b'\n', ..] | [b'\r', b'\n', ..]))
}

fn headers(head: &[u8], parsed: &[httparse::Header<'_>]) -> Result<HeaderMap, Malformed> {
    // Values share one copy of the head.
    let shared = Bytes::copy_from_slice(head);
    let start = head.as_ptr().addr();
    let mut headers = HeaderMap::with_capacity(parsed.len());
    for one in parsed {
        let name = HeaderName::from_bytes(one.name.as_bytes()).map_err(|_| Malformed::Head)?;
        let at = one.value.as_ptr().addr().wrapping_sub(start);
        let end = at.saturating_add(one.value.len());
        let value = if end <= shared.len() {
            HeaderValue::from_maybe_shared(shared.slice(at..end))
        } else {
            HeaderValue::from_bytes(one.value)
        };
        headers.append(name, value.map_err(|_| Malformed::Head)?);
    }
    Ok(headers)
}

fn framing(status: StatusCode, version: u8, headers: &HeaderMap) -> Result<Framing, Malformed> {
    let length = length(headers)?;
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    if let Some(coding) = codings.next() {
        if length.is_some() {
            return Err(Malformed::Length);
        }
        let chunked = coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked");
        // An older version knows no transfer codings: who names one may mean anything by it.
        if !chunked || codings.next().is_some() || version == 0 {
            return Err(Malformed::Coding);
        }
    }
    if matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
        return Ok(Framing::Length(0));
    }
    Ok(match length {
        Some(length) => Framing::Length(length),
        None if headers.contains_key(header::TRANSFER_ENCODING) => Framing::Chunked,
        None => Framing::Close,
    })
}

/// The length, which may be told more than once if always the same.
fn length(headers: &HeaderMap) -> Result<Option<u64>, Malformed> {
    let mut found = None;
    for value in headers.get_all(header::CONTENT_LENGTH) {
        for part in value.as_bytes().split(|byte| *byte == b',') {
            let digits = part.trim_ascii();
            if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
                return Err(Malformed::Length);
            }
            let length = std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok());
            let length: u64 = length.ok_or(Malformed::Length)?;
            if found.is_some_and(|before| before != length) {
                return Err(Malformed::Length);
            }
            found = Some(length);
        }
    }
    Ok(found)
}

fn says_close(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::CONNECTION).iter();
    values
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .any(|word| word.trim_ascii().eq_ignore_ascii_case(b"close"))
}
