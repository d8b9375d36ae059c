//! What an upstream saw and did. The log judges nothing; it is for those who ask afterwards.

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::act::Act;
use crate::director::Director;
use crate::request::Endpoint;

/// Everything so far. A copy is cheap: bodies are shared.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// The requests in the order of their heads, without the forgotten ones.
    pub requests: Vec<Seen>,
    /// Requests that came before those and were forgotten.
    pub forgotten: usize,
    /// Connections that are open now.
    pub connections_open: usize,
    /// Connections ever opened.
    pub connections_total: usize,
    /// Requests that are being read or answered now.
    pub in_flight: usize,
    /// The most there ever were at once.
    pub in_flight_max: usize,
    /// Connections that were reset because they were used again ([`crate::After::DieOnReuse`]).
    pub died_on_reuse: usize,
}

/// One request.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its number, from 0; ids in answers are made of it.
    pub number: usize,
    /// The number of its connection, from 0.
    pub connection: usize,
    /// When its head was read.
    pub at: Instant,
    /// What it asks for.
    pub endpoint: Endpoint,
    /// Its method, as sent.
    pub method: String,
    /// Its path and query, as sent.
    pub path: String,
    /// Its headers in order: names in lower case, values as sent.
    pub headers: Vec<(String, String)>,
    /// Its body as sent, without the framing of HTTP; empty until it is read.
    pub body: Bytes,
    /// The body's `model`.
    pub model: Option<String>,
    /// Whether the body asks for a stream.
    pub streaming: bool,
    /// The act that it got; none before the request is read, or if it could not be.
    pub act: Option<Act>,
    /// Bytes written for it, head and framing included.
    pub written: u64,
    /// Events of a stream that were written whole, keep-alives included.
    pub events: usize,
    /// How and when it ended.
    pub end: Option<End>,
}

/// The end of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// When.
    pub at: Instant,
    /// How.
    pub how: How,
}

/// How an exchange ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The response was written to its end (what it says may still be broken, if the script says so).
    Whole,
    /// The script closed or reset the connection.
    Broken,
    /// The client closed the connection, or just its own direction, before the response was written.
    ClientGone,
    /// The request was no HTTP/1.1 that can be answered.
    Unreadable,
    /// The upstream itself was stopped.
    Stopped,
}

impl Log {
    /// Forgets all but the last requests; those that are still open will not be heard of again.
    pub(crate) fn keep(&mut self, requests_max: usize) {
        let excess = self.requests.len().saturating_sub(requests_max);
        self.requests.drain(..excess);
        self.forgotten += excess;
    }

    fn seen(&mut self, number: usize) -> Option<&mut Seen> {
        self.requests.get_mut(number.checked_sub(self.forgotten)?)
    }

    /// Requests for answers alone, without model lists and token counts.
    pub fn calls(&self) -> impl Iterator<Item = &Seen> {
        self.requests.iter().filter(|seen| seen.endpoint.is_call())
    }

    /// Requests for answers of this model.
    pub fn calls_of<'a>(&'a self, model: &'a str) -> impl Iterator<Item = &'a Seen> {
        self.calls().filter(move |seen| seen.model.as_deref() == Some(model))
    }
}

impl Seen {
    /// The first header of this name, in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; `Null` if it is none.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// When the client closed the connection before its time, if it did.
    #[must_use]
    pub fn client_left_at(&self) -> Option<Instant> {
        self.end.filter(|end| end.how == How::ClientGone).map(|end| end.at)
    }
}

/// One request's line in the log, ended when this is dropped.
pub(crate) struct Entry<'a> {
    log: &'a watch::Sender<Log>,
    number: usize,
    how: How,
    director: Option<&'a dyn Director>,
}

impl<'a> Entry<'a> {
    /// `seen` gets its number from the log.
    pub(crate) fn open(
        log: &'a watch::Sender<Log>,
        mut seen: Seen,
        requests_max: usize,
    ) -> Entry<'a> {
        let mut number = 0;
        log.send_modify(|log| {
            number = log.forgotten + log.requests.len();
            seen.number = number;
            log.requests.push(seen);
            log.keep(requests_max);
            log.in_flight += 1;
            log.in_flight_max = log.in_flight_max.max(log.in_flight);
        });
        Entry { log, number, how: How::Stopped, director: None }
    }

    /// With somebody who hears what goes out, and how it ends.
    pub(crate) fn heard_by(mut self, director: Option<&'a dyn Director>) -> Entry<'a> {
        self.director = director;
        self
    }

    pub(crate) fn says(&self, part: &[u8]) {
        if let Some(director) = self.director {
            director.says(self.number, part);
        }
    }

    pub(crate) fn number(&self) -> usize {
        self.number
    }

    pub(crate) fn amend(&self, change: impl FnOnce(&mut Seen)) {
        self.log.send_modify(|log| {
            if let Some(seen) = log.seen(self.number) {
                change(seen);
            }
        });
    }

    pub(crate) fn close(mut self, how: How) {
        self.how = how;
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        let end = End { at: now(), how: self.how };
        self.log.send_modify(|log| {
            log.in_flight = log.in_flight.saturating_sub(1);
            if let Some(seen) = log.seen(self.number) {
                seen.end = Some(end);
            }
        });
        if let Some(director) = self.director {
            director.ended(self.number, end);
        }
    }
}

/// A connection's place in the log, given up when this is dropped.
pub(crate) struct Line<'a> {
    log: &'a watch::Sender<Log>,
    pub(crate) number: usize,
}

impl<'a> Line<'a> {
    pub(crate) fn open(log: &'a watch::Sender<Log>) -> Line<'a> {
        let mut number = 0;
        log.send_modify(|log| {
            number = log.connections_total;
            log.connections_total += 1;
            log.connections_open += 1;
        });
        Line { log, number }
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        self.log.send_modify(|log| log.connections_open = log.connections_open.saturating_sub(1));
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the log tells when things happened, by tokio's clock that tests can pause; nothing is decided by it"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}
