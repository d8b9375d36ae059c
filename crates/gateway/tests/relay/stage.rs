//! A gateway with three scripted providers `a`, `b` and `c`, and clients that ask it.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use ekiden_config::{Config, FixedEnv};
use ekiden_gateway::body::Body;
use ekiden_gateway::clock::{Calendar, Clock};
use ekiden_gateway::{CoreOptions, Gateway};
use ekiden_sim::{Script, Upstream};
use ekiden_store::{AttemptRow, Entry, Store};
use http::{HeaderMap, Request, Response};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::Instant;

/// 2026-11-29 12:00:00 UTC.
pub(crate) const NOON_MS: u64 = 1_795_953_600_000;

/// How a client asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Way {
    pub(crate) dialect: Dialect,
    pub(crate) streamed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dialect {
    Chat,
    Anthropic,
}

impl Way {
    pub(crate) const ALL: [Self; 4] = [
        Self { dialect: Dialect::Chat, streamed: true },
        Self { dialect: Dialect::Chat, streamed: false },
        Self { dialect: Dialect::Anthropic, streamed: true },
        Self { dialect: Dialect::Anthropic, streamed: false },
    ];
    pub(crate) const STREAMS: [Self; 2] = [
        Self { dialect: Dialect::Chat, streamed: true },
        Self { dialect: Dialect::Anthropic, streamed: true },
    ];
    pub(crate) const CHAT: Self = Self { dialect: Dialect::Chat, streamed: true };
    pub(crate) const ANTHROPIC: Self = Self { dialect: Dialect::Anthropic, streamed: true };

    pub(crate) fn path(self) -> &'static str {
        match self.dialect {
            Dialect::Chat => "/v1/chat/completions",
            Dialect::Anthropic => "/v1/messages",
        }
    }
}

/// The gateway and its providers.
pub(crate) struct Stage {
    pub(crate) gateway: Gateway,
    pub(crate) a: Upstream,
    pub(crate) b: Upstream,
    pub(crate) way: Way,
    troubles: Troubles,
}

type Troubles = Arc<Mutex<HashMap<String, Trouble>>>;

/// What is wrong with the connections to a provider.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trouble {
    /// They fail like this.
    Fails(io::ErrorKind),
    /// Nothing ever comes from the other side, not even the answer to a handshake.
    Stuck,
    /// Whatever is asked, these bytes are the answer; then nothing more comes.
    Says(&'static str),
}

impl Trouble {
    /// An answer of this status line and body.
    pub(crate) fn json(body: &str, kind: &str) -> Self {
        Self::answer("200 OK", kind, body)
    }

    pub(crate) fn answer(status: &str, headers: &str, body: &str) -> Self {
        let len = body.len();
        let text = format!(
            "HTTP/1.1 {status}\r\ncontent-type: {headers}\r\nconnection: close\r\n\
             content-length: {len}\r\n\r\n{body}"
        );
        Self::Says(text.leak())
    }
}

/// What is changed of the usual settings.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) candidates: &'static str,
    pub(crate) queue: &'static str,
    pub(crate) top: &'static str,
    pub(crate) providers: &'static str,
    pub(crate) more: &'static str,
    pub(crate) scheme_of_a: &'static str,
}

impl Setting {
    pub(crate) const USUAL: Self = Self {
        candidates: r#""a/m1", "b/m2""#,
        queue: "",
        top: "",
        providers: "",
        more: "",
        scheme_of_a: "http",
    };
}

impl Default for Setting {
    fn default() -> Self {
        Self::USUAL
    }
}

impl Stage {
    /// Two candidates, `a/m1` and `b/m2`, with these scripts.
    pub(crate) fn of(way: Way, a: &str, b: &str) -> Self {
        Self::set(way, a, b, &Setting::default())
    }

    pub(crate) fn set(way: Way, a: &str, b: &str, setting: &Setting) -> Self {
        Self::build(way, a, b, setting, None)
    }

    /// Another process on the same store.
    pub(crate) fn restarted(way: Way, a: &str, b: &str, store: Arc<dyn Store>) -> Self {
        Self::restarted_with(way, a, b, &Setting::default(), store)
    }

    pub(crate) fn restarted_with(
        way: Way,
        a: &str,
        b: &str,
        setting: &Setting,
        store: Arc<dyn Store>,
    ) -> Self {
        Self::build(way, a, b, setting, Some(store))
    }

