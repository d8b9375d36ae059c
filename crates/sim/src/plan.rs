//! From an act to the steps on the wire. A plan is made before the first byte is sent and does not
//! look at the client; playing it is the exchange's part.

use std::time::Duration;

use bytes::Bytes;

use crate::act::{Act, After, Answer, Coding, Fault, Place, Prefill, ResetPoint, Status, Trouble};
use crate::dialect::{Frame, Kind, Turn, model_list};
use crate::gzip::Gzip;
use crate::pen::Extent;
use crate::request::Endpoint;

/// One step of an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Head {
        code: u16,
        headers: Vec<(String, String)>,
        extent: Extent,
    },
    /// A part of the body.
    Body(Bytes),
    /// A part of the body that is one event.
    Event(Bytes),
    /// Bytes that are not framed as HTTP would frame them.
    Raw(Bytes),
    /// This event for ever, with this between one and the next.
    Repeat(Bytes, Duration),
    Wait(Duration),
    Forever,
}

/// What is done after the last step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Last {
    /// The body is ended as its framing says, and the connection has this fate.
    Whole(After),
    /// The connection is closed as it stands.
    Close,
    /// The connection is reset.
    Reset,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    pub(crate) last: Last,
    /// Bytes written at once; 0 sets no limit.
    pub(crate) bite: usize,
}

impl Plan {
    fn new(steps: Vec<Step>, last: Last) -> Plan {
        Plan { steps, last, bite: 0 }
    }
}

/// Where the length of a chunk should stand.
const NO_LENGTH: &[u8] = b"what follows has no length\r\n";

const EVENT_STREAM: &str = "text/event-stream; charset=utf-8";
const JSON: &str = "application/json";

/// `models` is what the upstream's model list shows.
pub(crate) fn plan(act: &Act, turn: &Turn, models: &[String]) -> Plan {
    match act {
        Act::Answer(answer)
            if answer.prefill == Prefill::Refused && turn.ask.ends_with_assistant =>
        {
            status(&Status::of(Trouble::Prefill), turn)
        }
        Act::Answer(answer) if turn.ask.streaming => stream(answer, turn),
        Act::Answer(answer) => whole(answer, turn, models),
        Act::Status(parts) => status(parts, turn),
        Act::Reset(ResetPoint::Head | ResetPoint::Request) => Plan::new(Vec::new(), Last::Reset),
        Act::Hang => Plan::new(vec![Step::Forever], Last::Close),
        Act::HeadersThenSilence => {
            let head = head(turn, content_type(turn), &Answer::default(), Extent::Chunked);
            Plan::new(vec![head, Step::Forever], Last::Close)
        }
        Act::Html => {
            let page = "<!DOCTYPE html>\n<html><head><title>Welcome</title></head>\
                        <body><h1>It works!</h1></body></html>\n";
            let extent = Extent::Length(page.len() as u64);
            let head = head(turn, "text/html; charset=utf-8", &Answer::default(), extent);
            let steps = vec![head, Step::Body(Bytes::from_static(page.as_bytes()))];
            Plan::new(steps, Last::Whole(After::KeepAlive))
        }
        Act::ZeroBytes => {
            let head = head(turn, content_type(turn), &Answer::default(), Extent::Length(0));
            Plan::new(vec![head], Last::Whole(After::KeepAlive))
        }
    }
}

fn status(status: &Status, turn: &Turn) -> Plan {
    let trouble = status.trouble.unwrap_or_else(|| Trouble::from_code(status.code));
    let body = status.body.clone().unwrap_or_else(|| turn.error(trouble).to_string());
    let mut headers = vec![("content-type".to_owned(), JSON.to_owned()), request_id(turn)];
    if let Some(wait) = &status.retry_after {
        headers.push(("retry-after".to_owned(), wait.clone()));
    }
    for (name, value) in &status.headers {
        headers.retain(|(usual, _)| !usual.eq_ignore_ascii_case(name));
        headers.push((name.clone(), value.clone()));
    }
    let bodiless = matches!(status.code, 100..=199 | 204 | 304);
    let extent = if bodiless { Extent::NoBody } else { Extent::Length(body.len() as u64) };
    let mut steps = vec![Step::Head { code: status.code, headers, extent }];
    if !bodiless {
        steps.push(Step::Body(Bytes::from(body)));
    }
    Plan::new(steps, Last::Whole(After::KeepAlive))
}

