//! `ekiden why`: what became of a call. It refuses to guess: every line stands in the gateway's own
//! explanation of the call, or in the journal.

mod passing;

use ekiden_engine::{Class, Reason, WaitFor, Why};

use crate::args::Form;
use crate::failure::{Ended, Failure};
use crate::running::{self, Api, AttemptTold, CallTold, EntryTold, EvidenceTold, ToldWord};
use crate::terminal::{Ink, Say, Terminal};
use crate::words::Span;

pub(crate) use passing::{PassedOver, Passing, not_reached, passed_over};

/// Tells what became of a call.
///
/// # Errors
/// When there is no gateway or no such call.
pub(crate) fn run(
    terminal: &Terminal,
    call: &str,
    url: Option<&str>,
    form: Form,
) -> Result<Ended, Failure> {
    let api = Api::at(url);
    running::block_on(async {
        let id = api.call_id(terminal, call).await?;
        match form {
            Form::Json => {
                api.call(terminal, &id).await?;
                terminal.line(api.call_text(terminal, &id).await?.trim_end())?;
            }
            Form::Words => terminal.raw(&story(terminal, &api, &id).await?)?,
        }
        Ok(Ended::Well)
    })
}

/// Everything that is known of a call.
pub(crate) struct Past {
    pub(crate) call: CallTold,
    journal: Vec<EntryTold>,
}

/// Asks for everything that is known of a call.
///
/// # Errors
/// When there is no gateway or no such call.
pub(crate) async fn past(terminal: &Terminal, api: &Api, id: &str) -> Result<Past, Failure> {
    let id = &api.call_id(terminal, id).await?;
    let call = api.call(terminal, id).await?;
    let journal = api.journal(terminal, Some(&call)).await?;
    Ok(Past { call, journal })
}

/// A call's story, a line a step.
///
/// # Errors
/// When there is no gateway or no such call.
pub(crate) async fn story(terminal: &Terminal, api: &Api, id: &str) -> Result<String, Failure> {
    let past = past(terminal, api, id).await?;
    let call = &past.call;
    let mut lines = vec![terminal.ink(Ink::Strong, &terminal.say(&Heading(call)))];
    if call.is_open() {
        lines.push(format!("  {}", terminal.say(&StillOpen(call.took_ms))));
        return Ok(lines.join("\n") + "\n");
    }
    let stamp = |ms| terminal.ink(Ink::Dim, &format!("{:>10}", terminal.say(&Span(ms))));
    let steps = past.steps();
    for (at, step) in steps.iter().enumerate() {
        let told = step.say(terminal);
        lines.push(format!("{}  {told}", stamp(step.at_ms(call))));
        if let Step::Attempt(attempt) = step {
            let again = |step: &Step<'_>| matches!(step, Step::Attempt(other) if other.route == attempt.route);
            let is_last = !steps.iter().skip(at + 1).any(again);
            let failed = attempt.class.is_some() && is_last;
            let led_to = past.recorded(&attempt.route).next().filter(|_| failed);
            let led_to = led_to.and_then(Consequence::of);
            lines.extend(led_to.map(|it| format!("{:>10}    {}", "", terminal.say(&it))));
        }
    }
    let rest = not_reached(&call.steps);
    if !rest.is_empty() {
        let told = terminal.ink(Ink::Dim, &terminal.say(&NotReached(&rest)));
        lines.push(format!("{:>10}  {told}", ""));
    }
    let ending = Ending { call };
    let ink = if ending.is_good() { Ink::Good } else { Ink::Bad };
    let told = terminal.ink(ink, &terminal.say(&ending));
    lines.push(format!("{}  {told}", stamp(call.took_ms)));
    Ok(lines.join("\n") + "\n")
}

impl Past {
    /// What happened, in order.
    pub(crate) fn steps(&self) -> Vec<Step<'_>> {
        steps(&self.call)
    }

    /// What this call's failures led to on a route.
    pub(crate) fn recorded<'p>(&'p self, route: &'p str) -> impl Iterator<Item = &'p EntryTold> {
        self.journal.iter().filter(move |entry| {
            entry.call.as_deref() == Some(&self.call.call)
                && entry.route.as_deref() == Some(route)
                && Consequence::of(entry).is_some()
        })
    }
}

