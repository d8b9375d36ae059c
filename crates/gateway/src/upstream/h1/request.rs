//! A request as bytes. It refuses headers that would frame it anew: its length is told here, once.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::{HeaderName, Uri, header};

use crate::upstream::Ask;

/// Up to this size head and body are joined: one write costs less than the copy.
const JOINED_MAX: usize = 64 * 1024;
/// What a head takes beyond its values, roughly.
const HEAD_ROUGHLY: usize = 512;

/// How a request names what it asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// By its path.
    Origin,
    /// By its whole URL, as proxies of plain requests want it.
    Absolute,
}

/// What is still to be sent.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    /// In order of sending, the last one first.
    pieces: Vec<Bytes>,
}

impl Outgoing {
    /// The bytes of a request.
    pub(super) fn of(ask: &Ask, form: Form) -> Self {
        let size = ask.body.len();
        let joined = size <= JOINED_MAX;
        let room = if joined { size } else { 0 };
        let mut head = BytesMut::with_capacity(HEAD_ROUGHLY + room);
        head.put_slice(ask.method.as_str().as_bytes());
        head.put_u8(b' ');
        target(&mut head, &ask.uri, form);
        head.put_slice(b" HTTP/1.1\r\n");
        if !ask.headers.iter().any(|(name, _)| *name == header::HOST) {
            head.put_slice(b"host: ");
            host(&mut head, &ask.uri);
            head.put_slice(b"\r\n");
        }
        for (name, value) in &ask.headers {
            if !is_framing(name) {
                head.put_slice(name.as_str().as_bytes());
                head.put_slice(b": ");
                head.put_slice(value.as_bytes());
                head.put_slice(b"\r\n");
            }
        }
        head.put_slice(b"content-length: ");
        head.put_slice(size.to_string().as_bytes());
        head.put_slice(b"\r\n\r\n");
        if joined {
            ask.body.pieces().for_each(|piece| head.put_slice(piece));
            return Self { pieces: vec![head.freeze()] };
        }
        let mut pieces: Vec<Bytes> = ask.body.pieces().cloned().collect();
        pieces.reverse();
        pieces.push(head.freeze());
        Self { pieces }
    }

    /// What goes out next; never empty.
    pub(super) fn next(&self) -> Option<&[u8]> {
        self.pieces.last().map(|piece| &piece[..])
    }

    /// So many bytes of it went out.
    pub(super) fn sent(&mut self, size: usize) {
        let Some(piece) = self.pieces.last_mut() else { return };
        piece.advance(size.min(piece.len()));
        while self.pieces.pop_if(|piece| piece.is_empty()).is_some() {}
    }

    pub(super) const fn is_sent(&self) -> bool {
        self.pieces.is_empty()
    }
}

fn target(head: &mut BytesMut, uri: &Uri, form: Form) {
    if form == Form::Absolute {
        head.put_slice(uri.scheme_str().unwrap_or("http").as_bytes());
        head.put_slice(b"://");
        host(head, uri);
    }
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    if !path.starts_with('/') {
        head.put_u8(b'/');
    }
    head.put_slice(path.as_bytes());
}

/// The host without a login, and its port where it is not the scheme's own.
fn host(head: &mut BytesMut, uri: &Uri) {
    head.put_slice(uri.host().unwrap_or_default().as_bytes());
    let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    if let Some(port) = uri.port_u16().filter(|port| *port != usual) {
        head.put_u8(b':');
        head.put_slice(port.to_string().as_bytes());
    }
}

/// Headers about the connection alone, which are ours.
fn is_framing(name: &HeaderName) -> bool {
    [
        header::CONNECTION,
        header::CONTENT_LENGTH,
        header::TRANSFER_ENCODING,
        header::UPGRADE,
        header::TE,
        header::TRAILER,
        header::EXPECT,
    ]
    .contains(name)
}
