//! Values that do not fit their key.

use toml::de::DeValue;

use super::{Words, meant_text};
use crate::check::ENTRY_MAX_CHARS;
use crate::keys::Kind;
use crate::say;
use crate::say::Language;
use crate::url::UrlError;
use crate::value::{show_size_bytes, show_span_ms};

/// Why a value does not fit its key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Misfit {
    WrongType {
        name: &'static str,
        kind: Kind,
        found: Found,
    },
    OutOfBounds {
        name: &'static str,
        kind: Kind,
        written: String,
    },
    NoUnit {
        name: &'static str,
        kind: Kind,
        written: String,
    },
    UnknownChoice {
        name: &'static str,
        choices: &'static [&'static str],
        written: String,
        near: Option<String>,
    },
    Text {
        name: &'static str,
        kind: Kind,
        fault: TextFault,
    },
    /// A character that nobody sees; `at` counts characters from 1.
    Hidden {
        name: &'static str,
        letter: char,
        at: usize,
    },
    /// An entry of a list that is too long, or more than one line.
    Entry {
        name: &'static str,
        written: String,
    },
    /// A list that holds an empty text, or one twice.
    EmptyOrTwice {
        name: &'static str,
        kind: Kind,
    },
    Origin {
        written: String,
    },
    VitalField {
        field: String,
    },
    Header {
        name: String,
    },
    /// One that the gateway writes itself.
    OwnHeader {
        name: String,
    },
    Zone {
        written: String,
        near: Option<String>,
    },
    Url {
        name: &'static str,
        why: UrlError,
    },
    Proxy {
        name: &'static str,
        why: UrlError,
    },
    Listen {
        written: String,
    },
    /// A list or a table that was typed and is none.
    Form {
        name: &'static str,
        kind: Kind,
    },
}

/// What stands where another type belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    String,
    Integer,
    Float,
    Boolean,
    Datetime,
    Array,
    Table,
    /// A text, in a variable.
    Text,
    /// One that is not read as what it should be.
    OtherText,
    /// A list of others than texts.
    OtherList,
    /// A table of others than texts.
    OtherTable,
}

/// Why a text does not fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TextFault {
    /// Empty, or too long.
    Length,
    /// No name of a variable.
    NoVariable,
    /// More than one line, or control characters.
    NoLine,
    /// It cannot be sent as a key.
    NoKey,
}

impl Found {
    pub(crate) const fn of(value: &DeValue<'_>) -> Self {
        match value {
            DeValue::String(_) => Self::String,
            DeValue::Integer(_) => Self::Integer,
            DeValue::Float(_) => Self::Float,
            DeValue::Boolean(_) => Self::Boolean,
            DeValue::Datetime(_) => Self::Datetime,
            DeValue::Array(_) => Self::Array,
            DeValue::Table(_) => Self::Table,
        }
    }

    pub(super) fn say(self, language: Language) -> String {
        match self {
            Self::String => say!(language, "string", "字符串"),
            Self::Integer => say!(language, "integer", "整数"),
            Self::Float => say!(language, "float", "小数"),
            Self::Boolean => say!(language, "boolean", "布尔值"),
            Self::Datetime => say!(language, "datetime", "日期时间"),
            Self::Array => say!(language, "array", "列表"),
            Self::Table => say!(language, "table", "表"),
            Self::Text => say!(language, "text", "文本"),
            Self::OtherText => say!(language, "another text", "别的文本"),
            Self::OtherList => say!(language, "a list of other things", "列表中有别的东西"),
            Self::OtherTable => {
                say!(language, "a table with other values than texts", "表中有不是文本的值")
            }
        }
    }
}

