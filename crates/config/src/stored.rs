//! Keys that were given to Ekiden to keep (G7). Refuses to show one: a key goes in through
//! [`StoredKeys::set`] and out to its provider alone.
//!
//! They stand in a file of the state folder that only its owner can read; on Windows the folder's
//! own rights, which a user's folders inherit, keep others out.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret, SecretString};
use toml::de::{DeTable, DeValue};

use crate::env::Env;
use crate::hindrance::Hindrance;
use crate::replace::{ReplaceError, replace_private};
use crate::say;
use crate::say::Language;
use crate::value::quoted;

/// The file's name in the state folder.
pub const KEYS_FILE: &str = "keys.toml";

/// A key is not longer, in bytes.
const KEY_BYTES_MAX: usize = 10_000;

/// Somebody else wrote so often in between.
const TRIES_MAX: usize = 100;

const HEAD: &str = "# Keys that were given to Ekiden, by provider. For its owner's eyes alone.\n";

/// Keys by provider.
#[derive(Clone, Debug, Default)]
pub struct StoredKeys {
    keys: BTreeMap<String, SecretString>,
}

/// Why keys were not read or not stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeysError {
    /// No key: give another.
    NoKey,
    /// No provider's id: name one.
    NoProvider(String),
    /// The file holds something else: mend it, or move it away.
    Damaged(PathBuf),
    /// It cannot be read or written: look at permissions and disk.
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        why: Hindrance,
    },
}

impl KeysError {
    /// In words.
    #[must_use]
    pub fn say(&self, language: Language) -> String {
        match self {
            Self::NoKey => say!(
                language,
                "a key is one word of 1 to 10,000 ASCII letters, digits and signs",
                "密钥是一个词，由 1 到 10,000 个 ASCII 字母、数字和符号组成",
            ),
            Self::NoProvider(id) => {
                say!(language, "`{id}` is no provider's id", "`{id}` 不是提供方的 id", id)
            }
            Self::Damaged(path) => say!(
                language,
                "{path} does not hold keys: write `provider = \"key\"`, one a line",
                "{path} 中不是密钥：请写 `provider = \"key\"`，每行一个",
                path = path.display(),
            ),
            Self::Io { path, why } => say!(
                language,
                "{path}: {why}",
                "{path}：{why}",
                path = path.display(),
                why = why.say(language),
            ),
        }
    }
}

impl fmt::Display for KeysError {
    /// In English.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.say(Language::English))
    }
}

impl std::error::Error for KeysError {}

/// Surroundings in which keys are stored.
#[derive(Clone, Copy)]
pub struct WithKeys<'a> {
    /// The variables.
    pub env: &'a dyn Env,
    /// The keys.
    pub keys: &'a StoredKeys,
}

impl Env for WithKeys<'_> {
    fn var(&self, name: &str) -> Option<String> {
        self.env.var(name)
    }

    fn stored_key(&self, provider: &str) -> Option<SecretString> {
        self.keys.keys.get(provider).cloned()
    }
}

impl StoredKeys {
    /// The keys of a state folder; none where there is no file. Others lose their right to read it.
    ///
    /// # Errors
    /// When the file cannot be read, or holds something else.
    pub fn open(state_folder: &Path) -> Result<Self, KeysError> {
        Ok(read(&state_folder.join(KEYS_FILE))?.1)
    }

    /// Stores a provider's key, in the place of the one before. It is on the disk when this
    /// returns.
    ///
    /// # Errors
    /// When it is no key, or the file cannot be read or written.
    pub fn set(state_folder: &Path, provider: &str, key: &SecretString) -> Result<(), KeysError> {
        let text = key.expose_secret().trim();
        let fits = !text.is_empty()
            && text.len() <= KEY_BYTES_MAX
            && text.chars().all(|c| c.is_ascii_graphic());
        if !fits {
            return Err(KeysError::NoKey);
        }
        if !crate::assemble::is_id(provider) {
            return Err(KeysError::NoProvider(crate::mask::shown(provider).to_owned()));
        }
        change(state_folder, |keys| {
            keys.insert(provider.to_owned(), SecretString::from(text));
            true
        })?;
        Ok(())
    }

    /// Forgets a provider's key. Whether there was one.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn forget(state_folder: &Path, provider: &str) -> Result<bool, KeysError> {
        change(state_folder, |keys| keys.remove(provider).is_some())
    }

    /// The providers whose keys are stored, in the order of their ids.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.keys.keys().map(String::as_str)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

