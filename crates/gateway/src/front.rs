//! The side that clients see: an HTTP server that takes calls in, names and limits them.
//!
//! It refuses to relay, to retry and to judge: what it has read it hands to the core. Routing is a
//! table of its own: each path exists twice, and a miss is told in a guessed dialect, which leaves a
//! framework's router nothing to do.

mod about;
mod admin;
mod bind;
mod client;
mod coding;
mod count;
mod gate;
mod guard;
mod intake;
mod io;
mod limits;
mod models;
mod reply;
mod route;
mod serve;
mod session;
mod signal;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use tokio::sync::watch;

use ekiden_config::{Budget, Config, Lookup, Via};
use ekiden_dialect::Dialect;
use ekiden_dialect::request;
use ekiden_dialect::write::{Fault, StreamFault, error_event};
use ekiden_store::{Store, What};

use crate::body::Body;
use crate::core::Core;
use crate::core::spending::{Exhausted, Reserved, Spent};
use crate::evidence;
use crate::inbound::{CallPermit, Inbound, ToldBy};
use crate::plan::{Plan, QueueRuntime};
use crate::tokens::{Shown, Token};
use crate::upstream::client_headers;

use about::Taking;
use guard::{Access, Asks, Refusal};
use intake::IntakeError;
use reply::{refused, refused_as, retry_after};
use route::{Endpoint, Miss};
use session::Sessions;

pub use admin::openapi::text as openapi;
pub use bind::StartError;
pub(crate) use bind::bind;
pub(crate) use client::text;
pub(crate) use limits::{Bound, HeldBytes, OpenCall};
pub(crate) use serve::{Connections, Stage, reached};
pub(crate) use signal::reload_signal;
pub use signal::stop_signal;

/// Headers of ours that an allowed app may read.
const EXPOSED: &str = "x-ekiden-call, x-ekiden-queue, x-ekiden-candidate, x-ekiden-attempts, \
    x-ekiden-session, retry-after, x-should-retry";

/// What a call hears that the gateway's end cuts short.
const STOPPED: &str = "The gateway is stopping. Try again in a moment.";

/// Everything between a socket and the core.
#[derive(Debug)]
pub(crate) struct Front {
    core: Arc<Core>,
    listen: SocketAddr,
    /// When the gateway started, in Unix seconds.
    started_s: u64,
    sessions: Sessions,
    calls: Arc<Bound>,
    held: Arc<Bound>,
    /// Who looks on at what changes.
    readers: Arc<Bound>,
    stage: watch::Receiver<Stage>,
}

impl Front {
    /// `listen` is the address that clients were told.
    pub(crate) fn new(core: Arc<Core>, listen: SocketAddr, stage: watch::Receiver<Stage>) -> Self {
        let plan = core.plan();
        let limits = plan.config().limits;
        Self {
            started_s: core.clock().now().wall_ms / 1000,
            sessions: Sessions::new(limits.sessions_max as usize),
            calls: Bound::new(u64::from(limits.calls_max)),
            held: Bound::new(limits.held_max_bytes),
            readers: Bound::new(admin::READERS_MAX),
            stage,
            core,
            listen,
        }
    }

    /// Waits until no call is open.
    pub(crate) async fn calls_over(&self) {
        self.calls.idle().await;
    }

    /// The bound on a head, in bytes.
    pub(crate) fn head_max_bytes(&self) -> u64 {
        self.core.plan().config().limits.head_max_bytes
    }

