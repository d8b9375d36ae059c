//! One connection. It refuses to read HTTP.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::upstream::connect::Stream;

use super::request::{Form, Outgoing};

/// Bytes of one read. They lie on the stack: a connection that waits holds no buffer.
pub(super) const READ_BYTES: usize = 16 * 1024;

/// What a read is made into.
pub(super) type Space = [MaybeUninit<u8>; READ_BYTES];

/// One connection.
#[derive(Debug)]
pub(super) struct Wire {
    stream: Stream,
    form: Form,
    /// Whether it has carried a request before (R48).
    reused: bool,
    /// A request is out and its answer not complete: closing it is a cut.
    busy: bool,
}

impl Wire {
    pub(super) const fn new(stream: Stream, form: Form) -> Self {
        Self { stream, form, reused: false, busy: true }
    }

    pub(super) const fn form(&self) -> Form {
        self.form
    }

    pub(super) const fn is_reused(&self) -> bool {
        self.reused
    }

    /// Nothing is under way on it: the answer is complete, or another request begins.
    pub(super) const fn rest(&mut self) {
        self.busy = false;
        self.reused = true;
    }

    pub(super) const fn begin(&mut self) {
        self.busy = true;
    }

    /// Whether a resting connection is neither closed nor has anything to say unasked.
    pub(super) fn is_quiet(&mut self) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        let mut byte = [0];
        let mut buf = ReadBuf::new(&mut byte);
        Pin::new(&mut self.stream).poll_read(&mut cx, &mut buf).is_pending()
    }

    /// Sends what is to be sent.
    pub(super) fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut Outgoing,
    ) -> Poll<io::Result<()>> {
        while let Some(piece) = out.next() {
            let size = ready!(Pin::new(&mut self.stream).poll_write(cx, piece))?;
            if size == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            out.sent(size);
        }
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    /// Reads what has come; nothing at the end.
    pub(super) fn poll_read<'s>(
        &mut self,
        cx: &mut Context<'_>,
        space: &'s mut Space,
    ) -> Poll<io::Result<ReadBuf<'s>>> {
        let mut buf = ReadBuf::uninit(space);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buf))?;
        Poll::Ready(Ok(buf))
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        // Whoever lets go before the answer is complete wants nothing more sent (G3, R11, R12).
        if self.busy {
            self.stream.discard_unsent();
        }
    }
}
