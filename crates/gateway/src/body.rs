//! The one body type of every answer.
//!
//! It refuses to end well by accident: a stream whose sender is dropped without
//! [`BodySender::finish`] ends as an error, so that the HTTP server cuts the connection and no
//! client takes a broken answer for a whole one (R10).

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use crate::core::Stop;

/// What an answer carries.
#[derive(Debug)]
pub struct Body {
    inner: Inner,
    ending: Option<Ending>,
}

/// What ends a stream from outside (G13).
struct Ending {
    when: Pin<Box<dyn Future<Output = Option<Bytes>> + Send + Sync>>,
}

#[derive(Debug)]
enum Inner {
    Whole(Option<Bytes>),
    Stream(Reader),
    Made(Mutex<Box<dyn Source>>),
    Broken,
}

/// Makes a stream while it is read: nothing happens but when the next piece is asked for. Dropping it
/// is the client's leaving.
pub(crate) trait Source: Send + std::fmt::Debug {
    /// The next bytes; `None` at the end.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Aborted>>>;

    /// How it is told to end while nobody asks for pieces.
    fn stop(&self) -> Arc<Stop>;
}

impl std::fmt::Debug for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ending")
    }
}

/// The answer broke off; the connection is cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the answer broke off before its end")]
pub struct Aborted;

impl Body {
    /// No bytes at all.
    #[must_use]
    pub const fn empty() -> Self {
        Self { inner: Inner::Whole(None), ending: None }
    }

