//! Our own interface, `/api/v1` (R19, R32 to R34, R39; docs/api.md has the shapes).
//!
//! It refuses to hand out secrets, prompts and answers: none of them is in what it reads. It answers
//! in codes and numbers; whoever shows them has the words.

mod calls;
mod catalog;
mod dry_run;
mod events;
mod journal;
mod ledger;
pub(crate) mod openapi;
mod operations;
mod pause;
mod query;
mod queues;
mod release;
mod settings;
mod shape;
mod state;
mod test_queue;
mod tokens;

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use ekiden_dialect::Dialect;
use ekiden_store::Store;

use crate::body::Body;
use crate::front::Front;
use crate::front::intake::{self, Raw};
use crate::front::limits::Bound;
use crate::front::reply::{json, plain};
use crate::plan::{Plan, QueueRuntime};

pub(in crate::front) use events::READERS_MAX;
pub(in crate::front) use operations::{Op, Operation, find};

use pause::Ask;
use query::Query;
use release::{Ended, no_such};

/// A body of ours is a few names.
const BODY_MAX_BYTES: u64 = 64 << 10;

/// But for whole queues that are carried here.
const IMPORT_MAX_BYTES: u64 = 4 << 20;

/// A refusal.
#[derive(Serialize, JsonSchema)]
struct Failure<'a> {
    error: Reason<'a>,
}

/// Why.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FailureReason")]
struct Reason<'a> {
    /// For programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
    /// For people.
    message: &'a str,
}

/// A question to our own interface, as far as it was read.
#[derive(Debug)]
pub(super) struct Question<'a> {
    pub(super) operation: &'static Operation,
    /// The segments of the path that stand for names.
    pub(super) names: Vec<String>,
    pub(super) query: Option<&'a str>,
    pub(super) headers: &'a HeaderMap,
}

fn failure(status: StatusCode, code: &str, message: &str) -> Response<Body> {
    json(status, &Failure { error: Reason { code: Some(code), message } })
}

type Answered = Result<Response<Body>, Box<Response<Body>>>;

impl Front {
    pub(super) async fn admin<B>(
        &self,
        plan: &Arc<Plan>,
        question: Question<'_>,
        body: B,
    ) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send,
    {
        self.answered(plan, question, body).await.unwrap_or_else(|refusal| *refusal)
    }

