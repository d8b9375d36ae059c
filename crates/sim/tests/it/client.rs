//! A client that keeps every byte and hides nothing: no retries, no repairs.

use std::time::Duration;

use ekiden_sim::{Log, Script, Upstream};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

/// A dialect, streamed or whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    ChatStream,
    ChatWhole,
    MessagesStream,
    MessagesWhole,
}

impl Way {
    pub(crate) const ALL: [Way; 4] =
        [Way::ChatStream, Way::ChatWhole, Way::MessagesStream, Way::MessagesWhole];
    pub(crate) const STREAMS: [Way; 2] = [Way::ChatStream, Way::MessagesStream];
    pub(crate) const WHOLE: [Way; 2] = [Way::ChatWhole, Way::MessagesWhole];

    pub(crate) fn streams(self) -> bool {
        Way::STREAMS.contains(&self)
    }

    pub(crate) fn is_chat(self) -> bool {
        matches!(self, Way::ChatStream | Way::ChatWhole)
    }

    pub(crate) fn body(self) -> Value {
        let mut body = json!({
            "model": "sim-a", "max_tokens": 100, "stream": self.streams(),
            "messages": [{ "role": "user", "content": "hi" }],
        });
        if self == Way::ChatStream {
            body["stream_options"] = json!({ "include_usage": true });
        }
        body
    }

    pub(crate) fn request(self) -> Vec<u8> {
        self.request_of(&self.body())
    }

    pub(crate) fn request_of(self, body: &Value) -> Vec<u8> {
        let path = if self.is_chat() { "/v1/chat/completions" } else { "/v1/messages?beta=true" };
        post(path, &body.to_string())
    }
}

