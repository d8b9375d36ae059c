//! Server-sent events out of a byte stream.
//!
//! It refuses to interpret: an event is handed on with its original bytes, whatever its data says.
//! Nothing is lost or added: the events' bytes in a row are the stream's (a byte-order mark at its
//! start excepted). Where a chunk of the transport holds a whole event, the event shares its memory.

use std::ops::Range;

use bytes::{Buf, Bytes, BytesMut};

/// Largest event that is read unless said otherwise, in bytes.
pub const EVENT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// An event is larger than allowed; the stream cannot be read on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("an event is larger than {limit} bytes")]
pub struct EventTooLarge {
    /// The limit, in bytes.
    pub limit: usize,
}

/// One block of the stream, up to and with the empty line that ends it.
///
/// A block of comments alone, or an empty line, is an event without data.
#[derive(Clone)]
pub struct Event {
    raw: Bytes,
    name: Range<usize>,
    id: Option<Range<usize>>,
    retry_ms: Option<u64>,
    data: Data,
}

#[derive(Clone)]
enum Data {
    None,
    /// One `data` line: a part of `raw`.
    Line(Range<usize>),
    /// Several lines, joined by line feeds.
    Lines(Bytes),
}

/// Cuts a stream into events; fed with chunks in any split.
pub struct Reader {
    limit: usize,
    /// The transport's chunk that is being read.
    chunk: Bytes,
    /// Chunks that came but are not begun.
    waiting: std::collections::VecDeque<Bytes>,
    /// The start of an event whose end has not come.
    held: BytesMut,
    start: Start,
    line: Line,
    failed: bool,
}

/// Whether a byte-order mark may still come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Start {
    Mark,
    Passed,
}

/// Where in a block we are: enough to find its end across chunks.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// Nothing stands in the line so far.
    empty: bool,
    /// How the block's previous line ended, if there is one.
    ended: Option<Ending>,
    /// A carriage return was the last byte: a line feed may belong to it.
    after_cr: Option<AfterCr>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ending {
    Cr,
    Lf,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AfterCr {
    Blank,
    Text,
}

impl Line {
    const FIRST: Self = Self { empty: true, ended: None, after_cr: None };

    /// Reads on from the start of `bytes`; the length up to and with the end of the block.
    fn block_end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        loop {
            if let Some(after) = self.after_cr {
                let next = *bytes.get(at)?;
                self.after_cr = None;
                self.empty = true;
                self.ended = Some(if next == b'\n' { Ending::Lf } else { Ending::Cr });
                at += usize::from(next == b'\n');
                if after == AfterCr::Blank {
                    return Some(at);
                }
            }
            let rest = bytes.get(at..)?;
            let Some(hit) = memchr::memchr2(b'\n', b'\r', rest) else {
                self.empty &= rest.is_empty();
                return None;
            };
            let blank = self.empty && hit == 0;
            at += hit + 1;
            self.empty = true;
            if rest[hit] == b'\n' {
                self.ended = Some(Ending::Lf);
                if blank {
                    return Some(at);
                }
            } else if blank && self.ended == Some(Ending::Cr) {
                // Lines end with bare carriage returns here: waiting for a line feed that never
                // comes would hold the event back until the next one.
                return Some(at);
            } else {
                self.after_cr = Some(if blank { AfterCr::Blank } else { AfterCr::Text });
            }
        }
    }
}

impl Default for Reader {
    fn default() -> Self {
        Self::new()
    }
}

impl Reader {
    /// A reader with the default limit, [`EVENT_BYTES_MAX`].
    #[must_use]
    pub fn new() -> Self {
        Self::with_limit(EVENT_BYTES_MAX)
    }

    /// A reader that refuses events of more than `limit` bytes.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self {
            limit,
            chunk: Bytes::new(),
            waiting: std::collections::VecDeque::new(),
            held: BytesMut::new(),
            start: Start::Mark,
            line: Line::FIRST,
            failed: false,
        }
    }

    /// Takes the next chunk of the transport; after an event that was too large, drops it.
    pub fn push(&mut self, chunk: Bytes) {
        if self.failed {
            return;
        }
        if self.chunk.is_empty() && self.waiting.is_empty() {
            self.chunk = chunk;
        } else {
            self.waiting.push_back(chunk);
        }
    }

    /// The next complete event; `None` until more bytes come.
    ///
    /// # Errors
    /// When an event exceeds the limit, and from then on.
    pub fn next_event(&mut self) -> Result<Option<Event>, EventTooLarge> {
        loop {
            if self.failed {
                return Err(EventTooLarge { limit: self.limit });
            }
            self.pass_mark();
            let end = self.line.block_end(&self.chunk);
            let taken = end.unwrap_or(self.chunk.len());
            if self.held.len() + taken > self.limit {
                self.failed = true;
                self.chunk.clear();
                self.waiting.clear();
                self.held = BytesMut::new();
                continue;
            }
            let part = self.chunk.split_to(taken);
            if end.is_some() {
                self.line = Line::FIRST;
                return Ok(Some(Event::parse(self.joined(part))));
            }
            self.held.extend_from_slice(&part);
            match self.waiting.pop_front() {
                Some(chunk) => self.chunk = chunk,
                None => return Ok(None),
            }
        }
    }

    /// What is left when the bytes have ended: an event that lacks its empty line, completed here.
    ///
    /// Call it once [`Self::next_event`] gives `None` and the transport says that no more comes.
    /// A cut stream gives a torn event, whose data no dialect can read.
    pub fn finish(&mut self) -> Option<Event> {
        if self.failed || self.held.is_empty() {
            return None;
        }
        let mut raw = std::mem::take(&mut self.held);
        if !matches!(raw.last(), Some(b'\n' | b'\r')) {
            raw.extend_from_slice(b"\n");
        }
        raw.extend_from_slice(b"\n");
        self.line = Line::FIRST;
        Some(Event::parse(raw.freeze()))
    }

    /// Bytes that came and belong to no event so far.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.held.len() + self.chunk.len() + self.waiting.iter().map(Bytes::len).sum::<usize>()
    }

    fn joined(&mut self, part: Bytes) -> Bytes {
        if self.held.is_empty() {
            return part;
        }
        self.held.extend_from_slice(&part);
        std::mem::take(&mut self.held).freeze()
    }

    fn pass_mark(&mut self) {
        const MARK: &[u8] = b"\xEF\xBB\xBF";
        while self.start == Start::Mark {
            let seen = self.held.len();
            let Some(&byte) = self.chunk.first() else { return };
            if MARK.get(seen) != Some(&byte) {
                self.start = Start::Passed;
                // A mark that broke off was text of a line after all.
                self.line.empty = self.held.is_empty();
                return;
            }
            self.held.extend_from_slice(&[byte]);
            self.chunk.advance(1);
            if self.held.len() == MARK.len() {
                self.held.clear();
                self.start = Start::Passed;
            }
        }
    }
}

