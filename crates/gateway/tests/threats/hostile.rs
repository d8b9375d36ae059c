//! An upstream that sends whatever bytes it likes, and a gateway before it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ekiden_config::{Config, FixedEnv};
use ekiden_gateway::{CoreOptions, Gateway, Running, Tasks};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// Longer than anything here may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// What an upstream does with a request.
#[derive(Clone)]
pub(crate) enum Then {
    /// It sends these bytes and keeps the connection.
    Says(Vec<u8>),
    /// It sends the first once and the second for ever.
    SaysForEver(Vec<u8>, Vec<u8>),
}

/// Heads and bodies as they came, in order.
pub(crate) type Seen = Arc<Mutex<Vec<String>>>;

/// A whole answer in words, kept alive.
pub(crate) fn good(words: &str) -> Vec<u8> {
    let body = format!(
        r#"{{"id":"a","object":"chat.completion","model":"m","choices":[{{"index":0,"finish_reason":"stop","message":{{"role":"assistant","content":"{words}"}}}}]}}"#
    );
    framed(&format!("content-length: {}", body.len()), &body)
}

/// An answer with these lines in its head and these bytes behind it.
pub(crate) fn framed(lines: &str, bytes: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n{lines}\r\n\r\n{bytes}")
        .into_bytes()
}

/// An upstream that does one thing after another, and the last for ever.
pub(crate) async fn upstream(script: Vec<Then>) -> (String, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let seen = Seen::default();
    let (log, turn) = (Arc::clone(&seen), Arc::new(Mutex::new(0)));
    let (tasks, each) = (Tasks::default(), Tasks::default());
    drop(tasks.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (script, log, turn) = (script.clone(), Arc::clone(&log), Arc::clone(&turn));
            drop(each.spawn(async move { serve(stream, &script, &log, &turn).await }));
        }
    }));
    (address, seen)
}

async fn serve(mut stream: TcpStream, script: &[Then], log: &Seen, turn: &Mutex<usize>) {
    while let Some(request) = read_request(&mut stream).await {
        log.lock().expect("nobody panics").push(request);
        let index = {
            let mut turn = turn.lock().expect("nobody panics");
            *turn += 1;
            *turn - 1
        };
        let then = &script[index.min(script.len() - 1)];
        let (Then::Says(bytes) | Then::SaysForEver(bytes, _)) = then;
        if stream.write_all(bytes).await.is_err() {
            return;
        }
        if let Then::SaysForEver(_, again) = then {
            while stream.write_all(again).await.is_ok() {}
            return;
        }
    }
}

/// A request as our own client frames it: a head and a body of a known length.
async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        if let Some(end) = text.find("\r\n\r\n") {
            let length = text[..end].lines().find_map(|line| line.strip_prefix("content-length:"));
            let length = length.map_or(0, |length| length.trim().parse().expect("a length"));
            if bytes.len() >= end + 4 + length {
                assert_eq!(bytes.len(), end + 4 + length, "more than one request: {text}");
                return Some(String::from_utf8_lossy(&bytes).into_owned());
            }
        }
        let mut piece = [0; 4096];
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return None,
            Ok(len) => bytes.extend_from_slice(&piece[..len]),
        }
    }
}

/// A gateway whose queue tries these upstreams in order, each once.
pub(crate) async fn gateway(upstreams: &[&str]) -> Running {
    let mut settings =
        "listen = \"127.0.0.1:0\"\n\n[defaults]\nretries = 0\nparole_after = \"0\"\n\
        headers_timeout = \"2s\"\n"
            .to_owned();
    let mut candidates = Vec::new();
    for (number, address) in upstreams.iter().enumerate() {
        settings.push_str(&format!(
            "\n[providers.p{number}]\nbase_url = \"http://{address}/v1\"\n\
             dialect = \"openai-chat\"\napi_key = \"sk-provider-{number}-secret\"\nmodels = [\"m\"]\n"
        ));
        candidates.push(format!("\"p{number}/m\""));
    }
    settings.push_str(&format!("\n[queues.default]\ncandidates = [{}]\n", candidates.join(", ")));
    let loaded = Config::parse(&settings, "config.toml", &FixedEnv::default());
    let config = loaded.expect("good settings").config;
    Gateway::start(config, CoreOptions::default()).await.expect("a port")
}

pub(crate) const BODY: &str = r#"{"model":"default","messages":[{"role":"user","content":"hi"}]}"#;
pub(crate) const STREAMED: &str =
    r#"{"model":"default","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;

/// A whole call in one head, with more lines in it.
pub(crate) fn call(lines: &str, body: &str) -> Vec<u8> {
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         connection: close\r\n{lines}\r\n{body}"
    )
    .into_bytes()
}

/// A call that nobody can misread.
pub(crate) fn plain(body: &str) -> Vec<u8> {
    call(&format!("content-length: {}\r\n", body.len()), body)
}

/// Sends bytes and gives all that comes back until the connection ends.
pub(crate) async fn exchange(running: &Running, bytes: &[u8]) -> String {
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
    let both = timeout(PATIENCE, async { tokio::join!(writing, reading).1 }).await;
    both.unwrap_or_else(|_| panic!("no end to {}", String::from_utf8_lossy(bytes)))
}