    /// Answers one request.
    pub(crate) async fn handle<B>(self: &Arc<Self>, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send,
    {
        let (parts, body) = request.into_parts();
        let plan = self.core.plan();
        let config = plan.config();
        let path = parts.uri.path();
        let endpoint = route::resolve(&parts.method, path);
        let dialect = match &endpoint {
            Ok(Endpoint::Call(dialect)) => *dialect,
            Ok(_) | Err(_) => route::guess(path, &parts.headers),
        };
        let origins = &config.allowed_origins;
        let shown = guard::shown(&parts.headers, &self.core.tokens);
        let access = guard::check(&parts, self.listen, origins, self.core.instance(), &shown);
        let answer = match &access {
            Err(refusal) => return barred(dialect, refusal),
            Ok(Access::Preflight(_)) => no_content(),
            Ok(Access::Plain | Access::Allowed(_)) => {
                match guard::admit(asks(&endpoint), &shown, parts.uri.query(), self.listen) {
                    Err(refusal) => barred(dialect, &refusal),
                    Ok(()) => match endpoint {
                        Ok(endpoint) => {
                            let token = known(&shown);
                            self.answer(&plan, endpoint, token, parts, body).await
                        }
                        Err(miss) => missed(dialect, miss, &parts),
                    },
                }
            }
        };
        match access {
            Ok(Access::Allowed(origin) | Access::Preflight(origin)) => shared_with(&origin, answer),
            Ok(Access::Plain) | Err(_) => answer,
        }
    }

    /// What is rare lies in a box of its own: each open stream holds the room of the largest way.
    async fn answer<B>(
        self: &Arc<Self>,
        plan: &Arc<Plan>,
        endpoint: Endpoint,
        token: Option<&Arc<Token>>,
        parts: Parts,
        body: B,
    ) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send,
    {
        let config = plan.config();
        match endpoint {
            Endpoint::Call(Dialect::OpenAiResponses) => responses_later(),
            Endpoint::Call(dialect) => {
                match self.take_in(plan, dialect, token, parts, body).await {
                    Ok(inbound) => self.relay(inbound).await,
                    Err(refusal) => *refusal,
                }
            }
            Endpoint::CountTokens => Box::pin(self.count_tokens(plan, token, parts, body)).await,
            Endpoint::Socket => no_socket(),
            Endpoint::Models => models::list(plan, token, self.started_s),
            Endpoint::Model(id) => {
                let deleted = Box::pin(self.stored(|store| store.deleted_queues())).await;
                models::one(plan, &deleted, token, &id, self.started_s, &parts.headers)
            }
            Endpoint::About => about::about(config, &parts.headers),
            Endpoint::Alive => about::alive(),
            Endpoint::Ready => about::ready(config, self.taking()),
            Endpoint::Api(operation, names) => {
                let (query, headers) = (parts.uri.query(), &parts.headers);
                let question = admin::Question { operation, names, query, headers };
                Box::pin(self.admin(plan, question, body)).await
            }
        }
    }

    fn taking(&self) -> Taking {
        if *self.stage.borrow() == Stage::Serving { Taking::Calls } else { Taking::NoMore }
    }

    /// Hands a call to the core. What is left when the gateway ends gets its dialect's error (G13):
    /// a real status while the head is held, an event or a cut connection after it.
    async fn relay(&self, inbound: Inbound) -> Response<Body> {
        let (dialect, told_by) = (inbound.dialect, inbound.client.told_by());
        let mut stage = self.stage.clone();
        let answer = tokio::select! {
            biased;
            answer = self.core.relay(inbound) => answer,
            () = reached(&mut stage, Stage::Ending) => return stopping(dialect),
        };
        let ending = async move {
            reached(&mut stage, Stage::Ending).await;
            match told_by {
                ToldBy::Event => Some(error_event(dialect, StreamFault::Broken, STOPPED, None)),
                ToldBy::Cut => None,
            }
        };
        answer.map(|body| body.ending(ending))
    }

    /// Reads, limits and names a call.
    async fn take_in<B>(
        &self,
        plan: &Arc<Plan>,
        dialect: Dialect,
        token: Option<&Arc<Token>>,
        parts: Parts,
        body: B,
    ) -> Result<Inbound, Box<Response<Body>>>
    where
        B: http_body::Body<Data = Bytes> + Send,
    {
        if self.taking() == Taking::NoMore {
            return Err(Box::new(stopping(dialect)));
        }
        let config = plan.config();
        let call = self.open_call(dialect, config)?;
        let of_token = token.map(|token| open_for(token, dialect)).transpose()?;
        self.within_budget(token, dialect)?;
        let refuse = |error: IntakeError| Box::new(error.into_response(dialect));
        let (request, held) =
            self.read(dialect, config, &parts.headers, body).await.map_err(refuse)?;
        let facts = request.facts();
        let queue = self.look_up(plan, dialect, &facts.model).await?;
        may_call(token, &queue.id, dialect)?;
        let payer: Option<Arc<str>> = token.map(|token| token.id.as_str().into());
        let reserved = self.reserve(token.zip(payer.as_ref()), facts, &queue, dialect)?;
        let identity =
            self.sessions.identify(&parts.headers, facts, &queue.id, &config.session_fields);
        Ok(Inbound {
            dialect,
            queue,
            session: identity.session,
            purpose: identity.purpose,
            client: client::profile(&parts.headers, facts),
            deadline_ms: client::deadline_ms(&parts.headers, facts),
            query: parts.uri.query().map(str::to_owned),
            headers: client_headers(&parts.headers),
            request: Arc::new(request),
            permit: CallPermit {
                call: Some(call),
                held: Some(held),
                token: of_token,
                payer,
                reserved,
            },
        })
    }

    fn open_call(
        &self,
        dialect: Dialect,
        config: &Config,
    ) -> Result<OpenCall, Box<Response<Body>>> {
        let most = u64::from(config.limits.calls_max);
        self.calls.set_most(most);
        OpenCall::of(&self.calls, 1).ok_or_else(|| {
            let message = format!(
                "{most} calls are open, the limit of `limits.calls_max`. Try again shortly."
            );
            Box::new(retry_after(refused(dialect, Fault::Unavailable, &message), 1))
        })
    }

    /// G9: what a call may take is set aside while it is open; what it took is counted as its attempts
    /// end. A budget is exceeded by what the last call takes, and by what open calls take beyond their
    /// estimates, alone.
    fn reserve(
        &self,
        payer: Option<(&Arc<Token>, &Arc<str>)>,
        facts: &request::Facts,
        queue: &QueueRuntime,
        dialect: Dialect,
    ) -> Result<Option<Reserved>, Box<Response<Body>>> {
        let Some((token, id)) = payer else { return Ok(None) };
        let Some(budget) = token.made_as.budget_per_day else { return Ok(None) };
        let most = Spent::at_most(facts.input_tokens, facts.max_tokens, &queue.candidates);
        self.core.spending.reserve(id, budget, most).map(Some).map_err(|why| match why {
            Exhausted::Spent => self.spent(budget, self.core.turn(), dialect),
            Exhausted::Reserved => {
                let message = format!(
                    "This token's open calls may take what is left of its budget of {budget} a \
                     day. Try again when one of them has ended."
                );
                Box::new(retry_after(refused(dialect, Fault::RateLimited, &message), 1))
            }
        })
    }

    /// G9: whoever has spent it all is not read any further.
    fn within_budget(
        &self,
        token: Option<&Arc<Token>>,
        dialect: Dialect,
    ) -> Result<(), Box<Response<Body>>> {
        let Some(token) = token else { return Ok(()) };
        let Some(budget) = token.made_as.budget_per_day else { return Ok(()) };
        // It turns the day if that is due.
        let ends_ms = self.core.turn();
        if !self.core.spending.of(&token.id).exhausts(budget) {
            return Ok(());
        }
        Err(self.spent(budget, ends_ms, dialect))
    }

    fn spent(&self, budget: Budget, ends_ms: u64, dialect: Dialect) -> Box<Response<Body>> {
        let minutes = ends_ms.saturating_sub(self.core.clock().now().wall_ms).div_ceil(60_000);
        let message = format!(
            "This token has spent its budget of {budget} a day. The day ends in {} h {} min.",
            minutes / 60,
            minutes % 60
        );
        let mut response = refused(dialect, Fault::RateLimited, &message);
        let name = header::HeaderName::from_static("x-should-retry");
        response.headers_mut().insert(name, HeaderValue::from_static("false"));
        Box::new(response)
    }

    async fn read<B>(
        &self,
        dialect: Dialect,
        config: &Config,
        headers: &HeaderMap,
        body: B,
    ) -> Result<(request::Request, HeldBytes), IntakeError>
    where
        B: http_body::Body<Data = Bytes> + Send,
    {
        let limits = config.limits;
        self.held.set_most(limits.held_max_bytes);
        let raw = intake::read(headers, body, limits.body_max_bytes, &self.held).await?;
        intake::parse(dialect, raw, limits.body_max_bytes, self.core.tasks()).await
    }

    /// R1: what a model name means. Deleted queues are asked for only where nothing else bears the
    /// name: the store may have to look on a disk.
    async fn look_up(
        &self,
        plan: &Arc<Plan>,
        dialect: Dialect,
        model: &str,
    ) -> Result<Arc<QueueRuntime>, Box<Response<Body>>> {
        let found = match plan.config().lookup(model, &BTreeSet::new()) {
            Lookup::Queue { queue, via: Via::Id | Via::Alias | Via::Deleted } => {
                plan.queue(&queue.id).cloned()
            }
            Lookup::Direct { provider, model } => {
                plan.direct(&provider.id, model, self.core.names())
            }
            Lookup::Queue { via: Via::First, .. } | Lookup::Unknown { .. } => {
                return Box::pin(self.look_up_deleted(plan, dialect, model)).await;
            }
        };
        found.ok_or_else(|| Box::new(models::unknown(dialect, model, &[])))
    }

    async fn look_up_deleted(
        &self,
        plan: &Arc<Plan>,
        dialect: Dialect,
        model: &str,
    ) -> Result<Arc<QueueRuntime>, Box<Response<Body>>> {
        let deleted = self.stored(|store| store.deleted_queues()).await;
        let (queue, nearest) = match plan.config().lookup(model, &deleted) {
            Lookup::Queue { queue, via } => {
                if via == Via::Deleted {
                    let (asked, queue) = (model.into(), queue.id.as_str().into());
                    self.core.note(None, What::QueueGone { asked, queue });
                }
                (plan.queue(&queue.id).cloned(), Vec::new())
            }
            Lookup::Direct { .. } => (None, Vec::new()),
            Lookup::Unknown { nearest } => (None, nearest),
        };
        queue.ok_or_else(|| Box::new(models::unknown(dialect, model, &nearest)))
    }

    /// Reads the store where waiting for a disk hurts nobody.
    async fn stored<T: Default + Send + 'static>(
        &self,
        read: impl FnOnce(&dyn Store) -> T + Send + 'static,
    ) -> T {
        let store = Arc::clone(self.core.store());
        self.core.tasks().blocking(move || read(&*store)).await.unwrap_or_default()
    }
}

