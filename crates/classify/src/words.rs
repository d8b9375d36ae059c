//! Finding words in messages.
//!
//! It refuses to be a regular-expression engine. A pattern is literal text in lower case with three signs:
//! `*` is a gap of at most [`GAP_MAX`] bytes, `#` a number (`128,000`, `4.5`, `200k`), `~` a word boundary. That is
//! all the rules need, it has no bad cases, and it costs a few hundred bytes of code.

use alloc::string::String;

/// The longest gap that `*` stands for, in bytes.
const GAP_MAX: usize = 140;
/// Words of 64 bits in which the pairs of a text are noted.
const PAIR_WORDS: usize = 64;
/// Numbers captured by one pattern.
const CAPTURES_MAX: usize = 4;

/// The numbers that the `#` signs of a pattern stood for.
#[derive(Default, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Captures {
    values: [u64; CAPTURES_MAX],
    len: usize,
}

impl Captures {
    /// The number that the `index`-th sign stood for.
    pub(crate) fn nth(&self, index: usize) -> Option<u64> {
        self.values.get(..self.len).and_then(|values| values.get(index)).copied()
    }

    fn push(&mut self, value: u64) {
        if let Some(slot) = self.values.get_mut(self.len) {
            *slot = value;
            self.len += 1;
        }
    }
}

/// Straight quotes and single spaces; letters keep their case, so that [`normal`] keeps every byte's place.
pub(crate) fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut kept = 0;
    let mut blank = false;
    let mut at = 0;
    while let Some(byte) = text.as_bytes().get(at) {
        // Only these begin a letter that may change; what stands between them is copied in one piece.
        if !(byte.is_ascii_whitespace() || matches!(byte, 0xc2 | 0xe2 | 0xe3)) {
            blank = false;
            at += 1;
            continue;
        }
        let Some(letter) = text.get(at..).and_then(|rest| rest.chars().next()) else {
            at += 1;
            continue;
        };
        let tidied = match letter {
            '\u{2018}' | '\u{2019}' => '\'',
            '\u{201c}' | '\u{201d}' => '"',
            '\u{a0}' | '\u{202f}' | '\u{3000}' => ' ',
            letter if letter.is_ascii_whitespace() => ' ',
            letter => letter,
        };
        let end = at + letter.len_utf8();
        if tidied != letter || (tidied == ' ' && blank) {
            out.push_str(text.get(kept..at).unwrap_or_default());
            kept = end;
            if !(tidied == ' ' && blank) {
                out.push(tidied);
            }
        }
        blank = tidied == ' ';
        at = end;
    }
    out.push_str(text.get(kept..).unwrap_or_default());
    out
}

/// [`tidy`] in lower case: the form that patterns are written for.
pub(crate) fn normal(text: &str) -> String {
    let mut text = tidy(text);
    text.make_ascii_lowercase();
    text
}

/// The pairs of bytes that occur in a text.
///
/// Nearly every word needs a pair that does not occur, and so is never searched for.
pub(crate) struct Pairs([u64; PAIR_WORDS]);

impl Pairs {
    pub(crate) fn of(text: &str) -> Self {
        let mut pairs = [0; PAIR_WORDS];
        let bytes = text.as_bytes();
        for (first, second) in bytes.iter().zip(bytes.iter().skip(1)) {
            let (word, bit) = place(*first, *second);
            if let Some(word) = pairs.get_mut(word) {
                *word |= bit;
            }
        }
        Self(pairs)
    }

    /// Whether every two neighbouring bytes of the word are neighbours somewhere in the text.
    pub(crate) fn can_spell(&self, word: &str) -> bool {
        let bytes = word.as_bytes();
        bytes.iter().zip(bytes.iter().skip(1)).all(|(first, second)| {
            let (word, bit) = place(*first, *second);
            self.0.get(word).is_some_and(|word| word & bit != 0)
        })
    }
}

/// Where a pair is noted: different pairs may share a place, which costs a search and nothing else.
fn place(first: u8, second: u8) -> (usize, u64) {
    let mixed = usize::from(first) * 67 + usize::from(second);
    (mixed / 64 % PAIR_WORDS, 1 << (mixed % 64))
}

/// Whether any of the patterns occurs.
pub(crate) fn has_any(text: &str, patterns: &[&str]) -> bool {
    patterns.iter().any(|pattern| find(text, pattern).is_some())
}

/// Whether the pattern's beginning stands at `start`, and the rest of it behind.
pub(crate) fn fits(text: &str, start: usize, pattern: &str) -> bool {
    let text = text.as_bytes();
    let mut parts = parts(pattern);
    let first = parts.next().unwrap_or_default();
    stands(text, start, first)
        .is_some_and(|(end, captures)| follow(text, end, captures, parts).is_some())
}

