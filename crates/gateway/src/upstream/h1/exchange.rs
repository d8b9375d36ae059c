//! One request and its answer on one connection.
//!
//! It refuses to run on its own: nothing happens but when it is polled, and dropping it before the
//! answer is complete cuts the connection.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};

use crate::upstream::connect::ConnectFault;
use crate::upstream::fault::{At, Fault, broke, closed, connect_fault, malformed};
use crate::upstream::{Answer, AnswerBody, Ask, Progress};

use super::Malformed;
use super::chunked::Chunks;
use super::head::{self, After, Framing, Head};
use super::pool::{Pool, Reuse};
use super::request::Outgoing;
use super::wire::{READ_BYTES, Space, Wire};

/// Informational heads before an answer, at most.
const INTERIM_MAX: u8 = 16;

type Connecting = Pin<Box<dyn Future<Output = Result<Wire, ConnectFault>> + Send>>;

/// A request on its way, until the head of its answer.
pub(crate) struct Exchange {
    pool: Arc<Pool>,
    state: State,
}

enum State {
    Connecting(Connecting, Option<Ask>),
    Open(Open),
    Over,
}

struct Open {
    wire: Wire,
    out: Outgoing,
    /// What has come of the head.
    seen: BytesMut,
    interim: u8,
    /// Whether it was told that a connection stands.
    told: bool,
}

/// The body of an answer. Dropping it before its end cuts the connection.
#[derive(Debug)]
pub(crate) struct OwnBody {
    pool: Arc<Pool>,
    /// Until the end.
    wire: Option<Wire>,
    left: Left,
    /// What of the request is still to be sent.
    out: Outgoing,
    /// What came with the head.
    ahead: BytesMut,
    after: After,
}

#[derive(Debug)]
enum Left {
    Bytes(u64),
    Chunks(Chunks),
    Close,
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Exchange")
    }
}

impl Exchange {
    pub(crate) fn start(pool: &Arc<Pool>, reuse: Reuse, ask: Ask) -> Self {
        let resting = match reuse {
            Reuse::May => pool.take(),
            Reuse::Never => None,
        };
        let state = match resting {
            Some(wire) => State::Open(Open::new(wire, &ask)),
            None => {
                let connecting = Arc::clone(pool).connect(ask.uri.clone());
                State::Connecting(Box::pin(connecting), Some(ask))
            }
        };
        Self { pool: Arc::clone(pool), state }
    }

    /// What comes next: [`Progress::Connected`] at most once, then one of the others.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Progress> {
        loop {
            match &mut self.state {
                State::Connecting(connecting, ask) => match ready!(connecting.as_mut().poll(cx)) {
                    Ok(wire) => {
                        let Some(ask) = ask.take() else { return Poll::Pending };
                        self.state = State::Open(Open::new(wire, &ask));
                    }
                    Err(fault) => {
                        self.state = State::Over;
                        return Poll::Ready(Progress::Failed(connect_fault(&fault)));
                    }
                },
                State::Open(open) => {
                    let polled = open.poll(cx);
                    if polled.is_pending() && !std::mem::replace(&mut open.told, true) {
                        return Poll::Ready(Progress::Connected);
                    }
                    return Poll::Ready(match ready!(polled) {
                        Ok(head) => self.answer(*head),
                        Err(fault) => {
                            self.state = State::Over;
                            Progress::Failed(fault)
                        }
                    });
                }
                State::Over => return Poll::Pending,
            }
        }
    }

    fn answer(&mut self, head: Head) -> Progress {
        let State::Open(open) = std::mem::replace(&mut self.state, State::Over) else {
            return Progress::Failed(closed(At::Request));
        };
        let mut body = OwnBody {
            pool: Arc::clone(&self.pool),
            wire: Some(open.wire),
            left: match head.framing {
                Framing::Length(length) => Left::Bytes(length),
                Framing::Chunked => Left::Chunks(Chunks::default()),
                Framing::Close => Left::Close,
            },
            out: open.out,
            ahead: open.seen,
            after: head.after,
        };
        if head.framing == Framing::Length(0) {
            let more = !body.ahead.is_empty();
            body.ended(more);
        }
        let body = AnswerBody::Own(body);
        Progress::Head(Answer { status: head.status, headers: head.headers, body })
    }
}

impl Open {
    fn new(wire: Wire, ask: &Ask) -> Self {
        let out = Outgoing::of(ask, wire.form());
        Self { wire, out, seen: BytesMut::new(), interim: 0, told: false }
    }

