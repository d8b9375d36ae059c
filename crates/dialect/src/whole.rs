//! What a whole JSON answer means.
//!
//! It refuses to keep or change it: the gateway forwards the bytes, and this says whether they are
//! an answer, an error in the clothes of a success, or no JSON at all.

use crate::Dialect;
pub use crate::answer::{Answer, End, Finish, Malformed, Usage};
use crate::stream::{Anthropic, Chat, Heard, Responses};

/// What the body of a 200 turned out to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Whole {
    /// An answer; [`Answer::end`] says whether it is a whole one.
    Answer(Answer),
    /// An error: its JSON text, to be classified.
    Error(String),
    /// Neither, an HTML page for example.
    Malformed(Malformed),
}

/// Reads the body of an answer that was not streamed.
#[must_use]
pub fn read(dialect: Dialect, body: &[u8]) -> Whole {
    let Ok(text) = std::str::from_utf8(body) else {
        return Whole::Malformed(Malformed::NotUtf8);
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut answer = Answer::default();
    let heard = match dialect {
        Dialect::OpenAiChat => {
            let mut chat = Chat::new(1);
            let heard = chat.object(&mut answer, text);
            answer.torn = chat.has_torn_arguments();
            heard
        }
        Dialect::OpenAiResponses => Responses::whole(&mut answer, text),
        Dialect::AnthropicMessages => Anthropic::whole(&mut answer, text),
    };
    match heard {
        Ok(Heard::Error) => return Whole::Error(text.to_owned()),
        Ok(Heard::Broken(error)) => return Whole::Error(error),
        Ok(Heard::Output) => answer.output = true,
        Ok(Heard::Reasoning) => answer.reasoning = true,
        Ok(Heard::Wire | Heard::Terminal) => {}
        Err(malformed) => return Whole::Malformed(malformed),
    }
    Whole::Answer(answer)
}

#[cfg(test)]
mod tests;
