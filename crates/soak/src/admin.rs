//! The gateway's own interface, asked as the page and the command line ask it.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{anyhow, ensure};
use serde_json::Value;
use tokio::time::timeout;

use crate::wire::{Broken, Conn};

/// How long an answer may take; the machine may be busy with other things.
const PATIENCE: Duration = Duration::from_secs(15);

/// Where it is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Admin {
    addr: SocketAddr,
}

/// An answer of the interface.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) json: Value,
}

impl Admin {
    pub(crate) const fn new(addr: SocketAddr) -> Self {
        Self { addr }
    }

    /// Whether anything answers well there.
    pub(crate) async fn reach(self, path: &str) -> anyhow::Result<()> {
        let reply = self.ask("GET", path, None, None).await?;
        ensure!(reply.status == 200, "{path} answers {}", reply.status);
        Ok(())
    }

    pub(crate) async fn read(self, path: &str) -> anyhow::Result<Value> {
        let reply = self.ask("GET", path, None, None).await?;
        ensure!(reply.status == 200, "{path} answers {}: {}", reply.status, reply.json);
        Ok(reply.json)
    }

    /// `hash` is what a change was decided on.
    pub(crate) async fn ask(
        self,
        method: &str,
        path: &str,
        hash: Option<&str>,
        body: Option<&Value>,
    ) -> anyhow::Result<Reply> {
        let odd = |broken: Broken| match broken {
            Broken::Gone(why) | Broken::Odd(why) => anyhow!("{method} {path}: {why}"),
        };
        let exchange = async {
            let mut conn = Conn::open(self.addr, None).await.map_err(odd)?;
            let body = body.map(ToString::to_string).unwrap_or_default();
            let mut text = format!(
                "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {}\r\n",
                self.addr,
                body.len()
            );
            if !body.is_empty() {
                text += "content-type: application/json\r\n";
            }
            if let Some(hash) = hash {
                text += &format!("if-match: {hash}\r\n");
            }
            text += "\r\n";
            text += &body;
            conn.send(text.as_bytes()).await.map_err(odd)?;
            let head = conn.head().await.map_err(odd)?;
            let mut bytes = Vec::new();
            while let Some(part) = conn.part().await.map_err(odd)? {
                bytes.extend_from_slice(&part);
            }
            let json = serde_json::from_slice(&bytes).unwrap_or_default();
            Ok(Reply { status: head.status, json })
        };
        timeout(PATIENCE, exchange).await.map_err(|_| anyhow!("{method} {path}: no answer"))?
    }
}
