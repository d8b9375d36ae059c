//! Writing a small file so that it is whole at every instant. Refuses to write over what somebody
//! else has written meanwhile.
//!
//! The new text goes into a draft in the same folder, is brought to the disk, and takes the file's
//! place in one step; then the folder is brought to the disk. Where the system can exchange two
//! files, what stood there is looked at once more afterwards and put back if it was not what was
//! expected: an editor that saved in between loses nothing.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::hindrance::Hindrance;
#[cfg(unix)]
use crate::load::no_pipe;

/// Why a file was not written. It is then as it was.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceError {
    /// It is not as it was seen: look again.
    #[error("the file has changed meanwhile")]
    Changed,
    /// The system refuses: look at permissions and disk.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Who may read a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Readers {
    /// Whoever could read the one before; a new one is for its owner alone.
    AsBefore,
    /// Its owner alone.
    Owner,
}

/// Symbolic links in a row that are followed.
const LINKS_MAX: usize = 40;

/// Marks drafts, so that what a killed process left is known.
const DRAFT: &str = ".ekiden-draft-";

/// Writers of this process, one after the other.
static WRITERS: Mutex<()> = Mutex::new(());
static DRAFTS: AtomicU64 = AtomicU64::new(0);

/// Writes a file that only its owner can read, whole or not at all; `before` is what it is known to
/// hold, `None` where it is known not to exist. When it returns, the text is on the disk.
///
/// # Errors
/// When the file holds something else by now, or cannot be written.
pub fn replace_private(
    path: &Path,
    before: Option<&[u8]>,
    text: &[u8],
) -> Result<(), ReplaceError> {
    replace(path, before, text, Readers::Owner)
}

pub(crate) fn replace(
    path: &Path,
    before: Option<&[u8]>,
    text: &[u8],
    readers: Readers,
) -> Result<(), ReplaceError> {
    let target = resolved(path)?;
    let folder = folder_of(&target);
    make_private_folder(folder)?;
    let _turn = WRITERS.lock().unwrap_or_else(PoisonError::into_inner);
    let _lock = lock(&target)?;
    expect(&target, before)?;
    if before.is_some() {
        sweep(folder, &target);
    }
    let draft = draft_of(&target);
    let done = write_draft(&draft, &target, text, readers)
        .map_err(ReplaceError::Io)
        .and_then(|()| expect(&target, before))
        .and_then(|()| put(&draft, &target, before));
    // Where it was renamed there is none left.
    let _ = fs::remove_file(&draft);
    done?;
    sync_folder(folder)?;
    Ok(())
}

/// The file that a path leads to, through symbolic links, whether it is there or not.
pub(crate) fn resolved(path: &Path) -> io::Result<PathBuf> {
    let mut at = path.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::symlink_metadata(&at) {
            Ok(about) if about.file_type().is_symlink() => {
                let to = fs::read_link(&at)?;
                at = folder_of(&at).join(to);
            }
            Ok(_) | Err(_) => return Ok(at),
        }
    }
    Err(Hindrance::LinkCircle.into())
}

/// Why a file cannot be written, as far as that shows without writing it.
pub(crate) fn read_only(path: &Path) -> Option<Hindrance> {
    let target = match resolved(path) {
        Ok(target) => target,
        Err(error) => return Some(error.into()),
    };
    if let Ok(about) = fs::metadata(&target) {
        if about.is_dir() {
            return Some(Hindrance::Folder);
        }
        if about.permissions().readonly() {
            return Some(Hindrance::Permissions);
        }
    }
    let folder = nearest_folder(&target);
    let probe = folder.join(format!("{DRAFT}{}", unique()));
    let made = OpenOptions::new().write(true).create_new(true).open(&probe);
    let _ = fs::remove_file(&probe);
    made.err().map(|error| Hindrance::FolderShut {
        folder: folder.to_owned(),
        why: Box::new(error.into()),
    })
}

