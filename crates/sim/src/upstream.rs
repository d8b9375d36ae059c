//! The upstream itself: its scripts, its log, its connections. It starts no task that outlives the
//! future which it was given to run in.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::act::{Act, ResetPoint, Status};
use crate::director::{Asked, Director};
use crate::exchange::{Next, Prompter, exchange};
use crate::log::{Line, Log};
use crate::pen::Pen;
use crate::request::{Ask, Endpoint, Inbox};
use crate::script::{Cursor, Script};

/// A scripted upstream. Copies share the scripts and the log.
#[derive(Clone, Debug)]
pub struct Upstream {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    scripts: Mutex<Scripts>,
    log: watch::Sender<Log>,
    director: Option<Arc<dyn Director>>,
}

#[derive(Debug)]
struct Scripts {
    usual: Cursor,
    by_model: Vec<(String, Cursor)>,
    by_endpoint: Vec<(Endpoint, Cursor)>,
    models: Vec<String>,
    requests_max: usize,
}

impl Default for Upstream {
    fn default() -> Upstream {
        Upstream::new(Script::default())
    }
}

impl Upstream {
    /// Plays this script to every request for an answer. Model lists and token counts are answered
    /// soundly, other paths with 404, until [`Upstream::script_at`] says otherwise.
    #[must_use]
    pub fn new(script: Script) -> Upstream {
        Upstream::with(script, None)
    }

    /// Lets this director choose what requests for an answer get. Others are answered soundly, or
    /// by the script of their endpoint.
    #[must_use]
    pub fn directed(director: Arc<dyn Director>) -> Upstream {
        Upstream::with(Script::default(), Some(director))
    }

    fn with(script: Script, director: Option<Arc<dyn Director>>) -> Upstream {
        let scripts = Scripts {
            usual: Cursor::new(script),
            by_model: Vec::new(),
            by_endpoint: vec![(Endpoint::Other, Cursor::new(Script::always(Status::new(404))))],
            models: Vec::new(),
            requests_max: usize::MAX,
        };
        let log = watch::Sender::default();
        let shared = Shared { scripts: Mutex::new(scripts), log, director };
        Upstream { shared: Arc::new(shared) }
    }

    /// From now on this script, from its first step; those of [`Upstream::script_for`] stay.
    pub fn script(&self, script: Script) {
        self.scripts().usual = Cursor::new(script);
    }

    /// From now on this script for requests for an answer of this model, which is also listed.
    pub fn script_for(&self, model: &str, script: Script) {
        let mut scripts = self.scripts();
        scripts.by_model.retain(|(own, _)| own != model);
        scripts.by_model.push((model.to_owned(), Cursor::new(script)));
        if !scripts.models.iter().any(|own| own == model) {
            scripts.models.push(model.to_owned());
        }
    }

    /// From now on this script for requests of this endpoint, whatever their model. On
    /// [`Endpoint::Models`] and [`Endpoint::CountTokens`] an answer is the list, or the count.
    pub fn script_at(&self, endpoint: Endpoint, script: Script) {
        let mut scripts = self.scripts();
        scripts.by_endpoint.retain(|(own, _)| *own != endpoint);
        scripts.by_endpoint.push((endpoint, Cursor::new(script)));
    }

    /// The models to list, instead of all those before.
    pub fn list_models<I: IntoIterator<Item = S>, S: Into<String>>(&self, models: I) {
        self.scripts().models = models.into_iter().map(Into::into).collect();
    }

    /// The log as it is now.
    #[must_use]
    pub fn log(&self) -> Log {
        self.shared.log.borrow().clone()
    }

    /// Waits until the log is as wished, woken by its changes, and gives it as it then was. It sets
    /// no limit: a test that can fail puts one around it, which costs nothing while time is paused.
    pub async fn wait_for(&self, wished: impl FnMut(&Log) -> bool) -> Log {
        let mut changes = self.shared.log.subscribe();
        match changes.wait_for(wished).await {
            Ok(log) => log.clone(),
            // Cannot be: the sender lives in `self`.
            Err(_) => self.log(),
        }
    }

    /// Forgets all requests so far, and the most that there were at once. Numbers go on; what
    /// becomes of requests that are still open is told by the counts alone.
    pub fn forget(&self) {
        self.shared.log.send_modify(|log| {
            log.keep(0);
            log.in_flight_max = log.in_flight;
        });
    }

    /// From now on the log holds the last so many requests, for upstreams that run long; by default
    /// it holds all.
    pub fn keep(&self, requests_max: usize) {
        self.scripts().requests_max = requests_max;
        self.shared.log.send_modify(|log| log.keep(requests_max));
    }

