//! Taking the address that we listen on, and saying what stands in the way.
//!
//! It refuses to try another port by itself: clients were told this one.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::front::guard::beyond_loopback;
use crate::tokens::ClientTokens;

/// What our own `/healthz` says of itself.
pub(crate) const SERVICE: &str = "ekiden";

/// How long the occupant of the port may take to say who it is.
const ASK_WAIT: Duration = Duration::from_secs(1);

/// Why the gateway does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Another Ekiden listens there: talk to it, or stop it.
    #[error(
        "another Ekiden{version} already listens on {addr}\n\
         hint: use that one, stop it, or set `listen` to another port",
        version = version.as_ref().map_or(String::new(), |version| format!(" ({version})"))
    )]
    AlreadyRunning {
        /// The address.
        addr: SocketAddr,
        /// Its version, as it says.
        version: Option<String>,
    },
    /// Another program listens there.
    #[error(
        "another program already listens on {addr}\n\
         hint: set `listen` to another port, or stop that program"
    )]
    PortTaken {
        /// The address.
        addr: SocketAddr,
    },
    /// This user may not listen there.
    #[error("this user may not listen on {addr}\nhint: set `listen` to a port from 1024 on")]
    NotPermitted {
        /// The address.
        addr: SocketAddr,
    },
    /// This machine has no such address.
    #[error("this machine has no address {addr}\nhint: set `listen` to 127.0.0.1 and a port")]
    NoSuchAddress {
        /// The address.
        addr: SocketAddr,
    },
    /// Beyond loopback nobody may listen without tokens (G9).
    #[error(
        "{addr} can be reached from other machines, and there is no client token or no admin token\n\
         hint: while it listens on 127.0.0.1:{port}, run `ekiden token new NAME` and `ekiden token new \
         NAME --admin`, or keep `listen` on a loopback address",
        port = addr.port()
    )]
    NoTokens {
        /// The address.
        addr: SocketAddr,
    },
    /// Anything else.
    #[error("listening on {addr} failed: {cause}")]
    Io {
        /// The address.
        addr: SocketAddr,
        /// What the system says.
        cause: io::Error,
    },
}

/// Listens; beyond loopback only where tokens keep strangers out.
pub(crate) async fn bind(
    addr: SocketAddr,
    tokens: &ClientTokens,
) -> Result<TcpListener, StartError> {
    if beyond_loopback(addr) && !tokens.lets_others_in() {
        return Err(StartError::NoTokens { addr });
    }
    match TcpListener::bind(addr).await {
        Ok(listener) => Ok(listener),
        Err(cause) => Err(explain(addr, cause).await),
    }
}

async fn explain(addr: SocketAddr, cause: io::Error) -> StartError {
    let kind = cause.kind();
    if kind == io::ErrorKind::AddrInUse {
        match timeout(ASK_WAIT, occupant(addr)).await {
            Ok(Some(version)) => StartError::AlreadyRunning { addr, version: Some(version) },
            Ok(None) | Err(_) => StartError::PortTaken { addr },
        }
    } else if kind == io::ErrorKind::PermissionDenied {
        StartError::NotPermitted { addr }
    } else if kind == io::ErrorKind::AddrNotAvailable {
        StartError::NoSuchAddress { addr }
    } else {
        StartError::Io { addr, cause }
    }
}

/// The version of the Ekiden that listens there, if it is one.
async fn occupant(addr: SocketAddr) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Health {
        service: String,
        version: String,
    }
    let mut stream = TcpStream::connect(addr).await.ok()?;
    let question = format!("GET /healthz HTTP/1.1\r\nhost: {addr}\r\nconnection: close\r\n\r\n");
    stream.write_all(question.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    stream.take(4 << 10).read_to_end(&mut answer).await.ok()?;
    let body = answer.iter().position(|byte| *byte == b'{').map(|start| &answer[start..])?;
    let health: Health = serde_json::Deserializer::from_slice(body).into_iter().next()?.ok()?;
    let known = health.service == SERVICE;
    // What a stranger says is shown: not all of it, and nothing that moves a cursor.
    let version = health.version.chars().filter(|c| !c.is_control()).take(40).collect();
    known.then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::{NewToken, Scope};

    #[tokio::test]
    async fn g09_beyond_loopback_both_kinds_of_token_are_needed() {
        let tokens = ClientTokens::default();
        let wish = |scope| NewToken {
            name: "a".into(),
            scope,
            queues: Vec::new(),
            calls_max: None,
            budget_per_day: None,
        };
        for addr in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
            let failed = bind(addr.parse().expect("address"), &tokens).await.expect_err("refused");
            assert!(matches!(failed, StartError::NoTokens { .. }), "{failed}");
        }
        let all = "0.0.0.0:0".parse().expect("address");
        drop(tokens.make(wish(Scope::Client), 1).expect("made"));
        assert!(matches!(bind(all, &tokens).await, Err(StartError::NoTokens { .. })));
        drop(tokens.make(wish(Scope::Admin), 1).expect("made"));
        drop(bind(all, &tokens).await.expect("listens"));
    }

    #[tokio::test]
    async fn g13_a_port_that_a_stranger_has_is_named() {
        let tokens = ClientTokens::default();
        let taken = bind("127.0.0.1:0".parse().expect("address"), &tokens).await.expect("a port");
        let addr = taken.local_addr().expect("bound");
        let stranger = async {
            let (mut stream, _) = taken.accept().await.expect("the question");
            stream.write_all(b"220 mail.example ESMTP {\r\n").await.expect("said");
        };
        let (failed, ()) = tokio::join!(bind(addr, &tokens), stranger);
        let failed = failed.expect_err("taken");
        assert!(matches!(failed, StartError::PortTaken { .. }), "{failed}");
        assert!(failed.to_string().contains("hint: "), "{failed}");
    }
}
