//! A scripted upstream as a program, for tests in other languages. It refuses to be useful for
//! anything else: its one line of output is its address, and it runs until it is ended.
//!
//! ```text
//! POST /__script {"*": "ok", "small": "429:2; ok:Yes."}   one script for all, or one per model;
//!                                                         the log is forgotten
//! GET  /__log                                             what was asked for, as JSON
//! ```

use std::error::Error;
use std::io::Write;

use ekiden_sim::{Script, Upstream};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// A control request is a few scripts.
const CONTROL_MAX_BYTES: usize = 1 << 20;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (listener, address) = Upstream::bind().await?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "http://{address}")?;
    out.flush()?;
    let upstream = Upstream::default();
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (stream, _) = accepted?;
                connections.spawn(serve(upstream.clone(), stream));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// The control's paths begin like no path of a dialect.
async fn serve(upstream: Upstream, mut stream: TcpStream) {
    let mut start = [0; 8];
    let Ok(seen) = stream.peek(&mut start).await else { return };
    let start = start.get(..seen).unwrap_or_default();
    if !(start.starts_with(b"POST /__") || start.starts_with(b"GET /__")) {
        return upstream.serve_tcp(stream).await;
    }
    let (status, body) = match asked(&mut stream).await {
        Some((path, body)) => answer(&upstream, &path, &body),
        None => ("400 Bad Request", json!({ "error": "this is no HTTP request" })),
    };
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    // Whoever asked may have left.
    let _ = stream.write_all((head + &body).as_bytes()).await;
    let _ = stream.shutdown().await;
}

/// The path and the body of a control request.
async fn asked(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    loop {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut headers);
        if let httparse::Status::Complete(head) = request.parse(&bytes).ok()? {
            let path = request.path?.to_owned();
            let length = request
                .headers
                .iter()
                .find(|header| header.name.eq_ignore_ascii_case("content-length"));
            let length: usize = match length {
                Some(header) => std::str::from_utf8(header.value).ok()?.trim().parse().ok()?,
                None => 0,
            };
            if let Some(body) = bytes.get(head..head.checked_add(length)?) {
                return Some((path, body.to_vec()));
            }
        }
        if bytes.len() > CONTROL_MAX_BYTES || stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

fn answer(upstream: &Upstream, path: &str, body: &[u8]) -> (&'static str, Value) {
    let result = match path {
        "/__script" => script(upstream, body),
        "/__log" => Ok(log(upstream)),
        _ => Err("there are /__script and /__log".to_owned()),
    };
    match result {
        Ok(body) => ("200 OK", body),
        Err(error) => ("400 Bad Request", json!({ "error": error })),
    }
}

fn script(upstream: &Upstream, body: &[u8]) -> Result<Value, String> {
    let scripts: serde_json::Map<String, Value> =
        serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let mut parsed = Vec::new();
    for (model, text) in scripts {
        let text = text.as_str().ok_or("a script is text")?;
        let script: Script = text.parse().map_err(|error| format!("{model}: {error}"))?;
        parsed.push((model, script));
    }
    for (model, script) in parsed {
        if model == "*" {
            upstream.script(script);
        } else {
            upstream.script_for(&model, script);
        }
    }
    upstream.forget();
    Ok(json!({}))
}

fn log(upstream: &Upstream) -> Value {
    let log = upstream.log();
    let requests = log.requests.iter().map(|seen| {
        let headers: serde_json::Map<String, Value> =
            seen.headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        json!({
            "model": seen.model,
            "path": seen.path,
            "streaming": seen.streaming,
            "headers": headers,
            "body": seen.json(),
            "end": seen.end.map(|end| format!("{:?}", end.how)),
        })
    });
    json!({ "requests": requests.collect::<Vec<_>>(), "in_flight": log.in_flight })
}
