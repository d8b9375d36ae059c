//! What a call asks for.
//!
//! It refuses to change or to complete a body, and to judge what only an upstream can judge: it
//! locates the members it knows and leaves all others unread. Rewriting is [`crate::splice`]'s.

mod ids;
mod outline;
mod root;
mod title;

use bytes::Bytes;

pub use ids::Ids;
pub use outline::{MEDIA_TOKENS, TEXT_BYTES_PER_TOKEN};
pub use root::Root;

use crate::Dialect;
use crate::json::{JsonError, Kind, Member, Scanner, Span, Text};
use outline::{Marks, Outline};

/// A body that was read: the bytes, where its parts stand, and what they say.
#[derive(Clone)]
pub struct Request {
    dialect: Dialect,
    body: Bytes,
    members: Vec<Member>,
    conversation: Conversation,
    marks: Marks,
    facts: Facts,
}

/// Where the conversation stands in the body.
#[derive(Clone, Debug)]
pub(crate) enum Conversation {
    /// The array and its elements.
    Turns { array: Span, turns: Vec<Span> },
    /// Responses take a string in place of the array.
    Text(Span),
}

/// What a body says, as far as choosing, limiting and naming go.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Facts {
    /// The model asked for, as it was written.
    pub model: String,
    /// A stream of events is asked for.
    pub stream: bool,
    /// `stream_options.include_usage` is asked for (Chat).
    pub include_usage: bool,
    /// The output limit asked for, in tokens, under whichever name the dialect has for it.
    pub max_tokens: Option<u64>,
    /// How many answers are asked for (`n` in Chat); 1 when unsaid.
    pub choices: u32,
    /// The effort level asked for, as it was written: `reasoning_effort`, `reasoning.effort` or
    /// `output_config.effort`.
    pub effort: Option<String>,
    /// Anthropic's `thinking` parameter.
    pub thinking: Thinking,
    /// An assistant turn or a tool result stands in the conversation (R9, `auto`).
    pub under_way: bool,
    /// How many tools are offered.
    pub tools: usize,
    /// A structured answer is asked for whose only field is `title`: a side call (R47).
    pub title_only: bool,
    /// What may name the session or its user (G4).
    pub ids: Ids,
    /// Turns in the conversation.
    pub turns: usize,
    /// Images, files and sounds in the conversation.
    pub media: usize,
    /// Input tokens, estimated: strings, keys and numbers of conversation, system text and tools
    /// in bytes, divided by [`TEXT_BYTES_PER_TOKEN`], and [`MEDIA_TOKENS`] for each medium.
    pub input_tokens: u64,
}

/// Anthropic's `thinking` parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Thinking {
    /// Not said.
    #[default]
    Unsaid,
    /// `disabled`.
    Off,
    /// `adaptive`: the model chooses.
    Adaptive,
    /// `enabled` with a budget, in tokens.
    Budget(u64),
}

/// Why a body is refused; the text is for whoever wrote the client.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// The bytes are not UTF-8.
    #[error("the body is not UTF-8: the byte at offset {offset} begins no character")]
    NotUtf8 {
        /// Offset of the first bad byte.
        offset: usize,
    },
    /// The text is not JSON.
    #[error(
        "the body is not JSON: unexpected {found} at line {line}, column {column} (offset {offset})"
    )]
    NotJson {
        /// Offset of the first byte that does not fit.
        offset: usize,
        /// Its line, from 1.
        line: usize,
        /// Its column in bytes, from 1.
        column: usize,
        /// What stands there, in words.
        found: String,
    },
    /// Nested too deeply.
    #[error("the body is nested more than {limit} levels deep at offset {offset}")]
    TooDeep {
        /// Offset of the bracket that is one too many.
        offset: usize,
        /// The limit, in levels.
        limit: usize,
    },
    /// JSON, but no object.
    #[error("the body must be a JSON object, and is {found}")]
    NotAnObject {
        /// What it is.
        found: &'static str,
    },
    /// A member that every call needs is not there.
    #[error("`{name}` is missing; {hint}")]
    Missing {
        /// The member.
        name: &'static str,
        /// What it should hold.
        hint: &'static str,
    },
    /// A member is of the wrong type.
    #[error("`{name}` must be {wanted}, and is {found}")]
    WrongType {
        /// The member.
        name: &'static str,
        /// What it should be.
        wanted: &'static str,
        /// What it is.
        found: &'static str,
    },
}

impl BodyError {
    /// The member that is wrong, for the `param` of an OpenAI error.
    #[must_use]
    pub const fn param(&self) -> Option<&'static str> {
        match self {
            Self::Missing { name, .. } | Self::WrongType { name, .. } => Some(name),
            Self::NotUtf8 { .. }
            | Self::NotJson { .. }
            | Self::TooDeep { .. }
            | Self::NotAnObject { .. } => None,
        }
    }
}

