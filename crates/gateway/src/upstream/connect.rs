//! Opens connections: names, addresses, proxies, TLS.
//!
//! It refuses addresses that no provider lives at (G9), and a proxy on the way to this machine.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower_service::Service;

use ekiden_config::{Provider, guarded_address};

use super::conn::Conn;

/// A connection in memory.
pub type MemoryStream = DuplexStream;

/// Asked before each connection: a pipe, an error, or `None` for the network. For tests.
pub type Dial = Arc<dyn Fn(&str, u16) -> Option<io::Result<MemoryStream>> + Send + Sync>;

/// Why there is no connection. The kinds differ in whose fault they are.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectFault {
    /// The name cannot be resolved.
    #[error("the name cannot be resolved: {0}")]
    Dns(#[source] io::Error),
    /// It resolves to a link-local or metadata address (G9).
    #[error("the name leads to an address that is refused unless `allow_link_local` is set")]
    Guarded,
    /// No connection at any address.
    #[error("no connection: {0}")]
    Tcp(#[source] io::Error),
    /// TLS failed.
    #[error("TLS: {0}")]
    Tls(#[source] io::Error),
    /// The proxy cannot be reached, or refuses.
    #[error("the proxy: {0}")]
    Proxy(String),
    /// This machine cannot verify certificates at all.
    #[error("certificates cannot be verified here: {0}")]
    Trust(String),
}

/// Opens connections for one provider.
#[derive(Clone)]
pub(crate) struct Connector {
    shared: Arc<Shared>,
    proxy: Option<Uri>,
    guard: Guard,
    http2: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Guard {
    On,
    Off,
}

struct Shared {
    proxies: Option<Arc<Matcher>>,
    dial: Option<Dial>,
    tls: OnceLock<Result<Tls, String>>,
}

#[derive(Clone)]
struct Tls {
    http1: TlsConnector,
    http2: TlsConnector,
}

impl std::fmt::Debug for Connector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connector").field("guard", &self.guard).finish_non_exhaustive()
    }
}

impl Connector {
    pub(crate) fn new(proxies: Option<Arc<Matcher>>, dial: Option<Dial>) -> Self {
        let shared = Arc::new(Shared { proxies, dial, tls: OnceLock::new() });
        Self { shared, proxy: None, guard: Guard::On, http2: false }
    }

    pub(crate) fn for_provider(&self, provider: &Provider) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            proxy: provider.proxy.as_ref().and_then(|proxy| proxy.as_str().parse().ok()),
            guard: if provider.allow_link_local { Guard::Off } else { Guard::On },
            http2: provider.http2,
        }
    }

    /// Whether a connection can be opened at all.
    pub(crate) async fn reach(&self, host: &str, port: u16) -> bool {
        if let Some(dialled) = self.shared.dial.as_ref().and_then(|dial| dial(host, port)) {
            return dialled.is_ok();
        }
        match Uri::builder()
            .scheme("http")
            .authority(authority(host, port))
            .path_and_query("/")
            .build()
        {
            Ok(uri) => self.tcp(uri).await.is_ok(),
            Err(_) => false,
        }
    }

    /// A stream on which HTTP can be spoken to the host of `uri`.
    pub(super) async fn open(&self, uri: &Uri) -> Result<Way, ConnectFault> {
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let secure = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let way = self.way(uri, &host, port).await?;
        if !secure {
            return Ok(way);
        }
        let stream = self.tls(&host, way.stream).await?;
        Ok(Way { stream: Stream::Tls(Box::new(stream)), proxied: false })
    }

    async fn connect(self, uri: Uri) -> Result<Conn, ConnectFault> {
        let Way { stream, proxied } = self.open(&uri).await?;
        let h2 = stream.speaks_h2();
        Ok(Conn::new(stream, proxied, h2))
    }

    /// A plain stream to the host, through a proxy where one is due.
    async fn way(&self, uri: &Uri, host: &str, port: u16) -> Result<Way, ConnectFault> {
        if let Some(dialled) = self.shared.dial.as_ref().and_then(|dial| dial(host, port)) {
            let stream = dialled.map_err(dialled_fault)?;
            return Ok(Way { stream: Stream::Memory(stream), proxied: false });
        }
        match self.proxy_for(uri, host) {
            None => Ok(Way { stream: Stream::Tcp(self.tcp(uri.clone()).await?), proxied: false }),
            Some(proxy) => self.through(proxy, uri).await,
        }
    }

    /// G14: loopback never goes through a proxy.
    fn proxy_for(&self, uri: &Uri, host: &str) -> Option<Via> {
        let loopback = host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
        if loopback || host == "localhost" || host.ends_with(".localhost") {
            return None;
        }
        if let Some(proxy) = &self.proxy {
            return Some(Via { uri: proxy.clone(), intercept: None });
        }
        let intercept = self.shared.proxies.as_ref()?.intercept(uri)?;
        Some(Via { uri: intercept.uri().clone(), intercept: Some(intercept) })
    }

    async fn through(&self, via: Via, uri: &Uri) -> Result<Way, ConnectFault> {
        let fault = |error: &dyn std::fmt::Display| ConnectFault::Proxy(error.to_string());
        let unguarded = Self { guard: Guard::Off, ..self.clone() };
        let tcp = unguarded.tcp(via.uri.clone()).await.map_err(|error| fault(&error))?;
        let scheme = via.uri.scheme_str().unwrap_or("http");
        if scheme.starts_with("socks") {
            let mut socks = SocksV5::new(via.uri.clone(), Opened::of(Stream::Tcp(tcp)));
            if let Some((user, password)) = via.intercept.as_ref().and_then(Intercept::raw_auth) {
                socks = socks.with_auth(user.to_owned(), password.to_owned());
            }
            let io = socks.call(uri.clone()).await.map_err(|error| fault(&error))?;
            return Ok(Way { stream: io.into_inner(), proxied: false });
        }
        let stream = if scheme == "https" {
            let host = via.uri.host().unwrap_or_default().to_owned();
            Stream::Tls(Box::new(
                self.tls(&host, Stream::Tcp(tcp)).await.map_err(|error| fault(&error))?,
            ))
        } else {
            Stream::Tcp(tcp)
        };
        if uri.scheme_str() != Some("https")
            && via.intercept.as_ref().is_none_or(|way| way.basic_auth().is_none())
        {
            // The client then sends the whole URL, as proxies of plain requests want it.
            return Ok(Way { stream, proxied: true });
        }
        let mut tunnel = Tunnel::new(via.uri.clone(), Opened::of(stream));
        if let Some(auth) = via.intercept.as_ref().and_then(|intercept| intercept.basic_auth()) {
            tunnel = tunnel.with_auth(auth.clone());
        }
        let io = tunnel.call(uri.clone()).await.map_err(|error| fault(&error))?;
        Ok(Way { stream: io.into_inner(), proxied: false })
    }

    async fn tcp(&self, uri: Uri) -> Result<TcpStream, ConnectFault> {
        let mut http = HttpConnector::new_with_resolver(Resolver { guard: self.guard });
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_keepalive(Some(Duration::from_secs(30)));
        match http.call(uri).await {
            Ok(io) => Ok(io.into_inner()),
            Err(error) => Err(tcp_fault(&error)),
        }
    }

    async fn tls(&self, host: &str, stream: Stream) -> Result<TlsStream<Stream>, ConnectFault> {
        let tls = self.shared.tls.get_or_init(tls_settings);
        let tls = tls.as_ref().map_err(|error| ConnectFault::Trust(error.clone()))?;
        let name = ServerName::try_from(host.to_owned())
            .map_err(|error| ConnectFault::Tls(io::Error::other(error)))?;
        let connector = if self.http2 { &tls.http2 } else { &tls.http1 };
        connector.connect(name, stream).await.map_err(ConnectFault::Tls)
    }
}