    /// A listener on a free port of the loopback address, and that address.
    ///
    /// # Errors
    /// What the system says.
    pub async fn bind() -> io::Result<(TcpListener, SocketAddr)> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    }

    /// Serves every connection to this listener until `stop` ends; then all of them are cut.
    pub async fn run(self, listener: TcpListener, stop: impl Future<Output = ()>) {
        let mut connections = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => return,
                accepted = listener.accept() => {
                    match accepted {
                        Ok((stream, _)) => {
                            connections.spawn(self.clone().serve_tcp(stream));
                        }
                        // One connection's error, or no descriptor left: the next may be well, but
                        // not at once.
                        Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
                    }
                }
                Some(_) = connections.join_next() => {}
            }
        }
    }

    /// Serves one TCP connection until it ends. A reset is a real one.
    pub async fn serve_tcp(self, stream: TcpStream) {
        let _ = stream.set_nodelay(true);
        let line = Line::open(&self.shared.log);
        let (stream, next) = self.converse(stream, line.number).await;
        if next == Next::Reset {
            let _ = stream.set_zero_linger();
        }
        drop(stream);
    }

    /// Serves one connection of any kind until it ends. A reset is a close without a word.
    pub async fn serve_io<IO>(self, io: IO)
    where
        IO: AsyncRead + AsyncWrite + Unpin + Send,
    {
        let line = Line::open(&self.shared.log);
        let (io, _) = self.converse(io, line.number).await;
        drop(io);
    }

    /// A connection in memory: the client's end, and what serves the other one. `buffer_bytes` is how
    /// far either side can write ahead of the other.
    pub fn pipe(
        &self,
        buffer_bytes: usize,
    ) -> (DuplexStream, impl Future<Output = ()> + Send + 'static) {
        let (near, far) = tokio::io::duplex(buffer_bytes);
        (near, self.clone().serve_io(far))
    }

    async fn converse<IO>(&self, io: IO, connection: usize) -> (IO, Next)
    where
        IO: AsyncRead + AsyncWrite + Unpin,
    {
        let (reader, writer) = tokio::io::split(io);
        let mut inbox = Inbox::new(reader);
        let mut pen = Pen::new(writer);
        let next = loop {
            match exchange(&*self.shared, connection, &mut inbox, &mut pen).await {
                Next::Again => {}
                next @ (Next::Close | Next::Reset) => break next,
            }
        };
        if next == Next::Close {
            let _ = pen.writer.shutdown().await;
        }
        (inbox.reader.unsplit(pen.writer), next)
    }

    fn scripts(&self) -> MutexGuard<'_, Scripts> {
        self.shared.scripts()
    }
}

impl Shared {
    fn scripts(&self) -> MutexGuard<'_, Scripts> {
        self.scripts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Scripts {
    /// A script for an endpoint, then one for a model, then the usual one for calls; none for the rest.
    fn cursor(&mut self, endpoint: Endpoint, model: Option<&str>) -> Option<&mut Cursor> {
        if let Some(own) = self.by_endpoint.iter().position(|(key, _)| *key == endpoint) {
            return self.by_endpoint.get_mut(own).map(|(_, cursor)| cursor);
        }
        if !endpoint.is_call() {
            return None;
        }
        let own = self.by_model.iter().position(|(key, _)| Some(key.as_str()) == model);
        match own {
            Some(own) => self.by_model.get_mut(own).map(|(_, cursor)| cursor),
            None => Some(&mut self.usual),
        }
    }
}

impl Prompter for Shared {
    fn act_at_head(&self, endpoint: Endpoint) -> Option<Act> {
        if self.director.is_some() {
            return None;
        }
        let mut scripts = self.scripts();
        let tied = scripts.by_endpoint.iter().any(|(key, _)| *key == endpoint);
        if !tied && !scripts.by_model.is_empty() {
            return None;
        }
        let cursor = scripts.cursor(endpoint, None)?;
        (cursor.peek() == Act::Reset(ResetPoint::Head)).then(|| cursor.advance())
    }

    fn act(&self, ask: &Ask, asked: &Asked<'_>) -> Act {
        if let Some(director) = self.director.as_ref().filter(|_| ask.endpoint.is_call()) {
            return director.act(asked);
        }
        let mut scripts = self.scripts();
        let cursor = scripts.cursor(ask.endpoint, ask.model.as_deref());
        cursor.map_or_else(|| Act::from(crate::Answer::default()), Cursor::advance)
    }

    fn director(&self) -> Option<&dyn Director> {
        self.director.as_deref()
    }

    fn models(&self) -> Vec<String> {
        self.scripts().models.clone()
    }

    fn log(&self) -> &watch::Sender<Log> {
        &self.log
    }

    fn requests_max(&self) -> usize {
        self.scripts().requests_max
    }
}
