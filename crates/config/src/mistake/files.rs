//! Files that cannot be used as a whole.

use super::Words;
use crate::hindrance::Hindrance;
use crate::say;
use crate::say::Language;
use crate::stored::KeysError;

/// What is wrong with a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum FileMistake {
    /// `detail` is the parser's own word, in English.
    Syntax {
        detail: String,
    },
    Utf16,
    NotUtf8,
    KeysUnused(KeysError),
    Unreadable(Hindrance),
    Gone,
}

impl Words for FileMistake {
    fn code(&self) -> &'static str {
        match self {
            Self::Syntax { .. } => "syntax",
            Self::Utf16 | Self::NotUtf8 => "not_utf8",
            Self::KeysUnused(_) => "keys_unused",
            Self::Unreadable(_) => "unreadable",
            Self::Gone => "gone",
        }
    }

    fn message(&self, language: Language) -> String {
        match self {
            Self::Syntax { detail } => say!(
                language,
                "this is not TOML: {detail}",
                "这不是 TOML（解析器的原话：{detail}）",
                detail,
            ),
            Self::Utf16 => say!(language, "the file is UTF-16", "文件是 UTF-16 编码"),
            Self::NotUtf8 => say!(language, "the file is not UTF-8 text", "文件不是 UTF-8 文本"),
            Self::KeysUnused(why) => say!(
                language,
                "no stored key is used: {why}",
                "保存的密钥均未使用：{why}",
                why = why.say(language),
            ),
            Self::Unreadable(why) => say!(
                language,
                "the file cannot be read: {why}",
                "文件无法读取：{why}",
                why = why.say(language),
            ),
            Self::Gone => say!(language, "the file is gone", "文件不见了"),
        }
    }

    fn hint(&self, language: Language) -> Option<String> {
        Some(match self {
            Self::Syntax { .. } => say!(
                language,
                "a line is `key = value` or `[section]`; texts stand in quotes, lists in brackets",
                "每行是 `key = value` 或 `[section]`；文本加引号，列表加方括号",
            ),
            Self::Utf16 | Self::NotUtf8 => {
                say!(language, "save it as UTF-8", "请另存为 UTF-8")
            }
            Self::KeysUnused(_) => say!(
                language,
                "mend that file, then store the keys again",
                "请修好那个文件，再重新保存密钥",
            ),
            Self::Unreadable(_) => {
                say!(language, "mend its permissions, or the disk", "请检查它的权限或磁盘")
            }
            Self::Gone => say!(
                language,
                "put it back, or start anew to go on without it",
                "请把它放回去；若不要它了，请重新启动",
            ),
        })
    }
}
