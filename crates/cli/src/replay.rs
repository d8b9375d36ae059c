//! `ekiden replay`: a recorded call is decided again. It refuses to judge whether the decisions were
//! good; it says whether they are the same.

use std::io::Read;
use std::path::Path;

use ekiden_engine::trace::{Divergence, Record};
use ekiden_engine::{AttemptInput, Decision, Input, Moved, Passed, Reason, Trace};

use crate::failure::{Ended, Failure};
use crate::running::{self, Api, CallTold};
use crate::terminal::{Ink, Say, Terminal};
use crate::why::LeftOut;
use crate::words::Span;

/// Traces are a few megabytes at most.
const TRACE_MAX_BYTES: u64 = 64 << 20;

/// Decides a trace again.
///
/// # Errors
/// When there is no trace to be had.
pub(crate) fn run(terminal: &Terminal, trace: &str, url: Option<&str>) -> Result<Ended, Failure> {
    let found = find(terminal, trace, url)?;
    let trace = Trace::from_text(&found.text).map_err(|(line, bad)| {
        let broken = Broken { name: found.name.clone(), line, what: bad.to_string() };
        Failure::trouble(terminal, &broken, Some(&TakeItWhole))
    })?;
    let difference = trace.replay().err();
    let names = Names(found.names);
    let until = difference.as_ref().map_or(usize::MAX, |difference| difference.record - 1);
    for (record, moved) in trace.records.iter().zip(trace.moved()).take(until) {
        tell(terminal, &names, &trace, (record, &moved))?;
    }
    match difference {
        None => {
            let decided = |record: &&Record| matches!(record, Record::Admitted { .. });
            let count = trace.records.iter().filter(decided).count();
            terminal.line(&terminal.ink(Ink::Good, &terminal.say(&Same(count))))?;
            if trace.left_out > 0 {
                terminal.line(&terminal.say(&LeftOut(trace.left_out)))?;
            }
            Ok(Ended::Well)
        }
        Some(difference) => {
            let differs = Differs { difference, names: &names };
            terminal.line(&terminal.ink(Ink::Bad, &terminal.say(&differs)))?;
            Ok(Ended::Badly)
        }
    }
}

/// A trace's text, where it comes from, and the routes of its queue, where they are known.
struct Found {
    name: String,
    text: String,
    names: Vec<String>,
}

fn find(terminal: &Terminal, trace: &str, url: Option<&str>) -> Result<Found, Failure> {
    if trace == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().lock().take(TRACE_MAX_BYTES).read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        return Ok(Found { name: "-".to_owned(), text, names: Vec::new() });
    }
    let path = Path::new(trace);
    if path.exists() || url.is_none() && looks_like_a_path(trace) {
        let bytes = std::fs::read(path).map_err(|error| {
            let unreadable = Unreadable { name: trace.to_owned(), what: error.to_string() };
            Failure::trouble(terminal, &unreadable, Some(&NameATrace))
        })?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        return Ok(Found { name: trace.to_owned(), text, names: Vec::new() });
    }
    let api = Api::at(url);
    running::block_on(async {
        let id = api.call_id(terminal, trace).await?;
        let call = api.call(terminal, &id).await?;
        let text = api.trace_text(terminal, &id).await?;
        let names = api.routes(terminal, &call.queue).await?;
        let names = if fits(&names, &text, &call) { names } else { Vec::new() };
        Ok(Found { name: id, text, names })
    })
}

/// Whether the queue's routes are still those that the call had.
fn fits(names: &[String], text: &str, call: &CallTold) -> bool {
    let Ok(trace) = Trace::from_text(text) else { return false };
    trace.spec.queue.candidates.len() == names.len()
        && trace.records.iter().all(|record| match record {
            Record::Admitted { decision: Decision::Go(start), .. } => {
                let told = call.attempts.iter().find(|told| told.attempt == start.attempt.0);
                told.is_none_or(|told| names.get(start.candidate as usize) == Some(&told.route))
            }
            Record::Admitted { .. } | Record::Fed { .. } => true,
        })
}

/// A call's id has neither a separator nor an extension.
fn looks_like_a_path(text: &str) -> bool {
    text.contains(['/', '\\', '.'])
}

