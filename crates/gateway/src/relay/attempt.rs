//! One attempt on the wire: from the request's first byte to the answer's last.
//!
//! It refuses to decide what its end means; it says what came, step by step, and is dropped to be
//! cancelled.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use ekiden_dialect::sse::{self, Event};
use ekiden_dialect::stream::{self, Beat, Reader};
use ekiden_dialect::whole::{self, Whole};
use ekiden_dialect::{Dialect, splice};
use ekiden_engine::AttemptId;
use http::{HeaderMap, header};

use crate::upstream::{Answer, AnswerBody, Decoder, Fault, Progress, Sending};

/// Bytes of a whole answer at most.
const WHOLE_MAX: usize = 64 * 1024 * 1024;
/// Bytes of an error's body at most; what comes after is not read.
const ERROR_MAX: usize = 256 * 1024;
/// Bytes of what is neither a stream nor an error, though a stream was asked for.
const ODD_MAX: usize = 1024 * 1024;
/// Frames that may come after the end before the connection is given up rather than kept.
const AFTER_END_FRAMES_MAX: u32 = 16;

/// An attempt that runs.
pub(crate) struct Running {
    pub(crate) id: AttemptId,
    pub(crate) candidate: usize,
    /// What was sent, to be sent again (R48) and to see whether a mended one differs.
    pub(crate) sent: splice::Body,
    /// `continue_text` messages in it.
    pub(crate) continues: u32,
    phase: Phase,
    streamed: Streamed,
    dialect: Dialect,
    reader: Reader,
    pub(crate) headers: HeaderMap,
}

/// Whether a stream was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Streamed {
    Yes,
    No,
}

enum Phase {
    Sending(Sending),
    Events(Box<Events>),
    Body(Box<Collecting>),
    /// One look at another host, to tell whose fault it is.
    Looking(Pin<Box<dyn Future<Output = bool> + Send>>, Fault),
    Over,
    /// The answer is over and its connection may be kept, if the body ends in order.
    /// So many frames of it were read since.
    Ended(Box<AnswerBody>, u32),
}

struct Events {
    body: AnswerBody,
    decoder: Decoder,
    sse: sse::Reader,
    ended: bool,
}

struct Collecting {
    body: AnswerBody,
    decoder: Decoder,
    status: u16,
    what: What,
    bytes: BytesMut,
}

/// Why a body is read whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    Answer,
    Error,
    /// A 200 that should have been a stream and says that it is none.
    Odd,
}

/// What came.
#[derive(Debug)]
pub(crate) enum Step {
    /// The request is on its way.
    Sent,
    /// A stream's head came, and it is no error.
    Head,
    /// An event of a stream.
    Event(Event, Beat),
    /// A stream's bytes ended.
    Ended,
    /// A whole answer with its status.
    Whole(u16, Bytes, Whole),
    /// The head of an answer whose text will be read as an error's.
    HeadOfError,
    /// An answer that is an error, or a 200 that is none.
    Error { status: u16, body: Bytes },
    /// The connection failed. `network`: what one look at another host told, if one was asked for.
    Broken { fault: Fault, network: Option<Reach> },
    /// An event larger than is read.
    TooLarge,
}

/// What one look at another host told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reach {
    /// Another host can be reached.
    Yes,
    /// It cannot.
    No,
}

impl Running {
    pub(crate) fn start(
        id: AttemptId,
        candidate: usize,
        (sent, continues): (splice::Body, u32),
        sending: Sending,
        streamed: Streamed,
        (dialect, choices): (Dialect, u32),
    ) -> Self {
        let phase = Phase::Sending(sending);
        let reader = Reader::with_choices(dialect, choices);
        Self {
            id,
            candidate,
            sent,
            continues,
            phase,
            streamed,
            dialect,
            reader,
            headers: HeaderMap::new(),
        }
    }

    /// The same request on another connection (R48).
    pub(crate) fn resend(&mut self, sending: Sending) {
        self.phase = Phase::Sending(sending);
    }

    pub(crate) const fn reader(&self) -> &Reader {
        &self.reader
    }

    /// What a stream has said so far; `None`: a whole answer was asked for, and says all at once.
    pub(crate) fn heard(&self) -> Option<&stream::Answer> {
        match self.streamed {
            Streamed::Yes => Some(self.reader.answer()),
            Streamed::No => None,
        }
    }

    /// Takes what came of an error's text for all of it.
    pub(crate) fn cut_error_short(&mut self) -> Option<Step> {
        let step = match &mut self.phase {
            Phase::Body(body) if body.what != What::Answer => body.error(),
            Phase::Body(_)
            | Phase::Sending(_)
            | Phase::Events(_)
            | Phase::Looking(..)
            | Phase::Over
            | Phase::Ended(..) => return None,
        };
        Some(self.finished(step))
    }

    /// A fault that may be this machine's: `look` tells whether another host can be reached.
    pub(crate) fn look(&mut self, fault: Fault, look: impl Future<Output = bool> + Send + 'static) {
        self.phase = Phase::Looking(Box::pin(look), fault);
    }

