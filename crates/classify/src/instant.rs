//! Reading instants and spans out of text.
//!
//! It refuses to look for them: it reads what stands at the very start of the text it is given, and says how much
//! of it was taken. Where to look is [`crate::prose`]'s business.

use alloc::string::ToString;

use crate::civil::{Civil, CivilDate, Zone, days, month};

/// A time as it was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Instant {
    /// Unix milliseconds.
    At(u64),
    Civil(Civil),
}

/// A cursor over lower-case text.
#[derive(Clone, Copy)]
struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn eat(&mut self, word: &str) -> bool {
        let found = self.rest().starts_with(word);
        if found {
            self.at += word.len();
        }
        found
    }

    fn eat_any(&mut self, words: &[&str]) -> bool {
        words.iter().any(|word| self.eat(word))
    }

    fn spaces(&mut self) {
        while self.eat(" ") {}
    }

    /// A number of `least` to `most` digits.
    fn digits(&mut self, least: usize, most: usize) -> Option<u64> {
        let len = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        if len < least || len > most {
            return None;
        }
        let value = self.rest().get(..len)?.parse().ok()?;
        self.at += len;
        Some(value)
    }

    fn small(&mut self, least: usize, most: usize, max: u64) -> Option<u8> {
        self.digits(least, most)
            .filter(|value| *value <= max)
            .and_then(|value| u8::try_from(value).ok())
    }

    fn word(&mut self) -> &'a str {
        let len =
            self.rest().find(|letter: char| !letter.is_alphabetic()).unwrap_or(self.rest().len());
        let word = self.rest().get(..len).unwrap_or_default();
        self.at += len;
        word
    }
}

/// Units of spans with their length in milliseconds; longer spellings first.
const UNITS: [(&str, u64); 41] = [
    ("milliseconds", 1),
    ("millisecond", 1),
    ("millis", 1),
    ("msec", 1),
    ("毫秒", 1),
    ("ms", 1),
    ("seconds", 1_000),
    ("second", 1_000),
    ("secs", 1_000),
    ("sec", 1_000),
    ("秒钟", 1_000),
    ("秒", 1_000),
    ("minutes", 60_000),
    ("minute", 60_000),
    ("mins", 60_000),
    ("min", 60_000),
    ("分钟", 60_000),
    ("分", 60_000),
    ("hours", 3_600_000),
    ("hour", 3_600_000),
    ("hrs", 3_600_000),
    ("hr", 3_600_000),
    ("个小时", 3_600_000),
    ("小时", 3_600_000),
    ("时", 3_600_000),
    ("days", 86_400_000),
    ("day", 86_400_000),
    ("天", 86_400_000),
    ("日", 86_400_000),
    ("weeks", 604_800_000),
    ("week", 604_800_000),
    ("个星期", 604_800_000),
    ("周", 604_800_000),
    ("segundos", 1_000),
    ("minutos", 60_000),
    ("horas", 3_600_000),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
    ("w", 604_800_000),
];

/// A span such as `6m0s`, `1.5 seconds`, `5 days 22 hours and 11 minutes`, `3 分钟`: milliseconds (rounded up) and bytes taken.
pub(crate) fn span(text: &str) -> Option<(u64, usize)> {
    let mut cursor = Cursor::new(text);
    let mut total = 0u64;
    let mut end = 0;
    while let Some((whole, nanos)) = decimal(&mut cursor) {
        cursor.spaces();
        let Some(unit_ms) = unit(&mut cursor) else { break };
        let part = whole
            .saturating_mul(unit_ms)
            .saturating_add((nanos * u128::from(unit_ms)).div_ceil(1_000_000_000) as u64);
        total = total.saturating_add(part);
        end = cursor.at;
        cursor.spaces();
        let _ = cursor.eat(",");
        cursor.spaces();
        if cursor.eat("and ") || cursor.eat("y ") {
            cursor.spaces();
        }
    }
    (end > 0).then_some((total, end))
}

fn unit(cursor: &mut Cursor<'_>) -> Option<u64> {
    for (name, ms) in UNITS {
        if cursor.rest().starts_with(name) {
            let after = cursor.rest().get(name.len()..).and_then(|rest| rest.chars().next());
            if name.is_ascii()
                && after.is_some_and(|letter| letter.is_ascii_alphabetic() || letter == '_')
            {
                continue;
            }
            cursor.at += name.len();
            return Some(ms);
        }
    }
    None
}

