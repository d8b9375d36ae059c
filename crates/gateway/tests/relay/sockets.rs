//! What only sockets show: how soon a cancel reaches the upstream, and what a dead connection is.

use std::net::SocketAddr;
use std::time::Duration;

use ekiden_config::{Config, FixedEnv};
use ekiden_gateway::{CoreOptions, Gateway, Running};
use ekiden_sim::{Seen, Upstream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout};

use super::stage::spawn;

struct Sockets {
    running: Running,
    upstream: Upstream,
}

async fn open(script: &str) -> Sockets {
    open_with(script, |address| format!("base_url = \"http://{address}/v1\"")).await
}

async fn open_with(script: &str, provider: impl FnOnce(SocketAddr) -> String) -> Sockets {
    let upstream = Upstream::new(script.parse().expect(script));
    let (listener, address) = Upstream::bind().await.unwrap();
    spawn(upstream.clone().run(listener, std::future::pending()));
    let text = format!(
        "listen = \"127.0.0.1:0\"\n[providers.a]\n{}\n\
         dialect = \"openai-chat\"\n[queues.default]\ncandidates = [\"a/m1\"]\n",
        provider(address)
    );
    let loaded = Config::parse(&text, "test.toml", &FixedEnv::new());
    let loaded = loaded.unwrap_or_else(|problems| panic!("{problems}"));
    let running = Gateway::start(loaded.config, CoreOptions::default()).await.unwrap();
    Sockets { running, upstream }
}

