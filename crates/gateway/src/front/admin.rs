//! Our own interface, `/api/v1` (R19, R32 to R34, R39; docs/api.md has the shapes).
//!
//! It refuses to hand out secrets, prompts and answers: none of them is in what it reads. It answers
//! in codes and numbers; whoever shows them has the words.

mod calls;
mod catalog;
mod dry_run;
mod events;
mod forms;
mod journal;
mod ledger;
pub(crate) mod openapi;
mod operations;
mod pause;
mod query;
mod queues;
mod refusal;
mod release;
mod settings;
mod shape;
mod state;
mod test_queue;
mod tokens;

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;

use ekiden_config::Language;
use ekiden_store::Store;

use crate::body::Body;
use crate::front::Front;
use crate::front::client;
use crate::front::intake::{self, IntakeError, Raw};
use crate::front::limits::Bound;
use crate::front::reply::{json, plain};
use crate::plan::{Plan, QueueRuntime};

pub(in crate::front) use events::READERS_MAX;
pub(in crate::front) use operations::{Op, Operation, find};

use forms::Form;
use pause::Ask;
use query::{Query, QueryFault};
use refusal::{Named, Refusal};
use release::Ended;

/// A body of ours is a few names.
const BODY_MAX_BYTES: u64 = 64 << 10;

/// But for whole queues that are carried here.
const IMPORT_MAX_BYTES: u64 = 4 << 20;

/// A question to our own interface, as far as it was read.
#[derive(Debug)]
pub(super) struct Question<'a> {
    pub(super) operation: &'static Operation,
    /// The segments of the path that stand for names.
    pub(super) names: Vec<String>,
    pub(super) query: Option<&'a str>,
    pub(super) headers: &'a HeaderMap,
}

