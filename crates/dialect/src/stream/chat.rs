//! OpenAI Chat chunks, and whole Chat answers, which are built alike.

use std::borrow::Cow;

use crate::answer::{
    Answer, Balance, Counting, Finish, Malformed, Shown, Written, object_len, tells_error, text_len,
};
use crate::json::{JsonError, Kind, Scanner, Span, Text};
use crate::stream::Heard;

/// Finish reasons by which an upstream says that it broke: OpenRouter, Zhipu, DeepSeek, vLLM.
const BROKEN: [&str; 4] = ["error", "network_error", "insufficient_system_resource", "abort"];

/// Highest index of a choice or a tool call that is told apart, as OpenAI's `n` ends at 128; what
/// is beyond shares it, so that no upstream can make us keep more.
const INDEX_MAX: u64 = 127;

/// Members by which vendors that leave `error` out tell of one (DashScope, MiniMax, FastAPI).
const ERROR_WORDS: [&str; 6] = ["message", "detail", "error_code", "error_msg", "msg", "errors"];

/// The choices of one answer.
#[derive(Debug)]
pub(crate) struct Chat {
    expected: u32,
    choices: Vec<Choice>,
    /// Where the text stands that is all that the last object told.
    text: Option<Span>,
}

#[derive(Debug)]
struct Choice {
    index: u64,
    tool: bool,
    /// The reason that it gave for ending.
    finished: Option<Finish>,
    /// The arguments of each tool call, by its index.
    calls: Vec<(u64, Balance)>,
}

impl Choice {
    /// Without a reason for ending, a call that was named and given no arguments at all was cut
    /// before them.
    fn is_torn(&self) -> bool {
        self.calls.iter().any(|(_, call)| call.is_open())
            || (self.finished.is_none()
                && self.tool
                && (self.calls.is_empty() || self.calls.iter().any(|(_, call)| !call.is_begun())))
    }

    fn feed(&mut self, index: u64, arguments: &str) {
        match self.calls.iter_mut().find(|(known, _)| *known == index) {
            Some((_, balance)) => balance.feed(arguments),
            None => {
                let mut balance = Balance::default();
                balance.feed(arguments);
                self.calls.push((index, balance));
            }
        }
    }
}

/// What one object says. Nothing of it counts until the whole object was read.
#[derive(Default)]
struct Seen<'a> {
    parts: Vec<Part<'a>>,
    choices: bool,
    error: bool,
    error_words: bool,
}

impl Chat {
    pub(crate) const fn new(expected: u32) -> Self {
        Self { expected, choices: Vec::new(), text: None }
    }

    pub(crate) fn tool_open(&self) -> bool {
        self.choices.iter().any(|choice| choice.tool && choice.finished.is_none())
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.choices.len() >= self.expected as usize
            && self.choices.iter().all(|choice| choice.finished.is_some())
    }

    pub(crate) fn is_torn(&self) -> bool {
        self.choices.iter().any(Choice::is_torn)
    }

    /// In a whole answer every call is all that there is of it, with or without arguments.
    pub(crate) fn has_torn_arguments(&self) -> bool {
        let mut calls = self.choices.iter().flat_map(|choice| &choice.calls);
        calls.any(|(_, call)| call.is_open())
    }

    pub(crate) fn ended_torn(&self) -> bool {
        self.choices.iter().any(|choice| match choice.finished {
            Some(Finish::Stop | Finish::Other | Finish::ToolCalls) => choice.is_torn(),
            Some(Finish::Truncated | Finish::Filtered) | None => false,
        })
    }

    /// Where in the last object's text, quotes left out, the one text stands that can be another
    /// without a change to anything that was heard.
    pub(crate) const fn take_text(&mut self) -> Option<Span> {
        self.text.take()
    }

    #[cfg(test)]
    pub(crate) const fn kept(&self) -> usize {
        self.choices.len()
    }

    pub(crate) fn event(&mut self, answer: &mut Answer, text: &str) -> Result<Heard, Malformed> {
        if text.trim_ascii() == "[DONE]" {
            return Ok(Heard::Terminal);
        }
        self.object(answer, text)
    }

    /// Reads a chunk, or a whole answer.
    pub(crate) fn object(&mut self, answer: &mut Answer, text: &str) -> Result<Heard, Malformed> {
        let mut scanner = crate::answer::object(text)?;
        let mut seen = Seen::default();
        scanner.object(|inner, key| {
            match &*key.decode() {
                "id" => answer.note_id(inner.text_or_skip()?),
                "model" => answer.note_model(inner.text_or_skip()?),
                "choices" => {
                    seen.choices |= inner.kind()? == Kind::Array;
                    inner.array_or_skip(|inner| choice(answer, &mut seen, inner))?;
                }
                "usage" => answer.usage.merge(inner, Counting::Inclusive)?,
                "error" => seen.error |= tells_error(inner)?,
                "base_resp" => seen.error |= failed_base(inner)?,
                key => {
                    seen.error_words |= ERROR_WORDS.contains(&key);
                    inner.skip()?;
                }
            }
            Ok(())
        })?;
        scanner.finish()?;
        if seen.error || (seen.error_words && !seen.choices) {
            return Ok(Heard::Error);
        }
        self.text = match seen.parts.as_slice() {
            // Arguments are weighed piece by piece.
            [only] if only.arguments.is_empty() && only.is_one_text() => {
                only.text.map(|text| scanner.inside(text))
            }
            _ => None,
        };
        let sum = |written: fn(&Part<'_>) -> Written| {
            seen.parts.iter().map(|part| written(part).bytes()).sum::<u64>()
        };
        // Perplexity repeats beside each piece all that came before it.
        answer.written = (answer.written + sum(|part| part.written)).max(sum(|part| part.whole));
        let mut shown = Shown::default();
        let mut broke = None;
        for part in &seen.parts {
            shown.merge(part.shown);
            broke = self.take(answer, part).or(broke);
        }
        Ok(broke.map_or_else(|| shown.into(), |reason| Heard::Broken(broken(&reason))))
    }