/// What is asked for, as far as tokens go.
const fn asks(endpoint: &Result<Endpoint, Miss>) -> Asks {
    match endpoint {
        Ok(Endpoint::Alive | Endpoint::Ready) => Asks::Health,
        Ok(Endpoint::Api(..)) => Asks::Admin,
        Ok(
            Endpoint::Call(_)
            | Endpoint::Socket
            | Endpoint::CountTokens
            | Endpoint::Models
            | Endpoint::Model(_)
            | Endpoint::About,
        )
        | Err(_) => Asks::Calls,
    }
}

const fn known(shown: &Shown) -> Option<&Arc<Token>> {
    match shown {
        Shown::Known(token) => Some(token),
        Shown::Nothing | Shown::Unknown => None,
    }
}

/// The call's place among the open calls of its token.
fn open_for(token: &Token, dialect: Dialect) -> Result<OpenCall, Box<Response<Body>>> {
    OpenCall::of(&token.calls, 1).ok_or_else(|| {
        let most = token.calls.most();
        let message = format!("This token has {most} open calls, all that it may have at once.");
        Box::new(retry_after(refused(dialect, Fault::RateLimited, &message), 1))
    })
}

/// A token that is tied to queues calls no other model.
fn may_call(
    token: Option<&Arc<Token>>,
    queue: &str,
    dialect: Dialect,
) -> Result<(), Box<Response<Body>>> {
    let Some(token) = token.filter(|token| !token.may_call(queue)) else { return Ok(()) };
    let own = token.made_as.queues.join(", ");
    let message = format!("This token is for other models: {own}.");
    Err(Box::new(refused(dialect, Fault::Forbidden, &message)))
}

