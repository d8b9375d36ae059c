//! Which rules have something to say about a text, found in one pass over it.
//!
//! It refuses to decide: it marks, and the order of the rules decides. There are over two thousand patterns, and a
//! text of a line or two; so the patterns are not looked for in the text, the text is looked up in the patterns. Each
//! pattern is filed at compile time under three neighbouring bytes that it needs, the three that the fewest patterns
//! share, and is compared only where these three stand. Machine codes are filed under a hash of their letters.

use crate::rules::{RULES_MAX, Rule, TABLES};
use crate::words::{at_word, find, fits, letters, same_code};

/// Buckets for three neighbouring bytes.
const TRIPLES: usize = 1024;
/// Buckets for two, for the few patterns that have no three.
const PAIRS: usize = 64;
/// Buckets for codes.
const CODES: usize = 512;
/// From here on `before` numbers the patterns whose beginning has no fixed length.
const ANYWHERE: u8 = 192;

/// What was found for each rule, one bit for each of its lists.
pub(crate) struct Marks([u8; RULES_MAX]);

/// The lists of a rule.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum List {
    /// `codes`, as codes or as words of a text.
    Codes = 0,
    Words = 1,
    Gate = 2,
    Unless = 3,
}

impl Marks {
    /// Marks what `text`, which must be [`crate::words::normal`], and the codes hold.
    pub(crate) fn read<'c>(
        text: &str,
        codes: impl Iterator<Item = (&'static str, &'c str)>,
    ) -> Self {
        let mut marks = Self([0; RULES_MAX]);
        let mut tried = 0;
        let bytes = text.as_bytes();
        for at in 0..bytes.len() {
            if let Some([first, second, third]) = bytes.get(at..at + 3) {
                let bucket = triple(*first, *second, *third);
                for entry in TRIPLE_INDEX.bucket(bucket) {
                    marks.compare(*entry, text, at, &mut tried);
                }
            }
            if let Some([first, second]) = bytes.get(at..at + 2) {
                for entry in PAIR_INDEX.bucket(pair(*first, *second)) {
                    marks.compare(*entry, text, at, &mut tried);
                }
            }
        }
        for (space, code) in codes {
            let bucket = letters(code).fold(HASH_START, hashed) as usize % CODES;
            for entry in CODE_INDEX.bucket(bucket) {
                let (wanted_space, wanted) = spaced(entry.item());
                if wanted_space == space && same_code(code, wanted) {
                    marks.set(entry.rule, List::Codes);
                }
            }
        }
        marks
    }

    /// Whether one of the rule's codes, or one of its words, occurs.
    pub(crate) fn says(&self, rule: usize) -> bool {
        self.of(rule) & (1 << List::Codes as u8 | 1 << List::Words as u8) != 0
    }

    /// Whether one of its `gate` occurs.
    pub(crate) fn opens(&self, rule: usize) -> bool {
        self.of(rule) & (1 << List::Gate as u8) != 0
    }

    /// Whether one of its `unless` occurs.
    pub(crate) fn forbids(&self, rule: usize) -> bool {
        self.of(rule) & (1 << List::Unless as u8) != 0
    }

    fn of(&self, rule: usize) -> u8 {
        self.0.get(rule).copied().unwrap_or_default()
    }

    fn set(&mut self, rule: u8, list: List) {
        if let Some(mark) = self.0.get_mut(usize::from(rule)) {
            *mark |= 1 << list as u8;
        }
    }

    fn compare(&mut self, entry: Entry, text: &str, at: usize, tried: &mut u64) {
        if self.of(usize::from(entry.rule)) & (1 << entry.list as u8) != 0 {
            return;
        }
        let pattern = entry.item();
        let found = match at.checked_sub(usize::from(entry.before)) {
            _ if entry.before >= ANYWHERE => {
                let bit = 1 << (u8::MAX - entry.before);
                let first = *tried & bit == 0;
                *tried |= bit;
                first && find(text, pattern).is_some()
            }
            None => false,
            Some(start) if entry.list == List::Codes => at_word(text, start, pattern),
            Some(start) => fits(text, start, pattern),
        };
        if found {
            self.set(entry.rule, entry.list);
        }
    }
}

/// A pattern or a code, by its place in the rules.
#[derive(Clone, Copy)]
struct Entry {
    rule: u8,
    list: List,
    item: u8,
    /// Bytes of the pattern in front of those that it is filed under; from [`ANYWHERE`] on a number of its own.
    before: u8,
}

impl Entry {
    const NONE: Self = Self { rule: 0, list: List::Codes, item: 0, before: 0 };

