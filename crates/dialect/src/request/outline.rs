//! Where the parts of a body stand and how much of it there is, in one pass over its bytes.
//!
//! It refuses to understand what the turns say, and to tokenise. The estimate of tokens serves two decisions that
//! must not rest on luck: passing over a window that is surely too small (R15), and answering `count_tokens` where
//! nobody can count. English prose and code run at about four bytes a token; Chinese at two to four bytes a token
//! and therefore comes out a little low, which is the safe side for R15.

use std::borrow::Cow;

use super::BodyError;
use crate::Dialect;
use crate::json::{JsonError, Kind, Member, Scanner, Span, Text};

/// Bytes of text that are taken for one token.
pub const TEXT_BYTES_PER_TOKEN: u64 = 4;

/// Tokens that an image, a file or a sound is taken for, whatever its size in bytes: vendors bill
/// by pixels and pages, which are not known here (a full-size image is about 1,600 at Anthropic).
pub const MEDIA_TOKENS: u64 = 1_500;

/// What one pass over a body finds.
pub(super) struct Outline<'a> {
    /// Names and places of the outermost members.
    pub(super) members: Vec<(Cow<'a, str>, Member)>,
    /// The conversation's elements, where it is an array.
    pub(super) turns: Vec<Span>,
    /// What its turns are.
    pub(super) marks: Marks,
    /// Images, files and sounds.
    pub(super) media: usize,
    text_bytes: u64,
    dialect: Dialect,
}

/// What stands somewhere in a conversation, so that whoever would change it need not look for it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Marks {
    /// An assistant turn or a tool result.
    pub(crate) under_way: bool,
    /// A turn with the role `system`.
    pub(crate) system: bool,
    /// A turn with the role `developer`.
    pub(crate) developer: bool,
    /// A block of thinking (Anthropic).
    pub(crate) thinking: bool,
}

/// Where in the conversation a value stands, as far as that tells what it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Turns,
    Turn,
    Role,
    /// The `type` of one of Responses' items.
    ItemType,
    /// The `content` of one of Anthropic's turns.
    Content,
    Block,
    BlockType,
    Elsewhere,
}

/// Reads a body's outline; the inner error is for bodies that are JSON and no object.
pub(super) fn read(
    dialect: Dialect,
    text: &str,
) -> Result<Result<Outline<'_>, BodyError>, JsonError> {
    let mut scanner = Scanner::new(text);
    let kind = scanner.kind()?;
    if kind != Kind::Object {
        scanner.pass()?;
        scanner.finish()?;
        return Ok(Err(BodyError::NotAnObject { found: kind.name() }));
    }
    let mut outline = Outline {
        members: Vec::new(),
        turns: Vec::new(),
        marks: Marks::default(),
        media: 0,
        text_bytes: 0,
        dialect,
    };
    scanner.object(|inner, key| outline.member(inner, key))?;
    scanner.finish()?;
    Ok(Ok(outline))
}

/// The member that holds the conversation.
pub(super) const fn conversation_name(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::OpenAiChat | Dialect::AnthropicMessages => "messages",
        Dialect::OpenAiResponses => "input",
    }
}

impl<'a> Outline<'a> {
    /// The last member of that name: what parsers take when a key comes twice.
    pub(super) fn last(&self, name: &str) -> Option<&Member> {
        self.members.iter().rev().find(|(known, _)| known == name).map(|(_, member)| member)
    }

    /// Input tokens, estimated.
    pub(super) fn input_tokens(&self) -> u64 {
        self.text_bytes.div_ceil(TEXT_BYTES_PER_TOKEN) + MEDIA_TOKENS * self.media as u64
    }

    fn member(&mut self, value: &mut Scanner<'a>, key: Text<'a>) -> Result<(), JsonError> {
        let name = key.decode();
        let key = value.written(key);
        let span = match &*name {
            found if found == conversation_name(self.dialect) => {
                // Of a conversation that comes twice the last counts.
                self.turns.clear();
                self.marks = Marks::default();
                self.add(value, "", &name, Place::Turns)?
            }
            "messages" | "input" | "system" | "instructions" | "tools" | "functions" => {
                self.add(value, "", &name, Place::Elsewhere)?
            }
            _ => value.skip()?,
        };
        self.members.push((name, Member { key, value: span }));
        Ok(())
    }

    /// Passes the value that comes next, which stands under `name` in an object under `parent`, and tallies it.
    fn add(
        &mut self,
        value: &mut Scanner<'a>,
        parent: &str,
        name: &str,
        place: Place,
    ) -> Result<Span, JsonError> {
        let kind = value.kind()?;
        let start = value.at();
        match kind {
            Kind::Object => value.object(|inner, key| {
                let key = key.decode();
                if matches!(&*key, "signature" | "encrypted_content" | "cache_control") {
                    // Opaque to everybody but its issuer, and not billed by length.
                    return inner.pass();
                }
                self.text_bytes += key.len() as u64;
                let place = self.within(place, &key);
                self.add(inner, name, &key, place).map(|_| ())
            })?,
            Kind::Array => value.array(|inner| match place {
                Place::Turns => {
                    let turn = self.add(inner, parent, name, Place::Turn)?;
                    self.turns.push(turn);
                    Ok(())
                }
                Place::Content => self.add(inner, parent, name, Place::Block).map(|_| ()),
                Place::Turn
                | Place::Role
                | Place::ItemType
                | Place::Block
                | Place::BlockType
                | Place::Elsewhere => self.add(inner, parent, name, Place::Elsewhere).map(|_| ()),
            })?,
            Kind::Text => {
                let text = value.text()?;
                self.marks.note(place, text);
                if is_medium(parent, name, text) {
                    self.media += 1;
                } else {
                    self.text_bytes += text.decoded_len() as u64;
                }
            }
            Kind::Number | Kind::True | Kind::False | Kind::Null => {
                self.text_bytes += value.skip()?.len() as u64;
            }
        }
        Ok(start..value.at())
    }

    /// The place of a member of an object.
    fn within(&self, object: Place, key: &str) -> Place {
        match (object, key, self.dialect) {
            (Place::Turn, "role", _) => Place::Role,
            (Place::Turn, "type", Dialect::OpenAiResponses) => Place::ItemType,
            (Place::Turn, "content", Dialect::AnthropicMessages) => Place::Content,
            (Place::Block, "type", _) => Place::BlockType,
            _ => Place::Elsewhere,
        }
    }
}

impl Marks {
    fn note(&mut self, place: Place, text: Text<'_>) {
        match place {
            Place::Role => match &*text.decode() {
                "assistant" | "tool" | "function" => self.under_way = true,
                "system" => self.system = true,
                "developer" => self.developer = true,
                _ => {}
            },
            Place::ItemType => {
                let kind = text.decode();
                self.under_way |= kind == "reasoning"
                    || kind.ends_with("_call")
                    || kind.ends_with("_call_output");
            }
            Place::BlockType => match &*text.decode() {
                "tool_result" => self.under_way = true,
                "thinking" | "redacted_thinking" => self.thinking = true,
                _ => {}
            },
            Place::Turns | Place::Turn | Place::Content | Place::Block | Place::Elsewhere => {}
        }
    }
}

/// Whether a string is, or points at, an image, a file or a sound.
fn is_medium(parent: &str, name: &str, text: Text<'_>) -> bool {
    match name {
        "data" => matches!(parent, "source" | "input_audio"),
        "file_data" => true,
        "url" => matches!(parent, "source" | "image_url") || text.raw.starts_with("data:"),
        // Responses give the address itself under this name.
        "image_url" => true,
        _ => false,
    }
}
