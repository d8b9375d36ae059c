//! One value against one key: its type, its bounds, its form. Looks at no other value.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use jiff::tz::TimeZone;
use toml::de::{DeArray, DeInteger, DeValue};

use crate::keys::Kind;
use crate::mask;
use crate::problem::nearest;
use crate::url::{BaseUrl, UrlError};
use crate::value::{self, UnitError, Value};

/// Why a value does not fit, and what to write.
pub(crate) struct Misfit {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Misfit {
    fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: Some(hint.into()) }
    }
}

/// The most characters of a route, an alias, and an entry of a list.
pub(crate) const ENTRY_MAX_CHARS: usize = 300;

/// Whether a text is one line that reads as it is written: no control characters, no separators of lines
/// or paragraphs, and none of those that turn the direction of what follows (Unicode's property
/// `Bidi_Control`).
#[must_use]
pub fn is_line(text: &str) -> bool {
    !text.chars().any(|c| {
        c.is_control()
            || matches!(
                c,
                '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            )
    })
}

/// Whether a text may be a route, an alias, or an entry of a list.
pub(crate) fn is_entry(text: &str) -> bool {
    is_line(text) && text.chars().count() <= ENTRY_MAX_CHARS
}

/// Checks a value of the file.
pub(crate) fn value(name: &str, kind: Kind, value: &DeValue<'_>) -> Result<Value, Misfit> {
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
                    return Err(wrong_type(name, kind, "a table with other values than texts"));
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
        _ => Err(wrong_type(name, kind, value.type_str())),
    }
}

/// Checks a value that is given as text: in quotes, or in an environment variable.
pub(crate) fn text(name: &str, kind: Kind, written: &str) -> Result<Value, Misfit> {
    match kind {
        Kind::Bool => match written {
            "true" | "1" | "on" => Ok(Value::Bool(true)),
            "false" | "0" | "off" => Ok(Value::Bool(false)),
            _ => Err(wrong_type(name, kind, "text")),
        },
        Kind::Integer { .. } => match written.trim().parse() {
            Ok(number) => integer(name, kind, number),
            Err(_) => Err(out_of_bounds(name, kind, written)),
        },
        Kind::Span { min_ms, max_ms } => match value::parse_span_ms(written) {
            Ok(ms) if (min_ms..=max_ms).contains(&ms) => Ok(Value::Ms(ms)),
            Ok(_) | Err(UnitError::TooLarge) => Err(out_of_bounds(name, kind, written)),
            Err(UnitError::NoUnit) => Err(no_unit(name, kind, written)),
            Err(UnitError::Malformed) => Err(wrong_type(name, kind, "another text")),
        },
        Kind::Bytes { min, max } => match value::parse_size_bytes(written) {
            Ok(bytes) if (min..=max).contains(&bytes) => Ok(Value::Bytes(bytes)),
            Ok(_) | Err(UnitError::TooLarge) => Err(out_of_bounds(name, kind, written)),
            Err(UnitError::NoUnit) => Err(no_unit(name, kind, written)),
            Err(UnitError::Malformed) => Err(wrong_type(name, kind, "another text")),
        },
        Kind::Choice(choices) => choice(name, choices, written),
        Kind::Text { .. } | Kind::Secret | Kind::Path | Kind::Variable => {
            plain(name, kind, written)
        }
        Kind::Url => match BaseUrl::parse(written) {
            Ok(url) => Ok(Value::Text(url.as_str().to_owned())),
            Err(error) => Err(url_misfit(name, error)),
        },
        Kind::Proxy => match BaseUrl::parse_proxy(written) {
            Ok(url) => Ok(Value::Text(url.as_str().to_owned())),
            Err(UrlError::Credential) => Err(Misfit::new(
                format!("`{name}`: {}", UrlError::Credential),
                "name a proxy with a password in the variable HTTPS_PROXY instead of this file",
            )),
            Err(error) => Err(Misfit::new(
                format!("`{name}`: {error}"),
                format!("`{name}` is {}", expectation(kind)),
            )),
        },
        Kind::Listen => listen(written).map(|address| Value::Text(address.to_string())),
        Kind::Zone => zone(written),
        Kind::Texts | Kind::Choices(_) | Kind::SecretPairs | Kind::Candidates => {
            Err(wrong_type(name, kind, "text"))
        }
    }
}

