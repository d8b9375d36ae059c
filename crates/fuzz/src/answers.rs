//! Answers, streamed and whole, in every dialect.

use bytes::Bytes;
use ekiden_dialect::stream::{Beat, End, Reader, UsageView, hide_usage};
use ekiden_dialect::whole::{self, Whole};
use ekiden_dialect::{Dialect, sse};
use serde::de::IgnoredAny;

use crate::input::Input;

/// One byte chooses the dialect, one how many choices were asked for, the rest is the answer.
pub fn answers(data: &[u8]) {
    let mut input = Input::new(data);
    let dialect = input.pick(&Dialect::ALL);
    let choices = u32::from(input.byte() % 4);
    streamed(dialect, choices, input.rest());
    whole(dialect, input.rest());
}

fn streamed(dialect: Dialect, choices: u32, bytes: &[u8]) {
    let mut frames = sse::Reader::new();
    frames.push(Bytes::copy_from_slice(bytes));
    let mut reader = Reader::with_choices(dialect, choices);
    let (mut failed, mut output, mut terminal) = (false, false, false);
    loop {
        let event = match frames.next_event() {
            Ok(Some(event)) => event,
            Ok(None) => match frames.finish() {
                Some(event) => event,
                None => break,
            },
            Err(_) => break,
        };
        match reader.read(&event) {
            Beat::Output => output = true,
            Beat::Error(text) => {
                failed = true;
                assert!(!text.is_empty() || event.name() == "error", "an error without a text");
            }
            Beat::Terminal => terminal = true,
            Beat::Wire | Beat::Reasoning | Beat::Malformed(_) => {}
        }
        assert_eq!(reader.terminal_seen(), terminal, "the end is known where it was told");
        assert!(!output || reader.answer().output, "visible output is forgotten");
        assert!(!failed || !reader.is_complete(), "an answer with an error in it is whole");
        assert!(!failed || reader.end() == End::Cut, "an error is a normal end");
        hidden(&event);
    }
}

/// What a client that did not ask for usage sees.
fn hidden(event: &sse::Event) {
    let UsageView::Without(shown) = hide_usage(event) else { return };
    let shown = sse::Event::parse(shown);
    let (before, after) = (event.data().unwrap_or_default(), shown.data().unwrap_or_default());
    let read = |data| serde_json::from_slice::<IgnoredAny>(data).is_ok();
    assert!(!read(before) || read(after), "what was JSON is none without its usage");
    assert_eq!(event.name(), shown.name(), "another event");
    assert_eq!(hide_usage(&shown), UsageView::AsItCame, "usage is left");
}

fn whole(dialect: Dialect, bytes: &[u8]) {
    let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    match whole::read(dialect, bytes) {
        Whole::Answer(answer) => {
            assert!(is_json(text), "no JSON is an answer");
            assert!(answer.end() != End::Cut, "a whole answer is never cut");
        }
        Whole::Error(text) => assert!(!text.is_empty(), "an error without a text"),
        Whole::Malformed(_) => {}
    }
}

fn is_json(text: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(text).is_ok()
}
