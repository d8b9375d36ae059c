//! The gateway that runs already, asked through its API. It refuses to look for one elsewhere than
//! where it is told, or where the configuration says that it listens.

use std::time::Duration;

use ekiden_config::{Config, ProcessEnv};
use http::StatusCode;
use serde_json::Value;

use crate::failure::Failure;
use crate::http::{self as client, Answer, AskError};
use crate::terminal::{Say, Terminal};

/// Everything that it is asked for it has in memory.
const LIMIT: Duration = Duration::from_secs(10);

/// Where a gateway listens unless told otherwise.
const USUAL: &str = "http://127.0.0.1:8787";

/// What became of a call, as the API tells it.
///
/// # Errors
/// When there is no gateway or no such call.
pub(crate) fn call(terminal: &Terminal, url: Option<&str>, call: &str) -> Result<String, Failure> {
    block_on(async { asked(terminal, &base(url), call, "").await })?
}

/// A call's trace, and the routes of its queue where the API tells them.
///
/// # Errors
/// When there is no gateway or no such call.
pub(crate) fn trace(
    terminal: &Terminal,
    url: Option<&str>,
    call: &str,
) -> Result<(String, Vec<String>), Failure> {
    block_on(async {
        let base = base(url);
        let text = asked(terminal, &base, call, "/trace").await?;
        let told = asked(terminal, &base, call, "").await?;
        let told: Value = serde_json::from_str(&told).unwrap_or_default();
        Ok((text, routes(&told)))
    })?
}

fn routes(told: &Value) -> Vec<String> {
    let listed = told.get("candidates").and_then(Value::as_array);
    let routes = listed.into_iter().flatten().map(|candidate| {
        let route = candidate.get("route").unwrap_or(candidate);
        route.as_str().map(str::to_owned)
    });
    routes.collect::<Option<Vec<_>>>().unwrap_or_default()
}

async fn asked(terminal: &Terminal, base: &str, call: &str, what: &str) -> Result<String, Failure> {
    let path = format!("/api/v1/calls/{}{what}", encoded(call));
    match client::get(base, &path, LIMIT).await {
        Ok(Answer { status: StatusCode::OK, body }) => Ok(body),
        Ok(Answer { status: StatusCode::NOT_FOUND, .. }) => {
            let unknown = Trouble::NoSuchCall { call: call.to_owned(), base: base.to_owned() };
            Err(Failure::trouble(terminal, &unknown, Some(&Advice::AskForLast)))
        }
        Ok(Answer { status, body }) => {
            let refused = Trouble::Refused { base: base.to_owned(), status, body };
            Err(Failure::trouble(terminal, &refused, Some(&Advice::OtherAddress)))
        }
        Err(error @ AskError::Address(_)) => {
            let hint = terminal.say(&Advice::OtherAddress);
            Err(Failure::usage(terminal, &error.to_string(), &hint))
        }
        Err(error @ (AskError::Nobody(_) | AskError::Broken(_))) => {
            let nobody = Trouble::NoGateway { base: base.to_owned(), why: error.to_string() };
            Err(Failure::trouble(terminal, &nobody, Some(&Advice::StartOne)))
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

fn base(url: Option<&str>) -> String {
    let configured = || {
        let loaded = Config::find(None, &ProcessEnv).ok()?;
        Some(format!("http://{}", loaded.config.listen))
    };
    url.map(str::to_owned).or_else(configured).unwrap_or_else(|| USUAL.to_owned())
}

/// Runs something short on a runtime of its own.
fn block_on<T>(future: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(future))
}

/// What goes wrong with a running gateway.
enum Trouble {
    NoGateway { base: String, why: String },
    NoSuchCall { call: String, base: String },
    Refused { base: String, status: StatusCode, body: String },
}

impl Say for Trouble {
    fn english(&self) -> String {
        match self {
            Self::NoGateway { base, why } => format!("there is no gateway at {base}: {why}"),
            Self::NoSuchCall { call, base } => {
                format!("the gateway at {base} knows no call `{call}`")
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
            Self::Refused { base, status, body } => format!("{base} 回答 {status}：{}", cut(body)),
        }
    }
}

/// What can be done about it.
enum Advice {
    StartOne,
    AskForLast,
    OtherAddress,
}

impl Say for Advice {
    fn english(&self) -> String {
        match self {
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
