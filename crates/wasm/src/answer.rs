//! What each request answers. It refuses to fail: a text that cannot be read is answered with a
//! line that begins with `error`, and nothing else does.

use core::fmt::Write as _;

use ekiden_engine::Trace;
use ekiden_engine::history::History;

pub use crate::evidence::classify;

/// Runs lines of a history; its operations are those of [`ekiden_engine::history`]. Empty lines and
/// those that begin with `#` are passed over.
///
/// The answer is what the lines led to. At the first line that is no operation it stops and ends
/// with `error LINE REASON`, the line counted from 1; what stood before it has happened.
#[must_use]
pub fn lines(history: &mut History, text: &str) -> String {
    let mut out = String::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if let Err(bad) = history.line(line, &mut out) {
            error(&mut out, index + 1, &bad);
            break;
        }
    }
    out
}

/// Replays a recorded call.
///
/// | answer | meaning |
/// | --- | --- |
/// | `same`, then a line an output | every decision is the recorded one |
/// | `diverged RECORD` | the decision of this record, counted from 1, is another one now |
/// | `error LINE REASON` | the text is no trace |
#[must_use]
pub fn replay(text: &str) -> String {
    let mut out = String::new();
    match Trace::from_text(text) {
        Ok(trace) => match trace.replay() {
            Ok(said) => {
                out.push_str("same\n");
                out.push_str(&said);
            }
            Err(divergence) => {
                // Writing into a String cannot fail.
                let _ = writeln!(out, "diverged {}", divergence.record);
            }
        },
        Err((line, bad)) => error(&mut out, line, &bad),
    }
    out
}

/// The answer to a text that cannot be read.
pub(crate) fn error(out: &mut String, line: usize, reason: &dyn core::fmt::Display) {
    // Writing into a String cannot fail.
    let _ = writeln!(out, "error {line} {reason}");
}
