//! `ekiden status`: how every queue and candidate stands now. It refuses to judge: what stands there
//! is what the gateway says.

use serde::Deserialize;

use crate::args::{Asking, Form};
use crate::failure::{Ended, Failure};
use crate::running::{self, Api, one_line};
use crate::sessions::shown;
use crate::table::{Cell, Table};
use crate::terminal::{Ink, Say, Terminal};
use crate::why::why;
use crate::words::Span;

/// Calls that wait are named up to here, and counted beyond.
const WAITS_MAX: usize = 10;

/// The state, as far as it is shown.
#[derive(Debug, Deserialize)]
struct State {
    version: String,
    now_ms: u64,
    day: Day,
    open: Open,
    #[serde(default)]
    recording: Recording,
    #[serde(default)]
    settings: Settings,
    /// Whose calls do not persist; none in it: everybody's.
    #[serde(default)]
    pauses: Vec<Option<String>>,
    #[serde(default)]
    waits: Vec<Waiting>,
    #[serde(default = "on")]
    enabled: bool,
    queues: Vec<Queue>,
    sessions: Vec<Session>,
    sessions_known: usize,
}

#[derive(Debug, Deserialize)]
struct Day {
    ends_ms: u64,
}

#[derive(Debug, Deserialize)]
struct Open {
    calls: u64,
    waiting: u64,
}

#[derive(Debug, Default, Deserialize)]
struct Recording {
    trouble: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Settings {
    file: Option<String>,
    refused: Vec<Problem>,
    after_restart: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Problem {
    #[serde(default)]
    line: Option<usize>,
    message: String,
}

#[derive(Debug, Deserialize)]
struct Queue {
    id: String,
    name: String,
    #[serde(default = "on")]
    enabled: bool,
    candidates: Vec<Candidate>,
}

/// An open call that waits.
#[derive(Debug, Deserialize)]
struct Waiting {
    session: String,
    queue: String,
    #[serde(rename = "for")]
    why: String,
    since_ms: u64,
}

/// What a gateway that does not say so runs with.
const fn on() -> bool {
    true
}

#[derive(Debug, Deserialize)]
struct Candidate {
    route: String,
    state: String,
    #[serde(default)]
    ends_in_ms: Option<u64>,
    #[serde(default)]
    lack: Option<String>,
    in_flight: u64,
    today: Today,
}

#[derive(Debug, Deserialize)]
struct Today {
    successes: u64,
    failures: u64,
}

#[derive(Debug, Deserialize)]
struct Session {
    quarantined: Vec<Out>,
}

#[derive(Debug, Deserialize)]
struct Out {
    queue: String,
    route: String,
}

/// Says how everything stands.
///
/// # Errors
/// When there is no gateway.
pub(crate) fn run(terminal: &Terminal, asking: &Asking) -> Result<Ended, Failure> {
    let api = Api::at(asking.url.as_deref());
    let text = running::block_on(api.get(terminal, "/api/v1/state?limit=1000"))?;
    match asking.form() {
        Form::Json => terminal.line(text.trim_end())?,
        Form::Words => {
            let state: State = api.parsed(terminal, &text)?;
            terminal.raw(&told(terminal, api.base(), &state))?;
        }
    }
    Ok(Ended::Well)
}

fn told(terminal: &Terminal, base: &str, state: &State) -> String {
    let mut out = String::new();
    let mut line = |text: &str| out.push_str(&format!("{text}\n"));
    line(&terminal.ink(Ink::Strong, &format!("Ekiden {}, {base}", state.version)));
    line(&terminal.say(&Now(state)));
    if let Some(trouble) = &state.recording.trouble {
        line(&terminal.ink(Ink::Bad, &terminal.say(&NotKept(trouble))));
    }
    if let Some(first) = state.settings.refused.first() {
        let said = terminal.say(&SettingsRefused { settings: &state.settings, first });
        line(&terminal.ink(Ink::Bad, &said));
    }
    if !state.settings.after_restart.is_empty() {
        let said = terminal.say(&AfterRestart(state.settings.after_restart.join(", ")));
        line(&terminal.ink(Ink::Slow, &said));
    }
    if !state.enabled {
        line(&terminal.ink(Ink::Slow, &terminal.say(&Off)));
    }
    for session in &state.pauses {
        line(&terminal.ink(Ink::Slow, &terminal.say(&Paused(session.as_deref()))));
    }
    for waiting in state.waits.iter().take(WAITS_MAX) {
        line(&terminal.ink(Ink::Slow, &terminal.say(&Waits { waiting, now_ms: state.now_ms })));
    }
    if let Some(more @ 1..) = state.waits.len().checked_sub(WAITS_MAX) {
        line(&terminal.ink(Ink::Slow, &terminal.say(&MoreWait(more))));
    }
    for queue in &state.queues {
        line("");
        line(&terminal.ink(Ink::Strong, &terminal.say(&Heading(queue))));
        if !queue.candidates.is_empty() {
            line(candidates(terminal, state, queue).trim_end_matches('\n'));
        }
    }
    if let Some(sessions) = Sessions::of(state) {
        line("");
        line(&terminal.say(&sessions));
    }
    out
}

fn candidates(terminal: &Terminal, state: &State, queue: &Queue) -> String {
    let mut table = Table::default();
    for (at, candidate) in queue.candidates.iter().enumerate() {
        let standing = Standing(candidate);
        let out = state.sessions.iter().flat_map(|session| &session.quarantined);
        let out = out.filter(|out| out.queue == queue.id && out.route == candidate.route).count();
        table.row([
            Cell::number((at + 1).to_string()).ink(Ink::Dim),
            Cell::new(&candidate.route),
            Cell::new(terminal.say(&standing)).ink(standing.ink()),
            Cell::new(terminal.say(&Counts { candidate, out })).ink(Ink::Dim),
        ]);
    }
    table.lines(terminal, "  ")
}

struct Now<'a>(&'a State);

impl Now<'_> {
    fn left(&self) -> Span {
        Span(self.0.day.ends_ms.saturating_sub(self.0.now_ms))
    }
}

