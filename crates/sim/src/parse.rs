//! Acts and scripts as short text, for tests, the command line and the demo. It refuses what it does
//! not know, naming the word; it never guesses.
//!
//! A script is acts with `;` between them, each may have `N*` before it; `cycle:` at the very front
//! starts it over when it is through. An act is words with `|` between them, each with its value
//! after a colon. Times are milliseconds unless they end in `s` or `m`.

use std::str::FromStr;
use std::time::Duration;

use crate::act::{
    Act, After, Answer, Beats, Coding, DEFAULT_TEXT, Fault, Finish, Place, Prefill, ResetPoint,
    Status, Trouble, Usage,
};
use crate::script::{Script, Then};

/// Every word with an example of its use and what it does.
pub const WORDS: &[(&str, &str, &str)] = &[
    ("ok", "ok:All is well.", "an answer of this text (or of the usual one)"),
    ("think", "think:Let me see. | ok:Yes.", "reasoning first"),
    ("tool", "tool:read {\"path\":\"a.txt\"}", "a tool call with these arguments (or {})"),
    ("empty", "empty", "an answer that says nothing"),
    ("huge", "huge:100000", "an answer of one chunk with so many bytes"),
    ("length", "length", "an answer that ends at the token limit"),
    ("filtered", "filtered", "an answer that ends by a filter"),
    ("usage", "usage:12/34", "input and output tokens"),
    ("no-usage", "no-usage", "no usage at all"),
    ("cost", "cost:2100", "what it cost, in millionths of a US dollar, beside the tokens (Chat)"),
    ("no-prefill", "no-prefill", "400 if the conversation ends with an assistant turn"),
    ("head", "head:2s", "a wait before the headers"),
    ("beats", "beats:500/30s", "keep-alives every so often for so long, then the answer"),
    ("first", "first:20s", "a wait before the first chunk"),
    ("drip", "drip:50", "a wait between chunks"),
    ("bite", "bite:7", "at most so many bytes written at once"),
    ("cut", "cut:3", "closed after so many chunks, the response unfinished"),
    ("torn", "torn:3", "closed inside the chunk after so many"),
    ("reset-after", "reset-after:3", "the connection reset after so many chunks"),
    ("bad-framing", "bad-framing:3", "after so many chunks no HTTP any more, then closed"),
    (
        "eof",
        "eof:3",
        "a response that ends in order after so many chunks, without the answer's end",
    ),
    ("no-end", "no-end", "the finish reason but no terminal event"),
    ("silence", "silence:3/60s", "silence after so many chunks, closed after so long (or never)"),
    ("malformed", "malformed:3", "a chunk that is no JSON after so many chunks"),
    ("mangled", "mangled:3", "the chunk after so many is cut in half"),
    ("mangled-tool", "mangled-tool", "a piece of the tool call's arguments is cut in half"),
    ("error", "error:overloaded", "an error event first of all"),
    (
        "error-after",
        "error-after:0/quota",
        "an error event after so many chunks (0: after the start)",
    ),
    ("endless", "endless | drip:10", "an answer without end"),
    ("wrong-length", "wrong-length:16", "so many bytes declared too many, or too few (-16)"),
    ("gzip", "gzip", "the body in gzip"),
    ("close", "close", "the connection closed after the answer"),
    ("die-on-reuse", "die-on-reuse", "the connection reset when it is used again"),
    ("429", "429:2", "any status from 300 on, with Retry-After if there is a value"),
    ("overflow", "overflow", "the dialect's context overflow"),
    ("filter", "filter", "the dialect's refusal of a prompt by a filter"),
    ("quota", "quota", "the dialect's word for an account with nothing left"),
    ("header", "429 | header:x-should-retry=false", "one more header, with a status"),
    ("body", "500 | body:<h1>Oh no</h1>", "a body of its own, with a status"),
    ("trouble", "400 | trouble:auth", "the body of another error, with a status"),
    ("reset", "reset", "the connection reset once the request is read"),
    ("reset-head", "reset-head", "the connection reset once the request's head is read"),
    ("hang", "hang", "no answer ever"),
    ("silent", "silent", "headers and then nothing ever"),
    ("html", "html", "a 200 with an HTML page"),
    ("zero", "zero", "a 200 with no body at all"),
];