fn stopping(dialect: Dialect) -> Response<Body> {
    retry_after(refused(dialect, Fault::Unavailable, STOPPED), 5)
}

fn barred(dialect: Dialect, refusal: &Refusal) -> Response<Body> {
    match refusal {
        Refusal::Unauthorized(message) => {
            let mut response = refused(dialect, Fault::Unauthorized, message);
            let bearer = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, bearer);
            response
        }
        Refusal::Forbidden(message) => refused(dialect, Fault::Forbidden, message),
        Refusal::Loop => {
            let (status, fault) = (StatusCode::LOOP_DETECTED, Fault::InvalidRequest);
            let mut response = refused_as(status, dialect, fault, evidence::LOOP);
            let name = header::HeaderName::from_static("x-should-retry");
            response.headers_mut().insert(name, HeaderValue::from_static("false"));
            response
        }
    }
}

fn missed(dialect: Dialect, miss: Miss, parts: &Parts) -> Response<Body> {
    match miss {
        Miss::Path => {
            let path: String = parts.uri.path().chars().take(120).collect();
            let message = format!("There is no `{path}` here. There are {}.", route::CALL_PATHS);
            refused(dialect, Fault::NotFound, &message)
        }
        Miss::Method(allow) => {
            let (method, path) = (&parts.method, parts.uri.path());
            let path: String = path.chars().take(120).collect();
            let message = format!("`{path}` takes {allow}, not {method}.");
            let mut response = refused(dialect, Fault::MethodNotAllowed, &message);
            if let Ok(allow) = HeaderValue::from_str(&allow) {
                response.headers_mut().insert(header::ALLOW, allow);
            }
            if parts.method == Method::OPTIONS {
                *response.status_mut() = StatusCode::NO_CONTENT;
                *response.body_mut() = Body::empty();
                response.headers_mut().remove(header::CONTENT_TYPE);
            }
            response
        }
    }
}

fn responses_later() -> Response<Body> {
    refused_as(
        StatusCode::NOT_IMPLEMENTED,
        Dialect::OpenAiResponses,
        Fault::InvalidRequest,
        "The Responses API comes in a later version. Use POST /v1/chat/completions or POST \
         /v1/messages.",
    )
}

/// Codex falls back to POST after one such answer; a 404 costs it seven tries.
fn no_socket() -> Response<Body> {
    let message = "There is no web socket here; use POST /v1/responses.";
    refused(Dialect::OpenAiResponses, Fault::UpgradeRequired, message)
}

fn no_content() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// Lets an allowed app of a browser read the answer (G14).
fn shared_with(origin: &str, mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    if let Ok(origin) = HeaderValue::from_str(origin) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    }
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    for (name, value) in [
        (header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED),
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD, POST, PUT, PATCH, DELETE"),
        // With credentials `*` would mean itself; apps send their key in a header of their own.
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "*, authorization"),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
        (header::HeaderName::from_static("access-control-allow-private-network"), "true"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
