//! The gateway that runs already, asked through its API. It refuses to look for one elsewhere than
//! where it is told, or where the configuration says that it listens.

use std::time::Duration;

use ekiden_config::{Config, ProcessEnv};
use ekiden_engine::Class;
use http::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::Failure;
use crate::http::{self as client, Answer, AskError};
use crate::terminal::{Say, Terminal};

/// Everything that it is asked for it has in memory.
const LIMIT: Duration = Duration::from_secs(10);

/// Between two looks at a call that may be about to end, and how many there are.
const ENDING_PAUSE: Duration = Duration::from_millis(50);
const ENDING_LOOKS: usize = 10;

/// Where a gateway listens unless told otherwise.
const USUAL: &str = "http://127.0.0.1:8787";

/// The API of a running gateway.
#[derive(Clone, Debug)]
pub(crate) struct Api {
    base: String,
}

/// A call as the API tells it (docs/api.md).
#[derive(Debug, Deserialize)]
pub(crate) struct CallTold {
    pub(crate) call: String,
    pub(crate) queue: String,
    pub(crate) dialect: String,
    pub(crate) streamed: bool,
    pub(crate) began_ms: u64,
    pub(crate) took_ms: u64,
    pub(crate) state: String,
    #[serde(default)]
    pub(crate) told: Option<ToldWord>,
    #[serde(default)]
    pub(crate) route: Option<String>,
    #[serde(default)]
    pub(crate) attempts: Vec<AttemptTold>,
    #[serde(default)]
    pub(crate) steps: Vec<StepTold>,
}

/// A step of a call as the API tells it: a code, and what belongs to that code.
#[derive(Debug, Deserialize)]
pub(crate) struct StepTold {
    pub(crate) at_ms: u64,
    pub(crate) step: String,
    #[serde(default)]
    pub(crate) route: Option<String>,
    #[serde(default)]
    pub(crate) attempt: Option<u32>,
    #[serde(default)]
    pub(crate) reason: Option<String>,
    #[serde(default)]
    pub(crate) class: Option<String>,
    #[serde(default)]
    pub(crate) why: Option<String>,
    #[serde(default)]
    pub(crate) ms: Option<u64>,
}

/// An attempt as the API tells it.
#[derive(Debug, Deserialize)]
pub(crate) struct AttemptTold {
    pub(crate) attempt: u32,
    pub(crate) route: String,
    pub(crate) began_ms: u64,
    pub(crate) took_ms: u64,
    #[serde(default)]
    pub(crate) class: Option<String>,
    #[serde(default)]
    pub(crate) evidence: Option<EvidenceTold>,
}

impl CallTold {
    /// Whether it still runs.
    pub(crate) fn is_open(&self) -> bool {
        self.state == "open"
    }
}

impl AttemptTold {
    /// What went wrong, if it did.
    pub(crate) fn class(&self) -> Option<Class> {
        Class::from_name(self.class.as_deref()?)
    }
}

/// What a candidate said, as far as it is kept.
#[derive(Debug, Deserialize)]
pub(crate) struct EvidenceTold {
    #[serde(default)]
    pub(crate) status: Option<u16>,
    #[serde(default)]
    pub(crate) code: Option<String>,
    #[serde(default)]
    pub(crate) message: Option<String>,
}

/// What the client was told instead of a whole answer.
#[derive(Debug, Deserialize)]
pub(crate) struct ToldWord {
    pub(crate) code: String,
    #[serde(default)]
    pub(crate) seconds: Option<u64>,
    #[serde(default)]
    pub(crate) class: Option<String>,
}

/// A line of the journal, as far as it concerns a call.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct EntryTold {
    pub(crate) number: u64,
    #[serde(default)]
    pub(crate) call: Option<String>,
    pub(crate) what: String,
    #[serde(default)]
    pub(crate) route: Option<String>,
    #[serde(default)]
    pub(crate) class: Option<String>,
    #[serde(default)]
    pub(crate) ms: Option<u64>,
    #[serde(default)]
    pub(crate) until_ms: Option<u64>,
}

impl Api {
    /// The gateway at a URL, or where the configuration says that it listens.
    pub(crate) fn at(url: Option<&str>) -> Self {
        let configured = || {
            let loaded = Config::find(None, &ProcessEnv).ok()?;
            Some(format!("http://{}", loaded.config.listen))
        };
        let base = url.map(str::to_owned).or_else(configured);
        Self { base: base.unwrap_or_else(|| USUAL.to_owned()) }
    }

