//! What only a socket shows: heads that are bombs, answers to what is still being sent, leaving.

use std::io::ErrorKind;
use std::time::Duration;

use ekiden_gateway::{CoreOptions, Gateway, Running, StartError};
use ekiden_sim::Upstream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{CHAT, MESSAGES, SETTINGS, config, hello, options, streamed};

async fn start(script: &str) -> (Running, Upstream) {
    let upstream = Upstream::new(script.parse().expect("a script"));
    let settings = format!("listen = \"127.0.0.1:0\"\n{SETTINGS}");
    let running = Gateway::start(config(&settings), options(&upstream)).await;
    (running.expect("a port"), upstream)
}

/// Sends bytes and gives the head and body that come before the connection ends or `enough` came.
async fn exchange(running: &Running, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(running.addr()).await.expect("it listens");
    let (mut reader, mut writer) = stream.split();
    let writing = async {
        // It may close before it has read everything.
        let _ = writer.write_all(bytes).await;
    };
    let reading = async {
        let mut answer = Vec::new();
        let _ = reader.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    };
    tokio::join!(writing, reading).1
}

async fn is_alive(running: &Running) -> bool {
    let question = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    exchange(running, question).await.starts_with("HTTP/1.1 200 ")
}

#[tokio::test]
async fn g09_heads_that_are_bombs_are_refused_and_break_nothing() {
    let (running, _upstream) = start("ok").await;
    let many: String = (0..2_000).map(|n| format!("x-{n}: {n}\r\n")).collect();
    let long = format!("x-long: {}\r\n", "a".repeat(1 << 20));
    let path = "a".repeat(1 << 20);
    for (head, status) in [
        (format!("GET / HTTP/1.1\r\nhost: localhost\r\n{many}\r\n"), "431"),
        (format!("GET / HTTP/1.1\r\nhost: localhost\r\n{long}\r\n"), "431"),
        (format!("GET /{path} HTTP/1.1\r\nhost: localhost\r\n\r\n"), "4"),
        ("\x00\x01\x02 nonsense\r\n\r\n".to_owned(), "400"),
        ("GET / HTTP/1.1\r\nhost: a\u{7f}b\r\n\r\n".to_owned(), "4"),
        (
            "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999999999999\r\n\r\n"
                .to_owned(),
            "4",
        ),
        (
            "POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"
                .to_owned(),
            "4",
        ),
    ] {
        let answer = exchange(&running, head.as_bytes()).await;
        let start = format!("HTTP/1.1 {status}");
        assert!(answer.starts_with(&start), "{:.60} -> {answer:.200}", head);
        assert!(is_alive(&running).await);
    }
    running.shutdown().await;
}

#[tokio::test]
async fn r45_a_529_bears_a_reason_on_the_wire() {
    let upstream = Upstream::new("401".parse().expect("a script"));
    let settings = format!(
        "listen = \"127.0.0.1:0\"\n{}",
        SETTINGS.replace(
            "[queues.opus]",
            "[queues.opus]\nparole_after = \"0\"\nretry_when_all_quarantined = false"
        )
    );
    let running = Gateway::start(config(&settings), options(&upstream)).await.expect("a port");
    let body = hello("opus").to_string();
    let question = format!(
        "POST {MESSAGES} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = exchange(&running, question.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 529 Overloaded\r\n"), "{answer}");
    running.shutdown().await;
}

#[tokio::test]
async fn g14_a_100_mb_body_is_refused_unread_and_the_client_hears_why() {
    let (running, _upstream) = start("ok").await;
    let size = 100 << 20;
    let mut bytes =
        format!("POST {CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {size}\r\n\r\n")
            .into_bytes();
    bytes.resize(bytes.len() + size, b' ');
    let answer = exchange(&running, &bytes).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer:.200}");
    assert!(answer.contains("limits.body_bytes_max"), "{answer:.400}");
    assert!(is_alive(&running).await);
    running.shutdown().await;
}

#[tokio::test]
async fn g14_bodies_that_are_only_announced_take_nobodys_room() {
    let upstream = Upstream::new("ok".parse().expect("a script"));
    let limits = "[limits]\nheld_bytes_max = \"1MiB\"\nbody_bytes_max = \"1MiB\"";
    let settings = format!("listen = \"127.0.0.1:0\"\n{SETTINGS}\n{limits}");
    let running = Gateway::start(config(&settings), options(&upstream)).await.expect("a port");
    let head = |size: usize| {
        format!(
            "POST {CHAT} HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\n\
             connection: close\r\ncontent-length: {size}\r\n\r\n"
        )
    };
    let mut announcing = Vec::new();
    for _ in 0..8 {
        let mut stream = TcpStream::connect(running.addr()).await.expect("it listens");
        stream.write_all(head(1 << 20).as_bytes()).await.expect("sent");
        // Its body is being read when it is asked to go on.
        let mut go_on = [0; 12];
        stream.read_exact(&mut go_on).await.expect("an answer");
        assert_eq!(&go_on, b"HTTP/1.1 100");
        stream.write_all(b"{\"a").await.expect("sent");
        announcing.push(stream);
    }
    let mut body = streamed("default");
    body["messages"][0]["content"] = "x".repeat(300 << 10).into();
    let body = body.to_string();
    let bytes = format!("{}{body}", head(body.len()));
    let answer = exchange(&running, bytes.as_bytes()).await;
    assert!(answer.contains("HTTP/1.1 200 "), "{answer:.300}");
    drop(announcing);
    running.shutdown().await;
}

