//! Answers of the server itself, as HTTP.
//!
//! It refuses to word what a dialect words: errors of calls come from the dialect's own writer.

use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use serde::Serialize;

use ekiden_config::Language;
use ekiden_dialect::Dialect;
use ekiden_dialect::write::{Fault, Reply, error};

use crate::body::Body;
use crate::front::client;

/// A dialect's answer as HTTP.
pub(crate) fn response(reply: Reply) -> Response<Body> {
    let mut response = Response::new(Body::whole(reply.body));
    *response.status_mut() =
        StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in reply.headers {
        if let Ok(value) = HeaderValue::try_from(value) {
            response.headers_mut().append(HeaderName::from_static(name), value);
        }
    }
    response
}

/// Whoever is told that a request is not served: what it speaks, and what the person behind it reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Asker {
    pub(crate) dialect: Dialect,
    pub(crate) language: Language,
}

impl Asker {
    /// Who sent these headers, in a dialect that is known.
    pub(crate) fn of(dialect: Dialect, headers: &HeaderMap) -> Self {
        Self { dialect, language: client::language(headers) }
    }

    /// An error in the asker's dialect.
    pub(crate) fn refused(self, fault: Fault, message: &str) -> Response<Body> {
        response(error(self.dialect, fault, message, None))
    }

    /// The same under a status that the dialects' own errors do not have.
    pub(crate) fn refused_as(
        self,
        status: StatusCode,
        fault: Fault,
        message: &str,
    ) -> Response<Body> {
        let mut response = self.refused(fault, message);
        *response.status_mut() = status;
        response
    }
}

/// Asks the client to come back, in seconds.
pub(crate) fn retry_after(mut response: Response<Body>, seconds: u64) -> Response<Body> {
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    response
}

/// A value of ours as JSON. Nobody keeps it: states change.
pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Response<Body> {
    let (status, body) = match serde_json::to_vec(value) {
        Ok(body) => (status, body),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, Vec::new()),
    };
    typed(status, "application/json", body)
}

/// Text for people.
pub(crate) fn plain(status: StatusCode, text: String) -> Response<Body> {
    typed(status, "text/plain; charset=utf-8", text.into_bytes())
}

fn typed(status: StatusCode, kind: &'static str, body: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::whole(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // What a browser is not told to show, it must not guess.
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
