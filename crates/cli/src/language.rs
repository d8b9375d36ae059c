//! Which language is spoken. It refuses to ask: the locale decides.

use ekiden_config::Env;
pub(crate) use ekiden_config::Language;

/// The language of the locale: the first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is set, as POSIX
/// has it; on Windows, where none of them is, what the system says.
pub(crate) fn of(env: &impl Env) -> Language {
    let named = ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().find_map(|name| env.var(name));
    named.or_else(system).map_or(Language::English, |locale| Language::of_locale(&locale))
}

#[cfg(windows)]
fn system() -> Option<String> {
    sys_locale::get_locale()
}

/// Elsewhere a locale that is not in the environment is the C locale.
#[cfg(not(windows))]
fn system() -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use ekiden_config::FixedEnv;

    #[test]
    fn the_first_variable_of_the_locale_decides() {
        let of = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter().map(|(name, value)| ((*name).into(), (*value).into()));
            super::of(&pairs.collect::<FixedEnv>())
        };
        assert_eq!(of(&[]), Language::English);
        assert_eq!(of(&[("LANG", "zh_CN.UTF-8")]), Language::Chinese);
        assert_eq!(of(&[("LANG", "zh_CN.UTF-8"), ("LC_ALL", "C")]), Language::English);
        assert_eq!(of(&[("LANG", "C"), ("LC_MESSAGES", "zh-TW")]), Language::Chinese);
        assert_eq!(of(&[("LC_ALL", ""), ("LANG", "zh")]), Language::Chinese);
    }
}
