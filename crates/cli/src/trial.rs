//! `ekiden test`: every candidate of a queue is asked straight (R39). It refuses to draw conclusions:
//! nothing is kept.

use std::time::Duration;

use ekiden_engine::Class;
use http::Method;
use serde::Deserialize;

use crate::args::{Form, TestArgs};
use crate::failure::{Ended, Failure};
use crate::running::{self, Api, EvidenceTold, encoded};
use crate::table::{Cell, Table};
use crate::terminal::{Ink, Say, Terminal};
use crate::words::Span;

/// What a candidate may take, how many are asked at once (R39), and what all may take beyond that.
const EACH: Duration = Duration::from_secs(15);
const AT_ONCE: usize = 4;
const ROOM: Duration = Duration::from_secs(15);

#[derive(Debug, Deserialize)]
struct Tested {
    candidates: Vec<Candidate>,
}

#[derive(Debug, Deserialize)]
struct Candidate {
    route: String,
    ok: bool,
    took_ms: u64,
    #[serde(default)]
    class: Option<String>,
    #[serde(flatten)]
    said: EvidenceTold,
}

/// Asks every candidate, and says what became of it.
///
/// # Errors
/// When there is no gateway, or no such queue.
pub(crate) fn run(terminal: &Terminal, args: &TestArgs) -> Result<Ended, Failure> {
    let api = Api::at(args.asking.url.as_deref());
    let path = format!("/api/v1/queues/{}/test", encoded(&args.queue));
    let text = running::block_on(async {
        let candidates = api.routes(terminal, &args.queue).await?.len();
        let rounds = u32::try_from(candidates.div_ceil(AT_ONCE)).unwrap_or(u32::MAX);
        let limit = EACH.saturating_mul(rounds).saturating_add(ROOM);
        let asking = api.send(terminal, Method::POST, &path, None, limit);
        terminal.while_waiting(&Asking(candidates), asking).await
    })?;
    let tested: Tested = api.parsed(terminal, &text)?;
    match args.asking.form() {
        Form::Json => terminal.line(text.trim_end())?,
        Form::Words if tested.candidates.is_empty() => terminal.tell(&NoCandidates)?,
        Form::Words => terminal.raw(&told(terminal, &tested))?,
    }
    let all = !tested.candidates.is_empty() && tested.candidates.iter().all(|it| it.ok);
    Ok(if all { Ended::Well } else { Ended::Badly })
}

fn told(terminal: &Terminal, tested: &Tested) -> String {
    let mut table = Table::default();
    for (at, candidate) in tested.candidates.iter().enumerate() {
        let outcome = Outcome(candidate);
        let ink = if candidate.ok { Ink::Good } else { Ink::Bad };
        table.row([
            Cell::number((at + 1).to_string()).ink(Ink::Dim),
            Cell::new(&candidate.route),
            Cell::number(terminal.say(&Span(candidate.took_ms))),
            Cell::new(terminal.say(&outcome)).ink(ink),
            Cell::new(candidate.said.words().unwrap_or_default()).ink(Ink::Dim),
        ]);
    }
    table.lines(terminal, "")
}

/// While it takes its time.
struct Asking(usize);

impl Say for Asking {
    fn english(&self) -> String {
        format!("asking {} candidates, four at a time, 15 s each at most", self.0)
    }

    fn chinese(&self) -> String {
        format!("正在询问 {} 个候选，同时四个，每个最多 15 秒", self.0)
    }
}

struct NoCandidates;

impl Say for NoCandidates {
    fn english(&self) -> String {
        "this queue has no candidates".to_owned()
    }

    fn chinese(&self) -> String {
        "这个队列没有候选".to_owned()
    }
}

struct Outcome<'a>(&'a Candidate);

impl Outcome<'_> {
    fn class(&self) -> Option<Class> {
        Class::from_name(self.0.class.as_deref()?)
    }
}

impl Say for Outcome<'_> {
    fn english(&self) -> String {
        match self.class() {
            None => "answers".to_owned(),
            Some(class) => class.english(),
        }
    }

    fn chinese(&self) -> String {
        match self.class() {
            None => "作答".to_owned(),
            Some(class) => class.chinese(),
        }
    }
}
