//! What an upstream can do with one request. An act holds no bytes of a dialect and no time but its
//! own delays: the dialect is the request's.

use std::time::Duration;

/// What is said when a script names no text.
pub const DEFAULT_TEXT: &str = "The sash is handed on and the next runner sets off.";

/// One step of a script: how one request is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// A 200 with an answer, at its own pace, with at most one fault.
    Answer(Box<Answer>),
    /// An HTTP error, or any other status without an answer.
    Status(Box<Status>),
    /// The connection is reset before any byte of an answer.
    Reset(ResetPoint),
    /// The request is read, and nothing is ever sent.
    Hang,
    /// A 200 with its headers, and then nothing ever.
    HeadersThenSilence,
    /// A 200 whose body is an HTML page.
    Html,
    /// A 200 with the right content type and a body of no bytes.
    ZeroBytes,
}

/// Where a [`Act::Reset`] strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetPoint {
    /// Once the request's head is read, with the body still on its way. In a script that is tied to
    /// a model the body has to be read first, since the model stands in it.
    Head,
    /// Once the whole request is read.
    Request,
}

/// A status without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The HTTP status, 100 to 999.
    pub code: u16,
    /// The value of `retry-after`: seconds, or an HTTP date.
    pub retry_after: Option<String>,
    /// What went wrong; by default what the code means.
    pub trouble: Option<Trouble>,
    /// Further response headers; one that is named here replaces the usual one.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte; by default the dialect's error for the trouble.
    pub body: Option<String>,
}

/// The errors that both dialects have bodies for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Too many requests for now.
    RateLimited,
    /// The model has no capacity.
    Overloaded,
    /// The upstream broke.
    ServerError,
    /// The upstream's own upstream took too long.
    Timeout,
    /// The account has nothing left.
    Quota,
    /// The key is not accepted.
    Auth,
    /// The key is fine but may not do this.
    Forbidden,
    /// No such model.
    NotFound,
    /// The request is refused, for a reason of its own.
    Invalid,
    /// The request's history ends with an assistant turn, which this model refuses.
    Prefill,
    /// The conversation does not fit into the context window.
    ContextOverflow,
    /// The body has too many bytes.
    TooLarge,
    /// The prompt was refused by a content filter.
    ContentFilter,
}

/// A 200 and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Reasoning that comes first; empty for none. One word is one chunk.
    pub thinking: String,
    /// The text; empty for none. One word, with the space after it, is one chunk.
    pub text: String,
    /// Tool calls after the text, in parallel.
    pub tools: Vec<ToolCall>,
    /// Why it ends.
    pub finish: Finish,
    /// What it says about tokens.
    pub usage: Usage,
    /// What it says beside the tokens that it cost, in millionths of a US dollar; Chat alone.
    pub cost_micro: Option<u64>,
    /// Whether it answers a conversation that ends with an assistant turn.
    pub prefill: Prefill,
    /// How fast it comes.
    pub pace: Pace,
    /// What goes wrong with it.
    pub fault: Option<Fault>,
    /// How its body is coded.
    pub coding: Coding,
    /// What becomes of the connection.
    pub after: After,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// The tool's name.
    pub name: String,
    /// Its arguments: the text of a JSON object. Eight characters are one chunk.
    pub arguments: String,
}

/// Why an answer ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Finish {
    /// Because all is said: `tool_calls` or `tool_use` if it calls a tool, else `stop` or `end_turn`.
    #[default]
    Natural,
    /// At the limit of output tokens: `length`, `max_tokens`.
    Truncated,
    /// By a filter: `content_filter`, `refusal`.
    Filtered,
}

/// What an answer says about tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Usage {
    /// One input token for four bytes of the request, one output token a chunk.
    #[default]
    Counted,
    /// These tokens.
    Reported {
        /// Input tokens.
        input: u64,
        /// Output tokens.
        output: u64,
    },
    /// Nothing: the usage is left out.
    Missing,
}

/// Whether a conversation may end with an assistant turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prefill {
    /// It is answered like any other.
    #[default]
    Accepted,
    /// It gets a 400 that says so.
    Refused,
}

/// How fast an answer comes. All delays count from the moment when the request was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// The wait before the response's head.
    pub head: Duration,
    /// Keep-alives between the head and the first event of the answer; streams only, a whole answer
    /// just waits as long.
    pub beats: Option<Beats>,
    /// The wait between the opening events and the first chunk of output.
    pub first: Duration,
    /// The wait before each further chunk. A whole answer waits for the sum of all.
    pub gap: Duration,
    /// Bytes written at once, HTTP's own included; 0 sets no limit. The reader is given a chance
    /// between one piece and the next.
    pub bite: usize,
}

