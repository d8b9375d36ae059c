//! Files: the configuration and keys. Writes none.

use std::fmt;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use secrecy::SecretString;
use toml::de::DeTable;

use crate::assemble;
use crate::env::Env;
use crate::hindrance::Hindrance;
use crate::mask::{self, Kept};
use crate::mistake::{FileMistake, KeyFault};
use crate::paths::{self, Platform, unquoted};
use crate::problem::{Draft, Problem, Problems, Severity, hinted, labelled};
use crate::read::Reader;
use crate::say;
use crate::say::Language;
use crate::settings::Config;
use crate::stored::{StoredKeys, WithKeys};

/// The variable that names the configuration file.
pub const CONFIG_VARIABLE: &str = "EKIDEN_CONFIG";

/// No configuration written by hand comes near it.
const FILE_MAX_BYTES: u64 = 4 << 20;

/// A configuration that holds, and what is to be said about it.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The configuration.
    pub config: Arc<Config>,
    /// What probably is not meant; no errors.
    pub warnings: Problems,
    /// The file it came from; `None`: the environment alone.
    pub path: Option<PathBuf>,
    /// Who says which providers and queues there are.
    pub queues: QueuesFrom,
}

/// Who says which providers and queues there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueuesFrom {
    /// The file.
    File,
    /// What was found (G8): there is no file, or it says nothing about them.
    Surroundings,
}

/// Why there is no configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LoadError {
    /// Somebody named a file that is not there: name another, or write it.
    Missing {
        /// The file.
        path: PathBuf,
        /// `--config` or a variable.
        named_by: &'static str,
    },
    /// It is there and cannot be read: mend its permissions, or the disk.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        why: Hindrance,
    },
    /// It was read and is refused: mend it.
    Invalid(Problems),
}

impl LoadError {
    /// As people read it, over several lines.
    #[must_use]
    pub fn say(&self, language: Language) -> String {
        let message = self.message(language);
        match self {
            Self::Missing { named_by, .. } => {
                let hint =
                    say!(language, "it was named by {named_by}", "它由 {named_by} 指定", named_by);
                labelled(Severity::Error, &message, language) + &hinted(&hint, language)
            }
            Self::Unreadable { .. } => labelled(Severity::Error, &message, language),
            Self::Invalid(_) => message,
        }
    }

    /// What is wrong; of a file that is refused, everything.
    #[must_use]
    pub fn message(&self, language: Language) -> String {
        match self {
            Self::Missing { path, .. } => {
                let path = path.display();
                say!(language, "there is no file {path}", "没有文件 {path}", path)
            }
            Self::Unreadable { path, why } => say!(
                language,
                "{path} cannot be read: {why}",
                "{path} 无法读取：{why}",
                path = path.display(),
                why = why.say(language),
            ),
            Self::Invalid(problems) => problems.say(language),
        }
    }
}

impl fmt::Display for LoadError {
    /// In English.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.say(Language::English))
    }
}

impl std::error::Error for LoadError {}

impl Loaded {
    /// The same with what was found on this machine (G8): see [`Config::with_local_server`].
    #[must_use]
    pub fn with_found(mut self, add: impl FnOnce(Config) -> Config) -> Self {
        if self.queues == QueuesFrom::Surroundings {
            let config = add(Arc::unwrap_or_clone(self.config));
            if !config.providers.is_empty() {
                self.warnings.list.retain(|it| !it.mistake.is_nothing_found());
            }
            self.config = Arc::new(config);
        }
        self
    }
}

impl Config {
    /// Reads a configuration from text; `file` is the name under which problems are shown.
    /// Relative paths in it stay relative.
    ///
    /// # Errors
    ///
    /// All problems of the text, warnings among them.
    pub fn parse(text: &str, file: &str, env: &dyn Env) -> Result<Loaded, Problems> {
        parse(text, file, None, env)
    }

    /// Makes a configuration of the environment alone (G8).
    ///
    /// # Errors
    ///
    /// When one of Ekiden's own variables does not fit.
    pub fn from_env(env: &dyn Env) -> Result<Loaded, Problems> {
        parse("", "environment", None, env)
    }

