//! One value against one key: its type, its bounds, its form. Looks at no other value.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use jiff::tz::TimeZone;
use toml::de::{DeArray, DeInteger, DeValue};

use crate::keys::Kind;
use crate::mask;
use crate::mistake::{Found, Misfit, TextFault};
use crate::paths::unquoted;
use crate::problem::nearest;
use crate::url::BaseUrl;
use crate::value::{self, UnitError, Value};

/// The most characters of a route, an alias, and an entry of a list.
pub(crate) const ENTRY_MAX_CHARS: usize = 300;

/// Whether a text is one line that reads as it is written: no control characters, no separators of lines
/// or paragraphs, and nothing invisible.
#[must_use]
pub fn is_line(text: &str) -> bool {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    !text.contains(breaks) && hidden(text).is_none()
}

/// The first character of a text that nobody sees, and which one it is, from 1: those that turn the
/// direction of what follows (Unicode's `Bidi_Control`), those without width, fillers, tags and the soft
/// hyphen (the letters of `Default_Ignorable_Code_Point` but for variation selectors). A joiner between
/// letters or pictures that it joins is seen by what it does.
pub(crate) fn hidden(text: &str) -> Option<(usize, char)> {
    let mut before = None;
    let mut letters = text.chars().zip(1..).peekable();
    while let Some((letter, at)) = letters.next() {
        let after = letters.peek().map(|(after, _)| *after);
        let invisible = match letter {
            '\u{200c}' | '\u{200d}' => {
                ![before, after].into_iter().all(|c| c.is_some_and(is_joined))
            }
            '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e00ff}'
            | '\u{e01f0}'..='\u{e0fff}' => true,
            _ => false,
        };
        if invisible {
            return Some((at, letter));
        }
        before = Some(letter);
    }
    None
}

/// Whether joiners change how a letter is drawn: those of Arabic and of the scripts of India and its
/// neighbours, and pictures.
const fn is_joined(letter: char) -> bool {
    matches!(
        letter,
        '\u{600}'..='\u{8ff}'
            | '\u{900}'..='\u{109f}'
            | '\u{1780}'..='\u{18af}'
            | '\u{2190}'..='\u{2bff}'
            | '\u{fb50}'..='\u{fdff}'
            | '\u{fe0f}'
            | '\u{fe70}'..='\u{fefc}'
            | '\u{1f000}'..='\u{1faff}'
    )
}

/// Whether a text may be a route, an alias, or an entry of a list.
pub(crate) fn is_entry(text: &str) -> bool {
    is_line(text) && text.chars().count() <= ENTRY_MAX_CHARS
}

/// Checks a value of the file.
pub(crate) fn value(name: &'static str, kind: Kind, value: &DeValue<'_>) -> Result<Value, Misfit> {
    match (kind, value) {
        (Kind::Bool, DeValue::Boolean(on)) => Ok(Value::Bool(*on)),
        (Kind::Integer { .. }, DeValue::Integer(number)) => match whole(number) {
            Some(number) => integer(name, kind, number),
            None => Err(out_of_bounds(name, kind, number.as_str())),
        },
        // Zero is zero in every unit.
        (Kind::Span { .. } | Kind::Bytes { .. }, DeValue::Integer(number)) => match whole(number) {
            Some(0) => text(name, kind, "0"),
            Some(_) | None => Err(no_unit(name, kind, number.as_str())),
        },
        (Kind::Texts | Kind::Choices(_), DeValue::Array(array)) => texts(name, kind, array),
        (Kind::SecretPairs, DeValue::Table(table)) => {
            let mut pairs = Vec::new();
            for (key, entry) in table {
                let Some(entry) = entry.get_ref().as_str() else {
                    return Err(wrong_type(name, kind, Found::OtherTable));
                };
                header(key.get_ref(), entry)?;
                pairs.push((key.get_ref().to_string(), entry.to_owned()));
            }
            Ok(Value::Pairs(pairs))
        }
        (
            Kind::Span { .. }
            | Kind::Bytes { .. }
            | Kind::Text { .. }
            | Kind::Choice(_)
            | Kind::Secret
            | Kind::Variable
            | Kind::Path
            | Kind::Url
            | Kind::Proxy
            | Kind::Listen
            | Kind::Zone,
            DeValue::String(written),
        ) => text(name, kind, written),
        _ => Err(wrong_type(name, kind, Found::of(value))),
    }
}

