//! `ekiden config`: settings with where they come from, and changes, all or none (G7). Where a
//! gateway runs it refuses to write the file itself: that one does, with comments and order kept.

use std::path::Path;

use ekiden_config::CONFIG_VARIABLE;
use ekiden_config::edit::plain_path;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::args::{Asking, ConfigTask, Form};
use crate::failure::{Ended, Failure, Label};
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
            let words = args.words();
            let wishes = assigned(&words).map_err(|unclear| {
                let hint = terminal.say(&WriteThus);
                Failure::usage(terminal, &terminal.say(&unclear), &hint)
            })?;
            change(terminal, &args.asking, &wishes)
                .map_err(|failure| with_both(terminal, failure, &wishes))
        }
        ConfigTask::Unset(args) => {
            change(terminal, &args.asking, &[Wish::Unset { key: &args.key }])
        }
        ConfigTask::Path => path(terminal),
    }
}

fn show(terminal: &Terminal, asking: &Asking, key: Option<&str>) -> Result<Ended, Failure> {
    let api = Api::at(asking.url.as_deref());
    let Settings { settings, .. } = running::block_on(Settings::by(terminal, &api))?;
    let plain = key.map(plain_path);
    let key = plain.as_deref();
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

/// What `KEY VALUE` or a list of `KEY=VALUE` asks for.
fn assigned<'a>(words: &[&'a str]) -> Result<Vec<Wish<'a>>, Unclear<'a>> {
    // Names of models may hold the sign.
    let named_freely = |word: &str| word.starts_with("aliases.") || word.starts_with("prices.");
    if let &[key, value] = words
        && (!key.contains('=') || (named_freely(key) && !value.contains('=')))
    {
        return Ok(vec![Wish::Set { key, value }]);
    }
    let mut wishes: Vec<Wish<'_>> = Vec::new();
    for word in words {
        let (key, value) = word.split_once('=').ok_or(Unclear::NoValue(word))?;
        if wishes.iter().any(|wish| wish.key() == key) {
            return Err(Unclear::Twice(key));
        }
        wishes.push(Wish::Set { key, value });
    }
    Ok(wishes)
}

/// A new provider has two keys from the start: one alone is refused for want of the other, and here
/// is said how both are set.
fn with_both(terminal: &Terminal, failure: Failure, wishes: &[Wish<'_>]) -> Failure {
    let Failure::Usage(text) = &failure else {
        return failure;
    };
    let lacking = wishes.iter().find_map(|wish| {
        let (provider, key) = wish.key().strip_prefix("providers.")?.rsplit_once('.')?;
        let other = match key {
            "base_url" => "dialect",
            "dialect" => "base_url",
            _ => return None,
        };
        let told = |name: &str| text.contains(&format!("`{name}`"));
        (told(provider) && told(other)).then_some(provider)
    });
    match lacking {
        Some(provider) => {
            let hint = terminal.say(&Label::Hint);
            Failure::Usage(format!("{text}{hint} {}\n", terminal.say(&SetBoth(provider))))
        }
        None => failure,
    }
}

fn change(terminal: &Terminal, asking: &Asking, wishes: &[Wish<'_>]) -> Result<Ended, Failure> {
    if let Some(desk) = Desk::free(asking) {
        let path = desk.change(terminal, wishes)?;
        return written(terminal, asking, wishes, &path);
    }
    let api = Api::at(asking.url.as_deref());
    let changes = wishes.iter().map(|wish| match wish {
        Wish::Set { key, value } => json!({ "do": "set", "path": key, "value": value }),
        Wish::Unset { key } => json!({ "do": "unset", "path": key }),
    });
    let changes = Value::Array(changes.collect());
    let seen = running::block_on(Settings::by(terminal, &api))?;
    // The gateway runs on the last good settings, and cannot decide on a file that it cannot use.
    if let (Some(file), false, None) = (&seen.file, seen.refused.is_empty(), &asking.url) {
        offline::mend(terminal, Path::new(file), wishes)?;
        return written(terminal, asking, wishes, Path::new(file));
    }
    let (text, now) = running::block_on(async {
        let text = api.change(terminal, &seen.hash, &changes).await?;
        Ok((text, Settings::by(terminal, &api).await?))
    })?;
    if asking.form() == Form::Json {
        terminal.line(text.trim_end())?;
        return Ok(Ended::Well);
    }
    for wish in wishes {
        let key = plain_path(wish.key());
        let setting = now.settings.iter().find(|setting| setting.path == key);
        let said = terminal.say(&Holds { wish, setting });
        terminal.line(&terminal.ink(Ink::Good, &said))?;
    }
    let later = |key: &str| now.after_restart.iter().any(|it| *it == plain_path(key));
    if wishes.iter().any(|wish| later(wish.key())) {
        terminal.line(&terminal.ink(Ink::Slow, &terminal.say(&AfterRestart)))?;
    }
    Ok(Ended::Well)
}

fn written(
    terminal: &Terminal,
    asking: &Asking,
    wishes: &[Wish<'_>],
    path: &Path,
) -> Result<Ended, Failure> {
    let path = path.display().to_string();
    if asking.form() == Form::Json {
        terminal.line(&json!({ "file": path }).to_string())?;
        return Ok(Ended::Well);
    }
    for wish in wishes {
        let said = terminal.say(&Written { wish, path: &path });
        terminal.line(&terminal.ink(Ink::Good, &said))?;
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

/// Why words are no keys with values.
#[derive(PartialEq, Eq, Debug)]
enum Unclear<'a> {
    NoValue(&'a str),
    Twice(&'a str),
}

impl Say for Unclear<'_> {
    fn english(&self) -> String {
        match self {
            Self::NoValue(word) => format!("`{word}` has no value"),
            Self::Twice(key) => format!("`{key}` is given twice"),
        }
    }

    fn chinese(&self) -> String {
        match self {
            Self::NoValue(word) => format!("`{word}` 没有值"),
            Self::Twice(key) => format!("`{key}` 写了两次"),
        }
    }
}

struct WriteThus;

impl Say for WriteThus {
    fn english(&self) -> String {
        "write `ekiden config set KEY VALUE`, or `ekiden config set KEY=VALUE KEY=VALUE`".to_owned()
    }

    fn chinese(&self) -> String {
        "请写 `ekiden config set KEY VALUE`，或 `ekiden config set KEY=VALUE KEY=VALUE`".to_owned()
    }
}

struct SetBoth<'a>(&'a str);

impl SetBoth<'_> {
    fn command(&self) -> String {
        let id = self.0;
        format!("ekiden config set providers.{id}.base_url=URL providers.{id}.dialect=openai-chat")
    }
}

impl Say for SetBoth<'_> {
    fn english(&self) -> String {
        format!("one command sets both: `{}`", self.command())
    }

    fn chinese(&self) -> String {
        format!("一条命令可以同时设定两者：`{}`", self.command())
    }
}

/// What holds after a change; a variable may still come before it.
struct Holds<'a> {
    wish: &'a Wish<'a>,
    setting: Option<&'a Setting>,
}

impl Say for Holds<'_> {
    fn english(&self) -> String {
        let now = self.setting.map(|it| format!("{} ({})", it.value, it.origin.english()));
        match (self.wish, now) {
            (Wish::Set { key, .. }, Some(now)) => format!("{key} = {now}"),
            (Wish::Set { key, .. }, None) => format!("{key} is written"),
            (Wish::Unset { key }, Some(now)) => format!("{key} is removed; now {now} holds"),
            (Wish::Unset { key }, None) => format!("{key} is removed"),
        }
    }

    fn chinese(&self) -> String {
        let now = self.setting.map(|it| format!("{}（{}）", it.value, it.origin.chinese()));
        match (self.wish, now) {
            (Wish::Set { key, .. }, Some(now)) => format!("{key} = {now}"),
            (Wish::Set { key, .. }, None) => format!("{key} 已写入"),
            (Wish::Unset { key }, Some(now)) => format!("{key} 已去掉；现在是 {now}"),
            (Wish::Unset { key }, None) => format!("{key} 已去掉"),
        }
    }
}

