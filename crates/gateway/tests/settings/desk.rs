//! A gateway whose settings stand in a file, over scripted providers.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use ekiden_config::{Config, FixedEnv, Loaded, LogLevel, Problems};
use ekiden_gateway::settings::{SettingsSource, SettingsTold};
use ekiden_gateway::state::{self, Kept};
use ekiden_gateway::{Core, CoreOptions, Dial, Gateway, Tasks};
use ekiden_sim::Upstream;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};

/// Two providers and a queue.
pub(crate) const MINE: &str = r#"# Mine.
listen = "127.0.0.1:0"
time_zone = "UTC"

[providers.a]
base_url = "http://a.test/v1"
dialect = "openai-chat"

[providers.b]
base_url = "http://b.test/v1"
dialect = "openai-chat"

[queues.default]
candidates = ["a/x", "b/y"] # both
"#;

/// The folder of settings and state.
pub(crate) struct Desk {
    _folder: tempfile::TempDir,
    pub(crate) file: PathBuf,
    pub(crate) state: PathBuf,
    pub(crate) told: Arc<Mutex<Vec<String>>>,
    pub(crate) a: Upstream,
    pub(crate) b: Upstream,
}

impl Desk {
    pub(crate) fn new(a: &str, b: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, MINE).unwrap();
        let script = |text: &str| Upstream::new(text.parse().unwrap());
        Self {
            state: folder.path().join("state"),
            told: Arc::default(),
            a: script(a),
            b: script(b),
            file,
            _folder: folder,
        }
    }

    pub(crate) fn write(&self, text: &str) {
        std::fs::write(&self.file, text).unwrap();
    }

    pub(crate) fn text(&self) -> String {
        std::fs::read_to_string(&self.file).unwrap()
    }

    pub(crate) fn config(&self) -> Arc<Config> {
        let Loaded { config, .. } = Config::load(&self.file, &FixedEnv::new()).unwrap();
        config
    }

    pub(crate) fn options(&self) -> CoreOptions {
        let told = Arc::clone(&self.told);
        let tell = move |said: &SettingsTold, _: LogLevel| {
            told.lock().unwrap().push(match said {
                SettingsTold::Taken(_) => "taken".to_owned(),
                SettingsTold::Refused(problems) => problems.to_string(),
            });
        };
        CoreOptions {
            dial: Some(self.dial()),
            seed: Some(1),
            settings: Some(SettingsSource {
                file: self.file.clone(),
                keys: Some(self.state.clone()),
                env: Arc::new(FixedEnv::new()),
                found: None,
                tell: Some(Arc::new(tell)),
            }),
            ..CoreOptions::default()
        }
    }

    fn dial(&self) -> Dial {
        let (a, b, tasks) = (self.a.clone(), self.b.clone(), Tasks::default());
        Arc::new(move |host: &str, _| {
            let upstream = if host == "a.test" { &a } else { &b };
            let (near, serving) = upstream.pipe(64 << 10);
            drop(tasks.spawn(serving));
            Some(Ok(near))
        })
    }

    pub(crate) fn gateway(&self) -> Gateway {
        Gateway::in_process(self.config(), self.options())
    }

    /// A gateway on the state folder, and the hold on it.
    pub(crate) fn with_state(&self) -> (Gateway, Kept) {
        let kept = state::open(Some(&self.state), &self.config()).unwrap();
        let options = CoreOptions {
            store: kept.store.clone(),
            keeping: kept.keeping.clone(),
            ..self.options()
        };
        (Gateway::in_process(self.config(), options), kept)
    }

    pub(crate) fn tellings(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }
}

/// Asks in a session; the status and who answered.
pub(crate) async fn ask(gateway: &Gateway, session: &str) -> (u16, String) {
    let body = json!({
        "model": "default",
        "messages": [{"role": "user", "content": "Who runs first?"}],
    });
    let request = Request::post("/v1/chat/completions")
        .header("content-type", "application/json")
        .header("x-ekiden-session", session)
        .body(Full::new(Bytes::from(body.to_string())))
        .unwrap();
    let response = gateway.handle(request).await;
    let status = response.status().as_u16();
    let named = response.headers().get("x-ekiden-candidate");
    let who = named.map(|name| name.to_str().unwrap().to_owned()).unwrap_or_default();
    response.into_body().collect().await.unwrap();
    (status, who)
}

pub(crate) async fn get(gateway: &Gateway, path: &str) -> Value {
    let request = Request::get(path).body(Full::new(Bytes::new())).unwrap();
    let body = gateway.handle(request).await.into_body().collect().await.unwrap();
    serde_json::from_slice(&body).unwrap()
}

pub(crate) fn routes(core: &Core) -> Vec<String> {
    let plan = core.plan();
    let queue = plan.queue("default").unwrap();
    queue.candidates.iter().map(|candidate| candidate.route.to_string()).collect()
}

pub(crate) fn refused(core: &Core) -> Option<Problems> {
    core.settings().refused
}

pub(crate) fn kinds(core: &Core) -> Vec<&'static str> {
    core.store().journal(100).iter().rev().map(|entry| entry.what.kind()).collect()
}