fn expect(target: &Path, before: Option<&[u8]>) -> Result<(), ReplaceError> {
    let now = match fs::read(target) {
        Ok(now) => Some(now),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    if now.as_deref() == before { Ok(()) } else { Err(ReplaceError::Changed) }
}

fn write_draft(draft: &Path, target: &Path, text: &[u8], readers: Readers) -> io::Result<()> {
    let mut file = private_new(draft)?;
    file.write_all(text)?;
    if let (Readers::AsBefore, Ok(about)) = (readers, fs::metadata(target)) {
        // Who owns it cannot always be kept, and then who runs this does.
        same_owner(&file, &about);
        file.set_permissions(about.permissions())?;
    }
    file.sync_all()
}

/// Puts the draft in the file's place.
fn put(draft: &Path, target: &Path, before: Option<&[u8]>) -> Result<(), ReplaceError> {
    let Some(before) = before else {
        // Unlike a rename, a link refuses where there is a file by now.
        return match fs::hard_link(draft, target) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(ReplaceError::Changed)
            }
            Err(_) => Ok(fs::rename(draft, target)?),
        };
    };
    if !exchange(draft, target)? {
        return Ok(fs::rename(draft, target)?);
    }
    if fs::read(draft)? == before {
        return Ok(());
    }
    exchange(draft, target)?;
    Err(ReplaceError::Changed)
}

/// Exchanges two files in one step. False: this system, or this disk, cannot.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn exchange(one: &Path, other: &Path) -> io::Result<bool> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(true),
        Err(Errno::NOSYS | Errno::INVAL | Errno::NOTSUP | Errno::PERM) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The check right before the rename has to do.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn exchange(_: &Path, _: &Path) -> io::Result<bool> {
    Ok(false)
}

