//! `ekiden dry-run`: what a call would do now, and why (R33). It refuses to do it.

use http::Method;
use serde::Deserialize;
use serde_json::json;

use crate::args::{DryRunArgs, Form};
use crate::failure::{Ended, Failure};
use crate::running::{self, Api, StepTold, WRITE_LIMIT, encoded};
use crate::terminal::{Ink, Say, Terminal};
use crate::why;
use crate::words::Span;

#[derive(Debug, Deserialize)]
struct DryRun {
    would: String,
    #[serde(default)]
    route: Option<String>,
    #[serde(default)]
    wait_ms: Option<u64>,
    #[serde(default)]
    steps: Vec<StepTold>,
}

/// Says what a call would do; badly where it would be refused.
///
/// # Errors
/// When there is no gateway, or no such queue.
pub(crate) fn run(terminal: &Terminal, args: &DryRunArgs) -> Result<Ended, Failure> {
    let api = Api::at(args.asking.url.as_deref());
    let path = format!("/api/v1/queues/{}/dry-run", encoded(&args.queue));
    let mut body = json!({ "input_tokens": args.tokens.unwrap_or(0) });
    if let (Some(session), Some(body)) = (&args.of_session, body.as_object_mut()) {
        body.insert("session".to_owned(), json!(session));
    }
    let asking = api.send(terminal, Method::POST, &path, Some(&body), WRITE_LIMIT);
    let text = running::block_on(asking)?;
    let told: DryRun = api.parsed(terminal, &text)?;
    let ended = if told.would == "refuse" { Ended::Badly } else { Ended::Well };
    if args.asking.form() == Form::Json {
        terminal.line(text.trim_end())?;
        return Ok(ended);
    }
    for (route, passing) in why::passed_over(&told.steps) {
        let passed = why::PassedOver { route, passing: &passing };
        terminal.line(&format!("  {}", terminal.ink(Ink::Dim, &terminal.say(&passed))))?;
    }
    let ink = if ended == Ended::Well { Ink::Good } else { Ink::Bad };
    terminal.line(&terminal.ink(ink, &terminal.say(&told)))?;
    let later = why::not_reached(&told.steps);
    if !later.is_empty() {
        terminal.line(&format!("  {}", terminal.ink(Ink::Dim, &terminal.say(&Later(&later)))))?;
    }
    Ok(ended)
}

/// Those whose turn would come later.
struct Later<'a>(&'a [&'a str]);

impl Say for Later<'_> {
    fn english(&self) -> String {
        format!("later, if it has to move on: {}", self.0.join(", "))
    }

    fn chinese(&self) -> String {
        format!("需要换人时才轮到：{}", self.0.join("、"))
    }
}

impl Say for DryRun {
    fn english(&self) -> String {
        match (self.would.as_str(), self.route.as_deref()) {
            ("run", Some(route)) => format!("it would ask {route}"),
            ("wait", _) => {
                let wait = Span(self.wait_ms.unwrap_or(0)).english();
                format!("it would wait, at most {wait}, and look again")
            }
            (_, _) => "it would be refused: no candidate can run".to_owned(),
        }
    }

    fn chinese(&self) -> String {
        match (self.would.as_str(), self.route.as_deref()) {
            ("run", Some(route)) => format!("会请求 {route}"),
            ("wait", _) => {
                format!("会等待，最多 {}，然后再看", Span(self.wait_ms.unwrap_or(0)).chinese())
            }
            (_, _) => "会被拒绝：没有可用的候选".to_owned(),
        }
    }
}
