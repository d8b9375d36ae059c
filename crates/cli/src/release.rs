//! `ekiden release`: quarantines and cooldowns are let go by hand (R19). It refuses to let go of more
//! than was named.

use std::time::Duration;

use http::Method;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::args::{Form, ReleaseArgs};
use crate::failure::{Ended, Failure};
use crate::running::{self, Api};
use crate::terminal::{Ink, Say, Terminal};

const LIMIT: Duration = Duration::from_secs(10);

#[derive(Debug, Deserialize)]
struct Released {
    released: String,
}

/// Lets go of what was named.
///
/// # Errors
/// When nothing was named, there is no gateway, or it knows no such thing.
pub(crate) fn run(terminal: &Terminal, args: &ReleaseArgs) -> Result<Ended, Failure> {
    let body = wish(args)
        .ok_or_else(|| Failure::usage(terminal, &terminal.say(&NameIt), &terminal.say(&Forms)))?;
    let api = Api::at(args.asking.url.as_deref());
    let sending = api.send(terminal, Method::POST, "/api/v1/release", Some(&body), LIMIT);
    let text = running::block_on(sending)?;
    match args.asking.form() {
        Form::Json => terminal.line(text.trim_end())?,
        Form::Words => {
            let released: Released = api.parsed(terminal, &text)?;
            terminal.line(&terminal.ink(Ink::Good, &terminal.say(&Done { released, args })))?;
        }
    }
    Ok(Ended::Well)
}

/// What is asked for; `None`: the options do not name one thing.
fn wish(args: &ReleaseArgs) -> Option<Value> {
    let ReleaseArgs { session, queue, route, all, .. } = args;
    let named = || {
        let pairs = [("session", session), ("queue", queue), ("route", route)];
        let named = pairs.into_iter().filter_map(|(name, value)| {
            let value = value.as_deref()?;
            Some((name.to_owned(), Value::from(value)))
        });
        Value::Object(named.collect::<Map<_, _>>())
    };
    match (session, queue, route, all) {
        (None, None, None, true) => Some(serde_json::json!({ "all": true })),
        (Some(_), Some(_), Some(_), false)
        | (Some(_), None, None, false)
        | (None, None, Some(_), false) => Some(named()),
        _ => None,
    }
}

struct NameIt;

impl Say for NameIt {
    fn english(&self) -> String {
        "that does not name what is to be let go".to_owned()
    }

    fn chinese(&self) -> String {
        "没有说明要解除什么".to_owned()
    }
}

struct Forms;

impl Say for Forms {
    fn english(&self) -> String {
        "write --session SESSION, the same with --queue QUEUE --route ROUTE, --route ROUTE, or --all"
            .to_owned()
    }

    fn chinese(&self) -> String {
        "请写 --session SESSION（可加 --queue QUEUE --route ROUTE）、--route ROUTE 或 --all"
            .to_owned()
    }
}

struct Done<'a> {
    released: Released,
    args: &'a ReleaseArgs,
}

impl Done<'_> {
    fn names(&self) -> [&str; 3] {
        let ReleaseArgs { session, queue, route, .. } = self.args;
        [session, queue, route].map(|name| name.as_deref().unwrap_or_default())
    }
}

impl Say for Done<'_> {
    fn english(&self) -> String {
        let [session, queue, route] = self.names();
        match self.released.released.as_str() {
            "session" => format!("nothing is quarantined for session {session} any more"),
            "place" => format!("{route} is in again in {queue}, for session {session}"),
            "route" => format!("{route} neither cools nor rests any more, for everybody"),
            _ => "everything is let go, for everybody".to_owned(),
        }
    }

    fn chinese(&self) -> String {
        let [session, queue, route] = self.names();
        match self.released.released.as_str() {
            "session" => format!("会话 {session} 的隔离已全部解除"),
            "place" => format!("会话 {session} 在 {queue} 中又可使用 {route}"),
            "route" => format!("{route} 的冷却与收工歇已解除，对所有会话"),
            _ => "已全部解除，对所有会话".to_owned(),
        }
    }
}
