//! The settings of a gateway that runs (G7, G8): taken anew when their file changes, and written.
//!
//! It refuses to run on what does not hold: after a bad edit the last good settings stay, and every
//! place that shows settings says so. It refuses to act on half an edit: a file is taken when it
//! was the same in two looks, or when somebody asks for it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ekiden_config::edit::{Change, EditError, SettingsFile, TextHash};
use ekiden_config::{
    Config, Credential, Env, Hindrance, KEYS_FILE, KeysError, Language, Loaded, LogLevel, Problems,
    StoredKeys, WithKeys, say,
};
use ekiden_store::{Bounds, What};
use secrecy::SecretString;
use sha2::{Digest, Sha256};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use crate::clock::Calendar;
use crate::core::Core;
use crate::front::{Stage, reached, reload_signal};

/// Between two looks at the file.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Adds what was found on this machine to a configuration.
pub type Find = Arc<dyn Fn(Config) -> Config + Send + Sync>;

/// Hears what became of a change, and the least severe lines that the settings which run want to be
/// written. It must not ask for the settings.
pub type Tell = Arc<dyn Fn(&SettingsTold, LogLevel) + Send + Sync>;

/// Where settings come from while the gateway runs.
#[derive(Clone)]
pub struct SettingsSource {
    /// The file, whether it is there or not.
    pub file: PathBuf,
    /// The folder of the stored keys; `None`: none are kept.
    pub keys: Option<PathBuf>,
    /// The variables, those that stand in for options among them.
    pub env: Arc<dyn Env + Send + Sync>,
    /// What is added to a configuration whose queues come from no file: the servers found on this
    /// machine.
    pub found: Option<Find>,
    /// Where what becomes of a change is told, for a line of the log.
    pub tell: Option<Tell>,
}

/// What became of a change.
#[derive(Clone, Debug)]
pub enum SettingsTold {
    /// It holds now; with what probably is not meant.
    Taken(Problems),
    /// It cannot be used: the last good settings hold.
    Refused(Problems),
}

/// How the settings stand.
#[derive(Clone, Debug)]
pub struct SettingsStatus {
    /// Their file, whether it is there or not; `None`: they were given and have none.
    pub file: Option<PathBuf>,
    /// The hash of its text as it runs: the precondition of a write.
    pub hash: TextHash,
    /// When they were taken, in Unix milliseconds.
    pub since_ms: u64,
    /// Why the newest edit is not used; the last good one holds.
    pub refused: Option<Problems>,
    /// Why the file cannot be written from here (G7).
    pub read_only: Option<Hindrance>,
    /// Keys whose new value holds after the next start alone.
    pub after_restart: Vec<&'static str>,
}

/// Why a key was not stored.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// There is no folder to keep it in: set a state folder.
    #[error("there is no state folder to keep keys in")]
    NoFolder,
    /// The file refuses.
    #[error(transparent)]
    Keys(#[from] KeysError),
}

impl KeyError {
    /// In words.
    #[must_use]
    pub fn say(&self, language: Language) -> String {
        match self {
            Self::NoFolder => {
                say!(
                    language,
                    "there is no state folder to keep keys in",
                    "没有可保存密钥的状态文件夹"
                )
            }
            Self::Keys(error) => error.say(language),
        }
    }
}

/// The settings that run, and where they come from.
#[derive(Debug)]
pub(crate) struct Settings {
    source: Option<SettingsSource>,
    /// What the sockets and the store were made with.
    began_with: Arc<Config>,
    held: Mutex<Held>,
}

#[derive(Debug)]
struct Held {
    hash: TextHash,
    since_ms: u64,
    refused: Option<Problems>,
    read_only: Option<Hindrance>,
    after_restart: Vec<&'static str>,
    /// What was decided upon last.
    decided: Option<Print>,
    /// What was seen since, and may be half an edit.
    seen: Option<Print>,
}

/// What everything that settings are made of looks like.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Print {
    file: TextHash,
    /// Stored keys and files with keys.
    keys: TextHash,
}

/// What is taken only after two looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Hurry {
    WhenSettled,
    Now,
}

impl fmt::Debug for SettingsSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SettingsSource").field("file", &self.file).finish_non_exhaustive()
    }
}

impl SettingsSource {
    fn stored(&self) -> Result<StoredKeys, KeysError> {
        self.keys.as_deref().map_or_else(|| Ok(StoredKeys::default()), StoredKeys::open)
    }

    /// What a text of the file makes, with the keys that are stored.
    fn load(&self, bytes: Option<&[u8]>) -> Result<Loaded, Problems> {
        // Keys that cannot be read are told as missing ones.
        let keys = self.stored().unwrap_or_default();
        let around = WithKeys { env: &*self.env, keys: &keys };
        let loaded = match bytes {
            Some(bytes) => Config::of_bytes(&self.file, bytes, &around)?,
            None => Config::from_env(&around)?,
        };
        Ok(match &self.found {
            Some(found) => loaded.with_found(|config| found(config)),
            None => loaded,
        })
    }

