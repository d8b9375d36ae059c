//! The client of the demo. It refuses to know what stands behind the gateway: it asks for a model and
//! reads a stream, like any client.

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use crate::failure::Failure;
use crate::http;
use crate::language::Language;
use crate::terminal::Say;

use super::stage::{ANTHROPIC_QUEUE, CHAT_QUEUE};

/// A question to the gateway.
pub(super) struct Turn {
    number: usize,
    way: Way,
    pub(super) queue: &'static str,
    question: &'static str,
}

/// The dialect that the client speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Chat,
    Anthropic,
}

/// What a client knows of an answer beside its words.
#[derive(Debug)]
pub(super) struct Heard {
    /// The call's id.
    pub(super) call: String,
}

/// The conversation.
pub(super) fn turns(language: Language) -> [Turn; 3] {
    let [first, second, third] = match language {
        Language::English => {
            ["Who runs the last leg?", "And who answers me now?", "Could you answer as well?"]
        }
        Language::Chinese => ["谁跑最后一棒？", "现在是谁在回答我？", "你也能回答吗？"],
    };
    [
        Turn { number: 1, way: Way::Chat, queue: CHAT_QUEUE, question: first },
        Turn { number: 2, way: Way::Chat, queue: CHAT_QUEUE, question: second },
        Turn { number: 3, way: Way::Anthropic, queue: ANTHROPIC_QUEUE, question: third },
    ]
}

impl Turn {
    pub(super) fn heading(&self) -> impl Say + '_ {
        Heading(self)
    }

    /// Asks, and hands on each word of the answer as it comes.
    ///
    /// # Errors
    /// When there was no whole answer.
    pub(super) async fn ask(
        &self,
        base: &str,
        says: UnboundedSender<String>,
    ) -> Result<Heard, Failure> {
        let path = match self.way {
            Way::Chat => "/v1/chat/completions",
            Way::Anthropic => "/v1/messages",
        };
        let body = json!({
            "model": self.queue,
            "stream": true,
            "max_tokens": 1_000,
            "messages": [{ "role": "user", "content": self.question }],
        });
        let headers = [
            ("content-type", "application/json"),
            // The turns are one conversation, though each is short.
            ("x-ekiden-session", "demo"),
        ];
        let mut lines = Lines::default();
        let heard = |bytes: &[u8]| {
            for word in lines.words(bytes) {
                // Nobody listens any more when the turn was ended.
                let _ = says.send(word);
            }
        };
        let broken = |message: String| Failure::Trouble { message, hint: None };
        let answer = http::post(base, path, &headers, body.to_string(), heard)
            .await
            .map_err(|error| broken(error.to_string()))?;
        if !answer.status.is_success() {
            return Err(broken(format!("{}: {}", answer.status, answer.body)));
        }
        let call = answer.headers.get("x-ekiden-call").and_then(|call| call.to_str().ok());
        Ok(Heard { call: call.unwrap_or("last").to_owned() })
    }
}

/// Server-sent events, as far as a demo needs them.
#[derive(Default)]
struct Lines {
    rest: Vec<u8>,
}

impl Lines {
    fn words(&mut self, bytes: &[u8]) -> Vec<String> {
        self.rest.extend_from_slice(bytes);
        let mut words = Vec::new();
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let data =
                line.strip_prefix(b"data: ").and_then(|data| serde_json::from_slice(data).ok());
            words.extend(data.as_ref().and_then(word));
        }
        words
    }
}

fn word(event: &Value) -> Option<String> {
    let chat = event.pointer("/choices/0/delta/content");
    let text = chat.or_else(|| event.pointer("/delta/text"))?;
    text.as_str().map(str::to_owned)
}

struct Heading<'a>(&'a Turn);

impl Heading<'_> {
    fn dialect(&self) -> &'static str {
        match self.0.way {
            Way::Chat => "OpenAI Chat",
            Way::Anthropic => "Anthropic Messages",
        }
    }
}

impl Say for Heading<'_> {
    fn english(&self) -> String {
        let Turn { number, question, queue, .. } = self.0;
        format!("{number}. {question}   ({}, model {queue})", self.dialect())
    }

    fn chinese(&self) -> String {
        let Turn { number, question, queue, .. } = self.0;
        format!("{number}. {question}   （{}，模型 {queue}）", self.dialect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_in_both_dialects_however_they_are_cut() {
        let stream = "data: {\"choices\":[{\"delta\":{\"content\":\"One \"}}]}\n\n\
                      event: content_block_delta\ndata: {\"delta\":{\"type\":\"text_delta\",\"text\":\"two\"}}\n\n\
                      : ping\n\ndata: [DONE]\n\n";
        for size in [1, 7, 1_000] {
            let mut lines = Lines::default();
            let words: Vec<String> =
                stream.as_bytes().chunks(size).flat_map(|chunk| lines.words(chunk)).collect();
            assert_eq!(words, ["One ", "two"]);
        }
    }
}
