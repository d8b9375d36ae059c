//! What probes and curious people get.
//!
//! It refuses to name candidates or providers: whoever may ask for state asks the API.

use http::{HeaderMap, Response, StatusCode};
use serde::Serialize;

use ekiden_config::Config;

use crate::body::Body;
use crate::front::bind::SERVICE;
use crate::front::client::text;
use crate::front::reply::{json, plain};
use crate::front::route::CALL_PATHS;

const VERSION: &str = env!("CARGO_PKG_VERSION");

#[derive(Serialize)]
struct About<'a> {
    service: &'static str,
    version: &'static str,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    models: Vec<&'a str>,
}

impl About<'_> {
    const fn new(status: &'static str) -> Self {
        Self { service: SERVICE, version: VERSION, status, reason: None, models: Vec::new() }
    }
}

/// `GET /`: text for a browser, JSON for a program.
pub(crate) fn about(config: &Config, headers: &HeaderMap) -> Response<Body> {
    let models: Vec<&str> = config.queues.iter().map(|queue| queue.id.as_str()).collect();
    if !text(headers, "accept").is_some_and(|accept| accept.contains("text/html")) {
        return json(StatusCode::OK, &About { models, ..About::new("ok") });
    }
    let listed: String =
        config.queues.iter().map(|q| format!("  {}  {}\n", q.id, q.name)).collect();
    plain(
        StatusCode::OK,
        format!(
            "Ekiden {VERSION}: a queue of models that is one model.\n\n\
             Point a client at this address and ask for one of these models:\n{listed}\n\
             OpenAI clients take http://{address}/v1 as base URL, Anthropic's http://{address}.\n\
             Paths: {CALL_PATHS}.\n\
             State: GET /api/v1/state, GET /api/v1/calls, GET /api/v1/journal.\n",
            address = config.listen,
        ),
    )
}

/// `/health`, `/healthz`.
pub(crate) fn alive() -> Response<Body> {
    json(StatusCode::OK, &About::new("ok"))
}

/// Whether new calls are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Taking {
    Calls,
    NoMore,
}

/// `/readyz`: 503 while no call could be served.
pub(crate) fn ready(config: &Config, taking: Taking) -> Response<Body> {
    let empty = config.queues.iter().all(|queue| queue.candidates.is_empty());
    let reason = match taking {
        Taking::NoMore => Some("stopping"),
        Taking::Calls if empty => Some("no queue has a candidate"),
        Taking::Calls => None,
    };
    match reason {
        None => json(StatusCode::OK, &About::new("ok")),
        Some(_) => {
            let not = About { reason, ..About::new("unready") };
            json(StatusCode::SERVICE_UNAVAILABLE, &not)
        }
    }
}