pub(crate) fn post(path: &str, body: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nHost: sim\r\nX-Trace: One\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

#[expect(clippy::disallowed_methods, reason = "the test's own view of tokio's paused clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// An upstream and what serves its connections.
pub(crate) struct Rig {
    pub(crate) upstream: Upstream,
    serving: JoinSet<()>,
}

impl Rig {
    pub(crate) fn new(script: &str) -> Rig {
        let script: Script = script.parse().unwrap();
        Rig::of(Upstream::new(script))
    }

    pub(crate) fn of(upstream: Upstream) -> Rig {
        Rig { upstream, serving: JoinSet::new() }
    }

    pub(crate) fn open(&mut self) -> Client<DuplexStream> {
        let (near, serving) = self.upstream.pipe(64 * 1024);
        self.serving.spawn(serving);
        Client::new(near)
    }

    /// One request on a connection of its own.
    pub(crate) async fn ask(&mut self, way: Way) -> Reply {
        self.send(&way.request()).await
    }

    pub(crate) async fn send(&mut self, request: &[u8]) -> Reply {
        let mut client = self.open();
        client.send(request).await;
        client.reply().await
    }

    /// Waits for the log, but not for ever.
    pub(crate) async fn until(&self, wished: impl FnMut(&Log) -> bool) -> Log {
        until(&self.upstream, wished).await
    }

    pub(crate) fn stop(&mut self) {
        self.serving.abort_all();
    }
}

/// Waits for the log, but no longer than a minute, which passes at once under a paused clock.
pub(crate) async fn until(upstream: &Upstream, wished: impl FnMut(&Log) -> bool) -> Log {
    let waited = timeout(Duration::from_secs(60), upstream.wait_for(wished)).await;
    waited.unwrap_or_else(|_| panic!("the log never became so: {:?}", upstream.log()))
}

/// The answer to one request sent one way to an upstream that plays this.
pub(crate) async fn played(act: &str, way: Way) -> Reply {
    Rig::new(act).ask(way).await
}

pub(crate) struct Client<IO> {
    pub(crate) io: IO,
    buffer: Vec<u8>,
}

/// What came back.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    /// None: the connection ended before a head.
    pub(crate) code: Option<u16>,
    pub(crate) headers: Vec<(String, String)>,
    /// Without framing.
    pub(crate) body: Vec<u8>,
    /// Whether the response ended as its framing promised.
    pub(crate) whole: bool,
    /// Since the client began to wait: for the head, then for each chunk of a chunked body.
    pub(crate) times: Vec<Duration>,
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Client<IO> {
    pub(crate) fn new(io: IO) -> Client<IO> {
        Client { io, buffer: Vec::new() }
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        self.io.write_all(bytes).await.unwrap();
    }

    pub(crate) async fn reply(&mut self) -> Reply {
        let begun = now();
        let mut reply = Reply::default();
        let Some(head) = self.until(b"\r\n\r\n").await else { return reply };
        reply.times.push(begun.elapsed());
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.split("\r\n").filter(|line| !line.is_empty());
        reply.code = Some(lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap());
        for line in lines {
            let (name, value) = line.split_once(": ").unwrap();
            reply.headers.push((name.to_owned(), value.to_owned()));
        }
        if reply.header("transfer-encoding") == Some("chunked") {
            reply.whole = self.chunks(&mut reply.body, &mut reply.times, begun).await;
        } else if let Some(length) = reply.header("content-length") {
            let length: usize = length.parse().unwrap();
            while self.buffer.len() < length && self.fill().await {}
            reply.whole = self.buffer.len() >= length;
            reply.body = self.buffer.drain(..length.min(self.buffer.len())).collect();
        }
        reply
    }

    async fn chunks(
        &mut self,
        body: &mut Vec<u8>,
        times: &mut Vec<Duration>,
        begun: Instant,
    ) -> bool {
        loop {
            let Some(line) = self.until(b"\r\n").await else { return false };
            let line = String::from_utf8(line).unwrap();
            let Ok(size) = usize::from_str_radix(line.trim_end(), 16) else { return false };
            while self.buffer.len() < size + 2 {
                if !self.fill().await {
                    return false;
                }
            }
            body.extend(self.buffer.drain(..size));
            assert_eq!(self.buffer.drain(..2).collect::<Vec<u8>>(), b"\r\n");
            if size == 0 {
                return true;
            }
            times.push(begun.elapsed());
        }
    }

    async fn until(&mut self, mark: &[u8]) -> Option<Vec<u8>> {
        loop {
            if let Some(at) = self.buffer.windows(mark.len()).position(|part| part == mark) {
                return Some(self.buffer.drain(..at + mark.len()).collect());
            }
            if !self.fill().await {
                return None;
            }
        }
    }

    /// Whether more came.
    pub(crate) async fn fill(&mut self) -> bool {
        matches!(self.io.read_buf(&mut self.buffer).await, Ok(count) if count > 0)
    }
}

/// What an answer says, put together from its body.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) thinking: String,
    pub(crate) text: String,
    /// Name and arguments.
    pub(crate) tools: Vec<(String, String)>,
    pub(crate) finish: Option<String>,
    /// Input and output tokens.
    pub(crate) usage: Option<(u64, u64)>,
    /// Events whose data is no JSON, or a whole body that is none.
    pub(crate) broken: usize,
    pub(crate) error: Option<String>,
    /// Whether the dialect's end came; always with a whole body.
    pub(crate) ended: bool,
    /// Anthropic: the events' names. Chat: `data` or `comment`.
    pub(crate) names: Vec<String>,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn said(&self, way: Way) -> Said {
        let mut said = Said::default();
        match way {
            Way::ChatStream => self.events(&mut said, chat_event),
            Way::MessagesStream => self.events(&mut said, messages_event),
            Way::ChatWhole | Way::MessagesWhole => match serde_json::from_slice(&self.body) {
                Err(_) => said.broken = 1,
                Ok(json) if way == Way::ChatWhole => chat_whole(&mut said, &json),
                Ok(json) => messages_whole(&mut said, &json),
            },
        }
        said
    }

    fn events(&self, said: &mut Said, read: fn(&mut Said, &Value)) {
        let text = self.text();
        for event in text.split_terminator("\n\n") {
            if event.starts_with(':') {
                said.names.push("comment".to_owned());
                continue;
            }
            let name = event.lines().find_map(|line| line.strip_prefix("event: "));
            said.names.push(name.unwrap_or("data").to_owned());
            let data = event.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
            if data == "[DONE]" {
                said.ended = true;
                continue;
            }
            match serde_json::from_str(data) {
                Ok(json) => read(said, &json),
                Err(_) => said.broken += 1,
            }
        }
    }
}