impl Words for Misfit {
    fn code(&self) -> &'static str {
        match self {
            Self::WrongType { .. } => "wrong_type",
            Self::OutOfBounds { .. } => "out_of_bounds",
            Self::NoUnit { .. } => "no_unit",
            Self::UnknownChoice { .. } => "unknown_choice",
            Self::Text { .. } | Self::Form { .. } => "no_fit",
            Self::Hidden { .. } => "invisible_character",
            Self::EmptyOrTwice { .. } => "empty_or_twice",
            Self::Entry { .. } => "no_line",
            Self::Origin { .. } => "no_origin",
            Self::VitalField { .. } => "vital_field",
            Self::Header { .. } => "bad_header",
            Self::OwnHeader { .. } => "own_header",
            Self::Zone { .. } => "no_time_zone",
            Self::Url { .. } | Self::Proxy { .. } => "bad_url",
            Self::Listen { .. } => "bad_address",
        }
    }

    fn message(&self, language: Language) -> String {
        match self {
            Self::WrongType { name, found, .. } => say!(
                language,
                "`{name}` has the wrong type: {found}",
                "`{name}` 的类型不对：{found}",
                name,
                found = found.say(language),
            ),
            Self::OutOfBounds { name, written, .. } => say!(
                language,
                "`{name}` is out of bounds: {written}",
                "`{name}` 超出范围：{written}",
                name,
                written,
            ),
            Self::NoUnit { name, .. } => {
                say!(language, "`{name}` needs a unit", "`{name}` 需要单位", name)
            }
            Self::UnknownChoice { name, written, .. } => say!(
                language,
                "`{name}` does not know \"{written}\"",
                "`{name}` 不认识 \"{written}\"",
                name,
                written,
            ),
            Self::Text { name, .. } | Self::Form { name, .. } => {
                say!(language, "`{name}` does not fit", "`{name}` 的值不合要求", name)
            }
            Self::EmptyOrTwice { name, .. } => say!(
                language,
                "`{name}` holds an empty text, or one twice",
                "`{name}` 中有空文本，或有重复",
                name,
            ),
            Self::Hidden { name, letter, at } => hidden(language, name, *letter, *at),
            Self::Entry { name, written } => entry(language, name, written),
            Self::Origin { written } => say!(
                language,
                "`allowed_origins` holds no origin: {written}",
                "`allowed_origins` 中有一项不是来源：{written}",
                written,
            ),
            Self::VitalField { field } => say!(
                language,
                "`drop_fields` would take `{field}` out of every request",
                "`drop_fields` 会从每个请求中去掉 `{field}`",
                field,
            ),
            Self::Header { name } | Self::OwnHeader { name } => say!(
                language,
                "`headers` cannot send `{name}`",
                "`headers` 不能发送 `{name}`",
                name,
            ),
            Self::Zone { written, .. } => say!(
                language,
                "`time_zone` is no time zone: \"{written}\"",
                "`time_zone` 不是时区：\"{written}\"",
                written,
            ),
            Self::Url { name, why } | Self::Proxy { name, why } => {
                say!(language, "`{name}`: {why}", "`{name}`：{why}", name, why = why.say(language))
            }
            Self::Listen { written } => say!(
                language,
                "`listen` is no address with a port: {written}",
                "`listen` 不是带端口的地址：{written}",
                written,
            ),
        }
    }

    fn hint(&self, language: Language) -> Option<String> {
        Some(match self {
            Self::WrongType { name, kind, .. }
            | Self::OutOfBounds { name, kind, .. }
            | Self::EmptyOrTwice { name, kind }
            | Self::Form { name, kind }
            | Self::Text { name, kind, fault: TextFault::Length } => takes(language, name, *kind),
            Self::NoUnit { name, kind, written } => no_unit(language, name, *kind, written),
            Self::UnknownChoice { choices, near, .. } => choice(language, choices, near.as_deref()),
            Self::Text { name, fault: TextFault::NoLine, .. } => say!(
                language,
                "`{name}` is one line, without control characters",
                "`{name}` 应为一行，不含控制字符",
                name,
            ),
            Self::Hidden { .. } => {
                say!(language, "write it anew without that character", "请去掉这个字符，重新写")
            }
            Self::Entry { .. } => say!(
                language,
                "each is one line of at most {most} characters",
                "每一项都应为一行，最多 {most} 个字符",
                most = ENTRY_MAX_CHARS,
            ),
            Self::Text { fault: TextFault::NoVariable, .. } => say!(
                language,
                "this is the name of an environment variable, such as \"MY_KEY\", and not the key itself",
                "这里写环境变量的名字，例如 \"MY_KEY\"，而不是密钥本身",
            ),
            Self::Text { fault: TextFault::NoKey, .. } => say!(
                language,
                "a key has no spaces and no letters beyond ASCII",
                "密钥中没有空格，也没有 ASCII 之外的字符",
            ),
            Self::Origin { .. } => say!(
                language,
                "an origin is a scheme and a host, such as \"https://app.example\", without a path or `*`",
                "来源由协议和主机组成，例如 \"https://app.example\"，不带路径，也不用 `*`",
            ),
            Self::VitalField { .. } => {
                say!(language, "no provider can answer without it", "没有它，任何提供方都无法回答")
            }
            Self::Header { .. } => say!(
                language,
                "a header is a name of letters, digits and `-` with a value on one line",
                "请求头的名字由字母、数字和 `-` 组成，值写在一行内",
            ),
            Self::OwnHeader { .. } => {
                say!(
                    language,
                    "this header is written by Ekiden itself",
                    "这个请求头由 Ekiden 自己写"
                )
            }
            Self::Zone { near: Some(near), .. } => meant_text(language, near),
            Self::Zone { near: None, .. } => say!(
                language,
                "write a name such as \"Asia/Shanghai\" or \"Europe/Berlin\"",
                "请写 \"Asia/Shanghai\"、\"Europe/Berlin\" 这样的名字",
            ),
            Self::Url { why, .. } => url(language, *why),
            Self::Proxy { why: UrlError::Credential, .. } => say!(
                language,
                "name a proxy with a password in the variable HTTPS_PROXY instead of this file",
                "带密码的代理请写在环境变量 HTTPS_PROXY 中，不要写进这个文件",
            ),
            Self::Proxy { name, .. } => takes(language, name, Kind::Proxy),
            Self::Listen { .. } => {
                say!(language, "write \"127.0.0.1:8787\"", "请写成 \"127.0.0.1:8787\"")
            }
        })
    }
}

