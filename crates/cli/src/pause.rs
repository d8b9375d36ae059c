//! `ekiden pause`, `resume` and `stop` (P5). They refuse to touch what runs well.

use http::Method;
use serde_json::{Value, json};

use crate::args::{Form, PauseArgs, StopArgs};
use crate::failure::{Ended, Failure};
use crate::running::{self, Api, WRITE_LIMIT, encoded};
use crate::terminal::{Ink, Say, Terminal};

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ask {
    /// Calls no longer persist.
    Pause,
    /// They do again.
    Resume,
}

/// Pauses or resumes.
///
/// # Errors
/// When there is no gateway, no such session, or it cannot be kept.
pub(crate) fn run(terminal: &Terminal, ask: Ask, args: &PauseArgs) -> Result<Ended, Failure> {
    let api = Api::at(args.asking.url.as_deref());
    let path = match ask {
        Ask::Pause => "/api/v1/pause",
        Ask::Resume => "/api/v1/resume",
    };
    let body = args.session.as_ref().map_or_else(|| json!({}), |key| json!({ "session": key }));
    let text = running::block_on(api.send(terminal, Method::POST, path, Some(&body), WRITE_LIMIT))?;
    match args.asking.form() {
        Form::Json => terminal.line(text.trim_end())?,
        Form::Words => {
            let done = Done { ask, session: args.session.as_deref() };
            terminal.line(&terminal.ink(Ink::Good, &terminal.say(&done)))?;
        }
    }
    Ok(Ended::Well)
}

/// Ends an open call; `last` is the one that came last.
///
/// # Errors
/// When there is no gateway, or no such call is open.
pub(crate) fn stop(terminal: &Terminal, args: &StopArgs) -> Result<Ended, Failure> {
    let api = Api::at(args.asking.url.as_deref());
    let text = running::block_on(async {
        let call = match args.open_call.as_str() {
            "last" => newest(terminal, &api).await?,
            call => call.to_owned(),
        };
        let path = format!("/api/v1/calls/{}/stop", encoded(&call));
        api.send(terminal, Method::POST, &path, None, WRITE_LIMIT).await
    })?;
    match args.asking.form() {
        Form::Json => terminal.line(text.trim_end())?,
        Form::Words => {
            let told: Value = api.parsed(terminal, &text)?;
            let call = told.get("stopped").and_then(Value::as_str).unwrap_or_default();
            terminal.line(&terminal.ink(Ink::Good, &terminal.say(&Stopped(call))))?;
        }
    }
    Ok(Ended::Well)
}

async fn newest(terminal: &Terminal, api: &Api) -> Result<String, Failure> {
    let text = api.get(terminal, "/api/v1/calls?limit=1").await?;
    let calls: Value = api.parsed(terminal, &text)?;
    let open = calls.get("open").and_then(Value::as_array);
    let last = open.and_then(|open| open.last()?.get("call")?.as_str());
    last.map(str::to_owned)
        .ok_or_else(|| Failure::trouble(terminal, &NothingOpen, Some(&LookAtStatus)))
}

struct Done<'a> {
    ask: Ask,
    session: Option<&'a str>,
}

impl Say for Done<'_> {
    fn english(&self) -> String {
        let whose = self.session.map_or_else(String::new, |key| format!(" of session {key}"));
        match self.ask {
            Ask::Pause => format!("paused: calls{whose} do not persist until `ekiden resume`"),
            Ask::Resume => format!("resumed: calls{whose} persist again"),
        }
    }

    fn chinese(&self) -> String {
        let whose = self.session.map_or_else(String::new, |key| format!("会话 {key} 的"));
        match self.ask {
            Ask::Pause => format!("已暂停：{whose}请求不再坚持，直到 `ekiden resume`"),
            Ask::Resume => format!("已恢复：{whose}请求继续坚持"),
        }
    }
}

struct Stopped<'a>(&'a str);

impl Say for Stopped<'_> {
    fn english(&self) -> String {
        format!("call {} is stopped", self.0)
    }

    fn chinese(&self) -> String {
        format!("请求 {} 已停止", self.0)
    }
}

struct NothingOpen;

impl Say for NothingOpen {
    fn english(&self) -> String {
        "no call is open".to_owned()
    }

    fn chinese(&self) -> String {
        "没有进行中的请求".to_owned()
    }
}

struct LookAtStatus;

impl Say for LookAtStatus {
    fn english(&self) -> String {
        "`ekiden status` shows how all stands".to_owned()
    }

    fn chinese(&self) -> String {
        "用 `ekiden status` 查看现状".to_owned()
    }
}
