//! A JSON reader that builds nothing.
//!
//! It refuses to make values: it walks over text, checks the grammar and hands out positions, so
//! that what is not asked for is never copied and what is not changed stays as it was written. A
//! tree, or typed structures, would lose order, duplicate keys and long numbers, would fail a whole
//! chunk over one field of an unexpected type, and would need one more pass per level to tell where
//! a nested value lies. Its verdicts are tested against `serde_json`'s.

use std::borrow::Cow;
use std::ops::Range;

/// Deepest nesting that is read. Parsers behind us refuse more, too.
pub(crate) const DEPTH_MAX: usize = 128;

/// Strings up to this length are read byte by byte.
const SHORT: usize = 64;

/// Where in the text something stands, in bytes.
pub(crate) type Span = Range<usize>;

/// Why a text is not usable JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum JsonError {
    /// The grammar is broken there.
    #[error("broken at byte {at}")]
    Syntax {
        /// Offset in bytes of the first byte that does not fit.
        at: usize,
    },
    /// Nested deeper than is read.
    #[error("nested too deeply at byte {at}")]
    Deep {
        /// Offset in bytes of the bracket that is one too many.
        at: usize,
    },
}

/// One member of an object: where its key (quotes included) and its value stand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Member {
    pub(crate) key: Span,
    pub(crate) value: Span,
}

/// What a value is, by its first byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Object,
    Array,
    Text,
    Number,
    True,
    False,
    Null,
}

/// A string as it is written, without its quotes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a> {
    pub(crate) raw: &'a str,
    escaped: bool,
}

impl Kind {
    /// The kind in words, with its article.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Object => "an object",
            Self::Array => "an array",
            Self::Text => "a string",
            Self::Number => "a number",
            Self::True | Self::False => "a boolean",
            Self::Null => "null",
        }
    }
}

impl<'a> Text<'a> {
    pub(crate) const EMPTY: Self = Self { raw: "", escaped: false };

    pub(crate) const fn is_empty(self) -> bool {
        self.raw.is_empty()
    }

    /// The string that is meant. A lone surrogate reads as U+FFFD.
    pub(crate) fn decode(self) -> Cow<'a, str> {
        if !self.escaped {
            return Cow::Borrowed(self.raw);
        }
        let mut out = String::with_capacity(self.raw.len());
        let mut rest = self.raw;
        while let Some(slash) = memchr::memchr(b'\\', rest.as_bytes()) {
            out.push_str(&rest[..slash]);
            let (decoded, used) = unescape(&rest[slash..]);
            out.push(decoded);
            rest = &rest[slash + used..];
        }
        out.push_str(rest);
        Cow::Owned(out)
    }

    /// Length in bytes of the string that is meant, near enough: a `\u` escape counts as three.
    /// [`string_inside`] counts alike.
    pub(crate) fn decoded_len(self) -> usize {
        if !self.escaped {
            return self.raw.len();
        }
        let mut len = self.raw.len();
        let mut at = 0;
        while let Some(slash) = memchr::memchr(b'\\', &self.raw.as_bytes()[at..]) {
            let long = self.raw.as_bytes().get(at + slash + 1) == Some(&b'u');
            len = len.saturating_sub(if long { 3 } else { 1 });
            at += slash + if long { 6 } else { 2 };
            if at > self.raw.len() {
                break;
            }
        }
        len
    }
}

/// The character that an escape at the start of `text` means, and its length in bytes.
fn unescape(text: &str) -> (char, usize) {
    let simple = match text.as_bytes().get(1) {
        Some(b'n') => '\n',
        Some(b't') => '\t',
        Some(b'r') => '\r',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'u') => return unescape_unit(text),
        Some(&other) => char::from(other),
        None => char::REPLACEMENT_CHARACTER,
    };
    (simple, text.len().min(2))
}

