//! A connection of the library's client, and how it is cut from outside.
//!
//! It refuses to send on for nobody: the client's library writes out what it has taken of a request
//! even when nobody waits for the answer any more. Whoever has a connection and lets go of it before
//! the answer is complete cuts it (G3, R11, R12).

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use atomic_waker::AtomicWaker;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;

use super::connect::Stream;

/// Set in the count of requests once the connection is cut.
const CUT: u64 = 1 << 63;

/// How many requests a connection carries at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Carries {
    One,
    /// HTTP/2: a request that is dropped is reset, the others go on.
    Many,
}

/// Names a connection to the requests that it carries.
#[derive(Clone, Debug)]
pub(crate) struct Mark(Arc<Life>);

#[derive(Debug)]
struct Life {
    carries: Carries,
    /// Requests so far, and [`CUT`].
    requests: AtomicU64,
    /// Something could not be written yet.
    clogged: AtomicBool,
    /// The connection's task.
    task: AtomicWaker,
}

/// A request's hold on its connection. Dropping it cuts the connection, unless another request has
/// it by then.
#[derive(Debug)]
pub(crate) struct Hold {
    life: Option<Arc<Life>>,
    /// The count of requests, this one included.
    number: u64,
}

/// The body of an answer from the library's client.
#[derive(Debug)]
pub(crate) struct LibraryBody {
    body: Incoming,
    hold: Option<Hold>,
}

/// The connection.
#[derive(Debug)]
pub(crate) struct Conn {
    io: TokioIo<Stream>,
    life: Arc<Life>,
    proxied: bool,
}

impl Mark {
    /// Takes the connection for one more request.
    pub(crate) fn take(&self) -> Hold {
        let before = self.0.requests.fetch_add(1, Ordering::AcqRel) & !CUT;
        Hold { life: Some(Arc::clone(&self.0)), number: before + 1 }
    }
}

impl Hold {
    /// Whether the connection has carried a request before (R48).
    pub(crate) const fn is_reused(&self) -> bool {
        self.number > 1
    }

    /// The answer is complete. A request that is still going out is not sent to its end.
    fn release(mut self) {
        if self.life.as_ref().is_some_and(|life| !life.clogged.load(Ordering::Acquire)) {
            self.life = None;
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let Some(life) = self.life.take().filter(|life| life.carries == Carries::One) else {
            return;
        };
        let ours = life.requests.compare_exchange(
            self.number,
            self.number | CUT,
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
        if ours.is_ok() {
            life.task.wake();
        }
    }
}

impl LibraryBody {
    pub(super) const fn new(body: Incoming, hold: Option<Hold>) -> Self {
        Self { body, hold }
    }

    fn release(&mut self) {
        if let Some(hold) = self.hold.take() {
            hold.release();
        }
    }
}

impl Body for LibraryBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if matches!(polled, Poll::Ready(None)) {
            self.release();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for LibraryBody {
    fn drop(&mut self) {
        if self.body.is_end_stream() {
            self.release();
        }
    }
}

impl Life {
    fn is_cut(&self) -> bool {
        self.requests.load(Ordering::Acquire) & CUT != 0
    }
}

impl Conn {
    pub(super) fn new(stream: Stream, proxied: bool, h2: bool) -> Self {
        let life = Life {
            carries: if h2 { Carries::Many } else { Carries::One },
            requests: AtomicU64::new(0),
            clogged: AtomicBool::new(false),
            task: AtomicWaker::new(),
        };
        Self { io: TokioIo::new(stream), life: Arc::new(life), proxied }
    }

    /// Does something unless the connection is cut; the cut wakes what waits.
    fn unless_cut<T>(
        &mut self,
        cx: &mut Context<'_>,
        poll: impl FnOnce(Pin<&mut TokioIo<Stream>>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if !self.life.is_cut() {
            let polled = poll(Pin::new(&mut self.io), cx);
            if polled.is_ready() {
                return polled;
            }
            // Registered before the second look: a cut between the two is not missed.
            self.life.task.register(cx.waker());
            if !self.life.is_cut() {
                return Poll::Pending;
            }
        }
        self.io.inner().discard_unsent();
        Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()))
    }

    fn written<T>(&self, polled: Poll<T>) -> Poll<T> {
        self.life.clogged.store(polled.is_pending(), Ordering::Release);
        polled
    }
}

impl Connection for Conn {
    fn connected(&self) -> Connected {
        let connected = Connected::new().proxy(self.proxied).extra(Mark(Arc::clone(&self.life)));
        match self.life.carries {
            Carries::One => connected,
            Carries::Many => connected.negotiated_h2(),
        }
    }
}

impl hyper::rt::Read for Conn {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        self.unless_cut(cx, |io, cx| io.poll_read(cx, buf))
    }
}

impl hyper::rt::Write for Conn {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = self.unless_cut(cx, |io, cx| io.poll_write(cx, buf));
        self.written(polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.unless_cut(cx, |io, cx| io.poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.unless_cut(cx, |io, cx| io.poll_shutdown(cx))
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = self.unless_cut(cx, |io, cx| io.poll_write_vectored(cx, bufs));
        self.written(polled)
    }
}