/// A decimal number as whole part and billionths.
fn decimal(cursor: &mut Cursor<'_>) -> Option<(u64, u128)> {
    let whole = cursor.digits(1, 12)?;
    let mut nanos = 0u128;
    let save = cursor.at;
    if cursor.eat(".") {
        let len = cursor.rest().bytes().take_while(u8::is_ascii_digit).count();
        if len == 0 {
            cursor.at = save;
        } else {
            let mut scale = 100_000_000u128;
            for byte in cursor.rest().bytes().take(len.min(9)) {
                nanos += u128::from(byte - b'0') * scale;
                scale /= 10;
            }
            cursor.at += len;
        }
    }
    Some((whole, nanos))
}

/// A bare number of seconds, decimals allowed: milliseconds (rounded up) and bytes taken.
pub(crate) fn seconds(text: &str) -> Option<(u64, usize)> {
    let mut cursor = Cursor::new(text);
    let (whole, nanos) = decimal(&mut cursor)?;
    let ms = whole.saturating_mul(1_000).saturating_add(nanos.div_ceil(1_000_000) as u64);
    Some((ms, cursor.at))
}

/// Unix seconds (10 digits) or milliseconds (13), as milliseconds.
pub(crate) fn epoch(text: &str) -> Option<(u64, usize)> {
    let mut cursor = Cursor::new(text);
    let value = cursor.digits(10, 13)?;
    let at = cursor.at;
    match at {
        10 => {
            let (ms, len) = seconds(text)?;
            Some((ms, len))
        }
        13 => Some((value, at)),
        _ => None,
    }
}