fn hidden(language: Language, name: &str, letter: char, at: usize) -> String {
    say!(
        language,
        "`{name}` holds a character that nobody sees: U+{letter}, number {at} of the text",
        "`{name}` 中有看不见的字符：U+{letter}，是文本的第 {at} 个字符",
        name,
        letter = format!("{:04X}", u32::from(letter)),
        at,
    )
}

fn entry(language: Language, name: &str, written: &str) -> String {
    say!(
        language,
        "`{name}` holds a text that does not fit: {written}",
        "`{name}` 中有不合要求的文本：{written}",
        name,
        written,
    )
}

fn takes(language: Language, name: &str, kind: Kind) -> String {
    let what = expectation(kind, language);
    say!(language, "`{name}` is {what}", "`{name}` 应为{what}", name, what)
}

fn no_unit(language: Language, name: &str, kind: Kind, written: &str) -> String {
    let takes = takes(language, name, kind);
    if let Kind::Bytes { .. } = kind {
        return say!(
            language,
            "write `{name} = \"{written}MiB\"`; {takes}",
            "请写成 `{name} = \"{written}MiB\"`；{takes}",
            name,
            written,
            takes,
        );
    }
    say!(
        language,
        "write `{name} = \"{written}s\"` or `{name} = \"{written}ms\"`; {takes}",
        "请写成 `{name} = \"{written}s\"` 或 `{name} = \"{written}ms\"`；{takes}",
        name,
        written,
        takes,
    )
}

fn choice(language: Language, choices: &[&str], near: Option<&str>) -> String {
    let all = quoted(language, choices);
    match near {
        Some(near) => {
            let meant = meant_text(language, near);
            say!(language, "{meant} it is one of {all}", "{meant}可选的有 {all}", meant, all)
        }
        None => say!(language, "it is one of {all}", "可选的有 {all}", all),
    }
}

fn url(language: Language, why: UrlError) -> String {
    match why {
        UrlError::Scheme | UrlError::Host | UrlError::Port | UrlError::Malformed => say!(
            language,
            "write \"https://api.example.com/v1\"",
            "请写成 \"https://api.example.com/v1\" 的样子",
        ),
        UrlError::OddAddress => say!(
            language,
            "write the address with four numbers, such as 192.168.1.5",
            "请用四个数字写地址，例如 192.168.1.5",
        ),
        UrlError::Credential => say!(
            language,
            "put the key into a variable and name it in `api_key_env`; a URL ends up in logs",
            "请把密钥放进环境变量，并在 `api_key_env` 中写它的名字；URL 会留在各种日志里",
        ),
        UrlError::Query => say!(
            language,
            "leave out everything from `?` or `#` on",
            "请去掉 `?` 或 `#` 以及其后的内容",
        ),
    }
}