/// One thing that happened, in order.
pub(crate) enum Step<'a> {
    /// A candidate was passed over.
    Passed { route: &'a str, passing: Passing, at_ms: u64 },
    /// It was tried.
    Attempt(&'a AttemptTold),
    /// The call waited.
    Waited { ms: u64, why: Why, at_ms: u64 },
    /// What came next was not kept.
    LeftOut { records: u32, at_ms: u64 },
}

/// What happened, as far as it tells something: each candidate's being passed over once a reason,
/// attempts by their end.
fn steps(call: &CallTold) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    let mut told: Vec<(&str, Passing)> = Vec::new();
    for step in &call.steps {
        let at_ms = step.at_ms;
        match step.step.as_str() {
            "passed_over" => {
                let Some((route, passing)) = step.route.as_deref().zip(Passing::of(step)) else {
                    continue;
                };
                // A cooldown that goes on is no news, nor is it that this call has tried somebody.
                let news = (route, passing.without_span());
                if passing != Passing::Over(Reason::Tried) && !told.contains(&news) {
                    told.push(news);
                    steps.push(Step::Passed { route, passing, at_ms });
                }
            }
            "began" => {
                let attempt = call.attempts.iter().find(|it| Some(it.attempt) == step.attempt);
                steps.extend(attempt.map(Step::Attempt));
            }
            "paused" | "waited" => {
                let why = step.why.as_deref().and_then(why);
                steps.extend(why.map(|why| Step::Waited { ms: step.ms.unwrap_or(0), why, at_ms }));
            }
            "left_out" => {
                let records = step.records.unwrap_or(0);
                steps.push(Step::LeftOut { records, at_ms });
            }
            _ => {}
        }
    }
    steps
}

/// The wait behind a code of the API.
pub(crate) fn why(code: &str) -> Option<Why> {
    Some(match code {
        "retry_pause" => Why::RetryPause,
        "named_wait" => Why::NamedWait,
        "continue_delay" => Why::ContinueDelay,
        "local_network" => Why::LocalNetwork,
        "cooldown" => Why::Candidate(WaitFor::Cooldown),
        "rest" => Why::Candidate(WaitFor::Rest),
        "parole" => Why::Candidate(WaitFor::Parole),
        "stand_in" => Why::Candidate(WaitFor::StandIn),
        "seat" => Why::Candidate(WaitFor::Seat),
        "probe" => Why::Candidate(WaitFor::Probe),
        "round" => Why::Candidate(WaitFor::Round),
        _ => return None,
    })
}

impl Step<'_> {
    fn at_ms(&self, call: &CallTold) -> u64 {
        match self {
            Self::Passed { at_ms, .. }
            | Self::Waited { at_ms, .. }
            | Self::LeftOut { at_ms, .. } => *at_ms,
            Self::Attempt(attempt) => attempt.began_ms.saturating_sub(call.began_ms),
        }
    }

    fn say(&self, terminal: &Terminal) -> String {
        match self {
            Self::Passed { route, passing, .. } => {
                terminal.ink(Ink::Dim, &terminal.say(&PassedOver { route, passing }))
            }
            Self::Attempt(attempt) => {
                let ink = attempt.class().map_or(Ink::Good, ink_of);
                terminal.ink(ink, &terminal.say(&Tried(attempt)))
            }
            Self::Waited { ms, why, .. } => terminal.say(&Waited { ms: *ms, why: *why }),
            Self::LeftOut { records, .. } => terminal.say(&LeftOut(*records)),
        }
    }
}

/// The colour of an end.
pub(crate) const fn ink_of(class: Class) -> Ink {
    match class {
        Class::RateLimited | Class::Overloaded | Class::Timeout | Class::Stall => Ink::Slow,
        Class::TransportRemote | Class::EmptyResponse | Class::LocalNetwork => Ink::Broken,
        Class::Truncated | Class::Aborted => Ink::Dim,
        Class::ServerError
        | Class::QuotaExhausted
        | Class::Auth
        | Class::NotFound
        | Class::InvalidRequest
        | Class::ContentFilter
        | Class::ContextOverflow => Ink::Bad,
    }
}

/// What was recorded against a candidate.
pub(crate) enum Consequence<'j> {
    /// This conversation leaves it alone.
    Quarantined(&'j EntryTold),
    /// Everybody leaves it alone for a while.
    Cooled(u64),
}

impl<'j> Consequence<'j> {
    pub(crate) fn of(entry: &'j EntryTold) -> Option<Self> {
        match entry.what.as_str() {
            "quarantined" => Some(Self::Quarantined(entry)),
            "cooled" => Some(Self::Cooled(entry.ms.unwrap_or(0))),
            _ => None,
        }
    }
}