fn unescape_unit(text: &str) -> (char, usize) {
    let unit = |at: usize| text.get(at..at + 4).and_then(|hex| u32::from_str_radix(hex, 16).ok());
    let Some(first) = unit(2) else { return (char::REPLACEMENT_CHARACTER, text.len().min(2)) };
    if (0xD800..0xDC00).contains(&first)
        && text.get(6..8) == Some("\\u")
        && let Some(second) = unit(8).filter(|unit| (0xDC00..0xE000).contains(unit))
    {
        let code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
        return (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12);
    }
    (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 6)
}

/// A position in a JSON text, moved on value by value.
#[derive(Clone, Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

type Scan<T> = Result<T, JsonError>;

impl<'a> Scanner<'a> {
    pub(crate) const fn new(text: &'a str) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    /// A scanner on one value inside `text`; positions stay those of `text`.
    pub(crate) fn within(text: &'a str, span: &Span) -> Self {
        Self { text: &text[..span.end], at: span.start, depth: 0 }
    }

    /// Where it stands, in bytes.
    pub(crate) const fn at(&self) -> usize {
        self.at
    }

    /// Where a string that was passed stands, quotes included.
    pub(crate) fn written(&self, text: Text<'a>) -> Span {
        let start = text.raw.as_ptr() as usize - self.text.as_ptr() as usize - 1;
        start..start + text.raw.len() + 2
    }

    /// The same without its quotes.
    pub(crate) fn inside(&self, text: Text<'a>) -> Span {
        let Span { start, end } = self.written(text);
        start + 1..end - 1
    }

    /// The text of a value that was passed.
    pub(crate) fn slice(&self, span: &Span) -> &'a str {
        &self.text[span.clone()]
    }

    /// What comes next; blanks before it are passed.
    pub(crate) fn kind(&mut self) -> Scan<Kind> {
        match self.peek() {
            Some(b'{') => Ok(Kind::Object),
            Some(b'[') => Ok(Kind::Array),
            Some(b'"') => Ok(Kind::Text),
            Some(b'-' | b'0'..=b'9') => Ok(Kind::Number),
            Some(b't') => Ok(Kind::True),
            Some(b'f') => Ok(Kind::False),
            Some(b'n') => Ok(Kind::Null),
            _ => self.broken(),
        }
    }

    /// Passes one value of any kind and says where it stands.
    pub(crate) fn skip(&mut self) -> Scan<Span> {
        let kind = self.kind()?;
        let start = self.at;
        match kind {
            Kind::Object => self.object(|inner, _| inner.pass())?,
            Kind::Array => self.array(|inner| inner.pass())?,
            Kind::Text => self.text().map(|_| ())?,
            Kind::Number => self.number()?,
            Kind::True => self.word("true")?,
            Kind::False => self.word("false")?,
            Kind::Null => self.word("null")?,
        }
        Ok(start..self.at)
    }

    /// Passes one value of any kind.
    pub(crate) fn pass(&mut self) -> Scan<()> {
        self.skip().map(|_| ())
    }

    /// Passes an object; `each` must pass exactly one value.
    pub(crate) fn object(
        &mut self,
        mut each: impl FnMut(&mut Self, Text<'a>) -> Scan<()>,
    ) -> Scan<()> {
        self.open(b'{')?;
        if self.peek() == Some(b'}') {
            return self.close();
        }
        loop {
            if self.peek() != Some(b'"') {
                return self.broken();
            }
            let key = self.text()?;
            if self.peek() != Some(b':') {
                return self.broken();
            }
            self.at += 1;
            each(self, key)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => return self.close(),
                _ => return self.broken(),
            }
        }
    }

