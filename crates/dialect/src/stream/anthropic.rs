//! Anthropic Messages events, and whole answers.

use std::borrow::Cow;

use crate::answer::{
    Answer, Balance, Counting, Finish, Malformed, Shown, filled_text, tells_error,
};
use crate::json::{JsonError, Kind, Scanner, Text};
use crate::stream::Heard;

/// The block that is being written.
#[derive(Debug, Default)]
pub(crate) struct Anthropic {
    tool_open: bool,
    arguments: Balance,
    /// A tool call ended before its arguments did.
    torn: bool,
    /// The signature of the block, which may come in pieces.
    signature: String,
}

/// What one object says, whichever event it is.
#[derive(Default)]
struct Seen<'a> {
    kind: Option<Cow<'a, str>>,
    error: bool,
    shown: Shown,
    tool: bool,
    arguments: Option<Text<'a>>,
    /// Signatures of whole blocks, or a piece of one.
    signatures: Vec<Text<'a>>,
    stop: Option<Cow<'a, str>>,
}

impl Anthropic {
    pub(crate) const fn tool_open(&self) -> bool {
        self.tool_open
    }

    pub(crate) fn event(
        &mut self,
        answer: &mut Answer,
        text: &str,
        name: &str,
    ) -> Result<Heard, Malformed> {
        if text.trim_ascii() == "[DONE]" {
            // Not of this dialect; some compatible providers send it all the same.
            return Ok(Heard::Wire);
        }
        let seen = Seen::read(answer, text)?;
        let kind = seen.kind.as_deref().unwrap_or(name);
        if seen.error || kind == "error" {
            return Ok(Heard::Error);
        }
        if let Some(reason) = &seen.stop {
            let finish = finish_of(reason);
            let torn = self.torn || self.arguments.is_open();
            answer.note_finish(if torn { Finish::Truncated } else { finish });
        }
        match kind {
            "content_block_start" => {
                self.tool_open = seen.tool;
                self.arguments = Balance::default();
                self.sign(&seen);
                Ok(seen.shown.into())
            }
            "content_block_delta" => {
                if let Some(piece) = seen.arguments {
                    self.arguments.feed(&piece.decode());
                }
                self.sign(&seen);
                Ok(seen.shown.into())
            }
            "message_start" => Ok(seen.shown.into()),
            "content_block_stop" => {
                self.tool_open = false;
                self.torn |= self.arguments.is_open();
                if !self.signature.is_empty() {
                    answer.signatures.push(std::mem::take(&mut self.signature));
                }
                Ok(Heard::Wire)
            }
            "message_stop" => Ok(Heard::Terminal),
            _ => Ok(Heard::Wire),
        }
    }

    fn sign(&mut self, seen: &Seen<'_>) {
        for piece in &seen.signatures {
            self.signature.push_str(&piece.decode());
        }
    }

    /// Reads a whole answer.
    pub(crate) fn whole(answer: &mut Answer, text: &str) -> Result<Heard, Malformed> {
        let seen = Seen::read(answer, text)?;
        if seen.error || seen.kind.as_deref() == Some("error") {
            return Ok(Heard::Error);
        }
        if let Some(reason) = &seen.stop {
            answer.note_finish(finish_of(reason));
        }
        answer.output |= seen.shown.output;
        answer.reasoning |= seen.shown.reasoning;
        answer.signatures = seen.signatures.iter().map(|text| text.decode().into_owned()).collect();
        Ok(seen.shown.into())
    }
}

impl<'a> Seen<'a> {
    fn read(answer: &mut Answer, text: &'a str) -> Result<Self, Malformed> {
        let mut scanner = Scanner::new(text);
        if scanner.kind()? != Kind::Object {
            scanner.skip()?;
            scanner.finish()?;
            return Err(Malformed::NotAnObject);
        }
        let mut seen = Self::default();
        scanner.object(|inner, key| match &*key.decode() {
            "message" => inner.object_or_skip(|message, key| seen.message(answer, message, key)),
            "delta" => inner.object_or_skip(|delta, key| seen.delta(delta, key)),
            "content_block" => seen.block(inner),
            "error" => {
                seen.error |= tells_error(inner)?;
                Ok(())
            }
            "type" => {
                seen.kind = inner.text_or_skip()?.map(Text::decode);
                Ok(())
            }
            _ => seen.message(answer, inner, key),
        })?;
        scanner.finish()?;
        Ok(seen)
    }

    /// The members of a message: of `message_start`, or of a whole answer.
    fn message(
        &mut self,
        answer: &mut Answer,
        value: &mut Scanner<'a>,
        key: Text<'a>,
    ) -> Result<(), JsonError> {
        match &*key.decode() {
            "id" => answer.note_id(value.text_or_skip()?),
            "model" => answer.note_model(value.text_or_skip()?),
            "usage" => answer.usage.merge(value, Counting::Exclusive)?,
            "content" => value.array_or_skip(|block| self.block(block))?,
            "stop_reason" => self.note_stop(value)?,
            _ => value.pass()?,
        }
        Ok(())
    }

    fn delta(&mut self, value: &mut Scanner<'a>, key: Text<'a>) -> Result<(), JsonError> {
        match &*key.decode() {
            "text" => self.shown.output |= filled_text(value)?,
            "partial_json" => {
                self.arguments = value.text_or_skip()?.filter(|piece| !piece.is_empty());
                self.shown.output |= self.arguments.is_some();
            }
            "thinking" => self.shown.reasoning |= filled_text(value)?,
            "signature" => {
                let piece = value.text_or_skip()?.filter(|piece| !piece.is_empty());
                self.shown.reasoning |= piece.is_some();
                self.signatures.extend(piece);
            }
            "stop_reason" => self.note_stop(value)?,
            _ => value.pass()?,
        }
        Ok(())
    }

    fn note_stop(&mut self, value: &mut Scanner<'a>) -> Result<(), JsonError> {
        let reason = value.text_or_skip()?.filter(|reason| !reason.is_empty());
        self.stop = reason.map(Text::decode).or_else(|| self.stop.take());
        Ok(())
    }

    fn block(&mut self, value: &mut Scanner<'a>) -> Result<(), JsonError> {
        let (mut kind, mut filled, mut signature) = (None, false, None);
        value.object_or_skip(|inner, key| {
            match &*key.decode() {
                "type" => kind = inner.text_or_skip()?.map(Text::decode),
                "signature" | "data" => signature = inner.text_or_skip()?,
                "text" | "thinking" => filled |= filled_text(inner)?,
                _ => inner.pass()?,
            }
            Ok(())
        })?;
        if matches!(kind.as_deref(), Some("thinking" | "redacted_thinking")) {
            self.signatures.extend(signature.filter(|text| !text.is_empty()));
        }
        match kind.as_deref() {
            None => {}
            Some("text") => self.shown.output |= filled,
            Some("thinking") => self.shown.reasoning |= filled,
            Some("redacted_thinking") => self.shown.reasoning = true,
            Some(other) => {
                // Tool calls, the vendor's own included, and their results: shown or run.
                self.tool |= other.ends_with("tool_use");
                self.shown.output = true;
            }
        }
        Ok(())
    }
}

fn finish_of(reason: &str) -> Finish {
    match reason {
        "end_turn" | "stop_sequence" | "stop" => Finish::Stop,
        "tool_use" | "tool_calls" => Finish::ToolCalls,
        "max_tokens" | "length" | "model_context_window_exceeded" => Finish::Truncated,
        "refusal" | "content_filter" | "sensitive" => Finish::Filtered,
        _ => Finish::Other,
    }
}