type Answered = Result<Response<Body>, Box<Refusal>>;

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
        let language = client::language(question.headers);
        let answered = self.answered(plan, question, language, body).await;
        answered.unwrap_or_else(|refusal| refusal.answer(language))
    }

    async fn answered<B>(
        &self,
        plan: &Arc<Plan>,
        question: Question<'_>,
        language: Language,
        body: B,
    ) -> Answered
    where
        B: http_body::Body<Data = Bytes> + Send,
    {
        let Question { operation, names, query, headers } = question;
        let query = Query::read(operation, query)?;
        let name = names.into_iter().next().unwrap_or_default();
        Ok(match operation.op {
            Op::State => done(&self.state(plan, query.count("limit"), language)),
            Op::Sessions => {
                let after = query.text("after").map(|after| after.parse()).transpose();
                let after = after.map_err(|_| query::refusal(QueryFault::After))?;
                done(&self.sessions(after, query.count("limit")).await)
            }
            Op::Session => {
                let session = self.session_named(&name)?;
                let found = self.session(session).await;
                done(&found.ok_or_else(|| Refusal::no_such(Named::Session, &name))?)
            }
            Op::EndSession => {
                let ended = self.core.names().session_name(self.session_named(&name)?);
                self.core.end_session(&ended);
                done(&Ended { ended })
            }
            Op::Pause | Op::Resume => {
                let wish = taken(headers, body, Form::Pause).await?;
                let ask = if operation.op == Op::Pause { Ask::Pause } else { Ask::Resume };
                self.pause(ask, wish).await?
            }
            Op::StopCall => self.stop_call(name)?,
            Op::Calls | Op::Call | Op::Trace => self.past(operation.op, &query, &name)?,
            Op::Release => {
                let wish = taken(headers, body, Form::Release).await?;
                self.release(&wish)?
            }
            Op::Journal | Op::Ledger | Op::Attempts => {
                self.kept(operation.op, query, language).await
            }
            Op::DryRun => {
                let queue = queue_of(plan, &name)?;
                let wish = taken(headers, body, Form::DryRun).await?;
                done(&self.dry_run(queue, &wish)?)
            }
            Op::TestQueue => done(&self.test_queue(queue_of(plan, &name)?, language).await),
            Op::Events => self.events(headers)?,
            Op::Tokens => done(&self.token_list()),
            Op::CreateToken => {
                let wish = taken(headers, body, Form::Token).await?;
                self.make_token(wish).await?
            }
            Op::RevokeToken => self.revoke_token(name).await?,
            Op::Settings
            | Op::ChangeSettings
            | Op::ReloadSettings
            | Op::StoreKey
            | Op::ForgetKey => {
                self.of_settings(operation.op, headers, name, language, body).await?
            }
            Op::CreateQueue
            | Op::OrderQueues
            | Op::ChangeQueue
            | Op::DeleteQueue
            | Op::ExportQueues
            | Op::ImportQueues => self.of_queues(operation.op, headers, name, &query, body).await?,
            Op::Catalog => done(&self.catalog()),
            Op::Rescan => {
                let wish = taken(headers, body, Form::Rescan).await?;
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
        language: Language,
        body: B,
    ) -> Answered
    where
        B: http_body::Body<Data = Bytes> + Send,
    {
        if op == Op::ChangeSettings {
            let wish = taken(headers, body, Form::Changes).await?;
            return self.change_settings(headers, wish).await;
        }
        if op == Op::StoreKey {
            let bytes = read(headers, body, BODY_MAX_BYTES).await?;
            // A key that was written in the wrong place must not come back in the words of an error.
            let wish = parsed(&bytes, Form::Key)
                .map_err(|_| Refusal::Body { form: Form::Key, detail: None })?;
            return self.store_key(provider, wish).await;
        }
        if op == Op::ReloadSettings {
            return self.reload_settings().await;
        }
        if op == Op::ForgetKey {
            return self.forget_key(provider).await;
        }
        Ok(self.settings(language))
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
        if op == Op::CreateQueue {
            let wish = taken(headers, body, Form::NewQueue).await?;
            return self.create_queue(headers, wish).await;
        }
        if op == Op::OrderQueues {
            let wish = taken(headers, body, Form::QueueOrder).await?;
            return self.order_queues(headers, wish).await;
        }
        if op == Op::ChangeQueue {
            let wish = taken(headers, body, Form::QueueChange).await?;
            return self.change_queue(headers, id, wish).await;
        }
        if op == Op::ImportQueues {
            let bytes = read(headers, body, IMPORT_MAX_BYTES).await?;
            return self.import_queues(headers, parsed(&bytes, Form::Import)?).await;
        }
        if op == Op::DeleteQueue {
            return self.delete_queue(headers, id, query).await;
        }
        Ok(done(&self.export_queues()))
    }

    /// What is asked of the calls that are remembered.
    fn past(&self, op: Op, query: &Query, id: &str) -> Answered {
        let calls = self.core.calls();
        if op == Op::Calls {
            let now = self.core.clock().now();
            return Ok(done(&calls::list(calls, now, query.count("limit"))));
        }
        let found = if op == Op::Trace {
            calls.find(id).map(|past| plain(StatusCode::OK, past.trace.to_text()))
        } else {
            calls::find(&self.core, id).map(|call| done(&call))
        };
        found.ok_or_else(|| Refusal::no_call(id))
    }

    /// What is asked of the store.
    async fn kept(&self, op: Op, query: Query, language: Language) -> Response<Body> {
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
        done(&journal::shown(&entries, most, language))
    }
}

/// A body of ours; none at all is `{}`.
async fn taken<T, B>(headers: &HeaderMap, body: B, form: Form) -> Result<T, Box<Refusal>>
where
    T: DeserializeOwned,
    B: http_body::Body<Data = Bytes> + Send,
{
    parsed(&read(headers, body, BODY_MAX_BYTES).await?, form)
}

async fn read<B>(headers: &HeaderMap, body: B, most_bytes: u64) -> Result<Bytes, Box<Refusal>>
where
    B: http_body::Body<Data = Bytes> + Send,
{
    // Of its own, so that letting go works when calls hold all there is.
    let room = Bound::new(most_bytes);
    let read = intake::read(headers, body, most_bytes, &room).await;
    let Raw { bytes, codings, held: _held } = read.map_err(|error| match error {
        // The settings bound calls, not what is asked here.
        IntakeError::TooLarge(most) | IntakeError::NoRoom(most) => Refusal::TooLarge(most),
        error @ (IntakeError::Slow
        | IntakeError::Cut
        | IntakeError::UnknownCoding(_)
        | IntakeError::BadCoding
        | IntakeError::Body(_)
        | IntakeError::Internal) => Refusal::Intake(error),
    })?;
    if !codings.is_empty() {
        return Err(Box::new(Refusal::Coded));
    }
    Ok(bytes)
}

fn parsed<T: DeserializeOwned>(bytes: &[u8], form: Form) -> Result<T, Box<Refusal>> {
    let bytes = if bytes.is_empty() { b"{}" } else { bytes };
    serde_json::from_slice(bytes).map_err(|error| {
        // Serde repeats a long text whole.
        let detail = Some(error.to_string().chars().take(400).collect());
        Box::new(Refusal::Body { form, detail })
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

fn queue_of<'p>(plan: &'p Plan, id: &str) -> Result<&'p Arc<QueueRuntime>, Box<Refusal>> {
    plan.queue(id).ok_or_else(|| Refusal::no_such(Named::Queue, id))
}
