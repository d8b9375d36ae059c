//! Requests and what is changed in them: JSON stays JSON, and what no edit names stays byte for byte.

use std::fmt;

use bytes::Bytes;
use ekiden_dialect::Dialect;
use ekiden_dialect::request::{self, BodyError, Request};
use ekiden_dialect::splice::{
    Append, Edits, Effort, MaxTokensName, ThinkingBlocks, ThinkingMode, splice,
};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::input::Input;

/// One byte chooses the dialect, three choose the edits, the rest is the body.
pub fn requests(data: &[u8]) {
    let mut input = Input::new(data);
    let dialect = input.pick(&Dialect::ALL);
    let keep = |signature: &str| signature.len().is_multiple_of(2);
    let edits = edits(&mut input, &keep);
    let body = Bytes::copy_from_slice(input.rest());
    let read = request::read(dialect, &body);
    let text = std::str::from_utf8(&body).ok();
    let json = text.is_some_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok());
    match &read {
        Ok(request) => {
            assert!(json, "a body that is no JSON is read");
            spliced(request, &edits);
        }
        Err(BodyError::NotJson { .. } | BodyError::NotUtf8 { .. }) => {
            assert!(!json, "a body that is JSON is refused as none");
        }
        Err(_) => {}
    }
}

fn edits<'a>(input: &mut Input<'_>, keep: &'a dyn Fn(&str) -> bool) -> Edits<'a> {
    let (one, two, three) = (input.byte(), input.byte(), input.byte());
    let when = |byte: u8, bit: u8| byte & (1 << bit) != 0;
    Edits {
        model: when(one, 0).then_some("a/\"b\"\u{1}"),
        max_tokens_cap: when(one, 1).then_some(1_500),
        max_tokens_name: match one >> 6 {
            0 | 1 => MaxTokensName::AsWritten,
            2 => MaxTokensName::MaxTokens,
            _ => MaxTokensName::MaxCompletionTokens,
        },
        effort: match two & 3 {
            0 | 1 => Effort::AsWritten,
            2 => Effort::Set("low"),
            _ => Effort::Remove,
        },
        thinking: match two >> 2 & 3 {
            0 | 1 => ThinkingMode::AsWritten,
            2 => ThinkingMode::AdaptiveAsBudget(2_000),
            _ => ThinkingMode::Remove,
        },
        ask_usage: when(one, 2),
        append: when(one, 3).then_some(Append { times: 2, text: "继续\n\"" }),
        drop_members: if when(one, 4) { &["metadata", "store", "model", "messages"] } else { &[] },
        drop_tool_members: if when(one, 5) { &["strict", "defer_loading"] } else { &[] },
        thinking_blocks: match three & 3 {
            0 | 1 => ThinkingBlocks::Keep,
            2 => ThinkingBlocks::Strip,
            _ => ThinkingBlocks::KeepIf(keep),
        },
        drop_reasoning_content: when(three, 2),
        system_turns_as_user: when(three, 3),
        developer_as_system: when(three, 4),
    }
}

/// Members that some edit may touch.
const TOUCHED: [&str; 15] = [
    "model",
    "messages",
    "input",
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "reasoning_effort",
    "reasoning",
    "output_config",
    "thinking",
    "stream_options",
    "metadata",
    "store",
    "tools",
    "system",
];

fn spliced(request: &Request, edits: &Edits<'_>) {
    let same = splice(request, &Edits::default());
    assert_eq!(same.to_bytes(), request.body(), "no edit changes the body");
    let out = splice(request, edits);
    let bytes = out.to_bytes();
    assert_eq!(out.len(), bytes.len(), "the length is another");
    assert_eq!(out.len(), out.pieces().map(Bytes::len).sum::<usize>());
    assert!(serde_json::from_slice::<IgnoredAny>(&bytes).is_ok(), "JSON becomes none");
    // Keys that no string can hold, a lone surrogate, are not compared.
    let (Some(before), Some(after)) = (members(request.body()), members(&bytes)) else { return };
    let untouched = |all: &[(String, Box<RawValue>)]| -> Vec<(String, String)> {
        all.iter()
            .filter(|(name, _)| !TOUCHED.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), value.get().to_owned()))
            .collect()
    };
    assert_eq!(untouched(&before), untouched(&after), "a member that no edit names has changed");
    if let Some(model) = edits.model {
        let named = after.iter().rev().find(|(name, _)| name == "model").map(|(_, value)| value);
        let named = named.and_then(|value| serde_json::from_str::<String>(value.get()).ok());
        assert_eq!(named.as_deref(), Some(model), "another model is asked");
    }
    again(request, edits, &bytes);
}

/// Edits that were made have nothing left to do.
fn again(request: &Request, edits: &Edits<'_>, bytes: &Bytes) {
    let again = request::read(request.dialect(), bytes)
        .map(|request| splice(&request, &Edits { append: None, ..edits.clone() }).to_bytes());
    assert_eq!(again.as_ref(), Ok(bytes), "the same edits change the body again");
}

/// The outermost members in order, repeated ones too.
fn members(body: &[u8]) -> Option<Vec<(String, Box<RawValue>)>> {
    struct Members(Vec<(String, Box<RawValue>)>);
    struct Reading;
    impl<'de> Visitor<'de> for Reading {
        type Value = Members;

        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
            let mut members = Vec::new();
            while let Some(member) = map.next_entry()? {
                members.push(member);
            }
            Ok(Members(members))
        }
    }
    impl<'de> Deserialize<'de> for Members {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_map(Reading)
        }
    }
    serde_json::from_slice::<Members>(body).ok().map(|members| members.0)
}