/// A change that no running gateway has made.
struct Written<'a> {
    wish: &'a Wish<'a>,
    path: &'a str,
}

impl Say for Written<'_> {
    fn english(&self) -> String {
        match self.wish {
            Wish::Set { key, .. } => format!("{key} is written into {}", self.path),
            Wish::Unset { key } => format!("{key} is removed from {}", self.path),
        }
    }

    fn chinese(&self) -> String {
        match self.wish {
            Wish::Set { key, .. } => format!("{key} 已写入 {}", self.path),
            Wish::Unset { key } => format!("{key} 已从 {} 去掉", self.path),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g07_one_key_or_several_are_read_as_they_are_typed() {
        fn read(line: &str) -> Result<Vec<(String, String)>, String> {
            let words: Vec<&str> = line.split(' ').collect();
            let wishes = assigned(&words).map_err(|unclear| unclear.english())?;
            let pair = |wish: &Wish<'_>| match *wish {
                Wish::Set { key, value } => (key.to_owned(), value.to_owned()),
                Wish::Unset { key } => (key.to_owned(), "-".to_owned()),
            };
            Ok(wishes.iter().map(pair).collect())
        }
        let pairs = |list: &[(&str, &str)]| {
            Ok(list.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
        };
        assert_eq!(read("a.b 1"), pairs(&[("a.b", "1")]));
        assert_eq!(read("a.b http://x/?q=1"), pairs(&[("a.b", "http://x/?q=1")]));
        assert_eq!(read("a.b=http://x/?q=1"), pairs(&[("a.b", "http://x/?q=1")]));
        assert_eq!(read("a.b=1 a.c="), pairs(&[("a.b", "1"), ("a.c", "")]));
        assert_eq!(read("aliases.x=y default"), pairs(&[("aliases.x=y", "default")]));
        assert_eq!(read("a.b"), Err("`a.b` has no value".to_owned()));
        assert_eq!(read("a.b=1 a.c"), Err("`a.c` has no value".to_owned()));
        assert_eq!(read("a.b 1 a.c 2"), Err("`a.b` has no value".to_owned()));
        assert_eq!(read("a.b=1 a.b=2"), Err("`a.b` is given twice".to_owned()));
    }
}