impl Service<Uri> for Connector {
    type Response = Conn;
    type Error = ConnectFault;
    type Future = Pin<Box<dyn Future<Output = Result<Conn, ConnectFault>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectFault>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(self.clone().connect(uri))
    }
}

/// A stream to a host.
pub(super) struct Way {
    pub(super) stream: Stream,
    /// A proxy reads the request, and wants the whole URL in it.
    pub(super) proxied: bool,
}

struct Via {
    uri: Uri,
    intercept: Option<Intercept>,
}

fn authority(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// A dialler says by the kind what its error stands for.
fn dialled_fault(error: io::Error) -> ConnectFault {
    if error.kind() == io::ErrorKind::NotFound {
        ConnectFault::Dns(error)
    } else {
        ConnectFault::Tcp(error)
    }
}

fn tcp_fault(error: &(dyn std::error::Error + 'static)) -> ConnectFault {
    let mut cause = Some(error);
    while let Some(at) = cause {
        if let Some(unresolved) = at.downcast_ref::<Unresolved>() {
            return match unresolved {
                Unresolved::Dns(error) => ConnectFault::Dns(copied(error)),
                Unresolved::Guarded => ConnectFault::Guarded,
            };
        }
        if let Some(error) = at.downcast_ref::<io::Error>() {
            return ConnectFault::Tcp(copied(error));
        }
        cause = at.source();
    }
    ConnectFault::Tcp(io::Error::other(error.to_string()))
}

fn copied(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

fn tls_settings() -> Result<Tls, String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier)
        .map_err(|error| error.to_string())?
        .with_no_client_auth();
    let mut http1 = config.clone();
    http1.alpn_protocols = vec![b"http/1.1".to_vec()];
    let mut http2 = config;
    http2.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Tls {
        http1: TlsConnector::from(Arc::new(http1)),
        http2: TlsConnector::from(Arc::new(http2)),
    })
}

