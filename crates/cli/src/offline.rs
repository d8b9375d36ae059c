//! What can be changed while no gateway runs: the settings file, and tokens (G7, G9). It refuses where
//! one does: that one is asked, so that both know the same.

use std::path::{Path, PathBuf};

use ekiden_config::edit::{Change, EditError, SettingsFile, value_from_text};
use ekiden_config::paths::{Platform, config_file, unquoted};
use ekiden_config::{CONFIG_VARIABLE, Config, Env, Loaded, ProcessEnv};
use ekiden_store::StateFolder;

use crate::args::Asking;
use crate::failure::Failure;
use crate::running::state_folder;
use crate::terminal::Terminal;

/// A state folder in which nobody runs, held so that nobody begins to.
pub(crate) struct Desk {
    folder: StateFolder,
    loaded: Option<Loaded>,
}

impl Desk {
    /// The desk, if no gateway was named and none runs.
    pub(crate) fn free(asking: &Asking) -> Option<Self> {
        if asking.url.is_some() {
            return None;
        }
        let loaded = Config::open(None, &ProcessEnv).ok();
        let path = state_folder(loaded.as_ref().map(|loaded| &*loaded.config))?;
        let folder = StateFolder::claim(&path).ok()?;
        Some(Self { folder, loaded })
    }

    /// Where the state is.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Whether there is a queue of that id; a file that cannot be used has none.
    pub(crate) fn has_queue(&self, id: &str) -> bool {
        self.loaded.as_ref().is_some_and(|loaded| loaded.config.queue(id).is_some())
    }

    /// Changes the settings file that `ekiden` would read, all or none, and says which that is.
    ///
    /// # Errors
    /// When there is no place for one, or a change does not fit.
    pub(crate) fn change(
        &self,
        terminal: &Terminal,
        changes: &[Wish<'_>],
    ) -> Result<PathBuf, Failure> {
        let path = settings_file().ok_or_else(|| no_home(terminal))?;
        // What was found in the environment is written down before it is changed.
        let found = self.loaded.as_ref().filter(|loaded| loaded.path.is_none());
        written(&path, changes, found.map(|loaded| &*loaded.config))
            .map_err(|error| told(terminal, &error))?;
        Ok(path)
    }
}

/// A change as it was typed.
#[derive(Clone, Copy)]
pub(crate) enum Wish<'a> {
    /// A key gets a value.
    Set {
        /// Which.
        key: &'a str,
        /// As text.
        value: &'a str,
    },
    /// Its default holds again.
    Unset {
        /// Which.
        key: &'a str,
    },
}

impl<'a> Wish<'a> {
    /// Which key it is about.
    pub(crate) const fn key(&self) -> &'a str {
        match *self {
            Self::Set { key, .. } | Self::Unset { key } => key,
        }
    }
}

/// Changes a settings file, whatever is wrong with it now, if nothing is afterwards.
///
/// # Errors
/// When a change does not fit, or the file would not be usable.
pub(crate) fn mend(terminal: &Terminal, path: &Path, changes: &[Wish<'_>]) -> Result<(), Failure> {
    written(path, changes, None).map_err(|error| told(terminal, &error))
}

/// The file that `ekiden` would read, whether it is there or not.
pub(crate) fn settings_file() -> Option<PathBuf> {
    let named = ProcessEnv.var(CONFIG_VARIABLE).map(|path| PathBuf::from(unquoted(&path)));
    named.or_else(|| config_file(&ProcessEnv, Platform::here()))
}

fn written(path: &Path, changes: &[Wish<'_>], found: Option<&Config>) -> Result<(), EditError> {
    let change = |wish: &Wish<'_>| {
        Ok(match *wish {
            Wish::Set { key, value } => {
                Change::Set { path: key.to_owned(), value: value_from_text(key, value)? }
            }
            Wish::Unset { key } => Change::Unset { path: key.to_owned() },
        })
    };
    let changes: Vec<Change> = changes.iter().map(change).collect::<Result<_, EditError>>()?;
    let file = SettingsFile::at(path);
    let seen = file.read().map_err(|why| EditError::Io { path: path.to_owned(), why })?.hash;
    file.change(&seen, &changes, &ProcessEnv, found).map(drop)
}

fn told(terminal: &Terminal, error: &EditError) -> Failure {
    let message = error.say(terminal.language);
    if matches!(error, EditError::Invalid(_)) {
        return Failure::Usage(message);
    }
    Failure::Trouble { message, hint: error.hint(terminal.language) }
}

fn no_home(terminal: &Terminal) -> Failure {
    Failure::trouble(terminal, &crate::settings::NoHome, Some(&crate::settings::NameIt))
}