/// Checks a value that is given as text: in quotes, or in an environment variable.
pub(crate) fn text(name: &'static str, kind: Kind, written: &str) -> Result<Value, Misfit> {
    match kind {
        Kind::Bool => match written {
            "true" | "1" | "on" => Ok(Value::Bool(true)),
            "false" | "0" | "off" => Ok(Value::Bool(false)),
            _ => Err(wrong_type(name, kind, Found::Text)),
        },
        Kind::Integer { .. } => match written.trim().parse() {
            Ok(number) => integer(name, kind, number),
            Err(_) => Err(out_of_bounds(name, kind, written)),
        },
        Kind::Span { min_ms, max_ms } => match value::parse_span_ms(written) {
            Ok(ms) if (min_ms..=max_ms).contains(&ms) => Ok(Value::Ms(ms)),
            Ok(_) | Err(UnitError::TooLarge) => Err(out_of_bounds(name, kind, written)),
            Err(UnitError::NoUnit) => Err(no_unit(name, kind, written)),
            Err(UnitError::Malformed) => Err(wrong_type(name, kind, Found::OtherText)),
        },
        Kind::Bytes { min, max } => match value::parse_size_bytes(written) {
            Ok(bytes) if (min..=max).contains(&bytes) => Ok(Value::Bytes(bytes)),
            Ok(_) | Err(UnitError::TooLarge) => Err(out_of_bounds(name, kind, written)),
            Err(UnitError::NoUnit) => Err(no_unit(name, kind, written)),
            Err(UnitError::Malformed) => Err(wrong_type(name, kind, Found::OtherText)),
        },
        Kind::Choice(choices) => choice(name, choices, written),
        Kind::Path => plain(name, kind, unquoted(written)),
        Kind::Text { .. } | Kind::Secret | Kind::Variable => plain(name, kind, written),
        Kind::Url => match BaseUrl::parse(written) {
            Ok(url) => Ok(Value::Text(url.as_str().to_owned())),
            Err(why) => Err(Misfit::Url { name, why }),
        },
        Kind::Proxy => match BaseUrl::parse_proxy(written) {
            Ok(url) => Ok(Value::Text(url.as_str().to_owned())),
            Err(why) => Err(Misfit::Proxy { name, why }),
        },
        Kind::Listen => listen(written).map(|address| Value::Text(address.to_string())),
        Kind::Zone => zone(written),
        Kind::Texts | Kind::Choices(_) | Kind::SecretPairs | Kind::Candidates => {
            Err(wrong_type(name, kind, Found::Text))
        }
    }
}

/// The address to listen on.
pub(crate) fn listen(written: &str) -> Result<SocketAddr, Misfit> {
    let address = match written.trim().strip_prefix("localhost:") {
        Some(port) => port.parse().ok().map(|port| (IpAddr::V4(Ipv4Addr::LOCALHOST), port).into()),
        None => written.trim().parse::<SocketAddr>().ok(),
    };
    address.ok_or_else(|| Misfit::Listen { written: mask::shown(written).to_owned() })
}

fn whole(number: &DeInteger<'_>) -> Option<u64> {
    u64::from_str_radix(number.as_str(), number.radix()).ok()
}

fn integer(name: &'static str, kind: Kind, number: u64) -> Result<Value, Misfit> {
    if let Kind::Integer { min, max } = kind
        && (min..=max).contains(&number)
    {
        return Ok(Value::Integer(number));
    }
    Err(out_of_bounds(name, kind, &number.to_string()))
}

fn plain(name: &'static str, kind: Kind, written: &str) -> Result<Value, Misfit> {
    let max_chars = if let Kind::Text { max_chars } = kind { max_chars } else { 10_000 };
    let fits = !written.trim().is_empty() && written.chars().count() <= max_chars;
    let named = kind != Kind::Variable
        || written.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !mask::looks_secret(written);
    // What is sent to a model may have lines, and whatever people write.
    let of_line = matches!(kind, Kind::Text { .. }) && name != "continue_text";
    if of_line && fits {
        unhidden(name, written)?;
    }
    let line = !of_line || is_line(written);
    let sendable = kind != Kind::Secret || written.chars().all(|c| c.is_ascii_graphic());
    if fits && named && sendable && line {
        return Ok(Value::Text(written.to_owned()));
    }
    let fault = if !fits {
        TextFault::Length
    } else if !line {
        TextFault::NoLine
    } else if kind == Kind::Variable {
        TextFault::NoVariable
    } else {
        TextFault::NoKey
    };
    Err(Misfit::Text { name, kind, fault })
}