    const fn item(self) -> &'static str {
        list(rule(self.rule as usize), self.list)[self.item as usize]
    }
}

/// Entries in the order of their buckets.
struct Index<const BUCKETS: usize, const LEN: usize> {
    starts: [u16; BUCKETS],
    entries: [Entry; LEN],
}

impl<const BUCKETS: usize, const LEN: usize> Index<BUCKETS, LEN> {
    fn bucket(&self, bucket: usize) -> &[Entry] {
        let start = self.starts.get(bucket).copied().unwrap_or_default();
        let end = self.starts.get(bucket + 1).map_or(LEN, |end| usize::from(*end));
        self.entries.get(usize::from(start)..end).unwrap_or_default()
    }

    /// Sorts what is filed.
    const fn sorted<const ALL: usize>(filed: &[Filed; ALL], kind: Kind) -> Self {
        let mut ends = [0u16; BUCKETS];
        let mut index = 0;
        while index < ALL {
            if filed[index].kind as u8 == kind as u8 {
                ends[filed[index].bucket as usize] += 1;
            }
            index += 1;
        }
        let mut bucket = 1;
        while bucket < BUCKETS {
            ends[bucket] += ends[bucket - 1];
            bucket += 1;
        }
        // Filled from the back, the ends of the buckets become their starts.
        let mut entries = [Entry::NONE; LEN];
        while index > 0 {
            index -= 1;
            if filed[index].kind as u8 == kind as u8 {
                let bucket = filed[index].bucket as usize;
                ends[bucket] -= 1;
                entries[ends[bucket] as usize] = filed[index].entry;
            }
        }
        Self { starts: ends, entries }
    }
}

static TRIPLE_INDEX: Index<TRIPLES, { count(&FILED, Kind::Triple) }> =
    Index::sorted(&FILED, Kind::Triple);
static PAIR_INDEX: Index<PAIRS, { count(&FILED, Kind::Pair) }> = Index::sorted(&FILED, Kind::Pair);
static CODE_INDEX: Index<CODES, { count(&FILED_CODES, Kind::Code) }> =
    Index::sorted(&FILED_CODES, Kind::Code);

/// How often each three bytes occur in patterns.
const SHARED: [u16; TRIPLES] = shared();
#[expect(clippy::large_const_arrays, reason = "it exists while this is compiled, and no longer")]
const FILED: [Filed; patterns()] = filed();
const FILED_CODES: [Filed; codes()] = filed_codes();

#[derive(Clone, Copy)]
enum Kind {
    Triple,
    Pair,
    Code,
}

/// An entry and the bucket it belongs to.
#[derive(Clone, Copy)]
struct Filed {
    kind: Kind,
    bucket: u16,
    entry: Entry,
}

impl Filed {
    const NONE: Self = Self { kind: Kind::Code, bucket: 0, entry: Entry::NONE };
}

const fn triple(first: u8, second: u8, third: u8) -> usize {
    (first as usize * 961 + second as usize * 31 + third as usize) % TRIPLES
}

const fn pair(first: u8, second: u8) -> usize {
    (first as usize * 31 + second as usize) % PAIRS
}

const HASH_START: u32 = 0x811c_9dc5;

const fn hashed(hash: u32, letter: u8) -> u32 {
    (hash ^ letter as u32).wrapping_mul(0x0100_0193)
}

const fn rule(number: usize) -> &'static Rule {
    let (mut table, mut left) = (0, number);
    while left >= TABLES[table].len() {
        left -= TABLES[table].len();
        table += 1;
    }
    &TABLES[table][left]
}