    /// These bytes, whose length is known to the client.
    #[must_use]
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self { inner: Inner::Whole((!bytes.is_empty()).then_some(bytes)), ending: None }
    }

    /// A stream. The sender is [ready](BodySender::ready) while less than `ahead_max_bytes` wait to
    /// be read.
    #[must_use]
    pub fn stream(ahead_max_bytes: usize) -> (BodySender, Self) {
        let pipe = Arc::new(Pipe { ahead_max_bytes, state: Mutex::default() });
        let inner = Inner::Stream(Reader { pipe: Arc::clone(&pipe), unwritten: false });
        (BodySender { pipe }, Self { inner, ending: None })
    }

    /// A stream that is made while it is read.
    pub(crate) fn made(source: Box<dyn Source>) -> Self {
        Self { inner: Inner::Made(Mutex::new(source)), ending: None }
    }

    /// The same, but a stream that waits when `when` is over ends with what that gives, or with a cut
    /// connection where there is no last word.
    pub(crate) fn ending<F>(mut self, when: F) -> Self
    where
        F: Future<Output = Option<Bytes>> + Send + Sync + 'static,
    {
        if matches!(self.inner, Inner::Stream(_) | Inner::Made(_)) {
            self.ending = Some(Ending { when: Box::pin(when) });
        }
        self
    }

    /// How what makes it is told to end; `None`: it is made already.
    pub(crate) fn stop(&self) -> Option<Arc<Stop>> {
        match &self.inner {
            Inner::Made(source) => {
                Some(source.lock().unwrap_or_else(PoisonError::into_inner).stop())
            }
            Inner::Whole(_) | Inner::Stream(_) | Inner::Broken => None,
        }
    }

    /// Everything that is still to come.
    ///
    /// # Errors
    /// When the answer breaks off.
    pub async fn collect(mut self) -> Result<Bytes, Aborted> {
        let mut all = Vec::new();
        while let Some(piece) = self.piece().await {
            all.extend_from_slice(&piece?);
        }
        Ok(Bytes::from(all))
    }

    /// The next bytes; `None` at the end.
    pub async fn piece(&mut self) -> Option<Result<Bytes, Aborted>> {
        poll_fn(|cx| self.poll_piece(cx)).await
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Aborted>>> {
        match &mut self.inner {
            Inner::Whole(bytes) => return Poll::Ready(bytes.take().map(Ok)),
            Inner::Broken => {
                self.inner = Inner::Whole(None);
                return Poll::Ready(Some(Err(Aborted)));
            }
            Inner::Stream(reader) => match reader.poll(cx) {
                Poll::Pending => {}
                ready @ Poll::Ready(_) => return ready,
            },
            Inner::Made(source) => {
                let source = source.get_mut().unwrap_or_else(PoisonError::into_inner);
                match source.poll_piece(cx) {
                    Poll::Pending => {}
                    Poll::Ready(Some(Err(Aborted))) => {
                        self.inner = Inner::Broken;
                        return written_first(cx);
                    }
                    Poll::Ready(None) => {
                        self.inner = Inner::Whole(None);
                        return Poll::Ready(None);
                    }
                    ready @ Poll::Ready(Some(Ok(_))) => return ready,
                }
            }
        }
        // Asked only when there is nothing to send, so that it costs a flowing stream nothing.
        let Some(ending) = &mut self.ending else { return Poll::Pending };
        let last = ready!(ending.when.as_mut().poll(cx));
        // Dropping the reader tells the sender that nobody reads any more.
        self.ending = None;
        self.inner = if last.is_some() { Inner::Whole(last) } else { Inner::Broken };
        self.poll_piece(cx)
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Aborted;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Aborted>>> {
        self.poll_piece(cx).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        match &self.inner {
            Inner::Whole(bytes) => bytes.is_none(),
            Inner::Broken | Inner::Made(_) => false,
            Inner::Stream(reader) => {
                let state = reader.pipe.lock();
                state.queue.is_empty() && state.end == Some(End::Whole)
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.inner {
            Inner::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Inner::Stream(_) | Inner::Made(_) | Inner::Broken => SizeHint::default(),
        }
    }
}

/// The writing end of a streamed body.
#[derive(Debug)]
pub struct BodySender {
    pipe: Arc<Pipe>,
}

impl BodySender {
    /// Puts bytes after those that wait. Whoever cares for memory asks [`Self::ready`] first; bytes
    /// for a client that has gone are dropped.
    pub fn send(&self, bytes: Bytes) {
        if bytes.is_empty() {
            return;
        }
        let mut state = self.pipe.lock();
        if state.end.is_none() && !state.gone {
            state.ahead_bytes += bytes.len();
            state.queue.push_back(bytes);
            state.wake_reader();
        }
    }

    /// Whether there is room now.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.pipe.lock().ahead_bytes < self.pipe.ahead_max_bytes
    }

    /// Waits until there is room, or the client has gone.
    pub async fn ready(&self) {
        poll_fn(|cx| {
            let mut state = self.pipe.lock();
            if state.gone || state.ahead_bytes < self.pipe.ahead_max_bytes {
                return Poll::Ready(());
            }
            register(&mut state.room, cx);
            Poll::Pending
        })
        .await;
    }

    /// Waits until nobody will read any more.
    pub async fn gone(&self) {
        poll_fn(|cx| {
            let mut state = self.pipe.lock();
            if state.gone {
                return Poll::Ready(());
            }
            register(&mut state.left, cx);
            Poll::Pending
        })
        .await;
    }

    /// The answer is whole.
    pub fn finish(self) {
        self.pipe.end(End::Whole);
    }

    /// The answer broke off: what waits is still sent, then the connection is cut.
    pub fn abort(self) {
        self.pipe.end(End::Broken);
    }
}

impl Drop for BodySender {
    fn drop(&mut self) {
        self.pipe.end(End::Broken);
    }
}

#[derive(Debug)]
struct Reader {
    pipe: Arc<Pipe>,
    /// Something was handed over since the last pause: the server may not have written it yet.
    unwritten: bool,
}

impl Reader {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Aborted>>> {
        let mut state = self.pipe.lock();
        if let Some(bytes) = state.queue.pop_front() {
            let was_full = state.ahead_bytes >= self.pipe.ahead_max_bytes;
            state.ahead_bytes -= bytes.len();
            if was_full && state.ahead_bytes < self.pipe.ahead_max_bytes {
                wake(&mut state.room);
            }
            self.unwritten = true;
            return Poll::Ready(Some(Ok(bytes)));
        }
        match state.end {
            Some(End::Whole) => Poll::Ready(None),
            Some(End::Broken) => {
                state.end = Some(End::Cut);
                written_first(cx)
            }
            Some(End::Cut) => {
                state.end = Some(End::Whole);
                Poll::Ready(Some(Err(Aborted)))
            }
            None => {
                self.unwritten = false;
                register(&mut state.reader, cx);
                Poll::Pending
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.pipe.lock();
        state.gone = true;
        state.queue.clear();
        state.ahead_bytes = 0;
        wake(&mut state.room);
        wake(&mut state.left);
    }
}

#[derive(Debug)]
struct Pipe {
    ahead_max_bytes: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Bytes>,
    ahead_bytes: usize,
    end: Option<End>,
    gone: bool,
    reader: Option<Waker>,
    room: Option<Waker>,
    left: Option<Waker>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Whole,
    Broken,
    /// Broken, and all that was let through is written.
    Cut,
}

impl Pipe {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic between two plain stores leaves nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, end: End) {
        let mut state = self.lock();
        if state.end.is_none() {
            state.end = Some(end);
            state.wake_reader();
        }
    }
}

impl State {
    fn wake_reader(&mut self) {
        wake(&mut self.reader);
    }
}

/// The server drops what it has not written when a body fails, and writes it when a body has nothing
/// to give: what was let through must arrive before the cut.
fn written_first<T>(cx: &Context<'_>) -> Poll<T> {
    cx.waker().wake_by_ref();
    Poll::Pending
}

fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

fn register(slot: &mut Option<Waker>, cx: &Context<'_>) {
    if !slot.as_ref().is_some_and(|known| known.will_wake(cx.waker())) {
        *slot = Some(cx.waker().clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn r10_a_dropped_sender_is_never_a_normal_end() {
        let (sender, mut body) = Body::stream(10);
        sender.send(Bytes::from_static(b"half"));
        drop(sender);
        assert_eq!(body.piece().await, Some(Ok(Bytes::from_static(b"half"))));
        assert_eq!(body.piece().await, Some(Err(Aborted)));
        assert_eq!(body.piece().await, None);
    }

    #[tokio::test]
    async fn r10_only_a_finished_stream_ends_well() {
        let (sender, body) = Body::stream(10);
        sender.send(Bytes::from_static(b"all"));
        sender.finish();
        assert_eq!(body.collect().await, Ok(Bytes::from_static(b"all")));
    }

    #[tokio::test]
    async fn g14_read_ahead_is_bounded() {
        let (sender, mut body) = Body::stream(4);
        sender.send(Bytes::from_static(b"12345"));
        assert!(!sender.is_ready());
        let (_, piece) = tokio::join!(sender.ready(), body.piece());
        assert_eq!(piece, Some(Ok(Bytes::from_static(b"12345"))));
        assert!(sender.is_ready());
    }

    #[tokio::test]
    async fn g13_a_waiting_stream_ends_with_its_last_word() {
        let (sender, body) = Body::stream(10);
        sender.send(Bytes::from_static(b"a"));
        let body = body.ending(async { Some(Bytes::from_static(b"b")) });
        assert_eq!(body.collect().await, Ok(Bytes::from_static(b"ab")));
        sender.gone().await;
    }

    #[tokio::test]
    async fn g13_without_a_last_word_it_is_cut() {
        let (_sender, body) = Body::stream(10);
        assert_eq!(body.ending(async { None }).collect().await, Err(Aborted));
    }

    #[derive(Debug)]
    struct Pieces(Vec<Option<Result<Bytes, Aborted>>>);

    impl Source for Pieces {
        fn poll_piece(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Aborted>>> {
            self.0.pop().map_or(Poll::Pending, Poll::Ready)
        }

        fn stop(&self) -> Arc<Stop> {
            Arc::default()
        }
    }

    #[tokio::test]
    async fn r10_what_is_made_ends_as_its_maker_says() {
        let piece = || Some(Ok(Bytes::from_static(b"a")));
        let made = |last| Body::made(Box::new(Pieces(vec![last, piece(), piece()])));
        assert_eq!(made(None).collect().await, Ok(Bytes::from_static(b"aa")));
        let mut broken = made(Some(Err(Aborted)));
        assert!(broken.piece().await.is_some_and(|piece| piece.is_ok()));
        assert!(broken.piece().await.is_some_and(|piece| piece.is_ok()));
        let first = poll_fn(|cx| Poll::Ready(broken.poll_piece(cx))).await;
        assert!(first.is_pending(), "what was let through is written before the cut");
        assert_eq!(broken.piece().await, Some(Err(Aborted)));
        assert_eq!(broken.piece().await, None);
    }

    #[tokio::test]
    async fn g13_what_is_made_ends_with_its_last_word_when_it_waits() {
        let body = Body::made(Box::new(Pieces(vec![Some(Ok(Bytes::from_static(b"a")))])));
        let body = body.ending(async { Some(Bytes::from_static(b"b")) });
        assert_eq!(body.collect().await, Ok(Bytes::from_static(b"ab")));
    }

    #[tokio::test]
    async fn g03_a_dropped_body_is_noticed() {
        let (sender, body) = Body::stream(4);
        let ((), ()) = tokio::join!(sender.gone(), async { drop(body) });
        sender.send(Bytes::from_static(b"for nobody"));
        assert!(sender.is_ready());
    }
}
