//! A gateway over scripted upstreams in memory, and requests to it.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::Full;
use serde_json::{Value, json};

use ekiden_config::{Config, FixedEnv};
use ekiden_gateway::body::Body;
use ekiden_gateway::settings::SettingsSource;
use ekiden_gateway::{CoreOptions, Dial, Gateway, Tasks};
use ekiden_sim::Upstream;

pub(crate) const CHAT: &str = "/v1/chat/completions";
pub(crate) const MESSAGES: &str = "/v1/messages";

/// Two providers, one for each dialect, and a queue for each.
pub(crate) const SETTINGS: &str = r#"
[providers.chat]
base_url = "http://chat.test/v1"
dialect = "openai-chat"
api_key = "sk-upstream-secret"
models = ["m"]

[providers.claude]
base_url = "http://claude.test"
dialect = "anthropic-messages"
api_key = "sk-upstream-secret"
models = ["c"]

[queues.default]
name = "默认模板"
candidates = ["chat/m", "claude/c"]

[queues.opus]
candidates = ["claude/c"]

[queues.bare]
candidates = []

[aliases]
"gpt-*" = "default"
"#;

/// A gateway in this process, and the upstream behind all its providers.
pub(crate) struct World {
    pub(crate) gateway: Gateway,
    pub(crate) upstream: Upstream,
    /// Where its settings and keys stand, if they stand in files.
    pub(crate) folder: Option<tempfile::TempDir>,
}

pub(crate) fn config(settings: &str) -> Arc<Config> {
    let loaded = Config::parse(settings, "config.toml", &FixedEnv::default());
    loaded.expect("good settings").config
}

pub(crate) fn options(upstream: &Upstream) -> CoreOptions {
    let (upstream, tasks) = (upstream.clone(), Tasks::default());
    let dial: Dial = Arc::new(move |_, _| {
        let (near, serving) = upstream.pipe(64 << 10);
        drop(tasks.spawn(serving));
        Some(Ok(near))
    });
    CoreOptions { dial: Some(dial), seed: Some(7), ..CoreOptions::default() }
}

impl World {
    pub(crate) fn new(script: &str) -> Self {
        Self::with(SETTINGS, script)
    }

    pub(crate) fn with(settings: &str, script: &str) -> Self {
        let upstream = Upstream::new(script.parse().expect("a script"));
        let gateway = Gateway::in_process(config(settings), options(&upstream));
        Self { gateway, upstream, folder: None }
    }

    /// The same with the settings in a file, so that they can be changed.
    pub(crate) fn on_file(settings: &str, script: &str) -> Self {
        let upstream = Upstream::new(script.parse().expect("a script"));
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("config.toml");
        std::fs::write(&file, settings).expect("written");
        let source = SettingsSource {
            file,
            keys: Some(folder.path().join("state")),
            env: Arc::new(FixedEnv::default()),
            found: None,
            tell: None,
        };
        let options = CoreOptions { settings: Some(source), ..options(&upstream) };
        let gateway = Gateway::in_process(config(settings), options);
        Self { gateway, upstream, folder: Some(folder) }
    }

    /// The text of the settings file.
    pub(crate) fn file(&self) -> String {
        let folder = self.folder.as_ref().expect("settings in a file");
        std::fs::read_to_string(folder.path().join("config.toml")).expect("read")
    }

    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> Answer {
        Answer::of(self.gateway.handle(request).await).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(post(path, body.to_string())).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(request(Method::GET, path, &[], "")).await
    }
}

/// An answer that was read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) async fn of(response: Response<Body>) -> Self {
        let (parts, body) = response.into_parts();
        let body = body.collect().await.expect("a whole answer");
        Self { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The sentence of an error, in either dialect.
    pub(crate) fn message(&self) -> String {
        self.json()["error"]["message"].as_str().expect("an error").to_owned()
    }

    /// What an error of our own interface says can be done.
    pub(crate) fn hint(&self) -> String {
        self.json()["error"]["hint"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Whether it is an error that a client of Anthropic's reads.
    pub(crate) fn is_anthropic_error(&self) -> bool {
        let json = self.json();
        json["type"] == "error" && json["error"]["type"].is_string()
    }
}

pub(crate) fn request(
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Request<Full<Bytes>> {
    let mut request = Request::builder().method(method).uri(path).header("host", "localhost:8787");
    for (name, value) in headers {
        if *name == "host" {
            request.headers_mut().expect("headers").remove("host");
        }
        request = request.header(*name, *value);
    }
    request.body(Full::new(body.into())).expect("a request")
}

pub(crate) fn post(path: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    request(Method::POST, path, &[("content-type", "application/json")], body)
}

pub(crate) fn hello(model: &str) -> Value {
    json!({ "model": model, "max_tokens": 100, "messages": [{ "role": "user", "content": "hello" }] })
}

pub(crate) fn streamed(model: &str) -> Value {
    let mut body = hello(model);
    body["stream"] = true.into();
    body
}