    /// Adds a part to its choice; the finish reason, if it tells of a breakdown.
    fn take(&mut self, answer: &mut Answer, part: &Part<'_>) -> Option<String> {
        let at =
            self.choices.iter().position(|known| known.index == part.index).unwrap_or_else(|| {
                self.choices.push(Choice {
                    index: part.index,
                    tool: false,
                    finished: None,
                    calls: Vec::new(),
                });
                self.choices.len() - 1
            });
        let choice = &mut self.choices[at];
        choice.tool |= part.tool;
        for (call, arguments) in &part.arguments {
            choice.feed(*call, &arguments.decode());
        }
        // Some send an empty string, or the word, where they mean null.
        let reason = part.finish.as_deref().filter(|reason| !matches!(*reason, "" | "null"))?;
        let finish = finish_of(reason);
        choice.finished = choice.finished.max(Some(finish));
        if BROKEN.contains(&reason) {
            return Some(reason.to_owned());
        }
        answer.note_finish(finish);
        None
    }
}

/// Reads one choice.
fn choice<'a>(
    answer: &mut Answer,
    seen: &mut Seen<'a>,
    choice: &mut Scanner<'a>,
) -> Result<(), JsonError> {
    let (mut part, mut error) = (Part::default(), false);
    choice.object_or_skip(|inner, key| {
        match &*key.decode() {
            "index" => part.index = inner.integer_or_skip()?.unwrap_or(0).min(INDEX_MAX),
            "delta" => part.read(inner)?,
            "message" => {
                std::mem::swap(&mut part.written, &mut part.whole);
                part.read(inner)?;
                std::mem::swap(&mut part.written, &mut part.whole);
            }
            "finish_reason" => part.finish = inner.text_or_skip()?.map(Text::decode),
            "text" => part.shown.output |= part.written.add(text_len(inner)?),
            "usage" => answer.usage.merge(inner, Counting::Inclusive)?,
            "error" => error |= tells_error(inner)?,
            _ => inner.pass()?,
        }
        Ok(())
    })?;
    seen.error |= error;
    seen.parts.push(part);
    Ok(())
}

/// What an object says of one choice.
#[derive(Default)]
struct Part<'a> {
    index: u64,
    finish: Option<Cow<'a, str>>,
    shown: Shown,
    /// What was written in a piece, and in a message, which is all of it.
    written: Written,
    whole: Written,
    tool: bool,
    /// Pieces of arguments, with the index of their call.
    arguments: Vec<(u64, Text<'a>)>,
    /// The last text of the delta that has something in it.
    text: Option<Text<'a>>,
}

impl<'a> Part<'a> {
    const fn is_one_text(&self) -> bool {
        self.written.places == 1 && self.whole.places == 0
    }

    fn read(&mut self, value: &mut Scanner<'a>) -> Result<(), JsonError> {
        value.object_or_skip(|inner, key| {
            match &*key.decode() {
                "content" => self.content(inner)?,
                "refusal" => self.shown.output |= self.written.add(text_len(inner)?),
                // Some write the same under both names, and OpenRouter in details as well.
                "reasoning_content" | "reasoning" => {
                    let text = self.filled(inner)?;
                    self.shown.reasoning |= self.written.add_once(text);
                }
                "reasoning_details" => {
                    let mut words = 0;
                    inner.array_or_skip(|detail| {
                        self.shown.reasoning = true;
                        words += words_in(detail)?;
                        Ok(())
                    })?;
                    self.written.add_once(words);
                }
                "tool_calls" => {
                    let mut place = 0;
                    inner.array_or_skip(|call| {
                        place += 1;
                        self.tool_call(call, (place - 1).min(INDEX_MAX))
                    })?;
                }
                "function_call" => {
                    let called = self.function(inner, 0)?;
                    self.tool |= called;
                }
                "audio" => inner.object_or_skip(|audio, key| {
                    match &*key.decode() {
                        "data" => self.shown.output |= text_len(audio)? > 0,
                        "transcript" => self.shown.output |= self.written.add(text_len(audio)?),
                        _ => audio.pass()?,
                    }
                    Ok(())
                })?,
                "images" => inner.array_or_skip(|image| {
                    self.shown.output = true;
                    image.pass()
                })?,
                _ => inner.pass()?,
            }
            Ok(())
        })
    }