/// Keep-alives alone: comment lines in Chat, `ping` events in Anthropic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beats {
    /// From one to the next.
    pub every: Duration,
    /// For how long there is nothing else.
    pub during: Duration,
}

/// What goes wrong with an answer. Chunks are chunks of output: a word of reasoning or text, or a
/// piece of a tool call's arguments. A whole answer (not streamed) has no chunks; what a fault does
/// to one is said after 'whole:'.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The connection is closed after so many chunks, with the response unfinished. Whole: in the
    /// middle of the body.
    Cut {
        /// Chunks before the break.
        after: usize,
    },
    /// The same inside an event: half of the next one comes as well. Whole: as [`Fault::Cut`].
    Torn {
        /// Chunks before the broken one.
        after: usize,
    },
    /// The connection is reset after so many chunks. Whole: in the middle of the body.
    Reset {
        /// Chunks before the reset.
        after: usize,
    },
    /// After so many chunks comes what is no chunk to HTTP, and the connection is closed. Whole: in
    /// the middle of the body, which has no length then.
    BadFraming {
        /// Chunks before it.
        after: usize,
    },
    /// The response ends in good order after so many chunks, but the answer does not. Whole: half of
    /// the JSON, with the length that it has.
    CleanEof {
        /// Chunks before the end.
        after: usize,
    },
    /// The finish reason comes, the dialect's terminal event does not. Whole: nothing.
    NoTerminator,
    /// Silence after so many chunks, then the connection is closed. Whole: in the middle of the body.
    Silence {
        /// Chunks before the silence.
        after: usize,
        /// Until the close; for ever if none.
        pause: Option<Duration>,
    },
    /// A chunk that is no JSON stands between whole ones. Whole: such bytes in the middle.
    Malformed {
        /// Chunks before it.
        at: usize,
    },
    /// One chunk of the answer loses its second half. Whole: the body does.
    Mangled {
        /// Chunks before it.
        at: usize,
    },
    /// The second chunk of the first tool call's arguments loses its second half. Whole: the
    /// arguments of that call do (in Anthropic, as a string where an object should be).
    MangledTool,
    /// An error in the 200, after which the response ends in good order. Whole: the error is the body.
    ErrorEvent {
        /// Where it stands.
        place: Place,
        /// Which error.
        trouble: Trouble,
    },
    /// The last chunk is said again and again, without end. Whole: white space does after the
    /// first byte.
    Endless,
    /// The response declares so many bytes more (or fewer) than it has, and closes.
    WrongLength {
        /// Declared less real bytes.
        by: i32,
    },
}

/// Where an error event stands in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It is the first event.
    First,
    /// After so many chunks of output; after the role chunk or `message_start` if 0.
    AfterChunks(usize),
}

/// How a body is coded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coding {
    /// As it is.
    #[default]
    Identity,
    /// In gzip, whatever the request accepts.
    Gzip,
}

/// What becomes of a connection after a whole answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum After {
    /// It stays for the next request.
    #[default]
    KeepAlive,
    /// It is closed, and the answer says so.
    Close,
    /// It seems to stay, and is reset at the first byte of the next request, which is not logged and
    /// takes no step of the script.
    DieOnReuse,
}

impl Act {
    /// A whole answer of this text, at once.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Act {
        Act::from(Answer::text(text))
    }

    /// An HTTP status with the body that the dialect has for it.
    #[must_use]
    pub fn status(code: u16) -> Act {
        Act::from(Status::new(code))
    }
}

impl From<Answer> for Act {
    fn from(answer: Answer) -> Act {
        Act::Answer(Box::new(answer))
    }
}

impl From<Status> for Act {
    fn from(status: Status) -> Act {
        Act::Status(Box::new(status))
    }
}

impl Status {
    /// The status with the body that the dialect has for it.
    #[must_use]
    pub fn new(code: u16) -> Status {
        Status { code, retry_after: None, trouble: None, headers: Vec::new(), body: None }
    }

    /// The error for this trouble, with the status that it usually has.
    #[must_use]
    pub fn of(trouble: Trouble) -> Status {
        Status { trouble: Some(trouble), ..Status::new(trouble.code()) }
    }

    /// With `retry-after`.
    #[must_use]
    pub fn retry_after(mut self, value: impl Into<String>) -> Status {
        self.retry_after = Some(value.into());
        self
    }

