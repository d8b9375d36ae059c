//! What a conversation without ids is recognised by: its first words on either side.
//!
//! It refuses to hash (the gateway does, with what else it knows) and drops what changes from call
//! to call, since a fingerprint that moves is none.

use std::borrow::Cow;

use crate::Dialect;
use crate::json::{JsonError, Kind, Scanner, Span};

use super::{Conversation, Request, key};

/// The stable beginnings of a conversation. Text of the user: never logged.
#[derive(Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Root {
    /// The first system text, cut before its first volatile line.
    pub system: Option<String>,
    /// The first text that the user wrote, without what the client wrapped around it.
    pub user: Option<String>,
}

impl std::fmt::Debug for Root {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Prompts must not reach logs by way of a debug print.
        let len = |text: &Option<String>| text.as_ref().map(String::len);
        f.debug_struct("Root")
            .field("system_bytes", &len(&self.system))
            .field("user_bytes", &len(&self.user))
            .finish()
    }
}

/// A block that changes with every request and means nothing to the model (Claude Code).
const BILLING: &str = "x-anthropic-billing";

/// Tags that clients put around what they add to the user's words.
const WRAPPERS: [(&str, &str); 2] = [
    ("<system-reminder>", "</system-reminder>"),
    ("<environment_context>", "</environment_context>"),
];

/// Words that mark a line as changing between calls: time, place, machine. None holds a line's end.
const VOLATILE: [&str; 13] = [
    "today's date",
    "todays date",
    "current date",
    "current time",
    "date:",
    "time:",
    "cwd",
    "working dir",
    "<env>",
    "# environment",
    "environment_context",
    "git status",
    "gitstatus",
];

pub(super) fn read(request: &Request) -> Result<Root, JsonError> {
    let (dialect, text) = (request.dialect(), request.text());
    let mut root = Root::default();
    for member in request.members() {
        let name = key(text, member).decode();
        if root.system.is_none() && matches!(&*name, "system" | "instructions") {
            texts(&mut Scanner::within(text, &member.value), &mut |part| {
                root.take_system(part);
            })?;
        }
    }
    match request.conversation() {
        Conversation::Text(span) => {
            texts(&mut Scanner::within(text, span), &mut |part| root.take_user(part))?;
        }
        Conversation::Turns { turns, .. } => {
            for turn in turns {
                // Anthropic's turns hold no system text.
                let whole = root.system.is_some() || dialect == Dialect::AnthropicMessages;
                if root.user.is_some() && whole {
                    break;
                }
                root.take_turn(dialect, text, turn)?;
            }
        }
    }
    Ok(root)
}

impl Root {
    fn take_turn(&mut self, dialect: Dialect, text: &str, turn: &Span) -> Result<(), JsonError> {
        let mut role = None;
        let mut content = None;
        Scanner::within(text, turn).object_or_skip(|inner, key| {
            match &*key.decode() {
                "role" => role = inner.text_or_skip()?.map(|role| role.decode().into_owned()),
                "content" => content = Some(inner.skip()?),
                _ => inner.pass()?,
            }
            Ok(())
        })?;
        let (Some(role), Some(content)) = (role, content) else { return Ok(()) };
        let mut content = Scanner::within(text, &content);
        match role.as_str() {
            "user" => texts(&mut content, &mut |part| self.take_user(part)),
            // Anthropic's system text has its own member; a turn of that role comes and goes.
            "system" | "developer" if dialect != Dialect::AnthropicMessages => {
                texts(&mut content, &mut |part| self.take_system(part))
            }
            _ => Ok(()),
        }
    }

    fn take_system(&mut self, part: &str) {
        if self.system.is_none() && !part.trim_start().starts_with(BILLING) {
            self.system = filled(stable(part));
        }
    }

    fn take_user(&mut self, part: &str) {
        if self.user.is_none() {
            self.user = filled(&unwrapped(part));
        }
    }
}

fn filled(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The texts of a content: the string itself, or the `text` of each block in order.
fn texts(content: &mut Scanner<'_>, each: &mut dyn FnMut(&str)) -> Result<(), JsonError> {
    if content.kind()? == Kind::Text {
        each(&content.text()?.decode());
        return Ok(());
    }
    content.array_or_skip(|blocks| {
        if blocks.kind()? == Kind::Text {
            each(&blocks.text()?.decode());
            return Ok(());
        }
        blocks.object_or_skip(|block, key| {
            if key.decode() != "text" {
                return block.pass();
            }
            if let Some(text) = block.text_or_skip()? {
                each(&text.decode());
            }
            Ok(())
        })
    })
}

/// Everything before the first line that changes from call to call.
fn stable(text: &str) -> &str {
    let bytes = text.as_bytes();
    let volatile = bytes.iter().enumerate().position(|(at, byte)| match byte {
        b'-' => shaped(bytes, at.checked_sub(4), b"dddd-dd-dd"),
        b':' => shaped(bytes, at.checked_sub(2), b"dd:dd:dd"),
        first => bytes.get(at + 1).is_some_and(|second| {
            let words = FIRST[usize::from(*first)] & SECOND[usize::from(*second)];
            words != 0 && says_volatile(&bytes[at..])
        }),
    });
    let Some(at) = volatile else { return text };
    &text[..memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |end| end + 1)]
}

/// For each byte the volatile words that begin with it, in either case.
const FIRST: [u16; 256] = having(0);
/// For each byte those that go on with it.
const SECOND: [u16; 256] = having(1);

const fn having(at: usize) -> [u16; 256] {
    let mut words = [0; 256];
    let mut index = 0;
    while index < VOLATILE.len() {
        let byte = VOLATILE[index].as_bytes()[at];
        words[byte as usize] |= 1 << index;
        words[byte.to_ascii_uppercase() as usize] |= 1 << index;
        index += 1;
    }
    words
}

fn says_volatile(text: &[u8]) -> bool {
    VOLATILE.iter().any(|word| {
        text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
    })
}

/// Whether digits (`d`) and signs stand at `start` as in the shape.
fn shaped(text: &[u8], start: Option<usize>, shape: &[u8]) -> bool {
    let there = start.and_then(|start| text.get(start..start + shape.len()));
    there.is_some_and(|there| {
        there.iter().zip(shape).all(|(byte, want)| match want {
            b'd' => byte.is_ascii_digit(),
            other => byte == other,
        })
    })
}

/// The text without the blocks that clients add; one that is not closed goes to the end.
fn unwrapped(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    if memchr::memchr(b'<', text.as_bytes()).is_none() {
        return text;
    }
    for (open, close) in WRAPPERS {
        if memchr::memmem::find(text.as_bytes(), open.as_bytes()).is_none() {
            continue;
        }
        let mut kept = String::with_capacity(text.len());
        let mut rest = &*text;
        while let Some((before, inside)) = rest.split_once(open) {
            kept.push_str(before);
            rest = inside.split_once(close).map_or("", |(_, after)| after);
        }
        kept.push_str(rest);
        text = Cow::Owned(kept);
    }
    text
}
