//! A call's beginning: what the engine is told of it, and the headers that name it.

use std::sync::Arc;

use ekiden_dialect::Dialect;
use ekiden_dialect::write::{Fault, error};
use ekiden_engine::{CallId, CallSpec, Delivery, History, Seating};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};

use crate::body::Body;
use crate::core::Core;
use crate::front::text;
use crate::inbound::{Inbound, SessionKind};
use crate::plan::CandidateRuntime;
use crate::upstream::KEYS;

/// What the engine is told of a call.
pub(crate) fn spec(core: &Core, inbound: &Inbound, id: CallId, seed: u64) -> CallSpec {
    let facts = inbound.request.facts();
    let deadlines = [inbound.deadline_ms, inbound.queue.deadline_ms];
    CallSpec {
        id,
        queue: Arc::clone(inbound.queue.engine(inbound.dialect)),
        session: core.names.session(&inbound.session.key),
        seating: match inbound.session.kind {
            SessionKind::Named => Seating::Session,
            SessionKind::Fingerprint | SessionKind::Background => Seating::Call,
        },
        purpose: inbound.purpose,
        delivery: if facts.stream { Delivery::Stream } else { Delivery::Whole },
        history: if facts.under_way { History::Ongoing } else { History::Fresh },
        input_tokens: u32::try_from(facts.input_tokens).unwrap_or(u32::MAX),
        deadline_ms: deadlines.into_iter().flatten().min(),
        seed,
        tried: Vec::new(),
    }
}

/// Credentials of the client, which must not be kept even if an upstream repeats them.
pub(crate) fn secrets(headers: &HeaderMap) -> Vec<String> {
    KEYS.into_iter()
        .filter_map(|name| text(headers, name))
        .map(|value| value.trim_start_matches("Bearer ").trim().to_owned())
        .filter(|value| value.len() >= 8)
        .collect()
}

const CALL: HeaderName = HeaderName::from_static("x-ekiden-call");
const QUEUE: HeaderName = HeaderName::from_static("x-ekiden-queue");
const SESSION: HeaderName = HeaderName::from_static("x-ekiden-session");
const CANDIDATE: HeaderName = HeaderName::from_static("x-ekiden-candidate");
const ATTEMPTS: HeaderName = HeaderName::from_static("x-ekiden-attempts");

/// Names of an answer (G5).
#[derive(Debug)]
pub(crate) struct Named<'a> {
    pub(crate) call: &'a str,
    pub(crate) queue: &'a str,
    pub(crate) session: &'a str,
    /// Whose answer it is, once that is known.
    pub(crate) by: Option<&'a CandidateRuntime>,
    /// How many attempts there were, once that is known.
    pub(crate) attempts: Option<usize>,
}

/// Puts an answer's names into its headers.
pub(crate) fn name(headers: &mut HeaderMap, named: &Named<'_>) {
    let mut put = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
            headers.insert(name, value);
        }
    };
    put(CALL, named.call);
    put(QUEUE, named.queue);
    if !named.session.is_empty() {
        put(SESSION, named.session);
    }
    if let Some(candidate) = named.by {
        put(CANDIDATE, &candidate.route);
    }
    if let Some(attempts) = named.attempts.filter(|attempts| *attempts > 0) {
        put(ATTEMPTS, &attempts.to_string());
    }
}

/// The call's task is gone without a word, which is a fault of ours.
pub(crate) fn lost(dialect: Dialect) -> Response<Body> {
    let reply = error(dialect, Fault::Internal, "The call was lost inside the gateway.", None);
    let mut response = Response::new(Body::whole(reply.body));
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
