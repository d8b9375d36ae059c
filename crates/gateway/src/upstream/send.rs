//! One request on its way.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::client::legacy::ResponseFuture;
use hyper_util::client::legacy::connect::{CaptureConnection, capture_connection};

use super::fault::{Fault, request_fault};
use super::{HttpClient, Mark, RequestBody};

/// A request that was sent; dropping it closes its connection.
#[derive(Debug)]
pub(crate) struct Sending {
    answer: ResponseFuture,
    captured: CaptureConnection,
    reused: Option<bool>,
}

/// What became of it.
#[derive(Debug)]
pub(crate) enum Progress {
    /// A connection stands and the request goes out on it.
    Connected,
    /// The head of an answer.
    Head(Response<Incoming>),
    /// Nothing will come.
    Failed(Fault),
}

impl Sending {
    pub(crate) fn start(client: &HttpClient, mut request: Request<RequestBody>) -> Self {
        let captured = capture_connection(&mut request);
        Self { answer: client.request(request), captured, reused: None }
    }

    /// What comes next: [`Progress::Connected`] at most once, then one of the others.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Progress> {
        let polled = Pin::new(&mut self.answer).poll(cx);
        let connected = self.reused.is_none() && self.note_connection();
        match polled {
            Poll::Ready(Ok(answer)) => Poll::Ready(Progress::Head(answer)),
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
        self.reused = Some(extras.get::<Mark>().is_some_and(Mark::use_once_more));
        true
    }
}
