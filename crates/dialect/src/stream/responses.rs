//! OpenAI Responses events, and whole answers.

use std::borrow::Cow;

use crate::answer::{
    Answer, Balance, Counting, Finish, Malformed, Shown, filled_text, tells_error,
};
use crate::json::{JsonError, Scanner, Text};
use crate::stream::Heard;

/// The tool calls that are being written.
#[derive(Debug, Default)]
pub(crate) struct Responses {
    calls_open: u32,
    called: bool,
    /// A tool call ended before its arguments did.
    torn: bool,
}

#[derive(Default)]
struct Seen<'a> {
    kind: Option<Cow<'a, str>>,
    error: bool,
    delta: bool,
    /// What the items in it show, and whether a call is among them.
    items: Shown,
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
                return Ok(Heard::Terminal);
            }
            "response.output_item.added" if seen.call => {
                self.calls_open += 1;
                return Ok(Heard::Output);
            }
            "response.output_item.done" => {
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
        let filled = seen.delta && kind.ends_with(".delta");
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
                seen.delta = filled_text(inner)?;
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
        let (mut kind, mut filled) = (None, false);
        value.object_or_skip(|inner, key| {
            match &*key.decode() {
                "type" => kind = inner.text_or_skip()?.map(Text::decode),
                "arguments" => {
                    let mut balance = Balance::default();
                    if let Some(arguments) = inner.text_or_skip()? {
                        balance.feed(&arguments.decode());
                    }
                    self.torn |= balance.is_open();
                }
                "content" => inner.array_or_skip(|parts| {
                    parts.object_or_skip(|part, key| {
                        let said = matches!(&*key.decode(), "text" | "refusal");
                        filled |= filled_text(part)? && said;
                        Ok(())
                    })
                })?,
                _ => inner.pass()?,
            }
            Ok(())
        })?;
        match kind.as_deref() {
            None => {}
            Some("message") => self.items.output |= filled,
            Some("reasoning") => self.items.reasoning = true,
            Some(other) => {
                let call = other.ends_with("_call");
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