const fn list(rule: &'static Rule, list: List) -> &'static [&'static str] {
    match list {
        List::Codes => rule.codes,
        List::Words => rule.words,
        List::Gate => rule.gate,
        List::Unless => rule.unless,
    }
}

/// The vendor that a code belongs to, and its number there; no vendor for all others.
pub(crate) const fn spaced(code: &'static str) -> (&'static str, &'static str) {
    const SPACES: [&str; 3] = ["minimax", "baidu", "mistral"];
    let mut index = 0;
    while index < SPACES.len() {
        let (name, rest) =
            code.split_at(if SPACES[index].len() < code.len() { SPACES[index].len() } else { 0 });
        if same(name, SPACES[index]) && rest.as_bytes()[0] == b':' {
            return (SPACES[index], rest.split_at(1).1);
        }
        index += 1;
    }
    ("", code)
}

const fn same(one: &str, other: &str) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one.as_bytes()[at] != other.as_bytes()[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// Whether a code cannot be mistaken for a word: with an underscore, or long and in camel case.
const fn stands_out(code: &str) -> bool {
    let bytes = code.as_bytes();
    let (mut underscore, mut upper, mut lower) = (false, false, false);
    let mut at = 0;
    while at < bytes.len() {
        underscore |= bytes[at] == b'_';
        upper |= at > 0 && bytes[at].is_ascii_uppercase();
        lower |= bytes[at].is_ascii_lowercase();
        at += 1;
    }
    (underscore && bytes.len() >= 9) || (bytes.len() >= 12 && upper && lower)
}

/// Walks over everything that is looked for in texts.
#[derive(Clone, Copy)]
struct Walk {
    rule: usize,
    list: List,
    item: usize,
}

impl Walk {
    const START: Self = Self { rule: 0, list: List::Codes, item: 0 };

    /// The next pattern from here on, and the walk behind it.
    const fn next(mut self) -> Option<(Entry, Self)> {
        while self.rule < RULES_MAX {
            let items = list(rule(self.rule), self.list);
            if self.item < items.len() {
                let here = self;
                self.item += 1;
                let code = matches!(here.list, List::Codes);
                if !code || stands_out(items[here.item]) && spaced(items[here.item]).0.is_empty() {
                    assert!(here.item < 256 && here.rule < 256);
                    let (rule, item) = (here.rule as u8, here.item as u8);
                    return Some((Entry { rule, list: here.list, item, before: 0 }, self));
                }
                continue;
            }
            self.item = 0;
            self.list = match self.list {
                List::Codes => List::Words,
                List::Words => List::Gate,
                List::Gate => List::Unless,
                List::Unless => {
                    self.rule += 1;
                    List::Codes
                }
            };
        }
        None
    }
}

const fn patterns() -> usize {
    let mut walk = Walk::START;
    let mut count = 0;
    while let Some((_, next)) = walk.next() {
        walk = next;
        count += 1;
    }
    count
}

const fn codes() -> usize {
    let (mut number, mut count) = (0, 0);
    while number < RULES_MAX {
        count += rule(number).codes.len();
        number += 1;
    }
    count
}

const fn count<const ALL: usize>(filed: &[Filed; ALL], kind: Kind) -> usize {
    let (mut index, mut count) = (0, 0);
    while index < ALL {
        if filed[index].kind as u8 == kind as u8 {
            count += 1;
        }
        index += 1;
    }
    count
}

/// Whether a byte of a pattern stands for itself.
const fn literal(list: List, byte: u8) -> bool {
    matches!(list, List::Codes) || !matches!(byte, b'#' | b'~')
}

/// Whether the pattern's first part ends with this byte.
const fn ends(list: List, byte: u8) -> bool {
    !matches!(list, List::Codes) && byte == b'*'
}

const fn shared() -> [u16; TRIPLES] {
    let mut counts = [0; TRIPLES];
    let mut walk = Walk::START;
    while let Some((entry, next)) = walk.next() {
        walk = next;
        let bytes = entry.item().as_bytes();
        let (mut at, mut run) = (0, 0);
        while at < bytes.len() && !ends(entry.list, bytes[at]) {
            run = if literal(entry.list, bytes[at]) { run + 1 } else { 0 };
            if run >= 3 {
                counts[lower_triple(bytes, at - 2)] += 1;
            }
            at += 1;
        }
    }
    counts
}

const fn lower_triple(bytes: &[u8], at: usize) -> usize {
    triple(
        bytes[at].to_ascii_lowercase(),
        bytes[at + 1].to_ascii_lowercase(),
        bytes[at + 2].to_ascii_lowercase(),
    )
}

const fn filed() -> [Filed; patterns()] {
    let mut all = [Filed::NONE; patterns()];
    let mut walk = Walk::START;
    let (mut index, mut anywhere) = (0, 0);
    while let Some((entry, next)) = walk.next() {
        walk = next;
        all[index] = filed_under(entry);
        if all[index].entry.before == ANYWHERE {
            all[index].entry.before = u8::MAX - anywhere;
            anywhere += 1;
            assert!(anywhere < u8::MAX - ANYWHERE);
        }
        index += 1;
    }
    all
}

/// Files a pattern under its rarest three bytes, or under its first two.
const fn filed_under(mut entry: Entry) -> Filed {
    let bytes = entry.item().as_bytes();
    let mut best: Option<(u16, usize, u8)> = None;
    let mut two: Option<(usize, u8)> = None;
    let (mut at, mut run, mut width, mut fixed) = (0, 0, 0, true);
    while at < bytes.len() && !ends(entry.list, bytes[at]) {
        if literal(entry.list, bytes[at]) {
            run += 1;
            width += 1;
        } else {
            run = 0;
            fixed = fixed && bytes[at] != b'#';
        }
        if run >= 2 && two.is_none() {
            two = Some((at - 1, if fixed { width - 2 } else { ANYWHERE }));
        }
        if run >= 3 {
            let bucket = lower_triple(bytes, at - 2);
            let before = if fixed { width - 3 } else { ANYWHERE };
            let better = match best {
                None => true,
                Some((count, _, known)) => (known == ANYWHERE || fixed) && SHARED[bucket] < count,
            };
            if better {
                best = Some((SHARED[bucket], bucket, before));
            }
        }
        at += 1;
    }
    let (kind, bucket) = match (best, two) {
        (Some((_, bucket, before)), _) => {
            entry.before = before;
            (Kind::Triple, bucket)
        }
        (None, Some((at, before))) => {
            entry.before = before;
            (Kind::Pair, pair(bytes[at].to_ascii_lowercase(), bytes[at + 1].to_ascii_lowercase()))
        }
        // A pattern of one byte would be compared everywhere; there is none.
        (None, None) => {
            assert!(bytes.is_empty(), "a pattern needs two bytes beside each other");
            (Kind::Pair, 0)
        }
    };
    assert!(entry.before <= ANYWHERE, "a pattern's first part is too long");
    Filed { kind, bucket: bucket as u16, entry }
}

const fn filed_codes() -> [Filed; codes()] {
    let mut all = [Filed::NONE; codes()];
    let (mut number, mut index) = (0, 0);
    while number < RULES_MAX {
        let mut item = 0;
        while item < rule(number).codes.len() {
            let bytes = spaced(rule(number).codes[item]).1.as_bytes();
            let (mut at, mut hash) = (0, HASH_START);
            while at < bytes.len() {
                if !matches!(bytes[at], b'_' | b'-' | b'.' | b' ') {
                    hash = hashed(hash, bytes[at].to_ascii_lowercase());
                }
                at += 1;
            }
            let entry =
                Entry { rule: number as u8, list: List::Codes, item: item as u8, before: 0 };
            all[index] = Filed { kind: Kind::Code, bucket: (hash as usize % CODES) as u16, entry };
            index += 1;
            item += 1;
        }
        number += 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::ToString;

    use super::*;
    use crate::words::normal;

    /// What the marks must be: each pattern looked for by itself.
    fn slowly(text: &str) -> [u8; RULES_MAX] {
        let mut marks = [0; RULES_MAX];
        let mut walk = Walk::START;
        while let Some((entry, next)) = walk.next() {
            walk = next;
            let found = if entry.list == List::Codes {
                (0..text.len()).any(|at| at_word(text, at, entry.item()))
            } else {
                find(text, entry.item()).is_some()
            };
            if found {
                marks[usize::from(entry.rule)] |= 1 << entry.list as u8;
            }
        }
        marks
    }

    #[test]
    fn one_pass_marks_what_a_search_for_each_pattern_finds() {
        for line in include_str!("../tests/corpus.jsonl").lines().step_by(3) {
            let text = normal(line);
            assert_eq!(Marks::read(&text, core::iter::empty()).0, slowly(&text), "{text}");
        }
    }

    #[test]
    fn every_pattern_is_found_in_a_text_made_of_it() {
        let mut walk = Walk::START;
        while let Some((entry, next)) = walk.next() {
            walk = next;
            let pattern = entry.item();
            let text = if entry.list == List::Codes {
                format!("at {pattern}.")
            } else {
                pattern.replace('*', " and ").replace('#', "1,234").replace('~', " ")
            };
            let marks = Marks::read(&normal(&text), core::iter::empty());
            let bit = 1 << entry.list as u8;
            assert!(marks.of(usize::from(entry.rule)) & bit != 0, "{pattern} in {text}");
        }
    }

    #[test]
    fn every_code_is_found_whatever_its_case_and_separators() {
        for number in 0..RULES_MAX {
            for code in rule(number).codes {
                let (space, text) = spaced(code);
                for written in [text.to_string(), text.to_uppercase(), text.replace('_', "-")] {
                    let marks = Marks::read("", core::iter::once((space, written.as_str())));
                    assert!(marks.says(number), "{code} as {written}");
                }
                let elsewhere = Marks::read("", core::iter::once(("elsewhere", text)));
                assert!(!elsewhere.says(number), "{code} of another vendor");
            }
        }
    }
}