fn stream(answer: &Answer, turn: &Turn) -> Plan {
    let frames = turn.frames(answer);
    let score = Score { answer, turn, chunks: frames.iter().filter(|f| f.kind.is_chunk()).count() };
    let (mut body, last) = score.body(&frames);
    if answer.coding == Coding::Gzip {
        code(&mut body);
    }
    let extent = if let Some(Fault::WrongLength { by }) = answer.fault {
        Extent::Length(declared(length(&body), by))
    } else {
        Extent::Chunked
    };
    let mut steps = Vec::with_capacity(body.len() + 2);
    push_wait(&mut steps, answer.pace.head);
    steps.push(head(turn, EVENT_STREAM, answer, extent));
    steps.extend(body);
    Plan { steps, last, bite: answer.pace.bite }
}

/// A stream's body in the making.
struct Score<'a> {
    answer: &'a Answer,
    turn: &'a Turn,
    chunks: usize,
}

impl Score<'_> {
    fn body(&self, frames: &[Frame]) -> (Vec<Step>, Last) {
        let whole = Last::Whole(self.answer.after);
        let mut out = Vec::new();
        self.beats(&mut out);
        let Some(fault) = self.answer.fault else {
            self.play(&mut out, frames);
            return (out, whole);
        };
        let last = match fault {
            Fault::Cut { after } => self.stop(&mut out, upto(frames, after), None, Last::Close),
            Fault::Torn { after } => {
                let before = upto(frames, after);
                let torn = frames.get(before.len()).map(|next| Step::Body(half(&next.bytes)));
                self.stop(&mut out, before, torn, Last::Close)
            }
            Fault::Reset { after } => self.stop(&mut out, upto(frames, after), None, Last::Reset),
            Fault::BadFraming { after } => {
                let noise = Some(Step::Raw(Bytes::from_static(NO_LENGTH)));
                self.stop(&mut out, upto(frames, after), noise, Last::Close)
            }
            Fault::CleanEof { after } => self.stop(&mut out, upto(frames, after), None, whole),
            Fault::NoTerminator => {
                let rest = frames.iter().filter(|frame| frame.kind != Kind::Terminal);
                self.play(&mut out, rest);
                whole
            }
            Fault::Silence { after, pause } => {
                let silence = Some(pause.map_or(Step::Forever, Step::Wait));
                self.stop(&mut out, upto(frames, after), silence, Last::Close)
            }
            Fault::Malformed { at } => {
                let before = upto(frames, at);
                self.play(&mut out, before);
                out.push(Step::Event(self.turn.broken_frame()));
                self.play_from(&mut out, at.min(self.chunks), &frames[before.len()..]);
                whole
            }
            Fault::Mangled { at } => {
                let at = at.min(self.chunks.saturating_sub(1));
                let index = frames.iter().enumerate().filter(|(_, f)| f.kind.is_chunk()).nth(at);
                self.play(&mut out, &mangled(frames, index.map(|(index, _)| index)));
                whole
            }
            Fault::MangledTool => {
                let mut own =
                    frames.iter().enumerate().filter(|(_, f)| f.kind == Kind::ToolChunk(0));
                let first = own.next();
                let index = own.next().or(first).map(|(index, _)| index);
                self.play(&mut out, &mangled(frames, index));
                whole
            }
            Fault::ErrorEvent { place, trouble } => {
                match place {
                    Place::First => {}
                    Place::AfterChunks(after) => self.play(&mut out, upto(frames, after)),
                }
                out.push(Step::Event(self.turn.error_frame(trouble)));
                whole
            }
            Fault::Endless => {
                self.go_on(&mut out, frames);
                Last::Close
            }
            Fault::WrongLength { by: _ } => {
                self.play(&mut out, frames);
                Last::Close
            }
        };
        (out, last)
    }

    /// Plays these frames, then at most one more step.
    fn stop(&self, out: &mut Vec<Step>, frames: &[Frame], then: Option<Step>, last: Last) -> Last {
        self.play(out, frames);
        out.extend(then);
        last
    }

    /// Plays all but the finish, then the last chunk for ever.
    fn go_on(&self, out: &mut Vec<Step>, frames: &[Frame]) {
        let before = upto(frames, self.chunks);
        self.play(out, before);
        let again = before.iter().rfind(|frame| frame.kind.is_chunk()).or(before.last());
        out.extend(again.map(|again| Step::Repeat(again.bytes.clone(), self.answer.pace.gap)));
    }

    fn beats(&self, out: &mut Vec<Step>) {
        let Some(beats) = self.answer.pace.beats else { return };
        let every = beats.every.max(Duration::from_millis(1));
        let mut left = beats.during;
        while left >= every {
            out.push(Step::Wait(every));
            out.push(Step::Event(self.turn.beat()));
            left -= every;
        }
        push_wait(out, left);
    }

    fn play<'f>(&self, out: &mut Vec<Step>, frames: impl IntoIterator<Item = &'f Frame>) {
        self.play_from(out, 0, frames);
    }

    /// `chunk` is how many chunks were played before.
    fn play_from<'f>(
        &self,
        out: &mut Vec<Step>,
        mut chunk: usize,
        frames: impl IntoIterator<Item = &'f Frame>,
    ) {
        for frame in frames {
            if frame.kind.is_chunk() {
                let pace = self.answer.pace;
                push_wait(out, if chunk == 0 { pace.first } else { pace.gap });
                chunk += 1;
            }
            out.push(Step::Event(frame.bytes.clone()));
        }
    }
}