    /// Passes one value and says how many bytes of text it is. One with something in it is noted.
    fn filled(&mut self, value: &mut Scanner<'a>) -> Result<u64, JsonError> {
        let text = value.text_or_skip()?.filter(|text| !text.is_empty());
        self.text = text.or(self.text);
        Ok(text.map_or(0, |text| text.decoded_len() as u64))
    }

    /// A string, or Mistral's list of typed parts.
    fn content(&mut self, value: &mut Scanner<'a>) -> Result<(), JsonError> {
        if value.kind()? != Kind::Array {
            let text = self.filled(value)?;
            self.shown.output |= self.written.add(text);
            return Ok(());
        }
        let mut thought = 0;
        value.array(|parts| {
            let (mut thinks, mut words) = (false, 0);
            parts.object_or_skip(|part, key| {
                match &*key.decode() {
                    "type" => {
                        let kind = part.text_or_skip()?.map(|kind| kind.decode());
                        thinks = matches!(kind.as_deref(), Some("thinking" | "reasoning"));
                    }
                    "thinking" if part.kind()? == Kind::Array => part.array(|inner| {
                        words += words_in(inner)?;
                        Ok(())
                    })?,
                    "text" | "thinking" => words += text_len(part)?,
                    _ => part.pass()?,
                }
                Ok(())
            })?;
            self.shown.merge(Shown { output: words > 0 && !thinks, reasoning: thinks });
            if thinks {
                thought += words;
            } else {
                self.written.add(words);
            }
            Ok(())
        })?;
        self.written.add_once(thought);
        Ok(())
    }

    /// `place` is the call's index where it names none, as in a whole answer.
    fn tool_call(&mut self, call: &mut Scanner<'a>, place: u64) -> Result<(), JsonError> {
        self.tool = true;
        let from = self.arguments.len();
        let mut named = None;
        call.object_or_skip(|inner, key| {
            match &*key.decode() {
                "index" => named = inner.integer_or_skip()?.map(|index| index.min(INDEX_MAX)),
                "function" => {
                    self.function(inner, place)?;
                }
                "custom" => self.custom(inner)?,
                _ => inner.pass()?,
            }
            Ok(())
        })?;
        if let Some(named) = named {
            self.arguments[from..].iter_mut().for_each(|(index, _)| *index = named);
        }
        Ok(())
    }

    /// Whether it names a function or gives arguments.
    fn function(&mut self, value: &mut Scanner<'a>, index: u64) -> Result<bool, JsonError> {
        let mut shown = false;
        value.object_or_skip(|inner, key| {
            match &*key.decode() {
                "name" => shown |= self.written.add(text_len(inner)?),
                // A string by the standard; some send an object.
                "arguments" if inner.kind()? == Kind::Object => {
                    shown = true;
                    self.written.add(object_len(inner)?);
                }
                "arguments" => {
                    let piece = inner.text_or_skip()?.filter(|piece| !piece.is_empty());
                    shown |= self.written.add(piece.map_or(0, |piece| piece.decoded_len() as u64));
                    self.arguments.extend(piece.map(|piece| (index, piece)));
                }
                _ => inner.pass()?,
            }
            Ok(())
        })?;
        self.shown.output |= shown;
        Ok(shown)
    }

    /// A tool that takes plain text.
    fn custom(&mut self, value: &mut Scanner<'a>) -> Result<(), JsonError> {
        value.object_or_skip(|inner, key| {
            match &*key.decode() {
                "name" | "input" => self.shown.output |= self.written.add(text_len(inner)?),
                _ => inner.pass()?,
            }
            Ok(())
        })
    }
}

/// Passes one value and says how many bytes the words are that stand in it by themselves.
fn words_in(value: &mut Scanner<'_>) -> Result<u64, JsonError> {
    let mut words = 0;
    value.object_or_skip(|inner, key| {
        match &*key.decode() {
            "text" | "summary" => words += text_len(inner)?,
            _ => inner.pass()?,
        }
        Ok(())
    })?;
    Ok(words)
}

/// MiniMax: `base_resp.status_code` other than 0.
fn failed_base(value: &mut Scanner<'_>) -> Result<bool, JsonError> {
    let mut failed = false;
    value.object_or_skip(|inner, key| {
        if key.decode() == "status_code" {
            failed = inner.integer_or_skip()?.is_some_and(|code| code != 0);
            return Ok(());
        }
        inner.pass()
    })?;
    Ok(failed)
}

fn finish_of(reason: &str) -> Finish {
    match reason {
        "stop" | "stop_sequence" | "eos" | "end_turn" => Finish::Stop,
        "tool_calls" | "function_call" | "tool_use" => Finish::ToolCalls,
        "length" | "max_tokens" | "model_length" => Finish::Truncated,
        "content_filter" | "sensitive" | "refusal" => Finish::Filtered,
        _ => Finish::Other,
    }
}

fn broken(reason: &str) -> String {
    let message = format!("the answer ended with finish reason {reason}");
    serde_json::json!({ "error": { "type": "server_error", "code": reason, "message": message } })
        .to_string()
}