    pub(crate) fn config(way: Way, setting: &Setting) -> Arc<Config> {
        let dialect = match way.dialect {
            Dialect::Chat => "openai-chat",
            Dialect::Anthropic => "anthropic-messages",
        };
        let provider = |id: &str| {
            format!(
                "[providers.{id}]\nbase_url = \"{}://{id}.example/v1\"\ndialect = \"{dialect}\"\n\
                 api_key = \"key-of-{id}-000000\"\n{}\n",
                if id == "a" { setting.scheme_of_a } else { "http" },
                setting.providers
            )
        };
        let Setting { candidates, queue, top, more, .. } = setting;
        let text = format!(
            "time_zone = \"UTC\"\n{top}\n{}{}{}[queues.default]\ncandidates = [{candidates}]\n{queue}\n{more}\n",
            provider("a"),
            provider("b"),
            provider("c"),
        );
        let loaded = Config::parse(&text, "test.toml", &FixedEnv::new());
        loaded.unwrap_or_else(|problems| panic!("{problems}")).config
    }

    fn build(way: Way, a: &str, b: &str, setting: &Setting, store: Option<Arc<dyn Store>>) -> Self {
        let script = |text: &str| Upstream::new(text.parse::<Script>().expect(text));
        let (a, b, c) = (script(a), script(b), script("ok:from c"));
        let troubles = Troubles::default();
        let hosts =
            HashMap::from([("a.example", a.clone()), ("b.example", b.clone()), ("c.example", c)]);
        let options = CoreOptions {
            clock: Some(Clock::starting_at(NOON_MS, Calendar::new(Some("UTC"), 1))),
            dial: Some(dial(hosts, Arc::clone(&troubles))),
            seed: Some(1),
            store,
            ..CoreOptions::default()
        };
        let gateway = Gateway::in_process(Self::config(way, setting), options);
        Self { gateway, a, b, way, troubles }
    }

    /// Connections to this provider fail like this from now on; `None`: they stand again.
    pub(crate) fn trouble(&self, provider: &str, trouble: Option<Trouble>) {
        let host = format!("{provider}.example");
        let mut troubles = self.troubles.lock().unwrap();
        match trouble {
            Some(trouble) => troubles.insert(host, trouble),
            None => troubles.remove(&host),
        };
    }

    /// The usual request of the way.
    pub(crate) fn body(&self) -> Value {
        let mut body = json!({
            "model": "default",
            "max_tokens": 1000,
            "messages": [{"role": "user", "content": "Who runs first?"}],
        });
        if self.way.streamed {
            body["stream"] = json!(true);
        }
        body
    }

    /// Asks in the session `s`.
    pub(crate) async fn ask(&self) -> Got {
        self.ask_as("s", &self.body(), &[]).await
    }

    pub(crate) async fn ask_in(&self, session: &str) -> Got {
        self.ask_as(session, &self.body(), &[]).await
    }

    pub(crate) async fn ask_as(
        &self,
        session: &str,
        body: &Value,
        headers: &[(&str, &str)],
    ) -> Got {
        let began = Instant::now();
        let response = self.begin(session, body, headers).await;
        Got::read(self.way, response, began).await
    }

