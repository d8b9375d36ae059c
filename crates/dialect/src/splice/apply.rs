//! Puts changes into bytes; it refuses to know what they are for.

use bytes::Bytes;

use crate::json::Span;
use crate::splice::Body;

/// One change: the bytes of a place, and what stands there instead.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) at: Span,
    pub(super) with: Bytes,
}

impl Change {
    pub(super) fn new(at: Span, with: impl Into<Vec<u8>>) -> Self {
        Self { at, with: Bytes::from(with.into()) }
    }

    pub(super) const fn cut(at: Span) -> Self {
        Self { at, with: Bytes::new() }
    }
}

/// Makes the changes, which may come in any order. Of two that overlap the earlier one holds.
pub(super) fn apply(body: &Bytes, mut changes: Vec<Change>) -> Body {
    // Stable: what is inserted at one place stays in the order it was asked for.
    changes.sort_by_key(|change| (change.at.start, change.at.end));
    let mut pieces = Vec::with_capacity(changes.len() * 2 + 1);
    let mut done = 0;
    for change in changes {
        if change.at.start < done {
            continue;
        }
        if change.at.start > done {
            pieces.push(body.slice(done..change.at.start));
        }
        if !change.with.is_empty() {
            pieces.push(change.with);
        }
        done = change.at.end;
    }
    if done < body.len() || pieces.is_empty() {
        pieces.push(body.slice(done..));
    }
    Body::from_pieces(pieces)
}