    fn print(&self, file: TextHash, config: &Config) -> Print {
        let mut digest = Sha256::new();
        let mut add = |path: &Path| {
            let bytes = std::fs::read(path).unwrap_or_default();
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(bytes);
        };
        if let Some(folder) = &self.keys {
            add(&folder.join(KEYS_FILE));
        }
        for provider in &config.providers {
            if let Credential::File(path) = &provider.credential {
                add(path);
            }
        }
        Print { file, keys: TextHash::of(Some(digest.finalize().as_slice())) }
    }
}

impl Settings {
    /// The settings that a gateway begins with.
    pub(crate) fn new(source: Option<SettingsSource>, config: Arc<Config>, now_ms: u64) -> Self {
        let file = source.as_ref().map(|source| SettingsFile::at(&source.file));
        let hash = file.as_ref().and_then(|file| file.read().ok()).map(|seen| seen.hash);
        let hash = hash.unwrap_or_else(|| TextHash::of(None));
        let held = Held {
            since_ms: now_ms,
            refused: None,
            read_only: file.as_ref().and_then(SettingsFile::read_only),
            after_restart: Vec::new(),
            // The file may have changed since it was loaded: it is looked at anew.
            decided: None,
            seen: None,
            hash,
        };
        Self { source, began_with: config, held: Mutex::new(held) }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // Each change of it is whole.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn status(&self) -> SettingsStatus {
        let held = self.held();
        SettingsStatus {
            file: self.source.as_ref().map(|source| source.file.clone()),
            hash: held.hash.clone(),
            since_ms: held.since_ms,
            refused: held.refused.clone(),
            read_only: held.read_only.clone(),
            after_restart: held.after_restart.clone(),
        }
    }
}

impl Core {
    /// How the settings stand.
    #[must_use]
    pub fn settings(&self) -> SettingsStatus {
        self.settings.status()
    }

    /// Takes the settings anew if they have changed. It waits for the disk.
    ///
    /// # Errors
    /// Why they cannot be used; the last good ones hold.
    pub fn reload_settings(&self) -> Result<(), Problems> {
        self.look_at_settings(Hurry::Now);
        self.settings.held().refused.clone().map_or(Ok(()), Err)
    }

    /// Changes the settings file, all of the changes or none, and takes what comes of it. `seen` is
    /// the hash of what the caller decided upon. When it returns, the file is on the disk and new
    /// calls run on it. It waits for the disk.
    ///
    /// # Errors
    /// When the file has changed, cannot be written, or would not be usable.
    pub fn change_settings(
        &self,
        seen: &TextHash,
        changes: &[Change],
    ) -> Result<TextHash, EditError> {
        let Some(source) = &self.settings.source else {
            return Err(EditError::ReadOnly { path: PathBuf::new(), why: Hindrance::NoFile });
        };
        let running = Arc::clone(self.plan().config());
        let keys = source.stored().unwrap_or_default();
        let around = WithKeys { env: &*source.env, keys: &keys };
        let file = SettingsFile::at(&source.file);
        let changed = file.change(seen, changes, &around, Some(&running));
        // Another writer, or a file that is not writable any more: both are seen here first.
        self.look_at_settings(Hurry::Now);
        Ok(changed?.hash)
    }

    /// Stores a provider's key in the owner-only file of the state folder and uses it from now on
    /// where no variable and no file gives one (G7). It waits for the disk.
    ///
    /// # Errors
    /// When it is no key, or cannot be stored.
    pub fn store_key(&self, provider: &str, key: &SecretString) -> Result<(), KeyError> {
        StoredKeys::set(self.keys_folder()?, provider, key)?;
        self.look_at_settings(Hurry::Now);
        Ok(())
    }