/// `[d.]hh:mm:ss` as a span, the notation of .NET gateways.
pub(crate) fn clock_span(text: &str) -> Option<(u64, usize)> {
    let mut cursor = Cursor::new(text);
    let mut hours = cursor.digits(1, 3)?;
    let mut days = 0;
    if cursor.eat(".") {
        days = hours;
        hours = cursor.digits(2, 2)?;
    }
    if !cursor.eat(":") {
        return None;
    }
    let minutes = cursor.digits(2, 2)?;
    if !cursor.eat(":") {
        return None;
    }
    let seconds = cursor.digits(2, 2)?;
    Some(((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000, cursor.at))
}

/// Any instant that the text (in lower case, but for its zone's name, which is read from `original`) begins with.
///
/// `original` is the same text before it was lowered, byte for byte.
pub(crate) fn instant(text: &str, original: &str) -> Option<(Instant, usize)> {
    if let Some((ms, len)) = epoch(text) {
        return Some((Instant::At(ms), len));
    }
    let mut cursor = Cursor::new(text);
    let _ = weekday(&mut cursor);
    let start = cursor;
    let dated = iso_date(&mut cursor)
        .or_else(|| again(&mut cursor, start, chinese_date))
        .or_else(|| again(&mut cursor, start, month_first))
        .or_else(|| again(&mut cursor, start, day_first))
        .or_else(|| again(&mut cursor, start, american_date));
    if dated.is_none() {
        cursor = start;
    }
    let date_end = cursor.at;
    if dated.is_some() {
        joint(&mut cursor);
    }
    let clock = clock(&mut cursor);
    if clock.is_none() {
        if dated.is_none_or(|date| date.year.is_none()) {
            return None;
        }
        cursor.at = date_end;
    }
    let (hour, minute, second) = clock.unwrap_or((0, 0, 0));
    let zone = zone(&mut cursor, original);
    // Without a date, a zone or a colon, a number is no time of day; `clock` has seen to that.
    let civil = Civil { date: dated, hour, minute, second, zone };
    let at = match (&civil.zone, civil.date) {
        (Zone::Fixed(_), Some(CivilDate { year: Some(_), .. })) => civil.resolve_fixed(0),
        _ => None,
    };
    Some((at.map_or(Instant::Civil(civil), Instant::At), cursor.at))
}

fn again<'a, T>(
    cursor: &mut Cursor<'a>,
    start: Cursor<'a>,
    read: fn(&mut Cursor<'a>) -> Option<T>,
) -> Option<T> {
    *cursor = start;
    read(cursor)
}

fn weekday(cursor: &mut Cursor<'_>) -> Option<()> {
    let start = *cursor;
    let word = cursor.word();
    let known = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let spelt = word.len() == 3 || (word.len() > 3 && word.ends_with("day"));
    if spelt && known.iter().any(|day| word.starts_with(day)) {
        let _ = cursor.eat(",");
        cursor.spaces();
        return Some(());
    }
    *cursor = start;
    None
}

fn joint(cursor: &mut Cursor<'_>) {
    let _ = cursor.eat(",");
    if !cursor.eat("t") {
        cursor.spaces();
        let _ = cursor.eat_any(&["at ", "um ", "a las ", "alle "]);
        cursor.spaces();
    }
}

fn checked(year: Option<u64>, month: u8, day: u8) -> Option<CivilDate> {
    let year = match year {
        Some(year) => Some(i32::try_from(year).ok().filter(|year| (1970..=9999).contains(year))?),
        None => None,
    };
    days(year.unwrap_or(2_000), month, day)?;
    Some(CivilDate { year, month, day })
}

/// `2026-03-09`, `2026/3/9`
fn iso_date(cursor: &mut Cursor<'_>) -> Option<CivilDate> {
    let year = cursor.digits(4, 4)?;
    let sign = if cursor.eat("-") {
        "-"
    } else if cursor.eat("/") {
        "/"
    } else {
        return None;
    };
    let month = cursor.small(1, 2, 12)?;
    if !cursor.eat(sign) {
        return None;
    }
    let day = cursor.small(1, 2, 31)?;
    checked(Some(year), month, day)
}

/// `2026年3月9日`, `3月9日`
fn chinese_date(cursor: &mut Cursor<'_>) -> Option<CivilDate> {
    let mut number = cursor.digits(1, 4)?;
    let mut year = None;
    cursor.spaces();
    if cursor.eat("年") {
        year = Some(number);
        cursor.spaces();
        number = cursor.digits(1, 2)?;
        cursor.spaces();
    }
    if !cursor.eat("月") {
        return None;
    }
    cursor.spaces();
    let day = cursor.small(1, 2, 31)?;
    cursor.spaces();
    if !cursor.eat_any(&["日", "号"]) {
        return None;
    }
    checked(year, u8::try_from(number).ok()?, day)
}

/// `July 3, 2026`, `Jan 18`, `Sep 4th 2025`
fn month_first(cursor: &mut Cursor<'_>) -> Option<CivilDate> {
    let month = month(cursor.word())?;
    let _ = cursor.eat(".");
    cursor.spaces();
    let day = cursor.small(1, 2, 31)?;
    let _ = cursor.eat_any(&["st", "nd", "rd", "th"]);
    let save = *cursor;
    let _ = cursor.eat(",");
    cursor.spaces();
    let year = cursor.digits(4, 4).filter(|_| !cursor.rest().starts_with(':'));
    if year.is_none() {
        *cursor = save;
    }
    checked(year, month, day)
}

/// `3 July 2026`, `10 de jul. de 2026`, `12 May 2025`
fn day_first(cursor: &mut Cursor<'_>) -> Option<CivilDate> {
    let day = cursor.small(1, 2, 31)?;
    let _ = cursor.eat_any(&["st", "nd", "rd", "th", "."]);
    let _ = cursor.eat("-");
    cursor.spaces();
    let _ = cursor.eat("de ");
    let month = month(cursor.word())?;
    let _ = cursor.eat(".");
    let save = *cursor;
    let _ = cursor.eat_any(&[",", "-"]);
    cursor.spaces();
    let _ = cursor.eat("de ");
    let year = cursor.digits(4, 4).filter(|_| !cursor.rest().starts_with(':'));
    if year.is_none() {
        *cursor = save;
    }
    checked(year, month, day)
}

/// `1/15/2026`, and `15/1/2026` where only that can be meant.
fn american_date(cursor: &mut Cursor<'_>) -> Option<CivilDate> {
    let first = cursor.small(1, 2, 31)?;
    if !cursor.eat("/") {
        return None;
    }
    let second = cursor.small(1, 2, 31)?;
    if !cursor.eat("/") {
        return None;
    }
    let year = cursor.digits(4, 4)?;
    let (month, day) = if first > 12 { (second, first) } else { (first, second) };
    checked(Some(year), month, day)
}

/// `14:20:11`, `2:45 PM`, `1pm`; a lone number is none.
fn clock(cursor: &mut Cursor<'_>) -> Option<(u8, u8, u8)> {
    let save = *cursor;
    let read = clock_parts(cursor);
    if read.is_none() {
        *cursor = save;
    }
    read
}

fn clock_parts(cursor: &mut Cursor<'_>) -> Option<(u8, u8, u8)> {
    for (word, hour) in [("midnight", 0), ("noon", 12)] {
        if cursor.eat(word) {
            return Some((hour, 0, 0));
        }
    }
    let mut hour = cursor.small(1, 2, 24)?;
    let mut minute = 0;
    let mut second = 0;
    let mut marked = cursor.eat(":");
    if marked {
        minute = cursor.small(2, 2, 59)?;
        if cursor.eat(":") {
            second = cursor.small(2, 2, 60)?.min(59);
            if cursor.eat_any(&[".", ","]) {
                let _ = cursor.digits(1, 12);
            }
        }
    } else if cursor.eat("点") {
        marked = true;
        minute = cursor.small(1, 2, 59).unwrap_or(0);
        let _ = cursor.eat_any(&["分", "整"]);
    }
    let save = *cursor;
    cursor.spaces();
    let noon = if cursor.eat_any(&["am", "a.m."]) {
        Some(0)
    } else if cursor.eat_any(&["pm", "p.m."]) {
        Some(12)
    } else {
        *cursor = save;
        None
    };
    match noon {
        Some(add) if (1..=12).contains(&hour) => hour = hour % 12 + add,
        Some(_) => return None,
        None if !marked => return None,
        None => {}
    }
    (hour < 24)
        .then_some((hour, minute, second))
        .or((hour == 24 && minute == 0).then_some((0, 0, 0)))
}

/// Abbreviations with one meaning, in seconds east of UTC; `cst` has two and is not here.
const LETTERS: [(&str, i32); 10] = [
    ("utc", 0),
    ("gmt", 0),
    ("pst", -28_800),
    ("pdt", -25_200),
    ("est", -18_000),
    ("edt", -14_400),
    ("jst", 32_400),
    ("北京时间", 28_800),
    ("beijing time", 28_800),
    ("cet", 3_600),
];

fn zone(cursor: &mut Cursor<'_>, original: &str) -> Zone {
    if cursor.eat("z") {
        return Zone::Fixed(0);
    }
    let save = *cursor;
    cursor.spaces();
    let bracket = cursor.eat_any(&["(", "（", "["]);
    for (letters, offset_s) in LETTERS {
        if cursor.eat(letters) {
            let base = offset_s + offset(cursor).unwrap_or(0);
            if bracket {
                let _ = cursor.eat_any(&[")", "）", "]"]);
            }
            return Zone::Fixed(base);
        }
    }
    if let Some(offset_s) = offset(cursor) {
        return Zone::Fixed(offset_s);
    }
    let name_len = cursor
        .rest()
        .find(|letter: char| {
            !(letter.is_ascii_alphanumeric() || matches!(letter, '/' | '_' | '+' | '-'))
        })
        .unwrap_or(cursor.rest().len());
    let name = original.get(cursor.at..cursor.at + name_len).unwrap_or_default();
    let is_name = name.split_once('/').is_some_and(|(region, city)| {
        region.starts_with(|letter: char| letter.is_ascii_uppercase()) && !city.is_empty()
    });
    if is_name {
        cursor.at += name_len;
        if bracket {
            let _ = cursor.eat_any(&[")", "）", "]"]);
        }
        return Zone::Named(name.to_string());
    }
    *cursor = save;
    Zone::Unknown
}

/// `+0800`, `+08:00`, `-7`
fn offset(cursor: &mut Cursor<'_>) -> Option<i32> {
    let save = *cursor;
    let sign = if cursor.eat("+") {
        1
    } else if cursor.eat("-") {
        -1
    } else {
        return None;
    };
    let len = cursor.rest().bytes().take_while(u8::is_ascii_digit).count();
    let read = match len {
        1 | 2 => cursor.digits(1, 2).map(|hours| {
            let minutes = if cursor.eat(":") { cursor.digits(2, 2).unwrap_or(0) } else { 0 };
            hours * 60 + minutes
        }),
        4 => cursor.digits(4, 4).map(|both| both / 100 * 60 + both % 100),
        _ => None,
    };
    match read.filter(|minutes| *minutes <= 18 * 60).and_then(|minutes| i32::try_from(minutes).ok())
    {
        Some(minutes) => Some(sign * minutes * 60),
        None => {
            *cursor = save;
            None
        }
    }
}

/// An HTTP date (`Mon, 12 May 2025 11:11:55 GMT`) as Unix milliseconds.
pub(crate) fn http_date(text: &str) -> Option<u64> {
    let lower = text.trim().to_ascii_lowercase();
    match instant(&lower, text.trim())?.0 {
        Instant::At(ms) => Some(ms),
        Instant::Civil(civil) => match civil.date {
            Some(CivilDate { year: Some(_), .. }) => civil.resolve_at_offset(0, 0),
            Some(_) | None => None,
        },
    }
}