impl Say for Now<'_> {
    fn english(&self) -> String {
        let Open { calls, waiting } = self.0.open;
        let open = if calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") };
        let waiting = if waiting > 0 { format!(", {waiting} waiting") } else { String::new() };
        format!("{open} open{waiting}; the day turns in {}", self.left().english())
    }

    fn chinese(&self) -> String {
        let Open { calls, waiting } = self.0.open;
        let waiting =
            if waiting > 0 { format!("，其中 {waiting} 个在等待") } else { String::new() };
        format!("{calls} 个请求未完成{waiting}；再过 {} 换日", self.left().chinese())
    }
}

/// Records are not kept.
struct NotKept<'a>(&'a str);

impl Say for NotKept<'_> {
    fn english(&self) -> String {
        let why = match self.0 {
            "full" => "the disk is full",
            "locked" => "another program holds the state",
            "behind" => "the disk is too slow",
            "disk" => "the disk refuses",
            "ended" => "its writer has ended",
            other => other,
        };
        format!("what is learnt is not being kept: {why}; calls are served all the same")
    }

    fn chinese(&self) -> String {
        let why = match self.0 {
            "full" => "磁盘已满",
            "locked" => "状态文件被别的程序占用",
            "behind" => "磁盘太慢",
            "disk" => "磁盘拒绝写入",
            "ended" => "写入任务已结束",
            other => other,
        };
        format!("学到的内容暂时无法保存：{why}；请求照常服务")
    }
}

/// A bad edit: the last good one holds (G7).
struct SettingsRefused<'a> {
    settings: &'a Settings,
    first: &'a Problem,
}

impl SettingsRefused<'_> {
    fn place(&self) -> String {
        let file = self.settings.file.as_deref().unwrap_or_default();
        self.first.line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}"))
    }
}

