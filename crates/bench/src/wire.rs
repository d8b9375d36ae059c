//! As much of HTTP/1.1 as one scripted upstream and one load driver need. It checks nothing that
//! it does not use: both ends of every connection are ours or under test.

use memchr::memmem;

/// How the end of a message's body is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Framing {
    /// So many bytes.
    Length(usize),
    /// `transfer-encoding: chunked`.
    Chunked,
}

/// The head of a request or of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Head {
    /// Its length, the empty line included.
    pub(crate) len: usize,
    pub(crate) framing: Framing,
}

/// The head at the start of these bytes, once it is whole.
pub(crate) fn head(bytes: &[u8]) -> Option<Head> {
    let len = memmem::find(bytes, b"\r\n\r\n")? + 4;
    let mut framing = Framing::Length(0);
    let mut lines = bytes[..len].split(|byte| *byte == b'\n');
    lines.next();
    for line in lines {
        // Only two names matter, and their first letters tell them from nearly all others.
        match line.first() {
            Some(b'c' | b'C') => {
                if let Some(value) = value_of(line, b"content-length:") {
                    framing = Framing::Length(number(value));
                }
            }
            Some(b't' | b'T') => {
                if value_of(line, b"transfer-encoding:").is_some() {
                    framing = Framing::Chunked;
                }
            }
            Some(_) | None => {}
        }
    }
    Some(Head { len, framing })
}

/// The status of an answer whose head is whole.
pub(crate) fn status(head: &[u8]) -> usize {
    head.get(9..12).map_or(0, number)
}

fn value_of<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let start = line.get(..name.len())?;
    start.eq_ignore_ascii_case(name).then(|| &line[name.len()..])
}

fn number(digits: &[u8]) -> usize {
    digits
        .iter()
        .filter(|byte| byte.is_ascii_digit())
        .fold(0, |sum, byte| sum * 10 + usize::from(byte - b'0'))
}

/// What reads a body: it keeps its place between pieces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Body {
    /// So many bytes are still to come.
    Plain(usize),
    /// In the line that says a chunk's size; the size so far.
    Size(usize),
    /// In that line, past its digits.
    Extension(usize),
    /// In a chunk: its bytes that are still to come, and the line end after it.
    Data(usize),
    /// After the last chunk: whether the line that is being read is empty so far.
    Trailer(bool),
    /// Nothing more belongs to this body.
    Done,
}

impl Body {
    pub(crate) const fn new(framing: Framing) -> Self {
        match framing {
            Framing::Length(0) => Self::Done,
            Framing::Length(len) => Self::Plain(len),
            Framing::Chunked => Self::Size(0),
        }
    }

    /// Reads on; gives how many bytes belonged to the body's encoding, and hands its payload on.
    pub(crate) fn read(&mut self, bytes: &[u8], mut payload: impl FnMut(&[u8])) -> usize {
        let mut at = 0;
        while at < bytes.len() && *self != Self::Done {
            let byte = bytes[at];
            match *self {
                Self::Plain(left) => {
                    let take = left.min(bytes.len() - at);
                    payload(&bytes[at..at + take]);
                    at += take;
                    *self = if take == left { Self::Done } else { Self::Plain(left - take) };
                }
                Self::Data(left) => {
                    let take = left.min(bytes.len() - at);
                    // The last two of them are the line end.
                    let inside = take.min(left.saturating_sub(2));
                    payload(&bytes[at..at + inside]);
                    at += take;
                    *self = if take == left { Self::Size(0) } else { Self::Data(left - take) };
                }
                Self::Size(size) => {
                    at += 1;
                    *self = match char::from(byte).to_digit(16) {
                        Some(digit) => Self::Size(size * 16 + digit as usize),
                        None => Self::after_size(byte, size),
                    };
                }
                Self::Extension(size) => {
                    at += 1;
                    *self = Self::after_size(byte, size);
                }
                Self::Trailer(empty) => {
                    at += 1;
                    *self = match byte {
                        b'\n' if empty => Self::Done,
                        b'\n' => Self::Trailer(true),
                        b'\r' => Self::Trailer(empty),
                        _ => Self::Trailer(false),
                    };
                }
                Self::Done => {}
            }
        }
        at
    }

    const fn after_size(byte: u8, size: usize) -> Self {
        match (byte, size) {
            (b'\n', 0) => Self::Trailer(true),
            (b'\n', size) => Self::Data(size + 2),
            (_, size) => Self::Extension(size),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(bytes: &[u8], step: usize) -> (Vec<u8>, usize, Body) {
        let mut body = Body::new(Framing::Chunked);
        let (mut all, mut used) = (Vec::new(), 0);
        for piece in bytes.chunks(step) {
            used += body.read(piece, |part| all.extend_from_slice(part));
        }
        (all, used, body)
    }

    #[test]
    fn a_chunked_body_is_read_in_any_split() {
        let bytes = b"5\r\nhello\r\n10;a=b\r\n0123456789abcdef\r\n0\r\nX: y\r\n\r\nHTTP";
        for step in 1..bytes.len() {
            let (all, used, body) = payload(bytes, step);
            assert_eq!(all, b"hello0123456789abcdef");
            assert_eq!(used, bytes.len() - 4);
            assert_eq!(body, Body::Done);
        }
    }

    #[test]
    fn a_head_says_how_its_body_ends() {
        let plain = b"HTTP/1.1 200 OK\r\nDate: x\r\nContent-Length: 12\r\n\r\nrest";
        let found = head(plain).unwrap();
        assert_eq!(found.framing, Framing::Length(12));
        assert_eq!(&plain[found.len..], b"rest");
        assert_eq!(status(plain), 200);
        let chunked = b"HTTP/1.1 503 No\r\ntransfer-encoding: chunked\r\n\r\n";
        assert_eq!(head(chunked).unwrap().framing, Framing::Chunked);
        assert_eq!(status(chunked), 503);
        assert_eq!(head(&plain[..plain.len() - 6]), None);
    }

    #[test]
    fn a_body_of_known_length_ends_there() {
        let mut body = Body::new(Framing::Length(5));
        let mut all = Vec::new();
        assert_eq!(body.read(b"hel", |part| all.extend_from_slice(part)), 3);
        assert_eq!(body.read(b"lo HTTP", |part| all.extend_from_slice(part)), 2);
        assert_eq!((body, all.as_slice()), (Body::Done, b"hello".as_slice()));
        assert_eq!(Body::new(Framing::Length(0)), Body::Done);
    }
}