    /// With another header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Status {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// With a body of its own.
    #[must_use]
    pub fn body(mut self, body: impl Into<String>) -> Status {
        self.body = Some(body.into());
        self
    }
}

impl Trouble {
    /// The status that comes with it.
    #[must_use]
    pub fn code(self) -> u16 {
        match self {
            Trouble::RateLimited | Trouble::Quota => 429,
            Trouble::Overloaded => 503,
            Trouble::ServerError => 500,
            Trouble::Timeout => 504,
            Trouble::Auth => 401,
            Trouble::Forbidden => 403,
            Trouble::NotFound => 404,
            Trouble::Invalid
            | Trouble::Prefill
            | Trouble::ContextOverflow
            | Trouble::ContentFilter => 400,
            Trouble::TooLarge => 413,
        }
    }

    /// What a status means when nothing else says so.
    #[must_use]
    pub fn from_code(code: u16) -> Trouble {
        match code {
            401 => Trouble::Auth,
            402 => Trouble::Quota,
            403 => Trouble::Forbidden,
            404 | 410 => Trouble::NotFound,
            408 | 504 => Trouble::Timeout,
            413 => Trouble::TooLarge,
            429 => Trouble::RateLimited,
            503 | 529 => Trouble::Overloaded,
            400..=499 => Trouble::Invalid,
            _ => Trouble::ServerError,
        }
    }
}

impl Default for Answer {
    /// [`DEFAULT_TEXT`], whole and at once.
    fn default() -> Answer {
        Answer::text(DEFAULT_TEXT)
    }
}

impl Answer {
    /// This text, whole and at once; an empty one makes an empty answer.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Answer {
        Answer {
            thinking: String::new(),
            text: text.into(),
            tools: Vec::new(),
            finish: Finish::Natural,
            usage: Usage::Counted,
            cost_micro: None,
            prefill: Prefill::Accepted,
            pace: Pace::default(),
            fault: None,
            coding: Coding::Identity,
            after: After::KeepAlive,
        }
    }

    /// This tool call and no text.
    #[must_use]
    pub fn tool(name: impl Into<String>, arguments: impl Into<String>) -> Answer {
        Answer::text("").and_tool(name, arguments)
    }

    /// With one more tool call.
    #[must_use]
    pub fn and_tool(mut self, name: impl Into<String>, arguments: impl Into<String>) -> Answer {
        self.tools.push(ToolCall { name: name.into(), arguments: arguments.into() });
        self
    }

    /// With reasoning first.
    #[must_use]
    pub fn thinking(mut self, thinking: impl Into<String>) -> Answer {
        self.thinking = thinking.into();
        self
    }

    /// With another end.
    #[must_use]
    pub fn finish(mut self, finish: Finish) -> Answer {
        self.finish = finish;
        self
    }

    /// With other token counts.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Answer {
        self.usage = usage;
        self
    }

    /// Refusing conversations that end with an assistant turn.
    #[must_use]
    pub fn refusing_prefill(mut self) -> Answer {
        self.prefill = Prefill::Refused;
        self
    }

    /// At this pace.
    #[must_use]
    pub fn pace(mut self, pace: Pace) -> Answer {
        self.pace = pace;
        self
    }

    /// With this between one chunk and the next.
    #[must_use]
    pub fn drip(mut self, gap: Duration) -> Answer {
        self.pace.gap = gap;
        self
    }

    /// With this fault.
    #[must_use]
    pub fn fault(mut self, fault: Fault) -> Answer {
        self.fault = Some(fault);
        self
    }

    /// In this coding.
    #[must_use]
    pub fn coding(mut self, coding: Coding) -> Answer {
        self.coding = coding;
        self
    }

    /// With this fate of the connection.
    #[must_use]
    pub fn after(mut self, after: After) -> Answer {
        self.after = after;
        self
    }

    /// How many chunks of output it has.
    #[must_use]
    pub fn chunks(&self) -> usize {
        words(&self.thinking).count() + words(&self.text).count() + self.tool_chunks()
    }

    fn tool_chunks(&self) -> usize {
        self.tools.iter().map(|tool| pieces(&tool.arguments).len()).sum()
    }
}

/// The chunks of a text: each word with the space after it.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
}

/// The chunks of a tool call's arguments: eight characters each.
pub(crate) fn pieces(arguments: &str) -> Vec<String> {
    let characters: Vec<char> = arguments.chars().collect();
    characters.chunks(8).map(|piece| piece.iter().collect()).collect()
}