    /// Nothing more is wanted; what is left of the body is read so that the connection can be kept.
    pub(crate) fn end(&mut self) {
        self.phase = match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Events(events) if !events.ended => Phase::Ended(Box::new(events.body), 0),
            Phase::Events(_)
            | Phase::Sending(_)
            | Phase::Body(_)
            | Phase::Looking(..)
            | Phase::Over
            | Phase::Ended(..) => Phase::Over,
        };
    }

    /// Ready when the connection can be kept, or is not worth it.
    pub(crate) fn poll_drained(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while let Phase::Ended(body, frames) = &mut self.phase {
            let piece = std::task::ready!(body.poll_piece(cx));
            *frames += 1;
            if !matches!(piece, Some(Ok(_))) || *frames >= AFTER_END_FRAMES_MAX {
                self.phase = Phase::Over;
            }
        }
        Poll::Ready(())
    }

    /// What comes next.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Step> {
        let step = match &mut self.phase {
            Phase::Sending(sending) => match std::task::ready!(sending.poll(cx)) {
                Progress::Connected => Step::Sent,
                Progress::Head(answer) => self.head(answer),
                Progress::Failed(fault) => broken(fault),
            },
            Phase::Events(events) => std::task::ready!(events.poll(cx, &mut self.reader)),
            Phase::Body(body) => std::task::ready!(body.poll(cx, self.dialect)),
            Phase::Looking(look, fault) => {
                let reached = std::task::ready!(look.as_mut().poll(cx));
                let network = Some(if reached { Reach::Yes } else { Reach::No });
                Step::Broken { fault: fault.clone(), network }
            }
            Phase::Over | Phase::Ended(..) => return Poll::Pending,
        };
        Poll::Ready(self.finished(step))
    }

    /// After its last step an attempt says nothing more.
    fn finished(&mut self, step: Step) -> Step {
        let over = matches!(
            step,
            Step::Whole(..)
                | Step::Error { .. }
                | Step::Broken { .. }
                | Step::TooLarge
                | Step::Ended
        );
        if over {
            self.phase = Phase::Over;
        }
        step
    }

    fn head(&mut self, answer: Answer) -> Step {
        let Answer { status, headers, body } = answer;
        let decoder = match Decoder::of(&headers) {
            Ok(decoder) => decoder,
            Err(fault) => return broken(fault.into()),
        };
        self.headers = headers;
        let what = match (status.is_success(), self.streamed) {
            (false, _) => What::Error,
            (true, Streamed::No) => What::Answer,
            (true, Streamed::Yes) if is_no_stream(&self.headers) => What::Odd,
            (true, Streamed::Yes) => {
                let sse = sse::Reader::new();
                self.phase = Phase::Events(Box::new(Events { body, decoder, sse, ended: false }));
                return Step::Head;
            }
        };
        let status = status.as_u16();
        let bytes = BytesMut::new();
        self.phase = Phase::Body(Box::new(Collecting { body, decoder, status, what, bytes }));
        // A head may come before anything was told: the connection stands, and its clock is over (R11).
        if what == What::Answer { Step::Sent } else { Step::HeadOfError }
    }
}

impl Events {
    fn poll(&mut self, cx: &mut Context<'_>, reader: &mut Reader) -> Poll<Step> {
        loop {
            match self.sse.next_event() {
                Ok(Some(event)) => {
                    let beat = reader.read(&event);
                    return Poll::Ready(Step::Event(event, beat));
                }
                Ok(None) => {}
                Err(_) => return Poll::Ready(Step::TooLarge),
            }
            if self.ended {
                return Poll::Ready(Step::Ended);
            }
            match std::task::ready!(self.body.poll_piece(cx)) {
                Some(Ok(data)) => match self.decoder.chunk(data) {
                    Ok(data) if data.is_empty() => {}
                    Ok(data) => self.sse.push(data),
                    Err(fault) => return Poll::Ready(broken(fault.into())),
                },
                Some(Err(fault)) => return Poll::Ready(broken(fault)),
                None => {
                    self.ended = true;
                    let Some(event) = self.sse.finish() else { continue };
                    let beat = reader.read(&event);
                    // A torn event is a cut, which the end without a terminal event tells. One in which
                    // nothing stands yet is torn as well, and clients choke on it.
                    let says = event.data().is_some_and(|data| !data.trim_ascii().is_empty());
                    let torn = matches!(beat, Beat::Malformed(_));
                    if (says && !torn) || matches!(beat, Beat::Error(_)) {
                        return Poll::Ready(Step::Event(event, beat));
                    }
                }
            }
        }
    }
}

impl Collecting {
    fn poll(&mut self, cx: &mut Context<'_>, dialect: Dialect) -> Poll<Step> {
        let most = match self.what {
            What::Answer => WHOLE_MAX,
            What::Error => ERROR_MAX,
            What::Odd => ODD_MAX,
        };
        loop {
            match std::task::ready!(self.body.poll_piece(cx)) {
                Some(Ok(data)) => {
                    match self.decoder.chunk(data) {
                        Ok(data) => self.bytes.extend_from_slice(&data),
                        Err(fault) => return Poll::Ready(broken(fault.into())),
                    }
                    if self.bytes.len() > most {
                        return Poll::Ready(match self.what {
                            What::Answer => Step::TooLarge,
                            What::Error | What::Odd => self.error(),
                        });
                    }
                }
                // An error's text that broke off is still the best evidence there is.
                Some(Err(_)) if self.what == What::Error => return Poll::Ready(self.error()),
                Some(Err(fault)) => return Poll::Ready(broken(fault)),
                None => return Poll::Ready(self.all(dialect)),
            }
        }
    }

    fn all(&mut self, dialect: Dialect) -> Step {
        if self.what != What::Answer {
            return self.error();
        }
        let bytes = std::mem::take(&mut self.bytes).freeze();
        let read = whole::read(dialect, &bytes);
        Step::Whole(self.status, bytes, read)
    }

    fn error(&mut self) -> Step {
        Step::Error { status: self.status, body: std::mem::take(&mut self.bytes).freeze() }
    }
}

const fn broken(fault: Fault) -> Step {
    Step::Broken { fault, network: None }
}

/// A content type that no event stream has. Without one, or with a wrong one such as plain text,
/// the events decide.
fn is_no_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| {
        let kind = kind.trim().to_ascii_lowercase();
        kind.starts_with("application/json") || kind.starts_with("text/html")
    })
}
