//! What a conversation without ids is recognised by: its first words on either side.
//!
//! It refuses to hash (the gateway does, with what else it knows) and drops what changes from call
//! to call, since a fingerprint that moves is none.

use crate::Dialect;
use crate::json::{JsonError, Kind, Member, Scanner, Span};

use super::{Conversation, key};

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

/// Words that mark a line as changing between calls: time, place, machine.
const VOLATILE: [&str; 14] = [
    "today's date",
    "todays date",
    "current date",
    "current time",
    "date:",
    "time:",
    "cwd",
    "working directory",
    "working dir",
    "<env>",
    "# environment",
    "environment_context",
    "git status",
    "gitstatus",
];

pub(super) fn read(
    dialect: Dialect,
    text: &str,
    members: &[Member],
    conversation: &Conversation,
) -> Result<Root, JsonError> {
    let mut root = Root::default();
    for member in members {
        if root.system.is_none()
            && matches!(&*key(text, member).decode(), "system" | "instructions")
        {
            texts(&mut Scanner::within(text, &member.value), &mut |part| {
                root.take_system(part);
            })?;
        }
    }
    match conversation {
        Conversation::Text(span) => {
            texts(&mut Scanner::within(text, span), &mut |part| root.take_user(part))?;
        }
        Conversation::Turns { turns, .. } => {
            for turn in turns {
                if root.user.is_some() && root.system.is_some() {
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
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let lower = line.to_lowercase();
        if VOLATILE.iter().any(|word| lower.contains(word)) || has_date(line.as_bytes()) {
            return &text[..at];
        }
        at += line.len();
    }
    text
}

/// Whether `dddd-dd-dd` or `dd:dd:dd` stands in the line.
fn has_date(line: &[u8]) -> bool {
    let shaped = |window: &[u8], shape: &[u8]| {
        window.iter().zip(shape).all(|(byte, want)| match want {
            b'd' => byte.is_ascii_digit(),
            other => byte == other,
        })
    };
    line.windows(10).any(|window| shaped(window, b"dddd-dd-dd"))
        || line.windows(8).any(|window| shaped(window, b"dd:dd:dd"))
}

/// The text without the blocks that clients add; one that is not closed goes to the end.
fn unwrapped(text: &str) -> String {
    let mut text = text.to_owned();
    for (open, close) in WRAPPERS {
        if !text.contains(open) {
            continue;
        }
        let mut kept = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some((before, inside)) = rest.split_once(open) {
            kept.push_str(before);
            rest = inside.split_once(close).map_or("", |(_, after)| after);
        }
        kept.push_str(rest);
        text = kept;
    }
    text
}
