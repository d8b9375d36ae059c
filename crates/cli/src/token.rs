//! `ekiden token`: tokens for other machines (G9). It refuses to show one twice.

use std::io::{self, IsTerminal};
use std::time::Duration;

use ekiden_config::Budget;
use ekiden_gateway::clock::{Calendar, Clock};
use ekiden_gateway::tokens::{ClientTokens, NewToken, Scope};
use http::Method;
use secrecy::ExposeSecret;
use serde::Deserialize;

use crate::args::{Asking, Form, NewTokenArgs, RevokeArgs, TokenTask};
use crate::failure::{Ended, Failure};
use crate::moments::moment;
use crate::offline::Desk;
use crate::running::{self, Api, encoded};
use crate::table::{Cell, Table};
use crate::terminal::{Ink, Say, Terminal};

/// It waits for the disk.
const LIMIT: Duration = Duration::from_secs(30);

#[derive(Debug, Deserialize)]
struct List {
    tokens: Vec<Token>,
}

#[derive(Debug, Deserialize)]
struct Token {
    id: String,
    name: String,
    scope: String,
    queues: Vec<String>,
    #[serde(default)]
    calls_max: Option<u64>,
    open_calls: u64,
    #[serde(default)]
    budget_per_day: Option<String>,
    made_ms: u64,
}

/// Lists, makes or revokes tokens.
///
/// # Errors
/// When there is no gateway, or it refuses.
pub(crate) fn run(terminal: &Terminal, task: &TokenTask) -> Result<Ended, Failure> {
    match task {
        TokenTask::List(asking) => list(terminal, asking),
        TokenTask::New(args) => make(terminal, args),
        TokenTask::Revoke(args) => revoke(terminal, args),
    }
}

fn list(terminal: &Terminal, asking: &Asking) -> Result<Ended, Failure> {
    let api = Api::at(asking.url.as_deref());
    let text = running::block_on(api.get(terminal, "/api/v1/tokens"))?;
    if asking.form() == Form::Json {
        terminal.line(text.trim_end())?;
        return Ok(Ended::Well);
    }
    let List { tokens } = api.parsed(terminal, &text)?;
    if tokens.is_empty() {
        terminal.tell(&NoToken)?;
        return Ok(Ended::Well);
    }
    let columns = [
        Column::Id,
        Column::Name,
        Column::Scope,
        Column::Queues,
        Column::Calls,
        Column::Budget,
        Column::Made,
    ];
    let mut table = Table::headed(columns.iter().map(|column| Cell::new(terminal.say(column))));
    for token in &tokens {
        let most = token.calls_max.map_or(String::new(), |most| format!("/{most}"));
        let queues = match token.queues.is_empty() {
            true => terminal.say(&AllQueues),
            false => token.queues.join(", "),
        };
        table.row([
            Cell::new(&token.id),
            Cell::new(&token.name),
            Cell::new(&token.scope),
            Cell::new(queues),
            Cell::new(format!("{}{most}", token.open_calls)),
            Cell::new(token.budget_per_day.as_deref().unwrap_or_default()),
            Cell::new(moment(token.made_ms)),
        ]);
    }
    terminal.raw(&table.lines(terminal, ""))?;
    Ok(Ended::Well)
}

fn make(terminal: &Terminal, args: &NewTokenArgs) -> Result<Ended, Failure> {
    #[derive(Deserialize)]
    struct Made {
        token: String,
    }
    let NewTokenArgs { token_name, admin, only, calls_max, budget, asking } = args;
    if let Some(desk) = Desk::free(asking) {
        return make_here(terminal, &desk, args);
    }
    let api = Api::at(asking.url.as_deref());
    let scope = if *admin { "admin" } else { "client" };
    let body = serde_json::json!({
        "name": token_name, "scope": scope, "queues": only, "calls_max": calls_max,
        "budget_per_day": budget,
    });
    let sending = api.send(terminal, Method::POST, "/api/v1/tokens", Some(&body), LIMIT);
    let text = running::block_on(sending)?;
    if asking.form() == Form::Json {
        terminal.line(text.trim_end())?;
        return Ok(Ended::Well);
    }
    let Made { token } = api.parsed(terminal, &text)?;
    show(terminal, &token)
}

