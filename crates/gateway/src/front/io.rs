//! A connection with a bound on every wait that the HTTP library does not bound itself.
//!
//! It refuses to read HTTP. A peer that takes nothing for [`WRITE_WAIT`] is gone; one that is
//! answered before it has sent its whole body is read for a moment longer, since closing at once
//! would throw away the answer that it has not seen yet.

mod line;

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use line::Line;

pub(crate) use line::Answering;

/// As long as a client may read nothing (R11).
pub(crate) const WRITE_WAIT: Duration = Duration::from_secs(300);

/// How long what the peer still sends is read away, at most, before the connection is closed.
pub(crate) const LINGER: Duration = Duration::from_secs(2);

/// A peer that sends nothing for so long has nothing left to send.
const QUIET: Duration = Duration::from_millis(200);

/// The connection.
#[derive(Debug)]
pub(crate) struct Bounded<S> {
    line: Line<S>,
    /// Runs while the peer takes nothing.
    writing: Option<Pin<Box<Sleep>>>,
    /// Runs once our side is closed.
    closing: Option<Pin<Box<Sleep>>>,
    /// Runs while nothing comes after that.
    quiet: Option<Pin<Box<Sleep>>>,
}

impl<S> Bounded<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { line: Line::new(stream), writing: None, closing: None, quiet: None }
    }

    /// The socket below.
    pub(crate) const fn line(&self) -> &Line<S> {
        &self.line
    }
}

impl<S: Unpin> Bounded<S> {
    fn watch<T>(
        &mut self,
        cx: &mut Context<'_>,
        progress: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if progress.is_ready() {
            self.writing = None;
            return progress;
        }
        let wait = self.writing.get_or_insert_with(|| Box::pin(sleep(WRITE_WAIT)));
        ready!(wait.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Bounded<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.line.poll_read(cx, buf)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Bounded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let progress = self.line.with(|io| io.poll_write(cx, buf));
        self.watch(cx, progress)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let progress = self.line.with(|io| io.poll_write_vectored(cx, bufs));
        self.watch(cx, progress)
    }

    fn is_write_vectored(&self) -> bool {
        self.line.with(|io| io.is_write_vectored())
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let progress = self.line.with(|io| io.poll_flush(cx));
        self.watch(cx, progress)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.closing.is_none() {
            ready!(self.line.with(|io| io.poll_shutdown(cx)))?;
        }
        let this = &mut *self;
        let wait = this.closing.get_or_insert_with(|| Box::pin(sleep(LINGER)));
        if wait.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Ok(()));
        }
        let mut away = [0; 8 << 10];
        loop {
            let mut buf = ReadBuf::new(&mut away);
            match this.line.poll_read(cx, &mut buf) {
                Poll::Ready(Ok(())) if !buf.filled().is_empty() => this.quiet = None,
                Poll::Ready(Ok(()) | Err(_)) => return Poll::Ready(Ok(())),
                Poll::Pending => {
                    let quiet = this.quiet.get_or_insert_with(|| Box::pin(sleep(QUIET)));
                    return quiet.as_mut().poll(cx).map(Ok);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn r11_a_peer_that_takes_nothing_is_gone() {
        let (near, _far) = tokio::io::duplex(8);
        let mut near = Bounded::new(near);
        let failed = near.write_all(&[0; 64]).await.expect_err("nobody reads");
        assert_eq!(failed.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn r11_a_slow_reader_is_not_gone() {
        let (near, mut far) = tokio::io::duplex(8);
        let mut near = Bounded::new(near);
        let reading = async {
            let mut byte = [0; 8];
            for _ in 0..8 {
                tokio::time::sleep(WRITE_WAIT - Duration::from_secs(1)).await;
                far.read_exact(&mut byte).await.expect("bytes");
            }
        };
        let (written, ()) = tokio::join!(near.write_all(&[0; 64]), reading);
        written.expect("all taken in the end");
    }

    #[tokio::test(start_paused = true)]
    async fn g14_what_is_still_being_sent_is_read_away_for_a_moment() {
        let (near, mut far) = tokio::io::duplex(8);
        let mut near = Bounded::new(near);
        near.write_all(b"answer").await.expect("room");
        let sending = async {
            far.write_all(&[0; 100]).await.expect("read away");
            let mut answer = Vec::new();
            far.read_to_end(&mut answer).await.expect("the answer");
            drop(far);
            answer
        };
        let (closed, answer) = tokio::join!(near.shutdown(), sending);
        closed.expect("closed");
        assert_eq!(answer, b"answer");
    }

    #[tokio::test(start_paused = true)]
    async fn g14_nobody_lingers_for_ever() {
        let (near, _silent) = tokio::io::duplex(8);
        let mut near = Bounded::new(near);
        let closing = tokio::time::timeout(QUIET * 2, near.shutdown());
        closing.await.expect("soon").expect("closed");
        let (near, mut far) = tokio::io::duplex(8);
        let endless = async {
            while far.write_all(&[0]).await.is_ok() {
                tokio::time::sleep(QUIET / 2).await;
            }
        };
        let closing = async move {
            let mut near = Bounded::new(near);
            tokio::time::timeout(LINGER * 2, near.shutdown()).await
        };
        let (closed, ()) = tokio::join!(closing, endless);
        closed.expect("bounded").expect("closed");
    }
}
