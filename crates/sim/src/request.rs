//! Reading requests. It refuses to interpret them beyond what an answer needs: the path, the model,
//! whether to stream, and who spoke last.

use bytes::{Buf, Bytes, BytesMut};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt};

/// What a request asks for, by its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// `…/chat/completions`
    Chat,
    /// `…/messages`
    Messages,
    /// `…/messages/count_tokens`
    CountTokens,
    /// `…/models` and `…/models/ID`
    Models,
    /// Anything else.
    Other,
}

impl Endpoint {
    /// By path, with or without query.
    #[must_use]
    pub fn of(path: &str) -> Endpoint {
        let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
        if path.ends_with("/chat/completions") {
            Endpoint::Chat
        } else if path.ends_with("/messages") {
            Endpoint::Messages
        } else if path.ends_with("/messages/count_tokens") {
            Endpoint::CountTokens
        } else if path.ends_with("/models") || path.contains("/models/") {
            Endpoint::Models
        } else {
            Endpoint::Other
        }
    }

    /// Whether it asks a model for an answer.
    #[must_use]
    pub fn is_call(self) -> bool {
        match self {
            Endpoint::Chat | Endpoint::Messages => true,
            Endpoint::CountTokens | Endpoint::Models | Endpoint::Other => false,
        }
    }
}

/// A body as far as an answer depends on it.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) endpoint: Endpoint,
    pub(crate) model: Option<String>,
    pub(crate) streaming: bool,
    pub(crate) include_usage: bool,
    pub(crate) ends_with_assistant: bool,
    pub(crate) input_tokens: u64,
}

impl Ask {
    /// None if the body should be JSON and is not.
    pub(crate) fn read(endpoint: Endpoint, body: &[u8]) -> Option<Ask> {
        let json: Value = match serde_json::from_slice(body) {
            Ok(json) => json,
            Err(_) if endpoint.is_call() || endpoint == Endpoint::CountTokens => return None,
            Err(_) => Value::Null,
        };
        let last_role = json["messages"]
            .as_array()
            .and_then(|messages| messages.last())
            .and_then(|message| message["role"].as_str());
        Some(Ask {
            endpoint,
            model: json["model"].as_str().map(str::to_owned),
            streaming: endpoint.is_call() && json["stream"].as_bool().unwrap_or(false),
            include_usage: json["stream_options"]["include_usage"].as_bool().unwrap_or(false),
            ends_with_assistant: last_role == Some("assistant"),
            input_tokens: (body.len() as u64).div_ceil(4),
        })
    }

    /// A request whose body says nothing.
    pub(crate) fn unreadable(endpoint: Endpoint) -> Ask {
        Ask {
            endpoint,
            model: None,
            streaming: false,
            include_usage: false,
            ends_with_assistant: false,
            input_tokens: 0,
        }
    }
}

/// The head of a request.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) framing: Framing,
    pub(crate) closes: bool,
    pub(crate) expects_continue: bool,
}

/// How long a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(usize),
    Chunked,
}

/// Why a request could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadError {
    /// The client closed the connection.
    Gone,
    /// What came is no HTTP/1.1, or more than can be held.
    Unreadable,
}

const HEAD_BYTES_MAX: usize = 256 * 1024;
const HEADERS_MAX: usize = 200;
const BODY_BYTES_MAX: usize = 256 * 1024 * 1024;
/// What a client may send ahead while it is being answered.
const AHEAD_BYTES_MAX: usize = 1024 * 1024;

/// The reading half of a connection.
pub(crate) struct Inbox<R> {
    pub(crate) reader: R,
    buffer: BytesMut,
}

impl<R: AsyncRead + Unpin> Inbox<R> {
    pub(crate) fn new(reader: R) -> Inbox<R> {
        Inbox { reader, buffer: BytesMut::new() }
    }

