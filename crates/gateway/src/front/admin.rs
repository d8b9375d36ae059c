//! Our own interface, `/api/v1` (R19, R32, R33; docs/api.md has the shapes).
//!
//! It refuses to hand out secrets, prompts and answers: none of them is in what it reads. It answers
//! in codes and numbers; whoever shows them has the words.

mod calls;
mod journal;
mod release;
mod state;

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use serde::Serialize;

use ekiden_dialect::Dialect;

use crate::body::Body;
use crate::front::Front;
use crate::front::intake::{self, Raw};
use crate::front::limits::Bound;
use crate::front::reply::{json, plain};
use crate::front::route::Api;
use crate::plan::Plan;

use release::Wish;

/// Lines of a list when the question names no number.
const LIST_DEFAULT: usize = 200;

/// A body of ours is a few names.
const BODY_MAX_BYTES: u64 = 64 << 10;

#[derive(Serialize)]
struct Failure<'a> {
    error: Reason<'a>,
}

#[derive(Serialize)]
struct Reason<'a> {
    code: &'a str,
    message: &'a str,
}

#[derive(Serialize)]
struct Ended<'a> {
    ended: &'a str,
}

fn failure(status: StatusCode, code: &str, message: &str) -> Response<Body> {
    json(status, &Failure { error: Reason { code, message } })
}

impl Front {
    pub(super) async fn admin<B>(
        &self,
        plan: &Arc<Plan>,
        api: Api,
        query: Option<&str>,
        headers: &HeaderMap,
        body: B,
    ) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send,
    {
        match api {
            Api::State => json(StatusCode::OK, &self.state(plan).await),
            Api::Calls => {
                let (now, most) = (self.core.clock().now(), limit(query));
                json(StatusCode::OK, &calls::list(self.core.calls(), now, most))
            }
            Api::Call(id) => match calls::find(&self.core, &id) {
                Some(call) => json(StatusCode::OK, &call),
                None => no_call(&id),
            },
            Api::Trace(id) => match self.core.calls().find(&id) {
                Some(past) => plain(StatusCode::OK, past.trace.to_text()),
                None => no_call(&id),
            },
            Api::EndSession(id) => self.end_session(&id),
            Api::Release => match self.wish(headers, body).await {
                Ok(wish) => self.release(&wish),
                Err(refusal) => *refusal,
            },
            Api::Journal => {
                let most = limit(query);
                let entries = self.stored(move |store| store.journal(most)).await;
                json(StatusCode::OK, &journal::shown(&entries))
            }
        }
    }

    /// G4: the session is over, and its seats go back.
    fn end_session(&self, name: &str) -> Response<Body> {
        match self.session_named(name) {
            Ok(session) => {
                let key = self.core.names().session_name(session);
                self.core.end_session(&key);
                json(StatusCode::OK, &Ended { ended: &key })
            }
            Err(refusal) => *refusal,
        }
    }

    async fn wish<B>(&self, headers: &HeaderMap, body: B) -> Result<Wish, Box<Response<Body>>>
    where
        B: http_body::Body<Data = Bytes> + Send,
    {
        // Of its own, so that letting go works when calls hold all there is.
        let room = Bound::new(BODY_MAX_BYTES);
        let read = intake::read(headers, body, BODY_MAX_BYTES, &room).await;
        let Raw { bytes, codings, held: _held } =
            read.map_err(|error| Box::new(error.into_response(Dialect::OpenAiChat)))?;
        let bad =
            |message: &str| Box::new(failure(StatusCode::BAD_REQUEST, "bad_release", message));
        if !codings.is_empty() {
            return Err(bad("the body must come without a content coding"));
        }
        serde_json::from_slice(&bytes)
            .map_err(|error| bad(&format!("{error}; write {}", release::FORMS)))
    }
}

fn no_call(id: &str) -> Response<Body> {
    let id: String = id.chars().filter(|c| !c.is_control()).take(80).collect();
    let message = format!("no call `{id}` is remembered; the newest 1,000 are");
    failure(StatusCode::NOT_FOUND, "no_such_call", &message)
}

/// `limit=N` of a query.
fn limit(query: Option<&str>) -> usize {
    let pairs = query.unwrap_or_default().split('&');
    let asked = pairs.filter_map(|pair| pair.strip_prefix("limit=")).next_back();
    asked.and_then(|number| number.parse().ok()).unwrap_or(LIST_DEFAULT).min(10_000)
}