impl Say for SettingsRefused<'_> {
    fn english(&self) -> String {
        format!(
            "the settings cannot be used, the last good ones hold: {}: {}",
            self.place(),
            one_line(&self.first.message)
        )
    }

    fn chinese(&self) -> String {
        let message = one_line(&self.first.message);
        format!("设置不可用，沿用上一份可用的：{}：{message}", self.place())
    }
}

/// What was set and does not hold yet.
struct AfterRestart(String);

impl Say for AfterRestart {
    fn english(&self) -> String {
        format!("holds after the next start: {}", self.0)
    }

    fn chinese(&self) -> String {
        format!("重新启动后才生效：{}", self.0)
    }
}

/// Every queue is off (R0).
struct Off;

impl Say for Off {
    fn english(&self) -> String {
        "`enabled = false`: each queue is one try on its first candidate".to_owned()
    }

    fn chinese(&self) -> String {
        "`enabled = false`：每个队列只在第一个候选上试一次".to_owned()
    }
}

/// Whose calls do not persist; `None`: everybody's (P5).
struct Paused<'a>(Option<&'a str>);

impl Say for Paused<'_> {
    fn english(&self) -> String {
        match self.0.map(|key| one_line(shown(key))) {
            None => "paused: calls do not persist until `ekiden resume`".to_owned(),
            Some(key) => format!(
                "paused: calls of session {key} do not persist until `ekiden resume --session {key}`"
            ),
        }
    }

    fn chinese(&self) -> String {
        match self.0.map(|key| one_line(shown(key))) {
            None => "已暂停：请求不再坚持，直到 `ekiden resume`".to_owned(),
            Some(key) => {
                format!("已暂停：会话 {key} 的请求不再坚持，直到 `ekiden resume --session {key}`")
            }
        }
    }
}

/// A call that waits, by its session.
struct Waits<'a> {
    waiting: &'a Waiting,
    now_ms: u64,
}

impl Waits<'_> {
    fn parts(&self) -> (String, &str, Span) {
        let Waiting { session, queue, since_ms, .. } = self.waiting;
        (one_line(shown(session)), queue, Span(self.now_ms.saturating_sub(*since_ms)))
    }
}

impl Say for Waits<'_> {
    fn english(&self) -> String {
        let (session, queue, span) = self.parts();
        let why = why(&self.waiting.why).map_or_else(String::new, |why| why.english());
        format!("session {session} waits in {queue} {why}, {} so far", span.english())
    }

    fn chinese(&self) -> String {
        let (session, queue, span) = self.parts();
        let why = why(&self.waiting.why).map_or_else(String::new, |why| why.chinese());
        format!("会话 {session} 在 {queue} 中等待：{why}，已 {}", span.chinese())
    }
}

/// So many wait besides.
struct MoreWait(usize);

impl Say for MoreWait {
    fn english(&self) -> String {
        format!("and {} more calls that wait", self.0)
    }

    fn chinese(&self) -> String {
        format!("另有 {} 个请求在等待", self.0)
    }
}

struct Heading<'a>(&'a Queue);

impl Heading<'_> {
    fn parts(&self) -> (String, usize, usize) {
        let Queue { id, name, candidates, .. } = self.0;
        let name = if id == name { id.clone() } else { format!("{id} ({name})") };
        let ready = candidates.iter().filter(|candidate| candidate.state == "ready").count();
        (name, candidates.len(), ready)
    }
}

impl Say for Heading<'_> {
    fn english(&self) -> String {
        match self.parts() {
            (name, 0, _) => format!("queue {name}: no candidates"),
            (name, _, _) if !self.0.enabled => {
                format!("queue {name}: off, one try on the first candidate")
            }
            (name, all, ready) if all == ready => format!("queue {name}: all ready"),
            (name, all, ready) => format!("queue {name}: {ready} of {all} ready"),
        }
    }

    fn chinese(&self) -> String {
        match self.parts() {
            (name, 0, _) => format!("队列 {name}：没有候选"),
            (name, _, _) if !self.0.enabled => {
                format!("队列 {name}：已关闭，只在第一个候选上试一次")
            }
            (name, all, ready) if all == ready => format!("队列 {name}：全部就绪"),
            (name, all, ready) => format!("队列 {name}：{all} 个候选，{ready} 个就绪"),
        }
    }
}

