//! Usage that we asked for and the client did not.
//!
//! It refuses to touch anything but the extra usage chunk and the `"usage":null` members.

use std::sync::LazyLock;

use bytes::{Bytes, BytesMut};
use memchr::memmem::Finder;

use crate::json::{JsonError, Kind, Scanner, Span, cuts};
use crate::request::key;
use crate::sse::Event;

/// Made once: it is looked for in every event.
static USAGE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"usage\""));

/// What a client that did not ask for usage may see of a Chat event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UsageView {
    /// The event as it came.
    AsItCame,
    /// These bytes in its place.
    Without(Bytes),
    /// Nothing: the event was there for the usage alone.
    Nothing,
}

/// Takes out of a Chat event what is there only because we asked for usage.
#[must_use]
pub fn hide_usage(event: &Event) -> UsageView {
    let Some(data) = event.data() else { return UsageView::AsItCame };
    if USAGE.find(data).is_none() {
        return UsageView::AsItCame;
    }
    std::str::from_utf8(data)
        .ok()
        .and_then(|text| view(event, text).ok())
        .unwrap_or(UsageView::AsItCame)
}

fn view(event: &Event, text: &str) -> Result<UsageView, JsonError> {
    let members = Scanner::new(text).members()?;
    let (mut nulls, mut told, mut choices) = (Vec::new(), false, true);
    for (index, member) in members.iter().enumerate() {
        let mut value = Scanner::within(text, &member.value);
        match &*key(text, member).decode() {
            "usage" => match value.kind()? {
                Kind::Null => nulls.push(index),
                Kind::Object => told = true,
                Kind::Array | Kind::Text | Kind::Number | Kind::True | Kind::False => {}
            },
            "choices" if value.kind()? == Kind::Array => choices = !value.elements()?.is_empty(),
            _ => {}
        }
    }
    if told && !choices {
        return Ok(UsageView::Nothing);
    }
    if nulls.is_empty() {
        return Ok(UsageView::AsItCame);
    }
    let extents: Vec<Span> =
        members.iter().map(|member| member.key.start..member.value.end).collect();
    let cuts = cuts(&extents, |at| nulls.contains(&at));
    Ok(UsageView::Without(rebuilt(event, text, &cuts)))
}

/// The event's bytes with parts of its data cut out.
fn rebuilt(event: &Event, text: &str, cuts: &[Span]) -> Bytes {
    let raw = event.raw();
    let Some(line) = event.data_line() else {
        // Several data lines: the line feeds between them are blanks to JSON.
        let mut data = without(text.as_bytes(), cuts);
        data.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
        let mut out = BytesMut::with_capacity(raw.len() + 8);
        for line in raw.split(|byte| matches!(byte, b'\n' | b'\r')).filter(|line| !line.is_empty())
        {
            if line != b"data" && !line.starts_with(b"data:") {
                out.extend_from_slice(line);
                out.extend_from_slice(b"\n");
            }
        }
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(&data);
        out.extend_from_slice(b"\n\n");
        return out.freeze();
    };
    let mut out = BytesMut::with_capacity(raw.len());
    out.extend_from_slice(&raw[..line.start]);
    out.extend_from_slice(&without(text.as_bytes(), cuts));
    out.extend_from_slice(&raw[line.end..]);
    out.freeze()
}

fn without(bytes: &[u8], cuts: &[Span]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut done = 0;
    for cut in cuts {
        out.extend_from_slice(&bytes[done..cut.start]);
        done = cut.end;
    }
    out.extend_from_slice(&bytes[done..]);
    out
}
