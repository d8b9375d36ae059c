//! A client for the running gateway on this machine. It refuses everything else: no TLS, no proxy,
//! no redirects, no connection kept.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::terminal::Say;

/// Traces are text of a few megabytes at most.
const ANSWER_MAX_BYTES: usize = 64 << 20;

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
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

impl Say for AskError {
    fn english(&self) -> String {
        self.to_string()
    }

    fn chinese(&self) -> String {
        match self {
            Self::Address(text) => format!("`{text}` 不是 http://127.0.0.1:8787 这样的地址"),
            Self::Nobody(at) => format!("{at} 无人监听"),
            Self::Broken(text) => text.clone(),
        }
    }
}

/// A question to the gateway.
#[derive(Clone, Debug)]
pub(crate) struct Question<'a> {
    pub(crate) method: http::Method,
    /// Below the base URL.
    pub(crate) path: &'a str,
    pub(crate) headers: Vec<(&'a str, &'a str)>,
    pub(crate) body: String,
}

impl<'a> Question<'a> {
    /// To read what is there.
    pub(crate) const fn get(path: &'a str) -> Self {
        Self { method: http::Method::GET, path, headers: Vec::new(), body: String::new() }
    }
}

/// What becomes of an answer's bytes once they were heard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Keep {
    /// They are the answer's body, of so many bytes at most.
    UpTo(usize),
    /// They are gone: the answer has no end. What is no success is kept all the same.
    Nothing,
}

/// Asks for a path below a base URL, with a limit on the whole and on its size.
///
/// # Errors
/// When no whole answer came in time, or it is larger.
pub(crate) async fn get(
    base: &str,
    path: &str,
    limit: Duration,
    most_bytes: usize,
) -> Result<Answer, AskError> {
    ask_up_to(base, Question::get(path), limit, most_bytes).await
}

/// Asks a question, with a limit on the whole.
///
/// # Errors
/// When no whole answer came in time.
pub(crate) async fn ask(
    base: &str,
    question: Question<'_>,
    limit: Duration,
) -> Result<Answer, AskError> {
    ask_up_to(base, question, limit, ANSWER_MAX_BYTES).await
}

async fn ask_up_to(
    base: &str,
    question: Question<'_>,
    limit: Duration,
    most_bytes: usize,
) -> Result<Answer, AskError> {
    let target = Target::of(base)?;
    let request = target.request(question)?;
    let asking = target.exchange(request, Keep::UpTo(most_bytes), |_| {});
    match tokio::time::timeout(limit, asking).await {
        Ok(answer) => answer,
        Err(_) => Err(AskError::Broken(format!("no answer within {} s", limit.as_secs_f32()))),
    }
}

/// Posts JSON and hears the answer as it comes, for as long as it takes.
///
/// # Errors
/// When no whole answer came.
pub(crate) async fn post(
    base: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: String,
    heard: impl FnMut(&[u8]),
) -> Result<Answer, AskError> {
    let target = Target::of(base)?;
    let headers = headers.to_vec();
    let question = Question { method: http::Method::POST, path, headers, body };
    let keep = Keep::UpTo(ANSWER_MAX_BYTES);
    target.exchange(target.request(question)?, keep, heard).await
}

/// Listens to an answer that has no end of its own; it returns when the other side ended it.
///
/// # Errors
/// When the connection broke.
pub(crate) async fn listen(
    base: &str,
    question: Question<'_>,
    heard: impl FnMut(&[u8]),
) -> Result<Answer, AskError> {
    let target = Target::of(base)?;
    target.exchange(target.request(question)?, Keep::Nothing, heard).await
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

    fn request(&self, question: Question<'_>) -> Result<Request<Full<Bytes>>, AskError> {
        let Question { method, path, headers, body } = question;
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.prefix))
            .header(http::header::HOST, &self.authority);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let body = Full::new(Bytes::from(body));
        request.body(body).map_err(|_| AskError::Address(path.to_owned()))
    }

    async fn exchange(
        &self,
        request: Request<Full<Bytes>>,
        keep: Keep,
        mut heard: impl FnMut(&[u8]),
    ) -> Result<Answer, AskError> {
        let stream = TcpStream::connect(&self.authority)
            .await
            .map_err(|_| AskError::Nobody(self.authority.clone()))?;
        let broken = |error: hyper::Error| AskError::Broken(error.to_string());
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        let asking = async {
            let answer = sender.send_request(request).await.map_err(broken)?;
            let (head, body) = answer.into_parts();
            let most = match keep {
                Keep::UpTo(most) => Some(most),
                Keep::Nothing => (!head.status.is_success()).then_some(ANSWER_MAX_BYTES),
            };
            let mut body = Limited::new(body, most.unwrap_or(usize::MAX));
            let mut whole = Vec::new();
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(|error| AskError::Broken(error.to_string()))?;
                if let Some(data) = frame.data_ref() {
                    heard(data);
                    if most.is_some() {
                        whole.extend_from_slice(data);
                    }
                }
            }
            let body = String::from_utf8_lossy(&whole).into_owned();
            Ok(Answer { status: head.status, headers: head.headers, body })
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