/// The one word for a candidate's state, and when it ends.
struct Standing<'a>(&'a Candidate);

impl Standing<'_> {
    fn ink(&self) -> Ink {
        match self.0.state.as_str() {
            "ready" => Ink::Good,
            "missing" => Ink::Bad,
            _ => Ink::Slow,
        }
    }
}

impl Say for Standing<'_> {
    fn english(&self) -> String {
        let Candidate { state, ends_in_ms, lack, .. } = self.0;
        let ends =
            ends_in_ms.map_or(String::new(), |ms| format!(" for another {}", Span(ms).english()));
        match (state.as_str(), lack) {
            ("missing", Some(lack)) => format!("missing: {lack}"),
            (state, _) => format!("{state}{ends}"),
        }
    }

    fn chinese(&self) -> String {
        let Candidate { state, ends_in_ms, lack, .. } = self.0;
        let ends = ends_in_ms.map_or(String::new(), |ms| format!("，还有 {}", Span(ms).chinese()));
        let state = match (state.as_str(), lack) {
            ("missing", Some(lack)) => return format!("缺失：{lack}"),
            ("ready", _) => "就绪",
            ("cooling", _) => "冷却中",
            ("resting", _) => "收工歇",
            ("probing", _) => "试探中",
            ("missing", None) => "缺失",
            (other, _) => other,
        };
        format!("{state}{ends}")
    }
}

/// What was counted today; nothing where nothing was.
struct Counts<'a> {
    candidate: &'a Candidate,
    /// Sessions for which it is out in this queue.
    out: usize,
}

impl Counts<'_> {
    fn parts(&self, words: [&dyn Fn(u64) -> String; 4]) -> Vec<String> {
        let Candidate { in_flight, today: Today { successes, failures }, .. } = self.candidate;
        let out = u64::try_from(self.out).unwrap_or(u64::MAX);
        let counts = [*in_flight, *successes, *failures, out];
        let named = counts.into_iter().zip(words).filter(|(count, _)| *count > 0);
        named.map(|(count, words)| words(count)).collect()
    }
}

impl Say for Counts<'_> {
    fn english(&self) -> String {
        let out = |n| {
            if n == 1 { "out for 1 session".to_owned() } else { format!("out for {n} sessions") }
        };
        self.parts([
            &|n| format!("{n} running"),
            &|n| format!("{n} answered today"),
            &|n| format!("{n} failed today"),
            &out,
        ])
        .join(", ")
    }

    fn chinese(&self) -> String {
        self.parts([
            &|n| format!("{n} 个运行中"),
            &|n| format!("今日作答 {n} 次"),
            &|n| format!("今日失败 {n} 次"),
            &|n| format!("被 {n} 个会话隔离"),
        ])
        .join("，")
    }
}

/// How many sessions there are, and where more is to be read.
struct Sessions {
    known: usize,
    hurt: usize,
}

impl Sessions {
    fn of(state: &State) -> Option<Self> {
        let hurt = state.sessions.iter().filter(|session| !session.quarantined.is_empty());
        let hurt = hurt.count();
        (state.sessions_known > 0).then_some(Self { known: state.sessions_known, hurt })
    }
}

impl Say for Sessions {
    fn english(&self) -> String {
        let known = if self.known == 1 {
            "1 session".to_owned()
        } else {
            format!("{} sessions", self.known)
        };
        format!("{known}, {} with something quarantined: `ekiden sessions`", self.hurt)
    }

    fn chinese(&self) -> String {
        format!("{} 个会话，其中 {} 个有隔离：`ekiden sessions`", self.known, self.hurt)
    }
}