/// Changes the keys, again if somebody else did meanwhile.
fn change(
    state_folder: &Path,
    act: impl Fn(&mut BTreeMap<String, SecretString>) -> bool,
) -> Result<bool, KeysError> {
    let path = state_folder.join(KEYS_FILE);
    let failed = |why| KeysError::Io { path: path.clone(), why };
    for _ in 0..TRIES_MAX {
        let (before, mut stored) = read(&path)?;
        if !act(&mut stored.keys) {
            return Ok(false);
        }
        let text = SecretString::from(written(&stored.keys));
        let bytes = text.expose_secret().as_bytes();
        let before = before.as_ref().map(|text| text.expose_secret().as_bytes());
        match replace_private(&path, before, bytes) {
            Ok(()) => return Ok(true),
            Err(ReplaceError::Changed) => {}
            Err(ReplaceError::Io(source)) => return Err(failed(source.into())),
        }
    }
    Err(failed(Hindrance::Busy))
}

fn read(path: &Path) -> Result<(Option<SecretString>, StoredKeys), KeysError> {
    let failed = |error: io::Error| KeysError::Io { path: path.to_owned(), why: error.into() };
    let text = match fs::read_to_string(path) {
        Ok(text) => SecretString::from(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok((None, StoredKeys::default()));
        }
        Err(error) => return Err(failed(error)),
    };
    make_private(path).map_err(failed)?;
    let damaged = || KeysError::Damaged(path.to_owned());
    let table = DeTable::parse(text.expose_secret()).map_err(|_| damaged())?;
    let mut keys = BTreeMap::new();
    for (provider, entry) in table.get_ref() {
        let DeValue::String(key) = entry.get_ref() else {
            return Err(damaged());
        };
        keys.insert(provider.get_ref().to_string(), SecretString::from(key.as_ref()));
    }
    Ok((Some(text), StoredKeys { keys }))
}

fn written(keys: &BTreeMap<String, SecretString>) -> String {
    let mut out = HEAD.to_owned();
    for (provider, key) in keys {
        out.push_str(&format!("{} = {}\n", quoted(provider), quoted(key.expose_secret())));
    }
    out
}

#[cfg(unix)]
fn make_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    if fs::metadata(path)?.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn make_private(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(folder: &Path, provider: &str) -> Option<String> {
        let keys = StoredKeys::open(folder).unwrap();
        let env = crate::FixedEnv::new();
        let around = WithKeys { env: &env, keys: &keys };
        around.stored_key(provider).map(|key| key.expose_secret().to_owned())
    }

    #[test]
    fn g07_a_key_is_stored_replaced_and_forgotten_and_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        assert!(StoredKeys::open(&state).unwrap().is_empty());
        for key in ["sk-first\n", "sk-\"second\\"] {
            StoredKeys::set(&state, "deepseek", &SecretString::from(key)).unwrap();
            assert_eq!(stored(&state, "deepseek").as_deref(), Some(key.trim()));
        }
        StoredKeys::set(&state, "a.b", &SecretString::from("x")).unwrap();
        let keys = StoredKeys::open(&state).unwrap();
        assert_eq!(keys.providers().collect::<Vec<_>>(), ["a.b", "deepseek"]);
        assert!(!format!("{keys:?}").contains("second"));
        assert!(StoredKeys::forget(&state, "a.b").unwrap());
        assert!(!StoredKeys::forget(&state, "a.b").unwrap());
        assert_eq!(stored(&state, "a.b"), None);
    }

    #[test]
    fn g07_what_is_no_key_is_refused_without_showing_it() {
        let folder = tempfile::tempdir().unwrap();
        for key in ["", "  ", "two words", "schlüssel"] {
            let refused =
                StoredKeys::set(folder.path(), "a", &SecretString::from(key)).unwrap_err();
            assert!(matches!(refused, KeysError::NoKey));
            assert!(!refused.to_string().contains("schlüssel"));
        }
        let refused = StoredKeys::set(folder.path(), "no id", &SecretString::from("x"));
        assert!(matches!(refused, Err(KeysError::NoProvider(_))));
        let path = folder.path().join(KEYS_FILE);
        fs::write(&path, "a = \"sk-half").unwrap();
        let damaged = StoredKeys::open(folder.path()).unwrap_err().to_string();
        assert!(!damaged.contains("sk-half"), "{damaged}");
        // A file that is not understood is not written over.
        assert!(StoredKeys::set(folder.path(), "b", &SecretString::from("x")).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "a = \"sk-half");
    }

    #[cfg(unix)]
    #[test]
    fn g07_only_the_owner_can_read_them() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(KEYS_FILE);
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        StoredKeys::set(folder.path(), "a", &SecretString::from("x")).unwrap();
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        StoredKeys::open(folder.path()).unwrap();
        assert_eq!(mode(), 0o600);
    }
}
