//! A client for the running gateway on this machine. It refuses everything else: no TLS, no proxy,
//! no redirects, no connection kept.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, Uri};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// Traces are text of a few megabytes at most.
const ANSWER_MAX_BYTES: usize = 64 << 20;

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: String,
}

/// Why nothing came back.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AskError {
    /// The address is no `http://HOST:PORT`.
    #[error("`{0}` is no address such as http://127.0.0.1:8787")]
    Address(String),
    /// Nobody listens there.
    #[error("nobody listens at {0}")]
    Nobody(String),
    /// Something else went wrong.
    #[error("{0}")]
    Broken(String),
}

/// Asks for a path below a base URL, with a limit on the whole.
///
/// # Errors
/// When no whole answer came in time.
pub(crate) async fn get(base: &str, path: &str, limit: Duration) -> Result<Answer, AskError> {
    let target = Target::of(base)?;
    match tokio::time::timeout(limit, target.get(path)).await {
        Ok(answer) => answer,
        Err(_) => Err(AskError::Broken(format!("no answer within {} s", limit.as_secs_f32()))),
    }
}

/// Where to connect to, and how it is called there.
struct Target {
    authority: String,
    prefix: String,
}

impl Target {
    fn of(base: &str) -> Result<Self, AskError> {
        let wrong = || AskError::Address(base.to_owned());
        let full = if base.contains("://") { base.to_owned() } else { format!("http://{base}") };
        let uri: Uri = full.parse().map_err(|_| wrong())?;
        if uri.scheme_str() != Some("http") {
            return Err(wrong());
        }
        let host = uri.host().ok_or_else(wrong)?;
        let authority = format!("{host}:{}", uri.port_u16().unwrap_or(80));
        // Users give what their clients have, and some of those need the version.
        let prefix = uri.path().trim_end_matches('/').trim_end_matches("/v1").to_owned();
        Ok(Self { authority, prefix })
    }

    async fn get(&self, path: &str) -> Result<Answer, AskError> {
        let stream = TcpStream::connect(&self.authority)
            .await
            .map_err(|_| AskError::Nobody(self.authority.clone()))?;
        let broken = |error: hyper::Error| AskError::Broken(error.to_string());
        let (mut sender, connection) =
            http1::handshake::<_, Empty<Bytes>>(TokioIo::new(stream)).await.map_err(broken)?;
        let request = Request::get(format!("{}{path}", self.prefix))
            .header(http::header::HOST, &self.authority)
            .body(Empty::new())
            .map_err(|_| AskError::Address(path.to_owned()))?;
        let asking = async {
            let answer = sender.send_request(request).await.map_err(broken)?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), ANSWER_MAX_BYTES).collect().await;
            let body = body.map_err(|error| AskError::Broken(error.to_string()))?.to_bytes();
            Ok(Answer { status, body: String::from_utf8_lossy(&body).into_owned() })
        };
        let mut asking = std::pin::pin!(asking);
        tokio::select! {
            answer = &mut asking => answer,
            ended = connection => match ended {
                Ok(()) => asking.await,
                Err(error) => Err(AskError::Broken(error.to_string())),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_as_users_write_it() {
        for (base, authority, prefix) in [
            ("http://127.0.0.1:8787", "127.0.0.1:8787", ""),
            ("127.0.0.1:8787", "127.0.0.1:8787", ""),
            ("http://localhost:1/v1/", "localhost:1", ""),
            ("http://[::1]:9/under", "[::1]:9", "/under"),
        ] {
            let target = Target::of(base).unwrap();
            assert_eq!((target.authority.as_str(), target.prefix.as_str()), (authority, prefix));
        }
        assert!(Target::of("https://127.0.0.1").is_err());
        assert!(Target::of("not an address").is_err());
    }
}