    /// Passes an array; `each` must pass exactly one value.
    pub(crate) fn array(&mut self, mut each: impl FnMut(&mut Self) -> Scan<()>) -> Scan<()> {
        self.open(b'[')?;
        if self.peek() == Some(b']') {
            return self.close();
        }
        loop {
            each(self)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => return self.close(),
                _ => return self.broken(),
            }
        }
    }

    /// Like [`Self::object`]; any other kind is passed unread.
    pub(crate) fn object_or_skip(
        &mut self,
        each: impl FnMut(&mut Self, Text<'a>) -> Scan<()>,
    ) -> Scan<()> {
        if self.kind()? == Kind::Object { self.object(each) } else { self.pass() }
    }

    /// Like [`Self::array`]; any other kind is passed unread.
    pub(crate) fn array_or_skip(&mut self, each: impl FnMut(&mut Self) -> Scan<()>) -> Scan<()> {
        if self.kind()? == Kind::Array { self.array(each) } else { self.pass() }
    }

    /// The string that comes next; any other kind is passed unread.
    pub(crate) fn text_or_skip(&mut self) -> Scan<Option<Text<'a>>> {
        if self.kind()? == Kind::Text {
            return self.text().map(Some);
        }
        self.skip().map(|_| None)
    }

    /// The whole number that comes next; anything else is passed unread.
    pub(crate) fn integer_or_skip(&mut self) -> Scan<Option<u64>> {
        let span = self.skip()?;
        Ok(self.text[span].parse().ok())
    }

    /// At most how much a number means, however it is written; anything else is passed unread.
    pub(crate) fn bound_or_skip(&mut self) -> Scan<Option<u64>> {
        let is_number = self.kind()? == Kind::Number;
        let span = self.skip()?;
        let whole = || self.text[span].parse().unwrap_or(u64::MAX);
        Ok(is_number.then(whole))
    }

    /// Whether `true` comes next; passes it, whatever it is.
    pub(crate) fn is_true(&mut self) -> Scan<bool> {
        let is_true = self.kind()? == Kind::True;
        self.skip().map(|_| is_true)
    }

    /// After the outermost value only blanks may follow.
    pub(crate) fn finish(&mut self) -> Scan<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => self.broken(),
        }
    }

    /// The members of the object that comes next.
    pub(crate) fn members(&mut self) -> Scan<Vec<Member>> {
        let mut members = Vec::new();
        self.object(|inner, key| {
            let key = inner.written(key);
            let value = inner.skip()?;
            members.push(Member { key, value });
            Ok(())
        })?;
        Ok(members)
    }

    /// The elements of the array that comes next.
    pub(crate) fn elements(&mut self) -> Scan<Vec<Span>> {
        let mut elements = Vec::new();
        self.array(|inner| {
            elements.push(inner.skip()?);
            Ok(())
        })?;
        Ok(elements)
    }

    /// The string that comes next, which must be one.
    pub(crate) fn text(&mut self) -> Scan<Text<'a>> {
        let bytes = self.text.as_bytes();
        let start = self.at + 1;
        let mut escaped = false;
        // Most strings are keys and words, for which a call costs more than the few bytes.
        let rest = bytes.get(start..).unwrap_or_default();
        let ahead = plain_len(&rest[..rest.len().min(SHORT)]);
        if rest.get(ahead) == Some(&b'"') {
            self.at = start + ahead + 1;
            return Ok(Text { raw: &self.text[start..start + ahead], escaped });
        }
        let mut from = start + ahead;
        loop {
            let rest = bytes.get(from..).unwrap_or_default();
            let hit = memchr::memchr2(b'"', b'\\', rest);
            let plain = &rest[..hit.unwrap_or(rest.len())];
            if has_control(plain) {
                return Err(JsonError::Syntax { at: from + plain_len(plain) });
            }
            let Some(hit) = hit else { return Err(JsonError::Syntax { at: bytes.len() }) };
            let at = from + hit;
            if bytes[at] == b'"' {
                self.at = at + 1;
                return Ok(Text { raw: &self.text[start..at], escaped });
            }
            escaped = true;
            from = escape_end(bytes, at)?;
        }
    }

    fn number(&mut self) -> Scan<()> {
        if self.here() == Some(b'-') {
            self.at += 1;
        }
        match self.here() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits()?,
            _ => return self.broken(),
        }
        if self.here() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.here(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.here(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Scan<()> {
        if !matches!(self.here(), Some(b'0'..=b'9')) {
            return self.broken();
        }
        while matches!(self.here(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    fn word(&mut self, word: &str) -> Scan<()> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return self.broken();
        }
        self.at += word.len();
        Ok(())
    }

    fn open(&mut self, bracket: u8) -> Scan<()> {
        if self.peek() != Some(bracket) {
            return self.broken();
        }
        if self.depth == DEPTH_MAX {
            return Err(JsonError::Deep { at: self.at });
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    const fn close(&mut self) -> Scan<()> {
        self.depth -= 1;
        self.at += 1;
        Ok(())
    }

    fn here(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    const fn broken<T>(&self) -> Scan<T> {
        Err(JsonError::Syntax { at: self.at })
    }
}

/// How many bytes stand before the first quote, backslash or control character: eight at a time, by
/// the sums that borrow from no other byte below the first hit.
fn plain_len(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(eight) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let word = u64::from_le_bytes(*eight);
        let quote = below(word ^ (ONES * u64::from(b'"')), 1);
        let backslash = below(word ^ (ONES * u64::from(b'\\')), 1);
        let hits = quote | backslash | below(word, 0x20);
        if hits != 0 {
            return at + (hits.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let rest = bytes[at..].iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20));
    rest.map_or(bytes.len(), |rest| at + rest)
}

fn has_control(bytes: &[u8]) -> bool {
    let (eights, rest) = bytes.as_chunks();
    let hits = eights.iter().fold(0, |hits, eight| hits | below(u64::from_le_bytes(*eight), 0x20));
    hits != 0 || rest.iter().any(|byte| *byte < 0x20)
}

const ONES: u64 = u64::MAX / 0xff;

/// Marks the lowest of the eight bytes that is below `least`, and maybe others above it.
const fn below(word: u64, least: u64) -> u64 {
    word.wrapping_sub(ONES * least) & !word & (ONES << 7)
}

/// [`Text::decoded_len`] of the bytes, if they can stand between the quotes of a string.
pub(crate) fn string_inside(bytes: &[u8]) -> Option<usize> {
    let (mut rest, mut len) = (bytes, bytes.len());
    loop {
        rest = &rest[plain_len(rest)..];
        match rest.first() {
            None => return std::str::from_utf8(bytes).is_ok().then_some(len),
            Some(b'\\') => {
                let end = escape_end(rest, 0).ok()?;
                // Of six bytes three stay, of two one.
                len -= end / 2;
                rest = &rest[end..];
            }
            Some(_) => return None,
        }
    }
}

/// Where the escape that starts at `at` ends.
fn escape_end(bytes: &[u8], at: usize) -> Scan<usize> {
    match bytes.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'u')
            if bytes.get(at + 2..at + 6).is_some_and(|h| h.iter().all(u8::is_ascii_hexdigit)) =>
        {
            Ok(at + 6)
        }
        _ => Err(JsonError::Syntax { at }),
    }
}

/// What to cut out of a list of members or elements so that the commas still fit.
///
/// `items` are the extents in order; `gone` tells which of them go.
pub(crate) fn cuts(items: &[Span], gone: impl Fn(usize) -> bool) -> Vec<Span> {
    let mut cuts = Vec::new();
    let mut kept_before = false;
    for (index, item) in items.iter().enumerate() {
        if !gone(index) {
            kept_before = true;
        } else if kept_before {
            cuts.push(items[index - 1].end..item.end);
        } else {
            let end = items.get(index + 1).map_or(item.end, |next| next.start);
            cuts.push(item.start..end);
        }
    }
    cuts
}

#[cfg(test)]
mod tests;
