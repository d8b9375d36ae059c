//! The folder that holds what outlives the process. It refuses to be shared: one process owns it,
//! and a second one learns who that is (G13).

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The file that the owner holds locked. It stays empty: where locks are binding, nobody else could
/// read what stands in it.
const LOCK: &str = "lock";
/// The file that says where the owner listens.
const OWNER: &str = "owner";
/// An address is not longer.
const OWNER_BYTES_MAX: usize = 300;

/// A state folder that this process owns until the value is dropped, however the process ends.
#[derive(Debug)]
pub struct StateFolder {
    path: PathBuf,
    lock: File,
}

/// Why a state folder is not ours.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Another process owns it: talk to that one, or choose another folder.
    #[error("the state folder {} belongs to a running process{}", .path.display(), at(.owner.as_deref()))]
    Held {
        /// Which folder.
        path: PathBuf,
        /// Where the owner listens, if it has said so.
        owner: Option<String>,
    },
    /// It cannot be made or written: look at its path and permissions.
    #[error("the state folder {} cannot be used: {source}", .path.display())]
    Unusable {
        /// Which folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl StateFolder {
    /// Makes the folder where there is none, for its owner's eyes alone where the platform can do
    /// that, and takes it.
    ///
    /// # Errors
    /// When another process has it, or when it cannot be used.
    pub fn claim(path: &Path) -> Result<Self, FolderError> {
        let unusable = |source| FolderError::Unusable { path: path.into(), source };
        make_private(path).map_err(unusable)?;
        let lock = private_file(&path.join(LOCK)).map_err(unusable)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(FolderError::Held { path: path.into(), owner: owner(path) });
            }
            Err(TryLockError::Error(source)) => return Err(unusable(source)),
        }
        // A predecessor that was killed may have left its own.
        match fs::remove_file(path.join(OWNER)) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(unusable(source)),
            Ok(()) | Err(_) => Ok(Self { path: path.into(), lock }),
        }
    }

    /// Says where this process listens, for those who come later.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn announce(&self, address: &str) -> Result<(), FolderError> {
        let unusable = |source| FolderError::Unusable { path: self.path.clone(), source };
        let (draft, owner) = (self.path.join("owner.new"), self.path.join(OWNER));
        let mut file = private_file(&draft).map_err(unusable)?;
        file.set_len(0).and_then(|()| file.write_all(address.as_bytes())).map_err(unusable)?;
        drop(file);
        fs::rename(draft, owner).map_err(unusable)
    }

    /// Where the owner of a folder listens, if the folder has an owner that has said so.
    #[must_use]
    pub fn owner_of(path: &Path) -> Option<String> {
        let lock = File::open(path.join(LOCK)).ok()?;
        match lock.try_lock_shared() {
            Err(TryLockError::WouldBlock) => owner(path),
            Ok(()) | Err(TryLockError::Error(_)) => None,
        }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for StateFolder {
    fn drop(&mut self) {
        // Whoever comes next would remove it anyway; the lock itself ends with the file's handle.
        let _ = fs::remove_file(self.path.join(OWNER));
        let _ = self.lock.unlock();
    }
}

fn at(owner: Option<&str>) -> String {
    owner.map(|address| format!(" at {address}")).unwrap_or_default()
}

fn owner(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path.join(OWNER)).ok()?;
    let address = text.trim();
    (!address.is_empty() && address.len() <= OWNER_BYTES_MAX).then(|| address.to_owned())
}

#[cfg(unix)]
fn make_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    // A folder that is there already keeps the permissions that somebody gave it; the files in it
    // are private anyway.
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// A user's own folders are private by inheritance there.
#[cfg(not(unix))]
fn make_private(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// Opens a file, made where there is none, that only its owner can read.
#[cfg(unix)]
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(path)?;
    let private = fs::Permissions::from_mode(0o600);
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        file.set_permissions(private)?;
    }
    Ok(file)
}

/// Opens a file, made where there is none; the folder's permissions are inherited.
#[cfg(not(unix))]
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g13_a_second_one_learns_who_owns_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state");
        let first = StateFolder::claim(&path).unwrap();
        let Err(FolderError::Held { owner: None, .. }) = StateFolder::claim(&path) else {
            panic!("held, by one that has not said where it listens");
        };
        first.announce("127.0.0.1:7878").unwrap();
        let refused = StateFolder::claim(&path).unwrap_err().to_string();
        assert!(refused.ends_with("belongs to a running process at 127.0.0.1:7878"), "{refused}");
        assert_eq!(StateFolder::owner_of(&path).as_deref(), Some("127.0.0.1:7878"));
        drop(first);
        assert_eq!(StateFolder::owner_of(&path), None);
        StateFolder::claim(&path).unwrap();
    }

    #[test]
    fn g13_what_a_dead_owner_left_is_not_believed() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(LOCK), "").unwrap();
        fs::write(dir.path().join(OWNER), "127.0.0.1:1").unwrap();
        assert_eq!(StateFolder::owner_of(dir.path()), None);
        let _first = StateFolder::claim(dir.path()).unwrap();
        let refused = StateFolder::claim(dir.path()).unwrap_err();
        assert!(matches!(refused, FolderError::Held { owner: None, .. }), "{refused:?}");
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let refused = StateFolder::claim(&file.join("state")).unwrap_err();
        assert!(matches!(refused, FolderError::Unusable { .. }), "{refused:?}");
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_the_folder() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/state");
        let folder = StateFolder::claim(&path).unwrap();
        folder.announce("127.0.0.1:1").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o700);
        for file in [LOCK, OWNER] {
            assert_eq!(mode(&path.join(file)), 0o600, "{file}");
        }
    }
}
