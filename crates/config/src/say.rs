//! The languages in which people are spoken to. Refuses a text in one of them alone: both stand side
//! by side and take the same values, or it does not compile.

use std::cmp::Reverse;

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

    /// The language that an `Accept-Language` prefers (RFC 9110, 12.5.4; RFC 4647, 3.3.1 and 3.4). A
    /// range of the language counts, be it of another region; `*` counts for a language that none
    /// names. Of equals the one that is named, then the first. Where it takes neither: English.
    #[must_use]
    pub fn accepted(header: &str) -> Self {
        let ranges: Vec<Range<'_>> = header.split(',').filter_map(Range::of).collect();
        let fit = |language: Self| Some((language.fit(&ranges)?, language));
        // Of two that `*` alone names the last one here.
        let fits = [Self::Chinese, Self::English].into_iter().filter_map(fit);
        fits.max_by_key(|(fit, _)| *fit).map_or_else(Self::default, |(_, language)| language)
    }

    /// How well it fits what is accepted: its weight, whether it is named, and how early. `None`: not
    /// at all.
    fn fit(self, ranges: &[Range<'_>]) -> Option<(u16, bool, Reverse<usize>)> {
        let all = || ranges.iter().enumerate();
        let named = || all().filter(|(_, range)| Self::of_tag(range.tag) == Some(self));
        let own = named().find(|(_, range)| range.tag.eq_ignore_ascii_case(self.tag()));
        if own.is_some_and(|(_, range)| range.weight == 0) {
            return None;
        }
        let best = named().map(|(at, range)| (range.weight, true, Reverse(at))).max();
        let any = || all().find(|(_, range)| range.tag == "*");
        let best = best.or_else(|| any().map(|(at, range)| (range.weight, false, Reverse(at))));
        best.filter(|(weight, _, _)| *weight > 0)
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

/// One of the ranges of an `Accept-Language`.
struct Range<'a> {
    /// A tag such as `zh-CN`, or `*`.
    tag: &'a str,
    /// In thousandths.
    weight: u16,
}

impl<'a> Range<'a> {
    /// A range with its weight; `None`: it is none.
    fn of(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let tag = parts.next().filter(|tag| !tag.is_empty())?;
        let weight = parts.find_map(|part| {
            let (name, weight) = part.split_once('=')?;
            name.eq_ignore_ascii_case("q").then_some(weight)
        });
        Some(Self { tag, weight: weight.map_or(Some(1_000), thousandths)? })
    }
}

/// A weight such as `0.8`; digits behind the third say nothing.
fn thousandths(weight: &str) -> Option<u16> {
    let (whole, rest) = weight.split_once('.').unwrap_or((weight, "0"));
    if !rest.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let rest: u16 = format!("{rest:0<3}").get(..3)?.parse().ok()?;
    match (whole, rest) {
        ("1", 0) => Some(1_000),
        ("0", rest) => Some(rest),
        _ => None,
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
        for chinese in [
            "zh",
            "zh-CN,zh;q=0.9,en;q=0.8",
            "ZH-hans",
            "fr, zh;q=0.5",
            "*, zh-TW",
            "zh;Q=1, en;q=0.999",
            "zh;q=0.5, *;q=0.5",
            "en;q=0, *;q=0.1",
            "*;q=0, zh;q=0.001",
            "zh;q=0.2, en;q=0.1, *",
            "zh;q=0.3,zh-CN;q=0.8,en;q=0.5",
            "en;q=1.5, zh;q=0.1",
            "zh ; q=0.9 , en;q=0.8",
        ] {
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
            "fr, zh;q=0.1, *;q=0.5",
            "fr, *;q=0.5",
            "zh;q=0.1, *;q=0.2",
            "zh;q=0, *",
            "zh;q=0, *;q=0",
            "zh-CN;q=0, zh-TW",
            "en;q=0",
            "zh;q=1.001",
            "zh;q=-1",
            "zh;q=0.5, en-GB;q=0.6",
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
