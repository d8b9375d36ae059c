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

/// Merged bytes go out at the latest when there are so many.
const MERGED_MAX: usize = 64 * 1024;

/// What the client gets next.
#[derive(Debug)]
pub(crate) enum Given {
    /// Status and headers; a stream follows.
    Stream(Response<()>),
    /// This is all.
    Whole(Response<Bytes>),
    /// A piece of the stream.
    Piece(Bytes),
    /// The stream is whole.
    End,
    /// The stream broke off; its connection is cut.
    Cut,
}

/// The client's end.
#[derive(Debug)]
pub(crate) struct ClientEnd {
    dialect: Dialect,
    usage: UsageShown,
    head: Head,
    held: Vec<Bytes>,
    /// The terminal event: it waits for the engine to call the answer whole.
    tail: Option<Bytes>,
    committed: bool,
    out: Out,
    end: Option<End>,
}

/// Status and headers.
#[derive(Debug)]
enum Head {
    Held,
    Stream(Response<()>),
    Whole(Response<Bytes>),
    Given,
}

/// How the stream ends once all of it is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Whole,
    Cut,
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
enum Out {
    None,
    One(Bytes),
    Many(BytesMut),
}

impl ClientEnd {
    pub(crate) const fn new(dialect: Dialect, usage: UsageShown) -> Self {
        Self {
            dialect,
            usage,
            head: Head::Held,
            held: Vec::new(),
            tail: None,
            committed: false,
            out: Out::None,
            end: None,
        }
    }

    /// What the client is given before anything else is waited for.
    pub(crate) fn give(&mut self) -> Option<Given> {
        if !matches!(self.head, Head::Held | Head::Given) {
            return match std::mem::replace(&mut self.head, Head::Given) {
                Head::Stream(response) => Some(Given::Stream(response)),
                Head::Whole(response) => Some(Given::Whole(response)),
                Head::Held | Head::Given => None,
            };
        }
        if self.end.is_some() || self.out.len() >= MERGED_MAX {
            return self.give_piece().or_else(|| {
                self.end.map(|end| match end {
                    End::Whole => Given::End,
                    End::Cut => Given::Cut,
                })
            });
        }
        None
    }

    /// What has been joined, where nothing more is at hand.
    pub(crate) fn give_piece(&mut self) -> Option<Given> {
        if self.is_head_held() {
            return None;
        }
        match std::mem::replace(&mut self.out, Out::None) {
            Out::None => None,
            Out::One(bytes) => Some(Given::Piece(bytes)),
            Out::Many(bytes) => Some(Given::Piece(bytes.freeze())),
        }
    }

    /// Whether status and headers are still held.
    pub(crate) const fn is_head_held(&self) -> bool {
        matches!(self.head, Head::Held)
    }

    pub(crate) const fn is_committed(&self) -> bool {
        self.committed
    }

    /// Sends status and headers of a stream, if that has not happened.
    pub(crate) fn begin_stream(&mut self, headers: HeaderMap) {
        if !self.is_head_held() {
            return;
        }
        let mut response = Response::new(());
        *response.headers_mut() = headers;
        let kind = HeaderValue::from_static("text/event-stream; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        let cache = HeaderValue::from_static("no-cache");
        response.headers_mut().insert(header::CACHE_CONTROL, cache);
        // Some reverse proxies hold a stream back unless they are told not to.
        let buffering = HeaderName::from_static("x-accel-buffering");
        response.headers_mut().insert(buffering, HeaderValue::from_static("no"));
        self.head = Head::Stream(response);
    }

    /// Sends a whole answer, which is the end.
    pub(crate) fn answer(&mut self, status: u16, headers: HeaderMap, body: Bytes) {
        if !self.is_head_held() {
            return;
        }
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
        *response.headers_mut() = headers;
        self.head = Head::Whole(response);
    }

    /// Keeps a waiting client alive (G2).
    pub(crate) fn beat(&mut self) {
        self.push(keep_alive(self.dialect));
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
        self.ends(End::Whole);
    }

    /// Ends the stream with an error event, never with the terminal one.
    pub(crate) fn finish_with(&mut self, error_event: Bytes) {
        self.push(error_event);
        self.ends(End::Whole);
    }

    /// Cuts the connection.
    pub(crate) fn cut(&mut self) {
        self.ends(End::Cut);
    }

    fn ends(&mut self, end: End) {
        self.end.get_or_insert(end);
    }

    fn push(&mut self, bytes: Bytes) {
        if self.end.is_none() && !bytes.is_empty() {
            self.out.join(bytes);
        }
    }
}

impl Out {
    fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::One(bytes) => bytes.len(),
            Self::Many(bytes) => bytes.len(),
        }
    }

    fn join(&mut self, bytes: Bytes) {
        let mut many = match std::mem::replace(self, Self::None) {
            Self::None => {
                *self = Self::One(bytes);
                return;
            }
            Self::One(first) => {
                let mut many = BytesMut::with_capacity((first.len() + bytes.len()) * 4);
                many.extend_from_slice(&first);
                many
            }
            Self::Many(many) => many,
        };
        many.extend_from_slice(&bytes);
        *self = Self::Many(many);
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