/// The frames up to so many chunks: the opening ones alone for none, all but the finish for all.
fn upto(frames: &[Frame], chunks: usize) -> &[Frame] {
    let total = frames.iter().filter(|frame| frame.kind.is_chunk()).count();
    let mut seen = 0;
    let end = frames.iter().position(|frame| match frame.kind {
        Kind::Start => false,
        Kind::Part => seen == chunks && chunks < total,
        Kind::Chunk | Kind::ToolChunk(_) => {
            seen += 1;
            seen > chunks
        }
        Kind::Finish | Kind::Terminal => true,
    });
    &frames[..end.unwrap_or(frames.len())]
}

fn half(bytes: &Bytes) -> Bytes {
    bytes.slice(..bytes.len() / 2)
}

fn mangled(frames: &[Frame], index: Option<usize>) -> Vec<Frame> {
    let mut out = frames.to_vec();
    if let Some(frame) = index.and_then(|index| out.get_mut(index)) {
        let text = String::from_utf8_lossy(&frame.bytes).into_owned();
        let begin = text.find("data: ").map_or(0, |at| at + 6);
        let data = text[begin..].trim_end();
        let half = data.floor_char_boundary(data.len() / 2);
        frame.bytes = Bytes::from(format!("{}{}\n\n", &text[..begin], &data[..half]));
    }
    out
}

fn whole(answer: &Answer, turn: &Turn, models: &[String]) -> Plan {
    let fault = answer.fault;
    let mut body = match turn.ask.endpoint {
        Endpoint::Models => model_list(models).to_string(),
        Endpoint::Chat | Endpoint::Messages | Endpoint::CountTokens | Endpoint::Other => {
            turn.whole(&with_half_arguments(answer)).to_string()
        }
    };
    misspeak(&mut body, fault, turn);
    let mut body = body.into_bytes();
    if answer.coding == Coding::Gzip {
        let mut gzip = Gzip::default();
        body = gzip.part(&body);
        body.extend(gzip.finish());
    }
    let full = body.len() as u64;
    let middle = body.len() / 2;
    let (extent, rest, last) = match fault {
        Some(Fault::Cut { .. } | Fault::Torn { .. }) => {
            body.truncate(middle);
            (Extent::Length(full), None, Last::Close)
        }
        Some(Fault::Reset { .. }) => {
            body.truncate(middle);
            (Extent::Length(full), None, Last::Reset)
        }
        Some(Fault::BadFraming { .. }) => {
            body.truncate(middle);
            let raw = Step::Raw(Bytes::from_static(NO_LENGTH));
            (Extent::Chunked, Some(raw), Last::Close)
        }
        Some(Fault::Silence { pause, .. }) => {
            body.truncate(middle);
            let silence = pause.map_or(Step::Forever, Step::Wait);
            (Extent::Length(full), Some(silence), Last::Close)
        }
        Some(Fault::Endless) => {
            body.truncate(1);
            let space = Bytes::from_static(b" ");
            (Extent::Chunked, Some(Step::Repeat(space, answer.pace.gap)), Last::Close)
        }
        Some(Fault::WrongLength { by }) => (Extent::Length(declared(full, by)), None, Last::Close),
        Some(
            Fault::CleanEof { .. }
            | Fault::NoTerminator
            | Fault::Malformed { .. }
            | Fault::Mangled { .. }
            | Fault::MangledTool
            | Fault::ErrorEvent { .. },
        )
        | None => (Extent::Length(full), None, Last::Whole(answer.after)),
    };
    let mut steps = Vec::new();
    push_wait(&mut steps, delay(answer));
    steps.push(head(turn, JSON, answer, extent));
    steps.push(Step::Body(Bytes::from(body)));
    steps.extend(rest);
    Plan { steps, last, bite: answer.pace.bite }
}

