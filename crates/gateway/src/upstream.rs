//! Requests to providers: connections, TLS, proxies, and what of it went wrong.
//!
//! It refuses to retry, to follow redirects and to judge: one request, one answer or one typed
//! [`Fault`].

mod body;
mod coding;
mod conn;
mod connect;
mod fault;
mod h1;
mod headers;
mod send;

use std::sync::Arc;
use std::time::Duration;

use hyper_util::client::legacy::Client;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioTimer;

use ekiden_config::{Env, Provider};

use crate::tasks::Tasks;

pub(crate) use coding::Decoder;
pub use connect::{Dial, MemoryStream};
pub(crate) use fault::{At, Fault};
pub use h1::{Malformed, Whole, read_whole};
pub(crate) use headers::{KEYS, RequestHeaders, answer_headers, client_headers, error_headers};
pub(crate) use send::{Answer, AnswerBody, Ask, Progress, Sending};

use body::RequestBody;
use connect::Connector;
use h1::head::{HEAD_BYTES_MAX, HEADERS_MAX};
use h1::{Exchange, Pool, Reuse};

/// Connections that nobody has used for so long are closed. Most servers keep theirs a minute or
/// more; a shorter span here loses fewer races against them (R48).
const POOL_IDLE: Duration = Duration::from_secs(50);
/// Idle connections kept for each provider that is spoken to in HTTP/2.
const POOL_MAX: usize = 256;
type HttpClient = Client<Connector, RequestBody>;

/// What all providers share.
#[derive(Clone, Debug)]
pub(crate) struct Upstream {
    tasks: Tasks,
    connector: Connector,
}

/// The way to one provider.
#[derive(Clone, Debug)]
pub(crate) enum Lane {
    /// HTTP/1.1, unless the provider asks for more (G14).
    Own(Arc<Pool>),
    /// HTTP/2 where the provider speaks it: a client that keeps connections, and one that never
    /// does (R48).
    Library { pooled: Box<HttpClient>, fresh: Box<HttpClient> },
}

/// Proxies of the environment (G14).
#[derive(Clone, Debug, Default)]
pub struct Proxies(Option<Arc<Matcher>>);

impl Proxies {
    /// Those that `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` name, in capitals or not.
    #[must_use]
    pub fn from_env(env: &dyn Env) -> Self {
        let read = |name: &str| env.var(&name.to_lowercase()).or_else(|| env.var(name));
        let (all, https, http) = (read("ALL_PROXY"), read("HTTPS_PROXY"), read("HTTP_PROXY"));
        if all.is_none() && https.is_none() && http.is_none() {
            return Self(None);
        }
        let mut builder = Matcher::builder();
        if let Some(all) = all {
            builder = builder.all(all);
        }
        if let Some(https) = https {
            builder = builder.https(https);
        }
        if let Some(http) = http {
            builder = builder.http(http);
        }
        if let Some(no) = read("NO_PROXY") {
            builder = builder.no(no);
        }
        Self(Some(Arc::new(builder.build())))
    }
}

impl Upstream {
    /// The way out. `dial` is asked first for each host; tests answer with a pipe.
    pub(crate) fn new(tasks: Tasks, proxies: Proxies, dial: Option<Dial>) -> Self {
        Self { tasks, connector: Connector::new(proxies.0, dial) }
    }

    /// The way to a provider.
    pub(crate) fn lane(&self, provider: &Provider) -> Lane {
        let connector = self.connector.for_provider(provider);
        if !provider.http2 {
            return Lane::Own(Pool::new(connector, self.tasks.clone()));
        }
        let build = |idle_max: usize| {
            Client::builder(self.tasks.clone())
                .pool_idle_timeout(POOL_IDLE)
                .pool_max_idle_per_host(idle_max)
                .pool_timer(TokioTimer::new())
                .timer(TokioTimer::new())
                .retry_canceled_requests(false)
                .http1_max_headers(HEADERS_MAX)
                .http1_max_buf_size(HEAD_BYTES_MAX)
                .build(connector.clone())
        };
        Lane::Library { pooled: Box::new(build(POOL_MAX)), fresh: Box::new(build(0)) }
    }

    /// Whether a TCP connection to a host stands within two seconds: the cheap look that tells this
    /// machine's trouble from a provider's.
    pub(crate) async fn reaches(&self, host: &str, port: u16) -> bool {
        let look = self.connector.reach(host, port);
        matches!(tokio::time::timeout(Duration::from_secs(2), look).await, Ok(true))
    }
}

impl Lane {
    /// Sends a request on a connection that rests, or on a new one.
    pub(crate) fn send(&self, ask: Ask) -> Sending {
        match self {
            Self::Own(pool) => Sending::Own(Box::new(Exchange::start(pool, Reuse::May, ask))),
            Self::Library { pooled, .. } => Sending::asked(pooled, ask),
        }
    }

    /// Sends a request on a connection that nobody has used (R48).
    pub(crate) fn send_fresh(&self, ask: Ask) -> Sending {
        match self {
            Self::Own(pool) => Sending::Own(Box::new(Exchange::start(pool, Reuse::Never, ask))),
            Self::Library { fresh, .. } => Sending::asked(fresh, ask),
        }
    }
}
