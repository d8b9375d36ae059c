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
mod denial;
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
use client::Said;
use denial::Denial;
use guard::{Access, Asks, Refusal};
use intake::IntakeError;
use reply::retry_after;
use route::{Endpoint, Miss};
use session::Sessions;

pub use admin::openapi::text as openapi;
pub use bind::StartError;
pub(crate) use bind::bind;
pub(crate) use client::text;
pub(crate) use limits::{Bound, HeldBytes, OpenCall};
pub(crate) use reply::Asker;
pub(crate) use serve::{Connections, Stage, reached};
pub(crate) use signal::reload_signal;
pub use signal::stop_signal;

/// Headers of ours that an allowed app may read.
const EXPOSED: &str = "x-ekiden-call, x-ekiden-queue, x-ekiden-candidate, x-ekiden-attempts, \
    x-ekiden-session, retry-after, x-should-retry";

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
            Err(refusal) => return barred(Asker::of(dialect, &parts.headers), refusal),
            Ok(Access::Preflight(_)) => no_content(),
            Ok(Access::Plain | Access::Allowed(_)) => {
                match guard::admit(asks(&endpoint), &shown, parts.uri.query(), self.listen) {
                    Err(refusal) => barred(Asker::of(dialect, &parts.headers), &refusal),
                    Ok(()) => match endpoint {
                        Ok(endpoint) => {
                            let token = known(&shown);
                            self.answer(&plan, endpoint, token, parts, body).await
                        }
                        Err(miss) => missed(Asker::of(dialect, &parts.headers), miss, &parts),
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
            Endpoint::Call(dialect @ Dialect::OpenAiResponses) => {
                responses_later(Asker::of(dialect, &parts.headers))
            }
            Endpoint::Call(dialect) => {
                let asker = Asker::of(dialect, &parts.headers);
                match self.take_in(plan, asker, token, parts, body).await {
                    Ok(inbound) => self.relay(inbound, asker).await,
                    Err(refusal) => *refusal,
                }
            }
            Endpoint::CountTokens => Box::pin(self.count_tokens(plan, token, parts, body)).await,
            Endpoint::Socket => no_socket(&parts.headers),
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
    async fn relay(&self, inbound: Inbound, asker: Asker) -> Response<Body> {
        let told_by = inbound.client.told_by();
        let mut stage = self.stage.clone();
        let answer = tokio::select! {
            biased;
            answer = self.core.relay(inbound) => answer,
            () = reached(&mut stage, Stage::Ending) => return stopping(asker),
        };
        let ending = async move {
            reached(&mut stage, Stage::Ending).await;
            match told_by {
                ToldBy::Event => {
                    let message = Denial::Stopping.say(asker.language);
                    Some(error_event(asker.dialect, StreamFault::Broken, &message, None))
                }
                ToldBy::Cut => None,
            }
        };
        answer.map(|body| body.ending(ending))
    }

    /// Reads, limits and names a call.
    async fn take_in<B>(
        &self,
        plan: &Arc<Plan>,
        asker: Asker,
        token: Option<&Arc<Token>>,
        parts: Parts,
        body: B,
    ) -> Result<Inbound, Box<Response<Body>>>
    where
        B: http_body::Body<Data = Bytes> + Send,
    {
        if self.taking() == Taking::NoMore {
            return Err(Box::new(stopping(asker)));
        }
        let (config, dialect) = (plan.config(), asker.dialect);
        let call = self.open_call(asker, config)?;
        let of_token = token.map(|token| open_for(token, asker)).transpose()?;
        self.within_budget(token, asker)?;
        let refuse = |error: IntakeError| Box::new(error.into_response(asker));
        let (request, held) =
            self.read(dialect, config, &parts.headers, body).await.map_err(refuse)?;
        let facts = request.facts();
        let queue = self.look_up(plan, asker, &facts.model).await?;
        may_call(token, &queue.id, asker)?;
        let payer: Option<Arc<str>> = token.map(|token| token.id.as_str().into());
        let reserved = self.reserve(token.zip(payer.as_ref()), facts, &queue, asker)?;
        let said = Said::of(&parts.headers);
        let identity = self.sessions.identify(&said, &request, &queue.id, &config.session_fields);
        Ok(Inbound {
            dialect,
            queue,
            session: identity.session,
            purpose: identity.purpose,
            client: client::profile(&said, &request, asker.language),
            deadline_ms: client::deadline_ms(&said, facts),
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

    fn open_call(&self, asker: Asker, config: &Config) -> Result<OpenCall, Box<Response<Body>>> {
        let most = u64::from(config.limits.calls_max);
        self.calls.set_most(most);
        OpenCall::of(&self.calls, 1).ok_or_else(|| {
            let message = Denial::CallsMax(most).say(asker.language);
            Box::new(retry_after(asker.refused(Fault::Unavailable, &message), 1))
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
        asker: Asker,
    ) -> Result<Option<Reserved>, Box<Response<Body>>> {
        let Some((token, id)) = payer else { return Ok(None) };
        let Some(budget) = token.made_as.budget_per_day else { return Ok(None) };
        let output = facts.max_tokens.map(|each| each.saturating_mul(facts.choices.into()));
        let most = Spent::at_most(facts.input_tokens, output, &queue.candidates);
        self.core.spending.reserve(id, budget, most).map(Some).map_err(|why| match why {
            Exhausted::Spent => self.spent(budget, self.core.turn(), asker),
            Exhausted::Reserved => {
                let message = Denial::Reserved { budget }.say(asker.language);
                Box::new(retry_after(asker.refused(Fault::RateLimited, &message), 1))
            }
        })
    }

    /// G9: whoever has spent it all is not read any further.
    fn within_budget(
        &self,
        token: Option<&Arc<Token>>,
        asker: Asker,
    ) -> Result<(), Box<Response<Body>>> {
        let Some(token) = token else { return Ok(()) };
        let Some(budget) = token.made_as.budget_per_day else { return Ok(()) };
        // It turns the day if that is due.
        let ends_ms = self.core.turn();
        if !self.core.spending.of(&token.id).exhausts(budget) {
            return Ok(());
        }
        Err(self.spent(budget, ends_ms, asker))
    }

    fn spent(&self, budget: Budget, ends_ms: u64, asker: Asker) -> Box<Response<Body>> {
        let minutes = ends_ms.saturating_sub(self.core.clock().now().wall_ms).div_ceil(60_000);
        let message = Denial::Budget { budget, minutes }.say(asker.language);
        let mut response = asker.refused(Fault::RateLimited, &message);
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
        asker: Asker,
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
                return Box::pin(self.look_up_deleted(plan, asker, model)).await;
            }
        };
        found.ok_or_else(|| Box::new(models::unknown(asker, model, &[])))
    }

    async fn look_up_deleted(
        &self,
        plan: &Arc<Plan>,
        asker: Asker,
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
        queue.ok_or_else(|| Box::new(models::unknown(asker, model, &nearest)))
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
fn open_for(token: &Token, asker: Asker) -> Result<OpenCall, Box<Response<Body>>> {
    OpenCall::of(&token.calls, 1).ok_or_else(|| {
        let message = Denial::TokenCalls(token.calls.most()).say(asker.language);
        Box::new(retry_after(asker.refused(Fault::RateLimited, &message), 1))
    })
}

/// A token that is tied to queues calls no other model.
fn may_call(
    token: Option<&Arc<Token>>,
    queue: &str,
    asker: Asker,
) -> Result<(), Box<Response<Body>>> {
    let Some(token) = token.filter(|token| !token.may_call(queue)) else { return Ok(()) };
    let own = asker.language.list(&token.made_as.queues);
    let message = Denial::OtherModels { own }.say(asker.language);
    Err(Box::new(asker.refused(Fault::Forbidden, &message)))
}

fn stopping(asker: Asker) -> Response<Body> {
    let message = Denial::Stopping.say(asker.language);
    retry_after(asker.refused(Fault::Unavailable, &message), 5)
}

fn barred(asker: Asker, refusal: &Refusal) -> Response<Body> {
    match refusal {
        Refusal::Unauthorized(why) => {
            let mut response = asker.refused(Fault::Unauthorized, &why.say(asker.language));
            let bearer = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, bearer);
            response
        }
        Refusal::Forbidden(why) => asker.refused(Fault::Forbidden, &why.say(asker.language)),
        // In one language alone: the gateway that sent it knows a loop by these words.
        Refusal::Loop => {
            let (status, fault) = (StatusCode::LOOP_DETECTED, Fault::InvalidRequest);
            let mut response = asker.refused_as(status, fault, evidence::LOOP);
            let name = header::HeaderName::from_static("x-should-retry");
            response.headers_mut().insert(name, HeaderValue::from_static("false"));
            response
        }
    }
}

fn missed(asker: Asker, miss: Miss, parts: &Parts) -> Response<Body> {
    let path: String = parts.uri.path().chars().take(120).collect();
    match miss {
        Miss::Path => {
            let message = Denial::Path { path }.say(asker.language);
            asker.refused(Fault::NotFound, &message)
        }
        Miss::Method(allow) => {
            let (method, takes) = (parts.method.to_string(), allow.to_string());
            let message = Denial::Method { path, allow: takes, method }.say(asker.language);
            let mut response = asker.refused(Fault::MethodNotAllowed, &message);
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

fn responses_later(asker: Asker) -> Response<Body> {
    let message = Denial::Responses.say(asker.language);
    asker.refused_as(StatusCode::NOT_IMPLEMENTED, Fault::InvalidRequest, &message)
}

/// Codex falls back to POST after one such answer; a 404 costs it seven tries.
fn no_socket(headers: &HeaderMap) -> Response<Body> {
    let asker = Asker::of(Dialect::OpenAiResponses, headers);
    asker.refused(Fault::UpgradeRequired, &Denial::Socket.say(asker.language))
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
