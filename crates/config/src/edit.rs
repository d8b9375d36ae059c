//! Changing the settings file as a person would (G7): one key, one queue, one candidate at a time.
//! Refuses to touch what it was not asked for: comments, order, line ends and links stay; and to
//! write over what somebody else has written since it was looked at.
//!
//! ```
//! use ekiden_config::edit::{Change, SettingsFile};
//! use ekiden_config::{FixedEnv, Value};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("config.toml");
//! # std::fs::write(&path, "# mine\n[defaults]\nretries = 1 # a few\n")?;
//! let file = SettingsFile::at(&path);
//! let seen = file.read()?.hash;
//! let change = Change::Set { path: "defaults.retries".into(), value: Value::Integer(3) };
//! let changed = file.change(&seen, &[change], &FixedEnv::new(), None)?;
//! assert_eq!(std::fs::read_to_string(&path)?, "# mine\n[defaults]\nretries = 3 # a few\n");
//! assert_ne!(changed.hash, seen);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod candidates;
mod document;
mod found;

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::check;
use crate::env::Env;
use crate::hindrance::Hindrance;
use crate::keys::{self, Group, Key, Kind, keys_of};
use crate::load::{Loaded, bounded, decoded};
use crate::mask;
use crate::mistake::{Absent, EditMistake, Misfit, Mistake};
use crate::paths::unquoted;
use crate::problem::{Problems, nearest};
use crate::replace::{self, Readers, ReplaceError};
use crate::say;
use crate::say::Language;
use crate::settings::Config;
use crate::value::Value;

/// One change. Ids are those of the file; an id of a queue stays when it is renamed (R1).
#[derive(Clone, PartialEq, Debug)]
pub enum Change {
    /// A key gets a value: `reset_hour`, `defaults.retries`, `providers.ID.base_url`,
    /// `queues.ID.wait_max`, `queues.ID.candidates.0.effort` (from 0), `aliases.PATTERN`,
    /// `prices.PROVIDER/MODEL`. Whether it fits is told by the parser, as of any file.
    Set {
        /// Which key.
        path: String,
        /// What it gets.
        value: Value,
    },
    /// A key, an alias, a price or a whole provider goes, and its default holds again.
    Unset {
        /// Which.
        path: String,
    },
    /// A new queue, at the end.
    AddQueue {
        /// What clients ask for.
        id: String,
        /// What people see; `None`: the id.
        name: Option<String>,
        /// `provider/model`, in order; may be empty (R1).
        routes: Vec<String>,
    },
    /// A queue goes, with its candidates and the aliases that lead to it; never the last one (R1).
    DeleteQueue {
        /// Which.
        id: String,
    },
    /// The queues get this order; the first is the first queue.
    OrderQueues {
        /// All of them.
        ids: Vec<String>,
    },
    /// A new candidate.
    AddCandidate {
        /// In which queue.
        queue: String,
        /// `provider/model`.
        route: String,
        /// Before which one, from 0; `None`: at the end.
        at: Option<usize>,
    },
    /// A candidate goes.
    RemoveCandidate {
        /// From which queue.
        queue: String,
        /// `provider/model`.
        route: String,
    },
    /// The candidates get this order (R2).
    OrderCandidates {
        /// Of which queue.
        queue: String,
        /// All of them.
        routes: Vec<String>,
    },
    /// An option of a candidate gets a value, or its default.
    SetCandidate {
        /// In which queue.
        queue: String,
        /// `provider/model`.
        route: String,
        /// `effort`, `max_sessions`, `idle_timeout`, …
        key: String,
        /// `None`: its default.
        value: Option<Value>,
    },
}

/// What a text is known by: its SHA-256. Not a secret, and enough as an `ETag`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TextHash(String);

/// The settings file, whether it is there or not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingsFile {
    path: PathBuf,
}

/// The file at one moment.
#[derive(Clone, PartialEq, Eq)]
pub struct Seen {
    /// Its bytes, keys and all: not to be shown. `None`: there is none.
    pub bytes: Option<Vec<u8>>,
    /// Their hash.
    pub hash: TextHash,
}

/// A change that is on the disk.
#[derive(Clone, Debug)]
pub struct Changed {
    /// What the file makes now.
    pub loaded: Loaded,
    /// The hash of its text.
    pub hash: TextHash,
}

