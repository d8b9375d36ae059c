//! What each event of a streamed answer means.
//!
//! It refuses to keep or to forward anything: the gateway holds the events, and this says whether
//! one is progress, visible output, an error or the end. Every attempt has a reader of its own.

mod again;
mod anthropic;
mod chat;
mod responses;
mod usage;

use bytes::Bytes;

pub use crate::answer::{Answer, End, Finish, Malformed, Usage};
pub use usage::{UsageView, hide_usage};

use crate::Dialect;
use crate::sse::Event;

use again::{Again, Shows};
pub(crate) use anthropic::Anthropic;
pub(crate) use chat::Chat;
pub(crate) use responses::Responses;

/// What one event means for the call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Beat {
    /// Alive and no progress: pings, comments, role chunks, `created`, usage, empty deltas.
    Wire,
    /// Reasoning: progress, and not visible.
    Reasoning,
    /// Visible output.
    Output,
    /// The dialect's terminal event.
    Terminal,
    /// The upstream tells of an error inside the stream: its text, mostly JSON, to be classified.
    Error(Bytes),
    /// Not an event of this dialect (R13).
    Malformed(Malformed),
}

/// Reads the events of one answer.
#[derive(Debug)]
pub struct Reader {
    answer: Answer,
    terminal: bool,
    /// The upstream has told of an error: whatever else it sent, this answer is not whole.
    failed: bool,
    again: Again,
    state: State,
}

#[derive(Debug)]
enum State {
    Chat(Chat),
    Responses(Responses),
    Anthropic(Anthropic),
}

impl Reader {
    /// A reader for an answer of one choice.
    #[must_use]
    pub fn new(dialect: Dialect) -> Self {
        Self::with_choices(dialect, 1)
    }

    /// A reader for an answer of that many choices (`n` in Chat, [`crate::request::Facts::choices`]).
    #[must_use]
    pub fn with_choices(dialect: Dialect, choices: u32) -> Self {
        let state = match dialect {
            Dialect::OpenAiChat => State::Chat(Chat::new(choices)),
            Dialect::OpenAiResponses => State::Responses(Responses::default()),
            Dialect::AnthropicMessages => State::Anthropic(Anthropic::default()),
        };
        Self {
            answer: Answer::default(),
            terminal: false,
            failed: false,
            again: Again::default(),
            state,
        }
    }

    /// Reads the next event.
    pub fn read(&mut self, event: &Event) -> Beat {
        if let Some((shows, written)) = self.again.hear(event) {
            self.answer.written += written as u64;
            return match shows {
                Shows::Output => Beat::Output,
                Shows::Reasoning => Beat::Reasoning,
            };
        }
        let beat = self.read_whole(event);
        let shows = match beat {
            Beat::Output => Some(Shows::Output),
            Beat::Reasoning => Some(Shows::Reasoning),
            Beat::Wire | Beat::Terminal | Beat::Error(_) | Beat::Malformed(_) => None,
        };
        let text = match &mut self.state {
            State::Chat(chat) => chat.take_text(),
            // Its events are numbered: no two are alike.
            State::Responses(_) => None,
            State::Anthropic(anthropic) => anthropic.take_text(),
        };
        self.again.note(event, text.zip(shows));
        beat
    }

    fn read_whole(&mut self, event: &Event) -> Beat {
        let Some(data) = event.data() else { return self.bare(event) };
        if event.name() == "error" {
            // Under this name even what is no JSON is an error, in words.
            return self.error(data_bytes(event, data));
        }
        let Ok(text) = std::str::from_utf8(data) else {
            return Beat::Malformed(Malformed::NotUtf8);
        };
        if text.trim_ascii().is_empty() {
            return Beat::Wire;
        }
        let heard = self.hear(text, event.name());
        self.answer.torn = match &self.state {
            State::Chat(chat) => chat.is_torn(),
            State::Responses(responses) => responses.is_torn(),
            State::Anthropic(anthropic) => anthropic.is_torn(),
        };
        match heard {
            Ok(Heard::Wire) => Beat::Wire,
            Ok(Heard::Reasoning) => {
                self.answer.reasoning = true;
                Beat::Reasoning
            }
            Ok(Heard::Output) => {
                self.answer.output = true;
                Beat::Output
            }
            Ok(Heard::Terminal) => {
                self.terminal = true;
                Beat::Terminal
            }
            Ok(Heard::Error) => self.error(data_bytes(event, data)),
            Ok(Heard::Broken(error)) => self.error(Bytes::from(error)),
            Err(malformed) => Beat::Malformed(malformed),
        }
    }