    /// The head of the answer. It may come while the request is still going out.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Box<Head>, Fault>> {
        let sending = self.wire.poll_send(cx, &mut self.out);
        let mut space: Space = [std::mem::MaybeUninit::uninit(); READ_BYTES];
        loop {
            let known = self.seen.len();
            match self.wire.poll_read(cx, &mut space) {
                Poll::Ready(Ok(read)) if read.filled().is_empty() => {
                    return Poll::Ready(Err(self.died(None)));
                }
                Poll::Ready(Ok(read)) => self.seen.extend_from_slice(read.filled()),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(self.died(Some(&error)))),
                // What cannot be sent is not waited for, unless it was answered before it broke.
                Poll::Pending => match sending {
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(self.died(Some(&error)))),
                    Poll::Ready(Ok(())) | Poll::Pending => return Poll::Pending,
                },
            }
            if let Some(head) = self.head(known).map_err(|error| malformed(At::Request, error))? {
                return Poll::Ready(Ok(head));
            }
        }
    }

    fn head(&mut self, mut known: usize) -> Result<Option<Box<Head>>, Malformed> {
        loop {
            match head::read(&self.seen, known)? {
                head::Read::More => return Ok(None),
                head::Read::Interim(len) => {
                    self.interim += 1;
                    if self.interim > INTERIM_MAX {
                        return Err(Malformed::TooLarge);
                    }
                    drop(self.seen.split_to(len));
                    known = 0;
                }
                head::Read::Final(len, head) => {
                    drop(self.seen.split_to(len));
                    return Ok(Some(head));
                }
            }
        }
    }

    /// R48: only where not a byte of an answer came is it nobody's fault.
    fn died(&self, error: Option<&io::Error>) -> Fault {
        let silent = self.seen.is_empty() && self.interim == 0;
        let at = if self.wire.is_reused() && silent { At::Unserved } else { At::Request };
        error.map_or_else(|| closed(at), |error| broke(at, error))
    }
}

impl OwnBody {
    /// The next bytes; `None` at the end.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Fault>>> {
        if !self.ahead.is_empty() && self.wire.is_some() {
            let ahead = std::mem::take(&mut self.ahead);
            match self.decode(&ahead) {
                Ok(bytes) if bytes.is_empty() => {}
                Ok(bytes) => return Poll::Ready(Some(Ok(bytes))),
                Err(error) => return Poll::Ready(Some(Err(self.broken(error)))),
            }
        }
        loop {
            let Some(wire) = &mut self.wire else { return Poll::Ready(None) };
            if !self.out.is_sent()
                && matches!(wire.poll_send(cx, &mut self.out), Poll::Ready(Err(_)))
            {
                // It has answered; whether it read to the end is its own affair.
                self.out = Outgoing::default();
                self.after = After::Closed;
            }
            let mut space: Space = [std::mem::MaybeUninit::uninit(); READ_BYTES];
            let read = match ready!(wire.poll_read(cx, &mut space)) {
                Ok(read) => read,
                Err(error) => {
                    self.wire = None;
                    return Poll::Ready(Some(Err(broke(At::Body, &error))));
                }
            };
            if read.filled().is_empty() {
                self.wire = None;
                return Poll::Ready(match self.left {
                    Left::Close => None,
                    Left::Bytes(_) | Left::Chunks(_) => Some(Err(closed(At::Body))),
                });
            }
            match self.decode(read.filled()) {
                Ok(bytes) if bytes.is_empty() => {}
                Ok(bytes) => return Poll::Ready(Some(Ok(bytes))),
                Err(error) => return Poll::Ready(Some(Err(self.broken(error)))),
            }
        }
    }

    /// What bytes of the wire carry. They are copied once, into memory of just their size.
    fn decode(&mut self, wire: &[u8]) -> Result<Bytes, Malformed> {
        match &mut self.left {
            Left::Close => Ok(Bytes::copy_from_slice(wire)),
            Left::Bytes(left) => {
                let size = usize::try_from(*left).unwrap_or(usize::MAX).min(wire.len());
                *left -= size as u64;
                if *left == 0 {
                    self.ended(size < wire.len());
                }
                Ok(Bytes::copy_from_slice(&wire[..size]))
            }
            Left::Chunks(chunks) => {
                let mut data = BytesMut::with_capacity(wire.len());
                let taken = chunks.read(wire, &mut data)?;
                if chunks.is_over() {
                    self.ended(taken < wire.len());
                }
                Ok(data.freeze())
            }
        }
    }

    /// The answer is complete. Its connection rests, unless `more` came than belongs to it, or its
    /// request is not out yet: that is not sent to its end.
    fn ended(&mut self, more: bool) {
        let Some(mut wire) = self.wire.take() else { return };
        if !self.out.is_sent() {
            return;
        }
        wire.rest();
        if self.after == After::Kept && !more {
            self.pool.put(wire);
        }
    }

    fn broken(&mut self, error: Malformed) -> Fault {
        self.wire = None;
        malformed(At::Body, error)
    }
}
