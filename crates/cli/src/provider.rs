//! `ekiden provider`: the providers that the gateway runs with. It refuses to show a key: where it
//! comes from is enough.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::args::{Asking, Form, KeyArgs, ProviderTask};
use crate::failure::{Ended, Failure};
use crate::running;
use crate::running::Api;
use crate::settings::{Setting, Settings};
use crate::table::{Cell, Table};
use crate::terminal::{Ink, Say, Terminal};

/// Shows providers.
///
/// # Errors
/// When there is no gateway.
pub(crate) fn run(terminal: &Terminal, task: &ProviderTask) -> Result<Ended, Failure> {
    match task {
        ProviderTask::List(asking) => list(terminal, asking),
        ProviderTask::Hide(args) => hide(terminal, args, Shown::Not),
        ProviderTask::Restore(args) => hide(terminal, args, Shown::Again),
    }
}

/// Whether a provider's models are listed where candidates are chosen (R38).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Not,
    Again,
}

fn hide(terminal: &Terminal, args: &KeyArgs, shown: Shown) -> Result<Ended, Failure> {
    const KEY: &str = "hidden_providers";
    let KeyArgs { provider, asking } = args;
    let api = Api::at(asking.url.as_deref());
    let text = running::block_on(async {
        let settings = Settings::by(terminal, &api).await?;
        let hidden = settings.settings.iter().find(|setting| setting.path == KEY);
        let hidden = hidden.and_then(|setting| setting.value.as_array());
        let mut hidden: Vec<&str> =
            hidden.into_iter().flatten().filter_map(Value::as_str).collect();
        let known = providers(&settings).iter().any(|known| known.id == provider);
        if !known && !hidden.contains(&provider.as_str()) {
            return Err(Failure::trouble(terminal, &Unknown(provider), Some(&ListThem)));
        }
        hidden.retain(|id| id != provider);
        if shown == Shown::Not {
            hidden.push(provider);
        }
        let change = json!([{ "do": "set", "path": KEY, "value": hidden }]);
        api.change(terminal, &settings.hash, &change).await
    })?;
    match asking.form() {
        Form::Json => terminal.line(text.trim_end())?,
        Form::Words => {
            let done = Done { provider, shown };
            terminal.line(&terminal.ink(Ink::Good, &terminal.say(&done)))?;
        }
    }
    Ok(Ended::Well)
}

fn list(terminal: &Terminal, asking: &Asking) -> Result<Ended, Failure> {
    let api = Api::at(asking.url.as_deref());
    let settings = running::block_on(Settings::by(terminal, &api))?;
    let providers = providers(&settings);
    if asking.form() == Form::Json {
        let list: Vec<Value> = providers.iter().map(Provider::json).collect();
        terminal.line(&json!({ "providers": list }).to_string())?;
        return Ok(Ended::Well);
    }
    if providers.is_empty() {
        terminal.tell(&NoProvider)?;
        return Ok(Ended::Well);
    }
    let mut table = Table::default();
    for provider in &providers {
        table.row([
            Cell::new(provider.id).ink(Ink::Strong),
            Cell::new(provider.text("dialect")),
            Cell::new(provider.text("base_url")),
            Cell::new(terminal.say(&provider.key())).ink(Ink::Dim),
        ]);
    }
    terminal.raw(&table.lines(terminal, ""))?;
    Ok(Ended::Well)
}

/// A provider's keys in the settings.
struct Provider<'a> {
    id: &'a str,
    keys: BTreeMap<&'a str, &'a Setting>,
}

/// Providers in the order of the settings.
fn providers(settings: &Settings) -> Vec<Provider<'_>> {
    let mut list: Vec<Provider<'_>> = Vec::new();
    for setting in &settings.settings {
        let rest = setting.path.strip_prefix("providers.");
        // An id may hold dots; no key does.
        let Some((id, key)) = rest.and_then(|rest| rest.rsplit_once('.')) else { continue };
        match list.iter_mut().find(|provider| provider.id == id) {
            Some(provider) => drop(provider.keys.insert(key, setting)),
            None => list.push(Provider { id, keys: BTreeMap::from([(key, setting)]) }),
        }
    }
    list
}

impl<'a> Provider<'a> {
    fn text(&self, key: &str) -> &'a str {
        self.keys.get(key).and_then(|setting| setting.value.as_str()).unwrap_or_default()
    }

    fn key(&self) -> Key<'a> {
        let set = |key| self.keys.get(key).filter(|setting| !setting.value.is_null());
        if set("api_key_env").is_some() {
            return Key::Variable(self.text("api_key_env"));
        }
        if set("api_key_file").is_some() {
            return Key::File(self.text("api_key_file"));
        }
        match set("api_key").map(|setting| setting.origin.from.as_str()) {
            Some("stored") => Key::Stored,
            Some(_) => Key::Settings,
            None => Key::None,
        }
    }

    fn json(&self) -> Value {
        let key = match self.key() {
            Key::None => json!({ "from": "none" }),
            Key::Variable(variable) => json!({ "from": "env", "variable": variable }),
            Key::File(path) => json!({ "from": "file", "path": path }),
            Key::Settings => json!({ "from": "settings" }),
            Key::Stored => json!({ "from": "stored" }),
        };
        json!({
            "id": self.id,
            "name": self.text("name"),
            "dialect": self.text("dialect"),
            "base_url": self.text("base_url"),
            "key": key,
        })
    }
}

/// Where a key comes from.
enum Key<'a> {
    None,
    Variable(&'a str),
    File(&'a str),
    Settings,
    Stored,
}

impl Say for Key<'_> {
    fn english(&self) -> String {
        match self {
            Self::None => "no key".to_owned(),
            Self::Variable(variable) => format!("key from {variable}"),
            Self::File(path) => format!("key from the file {path}"),
            Self::Settings => "key from the configuration".to_owned(),
            Self::Stored => "stored key".to_owned(),
        }
    }

    fn chinese(&self) -> String {
        match self {
            Self::None => "无密钥".to_owned(),
            Self::Variable(variable) => format!("密钥来自 {variable}"),
            Self::File(path) => format!("密钥来自文件 {path}"),
            Self::Settings => "密钥写在配置文件里".to_owned(),
            Self::Stored => "已保存的密钥".to_owned(),
        }
    }
}

struct Done<'a> {
    provider: &'a str,
    shown: Shown,
}

impl Say for Done<'_> {
    fn english(&self) -> String {
        match self.shown {
            Shown::Not => {
                format!("{} is hidden; `ekiden provider restore` lists it again", self.provider)
            }
            Shown::Again => format!("{} is listed again", self.provider),
        }
    }

    fn chinese(&self) -> String {
        match self.shown {
            Shown::Not => format!("{} 已隐藏；用 `ekiden provider restore` 恢复", self.provider),
            Shown::Again => format!("{} 已恢复", self.provider),
        }
    }
}

pub(crate) struct Unknown<'a>(pub(crate) &'a str);

impl Say for Unknown<'_> {
    fn english(&self) -> String {
        format!("there is no provider `{}`", self.0)
    }

    fn chinese(&self) -> String {
        format!("没有提供方 `{}`", self.0)
    }
}

pub(crate) struct ListThem;

impl Say for ListThem {
    fn english(&self) -> String {
        "`ekiden provider list` shows them".to_owned()
    }

    fn chinese(&self) -> String {
        "用 `ekiden provider list` 查看".to_owned()
    }
}

struct NoProvider;

impl Say for NoProvider {
    fn english(&self) -> String {
        "there is no provider".to_owned()
    }

    fn chinese(&self) -> String {
        "没有提供方".to_owned()
    }
}