    /// An event without data: a comment, or an error that somebody put into the stream unframed.
    fn bare(&mut self, event: &Event) -> Beat {
        let raw = event.raw().trim_ascii();
        let text = std::str::from_utf8(raw).unwrap_or_default();
        if text.starts_with('{') && matches!(self.hear(text, ""), Ok(Heard::Error)) {
            return self.error(event.raw().slice_ref(raw));
        }
        Beat::Wire
    }

    fn hear(&mut self, text: &str, name: &str) -> Result<Heard, Malformed> {
        let answer = &mut self.answer;
        match &mut self.state {
            State::Chat(chat) => chat.event(answer, text),
            State::Responses(responses) => responses.event(answer, text),
            State::Anthropic(anthropic) => anthropic.event(answer, text, name),
        }
    }

    const fn error(&mut self, text: Bytes) -> Beat {
        self.failed = true;
        Beat::Error(text)
    }

    /// What the answer has shown so far.
    #[must_use]
    pub const fn answer(&self) -> &Answer {
        &self.answer
    }

    /// The terminal event has come.
    #[must_use]
    pub const fn terminal_seen(&self) -> bool {
        self.terminal
    }

    /// A tool call has begun and not ended: to lose a chunk now would falsify it (R13).
    #[must_use]
    pub fn tool_open(&self) -> bool {
        match &self.state {
            State::Chat(chat) => chat.tool_open(),
            State::Responses(responses) => responses.tool_open(),
            State::Anthropic(anthropic) => anthropic.tool_open(),
        }
    }

    /// A choice has ended, and not by its token limit, while a tool call in it is not whole: what
    /// says so must not be passed on, whether or not the other choices have ended (R13).
    #[must_use]
    pub fn ended_torn(&self) -> bool {
        let one_of_several = match &self.state {
            State::Chat(chat) => chat.ended_torn(),
            State::Responses(_) | State::Anthropic(_) => false,
        };
        one_of_several || self.end() == End::Torn
    }

    /// Nothing more is due: the terminal event has come, or every choice has given its reason for
    /// ending (R13: an end without the terminal event is then a normal one). Never after an error.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let finished = match &self.state {
            State::Chat(chat) => chat.is_finished(),
            State::Responses(_) | State::Anthropic(_) => self.answer.finish.is_some(),
        };
        !self.failed && (self.terminal || finished)
    }

    /// What it means if the bytes end here.
    #[must_use]
    pub fn end(&self) -> End {
        if self.is_complete() { self.answer.end() } else { End::Cut }
    }
}

/// What a dialect hears in one event.
pub(crate) enum Heard {
    Wire,
    Reasoning,
    Output,
    Terminal,
    /// The event itself is the error's text.
    Error,
    /// An error that the event tells in another way, put into words.
    Broken(String),
}

impl From<crate::answer::Shown> for Heard {
    fn from(shown: crate::answer::Shown) -> Self {
        if shown.output {
            Self::Output
        } else if shown.reasoning {
            Self::Reasoning
        } else {
            Self::Wire
        }
    }
}

fn data_bytes(event: &Event, data: &[u8]) -> Bytes {
    event.data_line().map_or_else(|| Bytes::copy_from_slice(data), |line| event.raw().slice(line))
}

#[cfg(test)]
mod tests;
