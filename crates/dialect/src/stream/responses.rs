//! OpenAI Responses events, and whole answers.

use std::borrow::Cow;

use crate::answer::{
    Answer, Balance, Counting, Finish, Malformed, Shown, object_len, tells_error, text_len,
};
use crate::json::{JsonError, Kind, Scanner, Text};
use crate::stream::Heard;

/// The tool calls that are being written.
#[derive(Debug, Default)]
pub(crate) struct Responses {
    calls_open: u32,
    called: bool,
    /// A tool call ended before its arguments did.
    torn: bool,
    /// Bytes that came in items which had ended: the same that came in pieces before.
    written_in_items: u64,
}

#[derive(Default)]
struct Seen<'a> {
    kind: Option<Cow<'a, str>>,
    error: bool,
    /// Bytes of the piece that came.
    delta: u64,
    /// What the items in it show, how many bytes the model wrote in them, and whether a call is among
    /// them.
    items: Shown,
    written: u64,
    call: bool,
    /// A call in it has arguments that stop in the middle.
    torn: bool,
    status: Option<Cow<'a, str>>,
    incomplete: Option<Cow<'a, str>>,
}

impl Responses {
    pub(crate) const fn tool_open(&self) -> bool {
        self.calls_open > 0
    }

    pub(crate) const fn is_torn(&self) -> bool {
        self.torn || self.calls_open > 0
    }

    pub(crate) fn event(&mut self, answer: &mut Answer, text: &str) -> Result<Heard, Malformed> {
        if text.trim_ascii() == "[DONE]" {
            return Ok(Heard::Wire);
        }
        let seen = Seen::read(answer, text)?;
        let kind = seen.kind.as_deref().unwrap_or_default();
        match kind {
            "error" | "response.failed" | "response.cancelled" => return Ok(Heard::Error),
            _ if seen.error => return Ok(Heard::Error),
            "response.completed" | "response.incomplete" => {
                answer.output |= seen.items.output;
                answer.reasoning |= seen.items.reasoning;
                answer.note_finish(seen.finish(self.called));
                self.torn |= seen.torn;
                // All of it, once more.
                answer.written = answer.written.max(seen.written);
                return Ok(Heard::Terminal);
            }
            "response.output_item.added" if seen.call => {
                self.calls_open += 1;
                answer.written += seen.written;
                return Ok(Heard::Output);
            }
            "response.output_item.done" => {
                self.written_in_items += seen.written;
                answer.written = answer.written.max(self.written_in_items);
                if seen.call {
                    self.calls_open = self.calls_open.saturating_sub(1);
                    self.called = true;
                    self.torn |= seen.torn;
                    return Ok(Heard::Output);
                }
                return Ok(seen.items.into());
            }
            _ => {}
        }
        let filled = seen.delta > 0 && kind.ends_with(".delta");
        // Sound comes in base64.
        if filled && !kind.ends_with("audio.delta") {
            answer.written += seen.delta;
        }
        let thinks = kind.starts_with("response.reasoning");
        Ok(Shown { output: filled && !thinks, reasoning: filled && thinks }.into())
    }

    /// Reads a whole answer.
    pub(crate) fn whole(answer: &mut Answer, text: &str) -> Result<Heard, Malformed> {
        let seen = Seen::read(answer, text)?;
        if seen.error || matches!(seen.status.as_deref(), Some("failed" | "cancelled")) {
            return Ok(Heard::Error);
        }
        answer.output |= seen.items.output;
        answer.reasoning |= seen.items.reasoning;
        if seen.status.is_some() {
            answer.note_finish(seen.finish(false));
        }
        answer.written = seen.written;
        answer.torn = seen.torn;
        Ok(seen.items.into())
    }
}

impl<'a> Seen<'a> {
    fn read(answer: &mut Answer, text: &'a str) -> Result<Self, Malformed> {
        let mut scanner = crate::answer::object(text)?;
        let mut seen = Self::default();
        scanner.object(|inner, key| match &*key.decode() {
            "type" => {
                seen.kind = inner.text_or_skip()?.map(Text::decode);
                Ok(())
            }
            "delta" => {
                seen.delta = text_len(inner)?;
                Ok(())
            }
            "item" => seen.item(inner),
            "response" => inner.object_or_skip(|inner, key| seen.response(answer, inner, key)),
            _ => seen.response(answer, inner, key),
        })?;
        scanner.finish()?;
        Ok(seen)
    }

    fn response(
        &mut self,
        answer: &mut Answer,
        value: &mut Scanner<'a>,
        key: Text<'a>,
    ) -> Result<(), JsonError> {
        match &*key.decode() {
            "id" => answer.note_id(value.text_or_skip()?),
            "model" => answer.note_model(value.text_or_skip()?),
            "usage" => answer.usage.merge(value, Counting::Inclusive)?,
            "error" => self.error |= tells_error(value)?,
            "status" => self.status = value.text_or_skip()?.map(Text::decode),
            "output" => value.array_or_skip(|item| self.item(item))?,
            "incomplete_details" => value.object_or_skip(|inner, key| {
                if key.decode() == "reason" {
                    self.incomplete = inner.text_or_skip()?.map(Text::decode);
                    return Ok(());
                }
                inner.pass()
            })?,
            _ => value.pass()?,
        }
        Ok(())
    }

    fn item(&mut self, value: &mut Scanner<'a>) -> Result<(), JsonError> {
        let (mut kind, mut words, mut called) = (None, 0, 0);
        value.object_or_skip(|inner, key| {
            match &*key.decode() {
                "type" => kind = inner.text_or_skip()?.map(Text::decode),
                "arguments" if inner.kind()? == Kind::Text => {
                    let arguments = inner.text()?;
                    called += arguments.decoded_len() as u64;
                    let mut balance = Balance::default();
                    balance.feed(&arguments.decode());
                    self.torn |= balance.is_open();
                }
                "arguments" => called += object_len(inner)?,
                "name" | "input" | "code" => called += text_len(inner)?,
                "content" | "summary" => inner.array_or_skip(|parts| {
                    parts.object_or_skip(|part, key| {
                        match &*key.decode() {
                            "text" | "refusal" => words += text_len(part)?,
                            _ => part.pass()?,
                        }
                        Ok(())
                    })
                })?,
                _ => inner.pass()?,
            }
            Ok(())
        })?;
        match kind.as_deref() {
            None => {}
            Some("message") => {
                self.written += words;
                self.items.output |= words > 0;
            }
            Some("reasoning") => {
                self.written += words;
                self.items.reasoning = true;
            }
            Some(other) => {
                let call = other.ends_with("_call");
                self.written += if call { called } else { 0 };
                self.call |= call;
                self.items.output |= call;
            }
        }
        Ok(())
    }

    fn finish(&self, called: bool) -> Finish {
        let incomplete = self.status.as_deref() == Some("incomplete")
            || self.kind.as_deref() == Some("response.incomplete");
        match self.incomplete.as_deref() {
            Some("content_filter") => Finish::Filtered,
            Some("max_output_tokens" | "max_tokens") => Finish::Truncated,
            Some(_) | None if incomplete => Finish::Truncated,
            Some(_) | None if self.call || called => Finish::ToolCalls,
            Some(_) | None => Finish::Stop,
        }
    }
}