impl Say for Consequence<'_> {
    fn english(&self) -> String {
        match self {
            Self::Quarantined(EntryTold { until_ms: Some(_), .. }) => {
                "quarantined: this session leaves it alone until its own reset".to_owned()
            }
            Self::Quarantined(_) => "quarantined: this session leaves it alone".to_owned(),
            Self::Cooled(ms) => format!("cools for {}, for everybody", Span(*ms).english()),
        }
    }

    fn chinese(&self) -> String {
        match self {
            Self::Quarantined(EntryTold { until_ms: Some(_), .. }) => {
                "已隔离：本会话不再用它，直到它自己的重置时刻".to_owned()
            }
            Self::Quarantined(_) => "已隔离：本会话不再用它".to_owned(),
            Self::Cooled(ms) => format!("对所有会话冷却 {}", Span(*ms).chinese()),
        }
    }
}

struct Heading<'a>(&'a CallTold);

impl Say for Heading<'_> {
    fn english(&self) -> String {
        let CallTold { call, queue, dialect, streamed, .. } = self.0;
        let way = if *streamed { "streamed" } else { "not streamed" };
        format!("call {call}, queue {queue}, {dialect}, {way}")
    }

    fn chinese(&self) -> String {
        let CallTold { call, queue, dialect, streamed, .. } = self.0;
        let way = if *streamed { "流式" } else { "非流式" };
        format!("请求 {call}，队列 {queue}，{dialect}，{way}")
    }
}

/// A trace was long, and its end was not kept.
pub(crate) struct LeftOut(pub(crate) u32);

impl Say for LeftOut {
    fn english(&self) -> String {
        format!("the trace is not whole: {} later records were not kept", self.0)
    }

    fn chinese(&self) -> String {
        format!("轨迹不完整：其后 {} 条记录未保留", self.0)
    }
}

/// Those whose turn did not come.
struct NotReached<'a>(&'a [&'a str]);

impl Say for NotReached<'_> {
    fn english(&self) -> String {
        format!("not asked, since their turn did not come: {}", self.0.join(", "))
    }

    fn chinese(&self) -> String {
        format!("没轮到，未请求：{}", self.0.join("、"))
    }
}

struct StillOpen(u64);

impl Say for StillOpen {
    fn english(&self) -> String {
        format!("has been running for {}; ask again when it is over", Span(self.0).english())
    }

    fn chinese(&self) -> String {
        format!("已运行 {}，结束后再来查看", Span(self.0).chinese())
    }
}

/// An attempt with its end and what was said.
struct Tried<'a>(&'a AttemptTold);

impl Tried<'_> {
    fn said(&self) -> String {
        self.0.evidence.as_ref().and_then(EvidenceTold::words).unwrap_or_default()
    }
}

impl Say for Tried<'_> {
    fn english(&self) -> String {
        let AttemptTold { attempt, route, took_ms, .. } = self.0;
        let end = self.0.class().map_or("answered".to_owned(), |class| class.english());
        let said = self.said();
        let said = if said.is_empty() { said } else { format!(" ({said})") };
        format!("{route}: attempt {attempt}, {} {}{said}", end, after(*took_ms))
    }

    fn chinese(&self) -> String {
        let AttemptTold { attempt, route, took_ms, .. } = self.0;
        let end = self.0.class().map_or("作答".to_owned(), |class| class.chinese());
        let said = self.said();
        let said = if said.is_empty() { said } else { format!("（{said}）") };
        format!("{route}：第 {attempt} 次尝试，{}后{end}{said}", Span(*took_ms).chinese())
    }
}

fn after(took_ms: u64) -> String {
    format!("after {}", Span(took_ms).english())
}

/// Before a candidate's own next attempt, the wait is as long as it says; where nothing can run, it
/// ends as soon as something can.
struct Waited {
    ms: u64,
    why: Why,
}

impl Say for Waited {
    fn english(&self) -> String {
        let (span, why) = (Span(self.ms).english(), self.why.english());
        match self.why {
            Why::Candidate(_) => format!("nothing could run: waited up to {span} {why}"),
            Why::RetryPause | Why::NamedWait | Why::ContinueDelay | Why::LocalNetwork => {
                format!("waited {span} {why}")
            }
            Why::Clock(_)
            | Why::Running
            | Why::ClientBlocked
            | Why::Lease
            | Why::Admission
            | Why::Over => format!("{span}: {why}"),
        }
    }