/// Why the file was not changed. It is then as it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EditError {
    /// It is not what the caller saw: look again, then decide again.
    Conflict {
        /// What it is now.
        now: TextHash,
    },
    /// It cannot be written: change it by hand, or its permissions.
    ReadOnly {
        /// Which file.
        path: PathBuf,
        /// Why.
        why: Hindrance,
    },
    /// There is no such key, queue, provider or candidate.
    NoSuch(Mistake),
    /// The change makes no sense there: the last queue goes, a queue comes twice.
    Refused(Mistake),
    /// The parser refuses what would come of it; places are those of that text.
    Invalid(Problems),
    /// It cannot be read or written at all.
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        why: Hindrance,
    },
}

impl EditError {
    /// What is wrong; of a file that the parser refuses, all that refuses it, hints and all.
    #[must_use]
    pub fn say(&self, language: Language) -> String {
        match self {
            Self::Conflict { .. } => say!(
                language,
                "the settings file has changed since it was looked at",
                "设置文件在查看之后已被修改",
            ),
            Self::ReadOnly { path, why } => say!(
                language,
                "{path} cannot be written: {why}",
                "{path} 无法写入：{why}",
                path = path.display(),
                why = why.say(language),
            ),
            Self::NoSuch(mistake) | Self::Refused(mistake) => mistake.message(language),
            Self::Invalid(problems) => problems.say_errors(language),
            Self::Io { path, why } => say!(
                language,
                "{path}: {why}",
                "{path}：{why}",
                path = path.display(),
                why = why.say(language),
            ),
        }
    }

    /// What to do, where that is not always the same.
    #[must_use]
    pub fn hint(&self, language: Language) -> Option<String> {
        match self {
            Self::NoSuch(mistake) | Self::Refused(mistake) => mistake.hint(language),
            Self::Conflict { .. } | Self::ReadOnly { .. } | Self::Invalid(_) | Self::Io { .. } => {
                None
            }
        }
    }
}

impl fmt::Display for EditError {
    /// In English.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.say(Language::English))
    }
}

impl std::error::Error for EditError {}

impl From<Absent> for EditError {
    fn from(absent: Absent) -> Self {
        Self::NoSuch(absent.into())
    }
}

impl From<EditMistake> for EditError {
    fn from(mistake: EditMistake) -> Self {
        Self::Refused(mistake.into())
    }
}

impl From<Misfit> for EditError {
    fn from(misfit: Misfit) -> Self {
        Self::Refused(misfit.into())
    }
}

impl TextHash {
    /// Of a text; `None`: there is no file.
    #[must_use]
    pub fn of(bytes: Option<&[u8]>) -> Self {
        let Some(bytes) = bytes else {
            return Self("absent".to_owned());
        };
        let digest = Sha256::digest(bytes);
        Self(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// As it was shown before; whatever else was written matches no text.
    #[must_use]
    pub fn from_shown(shown: &str) -> Self {
        Self(shown.to_owned())
    }

    /// Lower-case hexadecimal digits, or `absent`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TextHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seen").field("hash", &self.hash).finish_non_exhaustive()
    }
}

impl SettingsFile {
    /// The file of that path; it is made by the first change where there is none.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it holds now.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub fn read(&self) -> Result<Seen, Hindrance> {
        let bytes = match bounded(&self.path) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        let hash = TextHash::of(bytes.as_deref());
        Ok(Seen { bytes, hash })
    }

    /// Why it cannot be written; `None`: it can, as far as that shows without writing it.
    #[must_use]
    pub fn read_only(&self) -> Option<Hindrance> {
        replace::read_only(&self.path)
    }

    /// Makes all of the changes, or none: `seen` is what the caller decided upon. `found` is the
    /// configuration that runs: where the file names neither providers nor queues and a change is
    /// about them, those that were found (G8) are written down first. When this returns, the file
    /// is on the disk.
    ///
    /// # Errors
    /// When the file has changed, cannot be written, or would not be usable.
    pub fn change(
        &self,
        seen: &TextHash,
        changes: &[Change],
        env: &dyn Env,
        found: Option<&Config>,
    ) -> Result<Changed, EditError> {
        if let Some(why) = self.read_only() {
            return Err(EditError::ReadOnly { path: self.path.clone(), why });
        }
        let failed = |why| EditError::Io { path: self.path.clone(), why };
        let before = self.read().map_err(failed)?;
        if before.hash != *seen {
            return Err(EditError::Conflict { now: before.hash });
        }
        let after = self.changed(&before, changes, env, found)?;
        let loaded =
            Config::of_bytes(&self.path, after.as_bytes(), env).map_err(EditError::Invalid)?;
        let hash = TextHash::of(Some(after.as_bytes()));
        let put = replace::replace(
            &self.path,
            before.bytes.as_deref(),
            after.as_bytes(),
            Readers::AsBefore,
        );
        match put {
            Ok(()) => Ok(Changed { loaded, hash }),
            Err(ReplaceError::Changed) => {
                Err(EditError::Conflict { now: self.read().map_err(failed)?.hash })
            }
            Err(ReplaceError::Io(source)) => Err(failed(source.into())),
        }
    }