    async fn answered<B>(&self, plan: &Arc<Plan>, question: Question<'_>, body: B) -> Answered
    where
        B: http_body::Body<Data = Bytes> + Send,
    {
        let Question { operation, names, query, headers } = question;
        let query = Query::read(operation, query)?;
        let name = names.into_iter().next().unwrap_or_default();
        Ok(match operation.op {
            Op::State => done(&self.state(plan, query.count("limit"))),
            Op::Sessions => {
                let after = query.text("after").map(|after| after.parse()).transpose();
                let after = after.map_err(|_| query::refusal("`after` is the `next` of a page"))?;
                done(&self.sessions(after, query.count("limit")).await)
            }
            Op::Session => {
                let session = self.session_named(&name)?;
                let found = self.session(session).await;
                found.map_or_else(|| no_such("session", &name), |session| done(&session))
            }
            Op::EndSession => {
                let ended = self.core.names().session_name(self.session_named(&name)?);
                self.core.end_session(&ended);
                done(&Ended { ended })
            }
            Op::Pause | Op::Resume => {
                let forms = "{\"session\": KEY}, or {} for everybody";
                let wish = self.taken(headers, body, "bad_body", forms).await?;
                let ask = if operation.op == Op::Pause { Ask::Pause } else { Ask::Resume };
                self.pause(ask, wish).await?
            }
            Op::StopCall => self.stop_call(name),
            Op::Calls | Op::Call | Op::Trace => self.past(operation.op, &query, &name),
            Op::Release => {
                let wish = self.taken(headers, body, "bad_release", release::FORMS).await?;
                self.release(&wish)
            }
            Op::Journal | Op::Ledger | Op::Attempts => self.kept(operation.op, query).await,
            Op::DryRun => {
                let queue = queue_of(plan, &name)?;
                let forms = "a call such as {\"session\": KEY, \"input_tokens\": 1000}, or {}";
                let wish = self.taken(headers, body, "bad_body", forms).await?;
                done(&self.dry_run(queue, &wish)?)
            }
            Op::TestQueue => done(&self.test_queue(queue_of(plan, &name)?).await),
            Op::Events => self.events(headers),
            Op::Tokens => done(&self.token_list()),
            Op::CreateToken => {
                let forms = "{\"name\": TEXT, \"scope\": \"client\" or \"admin\"}, with `queues` \
                    and `calls_max` if wished";
                let wish = self.taken(headers, body, "bad_body", forms).await?;
                self.make_token(wish).await
            }
            Op::RevokeToken => self.revoke_token(name).await,
            Op::Settings
            | Op::ChangeSettings
            | Op::ReloadSettings
            | Op::StoreKey
            | Op::ForgetKey => self.of_settings(operation.op, headers, name, body).await?,
            Op::CreateQueue
            | Op::OrderQueues
            | Op::ChangeQueue
            | Op::DeleteQueue
            | Op::ExportQueues
            | Op::ImportQueues => self.of_queues(operation.op, headers, name, &query, body).await?,
            Op::Catalog => done(&self.catalog()),
            Op::Rescan => {
                let forms = "{\"providers\": [ID]}, or {} for all";
                let wish = self.taken(headers, body, "bad_body", forms).await?;
                done(&self.rescan(wish).await?)
            }
            Op::OpenApi => done(&openapi::document()),
        })
    }

    /// What is asked of the settings.
    async fn of_settings<B>(
        &self,
        op: Op,
        headers: &HeaderMap,
        provider: String,
        body: B,
    ) -> Answered
    where
        B: http_body::Body<Data = Bytes> + Send,
    {
        if op == Op::ChangeSettings {
            let forms = "{\"changes\": [{\"do\": \"set\", \"path\": PATH, \"value\": VALUE}]}";
            let wish = self.taken(headers, body, "bad_body", forms).await?;
            return Ok(self.change_settings(headers, wish).await);
        }
        if op == Op::StoreKey {
            let read = self.taken(headers, body, "bad_body", "{\"key\": TEXT}").await;
            // A key that was written in the wrong place must not come back in the words of an error.
            let wish = read.map_err(|_| {
                let message = "write {\"key\": TEXT}";
                Box::new(failure(StatusCode::BAD_REQUEST, "bad_body", message))
            })?;
            return Ok(self.store_key(provider, wish).await);
        }
        if op == Op::ReloadSettings {
            return Ok(self.reload_settings().await);
        }
        if op == Op::ForgetKey {
            return Ok(self.forget_key(provider).await);
        }
        Ok(self.settings())
    }

    /// What is asked of the queues in the settings.
    async fn of_queues<B>(
        &self,
        op: Op,
        headers: &HeaderMap,
        id: String,
        query: &Query,
        body: B,
    ) -> Answered
    where
        B: http_body::Body<Data = Bytes> + Send,
    {
        let bad = "bad_body";
        if op == Op::CreateQueue {
            let forms = "{\"name\": TEXT, \"id\": ID, \"routes\": [ROUTE]}, the last two if wished";
            let wish = self.taken(headers, body, bad, forms).await?;
            return self.create_queue(headers, wish).await;
        }
        if op == Op::OrderQueues {
            let wish = self.taken(headers, body, bad, "{\"order\": [ID]}").await?;
            return self.order_queues(headers, wish).await;
        }
        if op == Op::ChangeQueue {
            let forms = "{\"name\": TEXT} or {\"order\": [ROUTE]}";
            let wish = self.taken(headers, body, bad, forms).await?;
            return self.change_queue(headers, id, wish).await;
        }
        if op == Op::ImportQueues {
            let bytes = read(headers, body, bad, IMPORT_MAX_BYTES).await?;
            let file = parsed(&bytes, bad, "what GET /api/v1/export gives")?;
            return self.import_queues(headers, file).await;
        }
        if op == Op::DeleteQueue {
            return self.delete_queue(headers, id, query).await;
        }
        Ok(done(&self.export_queues()))
    }

    /// What is asked of the calls that are remembered.
    fn past(&self, op: Op, query: &Query, id: &str) -> Response<Body> {
        let calls = self.core.calls();
        if op == Op::Calls {
            return done(&calls::list(calls, self.core.clock().now(), query.count("limit")));
        }
        let found = if op == Op::Trace {
            calls.find(id).map(|past| plain(StatusCode::OK, past.trace.to_text()))
        } else {
            calls::find(&self.core, id).map(|call| done(&call))
        };
        found.unwrap_or_else(|| no_call(id))
    }

    /// What is asked of the store.
    async fn kept(&self, op: Op, query: Query) -> Response<Body> {
        if op == Op::Ledger {
            let (filter, most) = ledger::filter(&query);
            let by = filter.by;
            let sums = self.stored(move |store| written(store).sums(&filter, most)).await;
            return done(&ledger::summed(by, &sums, most));
        }
        if op == Op::Attempts {
            let most = query.count("limit");
            let rows = match query.text("call") {
                Some(call) => self.stored(move |store| written(store).attempts_of(&call)).await,
                None => self.stored(move |store| written(store).attempts(most)).await,
            };
            return done(&ledger::attempts(rows.get(..most).unwrap_or(&rows)));
        }
        let (filter, most) = journal::filter(&query);
        let entries = self.stored(move |store| written(store).journal_page(&filter, most)).await;
        done(&journal::shown(&entries, most))
    }

    /// A body of ours; none at all is `{}`.
    async fn taken<T, B>(
        &self,
        headers: &HeaderMap,
        body: B,
        code: &str,
        forms: &str,
    ) -> Result<T, Box<Response<Body>>>
    where
        T: DeserializeOwned,
        B: http_body::Body<Data = Bytes> + Send,
    {
        let bytes = read(headers, body, code, BODY_MAX_BYTES).await?;
        parsed(&bytes, code, forms)
    }
}

async fn read<B>(
    headers: &HeaderMap,
    body: B,
    code: &str,
    most_bytes: u64,
) -> Result<Bytes, Box<Response<Body>>>
where
    B: http_body::Body<Data = Bytes> + Send,
{
    // Of its own, so that letting go works when calls hold all there is.
    let room = Bound::new(most_bytes);
    let read = intake::read(headers, body, most_bytes, &room).await;
    let Raw { bytes, codings, held: _held } =
        read.map_err(|error| Box::new(error.into_response(Dialect::OpenAiChat)))?;
    if !codings.is_empty() {
        let message = "the body must come without a content coding";
        return Err(Box::new(failure(StatusCode::BAD_REQUEST, code, message)));
    }
    Ok(bytes)
}

fn parsed<T: DeserializeOwned>(
    bytes: &[u8],
    code: &str,
    forms: &str,
) -> Result<T, Box<Response<Body>>> {
    let bytes = if bytes.is_empty() { b"{}" } else { bytes };
    serde_json::from_slice(bytes).map_err(|error| {
        // Serde repeats a long text whole.
        let error: String = error.to_string().chars().take(400).collect();
        let message = format!("{error}; write {forms}");
        Box::new(failure(StatusCode::BAD_REQUEST, code, &message))
    })
}

/// The store once all that was written before can be read in it: whoever asks after a call finds
/// what became of it. What a full disk does not take is missing all the same.
fn written(store: &dyn Store) -> &dyn Store {
    let _ = store.flush();
    store
}

fn done(value: &impl Serialize) -> Response<Body> {
    json(StatusCode::OK, value)
}

fn queue_of<'p>(plan: &'p Plan, id: &str) -> Result<&'p Arc<QueueRuntime>, Box<Response<Body>>> {
    plan.queue(id).ok_or_else(|| Box::new(no_such("queue", id)))
}

fn no_open_call(id: &str) -> Response<Body> {
    let id: String = id.chars().filter(|c| !c.is_control()).take(80).collect();
    let message = format!("no call `{id}` is open");
    failure(StatusCode::NOT_FOUND, "no_such_call", &message)
}

fn no_call(id: &str) -> Response<Body> {
    let id: String = id.chars().filter(|c| !c.is_control()).take(80).collect();
    let message = format!("no call `{id}` is remembered; the newest 1,000 are");
    failure(StatusCode::NOT_FOUND, "no_such_call", &message)
}
