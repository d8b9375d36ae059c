//! One request on its way, and its answer: on a connection of our own for HTTP/1.1, through the
//! library's client where a provider is to be spoken to in HTTP/2.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, Uri};
use http_body::Body as _;
use hyper_util::client::legacy::ResponseFuture;
use hyper_util::client::legacy::connect::{CaptureConnection, capture_connection};

use ekiden_dialect::splice;

use super::HttpClient;
use super::body::RequestBody;
use super::conn::{Hold, LibraryBody, Mark};
use super::fault::{Fault, body_fault, request_fault};
use super::h1::{Exchange, OwnBody};
use super::headers::HeaderList;

/// A request to a provider.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderList,
    pub(crate) body: splice::Body,
}

/// A request that was sent. Dropping it, or its answer before that is complete, closes its
/// connection at once, whatever of the request is still to be written.
#[derive(Debug)]
pub(crate) enum Sending {
    Own(Box<Exchange>),
    Library(Box<Asked>),
}

/// A request in the hands of the library's client.
#[derive(Debug)]
pub(crate) struct Asked {
    answer: ResponseFuture,
    captured: CaptureConnection,
    /// Once a connection stands.
    reused: Option<bool>,
    hold: Option<Hold>,
}

/// What became of it.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is moved once, and in the end it is an answer")]
pub(crate) enum Progress {
    /// A connection stands and the request goes out on it.
    Connected,
    /// The head of an answer.
    Head(Answer),
    /// Nothing will come.
    Failed(Fault),
}

/// An answer whose body is still to come.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: AnswerBody,
}

/// The body of an answer. Dropping it before its end cuts the connection.
#[derive(Debug)]
pub(crate) enum AnswerBody {
    Own(OwnBody),
    Library(LibraryBody),
}

impl Sending {
    pub(super) fn asked(client: &HttpClient, ask: Ask) -> Self {
        let Ask { method, uri, headers, body } = ask;
        let mut request = Request::new(RequestBody::of(&body).joined());
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        headers.into_iter().for_each(|(name, value)| {
            request.headers_mut().append(name, value);
        });
        let captured = capture_connection(&mut request);
        let answer = client.request(request);
        Self::Library(Box::new(Asked { answer, captured, reused: None, hold: None }))
    }

    /// What comes next: [`Progress::Connected`] at most once, then one of the others.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Progress> {
        match self {
            Self::Own(exchange) => exchange.poll(cx),
            Self::Library(asked) => asked.poll(cx),
        }
    }

    /// The head of the answer.
    pub(crate) async fn answer(mut self) -> Result<Answer, Fault> {
        loop {
            match std::future::poll_fn(|cx| self.poll(cx)).await {
                Progress::Connected => {}
                Progress::Head(answer) => return Ok(answer),
                Progress::Failed(fault) => return Err(fault),
            }
        }
    }
}

impl Asked {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Progress> {
        let polled = Pin::new(&mut self.answer).poll(cx);
        let connected = self.reused.is_none() && self.note_connection();
        match polled {
            Poll::Ready(Ok(answer)) => {
                let hold = self.hold.take();
                let (parts, body) = answer.into_parts();
                let body = AnswerBody::Library(LibraryBody::new(body, hold));
                let (status, headers) = (parts.status, parts.headers);
                Poll::Ready(Progress::Head(Answer { status, headers, body }))
            }
            Poll::Ready(Err(error)) => {
                Poll::Ready(Progress::Failed(request_fault(&error, self.reused)))
            }
            Poll::Pending if connected => Poll::Ready(Progress::Connected),
            Poll::Pending => Poll::Pending,
        }
    }

    fn note_connection(&mut self) -> bool {
        let connection = self.captured.connection_metadata();
        let Some(connected) = connection.as_ref() else { return false };
        let mut extras = http::Extensions::new();
        connected.get_extras(&mut extras);
        self.hold = extras.get::<Mark>().map(Mark::take);
        self.reused = Some(self.hold.as_ref().is_some_and(Hold::is_reused));
        true
    }
}

impl AnswerBody {
    /// The next bytes; `None` at the end.
    pub(crate) fn poll_piece(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Fault>>> {
        let body = match self {
            Self::Own(body) => return body.poll(cx),
            Self::Library(body) => body,
        };
        loop {
            let frame = std::task::ready!(Pin::new(&mut *body).poll_frame(cx));
            match frame.map(|frame| frame.map(http_body::Frame::into_data)) {
                // Trailers.
                Some(Ok(Err(_))) => {}
                Some(Ok(Ok(data))) => return Poll::Ready(Some(Ok(data))),
                Some(Err(error)) => return Poll::Ready(Some(Err(body_fault(&error)))),
                None => return Poll::Ready(None),
            }
        }
    }

    /// All of it; `None` where it is longer than `most` bytes.
    pub(crate) async fn whole(mut self, most: usize) -> Result<Option<Bytes>, Fault> {
        let mut all = bytes::BytesMut::new();
        while let Some(piece) = std::future::poll_fn(|cx| self.poll_piece(cx)).await {
            all.extend_from_slice(&piece?);
            if all.len() > most {
                return Ok(None);
            }
        }
        Ok(Some(all.freeze()))
    }
}