    /// Sends a call and gives the head of its answer.
    pub(crate) async fn begin(
        &self,
        session: &str,
        body: &Value,
        headers: &[(&str, &str)],
    ) -> Response<Body> {
        let mut request = Request::post(self.way.path())
            .header("host", "127.0.0.1:8787")
            .header("content-type", "application/json")
            .header("authorization", "Bearer client-key-123456");
        if !session.is_empty() {
            request = request.header("x-ekiden-session", session);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = Full::new(Bytes::from(body.to_string()));
        self.gateway.handle(request.body(body).unwrap()).await
    }

    pub(crate) fn journal(&self) -> Vec<Entry> {
        let mut entries = self.gateway.core().store().journal(1_000);
        entries.reverse();
        entries
    }

    pub(crate) fn ledger(&self) -> Vec<AttemptRow> {
        let mut rows = self.gateway.core().store().attempts(1_000);
        rows.reverse();
        rows
    }

    /// Calls that `a` and `b` have seen.
    pub(crate) fn hits(&self) -> (usize, usize) {
        (self.a.log().calls().count(), self.b.log().calls().count())
    }
}

fn dial(hosts: HashMap<&'static str, Upstream>, troubles: Troubles) -> ekiden_gateway::Dial {
    Arc::new(move |host: &str, _port| {
        match troubles.lock().unwrap().get(host) {
            Some(Trouble::Fails(kind)) => return Some(Err((*kind).into())),
            Some(Trouble::Stuck) => {
                let (near, far) = tokio::io::duplex(64 * 1024);
                std::mem::forget(far);
                return Some(Ok(near));
            }
            Some(Trouble::Says(text)) => {
                let (near, far) = tokio::io::duplex(64 * 1024);
                spawn(say(far, text));
                return Some(Ok(near));
            }
            None => {}
        }
        let Some(upstream) = hosts.get(host) else {
            return Some(Err(io::ErrorKind::NotFound.into()));
        };
        let (near, serve) = upstream.pipe(64 * 1024);
        spawn(serve);
        Some(Ok(near))
    })
}

async fn say(mut far: tokio::io::DuplexStream, text: &'static str) {
    let mut asked = Vec::new();
    while !asked.windows(4).any(|end| end == b"\r\n\r\n") {
        if far.read_buf(&mut asked).await.unwrap_or(0) == 0 {
            return;
        }
    }
    // Who asked may leave at any time.
    let _ = far.write_all(text.as_bytes()).await;
    let _ = far.read_to_end(&mut asked).await;
}

pub(crate) fn spawn(future: impl Future<Output = ()> + Send + 'static) {
    drop(tokio::spawn(future));
}

/// What a client got.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) way: Way,
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) raw: String,
    /// The connection was cut.
    pub(crate) cut: bool,
    pub(crate) took: Duration,
}

impl Got {
    pub(crate) async fn read(way: Way, response: Response<Body>, began: Instant) -> Self {
        let (parts, mut body) = response.into_parts();
        let mut raw = Vec::new();
        let mut cut = false;
        while let Some(piece) = body.piece().await {
            match piece {
                Ok(piece) => raw.extend_from_slice(&piece),
                Err(_) => cut = true,
            }
        }
        let raw = String::from_utf8(raw).expect("text");
        let took = began.elapsed();
        Self { way, status: parts.status.as_u16(), headers: parts.headers, raw, cut, took }
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    fn is_stream(&self) -> bool {
        self.header("content-type").starts_with("text/event-stream")
    }

    /// The data of all events.
    pub(crate) fn events(&self) -> Vec<Value> {
        let data = self.raw.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter_map(|data| serde_json::from_str(data).ok()).collect()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.raw).unwrap_or_else(|_| panic!("no JSON: {}", self.raw))
    }

    /// The text that the client shows.
    pub(crate) fn text(&self) -> String {
        let part = |value: &Value| match self.way.dialect {
            Dialect::Chat => {
                let choice = &value["choices"][0];
                let message = choice.get("delta").or(choice.get("message"));
                message.and_then(|it| it["content"].as_str()).unwrap_or("").to_owned()
            }
            Dialect::Anthropic => {
                let delta = value["delta"]["text"].as_str().unwrap_or("");
                let blocks = value["content"].as_array();
                let whole = blocks.into_iter().flatten().filter_map(|block| block["text"].as_str());
                format!("{delta}{}", whole.collect::<String>())
            }
        };
        if self.is_stream() {
            self.events().iter().map(part).collect()
        } else {
            serde_json::from_str(&self.raw).map_or_else(|_| String::new(), |value| part(&value))
        }
    }

    /// It ended as a whole answer ends.
    pub(crate) fn ended_well(&self) -> bool {
        let terminal = match self.way.dialect {
            Dialect::Chat => "data: [DONE]",
            Dialect::Anthropic => "\"message_stop\"",
        };
        self.status == 200 && !self.cut && (!self.is_stream() || self.raw.contains(terminal))
    }

    /// The error that a client reads, in a body or in a stream.
    pub(crate) fn error(&self) -> Value {
        let found = |value: &Value| value.get("error").filter(|error| !error.is_null()).cloned();
        if self.is_stream() {
            return self.events().iter().find_map(found).unwrap_or_default();
        }
        found(&self.json()).unwrap_or_default()
    }

    #[track_caller]
    pub(crate) fn is_whole(&self, text: &str) {
        assert!(self.ended_well(), "{:?}: {self:?}", self.way);
        assert_eq!(self.text(), text, "{:?}", self.way);
    }
}
