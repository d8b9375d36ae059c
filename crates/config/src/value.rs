//! One value as the file or the environment gives it. Refuses numbers without a unit where a
//! unit is meant: `idle_timeout = 120` could be seconds or milliseconds, `"120s"` cannot.
//!
//! Spans and sizes are written as text with their unit, in the file and in variables alike. The
//! other way, a unit in the key's name (`idle_timeout_ms`), was not taken: the rules and the page
//! name the keys without units, and a limit of an hour would have to be written as 3600000.

use std::fmt;

/// A checked value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// On or off.
    Bool(bool),
    /// A count.
    Integer(u64),
    /// A span, in milliseconds.
    Ms(u64),
    /// A size, in bytes.
    Bytes(u64),
    /// Text.
    Text(String),
    /// Several texts.
    Texts(Vec<String>),
    /// Names with texts.
    Pairs(Vec<(String, String)>),
}

/// Why a text is no span or no size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnitError {
    /// A number alone.
    NoUnit,
    /// Not a number with a known unit.
    Malformed,
    /// More than 64 bits can count.
    TooLarge,
}

const SPANS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
const SIZES: [(&str, u64); 7] = [
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

/// Milliseconds of a span such as `250ms`, `45s`, `2m`, `1h` or `1h30m`; `0` needs no unit.
///
/// # Errors
///
/// When the unit is missing or unknown, or the span is too large to count.
pub fn parse_span_ms(text: &str) -> Result<u64, UnitError> {
    parse_units(text, &SPANS)
}

/// Bytes of a size such as `512MiB` (1024 × 1024) or `8MB` (1000 × 1000); `0` needs no unit.
///
/// # Errors
///
/// When the unit is missing or unknown, or the size is too large to count.
pub fn parse_size_bytes(text: &str) -> Result<u64, UnitError> {
    parse_units(text, &SIZES)
}

/// A span as the file would write it.
#[must_use]
pub fn show_span_ms(ms: u64) -> String {
    show_units(ms, &SPANS[..4])
}

/// A size as the file would write it.
#[must_use]
pub fn show_size_bytes(bytes: u64) -> String {
    let binary = show_units(bytes, &[SIZES[0], SIZES[4], SIZES[5], SIZES[6]]);
    let decimal = show_units(bytes, &SIZES[..4]);
    if decimal.len() < binary.len() { decimal } else { binary }
}

fn parse_units(text: &str, units: &[(&str, u64)]) -> Result<u64, UnitError> {
    let mut rest = text.trim();
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(UnitError::Malformed);
    }
    let mut total = 0u64;
    let mut last_factor = u64::MAX;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or(UnitError::NoUnit)?;
        let number: u64 = match rest[..digits].parse() {
            Ok(number) => number,
            Err(_) if digits == 0 => return Err(UnitError::Malformed),
            Err(_) => return Err(UnitError::TooLarge),
        };
        rest = rest[digits..].trim_start();
        let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit = &rest[..end];
        let (_, factor) = units
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(unit))
            .ok_or(UnitError::Malformed)?;
        // `1h30m` is a span, `30m1h` and `1s2s` are slips of the pen.
        if *factor >= last_factor {
            return Err(UnitError::Malformed);
        }
        last_factor = *factor;
        total = number
            .checked_mul(*factor)
            .and_then(|part| total.checked_add(part))
            .ok_or(UnitError::TooLarge)?;
        rest = rest[end..].trim_start();
    }
    Ok(total)
}

fn show_units(count: u64, units: &[(&str, u64)]) -> String {
    if count == 0 {
        return "0".to_owned();
    }
    let fitting = units.iter().rev().find(|(_, factor)| count.is_multiple_of(*factor));
    match fitting {
        Some((name, factor)) => format!("{}{name}", count / factor),
        None => count.to_string(),
    }
}

/// Text between TOML quotes.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

impl fmt::Display for Value {
    /// As TOML.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(on) => write!(f, "{on}"),
            Self::Integer(count) => write!(f, "{count}"),
            Self::Ms(0) | Self::Bytes(0) => f.write_str("0"),
            Self::Ms(ms) => f.write_str(&quoted(&show_span_ms(*ms))),
            Self::Bytes(bytes) => f.write_str(&quoted(&show_size_bytes(*bytes))),
            Self::Text(text) => f.write_str(&quoted(text)),
            Self::Texts(texts) => {
                let parts: Vec<_> = texts.iter().map(|text| quoted(text)).collect();
                write!(f, "[{}]", parts.join(", "))
            }
            Self::Pairs(pairs) => {
                let parts: Vec<_> = pairs
                    .iter()
                    .map(|(name, text)| format!("{} = {}", quoted(name), quoted(text)))
                    .collect();
                if parts.is_empty() {
                    return f.write_str("{}");
                }
                write!(f, "{{ {} }}", parts.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_sizes_are_read_with_their_unit_and_shown_as_they_would_be_written() {
        let spans = [("250ms", 250), ("45s", 45_000), ("2m", 120_000), ("1h", 3_600_000)];
        for (text, ms) in spans {
            assert_eq!(parse_span_ms(text), Ok(ms));
            assert_eq!(show_span_ms(ms), text);
        }
        assert_eq!(parse_span_ms("1h30m"), Ok(5_400_000));
        assert_eq!(show_span_ms(90_000), "90s");
        assert_eq!(parse_span_ms("0"), Ok(0));
        assert_eq!(parse_size_bytes("512MiB"), Ok(512 << 20));
        assert_eq!(parse_size_bytes("8mb"), Ok(8_000_000));
        assert_eq!(show_size_bytes(512 << 20), "512MiB");
        assert_eq!(show_size_bytes(8_000_000), "8MB");
        assert_eq!(show_size_bytes(256 << 10), "256KiB");
    }

    #[test]
    fn a_number_without_a_unit_and_a_unit_twice_are_refused() {
        assert_eq!(parse_span_ms("120"), Err(UnitError::NoUnit));
        for text in ["", "s", "1x", "-1s", "1.5s", "30m1h", "1s1s", "1h 5"] {
            assert!(parse_span_ms(text).is_err(), "{text}");
        }
        assert_eq!(parse_span_ms("99999999999999999999s"), Err(UnitError::TooLarge));
        assert_eq!(parse_span_ms("9999999999999999999h"), Err(UnitError::TooLarge));
    }

    #[test]
    fn texts_are_quoted_as_toml() {
        let value = Value::Texts(vec!["a\"b\\c".to_owned(), "继续\n".to_owned()]);
        assert_eq!(value.to_string(), r#"["a\"b\\c", "继续\n"]"#);
    }
}