    /// Forgets a provider's stored key. Whether there was one. It waits for the disk.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn forget_key(&self, provider: &str) -> Result<bool, KeyError> {
        let there_was = StoredKeys::forget(self.keys_folder()?, provider)?;
        self.look_at_settings(Hurry::Now);
        Ok(there_was)
    }

    fn keys_folder(&self) -> Result<&Path, KeyError> {
        let source = self.settings.source.as_ref();
        source.and_then(|source| source.keys.as_deref()).ok_or(KeyError::NoFolder)
    }

    /// Looks at all that settings are made of, and takes it if it has changed.
    fn look_at_settings(&self, hurry: Hurry) {
        let Some(source) = &self.settings.source else { return };
        let mut held = self.settings.held();
        let file = SettingsFile::at(&source.file);
        let seen = match file.read() {
            Ok(seen) => seen,
            Err(why) => {
                let problems = Problems::unreadable(&source.file, why);
                return self.refuse(&mut held, None, problems);
            }
        };
        let print = source.print(seen.hash.clone(), self.plan().config());
        if held.decided.as_ref() == Some(&print) {
            held.seen = None;
            return;
        }
        if hurry == Hurry::WhenSettled && held.seen.as_ref() != Some(&print) {
            held.seen = Some(print);
            return;
        }
        if seen.bytes.is_none() && held.hash != seen.hash {
            // Editors take a file away for a moment; whoever means it says so by a restart.
            return self.refuse(&mut held, Some(print), Problems::gone(&source.file));
        }
        match source.load(seen.bytes.as_deref()) {
            Ok(loaded) => {
                held.read_only = file.read_only();
                self.take(&mut held, source, seen.hash, loaded);
            }
            Err(problems) => self.refuse(&mut held, Some(print), problems),
        }
    }

    fn take(&self, held: &mut Held, source: &SettingsSource, hash: TextHash, loaded: Loaded) {
        let Loaded { config, warnings, .. } = loaded;
        // Which files hold keys is known from the new settings alone.
        held.decided = Some(source.print(hash.clone(), &config));
        held.seen = None;
        let was_refused = held.refused.take().is_some();
        let running = Arc::clone(self.plan().config());
        let same = running.digest() == config.digest() && same_keys(&running, &config);
        held.hash = hash;
        if same && !was_refused {
            return;
        }
        held.since_ms = self.clock.now().wall_ms;
        held.after_restart = after_restart(&self.settings.began_with, &config);
        self.reload(config);
        self.note(None, What::SettingsTaken);
        self.tell_of_settings(&SettingsTold::Taken(warnings));
    }

    fn refuse(&self, held: &mut Held, print: Option<Print>, problems: Problems) {
        let told = held.refused.as_ref() == Some(&problems);
        if print.is_some() {
            held.decided = print;
        }
        held.seen = None;
        if told {
            return;
        }
        let first = problems.first_error();
        let place = first.and_then(|problem| problem.place.as_ref()).map_or_else(
            || problems.file.clone(),
            |at| format!("{}:{}:{}", problems.file, at.line, at.column),
        );
        // The journal is kept, and read in any language.
        let told = |language| first.map(|one| one.mistake.message(language)).unwrap_or_default();
        let (message, chinese) = (told(Language::English), told(Language::Chinese));
        let code = first.map_or("", |one| one.mistake.code()).into();
        held.refused = Some(problems.clone());
        self.note(None, What::SettingsRefused { place: place.into(), code, message, chinese });
        self.changed_settings();
        self.tell_of_settings(&SettingsTold::Refused(problems));
    }

    fn tell_of_settings(&self, told: &SettingsTold) {
        if let Some(tell) = self.settings.source.as_ref().and_then(|source| source.tell.as_ref()) {
            tell(told, self.plan().config().log);
        }
    }

    /// What is not part of a plan: the day, and how much is kept.
    pub(crate) fn keep_by(&self, config: &Config) {
        self.clock.keep_days_by(Calendar::new(config.time_zone.as_deref(), config.reset_hour));
        self.store().bound(bounds(config));
    }
}

/// How much a store keeps under these settings.
#[must_use]
pub fn bounds(config: &Config) -> Bounds {
    let journal_max = if config.journal.enabled { config.journal.entries_max as usize } else { 0 };
    Bounds { journal_max, ..Bounds::default() }
}

/// Looks at the settings until the end begins, and whenever the system asks for it.
pub(crate) async fn watch(core: Arc<Core>, mut stage: watch::Receiver<Stage>) {
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let hurry = tokio::select! {
            biased;
            () = reached(&mut stage, Stage::Draining) => return,
            () = reload_signal() => Hurry::Now,
            _ = looks.tick() => Hurry::WhenSettled,
        };
        let looking = Arc::clone(&core);
        // A look that panicked is made again a second later.
        let _ = core.tasks().blocking(move || looking.look_at_settings(hurry)).await;
    }
}

/// The keys that take no part in a digest.
fn same_keys(one: &Config, other: &Config) -> bool {
    use secrecy::ExposeSecret as _;
    let shown = |secret: &SecretString| secret.expose_secret().to_owned();
    one.providers.len() == other.providers.len()
        && one.providers.iter().zip(&other.providers).all(|(one, other)| {
            let headers = |provider: &ekiden_config::Provider| -> Vec<String> {
                provider.headers.iter().map(|(_, value)| shown(value)).collect()
            };
            one.key.as_ref().map(shown) == other.key.as_ref().map(shown)
                && headers(one) == headers(other)
        })
}

fn after_restart(began_with: &Config, now: &Config) -> Vec<&'static str> {
    [
        ("listen", began_with.listen != now.listen),
        ("state_dir", began_with.state_dir != now.state_dir),
        ("limits.sessions_max", began_with.limits.sessions_max != now.limits.sessions_max),
    ]
    .into_iter()
    .filter_map(|(key, differs)| differs.then_some(key))
    .collect()
}