    fn changed(
        &self,
        before: &Seen,
        changes: &[Change],
        env: &dyn Env,
        found: Option<&Config>,
    ) -> Result<String, EditError> {
        let bytes = before.bytes.as_deref().unwrap_or_default();
        let file = self.path.display().to_string();
        let text = decoded(bytes, &file).map_err(EditError::Invalid)?;
        let shape = Shape::of(text);
        let plain = shape.plain(text);
        let mut document: toml_edit::DocumentMut = match plain.parse() {
            Ok(document) => document,
            // The parser has the place and the words.
            Err(_) => {
                let problems = Config::of_bytes(&self.path, bytes, env).err();
                return Err(
                    problems.map_or_else(|| EditMistake::ByHandAlone.into(), EditError::Invalid)
                );
            }
        };
        for change in changes {
            document::make(&mut document, change, found)?;
        }
        Ok(shape.dress(&document.to_string()))
    }
}

/// What editors put around lines.
struct Shape {
    mark: bool,
    returns: bool,
}

impl Shape {
    fn of(text: &str) -> Self {
        let ends = text.matches('\n').count();
        let returns = text.matches("\r\n").count();
        Self { mark: text.starts_with('\u{feff}'), returns: returns * 2 > ends }
    }

    fn plain(&self, text: &str) -> String {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if self.returns { text.replace("\r\n", "\n") } else { text.to_owned() }
    }

    fn dress(&self, text: &str) -> String {
        let mark = if self.mark { "\u{feff}" } else { "" };
        let text = if self.returns { text.replace('\n', "\r\n") } else { text.to_owned() };
        format!("{mark}{text}")
    }
}

/// Where a path of a setting leads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Spot {
    /// A key of a section: its tables from the top, and the key.
    Key(Vec<String>, String),
    /// An option of a candidate: queue, place, key.
    Option(String, usize, String),
    /// A whole provider.
    Provider(String),
}

/// A path as it is looked up: quotes around it, or around a name in it as TOML has them, are not part
/// of it.
#[must_use]
pub fn plain_path(written: &str) -> Cow<'_, str> {
    let whole = unquoted(written);
    if !whole.contains(['"', '\'']) {
        return Cow::Borrowed(whole);
    }
    let mut plain = String::new();
    let mut rest = whole;
    while !rest.is_empty() {
        let quote = rest.chars().next().filter(|first| matches!(first, '"' | '\''));
        let quoted = quote.and_then(|quote| {
            let (name, behind) = rest[1..].split_once(quote)?;
            (behind.is_empty() || behind.starts_with('.')).then_some((name, behind))
        });
        let (name, behind) =
            quoted.unwrap_or_else(|| rest.split_at(rest.find('.').unwrap_or(rest.len())));
        plain.push_str(name);
        plain.push_str(&behind[..behind.len().min(1)]);
        rest = behind.strip_prefix('.').unwrap_or_default();
    }
    Cow::Owned(plain)
}

/// The key that a path such as `queues.default.retries` names, with bounds and words; `None`: there
/// is none, or it is an alias or a price.
#[must_use]
pub fn key_at(path: &str) -> Option<&'static Key> {
    let (groups, name) = place_of(path)?;
    groups.iter().flat_map(|group| keys_of(*group)).find(|key| key.name == name)
}