    fn chinese(&self) -> String {
        let (span, why) = (Span(self.ms).chinese(), self.why.chinese());
        match self.why {
            Why::Candidate(_) => format!("无候选可运行：最多等 {span}（{why}）"),
            Why::RetryPause | Why::NamedWait | Why::ContinueDelay | Why::LocalNetwork => {
                format!("等待 {span}（{why}）")
            }
            Why::Clock(_)
            | Why::Running
            | Why::ClientBlocked
            | Why::Lease
            | Why::Admission
            | Why::Over => format!("{span}：{why}"),
        }
    }
}

/// What the client got.
struct Ending<'a> {
    call: &'a CallTold,
}

impl Ending<'_> {
    fn is_good(&self) -> bool {
        matches!(self.call.state.as_str(), "whole" | "truncated")
    }

    fn route(&self) -> &str {
        self.call.route.as_deref().unwrap_or_default()
    }
}

impl Say for Ending<'_> {
    fn english(&self) -> String {
        let told = self.call.told.as_ref();
        let what = match (self.call.state.as_str(), told.map(|told| told.code.as_str())) {
            ("whole", _) => format!("the whole answer of {}", self.route()),
            ("truncated", _) => format!("the answer of {}, cut by its token limit", self.route()),
            ("left", _) => return "the client left; nobody is blamed".to_owned(),
            ("stopped", _) => {
                return "somebody stopped the call, and the client was told so; nobody is blamed"
                    .to_owned();
            }
            (_, Some(_)) => told.map(Say::english).unwrap_or_default(),
            (state, None) => state.to_owned(),
        };
        format!("the client got {what}")
    }

    fn chinese(&self) -> String {
        let told = self.call.told.as_ref();
        let what = match (self.call.state.as_str(), told.map(|told| told.code.as_str())) {
            ("whole", _) => format!("{} 的完整回答", self.route()),
            ("truncated", _) => format!("{} 的回答，被输出上限截断", self.route()),
            ("left", _) => return "客户端离开；不追究任何候选".to_owned(),
            ("stopped", _) => {
                return "有人停止了这次请求，客户端已被告知；不追究任何候选".to_owned();
            }
            (_, Some(_)) => told.map(Say::chinese).unwrap_or_default(),
            (state, None) => state.to_owned(),
        };
        format!("客户端得到：{what}")
    }
}

impl ToldWord {
    /// What broke the answer.
    fn class(&self) -> Option<Class> {
        Class::from_name(self.class.as_deref()?)
    }
}

/// What a client gets instead of a whole answer.
impl Say for ToldWord {
    fn english(&self) -> String {
        match self.code.as_str() {
            "as_it_came" => "a candidate's error, as it came".to_owned(),
            "overflow" => "its own overflow error, so that it compacts".to_owned(),
            "come_back" => format!("429: come back in {} s", self.seconds.unwrap_or(0)),
            "do_not_retry" => {
                "an error that says not to retry: nothing comes back today".to_owned()
            }
            "empty_queue" => "an error: the queue has no candidates".to_owned(),
            "local_network" => "an error: this machine's network is in trouble".to_owned(),
            "deadline" => "an error: the call's own time was up".to_owned(),
            "stopped" => "an error: somebody stopped the call".to_owned(),
            "broken" => {
                let why =
                    self.class().map_or(String::new(), |class| format!(": {}", class.english()));
                format!("an error instead of the answer's end{why}")
            }
            other => other.to_owned(),
        }
    }

    fn chinese(&self) -> String {
        match self.code.as_str() {
            "as_it_came" => "候选的错误，原样转达".to_owned(),
            "overflow" => "其协议的超长错误，让它自行压缩".to_owned(),
            "come_back" => format!("429：{} 秒后再来", self.seconds.unwrap_or(0)),
            "do_not_retry" => "「不要重试」的错误：今天不会恢复".to_owned(),
            "empty_queue" => "错误：队列没有候选".to_owned(),
            "local_network" => "错误：本机网络有问题".to_owned(),
            "deadline" => "错误：请求自身的时间已到".to_owned(),
            "stopped" => "错误：有人停止了这次请求".to_owned(),
            "broken" => {
                let why =
                    self.class().map_or(String::new(), |class| format!("：{}", class.chinese()));
                format!("错误，而不是回答的结尾{why}")
            }
            other => other.to_owned(),
        }
    }
}