/// The same while no gateway runs: one that listens for other machines does not start without.
fn make_here(terminal: &Terminal, desk: &Desk, args: &NewTokenArgs) -> Result<Ended, Failure> {
    let NewTokenArgs { token_name, admin, only, calls_max, budget, asking } = args;
    let trouble = |message: String| Failure::Trouble { message, hint: None };
    if let Some(unknown) = only.iter().find(|id| !desk.has_queue(id)) {
        return Err(Failure::trouble(terminal, &NoQueue(unknown), None::<&NoToken>));
    }
    let bad = |_| trouble(terminal.say(&BadBudget));
    let wish = NewToken {
        name: token_name.clone(),
        scope: if *admin { Scope::Admin } else { Scope::Client },
        queues: only.clone(),
        calls_max: *calls_max,
        budget_per_day: budget.as_deref().map(str::parse).transpose().map_err(bad)?,
    };
    let tokens =
        ClientTokens::open(desk.folder()).map_err(|error| trouble(error.say(terminal.language)))?;
    let made_ms = Clock::system(Calendar::new(None, 1)).now().wall_ms;
    let (made, token) =
        tokens.make(wish, made_ms).map_err(|error| trouble(error.say(terminal.language)))?;
    if asking.form() == Form::Json {
        let told = serde_json::json!({ "token": token.expose_secret(), "made": { "id": made.id } });
        terminal.line(&told.to_string())?;
        return Ok(Ended::Well);
    }
    show(terminal, token.expose_secret())
}

/// A budget that is written otherwise.
struct BadBudget;

impl Say for BadBudget {
    fn english(&self) -> String {
        format!("write the budget as `{}`", Budget::EXAMPLE)
    }

    fn chinese(&self) -> String {
        format!("预算请写成 `{}`", Budget::EXAMPLE)
    }
}

fn show(terminal: &Terminal, token: &str) -> Result<Ended, Failure> {
    terminal.line(token)?;
    if io::stdout().is_terminal() {
        terminal.line(&terminal.ink(Ink::Dim, &terminal.say(&OnlyOnce)))?;
    }
    Ok(Ended::Well)
}

fn revoke(terminal: &Terminal, args: &RevokeArgs) -> Result<Ended, Failure> {
    let api = Api::at(args.asking.url.as_deref());
    let path = format!("/api/v1/tokens/{}", encoded(&args.token));
    let text = running::block_on(api.send(terminal, Method::DELETE, &path, None, LIMIT))?;
    match args.asking.form() {
        Form::Json => terminal.line(text.trim_end())?,
        Form::Words => terminal.tell(&Revoked(&args.token))?,
    }
    Ok(Ended::Well)
}

struct NoToken;

impl Say for NoToken {
    fn english(&self) -> String {
        "there is no token; make one with `ekiden token new NAME`".to_owned()
    }

    fn chinese(&self) -> String {
        "没有令牌；用 `ekiden token new NAME` 新建".to_owned()
    }
}

struct NoQueue<'a>(&'a str);

impl Say for NoQueue<'_> {
    fn english(&self) -> String {
        format!("there is no queue `{}`", self.0)
    }

    fn chinese(&self) -> String {
        format!("没有队列 `{}`", self.0)
    }
}

struct AllQueues;

impl Say for AllQueues {
    fn english(&self) -> String {
        "all".to_owned()
    }

    fn chinese(&self) -> String {
        "全部".to_owned()
    }
}

struct OnlyOnce;

impl Say for OnlyOnce {
    fn english(&self) -> String {
        "Keep it now: it is not shown again. Clients send it as their API key.".to_owned()
    }

    fn chinese(&self) -> String {
        "请立即保存：不会再次显示。客户端把它当作 API 密钥发送。".to_owned()
    }
}

struct Revoked<'a>(&'a str);

impl Say for Revoked<'_> {
    fn english(&self) -> String {
        format!("token {} is revoked", self.0)
    }

    fn chinese(&self) -> String {
        format!("令牌 {} 已吊销", self.0)
    }
}

enum Column {
    Id,
    Name,
    Scope,
    Queues,
    Calls,
    Budget,
    Made,
}

impl Say for Column {
    fn english(&self) -> String {
        match self {
            Self::Id => "id",
            Self::Name => "name",
            Self::Scope => "scope",
            Self::Queues => "queues",
            Self::Calls => "open calls",
            Self::Budget => "a day",
            Self::Made => "made",
        }
        .to_owned()
    }

    fn chinese(&self) -> String {
        match self {
            Self::Id => "id",
            Self::Name => "名字",
            Self::Scope => "用途",
            Self::Queues => "队列",
            Self::Calls => "未完成请求",
            Self::Budget => "每日预算",
            Self::Made => "创建于",
        }
        .to_owned()
    }
}