/// A value from text as people type it: `3`, `90s`, `true`, `a, b` or `["a", "b"]`.
///
/// # Errors
/// When the path names no key, or the text does not fit it: in words that need no file.
pub fn value_from_text(path: &str, text: &str) -> Result<Value, EditError> {
    let path = &*plain_path(path);
    if path.starts_with("aliases.") || path.starts_with("prices.") {
        return Ok(Value::Text(text.to_owned()));
    }
    let key = key_at(path).ok_or_else(|| no_key(path))?;
    match key.kind {
        Kind::Texts | Kind::Choices(_) | Kind::Candidates | Kind::SecretPairs => {
            list_from_text(key, text)
        }
        Kind::Span { .. } | Kind::Bytes { .. } | Kind::Bool | Kind::Integer { .. } => {
            Ok(check::text(key.name, key.kind, text.trim())?)
        }
        Kind::Text { .. }
        | Kind::Choice(_)
        | Kind::Secret
        | Kind::Variable
        | Kind::Path
        | Kind::Url
        | Kind::Proxy
        | Kind::Listen
        | Kind::Zone => {
            check::text(key.name, key.kind, text)?;
            Ok(Value::Text(text.to_owned()))
        }
    }
}

fn list_from_text(key: &Key, text: &str) -> Result<Value, EditError> {
    let refused = || EditError::from(Misfit::Form { name: key.name, kind: key.kind });
    let trimmed = text.trim();
    if trimmed.starts_with(['[', '{']) {
        let value: toml_edit::Value = trimmed.parse().map_err(|_| refused())?;
        return document::value_of(&value).ok_or_else(refused);
    }
    if key.kind == Kind::SecretPairs {
        return Err(refused());
    }
    let parts = trimmed.split([',', '\n']).map(str::trim).filter(|part| !part.is_empty());
    Ok(Value::Texts(parts.map(str::to_owned).collect()))
}

/// The groups of keys at a path's section, and the key's name.
fn place_of(path: &str) -> Option<(&'static [Group], &str)> {
    let Some((section, name)) = path.rsplit_once('.') else {
        return keys::section("").map(|section| (section.groups, path));
    };
    let known = match section.split_once('.') {
        None => keys::section(section),
        Some(("providers", _)) => keys::section("providers.ID"),
        Some(("queues", rest)) => match candidate_of(rest) {
            Some(_) => keys::section("queues.ID.candidates"),
            None => keys::section("queues.ID"),
        },
        Some(_) => None,
    };
    known.map(|known| (known.groups, name))
}

/// Queue and place of `ID.candidates.N`.
fn candidate_of(rest: &str) -> Option<(&str, usize)> {
    let (before, at) = rest.rsplit_once('.')?;
    let queue = before.strip_suffix(".candidates")?;
    Some((queue, at.parse().ok()?))
}

pub(crate) fn spot(path: &str) -> Result<Spot, EditError> {
    let path = &*plain_path(path);
    let owned = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect();
    for section in ["aliases", "prices"] {
        let name = path.strip_prefix(section).and_then(|rest| rest.strip_prefix('.'));
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            return Ok(Spot::Key(owned(&[section]), name.to_owned()));
        }
    }
    if key_at(path).is_none() {
        return match path.strip_prefix("providers.").filter(|id| !id.is_empty()) {
            Some(id) => Ok(Spot::Provider(id.to_owned())),
            None => Err(no_key(path)),
        };
    }
    let Some((section, name)) = path.rsplit_once('.') else {
        return Ok(Spot::Key(Vec::new(), path.to_owned()));
    };
    let name = name.to_owned();
    Ok(match section.split_once('.') {
        None => Spot::Key(owned(&[section]), name),
        Some((_, rest)) => match candidate_of(rest) {
            Some((queue, at)) => Spot::Option(queue.to_owned(), at, name),
            None => match section.split_once('.') {
                Some((kind, id)) => Spot::Key(owned(&[kind, id]), name),
                None => Spot::Key(owned(&[section]), name),
            },
        },
    })
}

fn no_key(path: &str) -> EditError {
    let near = place_of(path).and_then(|(groups, name)| {
        let names = groups.iter().flat_map(|group| keys_of(*group)).map(|key| key.name);
        let near = nearest(name, names)?;
        Some(format!("{}{near}", path.strip_suffix(name)?))
    });
    let section = path.split('.').next().unwrap_or_default();
    let near = near.or_else(|| {
        let tops = keys::SECTIONS.iter().filter_map(|known| known.path.split('.').next());
        let tops = tops.chain(keys_of(Group::Top).map(|key| key.name));
        nearest(section, tops.filter(|top| *top != section)).map(|near| format!("{near}…"))
    });
    Absent::Key { path: mask::shown(path).to_owned(), near }.into()
}
