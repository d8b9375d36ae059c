//! One request on its way.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response};
use hyper_util::client::legacy::ResponseFuture;
use hyper_util::client::legacy::connect::{CaptureConnection, capture_connection};

use super::conn::{AnswerBody, Hold, Mark};
use super::fault::{Fault, request_fault};
use super::{HttpClient, RequestBody};

/// A request that was sent. Dropping it, or its answer before that is complete, closes its
/// connection at once, whatever of the request is still to be written.
#[derive(Debug)]
pub(crate) struct Sending {
    answer: ResponseFuture,
    captured: CaptureConnection,
    /// Once a connection stands.
    reused: Option<bool>,
    hold: Option<Hold>,
}

/// What became of it.
#[derive(Debug)]
pub(crate) enum Progress {
    /// A connection stands and the request goes out on it.
    Connected,
    /// The head of an answer.
    Head(Response<AnswerBody>),
    /// Nothing will come.
    Failed(Fault),
}

impl Sending {
    pub(crate) fn start(client: &HttpClient, mut request: Request<RequestBody>) -> Self {
        let captured = capture_connection(&mut request);
        Self { answer: client.request(request), captured, reused: None, hold: None }
    }

    /// What comes next: [`Progress::Connected`] at most once, then one of the others.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Progress> {
        let polled = Pin::new(&mut self.answer).poll(cx);
        let connected = self.reused.is_none() && self.note_connection();
        match polled {
            Poll::Ready(Ok(answer)) => {
                let hold = self.hold.take();
                Poll::Ready(Progress::Head(answer.map(|body| AnswerBody::new(body, hold))))
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
