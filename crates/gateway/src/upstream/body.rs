//! The body of a request in the hands of the library's client: pieces that all attempts of a call
//! share.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body::{Frame, SizeHint};

use ekiden_dialect::splice;

/// Up to this size the pieces are joined: one write costs less than the copy.
const JOINED_MAX: u64 = 64 * 1024;

/// A body of known length.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestBody {
    /// In order of sending, the last one first.
    pieces: Vec<Bytes>,
    left: u64,
}

impl RequestBody {
    pub(super) fn of(body: &splice::Body) -> Self {
        let mut pieces: Vec<Bytes> = body.pieces().cloned().collect();
        pieces.reverse();
        Self { pieces, left: body.len() as u64 }
    }

    /// For a client that writes each piece by itself.
    pub(super) fn joined(mut self) -> Self {
        if self.pieces.len() > 1 && self.left <= JOINED_MAX {
            let mut whole = BytesMut::with_capacity(self.left as usize);
            for piece in self.pieces.iter().rev() {
                whole.extend_from_slice(piece);
            }
            self.pieces = vec![whole.freeze()];
        }
        self
    }
}

impl http_body::Body for RequestBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        while let Some(piece) = self.pieces.pop() {
            if !piece.is_empty() {
                self.left -= piece.len() as u64;
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
        }
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