/// Resolves names, and refuses addresses that no provider lives at.
#[derive(Clone)]
struct Resolver {
    guard: Guard,
}

#[derive(Debug, thiserror::Error)]
enum Unresolved {
    #[error("{0}")]
    Dns(io::Error),
    #[error("the address is refused")]
    Guarded,
}

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = Unresolved;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Unresolved>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Unresolved>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let guard = self.guard;
        Box::pin(async move {
            let found =
                tokio::net::lookup_host((name.as_str(), 0)).await.map_err(Unresolved::Dns)?;
            let found: Vec<SocketAddr> = found.collect();
            let allowed =
                |address: &SocketAddr| guard == Guard::Off || !guarded_address(address.ip());
            let usable: Vec<SocketAddr> = found.iter().copied().filter(allowed).collect();
            match (usable.is_empty(), found.is_empty()) {
                (true, false) => Err(Unresolved::Guarded),
                (true, true) => Err(Unresolved::Dns(io::ErrorKind::NotFound.into())),
                (false, _) => Ok(usable.into_iter()),
            }
        })
    }
}

/// Hands an open stream to a proxy's handshake.
struct Opened(Option<Stream>);

impl Opened {
    const fn of(stream: Stream) -> Self {
        Self(Some(stream))
    }
}

impl Service<Uri> for Opened {
    type Response = TokioIo<Stream>;
    type Error = io::Error;
    type Future = std::future::Ready<io::Result<TokioIo<Stream>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let stream = self.0.take().ok_or_else(|| io::Error::other("the stream is used up"));
        std::future::ready(stream.map(TokioIo::new))
    }
}

/// The bytes below HTTP.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    Tls(Box<TlsStream<Stream>>),
    Memory(MemoryStream),
}

impl Stream {
    /// Whether both sides have agreed on HTTP/2.
    fn speaks_h2(&self) -> bool {
        match self {
            Self::Tls(io) => io.get_ref().1.alpn_protocol() == Some(b"h2"),
            Self::Tcp(_) | Self::Memory(_) => false,
        }
    }

    /// Closing it throws away what has not been sent.
    pub(super) fn discard_unsent(&self) {
        match self {
            // Where that cannot be set, the socket is closed all the same.
            Self::Tcp(io) => drop(io.set_zero_linger()),
            Self::Tls(io) => io.get_ref().0.discard_unsent(),
            Self::Memory(_) => {}
        }
    }
}

macro_rules! each {
    ($self:ident, $io:ident => $do:expr) => {
        match $self.get_mut() {
            Stream::Tcp(io) => {
                let $io = Pin::new(io);
                $do
            }
            Stream::Tls(io) => {
                let $io = Pin::new(io.as_mut());
                $do
            }
            Stream::Memory(io) => {
                let $io = Pin::new(io);
                $do
            }
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        each!(self, io => io.poll_read(cx, buf))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        each!(self, io => io.poll_write(cx, buf))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, io => io.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, io => io.poll_shutdown(cx))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Tcp(io) => io.is_write_vectored(),
            Self::Tls(io) => io.is_write_vectored(),
            Self::Memory(io) => io.is_write_vectored(),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        each!(self, io => io.poll_write_vectored(cx, bufs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn resolved(name: &str, guard: Guard) -> Result<usize, Unresolved> {
        let name: Name = name.parse().expect("a name");
        Resolver { guard }.call(name).await.map(Iterator::count)
    }

    #[tokio::test]
    async fn g09_a_name_that_leads_to_a_guarded_address_is_refused_unless_allowed() {
        // What a resolver answers for a name is judged, whatever the name: these answer themselves.
        for name in ["169.254.169.254", "fe80::1", "::ffff:169.254.169.254", "fd00:ec2::254"] {
            let refused = resolved(name, Guard::On).await;
            assert!(matches!(refused, Err(Unresolved::Guarded)), "{name}: {refused:?}");
            assert!(matches!(resolved(name, Guard::Off).await, Ok(1..)), "{name}");
        }
        assert!(matches!(resolved("127.0.0.1", Guard::On).await, Ok(1..)));
    }
}