/// Reads a body.
///
/// # Errors
/// When the bytes are no JSON object in UTF-8, lack a model or a conversation, or give a member that
/// steers the call in another type than it has.
pub fn read(dialect: Dialect, body: &Bytes) -> Result<Request, BodyError> {
    let text = std::str::from_utf8(body)
        .map_err(|error| BodyError::NotUtf8 { offset: error.valid_up_to() })?;
    let outline = outline::read(dialect, text).map_err(|error| explain(text, error))??;
    let mut facts = Facts { choices: 1, ..Facts::default() };
    facts.model = model(text, &outline)?;
    types(text, &outline)?;
    let conversation = conversation(dialect, text, &outline)?;
    facts.read(text, &outline, &conversation).map_err(|error| explain(text, error))?;
    let marks = outline.marks;
    let members = outline.members.into_iter().map(|(_, member)| member).collect();
    Ok(Request { dialect, body: body.clone(), members, conversation, marks, facts })
}

impl Request {
    /// The dialect it was read in.
    #[must_use]
    pub const fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The bytes as they came.
    #[must_use]
    pub const fn body(&self) -> &Bytes {
        &self.body
    }

    /// What it says.
    #[must_use]
    pub const fn facts(&self) -> &Facts {
        &self.facts
    }

    /// What a conversation without ids is recognised by. It is read when it is asked for: most clients
    /// name their sessions, and a system text may be long.
    #[must_use]
    pub fn root(&self) -> Root {
        // It was read once; nothing in it is new.
        root::read(self).unwrap_or_default()
    }

    pub(crate) fn text(&self) -> &str {
        // Checked when it was read; the bytes are immutable.
        std::str::from_utf8(&self.body).unwrap_or_default()
    }

    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    pub(crate) const fn marks(&self) -> Marks {
        self.marks
    }

    pub(crate) const fn conversation(&self) -> &Conversation {
        &self.conversation
    }
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Prompts must not reach logs by way of a debug print.
        f.debug_struct("Request")
            .field("dialect", &self.dialect)
            .field("body_bytes", &self.body.len())
            .field("facts", &self.facts)
            .finish_non_exhaustive()
    }
}

impl Conversation {
    pub(crate) fn turns(&self) -> &[Span] {
        match self {
            Self::Turns { turns, .. } => turns,
            Self::Text(_) => &[],
        }
    }
}

impl Facts {
    fn read(
        &mut self,
        text: &str,
        outline: &Outline<'_>,
        conversation: &Conversation,
    ) -> Result<(), JsonError> {
        for (name, member) in &outline.members {
            let mut value = Scanner::within(text, &member.value);
            match &**name {
                "stream" => self.stream = value.is_true()?,
                "stream_options" => self.include_usage = include_usage(&mut value)?,
                "max_tokens" | "max_completion_tokens" | "max_output_tokens" => {
                    self.max_tokens = value.bound_or_skip()?.or(self.max_tokens);
                }
                "n" => {
                    let asked = value.integer_or_skip()?.and_then(|n| u32::try_from(n).ok());
                    self.choices = asked.unwrap_or(1).max(1);
                }
                "reasoning_effort" => self.effort = owned(value.text_or_skip()?),
                "reasoning" => self.effort = effort_of(&mut value)?.or_else(|| self.effort.take()),
                "output_config" => {
                    self.effort = effort_of(&mut value.clone())?.or_else(|| self.effort.take());
                    self.title_only |= title::asked_for(&mut value)?;
                }
                "response_format" | "text" => {
                    self.title_only |= title::asked_for(&mut value)?;
                }
                "thinking" => self.thinking = thinking(&mut value)?,
                "tools" => value.array_or_skip(|inner| {
                    self.tools += 1;
                    inner.pass()
                })?,
                _ => {}
            }
        }
        self.ids = ids::read(text, outline)?;
        self.turns = conversation.turns().len().max(1);
        self.under_way = outline.marks.under_way;
        self.input_tokens = outline.input_tokens();
        self.media = outline.media;
        Ok(())
    }
}

pub(crate) fn key<'a>(text: &'a str, member: &Member) -> Text<'a> {
    // A key that was located is a string; the fallback is never reached.
    Scanner::within(text, &member.key).text().unwrap_or(Text::EMPTY)
}

pub(crate) fn owned(text: Option<Text<'_>>) -> Option<String> {
    text.map(|text| text.decode().into_owned())
}

/// Members that are read here and steer the call, with the kinds that they may be. `null` says that
/// nothing is said. All others are the upstream's to judge.
const TYPED: [(&str, &str, &[Kind]); 8] = [
    ("stream", "a boolean", &[Kind::True, Kind::False]),
    ("stream_options", "an object", &[Kind::Object]),
    ("max_tokens", "a number", &[Kind::Number]),
    ("max_completion_tokens", "a number", &[Kind::Number]),
    ("max_output_tokens", "a number", &[Kind::Number]),
    ("n", "a number", &[Kind::Number]),
    ("tools", "an array", &[Kind::Array]),
    ("thinking", "an object", &[Kind::Object]),
];

