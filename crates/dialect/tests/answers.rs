//! Answers with status 200 that were failures in the field: each is recognised for what it is.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

use bytes::Bytes;
use ekiden_dialect::Dialect;
use ekiden_dialect::stream::{Beat, End, Reader};
use ekiden_dialect::whole::{self, Whole};
use serde::Deserialize;

#[derive(Deserialize)]
struct Line {
    id: String,
    phase: String,
    body: String,
    class: String,
}

/// What the answer turned out to be, with the text of its error.
fn streamed(dialect: Dialect, body: &str) -> (Option<String>, End) {
    let mut events = ekiden_dialect::sse::Reader::new();
    events.push(Bytes::copy_from_slice(body.as_bytes()));
    let mut reader = Reader::new(dialect);
    let mut next = || events.next_event().unwrap().or_else(|| events.finish());
    while let Some(event) = next() {
        if let Beat::Error(text) = reader.read(&event) {
            return (Some(String::from_utf8(text.to_vec()).unwrap()), reader.end());
        }
    }
    (None, reader.end())
}

fn plain(dialect: Dialect, body: &str) -> (Option<String>, End) {
    match whole::read(dialect, body.as_bytes()) {
        Whole::Answer(answer) => (None, answer.end()),
        Whole::Error(text) => (Some(text), End::Cut),
        Whole::Malformed(why) => panic!("{body}: {why}"),
    }
}

#[test]
fn k1_r13_failures_inside_a_200_are_seen() {
    let mut seen = 0;
    for line in include_str!("answers.jsonl").lines() {
        let line: Line = serde_json::from_str(line).unwrap();
        let dialect = if line.body.contains("response.") || line.body.contains("\"resp_") {
            Dialect::OpenAiResponses
        } else if line.body.contains("event: ") {
            Dialect::AnthropicMessages
        } else {
            Dialect::OpenAiChat
        };
        let (error, end) = if line.phase == "sse" {
            streamed(dialect, &line.body)
        } else {
            plain(dialect, &line.body)
        };
        match line.class.as_str() {
            "empty_response" => assert_eq!((error, end), (None, End::Empty), "{}", line.id),
            // The classifier's name for it; the relay must not take it for an answer cut by its limit.
            "truncated" if line.body.contains("\"finish_reason\":\"tool_calls\"") => {
                assert_eq!((error, end), (None, End::Torn), "{}", line.id);
            }
            "truncated" => assert_eq!((error, end), (None, End::Truncated), "{}", line.id),
            "content_filter" if line.phase == "http" => {
                assert_eq!(end, End::Filtered, "{}", line.id);
            }
            _ => assert!(error.is_some(), "{} is no answer", line.id),
        }
        seen += 1;
    }
    assert_eq!(seen, 24);
}