async fn ask(sockets: &Sockets) -> TcpStream {
    let mut stream = TcpStream::connect(sockets.running.addr()).await.unwrap();
    let body = r#"{"model":"default","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

async fn until(stream: &mut TcpStream, wanted: &str) -> String {
    let mut text = String::new();
    let mut piece = [0; 4096];
    while !text.contains(wanted) {
        let read = timeout(Duration::from_secs(10), stream.read(&mut piece)).await;
        match read.expect("it comes").unwrap() {
            0 => break,
            read => text.push_str(&String::from_utf8_lossy(&piece[..read])),
        }
    }
    text
}

#[tokio::test]
async fn g03_a_client_that_leaves_is_seen_upstream_within_100_ms() {
    for script in ["hang", "ok:one two three | drip:20s"] {
        let sockets = open(script).await;
        let mut client = ask(&sockets).await;
        if script == "hang" {
            sockets.upstream.wait_for(|log| log.in_flight == 1).await;
        } else {
            until(&mut client, "one").await;
        }
        let left = Instant::now();
        drop(client);
        let gone = sockets.upstream.wait_for(|log| log.calls().all(|seen| seen.end.is_some()));
        let log = timeout(Duration::from_secs(10), gone).await.expect("cancelled");
        let at = log.calls().next().and_then(Seen::client_left_at).expect("by us");
        assert!(at - left < Duration::from_millis(100), "{script}: {:?}", at - left);
    }
}

#[tokio::test]
async fn r48_a_connection_that_died_meanwhile_costs_no_attempt() {
    let sockets = open("ok:one | die-on-reuse; ok:two").await;
    assert!(until(&mut ask(&sockets).await, "[DONE]").await.contains("one"));
    let text = until(&mut ask(&sockets).await, "[DONE]").await;
    assert!(text.contains("two") && text.contains("x-ekiden-attempts: 1"), "{text}");
    assert_eq!(sockets.upstream.log().died_on_reuse, 1);
}

#[tokio::test]
async fn r10_after_output_a_known_agent_sees_its_connection_cut() {
    let sockets = open("ok:one two three | cut:2").await;
    let mut stream = TcpStream::connect(sockets.running.addr()).await.unwrap();
    let body = r#"{"model":"default","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nuser-agent: opencode/1.2\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let text = until(&mut stream, "never said").await;
    assert!(text.contains("two"), "{text}");
    assert!(!text.ends_with("0\r\n\r\n") && !text.contains("[DONE]"), "{text}");
}

#[tokio::test]
async fn g14_a_provider_elsewhere_is_reached_through_its_proxy_and_loopback_never_is() {
    // The scripted upstream plays the proxy: it is told the whole URL.
    let sockets = open_with("ok:one", |address| {
        format!("base_url = \"http://model.example/v1\"\nproxy = \"http://{address}\"")
    })
    .await;
    assert!(until(&mut ask(&sockets).await, "[DONE]").await.contains("one"));
    let log = sockets.upstream.log();
    assert_eq!(log.calls().next().unwrap().path, "http://model.example/v1/chat/completions");

    let sockets = open_with("ok:two", |address| {
        format!("base_url = \"http://{address}/v1\"\nproxy = \"http://127.0.0.1:1\"")
    })
    .await;
    assert!(until(&mut ask(&sockets).await, "[DONE]").await.contains("two"));
    assert_eq!(sockets.upstream.log().calls().next().unwrap().path, "/v1/chat/completions");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_no_trouble_of_this_machine() {
    let (listener, address) = Upstream::bind().await.unwrap();
    drop(listener);
    let sockets = open_with("ok", |_| format!("base_url = \"http://{address}/v1\"")).await;
    let text = until(&mut ask(&sockets).await, "candidate").await;
    assert!(text.contains("transport_remote"), "{text}");
}

/// A body that no socket's buffers take.
const LARGE_BYTES: usize = 40 << 20;

/// A gateway before an upstream that reads as the test says, and one that answers well.
async fn before(listener: &TcpListener, settings: &str) -> Sockets {
    let address = listener.local_addr().unwrap();
    let upstream = Upstream::new("ok:second".parse().unwrap());
    let (second, of_second) = Upstream::bind().await.unwrap();
    spawn(upstream.clone().run(second, std::future::pending()));
    let text = format!(
        "listen = \"127.0.0.1:0\"\n[providers.a]\nbase_url = \"http://{address}/v1\"\n\
         dialect = \"openai-chat\"\n[providers.b]\nbase_url = \"http://{of_second}/v1\"\n\
         dialect = \"openai-chat\"\n[queues.default]\ncandidates = [\"a/m1\", \"b/m1\"]\n{settings}"
    );
    let loaded = Config::parse(&text, "test.toml", &FixedEnv::new());
    let loaded = loaded.unwrap_or_else(|problems| panic!("{problems}"));
    let running = Gateway::start(loaded.config, CoreOptions::default()).await.unwrap();
    Sockets { running, upstream }
}

async fn ask_large(sockets: &Sockets) -> TcpStream {
    let mut stream = TcpStream::connect(sockets.running.addr()).await.unwrap();
    let body = format!(
        r#"{{"model":"default","stream":true,"messages":[{{"role":"user","content":"{}"}}]}}"#,
        "x".repeat(LARGE_BYTES)
    );
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
    stream
}

/// What can still be read of a request until its connection ends.
async fn rest(stream: &mut TcpStream) -> usize {
    let mut piece = vec![0; 1 << 20];
    let mut all = 0;
    let reading = async {
        while let Ok(read @ 1..) = stream.read(&mut piece).await {
            all += read;
        }
    };
    timeout(Duration::from_secs(10), reading).await.expect("it ends");
    all
}

/// Waits until no call is open.
async fn calls_over(sockets: &Sockets) {
    let over = async {
        loop {
            let mut stream = TcpStream::connect(sockets.running.addr()).await.unwrap();
            let question =
                "GET /api/v1/state HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n";
            stream.write_all(question.as_bytes()).await.unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).await.unwrap();
            let body = text.split_once("\r\n\r\n").unwrap().1;
            let state: serde_json::Value = serde_json::from_str(body).unwrap();
            if state["open"]["calls"] == 0 {
                return;
            }
        }
    };
    timeout(Duration::from_secs(10), over).await.expect("the call ends");
}

#[tokio::test]
async fn g03_what_is_still_going_out_stops_when_the_client_leaves() {
    let (listener, _) = Upstream::bind().await.unwrap();
    let sockets = before(&listener, "").await;
    let client = ask_large(&sockets).await;
    let (mut slow, _) = listener.accept().await.unwrap();
    let mut begun = [0; 1024];
    slow.read_exact(&mut begun).await.unwrap();
    drop(client);
    calls_over(&sockets).await;
    let read = rest(&mut slow).await;
    assert!(read < LARGE_BYTES / 2, "{read} bytes of a request that nobody waits for");
}

#[tokio::test]
async fn r11_what_is_still_going_out_stops_when_the_attempt_is_abandoned() {
    let (listener, _) = Upstream::bind().await.unwrap();
    let sockets = before(&listener, "headers_timeout = \"1s\"\nretries = 0\n").await;
    let mut client = ask_large(&sockets).await;
    let (mut slow, _) = listener.accept().await.unwrap();
    assert!(until(&mut client, "[DONE]").await.contains("second"));
    let read = rest(&mut slow).await;
    assert!(read < LARGE_BYTES / 2, "{read} bytes of a request that was abandoned");
}

#[tokio::test]
async fn g14_a_request_that_is_answered_early_is_not_sent_to_its_end() {
    let (listener, _) = Upstream::bind().await.unwrap();
    let sockets = before(&listener, "").await;
    let mut client = ask_large(&sockets).await;
    let (mut early, _) = listener.accept().await.unwrap();
    let answer = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"early\"},\
                  \"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{answer}",
        answer.len()
    );
    early.write_all(head.as_bytes()).await.unwrap();
    assert!(until(&mut client, "[DONE]").await.contains("early"));
    let read = rest(&mut early).await;
    assert!(read < LARGE_BYTES / 2, "{read} bytes of a request that was answered");
}