/// What a fault makes of the JSON itself.
fn misspeak(body: &mut String, fault: Option<Fault>, turn: &Turn) {
    let middle = body.floor_char_boundary(body.len() / 2);
    match fault {
        Some(Fault::CleanEof { .. } | Fault::Mangled { .. }) => body.truncate(middle),
        // A bare control character is JSON nowhere, inside a string or out of it.
        Some(Fault::Malformed { .. }) => body.insert_str(middle, "\u{1}{broken"),
        Some(Fault::ErrorEvent { trouble, .. }) => *body = turn.error(trouble).to_string(),
        Some(
            Fault::Cut { .. }
            | Fault::Torn { .. }
            | Fault::Reset { .. }
            | Fault::BadFraming { .. }
            | Fault::NoTerminator
            | Fault::Silence { .. }
            | Fault::MangledTool
            | Fault::Endless
            | Fault::WrongLength { .. },
        )
        | None => {}
    }
}

/// The answer itself, but for a tool call that the script breaks.
fn with_half_arguments(answer: &Answer) -> Answer {
    let mut answer = answer.clone();
    if answer.fault == Some(Fault::MangledTool)
        && let Some(tool) = answer.tools.first_mut()
    {
        let half = tool.arguments.floor_char_boundary(tool.arguments.len() / 2);
        tool.arguments.truncate(half);
    }
    answer
}

/// How long a whole answer is in the making: as long as its stream would be.
fn delay(answer: &Answer) -> Duration {
    let gaps = u32::try_from(answer.chunks().saturating_sub(1)).unwrap_or(u32::MAX);
    let beats = answer.pace.beats.map_or(Duration::ZERO, |beats| beats.during);
    answer.pace.head + beats + answer.pace.first + answer.pace.gap.saturating_mul(gaps)
}

fn code(steps: &mut Vec<Step>) {
    let mut gzip = Gzip::default();
    for step in steps.iter_mut() {
        match step {
            Step::Body(bytes) | Step::Event(bytes) | Step::Repeat(bytes, _) => {
                *bytes = Bytes::from(gzip.part(bytes));
            }
            Step::Head { .. } | Step::Raw(_) | Step::Wait(_) | Step::Forever => {}
        }
    }
    steps.push(Step::Body(Bytes::from(gzip.finish())));
}

fn length(steps: &[Step]) -> u64 {
    let bytes = steps.iter().map(|step| match step {
        Step::Body(bytes) | Step::Event(bytes) => bytes.len() as u64,
        Step::Head { .. } | Step::Raw(_) | Step::Repeat(..) | Step::Wait(_) | Step::Forever => 0,
    });
    bytes.sum()
}

fn declared(real: u64, by: i32) -> u64 {
    real.saturating_add_signed(i64::from(by))
}

fn push_wait(steps: &mut Vec<Step>, wait: Duration) {
    if !wait.is_zero() {
        steps.push(Step::Wait(wait));
    }
}

fn head(turn: &Turn, content_type: &str, answer: &Answer, extent: Extent) -> Step {
    let mut headers = vec![
        ("content-type".to_owned(), content_type.to_owned()),
        ("cache-control".to_owned(), "no-cache".to_owned()),
        request_id(turn),
    ];
    if answer.coding == Coding::Gzip {
        headers.push(("content-encoding".to_owned(), "gzip".to_owned()));
    }
    if answer.after == After::Close {
        headers.push(("connection".to_owned(), "close".to_owned()));
    }
    Step::Head { code: 200, headers, extent }
}

fn content_type(turn: &Turn) -> &'static str {
    if turn.ask.streaming { EVENT_STREAM } else { JSON }
}

fn request_id(turn: &Turn) -> (String, String) {
    let name = if turn.is_anthropic() { "request-id" } else { "x-request-id" };
    (name.to_owned(), format!("req_sim_{:06}", turn.number))
}