/// That everybody sees all of a text.
pub(crate) fn unhidden(name: &'static str, written: &str) -> Result<(), Misfit> {
    let found = hidden(written);
    found.map_or(Ok(()), |(at, letter)| Err(Misfit::Hidden { name, letter, at }))
}

fn choice(
    name: &'static str,
    choices: &'static [&'static str],
    written: &str,
) -> Result<Value, Misfit> {
    if choices.contains(&written) {
        return Ok(Value::Text(written.to_owned()));
    }
    let near = nearest(written, choices.iter().copied()).map(str::to_owned);
    Err(Misfit::UnknownChoice { name, choices, written: mask::shown(written).to_owned(), near })
}

fn texts(name: &'static str, kind: Kind, array: &DeArray<'_>) -> Result<Value, Misfit> {
    let mut list = Vec::new();
    for entry in array.iter() {
        let Some(entry) = entry.get_ref().as_str() else {
            return Err(wrong_type(name, kind, Found::OtherList));
        };
        if let Kind::Choices(choices) = kind {
            choice(name, choices, entry)?;
        }
        if entry.trim().is_empty() || list.iter().any(|other| other == entry) {
            return Err(Misfit::EmptyOrTwice { name, kind });
        }
        unhidden(name, entry)?;
        if !is_entry(entry) {
            return Err(Misfit::Entry { name, written: mask::shown(entry).to_owned() });
        }
        entry_form(name, entry)?;
        list.push(entry.to_owned());
    }
    Ok(Value::Texts(list))
}

/// What two lists ask of their entries beyond being texts.
fn entry_form(name: &'static str, entry: &str) -> Result<(), Misfit> {
    let origin = entry.split_once("://").is_some_and(|(scheme, host)| {
        !scheme.is_empty() && !host.is_empty() && !host.contains(['/', '*', ' ', '?', '#', '@'])
    });
    if name == "allowed_origins" && !origin {
        return Err(Misfit::Origin { written: mask::shown(entry).to_owned() });
    }
    let vital = ["model", "messages", "input", "stream"].contains(&entry);
    if name == "drop_fields" && vital {
        return Err(Misfit::VitalField { field: entry.to_owned() });
    }
    Ok(())
}

fn header(name: &str, value: &str) -> Result<(), Misfit> {
    let known = http::HeaderName::from_bytes(name.as_bytes()).is_ok();
    let sendable = http::HeaderValue::from_str(value).is_ok();
    // These carry the connection or the credential, and are written by the gateway itself.
    const OWN: [&str; 8] = [
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
        "content-type",
        "te",
        "upgrade",
        "accept-encoding",
    ];
    let own = OWN.iter().any(|own| own.eq_ignore_ascii_case(name));
    if known && sendable && !own {
        return Ok(());
    }
    let name = mask::shown(name).to_owned();
    Err(if own { Misfit::OwnHeader { name } } else { Misfit::Header { name } })
}

fn zone(written: &str) -> Result<Value, Misfit> {
    if TimeZone::get(written).is_ok() {
        return Ok(Value::Text(written.to_owned()));
    }
    let names: Vec<String> = jiff::tz::db().available().map(|name| name.to_string()).collect();
    let near = nearest(written, names.iter().map(String::as_str));
    let near = near.map(str::to_owned);
    Err(Misfit::Zone { written: mask::shown(written).to_owned(), near })
}

const fn wrong_type(name: &'static str, kind: Kind, found: Found) -> Misfit {
    Misfit::WrongType { name, kind, found }
}

fn out_of_bounds(name: &'static str, kind: Kind, written: &str) -> Misfit {
    Misfit::OutOfBounds { name, kind, written: mask::shown(written).to_owned() }
}

fn no_unit(name: &'static str, kind: Kind, written: &str) -> Misfit {
    Misfit::NoUnit { name, kind, written: written.to_owned() }
}