/// Holds off other processes of ours. The file itself is locked: its lock goes with it when it is
/// replaced, and who waited for it then sees that it has changed.
#[cfg(unix)]
fn lock(target: &Path) -> io::Result<Option<File>> {
    no_pipe(target)?;
    match File::open(target) {
        Ok(file) => file.lock().map(|()| Some(file)),
        // Who is first to make it is found out when it is put in place.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Locks are binding there, so that an editor could not read a locked file: one beside it is locked.
#[cfg(not(unix))]
fn lock(target: &Path) -> io::Result<Option<File>> {
    let name = format!(".{}.ekiden-lock", name_of(target));
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(folder_of(target).join(name))?;
    file.lock()?;
    Ok(Some(file))
}

/// Drafts that a killed process left. Whoever writes holds the lock, so that none is in use.
fn sweep(folder: &Path, target: &Path) {
    let ours = format!("{DRAFT}{}-", name_of(target));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&ours) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn draft_of(target: &Path) -> PathBuf {
    folder_of(target).join(format!("{DRAFT}{}-{}", name_of(target), unique()))
}

fn unique() -> String {
    format!("{}-{}", std::process::id(), DRAFTS.fetch_add(1, Ordering::Relaxed))
}

fn name_of(target: &Path) -> String {
    target.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    }
}

/// The first folder above that is there.
fn nearest_folder(path: &Path) -> &Path {
    let mut at = folder_of(path);
    while !at.exists() {
        at = folder_of(at);
        if at == Path::new(".") {
            break;
        }
    }
    at
}

#[cfg(unix)]
fn private_new(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// The folder's rights are inherited there.
#[cfg(not(unix))]
fn private_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

#[cfg(unix)]
fn make_private_folder(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(not(unix))]
fn make_private_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

#[cfg(unix)]
fn same_owner(file: &File, about: &fs::Metadata) {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    let _ = fchown(file, Some(about.uid()), Some(about.gid()));
}

#[cfg(not(unix))]
fn same_owner(_: &File, _: &fs::Metadata) {}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// A folder cannot be opened there; the file system keeps its own log.
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|name| !name.ends_with(".ekiden-lock"))
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_written_only_over_what_was_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep").join("file");
        replace(&path, None, b"one", Readers::AsBefore).unwrap();
        let changed = replace(&path, None, b"two", Readers::AsBefore);
        assert!(matches!(changed, Err(ReplaceError::Changed)), "{changed:?}");
        let changed = replace(&path, Some(b"zero"), b"two", Readers::AsBefore);
        assert!(matches!(changed, Err(ReplaceError::Changed)), "{changed:?}");
        replace(&path, Some(b"one"), b"two", Readers::AsBefore).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(names(path.parent().unwrap()), ["file"]);
    }

    #[test]
    fn what_stood_there_in_between_is_put_back() {
        let folder = tempfile::tempdir().unwrap();
        let (draft, target) = (folder.path().join("draft"), folder.path().join("target"));
        fs::write(&draft, "ours").unwrap();
        fs::write(&target, "an editor's").unwrap();
        let can = exchange(&draft, &target).unwrap();
        if !can {
            return;
        }
        exchange(&draft, &target).unwrap();
        let put = put(&draft, &target, Some(b"what we saw"));
        assert!(matches!(put, Err(ReplaceError::Changed)), "{put:?}");
        assert_eq!(fs::read(&target).unwrap(), b"an editor's");
    }

    #[test]
    fn drafts_of_the_dead_are_swept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "one").unwrap();
        fs::write(folder.path().join(".ekiden-draft-file-1-1"), "half").unwrap();
        replace(&path, Some(b"one"), b"two", Readers::AsBefore).unwrap();
        assert_eq!(names(folder.path()), ["file"]);
    }

    #[test]
    fn many_writers_never_lose_each_others_change() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "").unwrap();
        let add = |mark: &str| {
            loop {
                let before = fs::read(&path).unwrap();
                let after = [before.as_slice(), mark.as_bytes()].concat();
                match replace(&path, Some(&before), &after, Readers::AsBefore) {
                    Ok(()) => return,
                    Err(ReplaceError::Changed) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        };
        std::thread::scope(|scope| {
            for mark in ["a", "b", "c", "d"] {
                let add = &add;
                scope.spawn(move || (0..25).for_each(|_| add(mark)));
            }
        });
        let text = fs::read_to_string(&path).unwrap();
        for mark in ["a", "b", "c", "d"] {
            assert_eq!(text.matches(mark).count(), 25, "{text}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_owners_and_permissions_are_kept() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("dotfiles");
        fs::create_dir(&real).unwrap();
        fs::write(real.join("real"), "one").unwrap();
        fs::set_permissions(real.join("real"), fs::Permissions::from_mode(0o640)).unwrap();
        let link = folder.path().join("link");
        symlink("dotfiles/real", &link).unwrap();
        replace(&link, Some(b"one"), b"two", Readers::AsBefore).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().file_type().is_symlink());
        assert_eq!(fs::read(real.join("real")).unwrap(), b"two");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&real.join("real")), 0o640);
        replace_private(&link, Some(b"two"), b"three").unwrap();
        assert_eq!(mode(&real.join("real")), 0o600);
        let dangling = folder.path().join("dangling");
        symlink("dotfiles/new", &dangling).unwrap();
        replace(&dangling, None, b"new", Readers::AsBefore).unwrap();
        assert_eq!(fs::read(real.join("new")).unwrap(), b"new");
        assert_eq!(mode(&real.join("new")), 0o600);
    }

    #[test]
    fn g07_a_file_that_cannot_be_written_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        assert_eq!(read_only(&path), None);
        fs::write(&path, "one").unwrap();
        assert_eq!(read_only(&path), None);
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions).unwrap();
        assert_eq!(read_only(&path), Some(Hindrance::Permissions));
        assert_eq!(read_only(folder.path()), Some(Hindrance::Folder));
        assert_eq!(names(folder.path()), ["file"]);
    }
}