/// Says what a record holds, and whom it had moved back; what led nowhere is left out.
fn tell(
    terminal: &Terminal,
    names: &Names,
    trace: &Trace,
    (record, moved): (&Record, &[Moved]),
) -> Result<(), Failure> {
    let began = trace.records.first().map_or(0, instant_ms);
    let at = Span(instant_ms(record).saturating_sub(began));
    let stamp = terminal.ink(Ink::Dim, &format!("{:>10}", terminal.say(&at)));
    match record {
        Record::Admitted { passed, decision, .. } => {
            // That this call has tried it stands above.
            for passed in passed.iter().filter(|passed| passed.reason != Reason::Tried) {
                terminal
                    .line(&format!("{stamp}  {}", terminal.say(&PassedOver { passed, names })))?;
            }
            for moved in moved {
                let back = FurtherBack { moved: *moved, names };
                terminal.line(&format!("{stamp}  {}", terminal.say(&back)))?;
            }
            let decided = terminal.say(&Decided { decision: *decision, names });
            terminal.line(&format!("{stamp}  {}", terminal.ink(Ink::Strong, &decided)))?;
        }
        Record::Fed { input, .. } => {
            if let Some(happened) = Happened::of(*input) {
                terminal.line(&format!("{stamp}    {}", terminal.say(&happened)))?;
            }
        }
    }
    Ok(())
}

fn instant_ms(record: &Record) -> u64 {
    match record {
        Record::Admitted { now, .. } | Record::Fed { now, .. } => now.mono_ms,
    }
}

/// The routes of a queue by their place, where they are known.
struct Names(Vec<String>);

impl Names {
    fn english(&self, candidate: u32) -> String {
        self.known(candidate).unwrap_or_else(|| format!("candidate {}", candidate + 1))
    }

    fn chinese(&self, candidate: u32) -> String {
        self.known(candidate).unwrap_or_else(|| format!("候选 {}", candidate + 1))
    }

    fn known(&self, candidate: u32) -> Option<String> {
        self.0.get(candidate as usize).cloned()
    }
}

struct PassedOver<'a> {
    passed: &'a Passed,
    names: &'a Names,
}

impl Say for PassedOver<'_> {
    fn english(&self) -> String {
        let Passed { candidate, reason } = self.passed;
        format!("passes over {}: {}", self.names.english(*candidate), reason.english())
    }

    fn chinese(&self) -> String {
        let Passed { candidate, reason } = self.passed;
        format!("跳过{}：{}", self.names.chinese(*candidate), reason.chinese())
    }
}

struct FurtherBack<'a> {
    moved: Moved,
    names: &'a Names,
}

impl Say for FurtherBack<'_> {
    fn english(&self) -> String {
        let Moved { candidate, why } = self.moved;
        format!("further back, {}: {}", self.names.english(candidate), why.english())
    }

    fn chinese(&self) -> String {
        let Moved { candidate, why } = self.moved;
        format!("靠后，{}：{}", self.names.chinese(candidate), why.chinese())
    }
}

struct Decided<'a> {
    decision: Decision,
    names: &'a Names,
}

impl Say for Decided<'_> {
    fn english(&self) -> String {
        let name = |candidate: u32| self.names.english(candidate);
        match self.decision {
            Decision::Go(start) => {
                let repaired = if start.repair { ", with a mended request" } else { "" };
                let (attempt, mode) = (start.attempt.0, start.mode.english());
                format!("attempt {attempt}: {} ({mode}){repaired}", name(start.candidate))
            }
            Decision::Lease { candidate } => format!("asks for a seat on {}", name(candidate)),
            Decision::Pause { ms, why } => {
                format!("waits {} {}", Span(ms).english(), why.english())
            }
            Decision::Wait { ms, why } => {
                format!("nothing can run; waits up to {} {}", Span(ms).english(), why.english())
            }
            Decision::Judge { candidate, verdict } => {
                format!("{}: {}", name(candidate), verdict.english())
            }
            Decision::Exhausted(word) => format!("the client gets {}", word.english()),
        }
    }

    fn chinese(&self) -> String {
        let name = |candidate: u32| self.names.chinese(candidate);
        match self.decision {
            Decision::Go(start) => {
                let repaired = if start.repair { "，请求经过修补" } else { "" };
                let (attempt, mode) = (start.attempt.0, start.mode.chinese());
                format!("第 {attempt} 次尝试：{}（{mode}）{repaired}", name(start.candidate))
            }
            Decision::Lease { candidate } => format!("申请{}的席位", name(candidate)),
            Decision::Pause { ms, why } => {
                format!("等待 {}（{}）", Span(ms).chinese(), why.chinese())
            }
            Decision::Wait { ms, why } => {
                format!("无候选可运行，最多等 {}（{}）", Span(ms).chinese(), why.chinese())
            }
            Decision::Judge { candidate, verdict } => {
                format!("{}：{}", name(candidate), verdict.chinese())
            }
            Decision::Exhausted(word) => format!("客户端得到：{}", word.chinese()),
        }
    }
}