const TROUBLES: &[(&str, Trouble)] = &[
    ("rate-limit", Trouble::RateLimited),
    ("overloaded", Trouble::Overloaded),
    ("server", Trouble::ServerError),
    ("timeout", Trouble::Timeout),
    ("quota", Trouble::Quota),
    ("auth", Trouble::Auth),
    ("forbidden", Trouble::Forbidden),
    ("not-found", Trouble::NotFound),
    ("invalid", Trouble::Invalid),
    ("prefill", Trouble::Prefill),
    ("overflow", Trouble::ContextOverflow),
    ("too-large", Trouble::TooLarge),
    ("filter", Trouble::ContentFilter),
];

/// Why a text is no act or no script: something to show to whoever wrote it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// There is nothing where an act should be.
    #[error("an act is missing")]
    Empty,
    /// The word is unknown.
    #[error("`{word}` is no act; there are: {}", known())]
    UnknownWord {
        /// The word.
        word: String,
    },
    /// The word is known, its value is not what it takes.
    #[error("`{word}:{value}`: write it like `{example}`")]
    BadValue {
        /// The word.
        word: String,
        /// The value, empty if it is missing.
        value: String,
        /// A right one.
        example: &'static str,
    },
    /// Two words that exclude each other.
    #[error("`{word}` does not go with what stands before it")]
    Clash {
        /// The later word.
        word: String,
    },
}

fn known() -> String {
    let words: Vec<&str> = WORDS.iter().map(|(word, _, _)| *word).collect();
    words.join(", ")
}

impl FromStr for Script {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Script, ParseError> {
        let text = text.trim();
        let (text, then) = match text.strip_prefix("cycle:") {
            Some(rest) => (rest, Then::Cycle),
            None => (text, Then::RepeatLast),
        };
        let mut steps: Vec<Act> = Vec::new();
        for part in text.split(';') {
            let (count, part) = repeated(part.trim());
            let act: Act = part.parse()?;
            steps.extend(std::iter::repeat_n(act, count));
        }
        Ok(Script::new(steps).then(then))
    }
}

/// `3*500` is three times `500`.
fn repeated(part: &str) -> (usize, &str) {
    part.split_once('*')
        .and_then(|(count, act)| Some((count.trim().parse().ok()?, act.trim())))
        .unwrap_or((1, part))
}

impl FromStr for Act {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Act, ParseError> {
        let words: Vec<Word<'_>> = text.split('|').map(Word::of).collect();
        let Some((first, more)) = words.split_first().filter(|(first, _)| !first.name.is_empty())
        else {
            return Err(ParseError::Empty);
        };
        if let Some(act) = alone(first)? {
            return more.first().map_or(Ok(act), |word| Err(word.clash()));
        }
        if let Some(status) = status_of(first)? {
            let status = more.iter().try_fold(status, extend_status)?;
            return Ok(Act::from(status));
        }
        answer_of(&words)
    }
}

/// A word of an act and what stands after its colon.
#[derive(Clone, Copy, Debug)]
struct Word<'a> {
    name: &'a str,
    value: Option<&'a str>,
}

impl<'a> Word<'a> {
    fn of(text: &'a str) -> Word<'a> {
        let text = text.trim();
        match text.split_once(':') {
            Some((name, value)) => Word { name: name.trim(), value: Some(value.trim()) },
            None => Word { name: text, value: None },
        }
    }

    fn clash(&self) -> ParseError {
        ParseError::Clash { word: self.name.to_owned() }
    }

    fn bad(&self) -> ParseError {
        let example = WORDS.iter().find(|(word, _, _)| *word == self.name);
        ParseError::BadValue {
            word: self.name.to_owned(),
            value: self.value.unwrap_or_default().to_owned(),
            example: example.map_or("429:2", |(_, example, _)| example),
        }
    }

    fn bare(&self) -> Result<(), ParseError> {
        if self.value.is_none() { Ok(()) } else { Err(self.bad()) }
    }

    fn text(&self) -> Result<&'a str, ParseError> {
        self.value.ok_or_else(|| self.bad())
    }

