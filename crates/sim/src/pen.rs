//! Writing responses. It frames bytes and counts them, and never decides what they say.

use std::fmt::Write as _;

use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::log::Entry;

/// The client no longer takes bytes.
#[derive(Debug)]
pub(crate) struct Gone;

/// How the end of a response's body is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// By chunks.
    Chunked,
    /// By a length, true or not.
    Length(u64),
    /// There is none: the status or the method forbids one.
    NoBody,
}

/// The writing half of a connection.
pub(crate) struct Pen<W> {
    pub(crate) writer: W,
    /// Bytes written at once; 0 sets no limit.
    pub(crate) bite: usize,
    chunked: bool,
}

impl<W: AsyncWrite + Unpin> Pen<W> {
    pub(crate) fn new(writer: W) -> Pen<W> {
        Pen { writer, bite: 0, chunked: false }
    }

    pub(crate) async fn head(
        &mut self,
        entry: &Entry<'_>,
        code: u16,
        headers: &[(String, String)],
        extent: Extent,
    ) -> Result<(), Gone> {
        let mut text = format!("HTTP/1.1 {code} {}\r\n", reason(code));
        for (name, value) in headers {
            let _ = write!(text, "{name}: {value}\r\n");
        }
        match extent {
            Extent::Chunked => text.push_str("transfer-encoding: chunked\r\n"),
            Extent::Length(length) => {
                let _ = write!(text, "content-length: {length}\r\n");
            }
            Extent::NoBody => {}
        }
        text.push_str("\r\n");
        self.chunked = extent == Extent::Chunked;
        self.raw(entry, text.as_bytes()).await
    }

    /// A part of the body.
    pub(crate) async fn body(&mut self, entry: &Entry<'_>, bytes: &[u8]) -> Result<(), Gone> {
        if bytes.is_empty() {
            return Ok(());
        }
        entry.says(bytes);
        if !self.chunked {
            return self.raw(entry, bytes).await;
        }
        let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
        framed.extend_from_slice(bytes);
        framed.extend_from_slice(b"\r\n");
        self.raw(entry, &framed).await
    }

    /// The body's end.
    pub(crate) async fn finish(&mut self, entry: &Entry<'_>) -> Result<(), Gone> {
        if self.chunked { self.raw(entry, b"0\r\n\r\n").await } else { Ok(()) }
    }

    pub(crate) async fn raw(&mut self, entry: &Entry<'_>, bytes: &[u8]) -> Result<(), Gone> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let next = if self.bite == 0 { rest } else { &rest[..rest.len().min(self.bite)] };
            let count = self.writer.write(next).await.map_err(|_| Gone)?;
            if count == 0 {
                return Err(Gone);
            }
            entry.amend(|seen| seen.written = seen.written.saturating_add(count as u64));
            rest = rest.get(count..).unwrap_or_default();
            if self.bite > 0 {
                tokio::task::yield_now().await;
            }
        }
        self.writer.flush().await.map_err(|_| Gone)
    }
}

fn reason(code: u16) -> &'static str {
    match code {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Payload Too Large",
        422 => "Unprocessable Entity",
        425 => "Too Early",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Scripted",
    }
}
