//! `ekiden config`: settings with where they come from, and changes of one (G7). Where a
//! gateway runs it refuses to write the file itself: that one does, with comments and order kept.

use std::path::Path;

use ekiden_config::CONFIG_VARIABLE;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::args::{Asking, ConfigTask, Form};
use crate::failure::{Ended, Failure};
use crate::offline::{self, Desk, Wish};
use crate::running::{self, Api};
use crate::table::{Cell, Table};
use crate::terminal::{Ink, Say, Terminal};

/// All settings as the gateway runs with them.
#[derive(Debug, Deserialize)]
pub(crate) struct Settings {
    pub(crate) hash: String,
    pub(crate) settings: Vec<Setting>,
    #[serde(default)]
    after_restart: Vec<String>,
    #[serde(default)]
    file: Option<String>,
    /// What is wrong with the newest edit.
    #[serde(default)]
    refused: Vec<Value>,
}

/// One key with its value.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Setting {
    pub(crate) path: String,
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// Where a value comes from.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Origin {
    /// `default`, `file`, `env`, `stored` or `found`.
    pub(crate) from: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    variable: Option<String>,
    /// The base URL of a server that was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<String>,
}

impl Settings {
    /// Asks for them.
    ///
    /// # Errors
    /// When there is no gateway.
    pub(crate) async fn by(terminal: &Terminal, api: &Api) -> Result<Self, Failure> {
        let text = api.get(terminal, "/api/v1/settings").await?;
        api.parsed(terminal, &text)
    }
}

/// Does what is to be done about settings.
///
/// # Errors
/// When there is no gateway, no such key, or the value does not fit.
pub(crate) fn run(terminal: &Terminal, task: &ConfigTask) -> Result<Ended, Failure> {
    match task {
        ConfigTask::Get(args) => show(terminal, &args.asking, args.some_key.as_deref()),
        ConfigTask::Set(args) => {
            let wish = Wish::Set { key: &args.key, value: &args.value };
            change_one(terminal, &args.asking, &args.key, &wish)
        }
        ConfigTask::Unset(args) => {
            let wish = Wish::Unset { key: &args.key };
            change_one(terminal, &args.asking, &args.key, &wish)
        }
        ConfigTask::Path => path(terminal),
    }
}

fn show(terminal: &Terminal, asking: &Asking, key: Option<&str>) -> Result<Ended, Failure> {
    let api = Api::at(asking.url.as_deref());
    let Settings { settings, .. } = running::block_on(Settings::by(terminal, &api))?;
    let found = named(&settings, key);
    if let (Some(key), true) = (key, found.is_empty()) {
        let wrong = NoSetting(key);
        return Err(Failure::trouble(terminal, &wrong, Some(&ListThem)));
    }
    // One value is what a script wants.
    let alone = found.first().filter(|setting| key == Some(&setting.path));
    match (asking.form(), alone) {
        (Form::Json, Some(setting)) => terminal.line(&json!(setting).to_string())?,
        (Form::Json, None) => terminal.line(&json!({ "settings": found }).to_string())?,
        (Form::Words, Some(setting)) => terminal.line(&bare(&setting.value))?,
        (Form::Words, None) => terminal.raw(&lines(terminal, &found))?,
    }
    Ok(Ended::Well)
}

/// Settings below a path, or the one of that path; those that are set to something.
fn named<'s>(settings: &'s [Setting], key: Option<&str>) -> Vec<&'s Setting> {
    let Some(key) = key else {
        return settings.iter().filter(|setting| !setting.value.is_null()).collect();
    };
    let exact: Vec<&Setting> = settings.iter().filter(|setting| setting.path == key).collect();
    if !exact.is_empty() {
        return exact;
    }
    let below = format!("{}.", key.trim_end_matches('.'));
    let below = settings.iter().filter(|setting| setting.path.starts_with(&below));
    below.filter(|setting| !setting.value.is_null()).collect()
}

fn lines(terminal: &Terminal, settings: &[&Setting]) -> String {
    let mut table = Table::default();
    for setting in settings {
        let ink = if setting.origin.from == "default" { Ink::Dim } else { Ink::Good };
        table.row([
            Cell::new(&setting.path),
            Cell::new(setting.value.to_string()),
            Cell::new(terminal.say(&setting.origin)).ink(ink),
        ]);
    }
    table.lines(terminal, "")
}

/// A value as a shell wants it.
fn bare(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Array(list) => list.iter().map(bare).collect::<Vec<_>>().join("\n"),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}