    /// A call's id; `last` is the newest one.
    ///
    /// # Errors
    /// When there is no gateway, or no call yet.
    pub(crate) async fn call_id(&self, terminal: &Terminal, call: &str) -> Result<String, Failure> {
        if call != "last" {
            return Ok(call.to_owned());
        }
        let calls: Value = self.read(terminal, "/api/v1/calls?limit=1").await?;
        let list = |name: &str| calls.get(name).and_then(Value::as_array).into_iter().flatten();
        let began = |call: &&Value| call.get("began_ms").and_then(Value::as_u64);
        let newest = list("open").chain(list("past")).max_by_key(began);
        let id = newest.and_then(|call| call.get("call")).and_then(Value::as_str);
        id.map(str::to_owned).ok_or_else(|| {
            let none = Trouble::NoCallYet { base: self.base.clone() };
            Failure::trouble(terminal, &none, Some(&Advice::MakeACall))
        })
    }

    /// What became of a call. One whose answer was heard a moment ago is over a moment later, and
    /// is waited for so long.
    ///
    /// # Errors
    /// When there is no gateway or no such call.
    pub(crate) async fn call(&self, terminal: &Terminal, id: &str) -> Result<CallTold, Failure> {
        let mut left = ENDING_LOOKS;
        loop {
            let call: CallTold = self.parsed(terminal, &self.call_text(terminal, id).await?)?;
            if !call.is_open() || left == 0 {
                return Ok(call);
            }
            left -= 1;
            tokio::time::sleep(ENDING_PAUSE).await;
        }
    }

    /// What became of a call, as text.
    ///
    /// # Errors
    /// When there is no gateway or no such call.
    pub(crate) async fn call_text(&self, terminal: &Terminal, id: &str) -> Result<String, Failure> {
        self.asked(terminal, &format!("/api/v1/calls/{}", encoded(id)), id).await
    }

    /// A call's trace, as text.
    ///
    /// # Errors
    /// When there is no gateway or no such call.
    pub(crate) async fn trace_text(
        &self,
        terminal: &Terminal,
        id: &str,
    ) -> Result<String, Failure> {
        self.asked(terminal, &format!("/api/v1/calls/{}/trace", encoded(id)), id).await
    }

    /// The routes of a queue in its order; none where the gateway does not know them any more.
    ///
    /// # Errors
    /// When there is no gateway.
    pub(crate) async fn routes(
        &self,
        terminal: &Terminal,
        queue: &str,
    ) -> Result<Vec<String>, Failure> {
        let state: Value = self.read(terminal, "/api/v1/state").await?;
        let queues = state.get("queues").and_then(Value::as_array).into_iter().flatten();
        let mut named = queues.filter(|told| told.get("id").and_then(Value::as_str) == Some(queue));
        let candidates = named.next().and_then(|queue| queue.get("candidates"));
        let candidates = candidates.and_then(Value::as_array).into_iter().flatten();
        let routes = candidates.filter_map(|told| told.get("route").and_then(Value::as_str));
        let routes: Vec<String> = routes.map(str::to_owned).collect();
        // A model that was asked for outside any queue is a queue of one.
        Ok(if routes.is_empty() && queue.contains('/') { vec![queue.to_owned()] } else { routes })
    }

    /// The journal's entries, newest first: of one call, or all (a gateway that knows no such filter
    /// gives all, too).
    ///
    /// # Errors
    /// When there is no gateway.
    pub(crate) async fn journal(
        &self,
        terminal: &Terminal,
        of: Option<&CallTold>,
    ) -> Result<Vec<EntryTold>, Failure> {
        let of = of.map_or(String::new(), |call| format!("&call={}", encoded(&call.call)));
        let path = format!("/api/v1/journal?limit=1000{of}");
        let journal: Value = self.read(terminal, &path).await?;
        let entries = journal.get("entries").and_then(Value::as_array).into_iter().flatten();
        Ok(entries.filter_map(|entry| EntryTold::deserialize(entry).ok()).collect())
    }

    /// The number of the journal's newest entry; 0 if it is empty.
    ///
    /// # Errors
    /// When there is no gateway.
    pub(crate) async fn newest_entry(&self, terminal: &Terminal) -> Result<u64, Failure> {
        let entries = self.journal(terminal, None).await?;
        Ok(entries.iter().map(|entry| entry.number).max().unwrap_or(0))
    }

    /// The state as the API tells it.
    ///
    /// # Errors
    /// When there is no gateway.
    pub(crate) async fn state(&self, terminal: &Terminal) -> Result<Value, Failure> {
        self.read(terminal, "/api/v1/state").await
    }

    async fn read(&self, terminal: &Terminal, path: &str) -> Result<Value, Failure> {
        let text = self.asked(terminal, path, "").await?;
        self.parsed(terminal, &text)
    }

