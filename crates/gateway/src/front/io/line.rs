//! A client's socket, shared by the HTTP library and by the look for the client's leaving.
//!
//! It refuses to read for the library while a request comes. While an answer is open the library
//! stops reading as soon as it has any byte beyond the request, and would not see the client leave
//! (G3); what is read then is kept for it, up to [`AHEAD_BYTES_MAX`].

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use http_body::{Frame, SizeHint};
use tokio::io::{AsyncRead, ReadBuf};

use crate::body::{Aborted, Body};
use crate::core::Stop;

/// What a client may send while an answer is open; one that sends more is cut off.
const AHEAD_BYTES_MAX: usize = 16 << 10;

/// Bytes of one look.
const LOOK_BYTES: usize = 2 << 10;

/// The socket.
#[derive(Debug)]
pub(crate) struct Line<S>(Arc<Mutex<Shared<S>>>);

#[derive(Debug)]
struct Shared<S> {
    stream: S,
    /// Read already, but not by the library.
    ahead: BytesMut,
    /// How reading ended, if a look saw that.
    end: Option<End>,
}

#[derive(Clone, Copy, Debug)]
enum End {
    Closed,
    Failed(io::ErrorKind),
}

/// The answer that is open, if one is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answering(Arc<Answer>);

#[derive(Debug, Default)]
struct Answer {
    /// Its request has come whole, and it has not ended.
    open: AtomicBool,
    /// How a call that makes it while it is read is told to end.
    stop: Mutex<Option<Arc<Stop>>>,
}

/// A request's body. From its end on its answer is open.
#[derive(Debug)]
pub(crate) struct Asked<B> {
    body: B,
    answering: Answering,
}

/// An answer's body. When it is dropped its answer is not open any more.
#[derive(Debug)]
pub(crate) struct Answered {
    body: Body,
    answering: Answering,
}

impl<S> Line<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self(Arc::new(Mutex::new(Shared { stream, ahead: BytesMut::new(), end: None })))
    }

    /// The same socket once more.
    pub(crate) fn share(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    fn lock(&self) -> MutexGuard<'_, Shared<S>> {
        // A stream that panicked fails by itself when it is used again.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Unpin> Line<S> {
    /// Does something with the stream itself.
    pub(crate) fn with<T>(&self, act: impl FnOnce(Pin<&mut S>) -> T) -> T {
        act(Pin::new(&mut self.lock().stream))
    }
}

impl<S: AsyncRead + Unpin> Line<S> {
    /// Reads what comes next, and first what was read ahead.
    pub(crate) fn poll_read(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut shared = self.lock();
        if !shared.ahead.is_empty() {
            let size = shared.ahead.len().min(buf.remaining());
            buf.put_slice(&shared.ahead[..size]);
            shared.ahead.advance(size);
            return Poll::Ready(Ok(()));
        }
        match shared.end {
            Some(End::Closed) => Poll::Ready(Ok(())),
            Some(End::Failed(kind)) => Poll::Ready(Err(kind.into())),
            None => Pin::new(&mut shared.stream).poll_read(cx, buf),
        }
    }

    /// Waits until the client has left, or has sent more than is kept, while an answer is open; or
    /// until its call was stopped and could not be told, since the client takes nothing (P5). To be
    /// polled after the library, in the same task.
    pub(crate) async fn left(&self, answering: &Answering) {
        let mut unheard = false;
        std::future::poll_fn(|cx| {
            if !answering.is_open() {
                return Poll::Pending;
            }
            let before = std::mem::replace(&mut unheard, answering.is_stopped(cx));
            match (before, unheard) {
                (true, true) => return Poll::Ready(()),
                // It may have been stopped since the library was polled, which comes once more.
                (false, true) => cx.waker().wake_by_ref(),
                (_, false) => {}
            }
            self.lock().look(cx)
        })
        .await;
    }
}

impl<S: AsyncRead + Unpin> Shared<S> {
    fn look(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while self.end.is_none() && self.ahead.len() <= AHEAD_BYTES_MAX {
            let mut space = [MaybeUninit::uninit(); LOOK_BYTES];
            let mut seen = ReadBuf::uninit(&mut space);
            match ready!(Pin::new(&mut self.stream).poll_read(cx, &mut seen)) {
                Ok(()) if seen.filled().is_empty() => self.end = Some(End::Closed),
                Ok(()) => {
                    self.ahead.extend_from_slice(seen.filled());
                    // The library may have waited for just these.
                    cx.waker().wake_by_ref();
                }
                Err(error) => self.end = Some(End::Failed(error.kind())),
            }
        }
        Poll::Ready(())
    }
}

impl Answering {
    /// Watches a request's body for its end.
    pub(crate) fn asked<B: http_body::Body>(&self, body: B) -> Asked<B> {
        self.0.open.store(body.is_end_stream(), Ordering::Relaxed);
        Asked { body, answering: self.clone() }
    }

    /// Watches its answer for its end.
    pub(crate) fn answered(&self, body: Body) -> Answered {
        if let stop @ Some(_) = body.stop() {
            *self.stop() = stop;
        }
        Answered { body, answering: self.clone() }
    }

    fn is_open(&self) -> bool {
        self.0.open.load(Ordering::Relaxed)
    }

    fn is_stopped(&self, cx: &Context<'_>) -> bool {
        self.stop().as_ref().is_some_and(|stop| stop.look(cx))
    }

    fn stop(&self) -> MutexGuard<'_, Option<Arc<Stop>>> {
        self.0.stop.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<B: http_body::Body + Unpin> http_body::Body for Asked<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if matches!(polled, Poll::Ready(None)) {
            self.answering.0.open.store(true, Ordering::Relaxed);
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

impl http_body::Body for Answered {
    type Data = Bytes;
    type Error = Aborted;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Aborted>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Answered {
    fn drop(&mut self) {
        self.answering.0.open.store(false, Ordering::Relaxed);
        *self.answering.stop() = None;
    }
}
