//! `ekiden sessions`: what runs for each session, and what is out for it. It refuses to show what a
//! session said.

use std::time::Duration;

use ekiden_engine::Class;
use http::Method;
use serde::Deserialize;

use crate::args::{Form, SessionsArgs};
use crate::failure::{Ended, Failure};
use crate::moments::moment;
use crate::running::{self, Api, EvidenceTold, encoded};
use crate::terminal::{Ink, Say, Terminal};

/// Seats go back at once.
const END_LIMIT: Duration = Duration::from_secs(10);

#[derive(Debug, Deserialize)]
struct List {
    sessions: Vec<Session>,
    sessions_known: usize,
}

/// A session, as far as it is shown.
#[derive(Debug, Deserialize)]
struct Session {
    key: String,
    background: bool,
    running: u64,
    #[serde(default)]
    running_now: Option<String>,
    seats: Vec<String>,
    quarantined: Vec<Out>,
    speeds: Vec<Speed>,
    truncations: Vec<Truncated>,
}

#[derive(Debug, Deserialize)]
struct Out {
    queue: String,
    route: String,
    class: String,
    since_ms: u64,
    #[serde(default)]
    until_ms: Option<u64>,
    #[serde(default)]
    parole_ms: Option<u64>,
    #[serde(default)]
    evidence: Option<EvidenceTold>,
}

#[derive(Debug, Deserialize)]
struct Speed {
    route: String,
    #[serde(default)]
    per_second: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct Truncated {
    queue: String,
    in_a_row: u64,
}

/// Lists sessions, shows one, or ends it.
///
/// # Errors
/// When there is no gateway, or no such session.
pub(crate) fn run(terminal: &Terminal, args: &SessionsArgs) -> Result<Ended, Failure> {
    let api = Api::at(args.asking.url.as_deref());
    running::block_on(async {
        match (&args.named, args.end) {
            (Some(named), true) => end(terminal, &api, named, args.asking.form()).await,
            (Some(named), false) => one(terminal, &api, named, args.asking.form()).await,
            (None, _) => all(terminal, &api, args.asking.form()).await,
        }
    })
}

async fn all(terminal: &Terminal, api: &Api, form: Form) -> Result<Ended, Failure> {
    let text = api.get(terminal, "/api/v1/sessions?limit=1000").await?;
    if form == Form::Json {
        terminal.line(text.trim_end())?;
        return Ok(Ended::Well);
    }
    let list: List = api.parsed(terminal, &text)?;
    if list.sessions.is_empty() {
        terminal.tell(&Nobody)?;
    }
    for session in &list.sessions {
        terminal.raw(&told(terminal, session))?;
    }
    let more = list.sessions_known.saturating_sub(list.sessions.len());
    if more > 0 {
        terminal.tell(&More(more))?;
    }
    Ok(Ended::Well)
}

async fn one(terminal: &Terminal, api: &Api, named: &str, form: Form) -> Result<Ended, Failure> {
    let text = api.get(terminal, &format!("/api/v1/sessions/{}", encoded(named))).await?;
    match form {
        Form::Json => terminal.line(text.trim_end())?,
        Form::Words => {
            let session: Session = api.parsed(terminal, &text)?;
            terminal.raw(&told(terminal, &session))?;
        }
    }
    Ok(Ended::Well)
}

async fn end(terminal: &Terminal, api: &Api, named: &str, form: Form) -> Result<Ended, Failure> {
    #[derive(Deserialize)]
    struct Answer {
        ended: String,
    }
    let path = format!("/api/v1/sessions/{}/end", encoded(named));
    let text = api.send(terminal, Method::POST, &path, None, END_LIMIT).await?;
    match form {
        Form::Json => terminal.line(text.trim_end())?,
        Form::Words => {
            let answer: Answer = api.parsed(terminal, &text)?;
            terminal.tell(&Over(answer.ended))?;
        }
    }
    Ok(Ended::Well)
}

/// The key of the session that a name means; the name itself where the gateway knows none, for what
/// is kept of sessions outlives them.
///
/// # Errors
/// When there is no gateway.
pub(crate) async fn key_of(terminal: &Terminal, api: &Api, named: &str) -> Result<String, Failure> {
    #[derive(Deserialize)]
    struct Named {
        key: String,
    }
    if named.contains('.') {
        return Ok(named.to_owned());
    }
    if named == "background" {
        return Ok(String::new());
    }
    let path = format!("/api/v1/sessions/{}", encoded(named));
    match api.ask_if_there(terminal, &path).await? {
        Some(text) => Ok(api.parsed::<Named>(terminal, &text)?.key),
        None => Ok(named.to_owned()),
    }
}

fn told(terminal: &Terminal, session: &Session) -> String {
    let mut out = terminal.ink(Ink::Strong, &terminal.say(&Heading(session))) + "\n";
    for place in &session.quarantined {
        let said = terminal.say(&Quarantined(place));
        out.push_str(&format!("  {}\n", terminal.ink(Ink::Bad, &said)));
        if let Some(words) = place.evidence.as_ref().and_then(EvidenceTold::words) {
            out.push_str(&format!("    {}\n", terminal.ink(Ink::Dim, &words)));
        }
    }
    for line in [
        (!session.seats.is_empty()).then(|| terminal.say(&Seats(&session.seats))),
        Speeds::of(&session.speeds).map(|speeds| terminal.say(&speeds)),
    ] {
        out.extend(line.map(|line| format!("  {line}\n")));
    }
    for truncated in &session.truncations {
        out.push_str(&format!("  {}\n", terminal.say(truncated)));
    }
    out
}

struct Nobody;

impl Say for Nobody {
    fn english(&self) -> String {
        "no session yet".to_owned()
    }

