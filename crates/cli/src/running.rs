//! The gateway that runs already, asked through its API. It refuses to look for one elsewhere than
//! where it is told, where the owner of the state folder listens, or where the configuration says.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use ekiden_config::paths::{Platform, state_dir, unquoted};
use ekiden_config::{Config, Env, ProcessEnv};
use ekiden_engine::Class;
use ekiden_gateway::plan::Lack;
use ekiden_store::StateFolder;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::Failure;
use crate::http::{self as client, Answer, AskError, Question};
use crate::terminal::{Terminal, steers};

mod trouble;

use trouble::{Advice, Trouble};

/// Everything that it is asked for it has in memory.
const LIMIT: Duration = Duration::from_secs(10);

/// What is written waits for the disk.
pub(crate) const WRITE_LIMIT: Duration = Duration::from_secs(30);

/// Between two looks at a call that may be about to end, and how many there are.
const ENDING_PAUSE: Duration = Duration::from_millis(50);
const ENDING_LOOKS: usize = 10;

/// Where a gateway listens unless told otherwise.
const USUAL: &str = "http://127.0.0.1:8787";

/// An admin token, for a gateway that asks for one (G9). Not an option: those are seen by everybody.
const TOKEN_VARIABLE: &str = "EKIDEN_TOKEN";

