//! The languages in which people are spoken to. Refuses a text in one of them alone: both stand side
//! by side and take the same values, or it does not compile.

/// A language for people.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Language {
    /// English, wherever nobody asked for Chinese.
    #[default]
    English,
    /// 简体中文.
    Chinese,
}

impl Language {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::English, Self::Chinese];

    /// The language of a locale such as `zh_CN.UTF-8` or `zh-Hans-CN`.
    #[must_use]
    pub fn of_locale(locale: &str) -> Self {
        Self::of_tag(locale).unwrap_or_default()
    }

    /// The language that an `Accept-Language` prefers (RFC 9110, 12.5.4). Of equals the first; any
    /// language at all, `*`, is English.
    #[must_use]
    pub fn accepted(header: &str) -> Self {
        let mut best: Option<(u16, Self)> = None;
        for range in header.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let Some(language) = parts.next().and_then(Self::of_tag) else { continue };
            let weight = parts.find_map(|part| part.strip_prefix("q=")).map_or(1_000, thousandths);
            if weight > 0 && best.is_none_or(|(most, _)| weight > most) {
                best = Some((weight, language));
            }
        }
        best.map_or_else(Self::default, |(_, language)| language)
    }

    /// As `Accept-Language` names it.
    #[must_use]
    pub const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh-CN",
        }
    }

    fn of_tag(tag: &str) -> Option<Self> {
        let language = tag.split(['_', '-', '.', '@']).next().unwrap_or_default().trim();
        if language.eq_ignore_ascii_case("zh") {
            return Some(Self::Chinese);
        }
        language.eq_ignore_ascii_case("en").then_some(Self::English)
    }

    /// Things in a row.
    #[must_use]
    pub fn list<T: AsRef<str>>(self, things: &[T]) -> String {
        let comma = match self {
            Self::English => ", ",
            Self::Chinese => "、",
        };
        things.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(comma)
    }
}

/// A weight such as `0.8`; what is none weighs nothing.
fn thousandths(weight: &str) -> u16 {
    let (whole, rest) = weight.trim().split_once('.').unwrap_or((weight.trim(), "0"));
    let rest: Option<u16> = format!("{rest:0<3}").get(..3).and_then(|rest| rest.parse().ok());
    match (whole, rest) {
        ("1", Some(_)) => 1_000,
        ("0", Some(rest)) => rest,
        _ => 0,
    }
}

/// A text in both languages, made in the one that is asked for. Both have to use each of the values
/// that are named behind them, and can use no others.
///
/// ```
/// use ekiden_config::{Language, say};
///
/// let (key, most) = ("retries", 10);
/// let told = say!(Language::Chinese, "`{key}` is at most {most}", "`{key}` 最多为 {most}", key, most);
/// assert_eq!(told, "`retries` 最多为 10");
/// ```
///
/// ```compile_fail
/// # use ekiden_config::{Language, say};
/// let key = "retries";
/// say!(Language::English, "`{key}` is odd", "这不对", key);
/// ```
#[macro_export]
macro_rules! say {
    (@ $value:ident) => { $value };
    (@ $value:ident = $is:expr) => { $is };
    ($language:expr, $english:literal, $chinese:literal $(,)?) => {
        match $language {
            $crate::Language::English => ::std::string::String::from($english),
            $crate::Language::Chinese => ::std::string::String::from($chinese),
        }
    };
    // Through `concat!`, a text captures no variable that is not named.
    ($language:expr, $english:literal, $chinese:literal, $($value:ident $(= $is:expr)?),+ $(,)?) => {
        match $language {
            $crate::Language::English => ::std::format!(
                ::std::concat!($english), $($value = $crate::say!(@ $value $(= $is)?)),+
            ),
            $crate::Language::Chinese => ::std::format!(
                ::std::concat!($chinese), $($value = $crate::say!(@ $value $(= $is)?)),+
            ),
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_chinese_only_where_it_prefers_chinese() {
        for chinese in ["zh", "zh-CN,zh;q=0.9,en;q=0.8", "ZH-hans", "fr, zh;q=0.5", "*, zh-TW"] {
            assert_eq!(Language::accepted(chinese), Language::Chinese, "{chinese}");
        }
        for english in [
            "",
            "*",
            "en-US,en;q=0.9,zh-CN;q=0.8",
            "fr",
            "zh;q=0",
            "zh;q=x",
            "en, zh",
            "zha",
            ";q=1",
        ] {
            assert_eq!(Language::accepted(english), Language::English, "{english}");
        }
    }

    #[test]
    fn a_locale_is_chinese_by_its_language() {
        for chinese in ["zh_CN.UTF-8", "zh-TW", "zh", "ZH_hans"] {
            assert_eq!(Language::of_locale(chinese), Language::Chinese, "{chinese}");
        }
        for english in ["", "C", "POSIX", "en_US.UTF-8", "de_DE@euro", "zhx"] {
            assert_eq!(Language::of_locale(english), Language::English, "{english}");
        }
    }
}