    fn chinese(&self) -> String {
        "还没有会话".to_owned()
    }
}

struct More(usize);

impl Say for More {
    fn english(&self) -> String {
        format!("and {} more, for which nothing runs and nothing is out", self.0)
    }

    fn chinese(&self) -> String {
        format!("另有 {} 个会话，既无运行也无隔离", self.0)
    }
}

struct Over(String);

impl Say for Over {
    fn english(&self) -> String {
        format!("session {} is over", shown(&self.0))
    }

    fn chinese(&self) -> String {
        format!("会话 {} 已结束", shown(&self.0))
    }
}

/// A session's key as people read it.
pub(crate) fn shown(key: &str) -> &str {
    if key.is_empty() { "background" } else { key }
}

struct Heading<'a>(&'a Session);

impl Heading<'_> {
    fn key(&self) -> &str {
        if self.0.background { "background" } else { &self.0.key }
    }
}

impl Say for Heading<'_> {
    fn english(&self) -> String {
        let doing = match (&self.0.running_now, self.0.running) {
            (Some(route), 0) => format!("last answered by {route}"),
            (Some(route), 1) => format!("runs on {route}"),
            (Some(route), running) => format!("runs {running} times, on {route}"),
            (None, 0) => "idle".to_owned(),
            (None, running) => format!("runs {running} times"),
        };
        format!("session {}: {doing}", self.key())
    }

    fn chinese(&self) -> String {
        let doing = match (&self.0.running_now, self.0.running) {
            (Some(route), 0) => format!("上次由 {route} 作答"),
            (Some(route), 1) => format!("正在 {route} 上运行"),
            (Some(route), running) => format!("{running} 个在运行，当前 {route}"),
            (None, 0) => "空闲".to_owned(),
            (None, running) => format!("{running} 个在运行"),
        };
        format!("会话 {}：{doing}", self.key())
    }
}

struct Quarantined<'a>(&'a Out);

impl Quarantined<'_> {
    fn class(&self) -> Option<Class> {
        Class::from_name(&self.0.class)
    }
}

impl Say for Quarantined<'_> {
    fn english(&self) -> String {
        let Out { queue, route, class, since_ms, until_ms, parole_ms, .. } = self.0;
        let class = self.class().map_or_else(|| class.clone(), |class| class.english());
        let until = match (until_ms, parole_ms) {
            (Some(until), _) => format!("until its own reset at {}", moment(*until)),
            (None, Some(parole)) => format!("on parole from {}", moment(*parole)),
            (None, None) => "until the day turns".to_owned(),
        };
        format!("{route} in {queue}: quarantined ({class}) since {}, {until}", moment(*since_ms))
    }

    fn chinese(&self) -> String {
        let Out { queue, route, class, since_ms, until_ms, parole_ms, .. } = self.0;
        let class = self.class().map_or_else(|| class.clone(), |class| class.chinese());
        let until = match (until_ms, parole_ms) {
            (Some(until), _) => format!("到它自己的重置时刻 {}", moment(*until)),
            (None, Some(parole)) => format!("自 {} 起可以假释", moment(*parole)),
            (None, None) => "到换日为止".to_owned(),
        };
        format!("{queue} 中的 {route}：{} 起隔离（{class}），{until}", moment(*since_ms))
    }
}

struct Seats<'a>(&'a [String]);

impl Say for Seats<'_> {
    fn english(&self) -> String {
        format!("holds a seat on {}", self.0.join(", "))
    }

    fn chinese(&self) -> String {
        format!("占用席位：{}", self.0.join("、"))
    }
}

/// Output tokens in a second, by route.
struct Speeds(Vec<String>);

impl Speeds {
    fn of(speeds: &[Speed]) -> Option<Self> {
        let known = speeds.iter().filter_map(|speed| {
            let per_second = speed.per_second?;
            Some(format!("{} {per_second}", speed.route))
        });
        let known: Vec<String> = known.collect();
        (!known.is_empty()).then_some(Self(known))
    }
}

impl Say for Speeds {
    fn english(&self) -> String {
        format!("tokens a second today: {}", self.0.join(", "))
    }

    fn chinese(&self) -> String {
        format!("今日每秒词元：{}", self.0.join("、"))
    }
}

impl Say for Truncated {
    fn english(&self) -> String {
        format!("cut by the token limit in {}, {} in a row", self.queue, self.in_a_row)
    }

    fn chinese(&self) -> String {
        format!("在 {} 中连续 {} 次被输出上限截断", self.queue, self.in_a_row)
    }
}