/// What a key takes, in words.
pub(crate) fn expectation(kind: Kind) -> String {
    match kind {
        Kind::Bool => "`true` or `false`".to_owned(),
        Kind::Integer { min, max } => format!("a whole number from {min} to {max}"),
        Kind::Span { min_ms, max_ms } => format!(
            "a span with its unit, such as \"250ms\", \"45s\", \"2m\" or \"1h\", from {} to {}",
            value::show_span_ms(min_ms),
            value::show_span_ms(max_ms)
        ),
        Kind::Bytes { min, max } => format!(
            "a size with its unit, such as \"64KiB\" or \"8MB\", from {} to {}",
            value::show_size_bytes(min),
            value::show_size_bytes(max)
        ),
        Kind::Text { max_chars } => format!("text of 1 to {max_chars} characters"),
        Kind::Choice(choices) => format!("one of {}", listed(choices)),
        Kind::Choices(choices) => format!("a list of some of {}", listed(choices)),
        Kind::Texts => "a list of texts, such as [\"a\", \"b\"]".to_owned(),
        Kind::SecretPairs => "a table of texts, such as { \"x-team\" = \"a\" }".to_owned(),
        Kind::Secret => "a key, as text".to_owned(),
        Kind::Variable => "the name of an environment variable, such as \"MY_KEY\"".to_owned(),
        Kind::Path => "a path, as text".to_owned(),
        Kind::Url => "a URL, such as \"https://api.example.com/v1\"".to_owned(),
        Kind::Proxy => {
            "a proxy, such as \"http://127.0.0.1:3128\" or \"socks5://127.0.0.1:1080\"".to_owned()
        }
        Kind::Listen => "an address with a port, such as \"127.0.0.1:8787\"".to_owned(),
        Kind::Zone => "the name of a time zone, such as \"Asia/Shanghai\"".to_owned(),
        Kind::Candidates => {
            "a list such as [\"provider/model\", { route = \"provider/model\", max_sessions = 2 }]"
                .to_owned()
        }
    }
}

/// The address to listen on.
pub(crate) fn listen(written: &str) -> Result<SocketAddr, Misfit> {
    let address = match written.trim().strip_prefix("localhost:") {
        Some(port) => port.parse().ok().map(|port| (IpAddr::V4(Ipv4Addr::LOCALHOST), port).into()),
        None => written.trim().parse::<SocketAddr>().ok(),
    };
    let Some(address) = address else {
        return Err(Misfit::new(
            format!("`listen` is no address with a port: {}", mask::shown(written)),
            "write \"127.0.0.1:8787\"",
        ));
    };
    Ok(address)
}

fn listed(choices: &[&str]) -> String {
    let quoted: Vec<_> = choices.iter().map(|choice| format!("\"{choice}\"")).collect();
    quoted.join(", ")
}

fn whole(number: &DeInteger<'_>) -> Option<u64> {
    u64::from_str_radix(number.as_str(), number.radix()).ok()
}

fn integer(name: &str, kind: Kind, number: u64) -> Result<Value, Misfit> {
    if let Kind::Integer { min, max } = kind
        && (min..=max).contains(&number)
    {
        return Ok(Value::Integer(number));
    }
    Err(out_of_bounds(name, kind, &number.to_string()))
}

fn plain(name: &str, kind: Kind, written: &str) -> Result<Value, Misfit> {
    let max_chars = if let Kind::Text { max_chars } = kind { max_chars } else { 10_000 };
    let fits = !written.trim().is_empty() && written.chars().count() <= max_chars;
    let named = kind != Kind::Variable
        || written.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !mask::looks_secret(written);
    // What is sent to a model may have lines.
    let line = !matches!(kind, Kind::Text { .. }) || name == "continue_text" || is_line(written);
    let sendable = kind != Kind::Secret || written.chars().all(|c| c.is_ascii_graphic());
    if fits && named && sendable && line {
        return Ok(Value::Text(written.to_owned()));
    }
    let hint = if fits && !line {
        format!("`{name}` is one line, without control characters")
    } else if fits && kind == Kind::Variable {
        "this is the name of an environment variable, such as \"MY_KEY\", and not the key itself"
            .to_owned()
    } else if fits {
        "a key has no spaces and no letters beyond ASCII".to_owned()
    } else {
        format!("`{name}` is {}", expectation(kind))
    };
    Err(Misfit::new(format!("`{name}` does not fit"), hint))
}

fn choice(name: &str, choices: &'static [&'static str], written: &str) -> Result<Value, Misfit> {
    if choices.contains(&written) {
        return Ok(Value::Text(written.to_owned()));
    }
    let message = format!("`{name}` does not know \"{}\"", mask::shown(written));
    let hint = match nearest(written, choices.iter().copied()) {
        Some(near) => format!("did you mean \"{near}\"? it is one of {}", listed(choices)),
        None => format!("it is one of {}", listed(choices)),
    };
    Err(Misfit::new(message, hint))
}