fn change_one(
    terminal: &Terminal,
    asking: &Asking,
    key: &str,
    wish: &Wish<'_>,
) -> Result<Ended, Failure> {
    if let Some(desk) = Desk::free(asking) {
        let path = desk.change(terminal, wish)?;
        return written(terminal, asking, key, &path);
    }
    let api = Api::at(asking.url.as_deref());
    let change = &match wish {
        Wish::Set { key, value } => json!([{ "do": "set", "path": key, "value": value }]),
        Wish::Unset { key } => json!([{ "do": "unset", "path": key }]),
    };
    let seen = running::block_on(Settings::by(terminal, &api))?;
    // The gateway runs on the last good settings, and cannot decide on a file that it cannot use.
    if let (Some(file), false, None) = (&seen.file, seen.refused.is_empty(), &asking.url) {
        offline::mend(terminal, Path::new(file), wish)?;
        return written(terminal, asking, key, Path::new(file));
    }
    let (text, now) = running::block_on(async {
        let text = api.change(terminal, &seen.hash, change).await?;
        Ok((text, Settings::by(terminal, &api).await?))
    })?;
    if asking.form() == Form::Json {
        terminal.line(text.trim_end())?;
        return Ok(Ended::Well);
    }
    let setting = now.settings.iter().find(|setting| setting.path == key);
    let value = setting.map_or(Value::Null, |setting| setting.value.clone());
    let origin = setting.map(|setting| &setting.origin);
    let later = now.after_restart.iter().any(|it| it == key);
    terminal.line(&terminal.ink(Ink::Good, &terminal.say(&Holds { key, value, origin })))?;
    if later {
        terminal.line(&terminal.ink(Ink::Slow, &terminal.say(&AfterRestart)))?;
    }
    Ok(Ended::Well)
}

fn written(terminal: &Terminal, asking: &Asking, key: &str, path: &Path) -> Result<Ended, Failure> {
    let path = path.display().to_string();
    match asking.form() {
        Form::Json => terminal.line(&json!({ "file": path }).to_string())?,
        Form::Words => {
            let said = terminal.say(&Written { key, path: &path });
            terminal.line(&terminal.ink(Ink::Good, &said))?;
        }
    }
    Ok(Ended::Well)
}

/// The file that `ekiden` would read, whether it is there or not.
fn path(terminal: &Terminal) -> Result<Ended, Failure> {
    let Some(path) = offline::settings_file() else {
        return Err(Failure::trouble(terminal, &NoHome, Some(&NameIt)));
    };
    terminal.line(&path.display().to_string())?;
    Ok(Ended::Well)
}

impl Say for Origin {
    fn english(&self) -> String {
        match (self.from.as_str(), self.line, &self.variable) {
            ("file", Some(line), _) => format!("line {line}"),
            ("env", _, Some(variable)) => variable.clone(),
            ("found", _, _) => format!("found at {}", self.at.as_deref().unwrap_or_default()),
            (other, _, _) => other.to_owned(),
        }
    }

    fn chinese(&self) -> String {
        match (self.from.as_str(), self.line, &self.variable) {
            ("file", Some(line), _) => format!("第 {line} 行"),
            ("env", _, Some(variable)) => variable.clone(),
            ("default", _, _) => "默认".to_owned(),
            ("stored", _, _) => "已保存".to_owned(),
            ("found", _, _) => format!("发现于 {}", self.at.as_deref().unwrap_or_default()),
            (other, _, _) => other.to_owned(),
        }
    }
}

struct NoSetting<'a>(&'a str);

impl Say for NoSetting<'_> {
    fn english(&self) -> String {
        format!("there is no setting `{}`", self.0)
    }

    fn chinese(&self) -> String {
        format!("没有设置项 `{}`", self.0)
    }
}

struct ListThem;

impl Say for ListThem {
    fn english(&self) -> String {
        "`ekiden config get` shows all that are set".to_owned()
    }

    fn chinese(&self) -> String {
        "`ekiden config get` 列出全部设置".to_owned()
    }
}

/// What holds after a change; a variable may still come before it.
struct Holds<'a> {
    key: &'a str,
    value: Value,
    origin: Option<&'a Origin>,
}

impl Say for Holds<'_> {
    fn english(&self) -> String {
        match self.origin {
            Some(origin) => format!("{} = {} ({})", self.key, self.value, origin.english()),
            None => format!("{} is written", self.key),
        }
    }

    fn chinese(&self) -> String {
        match self.origin {
            Some(origin) => format!("{} = {}（{}）", self.key, self.value, origin.chinese()),
            None => format!("{} 已写入", self.key),
        }
    }
}

/// A change that no running gateway has made.
struct Written<'a> {
    key: &'a str,
    path: &'a str,
}

impl Say for Written<'_> {
    fn english(&self) -> String {
        format!("{} is written into {}", self.key, self.path)
    }

    fn chinese(&self) -> String {
        format!("{} 已写入 {}", self.key, self.path)
    }
}

struct AfterRestart;

impl Say for AfterRestart {
    fn english(&self) -> String {
        "it holds after the next start".to_owned()
    }

    fn chinese(&self) -> String {
        "重新启动后才生效".to_owned()
    }
}

pub(crate) struct NoHome;

impl Say for NoHome {
    fn english(&self) -> String {
        "there is no home folder in which a configuration file could be".to_owned()
    }

    fn chinese(&self) -> String {
        "没有主文件夹，无处放配置文件".to_owned()
    }
}

pub(crate) struct NameIt;

impl Say for NameIt {
    fn english(&self) -> String {
        format!("name one in the variable {CONFIG_VARIABLE}")
    }

    fn chinese(&self) -> String {
        format!("用环境变量 {CONFIG_VARIABLE} 指明")
    }
}