    fn number<T: FromStr>(&self) -> Result<T, ParseError> {
        self.value.and_then(|value| value.parse().ok()).ok_or_else(|| self.bad())
    }

    fn time(&self) -> Result<Duration, ParseError> {
        self.value.and_then(duration).ok_or_else(|| self.bad())
    }

    /// `A/B`
    fn pair(&self) -> Option<(&'a str, &'a str)> {
        self.value?.split_once('/').map(|(left, right)| (left.trim(), right.trim()))
    }
}

fn duration(text: &str) -> Option<Duration> {
    let (number, unit_ms) = if let Some(number) = text.strip_suffix("ms") {
        (number, 1)
    } else if let Some(number) = text.strip_suffix('s') {
        (number, 1_000)
    } else if let Some(number) = text.strip_suffix('m') {
        (number, 60_000)
    } else {
        (text, 1)
    };
    let number: u64 = number.trim().parse().ok()?;
    number.checked_mul(unit_ms).map(Duration::from_millis)
}

fn trouble(text: &str) -> Option<Trouble> {
    TROUBLES.iter().find(|(name, _)| *name == text).map(|(_, trouble)| *trouble)
}

fn alone(word: &Word<'_>) -> Result<Option<Act>, ParseError> {
    let act = match word.name {
        "reset" => Act::Reset(ResetPoint::Request),
        "reset-head" => Act::Reset(ResetPoint::Head),
        "hang" => Act::Hang,
        "silent" => Act::HeadersThenSilence,
        "html" => Act::Html,
        "zero" => Act::ZeroBytes,
        _ => return Ok(None),
    };
    word.bare().map(|()| Some(act))
}

fn status_of(word: &Word<'_>) -> Result<Option<Status>, ParseError> {
    let status = match word.name {
        "overflow" => Status::of(Trouble::ContextOverflow),
        "filter" => Status::of(Trouble::ContentFilter),
        "quota" => Status::of(Trouble::Quota),
        name => match name.parse::<u16>() {
            Ok(code @ 300..=999) => {
                let status = Status::new(code);
                return Ok(Some(match word.value {
                    Some("") => return Err(word.bad()),
                    Some(wait) => status.retry_after(wait),
                    None => status,
                }));
            }
            Ok(_) | Err(_) => return Ok(None),
        },
    };
    word.bare().map(|()| Some(status))
}

fn extend_status(mut status: Status, word: &Word<'_>) -> Result<Status, ParseError> {
    match word.name {
        "header" => {
            let pair = word.text()?.split_once('=').ok_or_else(|| word.bad())?;
            Ok(status.header(pair.0.trim(), pair.1.trim()))
        }
        "body" => Ok(status.body(word.text()?)),
        "trouble" => {
            status.trouble = Some(trouble(word.text()?).ok_or_else(|| word.bad())?);
            Ok(status)
        }
        _ => Err(word.clash()),
    }
}