fn texts(name: &str, kind: Kind, array: &DeArray<'_>) -> Result<Value, Misfit> {
    let mut list = Vec::new();
    for entry in array.iter() {
        let Some(entry) = entry.get_ref().as_str() else {
            return Err(wrong_type(name, kind, "a list of other things"));
        };
        if let Kind::Choices(choices) = kind {
            choice(name, choices, entry)?;
        }
        if entry.trim().is_empty() || list.iter().any(|other| other == entry) {
            return Err(Misfit::new(
                format!("`{name}` holds an empty text, or one twice"),
                format!("`{name}` is {}", expectation(kind)),
            ));
        }
        if !is_entry(entry) {
            return Err(Misfit::new(
                format!("`{name}` holds a text that does not fit: {}", mask::shown(entry)),
                format!("each is one line of at most {ENTRY_MAX_CHARS} characters"),
            ));
        }
        entry_form(name, entry)?;
        list.push(entry.to_owned());
    }
    Ok(Value::Texts(list))
}

/// What two lists ask of their entries beyond being texts.
fn entry_form(name: &str, entry: &str) -> Result<(), Misfit> {
    let origin = entry.split_once("://").is_some_and(|(scheme, host)| {
        !scheme.is_empty() && !host.is_empty() && !host.contains(['/', '*', ' ', '?', '#', '@'])
    });
    if name == "allowed_origins" && !origin {
        return Err(Misfit::new(
            format!("`allowed_origins` holds no origin: {}", mask::shown(entry)),
            "an origin is a scheme and a host, such as \"https://app.example\", without a path or `*`",
        ));
    }
    let vital = ["model", "messages", "input", "stream"].contains(&entry);
    if name == "drop_fields" && vital {
        return Err(Misfit::new(
            format!("`drop_fields` would take `{entry}` out of every request"),
            "no provider can answer without it",
        ));
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
    let name = mask::shown(name);
    Err(Misfit::new(
        format!("`headers` cannot send `{name}`"),
        if own {
            "this header is written by Ekiden itself".to_owned()
        } else {
            "a header is a name of letters, digits and `-` with a value on one line".to_owned()
        },
    ))
}

fn zone(written: &str) -> Result<Value, Misfit> {
    if TimeZone::get(written).is_ok() {
        return Ok(Value::Text(written.to_owned()));
    }
    let names: Vec<String> = jiff::tz::db().available().map(|name| name.to_string()).collect();
    let near = nearest(written, names.iter().map(String::as_str));
    Err(Misfit::new(
        format!("`time_zone` is no time zone: \"{}\"", mask::shown(written)),
        match near {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => "write a name such as \"Asia/Shanghai\" or \"Europe/Berlin\"".to_owned(),
        },
    ))
}

fn url_misfit(name: &str, error: UrlError) -> Misfit {
    let hint = match error {
        UrlError::Scheme | UrlError::Host | UrlError::Port | UrlError::Malformed => {
            "write \"https://api.example.com/v1\""
        }
        UrlError::OddAddress => "write the address with four numbers, such as 192.168.1.5",
        UrlError::Credential => {
            "put the key into a variable and name it in `api_key_env`; a URL ends up in logs"
        }
        UrlError::Query => "leave out everything from `?` or `#` on",
    };
    Misfit::new(format!("`{name}`: {error}"), hint)
}

fn wrong_type(name: &str, kind: Kind, found: &str) -> Misfit {
    Misfit::new(
        format!("`{name}` has the wrong type: {found}"),
        format!("`{name}` is {}", expectation(kind)),
    )
}

fn out_of_bounds(name: &str, kind: Kind, written: &str) -> Misfit {
    Misfit::new(
        format!("`{name}` is out of bounds: {}", mask::shown(written)),
        format!("`{name}` is {}", expectation(kind)),
    )
}

fn no_unit(name: &str, kind: Kind, written: &str) -> Misfit {
    let example = if let Kind::Bytes { .. } = kind {
        format!("`{name} = \"{written}MiB\"`")
    } else {
        format!("`{name} = \"{written}s\"` or `{name} = \"{written}ms\"`")
    };
    Misfit::new(
        format!("`{name}` needs a unit"),
        format!("write {example}; `{name}` is {}", expectation(kind)),
    )
}