/// The API of a running gateway.
#[derive(Clone)]
pub(crate) struct Api {
    base: String,
    /// `Bearer TOKEN`.
    bearer: Option<String>,
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
    #[serde(default)]
    pub(crate) records: Option<u32>,
    #[serde(default)]
    lack: Option<Value>,
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

impl StepTold {
    /// What a candidate lacks; `None`: nothing, or nothing that is known here.
    pub(crate) fn lack(&self) -> Option<Lack> {
        serde_json::from_value(self.lack.clone()?).ok()
    }
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
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct EvidenceTold {
    #[serde(default)]
    pub(crate) status: Option<u16>,
    #[serde(default)]
    pub(crate) code: Option<String>,
    #[serde(default)]
    pub(crate) message: Option<String>,
}

impl EvidenceTold {
    /// It on one line; `None`: it said nothing.
    pub(crate) fn words(&self) -> Option<String> {
        let Self { status, code, message } = self;
        let mut said: Vec<String> = Vec::new();
        // A failure inside a 200 is not made clearer by the 200.
        said.extend(status.filter(|status| *status >= 300).map(|status| status.to_string()));
        said.extend(code.as_deref().map(one_line));
        let mut said = said.join(" ");
        if let Some(message) = message {
            let separator = if said.is_empty() { "" } else { ": " };
            said.push_str(separator);
            said.push_str(&one_line(message));
        }
        (!said.is_empty()).then_some(said)
    }
}

/// Candidates say what they like; it stays on one line, and moves no cursor.
pub(crate) fn one_line(text: &str) -> String {
    let text: String = text.chars().map(|c| if steers(c) { ' ' } else { c }).collect();
    match text.char_indices().nth(120) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// What the client was told instead of a whole answer.
#[derive(Clone, Debug, Deserialize)]
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
    /// The gateway at a URL; else where the owner of the state folder listens, as a `listen` that
    /// was changed holds from the next start on; else where the configuration says.
    pub(crate) fn at(url: Option<&str>) -> Self {
        let base = url.map(str::to_owned).or_else(|| {
            let config = Config::find(None, &ProcessEnv).ok().map(|loaded| loaded.config);
            let folder = state_folder(config.as_deref());
            let owner = folder.and_then(|folder| StateFolder::owner_of(&folder)?.parse().ok());
            let listen = owner.or_else(|| config.map(|config| config.listen))?;
            Some(format!("http://{}", reached(listen)))
        });
        let bearer = ProcessEnv.var(TOKEN_VARIABLE).map(|token| format!("Bearer {token}"));
        Self { base: base.unwrap_or_else(|| USUAL.to_owned()), bearer }
    }

    /// Where it is.
    pub(crate) fn base(&self) -> &str {
        &self.base
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
        let text = self.get(terminal, path).await?;
        self.parsed(terminal, &text)
    }

    /// What stands at a path of the API, as text.
    ///
    /// # Errors
    /// When there is no gateway, or it refuses.
    pub(crate) async fn get(&self, terminal: &Terminal, path: &str) -> Result<String, Failure> {
        self.asked(terminal, path, "").await
    }

    /// The same; `None` where nothing stands there.
    ///
    /// # Errors
    /// When there is no gateway, or it refuses.
    pub(crate) async fn ask_if_there(
        &self,
        terminal: &Terminal,
        path: &str,
    ) -> Result<Option<String>, Failure> {
        let question = Question { headers: self.headers(terminal), ..Question::get(path) };
        let answer = client::ask(&self.base, question, LIMIT).await;
        match self.reached(terminal, answer)? {
            Answer { status: StatusCode::OK, body, .. } => Ok(Some(body)),
            Answer { status: StatusCode::NOT_FOUND, .. } => Ok(None),
            answer => Err(self.refused(terminal, &answer)),
        }
    }

    /// Has the gateway do something, and gives its answer as text.
    ///
    /// # Errors
    /// When there is no gateway, or it refuses.
    pub(crate) async fn send(
        &self,
        terminal: &Terminal,
        method: Method,
        path: &str,
        body: Option<&Value>,
        limit: Duration,
    ) -> Result<String, Failure> {
        let body = body.map(Value::to_string).unwrap_or_default();
        self.sent(terminal, method, path, body, &[], limit).await
    }

    /// Changes the settings, all or none, as they were seen: `seen` is the hash that the answer
    /// showed on which the changes were decided.
    ///
    /// # Errors
    /// When there is no gateway, it refuses, or the settings have changed since.
    pub(crate) async fn change(
        &self,
        terminal: &Terminal,
        seen: &str,
        changes: &Value,
    ) -> Result<String, Failure> {
        let body = serde_json::json!({ "changes": changes }).to_string();
        let quoted = format!("\"{seen}\"");
        let seen = [("if-match", quoted.as_str())];
        self.sent(terminal, Method::PATCH, "/api/v1/settings", body, &seen, WRITE_LIMIT).await
    }

    async fn sent(
        &self,
        terminal: &Terminal,
        method: Method,
        path: &str,
        body: String,
        more: &[(&str, &str)],
        limit: Duration,
    ) -> Result<String, Failure> {
        let mut headers = self.headers(terminal);
        headers.extend_from_slice(more);
        if !body.is_empty() {
            headers.push(("content-type", "application/json"));
        }
        let question = Question { method, path, headers, body };
        let answer = client::ask(&self.base, question, limit).await;
        match self.reached(terminal, answer)? {
            Answer { status, body, .. } if status.is_success() => Ok(body),
            answer => Err(self.refused(terminal, &answer)),
        }
    }

    /// Listens to the events, from those after `last` on. It returns when the gateway ends them.
    ///
    /// # Errors
    /// When there is no gateway, or it refuses.
    pub(crate) async fn listen(
        &self,
        terminal: &Terminal,
        last: &str,
        heard: impl FnMut(&[u8]),
    ) -> Result<(), Failure> {
        let mut headers = self.headers(terminal);
        headers.push(("last-event-id", last));
        let question = Question { headers, ..Question::get("/api/v1/events") };
        let answer = client::listen(&self.base, question, heard).await;
        match self.reached(terminal, answer)? {
            Answer { status: StatusCode::OK, .. } => Ok(()),
            answer => Err(self.refused(terminal, &answer)),
        }
    }

    /// The token, and the language in which refusals are to be told.
    fn headers(&self, terminal: &Terminal) -> Vec<(&str, &str)> {
        let bearer = self.bearer.iter().map(|bearer| ("authorization", bearer.as_str()));
        bearer.chain([("accept-language", terminal.language.tag())]).collect()
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
        let question = Question { headers: self.headers(terminal), ..Question::get(path) };
        let answer = client::ask(&self.base, question, LIMIT).await;
        match self.reached(terminal, answer)? {
            Answer { status: StatusCode::OK, body, .. } => Ok(body),
            Answer { status: StatusCode::NOT_FOUND, .. } if !call.is_empty() => {
                let unknown =
                    Trouble::NoSuchCall { call: call.to_owned(), base: self.base.clone() };
                Err(Failure::trouble(terminal, &unknown, Some(&Advice::AskForLast)))
            }
            answer => Err(self.refused(terminal, &answer)),
        }
    }

    fn refused(&self, terminal: &Terminal, answer: &Answer) -> Failure {
        let refused = Trouble::refused(&self.base, answer.status, &answer.body);
        if let Some(told) = refused.in_full() {
            return Failure::Usage(told.to_owned());
        }
        Failure::trouble(terminal, &refused, Advice::about(&refused).as_ref())
    }

    /// An answer, or why there is none.
    fn reached(
        &self,
        terminal: &Terminal,
        answer: Result<Answer, AskError>,
    ) -> Result<Answer, Failure> {
        answer.map_err(|error| match error {
            AskError::Address(_) => {
                let hint = terminal.say(&Advice::OtherAddress);
                Failure::usage(terminal, &terminal.say(&error), &hint)
            }
            AskError::Nobody(_) | AskError::Broken(_) => {
                let nobody =
                    Trouble::NoGateway { base: self.base.clone(), why: terminal.say(&error) };
                Failure::trouble(terminal, &nobody, Some(&Advice::StartOne))
            }
        })
    }
}

/// Where the state is kept by a configuration, or where none can be used.
pub(crate) fn state_folder(config: Option<&Config>) -> Option<PathBuf> {
    match config {
        Some(config) => config.state_folder(&ProcessEnv),
        None => folder_without_a_file(&ProcessEnv),
    }
}

/// A file that cannot be used names no folder, and a gateway may run on its last good settings.
fn folder_without_a_file(env: &dyn Env) -> Option<PathBuf> {
    let set = env.var("EKIDEN_STATE_DIR").map(|path| PathBuf::from(unquoted(&path)));
    set.or_else(|| state_dir(env, Platform::here()))
}

/// A gateway that listens everywhere is reached on this machine.
fn reached(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip @ (IpAddr::V4(_) | IpAddr::V6(_)) => ip,
    };
    SocketAddr::new(ip, listen.port())
}

/// Names come from the user, and go into a path or a query.
pub(crate) fn encoded(text: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g09_a_gateway_that_listens_everywhere_is_asked_on_this_machine() {
        for (listen, asked) in [
            ("0.0.0.0:9", "127.0.0.1:9"),
            ("[::]:9", "[::1]:9"),
            ("127.0.0.2:9", "127.0.0.2:9"),
            ("192.0.2.7:9", "192.0.2.7:9"),
        ] {
            assert_eq!(reached(listen.parse().unwrap()).to_string(), asked);
        }
    }

    #[test]
    fn an_id_stays_one_segment_of_the_path() {
        assert_eq!(encoded("last"), "last");
        assert_eq!(encoded("../a b?"), "..%2Fa%20b%3F");
    }
}