/// A wrong type that is let through is read by each upstream in its own way: one that takes
/// `"true"` for a stream would be blamed for an answer that we did not expect.
fn types(text: &str, outline: &Outline<'_>) -> Result<(), BodyError> {
    for (written, member) in &outline.members {
        let Some((name, wanted, kinds)) = TYPED.iter().find(|(name, _, _)| name == written) else {
            continue;
        };
        let kind = Scanner::within(text, &member.value).kind();
        let kind = kind.map_err(|error| explain(text, error))?;
        if kind != Kind::Null && !kinds.contains(&kind) {
            return Err(BodyError::WrongType { name, wanted, found: kind.name() });
        }
    }
    Ok(())
}

fn model(text: &str, outline: &Outline<'_>) -> Result<String, BodyError> {
    let hint = "name a queue or a model, as `GET /v1/models` lists them";
    let member = outline.last("model").ok_or(BodyError::Missing { name: "model", hint })?;
    let mut value = Scanner::within(text, &member.value);
    let found = value.kind().map_err(|error| explain(text, error))?.name();
    owned(value.text_or_skip().map_err(|error| explain(text, error))?).ok_or(BodyError::WrongType {
        name: "model",
        wanted: "a string",
        found,
    })
}

fn conversation(
    dialect: Dialect,
    text: &str,
    outline: &Outline<'_>,
) -> Result<Conversation, BodyError> {
    let name = outline::conversation_name(dialect);
    let (hint, wanted) = match dialect {
        Dialect::OpenAiChat | Dialect::AnthropicMessages => {
            ("it holds the conversation, an array of messages", "an array")
        }
        Dialect::OpenAiResponses => {
            ("it holds the conversation, a string or an array", "a string or an array")
        }
    };
    let member = outline.last(name).ok_or(BodyError::Missing { name, hint })?;
    let mut value = Scanner::within(text, &member.value);
    let kind = value.kind().map_err(|error| explain(text, error))?;
    if kind == Kind::Text && dialect == Dialect::OpenAiResponses {
        return Ok(Conversation::Text(member.value.clone()));
    }
    if kind != Kind::Array {
        return Err(BodyError::WrongType { name, wanted, found: kind.name() });
    }
    Ok(Conversation::Turns { array: member.value.clone(), turns: outline.turns.clone() })
}

fn include_usage(value: &mut Scanner<'_>) -> Result<bool, JsonError> {
    let mut asked = false;
    value.object_or_skip(|inner, key| {
        if key.decode() == "include_usage" {
            asked = inner.is_true()?;
            return Ok(());
        }
        inner.pass()
    })?;
    Ok(asked)
}

fn effort_of(value: &mut Scanner<'_>) -> Result<Option<String>, JsonError> {
    let mut effort = None;
    value.object_or_skip(|inner, key| {
        if key.decode() == "effort" {
            effort = owned(inner.text_or_skip()?);
            return Ok(());
        }
        inner.pass()
    })?;
    Ok(effort)
}

fn thinking(value: &mut Scanner<'_>) -> Result<Thinking, JsonError> {
    let (mut kind, mut budget) = (None, None);
    value.object_or_skip(|inner, key| {
        match &*key.decode() {
            "type" => kind = inner.text_or_skip()?,
            "budget_tokens" => budget = inner.integer_or_skip()?,
            _ => inner.pass()?,
        }
        Ok(())
    })?;
    Ok(match kind.map(Text::decode).as_deref() {
        Some("disabled") => Thinking::Off,
        Some("adaptive") => Thinking::Adaptive,
        Some("enabled") => Thinking::Budget(budget.unwrap_or(0)),
        Some(_) | None => Thinking::Unsaid,
    })
}

fn explain(text: &str, error: JsonError) -> BodyError {
    let offset = match error {
        JsonError::Deep { at } => {
            return BodyError::TooDeep { offset: at, limit: crate::json::DEPTH_MAX };
        }
        JsonError::Syntax { at } => at,
    };
    let before = &text.as_bytes()[..offset.min(text.len())];
    let found = match text.get(offset..).map(|rest| rest.chars().next()) {
        // The character itself may belong to a prompt, or to a key: it is named by its kind.
        Some(Some(found)) if found.is_ascii_punctuation() => format!("`{found}`"),
        Some(Some(found)) if found.is_ascii_digit() => "digit".to_owned(),
        Some(Some(found)) if found.is_alphabetic() => "letter".to_owned(),
        Some(Some(_)) => "character".to_owned(),
        Some(None) | None => "end".to_owned(),
    };
    let line_start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
    BodyError::NotJson {
        offset,
        line: memchr::memchr_iter(b'\n', before).count() + 1,
        column: offset - line_start + 1,
        found,
    }
}

#[cfg(test)]
mod tests;