    /// Reads a file. Relative paths in it start at its folder.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or not be used.
    pub fn load(path: &Path, env: &dyn Env) -> Result<Loaded, LoadError> {
        let unreadable = |why| LoadError::Unreadable { path: path.to_owned(), why };
        let bytes = bounded(path).map_err(|error| unreadable(error.into()))?;
        Self::of_bytes(path, &bytes, env).map_err(LoadError::Invalid)
    }

    /// Reads the bytes of a file; `path` is where they stand, for places and relative paths.
    ///
    /// # Errors
    ///
    /// All problems of the text, warnings among them.
    pub fn of_bytes(path: &Path, bytes: &[u8], env: &dyn Env) -> Result<Loaded, Problems> {
        let file = path.display().to_string();
        let text = decoded(bytes, &file)?;
        let loaded = parse(text, &file, path.parent(), env)?;
        Ok(Loaded { path: Some(path.to_owned()), ..loaded })
    }

    /// As [`Config::find`], with the keys that are stored in the state folder (G7).
    ///
    /// # Errors
    ///
    /// When a file that was named is not there, or a file cannot be read or used.
    pub fn open(named: Option<&Path>, env: &dyn Env) -> Result<Loaded, LoadError> {
        let loaded = match Self::find(named, env) {
            Ok(loaded) => loaded,
            Err(LoadError::Invalid(problems)) => {
                return Err(told_with_keys(named, env).unwrap_or(LoadError::Invalid(problems)));
            }
            Err(error) => return Err(error),
        };
        let stored = match loaded.config.state_folder(env) {
            Some(folder) => StoredKeys::open(&folder),
            None => Ok(StoredKeys::default()),
        };
        match stored {
            Ok(keys) if keys.is_empty() => Ok(loaded),
            Ok(keys) => Self::find(named, &WithKeys { env, keys: &keys }),
            Err(error) => {
                let mut loaded = loaded;
                loaded.warnings.list.push(Problem {
                    severity: Severity::Warning,
                    place: None,
                    mistake: FileMistake::KeysUnused(error).into(),
                });
                Ok(loaded)
            }
        }
    }

    /// Where state is kept: as it was set, else the user's own folder. `None` when there is no home
    /// folder.
    #[must_use]
    pub fn state_folder(&self, env: &dyn Env) -> Option<PathBuf> {
        self.state_dir.clone().or_else(|| paths::state_dir(env, Platform::here()))
    }

    /// Finds the file: `named` (from `--config`), [`CONFIG_VARIABLE`], the user's own folder; where
    /// none is there, the environment (G8).
    ///
    /// # Errors
    ///
    /// When a file that was named is not there, or a file cannot be read or used.
    pub fn find(named: Option<&Path>, env: &dyn Env) -> Result<Loaded, LoadError> {
        let from_env = env.var(CONFIG_VARIABLE).map(|path| PathBuf::from(unquoted(&path)));
        let bare = |path: &Path| path.to_str().map(unquoted).map_or(path.to_owned(), PathBuf::from);
        let named = named
            .map(|path| (bare(path), "--config"))
            .or(from_env.map(|path| (path, CONFIG_VARIABLE)));
        if let Some((path, named_by)) = named {
            if !path.exists() {
                return Err(LoadError::Missing { path, named_by });
            }
            return Self::load(&path, env);
        }
        match paths::config_file(env, Platform::here()).filter(|path| path.exists()) {
            Some(path) => Self::load(&path, env),
            None => Self::from_env(env).map_err(LoadError::Invalid),
        }
    }
}

/// The bytes of a file that says how large it is, or not: a device has no end.
pub(crate) fn bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    no_pipe(path)?;
    std::fs::File::open(path)?.take(FILE_MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_MAX_BYTES {
        return Err(Hindrance::TooLarge.into());
    }
    Ok(bytes)
}

