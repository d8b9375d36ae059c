//! Opaque signatures in Anthropic's answers, so that it is known later who made them (G6).
//!
//! It refuses to read anything else of an answer.

use memchr::memmem;
use serde::Deserialize;

/// Collects the signatures of one answer.
#[derive(Debug, Default)]
pub(crate) struct Signatures {
    /// Of the block that is being written.
    current: String,
    found: Vec<String>,
}

#[derive(Deserialize)]
struct StreamEvent<'a> {
    #[serde(borrow)]
    delta: Option<Part<'a>>,
    #[serde(borrow)]
    content_block: Option<Part<'a>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    content: Vec<Part<'a>>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow, default)]
    signature: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow, default)]
    data: Option<std::borrow::Cow<'a, str>>,
}

impl Signatures {
    /// Reads the data of a stream's event.
    pub(crate) fn event(&mut self, data: &[u8]) {
        let redacted = memmem::find(data, b"redacted_thinking").is_some();
        if !redacted && memmem::find(data, b"\"signature\"").is_none() {
            return;
        }
        let Ok(event) = serde_json::from_slice::<StreamEvent<'_>>(data) else { return };
        if let Some(block) = &event.content_block {
            self.close();
            self.block(block);
        }
        if let Some(part) = event.delta.and_then(|delta| delta.signature) {
            self.current.push_str(&part);
        }
    }

    /// Reads a whole answer.
    pub(crate) fn whole(&mut self, body: &[u8]) {
        if memmem::find(body, b"thinking").is_none() {
            return;
        }
        if let Ok(message) = serde_json::from_slice::<Message<'_>>(body) {
            for block in &message.content {
                self.block(block);
                self.close();
            }
        }
    }

    /// All of them.
    pub(crate) fn take(&mut self) -> Vec<String> {
        self.close();
        std::mem::take(&mut self.found)
    }

    fn block(&mut self, block: &Part<'_>) {
        match block.kind.as_deref() {
            Some("thinking") => self.current.push_str(block.signature.as_deref().unwrap_or("")),
            Some("redacted_thinking") => {
                self.found.extend(block.data.as_deref().map(str::to_owned));
            }
            Some(_) | None => {}
        }
    }

    fn close(&mut self) {
        if !self.current.is_empty() {
            self.found.push(std::mem::take(&mut self.current));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g06_signatures_are_found_in_streams_and_whole_answers() {
        let mut of_stream = Signatures::default();
        for data in [
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"x"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"ab"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"cd"}}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"zz"}}"#,
        ] {
            of_stream.event(data.as_bytes());
        }
        assert_eq!(of_stream.take(), ["abcd", "zz"]);
        let mut of_whole = Signatures::default();
        of_whole.whole(br#"{"content":[{"type":"thinking","thinking":"x","signature":"abcd"},{"type":"text","text":"y"}]}"#);
        assert_eq!(of_whole.take(), ["abcd"]);
    }
}
