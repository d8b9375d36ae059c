//! What stands in the way of reading or writing a file. Refuses to be the system's error itself: that
//! one can be neither kept nor compared, and speaks one language.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use crate::say;
use crate::say::Language;

/// Why a file cannot be read or written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Hindrance {
    /// It is larger than any configuration.
    TooLarge,
    /// Its symbolic links lead in a circle.
    LinkCircle,
    /// Others write it all the time.
    Busy,
    /// It is a pipe, whose opening waits until somebody writes into it.
    Pipe,
    /// A folder stands there.
    Folder,
    /// Its permissions are read-only.
    Permissions,
    /// Nothing can be written beside it.
    FolderShut {
        /// Into which folder.
        folder: PathBuf,
        /// Why.
        why: Box<Hindrance>,
    },
    /// These settings have no file.
    NoFile,
    /// What the system says.
    System {
        /// What kind of trouble it is.
        kind: ErrorKind,
        /// In the system's words.
        text: String,
    },
}

/// Kinds of trouble that we have a word for.
const KINDS: [(ErrorKind, &str); 7] = [
    (ErrorKind::NotFound, "文件不存在"),
    (ErrorKind::PermissionDenied, "没有权限"),
    (ErrorKind::IsADirectory, "这是一个文件夹"),
    (ErrorKind::NotADirectory, "路径中有一段不是文件夹"),
    (ErrorKind::StorageFull, "磁盘已满"),
    (ErrorKind::ReadOnlyFilesystem, "文件系统只读"),
    (ErrorKind::InvalidData, "内容不是文本"),
];

impl Hindrance {
    /// In words.
    #[must_use]
    pub fn say(&self, language: Language) -> String {
        match self {
            Self::TooLarge => say!(language, "it is larger than 4 MiB", "它大于 4 MiB"),
            Self::LinkCircle => {
                say!(language, "its symbolic links lead in a circle", "它的符号链接绕成了圈")
            }
            Self::Busy => say!(language, "others keep writing it", "别的程序不停地在写它"),
            Self::Pipe => say!(language, "it is a pipe and not a file", "它是管道，不是文件"),
            Self::Folder => say!(language, "it is a folder", "它是一个文件夹"),
            Self::Permissions => {
                say!(language, "its permissions are read-only", "它的权限是只读")
            }
            Self::FolderShut { folder, why } => say!(
                language,
                "nothing can be written into {folder}: {why}",
                "{folder} 中无法写入：{why}",
                folder = folder.display(),
                why = why.say(language),
            ),
            Self::NoFile => say!(language, "these settings have no file", "这些设置没有文件"),
            Self::System { kind, text } => match KINDS.iter().find(|(known, _)| known == kind) {
                Some((_, known)) if language == Language::Chinese => format!("{known}（{text}）"),
                Some(_) | None => text.clone(),
            },
        }
    }
}

impl fmt::Display for Hindrance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.say(Language::English))
    }
}

impl std::error::Error for Hindrance {}

impl From<Hindrance> for io::Error {
    fn from(hindrance: Hindrance) -> Self {
        Self::other(hindrance)
    }
}

impl From<io::Error> for Hindrance {
    fn from(error: io::Error) -> Self {
        let ours = error.get_ref().and_then(|inner| inner.downcast_ref::<Self>());
        ours.cloned()
            .unwrap_or_else(|| Self::System { kind: error.kind(), text: error.to_string() })
    }
}