#[tokio::test]
async fn g03_a_client_that_leaves_cancels_upstream_at_once() {
    let (running, upstream) = start("silence:2").await;
    let body = streamed("default").to_string();
    let mut stream = TcpStream::connect(running.addr()).await.expect("it listens");
    let head = format!(
        "POST {CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.expect("sent");
    stream.write_all(body.as_bytes()).await.expect("sent");
    let mut first = [0; 64];
    let _ = stream.read(&mut first).await.expect("the answer begins");
    drop(stream);
    let gone = upstream.wait_for(|log| log.in_flight == 0);
    tokio::time::timeout(Duration::from_millis(100), gone).await.expect("within 100 ms");
    running.shutdown().await;
}

/// A streamed call on a socket of its own, with what follows its body.
async fn call_with(running: &Running, after: &[u8]) -> TcpStream {
    let body = streamed("default").to_string();
    let head = format!(
        "POST {CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(after);
    let mut stream = TcpStream::connect(running.addr()).await.expect("it listens");
    stream.write_all(&bytes).await.expect("sent");
    stream
}

#[tokio::test]
async fn g03_a_client_that_leaves_after_stray_bytes_is_seen_too() {
    let pipelined = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    for script in ["hang", "silence:2"] {
        for (with_body, later, resets) in [
            (&b"\r\n"[..], &b""[..], false),
            (b" ", b"", true),
            (pipelined, b"", true),
            (b"", b"\r\n", true),
            (b"\r\n", pipelined, false),
        ] {
            let (running, upstream) = start(script).await;
            let mut stream = call_with(&running, with_body).await;
            upstream.wait_for(|log| log.in_flight == 1).await;
            stream.write_all(later).await.expect("sent");
            if resets {
                stream.set_zero_linger().expect("a socket");
            }
            drop(stream);
            let gone = upstream.wait_for(|log| log.in_flight == 0);
            let gone = tokio::time::timeout(Duration::from_millis(100), gone).await;
            gone.unwrap_or_else(|_| panic!("{script}: {with_body:?} {later:?} {resets}"));
            running.shutdown().await;
        }
    }
}

#[tokio::test]
async fn g14_a_client_that_sends_on_and_on_during_its_answer_is_cut_off() {
    let (running, upstream) = start("hang").await;
    let mut stream = call_with(&running, b"\r\n").await;
    upstream.wait_for(|log| log.in_flight == 1).await;
    let flood = async { while stream.write_all(&[b' '; 4096]).await.is_ok() {} };
    tokio::time::timeout(Duration::from_secs(10), flood).await.expect("cut off");
    upstream.wait_for(|log| log.in_flight == 0).await;
    running.shutdown().await;
}

#[tokio::test]
async fn g14_requests_sent_ahead_of_an_answer_are_answered_in_order() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = upstream.local_addr().expect("bound");
    let settings = format!(
        "listen = \"127.0.0.1:0\"\n[providers.chat]\nbase_url = \"http://{address}/v1\"\n\
         dialect = \"openai-chat\"\n[queues.default]\ncandidates = [\"chat/m\"]\n"
    );
    let started = Gateway::start(config(&settings), CoreOptions::default()).await;
    let running = started.expect("a port");
    let mut stream = call_with(&running, b"GET /heal").await;
    let (mut serving, _) = upstream.accept().await.expect("the call");
    let mut asked = [0; 64];
    serving.read_exact(&mut asked).await.expect("a request");
    // What comes now is read ahead: the first bytes of the next head wait before it.
    let rest = "thz HTTP/1.1\r\nhost: localhost\r\n\r\nGET /v1/models HTTP/1.1\r\n\
                host: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(rest.as_bytes()).await.expect("sent");
    let answer = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"first\"},\
                  \"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{answer}",
        answer.len()
    );
    serving.write_all(head.as_bytes()).await.expect("sent");
    let mut text = String::new();
    let reading = stream.read_to_string(&mut text);
    tokio::time::timeout(Duration::from_secs(10), reading).await.expect("it ends").expect("text");
    assert_eq!(text.matches("HTTP/1.1 200 OK").count(), 3, "{text}");
    let place = |of: &str| text.find(of).unwrap_or_else(|| panic!("no {of}: {text}"));
    assert!(place("first") < place("\"object\":\"list\""), "{text}");
    running.shutdown().await;
}

#[tokio::test]
async fn g13_a_port_that_an_ekiden_has_is_told_apart() {
    let (running, _upstream) = start("ok").await;
    let settings = format!("listen = \"{}\"\n{SETTINGS}", running.addr());
    let upstream = Upstream::new("ok".parse().expect("a script"));
    let failed = Gateway::start(config(&settings), options(&upstream)).await.expect_err("taken");
    let version = env!("CARGO_PKG_VERSION");
    assert!(
        matches!(&failed, StartError::AlreadyRunning { version: Some(v), .. } if v == version),
        "{failed:?}"
    );
    assert!(failed.to_string().contains("hint: "), "{failed}");
    running.shutdown().await;
}

#[tokio::test]
async fn g09_a_connection_that_says_nothing_is_closed() {
    let (running, _upstream) = start("ok").await;
    let mut silent = TcpStream::connect(running.addr()).await.expect("it listens");
    tokio::time::pause();
    let mut nothing = [0; 1];
    match silent.read(&mut nothing).await {
        Ok(read) => assert_eq!(read, 0, "closed without a word"),
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
    }
    tokio::time::resume();
    running.shutdown().await;
}