/// Whether a machine code stands at `start` as a word, in whatever case; `text` is in lower case.
pub(crate) fn at_word(text: &str, start: usize, code: &str) -> bool {
    let bytes = text.as_bytes();
    let joins =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let stands = bytes
        .get(start..start + code.len())
        .is_some_and(|found| found.eq_ignore_ascii_case(code.as_bytes()));
    stands
        && !joins(start.checked_sub(1).and_then(|before| bytes.get(before)))
        && !joins(bytes.get(start + code.len()))
}

/// The first occurrence: the byte after it, and its numbers.
pub(crate) fn find(text: &str, pattern: &str) -> Option<(usize, Captures)> {
    let text = text.as_bytes();
    let mut parts = parts(pattern);
    let first = parts.next()?;
    let mut from = 0;
    // A first part that is met again and again costs one bounded look ahead each time.
    while let Some((end, captures)) = find_part(text, from, usize::MAX, first) {
        if let Some(found) = follow(text, end.1, captures, parts.clone()) {
            return Some(found);
        }
        from = end.0 + 1;
    }
    None
}

fn parts(pattern: &str) -> impl Iterator<Item = &[u8]> + Clone {
    pattern.as_bytes().split(|byte| *byte == b'*')
}

fn follow<'p>(
    text: &[u8],
    mut at: usize,
    mut captures: Captures,
    parts: impl Iterator<Item = &'p [u8]>,
) -> Option<(usize, Captures)> {
    for part in parts {
        let (span, more) = find_part(text, at, GAP_MAX, part)?;
        for value in more.values.iter().take(more.len) {
            captures.push(*value);
        }
        at = span.1;
    }
    Some((at, captures))
}

/// The first place from `from` on, at most `gap` bytes away, where the part stands.
fn find_part(
    text: &[u8],
    from: usize,
    gap: usize,
    part: &[u8],
) -> Option<((usize, usize), Captures)> {
    let last = from.saturating_add(gap).min(text.len());
    let lead = part.first().copied().filter(|byte| !matches!(byte, b'#' | b'~'));
    let mut at = from;
    while at <= last {
        if let Some(lead) = lead {
            at += text.get(at..last)?.iter().position(|byte| *byte == lead)?;
        }
        if let Some((end, captures)) = stands(text, at, part) {
            return Some(((at, end), captures));
        }
        at += 1;
    }
    None
}

fn stands(text: &[u8], start: usize, part: &[u8]) -> Option<(usize, Captures)> {
    let mut at = start;
    let mut captures = Captures::default();
    for (index, sign) in part.iter().enumerate() {
        match sign {
            b'~' => {
                let before = at
                    .checked_sub(1)
                    .and_then(|before| text.get(before))
                    .is_some_and(u8::is_ascii_alphanumeric);
                let after = text.get(at).is_some_and(u8::is_ascii_alphanumeric);
                if before && after {
                    return None;
                }
            }
            b'#' => {
                if index == 0 && inside_number(text, start) {
                    return None;
                }
                let (value, end) = number(text, at)?;
                captures.push(value);
                at = end;
            }
            literal => {
                if text.get(at) != Some(literal) {
                    return None;
                }
                at += 1;
            }
        }
    }
    Some((at, captures))
}

/// Whether a number that begins earlier ends where one would end that begins here.
fn inside_number(text: &[u8], start: usize) -> bool {
    let before = |distance: usize| start.checked_sub(distance).and_then(|at| text.get(at));
    let digit = |distance: usize| before(distance).is_some_and(u8::is_ascii_digit);
    digit(1) || digit(2) && before(1).is_some_and(|byte| matches!(byte, b',' | b'_'))
}

/// A whole number with separators, decimals (dropped) and `k` or `m`.
fn number(text: &[u8], start: usize) -> Option<(u64, usize)> {
    let digit = |at: usize| {
        text.get(at).filter(|byte| byte.is_ascii_digit()).map(|byte| u64::from(byte - b'0'))
    };
    let mut value = digit(start)?;
    let mut at = start + 1;
    loop {
        if let Some(next) = digit(at) {
            value = value.saturating_mul(10).saturating_add(next);
            at += 1;
        } else if text.get(at).is_some_and(|byte| matches!(byte, b',' | b'_'))
            && digit(at + 1).is_some()
        {
            at += 1;
        } else {
            break;
        }
    }
    if text.get(at) == Some(&b'.') && digit(at + 1).is_some() {
        at += 1;
        while digit(at).is_some() {
            at += 1;
        }
    }
    if text.get(at) == Some(&b'k') && !text.get(at + 1).is_some_and(u8::is_ascii_alphanumeric) {
        return Some((value.saturating_mul(1000), at + 1));
    }
    Some((value, at))
}

/// Whether two machine codes are the same, whatever their case and separators.
pub(crate) fn same_code(one: &str, other: &str) -> bool {
    letters(one).eq(letters(other))
}

/// What of a machine code is compared.
pub(crate) fn letters(code: &str) -> impl Iterator<Item = u8> + '_ {
    code.bytes()
        .filter(|byte| !matches!(byte, b'_' | b'-' | b'.' | b' '))
        .map(|byte| byte.to_ascii_lowercase())
}
