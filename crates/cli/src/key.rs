//! `ekiden key`: a provider's key is given to the gateway to keep (G7). It refuses to take one from
//! the command line, which everybody on the machine can read, and to show one.

use std::io::{self, BufRead, IsTerminal};

use http::Method;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::json;

use crate::args::{Asking, Form, KeyTask};
use crate::failure::{Ended, Failure, Label};
use crate::running::{self, Api, WRITE_LIMIT, encoded};
use crate::terminal::{Ink, Say, Terminal};

/// What the gateway tells of it.
#[derive(Deserialize)]
struct Changed {
    #[serde(default)]
    unused: Option<Unused>,
}

/// Why a key that is stored is not used.
#[derive(Deserialize)]
struct Unused {
    why: String,
    #[serde(default)]
    nearest: Option<String>,
    #[serde(default)]
    variable: Option<String>,
    #[serde(default)]
    path: Option<String>,
}

/// Stores or forgets a key.
///
/// # Errors
/// When no key comes, there is no gateway, or it refuses.
pub(crate) fn run(terminal: &Terminal, task: &KeyTask) -> Result<Ended, Failure> {
    match task {
        KeyTask::Set(args) => {
            let key = typed(terminal, &args.provider)?;
            let body = json!({ "key": key.expose_secret() });
            let done = Done::Stored(&args.provider);
            send(terminal, &args.asking, Method::PUT, Some(&body), &done)
        }
        KeyTask::Forget(args) => {
            let done = Done::Forgotten(&args.provider);
            send(terminal, &args.asking, Method::DELETE, None, &done)
        }
    }
}

fn send(
    terminal: &Terminal,
    asking: &Asking,
    method: Method,
    body: Option<&serde_json::Value>,
    done: &Done<'_>,
) -> Result<Ended, Failure> {
    let (Done::Stored(provider) | Done::Forgotten(provider)) = done;
    let path = format!("/api/v1/providers/{}/key", encoded(provider));
    let api = Api::at(asking.url.as_deref());
    let text = running::block_on(api.send(terminal, method, &path, body, WRITE_LIMIT))?;
    match asking.form() {
        Form::Json => terminal.line(text.trim_end())?,
        Form::Words => terminal.line(&terminal.ink(Ink::Good, &terminal.say(done)))?,
    }
    let Changed { unused } = api.parsed(terminal, &text)?;
    if let Some(unused) = unused {
        let why = terminal.say(&NotUsed { provider, unused: &unused });
        terminal.complain(&format!("{} {why}\n", terminal.say(&Label::Warning)))?;
    }
    Ok(Ended::Well)
}

/// A key from the terminal, unseen, or the first line of what comes by a pipe.
fn typed(terminal: &Terminal, provider: &str) -> Result<SecretString, Failure> {
    let key = if io::stdin().is_terminal() {
        SecretString::from(rpassword::prompt_password(terminal.say(&Prompt(provider)))?)
    } else {
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line)?;
        SecretString::from(line)
    };
    let key = SecretString::from(key.expose_secret().trim());
    if key.expose_secret().is_empty() {
        let hint = terminal.say(&PipeIt(provider));
        return Err(Failure::usage(terminal, &terminal.say(&NoKey), &hint));
    }
    Ok(key)
}

struct Prompt<'a>(&'a str);

impl Say for Prompt<'_> {
    fn english(&self) -> String {
        format!("Key of {} (it is not shown): ", self.0)
    }

    fn chinese(&self) -> String {
        format!("{} 的密钥（不会显示）：", self.0)
    }
}

struct NoKey;

impl Say for NoKey {
    fn english(&self) -> String {
        "no key came".to_owned()
    }

    fn chinese(&self) -> String {
        "没有收到密钥".to_owned()
    }
}

struct PipeIt<'a>(&'a str);

impl Say for PipeIt<'_> {
    fn english(&self) -> String {
        format!("type it when asked, or pipe it: ekiden key set {} < FILE", self.0)
    }

    fn chinese(&self) -> String {
        format!("请在提示时输入，或用管道：ekiden key set {} < 文件", self.0)
    }
}

enum Done<'a> {
    Stored(&'a str),
    Forgotten(&'a str),
}

impl Say for Done<'_> {
    fn english(&self) -> String {
        match self {
            Self::Stored(provider) => format!("the key of {provider} is stored"),
            Self::Forgotten(provider) => format!("the stored key of {provider} is forgotten"),
        }
    }

    fn chinese(&self) -> String {
        match self {
            Self::Stored(provider) => format!("已保存 {provider} 的密钥"),
            Self::Forgotten(provider) => format!("已删除保存的 {provider} 的密钥"),
        }
    }
}

/// It is kept, but nothing uses it.
struct NotUsed<'a> {
    provider: &'a str,
    unused: &'a Unused,
}

impl Say for NotUsed<'_> {
    fn english(&self) -> String {
        let Self { provider, unused } = self;
        let Unused { why, nearest, variable, path } = unused;
        let named = |text: &Option<String>| text.clone().unwrap_or_default();
        let why = match why.as_str() {
            "no_provider" => {
                let near = nearest.as_ref();
                let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                format!("there is no provider `{provider}`{near}")
            }
            "variable" => format!("the variable {} comes before it", named(variable)),
            "file" => format!("the file {} comes before it", named(path)),
            "settings" => "the key in the settings file comes before it".to_owned(),
            "settings_refused" => {
                "the settings file cannot be used as it stands; `ekiden check` says why".to_owned()
            }
            other => other.to_owned(),
        };
        format!("the key is kept, but nothing uses it: {why}")
    }

    fn chinese(&self) -> String {
        let Self { provider, unused } = self;
        let Unused { why, nearest, variable, path } = unused;
        let named = |text: &Option<String>| text.clone().unwrap_or_default();
        let why = match why.as_str() {
            "no_provider" => {
                let near = nearest.as_ref();
                let near = near.map_or(String::new(), |near| format!("；是否想写 `{near}`？"));
                format!("没有提供方 `{provider}`{near}")
            }
            "variable" => format!("环境变量 {} 优先", named(variable)),
            "file" => format!("文件 {} 优先", named(path)),
            "settings" => "设置文件中的密钥优先".to_owned(),
            "settings_refused" => "设置文件现在的内容不可用，原因见 `ekiden check`".to_owned(),
            other => other.to_owned(),
        };
        format!("密钥已保存，但没有用到：{why}")
    }
}