    /// JSON of the API, in the shape that is expected.
    ///
    /// # Errors
    /// When it has another shape: what answers there is another version, or no Ekiden.
    pub(crate) fn parsed<T: DeserializeOwned>(
        &self,
        terminal: &Terminal,
        text: &str,
    ) -> Result<T, Failure> {
        serde_json::from_str(text).map_err(|error| {
            let strange = Trouble::Strange { base: self.base.clone(), why: error.to_string() };
            Failure::trouble(terminal, &strange, Some(&Advice::OtherAddress))
        })
    }

    async fn asked(&self, terminal: &Terminal, path: &str, call: &str) -> Result<String, Failure> {
        let base = self.base.clone();
        match client::get(&base, path, LIMIT).await {
            Ok(Answer { status: StatusCode::OK, body, .. }) => Ok(body),
            Ok(Answer { status: StatusCode::NOT_FOUND, .. }) if !call.is_empty() => {
                let unknown = Trouble::NoSuchCall { call: call.to_owned(), base };
                Err(Failure::trouble(terminal, &unknown, Some(&Advice::AskForLast)))
            }
            Ok(Answer { status, body, .. }) => {
                let refused = Trouble::Refused { base, status, body };
                Err(Failure::trouble(terminal, &refused, Some(&Advice::OtherAddress)))
            }
            Err(error @ AskError::Address(_)) => {
                let hint = terminal.say(&Advice::OtherAddress);
                Err(Failure::usage(terminal, &error.to_string(), &hint))
            }
            Err(error @ (AskError::Nobody(_) | AskError::Broken(_))) => {
                let nobody = Trouble::NoGateway { base, why: error.to_string() };
                Err(Failure::trouble(terminal, &nobody, Some(&Advice::StartOne)))
            }
        }
    }
}

/// A call's id comes from the user, and goes into a path.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Runs something short on a runtime of its own.
///
/// # Errors
/// Those of what is run.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(future)
}

/// What goes wrong with a running gateway.
enum Trouble {
    NoGateway { base: String, why: String },
    NoSuchCall { call: String, base: String },
    NoCallYet { base: String },
    Strange { base: String, why: String },
    Refused { base: String, status: StatusCode, body: String },
}

impl Say for Trouble {
    fn english(&self) -> String {
        match self {
            Self::NoGateway { base, why } => format!("there is no gateway at {base}: {why}"),
            Self::NoSuchCall { call, base } => {
                format!("the gateway at {base} knows no call `{call}`")
            }
            Self::NoCallYet { base } => format!("the gateway at {base} has had no call yet"),
            Self::Strange { base, why } => {
                format!("what answers at {base} is another version, or no Ekiden: {why}")
            }
            Self::Refused { base, status, body } => {
                format!("{base} answers {status}: {}", cut(body))
            }
        }
    }

    fn chinese(&self) -> String {
        match self {
            Self::NoGateway { base, why } => format!("{base} 上没有网关：{why}"),
            Self::NoSuchCall { call, base } => format!("{base} 上的网关没有调用 `{call}`"),
            Self::NoCallYet { base } => format!("{base} 上的网关还没有过调用"),
            Self::Strange { base, why } => format!("{base} 上的是别的版本，或不是 Ekiden：{why}"),
            Self::Refused { base, status, body } => format!("{base} 回答 {status}：{}", cut(body)),
        }
    }
}

/// What can be done about it.
enum Advice {
    MakeACall,
    StartOne,
    AskForLast,
    OtherAddress,
}

impl Say for Advice {
    fn english(&self) -> String {
        match self {
            Self::MakeACall => "ask it for something first; `ekiden demo` shows how",
            Self::StartOne => "start one with `ekiden`, or say where it is with --url",
            Self::AskForLast => {
                "it remembers the last 1,000; `last` is the newest, and answers name theirs in \
                 the header x-ekiden-call"
            }
            Self::OtherAddress => "say where the gateway is: --url http://127.0.0.1:8787",
        }
        .to_owned()
    }

    fn chinese(&self) -> String {
        match self {
            Self::MakeACall => "先向它发一次请求；`ekiden demo` 有示范",
            Self::StartOne => "用 `ekiden` 启动一个，或用 --url 指明地址",
            Self::AskForLast => {
                "网关保留最近 1000 次；`last` 是最新一次，每个回答的响应头 x-ekiden-call 写有 id"
            }
            Self::OtherAddress => "用 --url 指明网关地址，例如 http://127.0.0.1:8787",
        }
        .to_owned()
    }
}

fn cut(body: &str) -> String {
    body.trim().chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_stays_one_segment_of_the_path() {
        assert_eq!(encoded("last"), "last");
        assert_eq!(encoded("../a b?"), "..%2Fa%20b%3F");
    }
}
