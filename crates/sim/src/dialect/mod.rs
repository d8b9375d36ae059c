//! The two dialects an upstream speaks. They write what a sound upstream writes; faults are made
//! elsewhere, out of what they wrote.

pub(crate) mod anthropic;
pub(crate) mod chat;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::act::{Answer, Trouble, Usage};
use crate::request::{Ask, Endpoint};

/// One event of a stream, framing included.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) kind: Kind,
    pub(crate) bytes: Bytes,
}

/// What an event is to a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It opens the answer.
    Start,
    /// It opens or shuts a part of it.
    Part,
    /// A chunk of reasoning or text.
    Chunk,
    /// A chunk of the arguments of the tool call of this index.
    ToolChunk(usize),
    /// It says why the answer ends, or what it used.
    Finish,
    /// It ends the stream.
    Terminal,
}

impl Kind {
    pub(crate) fn is_chunk(self) -> bool {
        match self {
            Kind::Chunk | Kind::ToolChunk(_) => true,
            Kind::Start | Kind::Part | Kind::Finish | Kind::Terminal => false,
        }
    }
}

/// One request to be answered.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) ask: Ask,
    /// The request's number, from which all ids are made.
    pub(crate) number: usize,
}

impl Turn {
    pub(crate) fn model(&self) -> &str {
        self.ask.model.as_deref().unwrap_or("sim")
    }

    /// Input and output tokens, if the answer tells them.
    pub(crate) fn tokens(&self, answer: &Answer) -> Option<(u64, u64)> {
        match answer.usage {
            Usage::Counted => Some((self.ask.input_tokens, answer.chunks() as u64)),
            Usage::Reported { input, output } => Some((input, output)),
            Usage::Missing => None,
        }
    }

    /// All events of a whole stream.
    pub(crate) fn frames(&self, answer: &Answer) -> Vec<Frame> {
        if self.is_anthropic() {
            anthropic::frames(self, answer)
        } else {
            chat::frames(self, answer)
        }
    }

    /// The body of a whole answer.
    pub(crate) fn whole(&self, answer: &Answer) -> Value {
        match self.ask.endpoint {
            Endpoint::Chat => chat::whole(self, answer),
            Endpoint::Messages => anthropic::whole(self, answer),
            Endpoint::CountTokens => json!({ "input_tokens": self.ask.input_tokens }),
            Endpoint::Models | Endpoint::Other => json!({}),
        }
    }

    pub(crate) fn error(&self, trouble: Trouble) -> Value {
        if self.is_anthropic() {
            anthropic::error(self, trouble)
        } else {
            chat::error(self, trouble)
        }
    }

    pub(crate) fn error_frame(&self, trouble: Trouble) -> Bytes {
        let event = if self.is_anthropic() { "event: error\n" } else { "" };
        Bytes::from(format!("{event}data: {}\n\n", self.error(trouble)))
    }

    pub(crate) fn beat(&self) -> Bytes {
        if self.is_anthropic() {
            anthropic::ping()
        } else {
            Bytes::from_static(b": keep-alive\n\n")
        }
    }

    /// An event whose data is no JSON.
    pub(crate) fn broken_frame(&self) -> Bytes {
        Bytes::from_static(if self.is_anthropic() {
            b"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"del\n\n"
        } else {
            b"data: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"con\n\n"
        })
    }

    pub(crate) fn is_anthropic(&self) -> bool {
        match self.ask.endpoint {
            Endpoint::Messages | Endpoint::CountTokens => true,
            Endpoint::Chat | Endpoint::Models | Endpoint::Other => false,
        }
    }
}

/// The model list, with the members that both dialects look for.
pub(crate) fn model_list(models: &[String]) -> Value {
    let data: Vec<Value> = models
        .iter()
        .map(|id| {
            json!({
                "id": id, "object": "model", "type": "model", "display_name": id,
                "created": CREATED, "created_at": "2025-10-09T08:53:20Z", "owned_by": "sim",
            })
        })
        .collect();
    json!({
        "object": "list", "data": data, "has_more": false,
        "first_id": models.first(), "last_id": models.last(),
    })
}

/// The instant that all answers name, so that they stay the same: 2025-10-09T08:53:20Z.
pub(crate) const CREATED: u64 = 1_760_000_000;
