//! Keys and sections that are not where they should be.

use super::{Found, Words, meant};
use crate::say;
use crate::say::Language;

/// What is wrong with a key or a section.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum KeyMistake {
    /// `section` is a path of the table of sections.
    Unknown {
        key: String,
        section: &'static str,
        advice: KeyAdvice,
    },
    /// A key of a seed that is read and ignored (R8).
    Ignored {
        key: &'static str,
    },
    NoSection {
        path: String,
        found: Found,
    },
}

/// What to do about an unknown key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum KeyAdvice {
    /// It belongs in these sections.
    BelongsIn {
        key: String,
        places: Vec<&'static str>,
    },
    Instead(Elsewhere),
    Near(String),
    NearElsewhere {
        near: &'static str,
        places: Vec<&'static str>,
    },
    KnownHere(Vec<String>),
    /// Nobody reads so many.
    Nothing,
}

/// Keys of other programs and earlier versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Elsewhere {
    Chains,
    Match,
    Models,
    OnFailure,
    ApiBase,
}

impl Words for KeyMistake {
    fn code(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "unknown_key",
            Self::Ignored { .. } => "ignored_key",
            Self::NoSection { .. } => "no_section",
        }
    }

    fn message(&self, language: Language) -> String {
        match self {
            Self::Unknown { key, section: "", .. } => say!(
                language,
                "unknown key `{key}` before the first section",
                "第一个分节之前有未知的键 `{key}`",
                key,
            ),
            Self::Unknown { key, section, .. } => say!(
                language,
                "unknown key `{key}` in [{section}]",
                "[{section}] 中有未知的键 `{key}`",
                key,
                section,
            ),
            Self::Ignored { key } => say!(language, "`{key}` is ignored", "`{key}` 不起作用", key),
            Self::NoSection { path, found } => say!(
                language,
                "`{path}` is a section, and stands here as {found}",
                "`{path}` 是一个分节，这里却写成了{found}",
                path,
                found = found.say(language),
            ),
        }
    }

    fn hint(&self, language: Language) -> Option<String> {
        match self {
            Self::Unknown { advice, .. } => advice.say(language),
            Self::Ignored { .. } => Some(say!(
                language,
                "take it out; `retries` says how often the same bytes go again",
                "请去掉它；同样的字节重发几次由 `retries` 决定",
            )),
            Self::NoSection { path, .. } => Some(say!(
                language,
                "write `[{path}]` on a line of its own and the keys below it",
                "请让 `[{path}]` 独占一行，把各个键写在它下面",
                path,
            )),
        }
    }
}

impl KeyAdvice {
    fn say(&self, language: Language) -> Option<String> {
        Some(match self {
            Self::BelongsIn { key, places } => say!(
                language,
                "`{key}` belongs in {places}",
                "`{key}` 应写在：{places}",
                key,
                places = sections(language, places),
            ),
            Self::Instead(elsewhere) => elsewhere.say(language),
            Self::Near(near) => meant(language, near),
            Self::NearElsewhere { near, places } => say!(
                language,
                "{meant} it belongs in {places}",
                "{meant}它应写在：{places}",
                meant = meant(language, near),
                places = sections(language, places),
            ),
            Self::KnownHere(keys) => say!(
                language,
                "known here: {keys}",
                "这里可用的键：{keys}",
                keys = language.list(keys),
            ),
            Self::Nothing => return None,
        })
    }
}

impl Elsewhere {
    fn say(self, language: Language) -> String {
        match self {
            Self::Chains => say!(
                language,
                "write `policy = \"chain\"` and the routes as `fallbacks` into `[direct]`, or a `[queues.ID]` for each chain",
                "请在 `[direct]` 中写 `policy = \"chain\"`，并把各条线路写成 `fallbacks`；或为每条链写一个 `[queues.ID]`",
            ),
            Self::Match => say!(
                language,
                "write the model names into `[aliases]`",
                "请把模型名写进 `[aliases]`",
            ),
            Self::Models => say!(
                language,
                "models stand in `[providers.ID]` as `models`, or in a queue's `candidates`",
                "模型写在 `[providers.ID]` 的 `models` 中，或队列的 `candidates` 中",
            ),
            Self::OnFailure => say!(
                language,
                "after the first byte a failure is told as it is; only DSH continues turns",
                "首个字节之后，失败如实告知；只有 DSH 会续写",
            ),
            Self::ApiBase => say!(language, "write `base_url`", "请写 `base_url`"),
        }
    }
}

/// Sections in words.
fn sections(language: Language, paths: &[&str]) -> String {
    let places: Vec<String> = paths
        .iter()
        .map(|path| match *path {
            "" => say!(language, "the part before the first section", "第一个分节之前"),
            path => format!("[{path}]"),
        })
        .collect();
    language.list(&places)
}