/// Refuses a pipe: to open one takes as long as nobody writes into it.
#[cfg(unix)]
pub(crate) fn no_pipe(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt as _;

    let is_pipe = std::fs::metadata(path).is_ok_and(|about| about.file_type().is_fifo());
    if is_pipe { Err(Hindrance::Pipe.into()) } else { Ok(()) }
}

/// There are none in the file system elsewhere.
#[cfg(not(unix))]
pub(crate) fn no_pipe(_: &Path) -> io::Result<()> {
    Ok(())
}

/// What is wrong with a configuration, without warnings about keys that are stored. A file that
/// cannot be used names no state folder: it is the variable's, else the user's own.
fn told_with_keys(named: Option<&Path>, env: &dyn Env) -> Option<LoadError> {
    let set = env.var("EKIDEN_STATE_DIR").map(|path| PathBuf::from(unquoted(&path)));
    let folder = set.or_else(|| paths::state_dir(env, Platform::here()))?;
    let keys = StoredKeys::open(&folder).ok().filter(|keys| !keys.is_empty())?;
    Config::find(named, &WithKeys { env, keys: &keys }).err()
}

pub(crate) fn parse(
    text: &str,
    file: &str,
    folder: Option<&Path>,
    env: &dyn Env,
) -> Result<Loaded, Problems> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (root, syntax) = DeTable::parse_recoverable(text);
    if !syntax.is_empty() {
        // What was recovered is a guess; problems found in it would only confuse.
        let drafts = syntax.iter().map(syntax_problem).collect();
        return Err(Problems::of(file, text, drafts));
    }
    let mut reader = Reader::new(text, folder, env);
    let config = assemble::config(&mut reader, root.get_ref());
    let problems = Problems::of(file, text, reader.problems);
    if problems.is_fatal() {
        return Err(problems);
    }
    let says = ["providers", "queues"].iter().any(|name| root.get_ref().contains_key(*name));
    let queues = if says { QueuesFrom::File } else { QueuesFrom::Surroundings };
    Ok(Loaded { config: Arc::new(config), warnings: problems, path: None, queues })
}

fn syntax_problem(error: &toml::de::Error) -> Draft {
    let (detail, _) = mask::line(error.message(), 0, Kept::BySecretKey);
    let mistake = FileMistake::Syntax { detail }.into();
    Draft { severity: Severity::Error, span: error.span(), mistake }
}

pub(crate) fn decoded<'b>(bytes: &'b [u8], file: &str) -> Result<&'b str, Problems> {
    let error = match std::str::from_utf8(bytes) {
        Ok(text) => return Ok(text),
        Err(error) => error,
    };
    let wide = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    let at = error.valid_up_to();
    let (span, mistake) =
        if wide { (None, FileMistake::Utf16) } else { (Some(at..at + 1), FileMistake::NotUtf8) };
    let draft = Draft { severity: Severity::Error, span, mistake: mistake.into() };
    Err(Problems::of(file, &String::from_utf8_lossy(bytes), vec![draft]))
}

/// A file with a key.
pub(crate) enum KeyFile {
    /// Only its owner can read it, as far as this system tells.
    Private(SecretString),
    /// Others can read it too.
    Shared(SecretString),
    /// There is no key in it.
    Unusable(KeyFault),
}

pub(crate) fn key_file(path: &Path) -> KeyFile {
    let text = match bounded(path).and_then(|bytes| io::read_to_string(&*bytes)) {
        Ok(text) => text,
        Err(error) => return KeyFile::Unusable(KeyFault::Unreadable(error.into())),
    };
    let key = text.trim();
    if key.is_empty() {
        return KeyFile::Unusable(KeyFault::Empty);
    }
    if !key.chars().all(|c| c.is_ascii_graphic()) {
        return KeyFile::Unusable(KeyFault::ManyWords);
    }
    let key = SecretString::from(key);
    if others_can_read(path) { KeyFile::Shared(key) } else { KeyFile::Private(key) }
}

#[cfg(unix)]
fn others_can_read(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o077 != 0)
}

/// Windows keeps others out of a user's folder by the folder's own rights.
#[cfg(not(unix))]
fn others_can_read(_: &Path) -> bool {
    false
}