/// What a call was told and a reader wants to know.
enum Happened {
    Attempt(u32, AttemptInput),
    Gone,
    Woken,
    TimeUp,
    Stopped,
}

impl Happened {
    fn of(input: Input) -> Option<Self> {
        match input {
            Input::Attempt(_, AttemptInput::Sent | AttemptInput::Chunk { .. }) => None,
            Input::Attempt(attempt, what) => Some(Self::Attempt(attempt.0, what)),
            Input::ClientGone => Some(Self::Gone),
            Input::Woken => Some(Self::Woken),
            Input::Tick => Some(Self::TimeUp),
            Input::Stop => Some(Self::Stopped),
            Input::ClientBlocked | Input::ClientReady => None,
        }
    }
}

impl Say for Happened {
    fn english(&self) -> String {
        match self {
            Self::Attempt(attempt, what) => format!("attempt {attempt}: {}", what.english()),
            Self::Gone => "the client left".to_owned(),
            Self::Woken => "what it waits for may have come".to_owned(),
            Self::TimeUp => "a clock or a wait ran out".to_owned(),
            Self::Stopped => "somebody stopped it".to_owned(),
        }
    }

    fn chinese(&self) -> String {
        match self {
            Self::Attempt(attempt, what) => format!("第 {attempt} 次尝试：{}", what.chinese()),
            Self::Gone => "客户端离开".to_owned(),
            Self::Woken => "所等的可能来了".to_owned(),
            Self::TimeUp => "时限或等待到点".to_owned(),
            Self::Stopped => "有人叫停".to_owned(),
        }
    }
}

struct Same(usize);

impl Say for Same {
    fn english(&self) -> String {
        match self.0 {
            1 => "the same decision".to_owned(),
            count => format!("the same {count} decisions"),
        }
    }

    fn chinese(&self) -> String {
        format!("{} 个决定全部相同", self.0)
    }
}

struct Differs<'a> {
    difference: Divergence,
    names: &'a Names,
}

impl Say for Differs<'_> {
    fn english(&self) -> String {
        let Divergence { record, recorded, replayed } = self.difference;
        let words = |decision| Decided { decision, names: self.names }.english();
        let (then, now) = (words(recorded), words(replayed));
        format!("record {record} differs\n  recorded: {then}\n  now:      {now}")
    }

    fn chinese(&self) -> String {
        let Divergence { record, recorded, replayed } = self.difference;
        let words = |decision| Decided { decision, names: self.names }.chinese();
        let (then, now) = (words(recorded), words(replayed));
        format!("第 {record} 条记录不同\n  当时：{then}\n  现在：{now}")
    }
}

struct Broken {
    name: String,
    line: usize,
    what: String,
}

impl Say for Broken {
    fn english(&self) -> String {
        format!("{}:{}: this is no trace: {}", self.name, self.line, self.what)
    }

    fn chinese(&self) -> String {
        format!("{}:{}：这不是轨迹：{}", self.name, self.line, self.what)
    }
}

struct TakeItWhole;

impl Say for TakeItWhole {
    fn english(&self) -> String {
        "take it whole from /api/v1/calls/CALL/trace; its first line is `ekiden-trace 2`".to_owned()
    }

    fn chinese(&self) -> String {
        "请从 /api/v1/calls/CALL/trace 完整取得；第一行是 `ekiden-trace 2`".to_owned()
    }
}

struct Unreadable {
    name: String,
    what: String,
}

impl Say for Unreadable {
    fn english(&self) -> String {
        format!("{} cannot be read: {}", self.name, self.what)
    }

    fn chinese(&self) -> String {
        format!("无法读取 {}：{}", self.name, self.what)
    }
}

struct NameATrace;

impl Say for NameATrace {
    fn english(&self) -> String {
        "name a trace's file, `-`, or a call's id at the running gateway".to_owned()
    }

    fn chinese(&self) -> String {
        "请给出轨迹文件、`-`，或正在运行的网关上的请求 id".to_owned()
    }
}
