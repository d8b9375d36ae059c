//! OpenAI Chat chunks, and whole Chat answers, which are built alike.

use crate::answer::{Answer, Counting, Finish, Malformed, Shown, filled_text, tells_error};
use crate::json::{JsonError, Kind, Scanner};
use crate::stream::Heard;

/// Finish reasons by which an upstream says that it broke: OpenRouter, Zhipu, DeepSeek, vLLM.
const BROKEN: [&str; 4] = ["error", "network_error", "insufficient_system_resource", "abort"];

/// Members by which vendors that leave `error` out tell of one (DashScope, MiniMax, FastAPI).
const ERROR_WORDS: [&str; 6] = ["message", "detail", "error_code", "error_msg", "msg", "errors"];

/// The choices of one answer.
#[derive(Debug)]
pub(crate) struct Chat {
    expected: u32,
    choices: Vec<Choice>,
}

#[derive(Debug)]
struct Choice {
    index: u64,
    tool: bool,
    finished: bool,
}

/// What one object says besides its choices.
#[derive(Default)]
struct Seen {
    choices: bool,
    error: bool,
    error_words: bool,
    broken: Option<String>,
    shown: Shown,
}

impl Chat {
    pub(crate) const fn new(expected: u32) -> Self {
        Self { expected, choices: Vec::new() }
    }

    pub(crate) fn tool_open(&self) -> bool {
        self.choices.iter().any(|choice| choice.tool && !choice.finished)
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.choices.len() >= self.expected as usize
            && self.choices.iter().all(|choice| choice.finished)
    }

    pub(crate) fn event(&mut self, answer: &mut Answer, text: &str) -> Result<Heard, Malformed> {
        if text.trim_ascii() == "[DONE]" {
            return Ok(Heard::Terminal);
        }
        self.object(answer, text)
    }

    /// Reads a chunk, or a whole answer.
    pub(crate) fn object(&mut self, answer: &mut Answer, text: &str) -> Result<Heard, Malformed> {
        let mut scanner = Scanner::new(text);
        if scanner.kind()? != Kind::Object {
            scanner.skip()?;
            scanner.finish()?;
            return Err(Malformed::NotAnObject);
        }
        let mut seen = Seen::default();
        scanner.object(|inner, key| {
            match &*key.decode() {
                "id" => answer.note_id(inner.text_or_skip()?),
                "model" => answer.note_model(inner.text_or_skip()?),
                "choices" => {
                    seen.choices |= inner.kind()? == Kind::Array;
                    inner.array_or_skip(|choice| self.choice(answer, &mut seen, choice))?;
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
        Ok(seen.broken.map_or_else(|| seen.shown.into(), Heard::Broken))
    }

    fn choice(
        &mut self,
        answer: &mut Answer,
        seen: &mut Seen,
        choice: &mut Scanner<'_>,
    ) -> Result<(), JsonError> {
        let (mut index, mut finish, mut part, mut error) = (0, None, Part::default(), false);
        choice.object_or_skip(|inner, key| {
            match &*key.decode() {
                "index" => index = inner.integer_or_skip()?.unwrap_or(0),
                "delta" | "message" => part.read(inner)?,
                "finish_reason" => finish = inner.text_or_skip()?.map(|text| text.decode()),
                "text" => part.shown.output |= filled_text(inner)?,
                "usage" => answer.usage.merge(inner, Counting::Inclusive)?,
                "error" => error |= tells_error(inner)?,
                _ => inner.pass()?,
            }
            Ok(())
        })?;
        seen.error |= error;
        seen.shown.merge(part.shown);
        // Some send an empty string, or the word, where they mean null.
        let finish = finish.filter(|reason| !matches!(&**reason, "" | "null"));
        if let Some(reason) = finish.as_deref() {
            if BROKEN.contains(&reason) {
                seen.broken = Some(broken(reason));
            } else {
                answer.note_finish(finish_of(reason));
            }
        }
        let at = self.choices.iter().position(|known| known.index == index).unwrap_or_else(|| {
            self.choices.push(Choice { index, tool: false, finished: false });
            self.choices.len() - 1
        });
        self.choices[at].tool |= part.tool;
        self.choices[at].finished |= finish.is_some();
        Ok(())
    }
}

/// What a delta or a message holds.
#[derive(Default)]
struct Part {
    shown: Shown,
    tool: bool,
}

impl Part {
    fn read(&mut self, value: &mut Scanner<'_>) -> Result<(), JsonError> {
        value.object_or_skip(|inner, key| {
            match &*key.decode() {
                "content" => self.content(inner)?,
                "refusal" => self.shown.output |= filled_text(inner)?,
                "reasoning_content" | "reasoning" => self.shown.reasoning |= filled_text(inner)?,
                "reasoning_details" => inner.array_or_skip(|detail| {
                    self.shown.reasoning = true;
                    detail.pass()
                })?,
                "tool_calls" => inner.array_or_skip(|call| self.tool_call(call))?,
                "function_call" => {
                    let shown = names_or_arguments(inner)?;
                    self.tool |= shown;
                    self.shown.output |= shown;
                }
                "audio" => inner.object_or_skip(|audio, key| {
                    let said = matches!(&*key.decode(), "data" | "transcript");
                    self.shown.output |= filled_text(audio)? && said;
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

    /// A string, or Mistral's list of typed parts.
    fn content(&mut self, value: &mut Scanner<'_>) -> Result<(), JsonError> {
        if value.kind()? != Kind::Array {
            self.shown.output |= filled_text(value)?;
            return Ok(());
        }
        value.array(|parts| {
            let (mut thinks, mut filled) = (false, false);
            parts.object_or_skip(|part, key| {
                match &*key.decode() {
                    "type" => {
                        let kind = part.text_or_skip()?.map(|kind| kind.decode());
                        thinks = matches!(kind.as_deref(), Some("thinking" | "reasoning"));
                        filled |= thinks;
                    }
                    "text" => filled |= filled_text(part)?,
                    _ => part.pass()?,
                }
                Ok(())
            })?;
            self.shown.merge(Shown { output: filled && !thinks, reasoning: thinks });
            Ok(())
        })
    }

    fn tool_call(&mut self, call: &mut Scanner<'_>) -> Result<(), JsonError> {
        self.tool = true;
        call.object_or_skip(|inner, key| {
            if matches!(&*key.decode(), "function" | "custom") {
                self.shown.output |= names_or_arguments(inner)?;
                return Ok(());
            }
            inner.pass()
        })
    }
}

fn names_or_arguments(function: &mut Scanner<'_>) -> Result<bool, JsonError> {
    let mut shown = false;
    function.object_or_skip(|inner, key| {
        if matches!(&*key.decode(), "name" | "arguments" | "input") {
            // Arguments come as a string; some send an object.
            shown |= inner.kind()? == Kind::Object || filled_text(&mut inner.clone())?;
        }
        inner.pass()
    })?;
    Ok(shown)
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