fn answer_of(words: &[Word<'_>]) -> Result<Act, ParseError> {
    let mut answer = Answer::text("");
    let mut text = None;
    for word in words {
        if !(content(&mut answer, &mut text, word)? || delivery(&mut answer, word)?) {
            let fault = fault(word)?;
            if answer.fault.is_some() {
                return Err(word.clash());
            }
            answer.fault = Some(fault);
        }
    }
    if answer.fault == Some(Fault::MangledTool) && answer.tools.is_empty() {
        answer = answer.and_tool("read", r#"{"path":"notes/relay.txt"}"#);
    }
    let usual = if answer.tools.is_empty() { DEFAULT_TEXT } else { "" };
    answer.text = text.unwrap_or_else(|| usual.to_owned());
    Ok(Act::from(answer))
}

/// Words about what is said; whether it was one.
fn content(
    answer: &mut Answer,
    text: &mut Option<String>,
    word: &Word<'_>,
) -> Result<bool, ParseError> {
    match word.name {
        "ok" => *text = word.value.map(str::to_owned).or_else(|| Some(DEFAULT_TEXT.to_owned())),
        "empty" => {
            word.bare()?;
            *text = Some(String::new());
        }
        "huge" => *text = Some("x".repeat(word.number()?)),
        "think" => word.text()?.clone_into(&mut answer.thinking),
        "tool" => {
            let (name, arguments) = match word.text()?.split_once(' ') {
                Some((name, arguments)) => (name, arguments.trim()),
                None => (word.text()?, "{}"),
            };
            *answer = answer.clone().and_tool(name, arguments);
        }
        "length" => {
            word.bare()?;
            answer.finish = Finish::Truncated;
        }
        "filtered" => {
            word.bare()?;
            answer.finish = Finish::Filtered;
        }
        "usage" => {
            let (input, output) = word.pair().ok_or_else(|| word.bad())?;
            let tokens = input.parse().ok().zip(output.parse().ok());
            let (input, output) = tokens.ok_or_else(|| word.bad())?;
            answer.usage = Usage::Reported { input, output };
        }
        "no-usage" => {
            word.bare()?;
            answer.usage = Usage::Missing;
        }
        "cost" => answer.cost_micro = Some(word.text()?.parse().map_err(|_| word.bad())?),
        _ => return Ok(false),
    }
    Ok(true)
}

/// Words about how it comes; whether it was one.
fn delivery(answer: &mut Answer, word: &Word<'_>) -> Result<bool, ParseError> {
    match word.name {
        "head" => answer.pace.head = word.time()?,
        "first" => answer.pace.first = word.time()?,
        "drip" => answer.pace.gap = word.time()?,
        "bite" => answer.pace.bite = word.number()?,
        "beats" => {
            let pair = word.pair().and_then(|(every, during)| {
                duration(every).zip(duration(during)).filter(|(every, _)| !every.is_zero())
            });
            let (every, during) = pair.ok_or_else(|| word.bad())?;
            answer.pace.beats = Some(Beats { every, during });
        }
        "no-prefill" | "gzip" | "close" | "die-on-reuse" => {
            word.bare()?;
            match word.name {
                "no-prefill" => answer.prefill = Prefill::Refused,
                "gzip" => answer.coding = Coding::Gzip,
                "close" => answer.after = After::Close,
                _ => answer.after = After::DieOnReuse,
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn fault(word: &Word<'_>) -> Result<Fault, ParseError> {
    Ok(match word.name {
        "cut" => Fault::Cut { after: word.number()? },
        "torn" => Fault::Torn { after: word.number()? },
        "reset-after" => Fault::Reset { after: word.number()? },
        "bad-framing" => Fault::BadFraming { after: word.number()? },
        "eof" => Fault::CleanEof { after: word.number()? },
        "no-end" => word.bare().map(|()| Fault::NoTerminator)?,
        "silence" => match word.pair() {
            None => Fault::Silence { after: word.number()?, pause: None },
            Some((after, pause)) => {
                let parts = after.parse().ok().zip(duration(pause));
                let (after, pause) = parts.ok_or_else(|| word.bad())?;
                Fault::Silence { after, pause: Some(pause) }
            }
        },
        "malformed" => Fault::Malformed { at: word.number()? },
        "mangled" => Fault::Mangled { at: word.number()? },
        "mangled-tool" => word.bare().map(|()| Fault::MangledTool)?,
        "error" => Fault::ErrorEvent {
            place: Place::First,
            trouble: trouble(word.value.unwrap_or("overloaded")).ok_or_else(|| word.bad())?,
        },
        "error-after" => {
            let (after, name) = word.pair().unwrap_or((word.text()?, "overloaded"));
            let parts = after.parse().ok().zip(trouble(name));
            let (after, trouble) = parts.ok_or_else(|| word.bad())?;
            Fault::ErrorEvent { place: Place::AfterChunks(after), trouble }
        }
        "endless" => word.bare().map(|()| Fault::Endless)?,
        "wrong-length" => Fault::WrongLength { by: word.number()? },
        name if name.parse::<u16>().is_ok() => return Err(word.clash()),
        name if WORDS.iter().any(|(word, _, _)| *word == name) => return Err(word.clash()),
        name => return Err(ParseError::UnknownWord { word: name.to_owned() }),
    })
}
