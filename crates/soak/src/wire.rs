//! HTTP/1.1 as a client speaks it, by hand: to leave in the middle, to stop reading, and to see
//! whether an answer was ended or cut, a client must hold its own socket.

use std::net::SocketAddr;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

const HEAD_MAX: usize = 256 * 1024;

/// Why a conversation cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The other side closed or reset the connection, or could not be reached.
    Gone(String),
    /// What came is no HTTP/1.1.
    Odd(String),
}

/// A response's head.
#[derive(Clone, Debug, Default)]
pub(crate) struct Head {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
}

impl Head {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

/// What of a body is still to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Length(usize),
    /// In the chunk that is being read.
    Chunk(usize),
    ChunkHead,
    /// The line end after a chunk.
    ChunkEnd,
    Done,
}

/// A connection that calls are made on, one after the other.
pub(crate) struct Conn {
    stream: TcpStream,
    buffer: BytesMut,
    rest: Rest,
    closes: bool,
}

impl Conn {
    /// `receive_bytes` limits what may come before it is read, about.
    pub(crate) async fn open(addr: SocketAddr, receive_bytes: Option<u32>) -> Result<Self, Broken> {
        let gone = |error: std::io::Error| Broken::Gone(error.to_string());
        let socket = TcpSocket::new_v4().map_err(gone)?;
        if let Some(bytes) = receive_bytes {
            socket.set_recv_buffer_size(bytes).map_err(gone)?;
        }
        let stream = socket.connect(addr).await.map_err(gone)?;
        stream.set_nodelay(true).map_err(gone)?;
        Ok(Self { stream, buffer: BytesMut::new(), rest: Rest::Done, closes: false })
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        self.stream.write_all(bytes).await.map_err(|error| Broken::Gone(error.to_string()))
    }

    pub(crate) async fn head(&mut self) -> Result<Head, Broken> {
        loop {
            if let Some(head) = self.parse_head()? {
                if head.status >= 200 {
                    return Ok(head);
                }
                continue;
            }
            if self.buffer.len() > HEAD_MAX {
                return Err(Broken::Odd("the head has no end".to_owned()));
            }
            self.fill().await?;
        }
    }

    /// The next part of the body; none: it has ended as its framing promised.
    pub(crate) async fn part(&mut self) -> Result<Option<Bytes>, Broken> {
        loop {
            match self.rest {
                Rest::Done => return Ok(None),
                Rest::Length(left) | Rest::Chunk(left) if !self.buffer.is_empty() => {
                    let part = self.buffer.split_to(left.min(self.buffer.len())).freeze();
                    let left = left - part.len();
                    self.rest = match self.rest {
                        Rest::Length(_) if left == 0 => Rest::Done,
                        Rest::Length(_) => Rest::Length(left),
                        Rest::Chunk(_) | Rest::ChunkHead | Rest::ChunkEnd | Rest::Done => {
                            if left == 0 { Rest::ChunkEnd } else { Rest::Chunk(left) }
                        }
                    };
                    return Ok(Some(part));
                }
                Rest::ChunkEnd if self.buffer.len() >= 2 => {
                    if &self.buffer[..2] != b"\r\n" {
                        return Err(Broken::Odd("a chunk does not end where it should".to_owned()));
                    }
                    self.buffer.advance(2);
                    self.rest = Rest::ChunkHead;
                    continue;
                }
                Rest::ChunkHead => {
                    if let Some(size) = self.chunk_size()? {
                        self.rest = size;
                        continue;
                    }
                }
                Rest::Length(_) | Rest::Chunk(_) | Rest::ChunkEnd => {}
            }
            self.fill().await?;
        }
    }

    /// Whether another call can be made on it.
    pub(crate) fn is_free(&self) -> bool {
        self.rest == Rest::Done && !self.closes && self.buffer.is_empty()
    }

    fn chunk_size(&mut self) -> Result<Option<Rest>, Broken> {
        let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\r\n") else {
            return Ok(None);
        };
        let line = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        let size = usize::from_str_radix(line.split(';').next().unwrap_or_default().trim(), 16)
            .map_err(|_| Broken::Odd(format!("a chunk of size {line:?}")))?;
        if size > 0 {
            self.buffer.advance(end + 2);
            return Ok(Some(Rest::Chunk(size)));
        }
        // The last one, without trailers (G14), and the empty line.
        if self.buffer.len() < end + 4 {
            return Ok(None);
        }
        if &self.buffer[end + 2..end + 4] != b"\r\n" {
            return Err(Broken::Odd("there are trailers".to_owned()));
        }
        self.buffer.advance(end + 4);
        Ok(Some(Rest::Done))
    }

    fn parse_head(&mut self) -> Result<Option<Head>, Broken> {
        let mut fields = [httparse::EMPTY_HEADER; 100];
        let mut response = httparse::Response::new(&mut fields);
        let length = match response.parse(&self.buffer) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(error) => return Err(Broken::Odd(error.to_string())),
        };
        let status = response.code.unwrap_or_default();
        let headers: Vec<(String, String)> = response
            .headers
            .iter()
            .map(|field| {
                let value = String::from_utf8_lossy(field.value).into_owned();
                (field.name.to_ascii_lowercase(), value)
            })
            .collect();
        self.buffer.advance(length);
        let head = Head { status, headers };
        self.closes = head.header("connection").is_some_and(|value| value.contains("close"));
        self.rest = match (head.header("transfer-encoding"), head.header("content-length")) {
            (Some(_), _) => Rest::ChunkHead,
            (None, Some(length)) => match length.parse() {
                Ok(0) => Rest::Done,
                Ok(length) => Rest::Length(length),
                Err(_) => return Err(Broken::Odd(format!("a length of {length:?}"))),
            },
            (None, None) if status == 204 || status < 200 => Rest::Done,
            (None, None) => return Err(Broken::Odd("no framing".to_owned())),
        };
        Ok(Some(head))
    }

    async fn fill(&mut self) -> Result<(), Broken> {
        match self.stream.read_buf(&mut self.buffer).await {
            Ok(0) => Err(Broken::Gone("closed".to_owned())),
            Ok(_) => Ok(()),
            Err(error) => Err(Broken::Gone(error.to_string())),
        }
    }
}