fn add(to: &mut String, from: &Value) {
    to.push_str(from.as_str().unwrap_or_default());
}

fn string(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn tokens(usage: &Value, input: &str, output: &str) -> Option<(u64, u64)> {
    usage[input].as_u64().zip(usage[output].as_u64())
}

fn chat_event(said: &mut Said, json: &Value) {
    if let Some(message) = string(&json["error"]["message"]) {
        said.error = Some(message);
        return;
    }
    said.usage = tokens(&json["usage"], "prompt_tokens", "completion_tokens").or(said.usage);
    let Some(choice) = json["choices"].get(0) else { return };
    let delta = &choice["delta"];
    add(&mut said.thinking, &delta["reasoning_content"]);
    add(&mut said.text, &delta["content"]);
    for call in delta["tool_calls"].as_array().into_iter().flatten() {
        let function = &call["function"];
        if let Some(name) = string(&function["name"]) {
            assert_eq!(call["index"], said.tools.len());
            said.tools.push((name, String::new()));
        }
        let index = call["index"].as_u64().unwrap() as usize;
        add(&mut said.tools[index].1, &function["arguments"]);
    }
    said.finish = string(&choice["finish_reason"]).or_else(|| said.finish.take());
}

fn messages_event(said: &mut Said, json: &Value) {
    match json["type"].as_str().unwrap() {
        "error" => said.error = string(&json["error"]["message"]),
        "message_start" => {
            said.usage = tokens(&json["message"]["usage"], "input_tokens", "output_tokens");
        }
        "content_block_start" if json["content_block"]["type"] == "tool_use" => {
            let name = string(&json["content_block"]["name"]).unwrap();
            said.tools.push((name, String::new()));
        }
        "content_block_delta" => {
            let delta = &json["delta"];
            add(&mut said.thinking, &delta["thinking"]);
            add(&mut said.text, &delta["text"]);
            if let Some((_, arguments)) = said.tools.last_mut() {
                add(arguments, &delta["partial_json"]);
            }
        }
        "message_delta" => {
            said.finish = string(&json["delta"]["stop_reason"]);
            let output = json["usage"]["output_tokens"].as_u64();
            said.usage = said.usage.zip(output).map(|((input, _), output)| (input, output));
        }
        "message_stop" => said.ended = true,
        _ => {}
    }
}

fn chat_whole(said: &mut Said, json: &Value) {
    said.ended = true;
    said.error = string(&json["error"]["message"]);
    said.usage = tokens(&json["usage"], "prompt_tokens", "completion_tokens");
    let choice = &json["choices"][0];
    add(&mut said.thinking, &choice["message"]["reasoning_content"]);
    add(&mut said.text, &choice["message"]["content"]);
    for call in choice["message"]["tool_calls"].as_array().into_iter().flatten() {
        let function = &call["function"];
        let name = string(&function["name"]).unwrap();
        said.tools.push((name, string(&function["arguments"]).unwrap()));
    }
    said.finish = string(&choice["finish_reason"]);
}

fn messages_whole(said: &mut Said, json: &Value) {
    said.ended = true;
    said.error = string(&json["error"]["message"]);
    said.usage = tokens(&json["usage"], "input_tokens", "output_tokens");
    for block in json["content"].as_array().into_iter().flatten() {
        add(&mut said.thinking, &block["thinking"]);
        add(&mut said.text, &block["text"]);
        if block["type"] == "tool_use" {
            let name = string(&block["name"]).unwrap();
            let input = string(&block["input"]).unwrap_or_else(|| block["input"].to_string());
            said.tools.push((name, input));
        }
    }
    said.finish = string(&json["stop_reason"]);
}
