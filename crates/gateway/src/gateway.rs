//! The gateway as a whole: from a configuration to an open port, and to an end in order (G13).
//!
//! It refuses to know signals and files: whoever starts it decides when it ends.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use ekiden_config::Config;

use crate::body::Body;
use crate::core::{Core, CoreOptions};
use crate::front::{Connections, Front, Stage, StartError, bind, reached};
use crate::settings;

/// How long calls that were told the end have to tell their clients.
const ENDING_WAIT: Duration = Duration::from_secs(5);

/// The day's end is looked for at least so often, since the wall clock may be set.
const DAY_LOOK: Duration = Duration::from_secs(60);

/// A gateway without a socket: requests go in by function call. When the last copy of it is dropped,
/// streams that are still read end as they do when the gateway stops.
#[derive(Clone, Debug)]
pub struct Gateway {
    front: Arc<Front>,
    core: Arc<Core>,
    stage: Arc<watch::Sender<Stage>>,
}

impl Gateway {
    /// Listens where the configuration says, and serves.
    ///
    /// # Errors
    /// When that address cannot be had; the error says who has it and what to do.
    pub async fn start(config: Arc<Config>, options: CoreOptions) -> Result<Running, StartError> {
        let mut options = options;
        let tokens = options.tokens.get_or_insert_default();
        let listener = bind(config.listen, tokens).await?;
        let addr =
            listener.local_addr().map_err(|cause| StartError::Io { addr: config.listen, cause })?;
        let gateway = Self::new(config, options, addr);
        let core = &gateway.core;
        let limits = core.plan().config().limits;
        let connections = Connections::new(limits.calls_max, gateway.stage.subscribe());
        let accepting = connections.clone().accept(listener, Arc::clone(&gateway.front));
        drop(core.tasks().spawn(accepting));
        drop(core.tasks().spawn(days(Arc::clone(core), gateway.stage.subscribe())));
        drop(core.tasks().spawn(settings::watch(Arc::clone(core), gateway.stage.subscribe())));
        Ok(Running { addr, gateway, connections })
    }

    /// Serves calls in the same process, without a socket.
    #[must_use]
    pub fn in_process(config: Arc<Config>, options: CoreOptions) -> Self {
        let listen = config.listen;
        Self::new(config, options, listen)
    }

    /// Answers one request.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send,
    {
        self.front.handle(request).await
    }

    /// What all calls share.
    #[must_use]
    pub const fn core(&self) -> &Arc<Core> {
        &self.core
    }

    fn new(config: Arc<Config>, options: CoreOptions, listen: SocketAddr) -> Self {
        let core = Core::new(config, options);
        let (stage, watching) = watch::channel(Stage::Serving);
        let front = Arc::new(Front::new(Arc::clone(&core), listen, watching));
        Self { front, core, stage: Arc::new(stage) }
    }
}

/// A gateway that listens. Dropping it cuts everything off; [`Running::shutdown`] does not.
#[derive(Debug)]
pub struct Running {
    addr: SocketAddr,
    gateway: Gateway,
    connections: Connections,
}

impl Running {
    /// Where it listens: the port that the system gave, where port 0 was asked for.
    #[must_use]
    pub const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The gateway behind the socket.
    #[must_use]
    pub const fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    /// What all calls share.
    #[must_use]
    pub const fn core(&self) -> &Arc<Core> {
        self.gateway.core()
    }

    /// Stops accepting, lets open calls go on for the configured time (30 s), ends what is left
    /// with its dialect's error, and returns when everything is closed.
    pub async fn shutdown(self) {
        self.shutdown_or(std::future::pending()).await;
    }

    /// The same, but `hurry` ends the waiting for open calls: a second signal.
    pub async fn shutdown_or(self, hurry: impl Future<Output = ()>) {
        let drain = Duration::from_millis(self.core().plan().config().drain_ms);
        self.enter(Stage::Draining);
        tokio::select! {
            _ = timeout(drain, self.connections.idle()) => {}
            () = hurry => {}
        }
        self.enter(Stage::Ending);
        drop(timeout(ENDING_WAIT, self.connections.idle()).await);
        self.enter(Stage::Cutting);
        self.connections.idle().await;
        // Calls whose client went with its connection cancel their upstream. Not all tasks are waited
        // for: connections to upstream are kept for a while after their last call.
        drop(timeout(ENDING_WAIT, self.gateway.front.calls_over()).await);
        // What the last calls left is on its way to the disk.
        let store = Arc::clone(self.core().store());
        let flushing = self.core().tasks().blocking(move || store.flush());
        drop(timeout(ENDING_WAIT, flushing).await);
    }

    fn enter(&self, stage: Stage) {
        self.gateway.stage.send_replace(stage);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.gateway.stage.send_replace(Stage::Cutting);
    }
}

/// Turns the day on time also when nobody calls.
async fn days(core: Arc<Core>, mut stage: watch::Receiver<Stage>) {
    loop {
        let ends_ms = core.turn();
        let left_ms = ends_ms.saturating_sub(core.clock().now().wall_ms);
        let wait = Duration::from_millis(left_ms).clamp(Duration::from_millis(50), DAY_LOOK);
        tokio::select! {
            () = reached(&mut stage, Stage::Draining) => return,
            () = sleep(wait) => {}
        }
    }
}
