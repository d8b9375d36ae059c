//! Anthropic Messages events, and whole answers.

use std::borrow::Cow;

use crate::answer::{
    Answer, Balance, Counting, Finish, Malformed, Shown, Written, object_len, tells_error, text_len,
};
use crate::json::{JsonError, Kind, Scanner, Span, Text};
use crate::stream::Heard;

/// Highest index of a block that is told apart; what is beyond shares it, so that no upstream can
/// make us keep more.
const INDEX_MAX: u64 = 127;

/// The blocks that are being written.
#[derive(Debug, Default)]
pub(crate) struct Anthropic {
    /// Tool calls that have begun and not ended, by the index of their block, with their arguments.
    calls: Vec<(u64, Balance)>,
    /// A tool call ended before its arguments did, or another block took its place.
    torn: bool,
    /// The signature of the block, which may come in pieces.
    signature: String,
    /// Where the text stands that is all that the last event told.
    text: Option<Span>,
}

/// What one object says, whichever event it is.
#[derive(Default)]
struct Seen<'a> {
    kind: Option<Cow<'a, str>>,
    /// The block that it is about; 0 where that is not said.
    index: u64,
    error: bool,
    shown: Shown,
    written: Written,
    tool: bool,
    arguments: Option<Text<'a>>,
    /// A call in it has arguments, given as a string, that stop in the middle.
    torn: bool,
    /// Signatures of whole blocks, or a piece of one.
    signatures: Vec<Text<'a>>,
    stop: Option<Cow<'a, str>>,
    /// The last text of a delta that has something in it.
    text: Option<Text<'a>>,
}

impl Anthropic {
    pub(crate) const fn tool_open(&self) -> bool {
        !self.calls.is_empty()
    }

    pub(crate) const fn is_torn(&self) -> bool {
        self.torn || !self.calls.is_empty()
    }

    /// Where in the last event's text, quotes left out, the one text stands that can be another
    /// without a change to anything that was heard.
    pub(crate) const fn take_text(&mut self) -> Option<Span> {
        self.text.take()
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
            answer.note_finish(finish_of(reason));
        }
        match kind {
            "content_block_start" => {
                self.torn |= seen.torn || self.take_call(seen.index).is_some();
                if seen.tool {
                    self.calls.push((seen.index, Balance::default()));
                }
                self.sign(&seen);
                answer.written += seen.written.bytes();
                Ok(seen.shown.into())
            }
            "content_block_delta" => {
                let call = self.calls.iter_mut().find(|(index, _)| *index == seen.index);
                if let (Some(piece), Some((_, balance))) = (seen.arguments, call) {
                    balance.feed(&piece.decode());
                }
                self.sign(&seen);
                // Arguments are weighed, and signatures joined, piece by piece.
                let plain = seen.arguments.is_none() && seen.signatures.is_empty();
                let piece = seen.text.filter(|_| plain && seen.written.places == 1);
                self.text = piece.map(|piece| Scanner::new(text).inside(piece));
                answer.written += seen.written.bytes();
                Ok(seen.shown.into())
            }
            "message_start" => {
                answer.written += seen.written.bytes();
                Ok(seen.shown.into())
            }
            "content_block_stop" => {
                self.torn |= self.take_call(seen.index).is_some_and(Balance::is_open);
                if !self.signature.is_empty() {
                    answer.signatures.push(std::mem::take(&mut self.signature));
                }
                Ok(Heard::Wire)
            }
            "message_stop" => Ok(Heard::Terminal),
            _ => Ok(Heard::Wire),
        }
    }

    fn take_call(&mut self, index: u64) -> Option<Balance> {
        let at = self.calls.iter().position(|(known, _)| *known == index)?;
        Some(self.calls.swap_remove(at).1)
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
        answer.written = seen.written.bytes();
        answer.torn = seen.torn;
        answer.signatures = seen.signatures.iter().map(|text| text.decode().into_owned()).collect();
        Ok(seen.shown.into())
    }
}

impl<'a> Seen<'a> {
    fn read(answer: &mut Answer, text: &'a str) -> Result<Self, Malformed> {
        let mut scanner = crate::answer::object(text)?;
        let mut seen = Self::default();
        scanner.object(|inner, key| match &*key.decode() {
            "message" => {
                // What stands there before any word stands for a number and is none.
                let output = answer.usage.output;
                inner.object_or_skip(|message, key| seen.message(answer, message, key))?;
                answer.usage.output = output;
                Ok(())
            }
            "delta" => inner.object_or_skip(|delta, key| seen.delta(delta, key)),
            "content_block" => seen.block(inner),
            "index" => {
                seen.index = inner.integer_or_skip()?.unwrap_or(0).min(INDEX_MAX);
                Ok(())
            }
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
            "text" => self.shown.output |= self.filled(value)?,
            "partial_json" => {
                self.arguments = value.text_or_skip()?.filter(|piece| !piece.is_empty());
                let len = self.arguments.map_or(0, |piece| piece.decoded_len() as u64);
                self.shown.output |= self.written.add(len);
            }
            "thinking" => self.shown.reasoning |= self.filled(value)?,
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

    /// Passes one value and says whether it is a text with something in it, which is noted.
    fn filled(&mut self, value: &mut Scanner<'a>) -> Result<bool, JsonError> {
        let text = value.text_or_skip()?.filter(|text| !text.is_empty());
        self.text = text.or(self.text);
        Ok(self.written.add(text.map_or(0, |text| text.decoded_len() as u64)))
    }

    fn note_stop(&mut self, value: &mut Scanner<'a>) -> Result<(), JsonError> {
        let reason = value.text_or_skip()?.filter(|reason| !reason.is_empty());
        self.stop = reason.map(Text::decode).or_else(|| self.stop.take());
        Ok(())
    }

    fn block(&mut self, value: &mut Scanner<'a>) -> Result<(), JsonError> {
        let (mut kind, mut signature, mut torn) = (None, None, false);
        let (mut words, mut called) = (0, 0);
        value.object_or_skip(|inner, key| {
            match &*key.decode() {
                "type" => kind = inner.text_or_skip()?.map(Text::decode),
                "signature" | "data" => signature = inner.text_or_skip()?,
                "text" | "thinking" => words += text_len(inner)?,
                "name" => called += text_len(inner)?,
                // An object by the standard; a string holds what a translator could not read.
                "input" if inner.kind()? == Kind::Text => {
                    let arguments = inner.text()?;
                    called += arguments.decoded_len() as u64;
                    let mut balance = Balance::default();
                    balance.feed(&arguments.decode());
                    torn = balance.is_open();
                }
                "input" => called += object_len(inner)?,
                _ => inner.pass()?,
            }
            Ok(())
        })?;
        if matches!(kind.as_deref(), Some("thinking" | "redacted_thinking")) {
            self.signatures.extend(signature.filter(|text| !text.is_empty()));
        }
        match kind.as_deref() {
            None => {}
            Some("text") => self.shown.output |= self.written.add(words),
            Some("thinking") => self.shown.reasoning |= self.written.add(words),
            Some("redacted_thinking") => self.shown.reasoning = true,
            Some(other) => {
                // Tool calls, the vendor's own included, and their results: shown or run.
                let tool = other.ends_with("tool_use");
                self.tool |= tool;
                self.torn |= tool && torn;
                self.written.add(if tool { called } else { 0 });
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