    /// The next request's head.
    pub(crate) async fn head(&mut self) -> Result<Head, ReadError> {
        loop {
            if let Some((head, length)) = parse_head(&self.buffer)? {
                self.buffer.advance(length);
                return Ok(head);
            }
            if self.buffer.len() > HEAD_BYTES_MAX {
                return Err(ReadError::Unreadable);
            }
            self.fill().await?;
        }
    }

    /// The body that belongs to the head.
    pub(crate) async fn body(&mut self, framing: Framing) -> Result<Bytes, ReadError> {
        match framing {
            Framing::Length(length) => self.take(length).await,
            Framing::Chunked => self.chunked().await,
        }
    }

    /// Ends when the client closes, keeping what it may have sent ahead.
    pub(crate) async fn until_gone(&mut self) {
        while self.buffer.len() < AHEAD_BYTES_MAX {
            if self.fill().await.is_err() {
                return;
            }
        }
        std::future::pending::<()>().await;
    }

    /// Waits for a first byte of the next request.
    pub(crate) async fn any_byte(&mut self) -> Result<(), ReadError> {
        if self.buffer.is_empty() { self.fill().await } else { Ok(()) }
    }

    async fn chunked(&mut self) -> Result<Bytes, ReadError> {
        let mut body = BytesMut::new();
        loop {
            let line = self.line().await?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16).map_err(|_| ReadError::Unreadable)?;
            if size == 0 {
                while !self.line().await?.is_empty() {}
                return Ok(body.freeze());
            }
            if body.len().saturating_add(size) > BODY_BYTES_MAX {
                return Err(ReadError::Unreadable);
            }
            body.extend_from_slice(&self.take(size).await?);
            if !self.line().await?.is_empty() {
                return Err(ReadError::Unreadable);
            }
        }
    }

    async fn line(&mut self) -> Result<String, ReadError> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\r\n") {
                let line = self.buffer.split_to(end);
                self.buffer.advance(2);
                return String::from_utf8(line.to_vec()).map_err(|_| ReadError::Unreadable);
            }
            if self.buffer.len() > HEAD_BYTES_MAX {
                return Err(ReadError::Unreadable);
            }
            self.fill().await?;
        }
    }

    async fn take(&mut self, length: usize) -> Result<Bytes, ReadError> {
        if length > BODY_BYTES_MAX {
            return Err(ReadError::Unreadable);
        }
        while self.buffer.len() < length {
            self.fill().await?;
        }
        Ok(self.buffer.split_to(length).freeze())
    }

    async fn fill(&mut self) -> Result<(), ReadError> {
        match self.reader.read_buf(&mut self.buffer).await {
            Ok(0) | Err(_) => Err(ReadError::Gone),
            Ok(_) => Ok(()),
        }
    }
}

fn parse_head(bytes: &[u8]) -> Result<Option<(Head, usize)>, ReadError> {
    let mut fields = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut fields);
    let length = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(ReadError::Unreadable),
    };
    let headers: Vec<(String, String)> = request
        .headers
        .iter()
        .map(|field| {
            let value = String::from_utf8_lossy(field.value).into_owned();
            (field.name.to_ascii_lowercase(), value)
        })
        .collect();
    let holds = |name: &str, word: &str| {
        headers.iter().any(|(key, value)| key == name && value.to_ascii_lowercase().contains(word))
    };
    let length_field = headers.iter().find(|(key, _)| key == "content-length");
    let framing = if holds("transfer-encoding", "chunked") {
        Framing::Chunked
    } else {
        let length = length_field.map_or(Ok(0), |(_, value)| value.trim().parse());
        Framing::Length(length.map_err(|_| ReadError::Unreadable)?)
    };
    let head = Head {
        method: request.method.unwrap_or_default().to_owned(),
        path: request.path.unwrap_or_default().to_owned(),
        framing,
        closes: request.version == Some(0) || holds("connection", "close"),
        expects_continue: holds("expect", "100-continue"),
        headers,
    };
    Ok(Some((head, length)))
}
