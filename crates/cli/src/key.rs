//! `ekiden key`: a provider's key is given to the gateway to keep (G7). It refuses to take one from
//! the command line, which everybody on the machine can read, and to show one.

use std::io::{self, BufRead, IsTerminal};

use http::Method;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use crate::args::{Asking, Form, KeyTask};
use crate::failure::{Ended, Failure};
use crate::running::{self, Api, WRITE_LIMIT, encoded};
use crate::terminal::{Ink, Say, Terminal};

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
