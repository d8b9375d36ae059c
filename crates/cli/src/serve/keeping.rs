//! What a gateway keeps while it runs and after: the state folder, and the settings file that it
//! watches. It refuses to start beside another process on the same folder.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use ekiden_config::paths::{Platform, config_file};
use ekiden_config::{Config, Env, Language, Loaded, LogLevel, ProcessEnv};
use ekiden_gateway::settings::{SettingsSource, SettingsTold};
use ekiden_gateway::state::{self, Keeping, Kept, OwnedElsewhere};
use ekiden_gateway::tokens::ClientTokens;
use ekiden_gateway::{CoreOptions, Proxies};

use super::WithListen;
use crate::failure::Failure;
use crate::terminal::{Say, Terminal};

/// Takes the state folder.
///
/// # Errors
/// When another process has it.
pub(super) fn open(terminal: &Terminal, loaded: &Loaded, env: &dyn Env) -> Result<Kept, Failure> {
    let folder = loaded.config.state_folder(env);
    state::open(folder.as_deref(), &loaded.config).map_err(|owned| {
        let hint = TalkToIt(&owned);
        Failure::trouble(terminal, &owned, Some(&hint))
    })
}

/// Says where this process listens, for those who find the folder taken.
pub(super) fn announce(kept: &Kept, addr: SocketAddr) {
    if let Some(folder) = &kept.folder {
        // A folder that takes no file says so in its store already.
        let _ = folder.announce(&addr.to_string());
    }
}

/// What the gateway runs on.
///
/// # Errors
/// When the tokens of its clients cannot be read.
pub(super) fn options(
    terminal: &Terminal,
    kept: &Kept,
    source: Option<SettingsSource>,
) -> Result<CoreOptions, Failure> {
    let tokens = match &kept.folder {
        Some(folder) => ClientTokens::open(folder.path()).map_err(|error| Failure::Trouble {
            message: error.say(terminal.language),
            hint: None,
        })?,
        None => ClientTokens::default(),
    };
    Ok(CoreOptions {
        proxies: Proxies::from_env(&ProcessEnv),
        store: kept.store.clone(),
        keeping: kept.keeping.clone(),
        tokens: Some(Arc::new(tokens)),
        settings: source,
        ..CoreOptions::default()
    })
}

/// Where settings come from from now on. `None`: there is no home in which a file could appear.
pub(super) fn source(
    terminal: &Terminal,
    loaded: &Loaded,
    env: WithListen,
    found: impl Fn(Config) -> Config + Send + Sync + 'static,
) -> Option<SettingsSource> {
    let file = loaded.path.clone().or_else(|| config_file(&env, Platform::here()))?;
    let terminal = terminal.clone();
    let tell = move |told: &SettingsTold, level: LogLevel| {
        let severity = match told {
            SettingsTold::Taken(_) => LogLevel::Info,
            SettingsTold::Refused(_) => LogLevel::Warn,
        };
        if severity > level {
            return;
        }
        // Whoever read the log may be gone.
        let _ = terminal.complain(&terminal.say(&Told(told)));
    };
    Some(SettingsSource {
        file: absolute(file),
        keys: loaded.config.state_folder(&env),
        env: Arc::new(env),
        found: Some(Arc::new(found)),
        tell: Some(Arc::new(tell)),
    })
}

/// For people who look elsewhere than where this process was started.
fn absolute(file: PathBuf) -> PathBuf {
    std::path::absolute(&file).unwrap_or(file)
}

/// Where records go.
pub(super) struct Where<'a>(pub(super) &'a Keeping);

impl Say for Where<'_> {
    fn english(&self) -> String {
        match (&self.0.folder, &self.0.why_not) {
            (Some(folder), _) => format!("state in {}", folder.display()),
            (None, Some(why)) => {
                format!("nothing outlives this process: {}", why.say(Language::English))
            }
            (None, None) => "nothing outlives this process".to_owned(),
        }
    }

    fn chinese(&self) -> String {
        match (&self.0.folder, &self.0.why_not) {
            (Some(folder), _) => format!("状态保存在 {}", folder.display()),
            (None, Some(why)) => {
                format!("进程结束后不保留任何状态：{}", why.say(Language::Chinese))
            }
            (None, None) => "进程结束后不保留任何状态".to_owned(),
        }
    }
}

impl Say for OwnedElsewhere {
    fn english(&self) -> String {
        let at = self.address.as_ref().map(|at| format!(" at http://{at}")).unwrap_or_default();
        format!("an Ekiden{at} already runs on the state folder {}", self.folder.display())
    }

    fn chinese(&self) -> String {
        let at = self.address.as_ref().map(|at| format!("（http://{at}）")).unwrap_or_default();
        format!("另一个 Ekiden{at} 正在使用状态文件夹 {}", self.folder.display())
    }
}

/// What to do about it.
struct TalkToIt<'a>(&'a OwnedElsewhere);

impl Say for TalkToIt<'_> {
    fn english(&self) -> String {
        let another = "or give this one a folder of its own with EKIDEN_STATE_DIR or `state_dir`";
        match &self.0.address {
            Some(at) => format!("use that one (`ekiden status --url http://{at}`), {another}"),
            None => format!("use that one, {another}"),
        }
    }

    fn chinese(&self) -> String {
        let another = "或用 EKIDEN_STATE_DIR 或 `state_dir` 给本进程另一个文件夹";
        match &self.0.address {
            Some(at) => format!("直接使用它（`ekiden status --url http://{at}`），{another}"),
            None => format!("直接使用它，{another}"),
        }
    }
}

/// A line of the log about a change of the settings.
struct Told<'a>(&'a SettingsTold);

impl Say for Told<'_> {
    fn english(&self) -> String {
        match self.0 {
            SettingsTold::Taken(warnings) if warnings.list.is_empty() => {
                format!("settings of {} taken\n", warnings.file)
            }
            SettingsTold::Taken(warnings) => {
                let told = warnings.say(Language::English);
                format!("{told}settings of {} taken\n", warnings.file)
            }
            SettingsTold::Refused(problems) => {
                let told = problems.say(Language::English);
                format!("{told}the last good settings still hold\n")
            }
        }
    }

    fn chinese(&self) -> String {
        match self.0 {
            SettingsTold::Taken(warnings) if warnings.list.is_empty() => {
                format!("已采用 {} 的设置\n", warnings.file)
            }
            SettingsTold::Taken(warnings) => {
                let told = warnings.say(Language::Chinese);
                format!("{told}已采用 {} 的设置\n", warnings.file)
            }
            SettingsTold::Refused(problems) => {
                let told = problems.say(Language::Chinese);
                format!("{told}仍沿用上一份正确的设置\n")
            }
        }
    }
}