impl Event {
    /// An event of these bytes, which should be one block.
    #[must_use]
    pub fn parse(raw: Bytes) -> Self {
        let mut event =
            Self { name: 0..0, id: None, retry_ms: None, data: Data::None, raw: Bytes::new() };
        let mut joined: Option<Vec<u8>> = None;
        let mut at = 0;
        while at < raw.len() {
            let rest = &raw[at..];
            let len = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
            let line = at..at + len;
            at += len + 1;
            let Some((field, value)) = split_field(&raw, &line) else { continue };
            match field {
                b"data" => match (&event.data, &mut joined) {
                    (Data::None, _) => event.data = Data::Line(value),
                    (Data::Line(first), None) => {
                        let mut lines = raw[first.clone()].to_vec();
                        lines.push(b'\n');
                        lines.extend_from_slice(&raw[value]);
                        joined = Some(lines);
                    }
                    (Data::Line(_) | Data::Lines(_), Some(lines)) => {
                        lines.push(b'\n');
                        lines.extend_from_slice(&raw[value]);
                    }
                    (Data::Lines(_), None) => {}
                },
                b"event" => event.name = value,
                b"id" if !raw[value.clone()].contains(&0) => event.id = Some(value),
                b"retry" => {
                    let digits = std::str::from_utf8(&raw[value]).ok();
                    event.retry_ms = digits.and_then(|text| text.parse().ok()).or(event.retry_ms);
                }
                _ => {}
            }
        }
        if let Some(lines) = joined {
            event.data = Data::Lines(Bytes::from(lines));
        }
        event.raw = raw;
        event
    }

    /// The bytes as they came, the empty line at the end included.
    #[must_use]
    pub const fn raw(&self) -> &Bytes {
        &self.raw
    }

    /// The `event` field; empty when there is none or it is not UTF-8.
    #[must_use]
    pub fn name(&self) -> &str {
        std::str::from_utf8(&self.raw[self.name.clone()]).unwrap_or_default()
    }

    /// The `id` field.
    #[must_use]
    pub fn id(&self) -> Option<&[u8]> {
        self.id.clone().map(|range| &self.raw[range])
    }

    /// The `retry` field, in milliseconds.
    #[must_use]
    pub const fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// The data, several lines joined by line feeds; `None` for comments and empty lines.
    #[must_use]
    pub fn data(&self) -> Option<&[u8]> {
        match &self.data {
            Data::None => None,
            Data::Line(range) => Some(&self.raw[range.clone()]),
            Data::Lines(lines) => Some(lines),
        }
    }

    /// Where in the raw bytes the data stands, if it is one line.
    pub(crate) fn data_line(&self) -> Option<Range<usize>> {
        match &self.data {
            Data::Line(range) => Some(range.clone()),
            Data::None | Data::Lines(_) => None,
        }
    }
}

// Answers must not reach logs by way of a debug print.
impl std::fmt::Debug for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Event")
            .field("name", &self.name())
            .field("bytes", &self.raw.len())
            .field("data_bytes", &self.data().map(<[u8]>::len))
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader")
            .field("limit", &self.limit)
            .field("held_bytes", &self.held_bytes())
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}

/// Field and value of a line; `None` for an empty line and for a comment.
fn split_field<'a>(raw: &'a [u8], line: &Range<usize>) -> Option<(&'a [u8], Range<usize>)> {
    let text = &raw[line.clone()];
    let colon = memchr::memchr(b':', text).unwrap_or(text.len());
    if text.is_empty() || colon == 0 {
        return None;
    }
    let mut start = (line.start + colon + 1).min(line.end);
    if raw[start..line.end].first() == Some(&b' ') {
        start += 1;
    }
    Some((&text[..colon], start..line.end))
}

#[cfg(test)]
mod tests;
