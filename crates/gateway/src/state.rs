//! What outlives the process: the state folder, its owner and its store (G12, G13, R17).
//!
//! It refuses to stand in the way of serving: a folder that cannot be used is told, and everything is
//! kept in memory. Only a folder that another process owns ends the start.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ekiden_config::Config;
use ekiden_store::{FolderError, SqliteStore, StateFolder, Store};

use crate::settings::bounds;

/// Where the store keeps, for people.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Keeping {
    /// The state folder; `None`: memory alone.
    pub folder: Option<PathBuf>,
    /// Why nothing outlives the process, where it was meant to.
    pub why_not: Option<String>,
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
        return Ok(in_memory("there is no home folder; set `state_dir`".to_owned()));
    };
    let held = match StateFolder::claim(folder) {
        Ok(held) => held,
        Err(FolderError::Held { path, owner }) => {
            return Err(OwnedElsewhere { folder: path, address: owner });
        }
        Err(error @ FolderError::Unusable { .. }) => return Ok(in_memory(error.to_string())),
    };
    match SqliteStore::open(folder, bounds(config)) {
        Ok(store) => Ok(Kept {
            store: Some(Arc::new(store)),
            keeping: Keeping { folder: Some(folder.to_owned()), why_not: None },
            folder: Some(held),
        }),
        // The folder stays ours: keys are kept there too.
        Err(error) => Ok(Kept { folder: Some(held), ..in_memory(error.to_string()) }),
    }
}

fn in_memory(why_not: String) -> Kept {
    Kept { store: None, keeping: Keeping { folder: None, why_not: Some(why_not) }, folder: None }
}
