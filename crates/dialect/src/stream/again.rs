//! Events that are the one before over again, but for the text in them.
//!
//! It refuses to guess: every byte around the text has to be that of the event before, and the text a
//! JSON string by itself. Nearly all pieces of an answer are so at most providers, and reading one
//! whole takes several times as long.

use crate::json::{Span, string_inside};
use crate::sse::Event;

/// Longer surroundings are not kept: every open stream would hold them.
const AROUND_BYTES_MAX: usize = 1024;

/// What stood around the text of the last event, if text was all that it told.
#[derive(Debug, Default)]
pub(super) struct Again {
    /// Empty: it told something else.
    around: Vec<u8>,
    /// How many of these bytes stand before the text.
    before: usize,
    shows: Shows,
}

/// What the text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Shows {
    #[default]
    Output,
    Reasoning,
}

impl Again {
    /// What the event shows and how many bytes the model wrote in it, as [`crate::answer::Answer::written`]
    /// counts them, if it is the last one with another text.
    pub(super) fn hear(&self, event: &Event) -> Option<(Shows, usize)> {
        if self.around.is_empty() {
            return None;
        }
        let (before, after) = self.around.split_at(self.before);
        let text = event.raw().strip_prefix(before)?.strip_suffix(after)?;
        let written = string_inside(text)?;
        (written > 0).then_some((self.shows, written))
    }

    /// The event was read whole. `text`: where in its data the text stands (without its quotes) that
    /// is all it told, so that reading it a second time would change nothing.
    pub(super) fn note(&mut self, event: &Event, text: Option<(Span, Shows)>) {
        self.around.clear();
        let (Some((text, shows)), Some(data)) = (text, event.data_line()) else { return };
        let raw = event.raw();
        let (before, after) = (data.start + text.start, data.start + text.end);
        if raw.len() - text.len() <= AROUND_BYTES_MAX {
            self.around.extend_from_slice(&raw[..before]);
            self.around.extend_from_slice(&raw[after..]);
            (self.before, self.shows) = (before, shows);
        }
    }
}
