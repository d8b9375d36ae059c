//! Taking the address that we listen on, and saying what stands in the way.
//!
//! It refuses to try another port by itself: clients were told this one.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

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
        "{addr} can be reached from other machines, and this version has no client tokens\n\
         hint: set `listen` to a loopback address such as 127.0.0.1:{port}",
        port = addr.port()
    )]
    NotLoopback {
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

/// Listens.
pub(crate) async fn bind(addr: SocketAddr) -> Result<TcpListener, StartError> {
    if !addr.ip().to_canonical().is_loopback() {
        return Err(StartError::NotLoopback { addr });
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

    #[tokio::test]
    async fn g09_only_loopback_is_listened_on() {
        for addr in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
            let failed = bind(addr.parse().expect("address")).await.expect_err("refused");
            assert!(matches!(failed, StartError::NotLoopback { .. }), "{failed}");
        }
    }

    #[tokio::test]
    async fn g13_a_port_that_a_stranger_has_is_named() {
        let taken = bind("127.0.0.1:0".parse().expect("address")).await.expect("a port");
        let addr = taken.local_addr().expect("bound");
        let stranger = async {
            let (mut stream, _) = taken.accept().await.expect("the question");
            stream.write_all(b"220 mail.example ESMTP {\r\n").await.expect("said");
        };
        let (failed, ()) = tokio::join!(bind(addr), stranger);
        let failed = failed.expect_err("taken");
        assert!(matches!(failed, StartError::PortTaken { .. }), "{failed}");
        assert!(failed.to_string().contains("hint: "), "{failed}");
    }
}