/// What a key takes, in words.
pub(crate) fn expectation(kind: Kind, language: Language) -> String {
    match kind {
        Kind::Bool => say!(language, "`true` or `false`", " `true` 或 `false`"),
        Kind::Integer { min, max } => {
            say!(language, "a whole number from {min} to {max}", " {min} 到 {max} 的整数", min, max,)
        }
        Kind::Span { min_ms, max_ms } => span(language, min_ms, max_ms),
        Kind::Bytes { min, max } => size(language, min, max),
        Kind::Text { max_chars } => say!(
            language,
            "text of 1 to {max_chars} characters",
            " 1 到 {max_chars} 个字符的文本",
            max_chars,
        ),
        Kind::Choice(choices) => {
            say!(language, "one of {all}", "以下之一：{all}", all = quoted(language, choices),)
        }
        Kind::Choices(choices) => say!(
            language,
            "a list of some of {all}",
            "列表，由以下各项中的若干项组成：{all}",
            all = quoted(language, choices),
        ),
        Kind::Texts => say!(
            language,
            "a list of texts, such as [\"a\", \"b\"]",
            "文本列表，例如 [\"a\", \"b\"]",
        ),
        Kind::SecretPairs => say!(
            language,
            "a table of texts, such as { \"x-team\" = \"a\" }",
            "文本的表，例如 { \"x-team\" = \"a\" }",
        ),
        Kind::Secret => say!(language, "a key, as text", "文本形式的密钥"),
        Kind::Variable => say!(
            language,
            "the name of an environment variable, such as \"MY_KEY\"",
            "环境变量的名字，例如 \"MY_KEY\"",
        ),
        Kind::Path => say!(language, "a path, as text", "文本形式的路径"),
        Kind::Url => say!(
            language,
            "a URL, such as \"https://api.example.com/v1\"",
            " URL，例如 \"https://api.example.com/v1\"",
        ),
        Kind::Proxy => say!(
            language,
            "a proxy, such as \"http://127.0.0.1:3128\" or \"socks5://127.0.0.1:1080\"",
            "代理地址，例如 \"http://127.0.0.1:3128\" 或 \"socks5://127.0.0.1:1080\"",
        ),
        Kind::Listen => say!(
            language,
            "an address with a port, such as \"127.0.0.1:8787\"",
            "带端口的地址，例如 \"127.0.0.1:8787\"",
        ),
        Kind::Zone => say!(
            language,
            "the name of a time zone, such as \"Asia/Shanghai\"",
            "时区的名字，例如 \"Asia/Shanghai\"",
        ),
        Kind::Candidates => say!(
            language,
            "a list such as [\"provider/model\", { route = \"provider/model\", max_sessions = 2 }]",
            "列表，例如 [\"provider/model\", { route = \"provider/model\", max_sessions = 2 }]",
        ),
    }
}

fn span(language: Language, min_ms: u64, max_ms: u64) -> String {
    say!(
        language,
        "a span with its unit, such as \"250ms\", \"45s\", \"2m\" or \"1h\", from {min} to {max}",
        "带单位的时长，例如 \"250ms\"、\"45s\"、\"2m\"、\"1h\"，从 {min} 到 {max}",
        min = show_span_ms(min_ms),
        max = show_span_ms(max_ms),
    )
}

fn size(language: Language, min: u64, max: u64) -> String {
    say!(
        language,
        "a size with its unit, such as \"64KiB\" or \"8MB\", from {min} to {max}",
        "带单位的大小，例如 \"64KiB\"、\"8MB\"，从 {min} 到 {max}",
        min = show_size_bytes(min),
        max = show_size_bytes(max),
    )
}

fn quoted(language: Language, choices: &[&str]) -> String {
    let quoted: Vec<_> = choices.iter().map(|choice| format!("\"{choice}\"")).collect();
    language.list(&quoted)
}
