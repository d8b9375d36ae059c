//! The end in order (G13), over real sockets: the claim is about connections.

use std::time::Duration;

use ekiden_gateway::{Gateway, Running};
use ekiden_sim::Upstream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{CHAT, MESSAGES, SETTINGS, config, options, streamed};

async fn start(script: &str, drain: &str) -> (Running, Upstream) {
    let upstream = Upstream::new(script.parse().expect("a script"));
    let settings = format!("listen = \"127.0.0.1:0\"\ndrain_timeout = \"{drain}\"\n{SETTINGS}");
    let running = Gateway::start(config(&settings), options(&upstream)).await;
    (running.expect("a port"), upstream)
}

async fn ask(running: &Running, path: &str, agent: &str) -> TcpStream {
    let body = streamed(if path == CHAT { "default" } else { "opus" }).to_string();
    let mut stream = TcpStream::connect(running.addr()).await.expect("it listens");
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nuser-agent: {agent}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.expect("sent");
    stream.write_all(body.as_bytes()).await.expect("sent");
    stream
}

async fn read_until(stream: &mut TcpStream, words: &str) -> String {
    let mut text = String::new();
    let mut piece = [0; 4096];
    while !text.contains(words) {
        let read = stream.read(&mut piece).await.expect("open");
        assert_ne!(read, 0, "ended without {words}: {text}");
        text.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    text
}

async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A cut connection may end as an error; what came before it counts.
    let _ = stream.read_to_end(&mut bytes).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

#[tokio::test]
async fn g13_open_calls_finish_and_no_others_are_taken() {
    let (running, _upstream) = start("ok:One two three four. | drip:50", "30s").await;
    let mut open = ask(&running, CHAT, "app/1").await;
    let begun = read_until(&mut open, "One").await;
    let addr = running.addr();
    let ending = tokio::time::timeout(Duration::from_secs(4), running.shutdown());
    let (ended, over) = tokio::join!(rest(&mut open), ending);
    over.expect("a kept connection to upstream does not hold up the end");
    assert!(ended.contains("[DONE]") && ended.ends_with("0\r\n\r\n"), "{begun}{ended}");
    TcpStream::connect(addr).await.expect_err("the port is free");
}

#[tokio::test]
async fn g13_what_is_left_after_the_drain_ends_with_its_dialects_error() {
    let (running, upstream) = start("silence:2", "0s").await;
    let mut chat = ask(&running, CHAT, "app/1").await;
    let mut claude = ask(&running, MESSAGES, "app/1").await;
    let mut agent = ask(&running, MESSAGES, "claude-cli/2.1").await;
    for (stream, words) in
        [(&mut chat, "data: "), (&mut claude, "text_delta"), (&mut agent, "text_delta")]
    {
        read_until(stream, words).await;
    }
    let (chat, claude, agent, ()) = tokio::join!(
        rest(&mut chat),
        rest(&mut claude),
        rest(&mut agent),
        running.shutdown_or(async {})
    );
    assert!(chat.contains("data: {\"error\"") && !chat.contains("[DONE]"), "{chat}");
    assert!(claude.contains("event: error") && !claude.contains("message_stop"), "{claude}");
    assert!(!agent.contains("event: error") && !agent.ends_with("0\r\n\r\n"), "cut: {agent}");
    upstream.wait_for(|log| log.in_flight == 0).await;
}

#[tokio::test]
async fn g13_a_call_whose_head_is_held_gets_a_real_status() {
    let (running, upstream) = start("hang", "0s").await;
    let mut open = ask(&running, MESSAGES, "app/1").await;
    upstream.wait_for(|log| log.in_flight == 1).await;
    let (answer, ()) = tokio::join!(rest(&mut open), running.shutdown_or(async {}));
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.contains("\"overloaded_error\""), "{answer}");
    upstream.wait_for(|log| log.in_flight == 0).await;
}

#[tokio::test]
async fn g13_an_idle_connection_does_not_hold_up_the_end() {
    let (running, _upstream) = start("ok:Yes.", "30s").await;
    let mut kept = TcpStream::connect(running.addr()).await.expect("it listens");
    kept.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await.expect("sent");
    read_until(&mut kept, "\"ok\"").await;
    let ((), _) = tokio::join!(running.shutdown(), rest(&mut kept));
}
