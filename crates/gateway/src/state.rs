//! What outlives the process: the state folder, its owner and its store (G12, G13, R17).
//!
//! It refuses to stand in the way of serving: a folder that cannot be used is told, and everything is
//! kept in memory. Only a folder that another process owns ends the start.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ekiden_config::{Config, Hindrance, Language, say};
use ekiden_store::{FolderError, OpenError, SqliteStore, StateFolder, Store};

use crate::settings::bounds;

/// Where the store keeps, for people.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Keeping {
    /// The state folder; `None`: memory alone.
    pub folder: Option<PathBuf>,
    /// Why nothing outlives the process, where it was meant to.
    pub why_not: Option<WhyNot>,
}

/// Why nothing outlives the process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WhyNot {
    /// There is no folder to keep a state folder in: set `state_dir`.
    NoHome,
    /// The folder cannot be made or written: look at its path and permissions.
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        why: Hindrance,
    },
    /// A newer program wrote the store: run that one, or choose another folder.
    Newer {
        /// Which file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest one known.
        known: usize,
    },
    /// The file is another program's: choose another folder.
    Foreign {
        /// Which.
        path: PathBuf,
    },
    /// It is no database, or is broken: move it away, or put a copy back.
    Damaged {
        /// Which.
        path: PathBuf,
        /// In the words of SQLite or of the system.
        why: String,
    },
    /// It cannot be made, read or written: look at path, permissions and disk.
    Unusable {
        /// Which.
        path: PathBuf,
        /// In the words of SQLite or of the system.
        why: String,
    },
}

impl WhyNot {
    /// In words.
    #[must_use]
    pub fn say(&self, language: Language) -> String {
        match self {
            Self::NoHome => say!(
                language,
                "there is no home folder; set `state_dir`",
                "没有主文件夹；请设置 `state_dir`",
            ),
            Self::Folder { path, why } => say!(
                language,
                "the state folder {path} cannot be used: {why}",
                "状态文件夹 {path} 无法使用：{why}",
                path = path.display(),
                why = why.say(language),
            ),
            Self::Newer { path, found, known } => say!(
                language,
                "{path} has version {found}, and this program knows versions up to {known}",
                "{path} 的版本是 {found}，而本程序只认识到版本 {known}",
                path = path.display(),
                found,
                known,
            ),
            Self::Foreign { path } => say!(
                language,
                "{path} is the file of another program",
                "{path} 是别的程序的文件",
                path = path.display(),
            ),
            Self::Damaged { path, why } => say!(
                language,
                "{path} is damaged: {why}",
                "{path} 已损坏（{why}）",
                path = path.display(),
                why,
            ),
            Self::Unusable { path, why } => say!(
                language,
                "{path} cannot be used: {why}",
                "{path} 无法使用（{why}）",
                path = path.display(),
                why,
            ),
        }
    }
}

impl From<OpenError> for WhyNot {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Newer { path, found, known } => Self::Newer { path, found, known },
            OpenError::Foreign { path } => Self::Foreign { path },
            OpenError::Damaged { path, source } => Self::Damaged { path, why: source.to_string() },
            OpenError::Unusable { path, source } => {
                Self::Unusable { path, why: source.to_string() }
            }
        }
    }
}

/// A store, what to say of it, and the hold on its folder: until it is dropped, no other process
/// has the folder.
#[derive(Debug)]
pub struct Kept {
    /// The store; `None`: memory.
    pub store: Option<Arc<dyn Store>>,
    /// Where it keeps.
    pub keeping: Keeping,
    /// The hold. To be dropped last.
    pub folder: Option<StateFolder>,
}

/// A folder that another process owns.
#[derive(Debug, thiserror::Error)]
#[error("the state folder {} belongs to a running process", .folder.display())]
pub struct OwnedElsewhere {
    /// Which folder.
    pub folder: PathBuf,
    /// Where that process listens, if it has said so.
    pub address: Option<String>,
}

/// Takes the state folder and opens the store in it. `None`: there is no home to keep one in.
///
/// # Errors
/// When another process has the folder: it is to be talked to, or another one chosen.
pub fn open(folder: Option<&Path>, config: &Config) -> Result<Kept, OwnedElsewhere> {
    let Some(folder) = folder else {
        return Ok(in_memory(WhyNot::NoHome));
    };
    let held = match StateFolder::claim(folder) {
        Ok(held) => held,
        Err(FolderError::Held { path, owner }) => {
            return Err(OwnedElsewhere { folder: path, address: owner });
        }
        Err(FolderError::Unusable { path, source }) => {
            return Ok(in_memory(WhyNot::Folder { path, why: source.into() }));
        }
    };
    match SqliteStore::open(folder, bounds(config)) {
        Ok(store) => Ok(Kept {
            store: Some(Arc::new(store)),
            keeping: Keeping { folder: Some(folder.to_owned()), why_not: None },
            folder: Some(held),
        }),
        // The folder stays ours: keys are kept there too.
        Err(error) => Ok(Kept { folder: Some(held), ..in_memory(error.into()) }),
    }
}

fn in_memory(why_not: WhyNot) -> Kept {
    Kept { store: None, keeping: Keeping { folder: None, why_not: Some(why_not) }, folder: None }
}
