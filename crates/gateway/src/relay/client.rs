//! The client's end of a call: what is held, what is let through, and how it ends.
//!
//! It refuses to mix: before commit nothing of an attempt leaves, and what is dropped is dropped
//! whole (R10, R16).

use bytes::{Bytes, BytesMut};
use ekiden_dialect::Dialect;
use ekiden_dialect::sse::Event;
use ekiden_dialect::stream::{UsageView, hide_usage};
use ekiden_dialect::write::keep_alive;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use tokio::sync::oneshot;

use crate::body::BodySender;

/// Merged bytes go out at the latest when there are so many.
const MERGED_MAX: usize = 64 * 1024;

/// What the client is told first.
#[derive(Debug)]
pub(crate) enum Head {
    /// A stream follows.
    Stream(Response<()>),
    /// This is all.
    Whole(Response<Bytes>),
}

/// The client's end.
#[derive(Debug)]
pub(crate) struct ClientEnd {
    dialect: Dialect,
    usage: UsageShown,
    head: Option<oneshot::Sender<Head>>,
    sender: Option<BodySender>,
    held: Vec<Bytes>,
    /// The terminal event: it waits for the engine to call the answer whole.
    tail: Option<Bytes>,
    committed: bool,
    out: Out,
}

/// Whether the client sees the usage of a Chat stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum UsageShown {
    /// It asked.
    Yes,
    /// We did, and it is taken out again.
    No,
}

/// Bytes that are on their way and may be joined by more.
#[derive(Debug)]
pub(crate) enum Out {
    None,
    One(Bytes),
    Many(BytesMut),
}

impl ClientEnd {
    pub(crate) fn new(
        dialect: Dialect,
        usage: UsageShown,
        head: oneshot::Sender<Head>,
        sender: BodySender,
    ) -> Self {
        Self {
            dialect,
            usage,
            head: Some(head),
            sender: Some(sender),
            held: Vec::new(),
            tail: None,
            committed: false,
            out: Out::None,
        }
    }

    /// The sender, while the answer goes on, and what is on its way to it.
    pub(crate) fn way(&mut self) -> Option<(&BodySender, &mut Out)> {
        self.sender.as_ref().map(|sender| (sender, &mut self.out))
    }

    /// Whether status and headers are still held.
    pub(crate) const fn is_head_held(&self) -> bool {
        self.head.is_some()
    }

    pub(crate) const fn is_committed(&self) -> bool {
        self.committed
    }

    /// Sends status and headers of a stream, if that has not happened.
    pub(crate) fn begin_stream(&mut self, headers: HeaderMap) {
        let Some(head) = self.head.take() else { return };
        let mut response = Response::new(());
        *response.headers_mut() = headers;
        let kind = HeaderValue::from_static("text/event-stream; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        let cache = HeaderValue::from_static("no-cache");
        response.headers_mut().insert(header::CACHE_CONTROL, cache);
        // Some reverse proxies hold a stream back unless they are told not to.
        let buffering = HeaderName::from_static("x-accel-buffering");
        response.headers_mut().insert(buffering, HeaderValue::from_static("no"));
        // A client that has left is noticed by its body.
        let _ = head.send(Head::Stream(response));
    }

    /// Sends a whole answer, which is the end.
    pub(crate) fn answer(&mut self, status: u16, headers: HeaderMap, body: Bytes) {
        let Some(head) = self.head.take() else { return };
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
        *response.headers_mut() = headers;
        let _ = head.send(Head::Whole(response));
        self.sender = None;
    }

    /// Keeps a waiting client alive (G2).
    pub(crate) fn beat(&mut self) {
        if let Some(sender) = &self.sender {
            sender.send(keep_alive(self.dialect));
        }
    }

    /// An event of the attempt that runs: held before commit, on its way after it.
    pub(crate) fn event(&mut self, event: &Event) {
        let bytes = match self.usage {
            UsageShown::Yes => event.raw().clone(),
            UsageShown::No => match hide_usage(event) {
                UsageView::AsItCame => event.raw().clone(),
                UsageView::Without(bytes) => bytes,
                UsageView::Nothing => return,
            },
        };
        if self.committed { self.push(bytes) } else { self.held.push(bytes) }
    }

    /// The terminal event of the attempt that runs.
    pub(crate) fn terminal(&mut self, event: &Event) {
        self.tail = Some(event.raw().clone());
    }

    /// Lets through what is held, and all that follows.
    pub(crate) fn commit(&mut self) {
        self.committed = true;
        for bytes in std::mem::take(&mut self.held) {
            self.push(bytes);
        }
    }

    /// Drops what is held of a failed attempt.
    pub(crate) fn discard(&mut self) {
        if !self.committed {
            self.held.clear();
        }
        self.tail = None;
    }

    /// Ends the stream as a whole answer ends. Where the upstream gave its reason for ending but
    /// not the terminal event, the event is added: without it some clients ask again.
    pub(crate) fn finish(&mut self) {
        let tail = self.tail.take().unwrap_or_else(|| terminal_event(self.dialect));
        self.push(tail);
        self.flush();
        if let Some(sender) = self.sender.take() {
            sender.finish();
        }
    }

    /// Ends the stream with an error event, never with the terminal one.
    pub(crate) fn finish_with(&mut self, error_event: Bytes) {
        self.push(error_event);
        self.flush();
        if let Some(sender) = self.sender.take() {
            sender.finish();
        }
    }

    /// Cuts the connection.
    pub(crate) fn cut(&mut self) {
        self.flush();
        if let Some(sender) = self.sender.take() {
            sender.abort();
        }
    }

    fn flush(&mut self) {
        if let Some(sender) = &self.sender {
            self.out.flush(sender);
        }
    }

    fn push(&mut self, bytes: Bytes) {
        if self.out.join(bytes) >= MERGED_MAX {
            self.flush();
        }
    }
}

impl Out {
    /// Whether there is anything.
    pub(crate) const fn is_some(&self) -> bool {
        !matches!(self, Self::None)
    }

    /// Hands on what has been joined.
    pub(crate) fn flush(&mut self, sender: &BodySender) {
        match std::mem::replace(self, Self::None) {
            Self::None => {}
            Self::One(bytes) => sender.send(bytes),
            Self::Many(bytes) => sender.send(bytes.freeze()),
        }
    }

    /// Adds bytes and gives the length of all.
    fn join(&mut self, bytes: Bytes) -> usize {
        let mut many = match std::mem::replace(self, Self::None) {
            Self::None => {
                let len = bytes.len();
                *self = Self::One(bytes);
                return len;
            }
            Self::One(first) => {
                let mut many = BytesMut::with_capacity((first.len() + bytes.len()) * 4);
                many.extend_from_slice(&first);
                many
            }
            Self::Many(many) => many,
        };
        many.extend_from_slice(&bytes);
        let len = many.len();
        *self = Self::Many(many);
        len
    }
}

fn terminal_event(dialect: Dialect) -> Bytes {
    Bytes::from_static(match dialect {
        Dialect::OpenAiChat => b"data: [DONE]\n\n",
        Dialect::AnthropicMessages => b"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        // `response.completed` holds the whole answer; there is nothing to make up.
        Dialect::OpenAiResponses => b"",
    })
}
