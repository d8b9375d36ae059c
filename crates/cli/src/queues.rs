//! What a configuration makes, as people read it. It refuses to show a key; where it comes from is
//! enough.

use ekiden_config::{Candidate, Config, Credential, Dialect, Origin, Provider, Queue};

use crate::terminal::{Ink, Say, Terminal};

/// Every queue with its candidates and where their keys come from, a line each.
pub(crate) fn queues(terminal: &Terminal, config: &Config) -> String {
    let routes = config.queues.iter().flat_map(|queue| &queue.candidates);
    let width = routes.map(|candidate| candidate.route().chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for queue in &config.queues {
        let heading = terminal.say(&Heading(queue));
        out.push_str(&terminal.ink(Ink::Strong, &heading));
        out.push('\n');
        for (at, candidate) in queue.candidates.iter().enumerate() {
            let route = candidate.route();
            let about = about(terminal, config, candidate);
            out.push_str(&format!("  {:>2}  {route:width$}  {about}\n", at + 1));
        }
    }
    out
}

fn about(terminal: &Terminal, config: &Config, candidate: &Candidate) -> String {
    let Some(provider) = config.provider(&candidate.provider) else {
        return String::new();
    };
    if provider.dialect == Dialect::OpenAiResponses {
        return terminal.ink(Ink::Slow, &terminal.say(&Unspoken(provider.dialect)));
    }
    let found =
        matches!(config.origin(&format!("providers.{}", provider.id)), Origin::Found { .. });
    let key = if found { terminal.say(&FoundHere(provider)) } else { terminal.say(&Key(provider)) };
    let ink = if provider.lacks_key() { Ink::Slow } else { Ink::Dim };
    terminal.ink(ink, &format!("{}, {key}", provider.dialect.name()))
}

/// A dialect that this version does not speak.
struct Unspoken(Dialect);

impl Say for Unspoken {
    fn english(&self) -> String {
        format!("{}, which this version does not speak: not usable", self.0.name())
    }

    fn chinese(&self) -> String {
        format!("{}，此版本不支持：不可用", self.0.name())
    }
}

struct Heading<'a>(&'a Queue);

impl Heading<'_> {
    fn name(&self) -> String {
        let Queue { id, name, .. } = self.0;
        if id == name { id.clone() } else { format!("{id} ({name})") }
    }
}

impl Say for Heading<'_> {
    fn english(&self) -> String {
        match self.0.candidates.len() {
            0 => format!("queue {}: no candidates", self.name()),
            1 => format!("queue {}: 1 candidate", self.name()),
            count => format!("queue {}: {count} candidates", self.name()),
        }
    }

    fn chinese(&self) -> String {
        match self.0.candidates.len() {
            0 => format!("队列 {}：没有候选", self.name()),
            count => format!("队列 {}：{count} 个候选", self.name()),
        }
    }
}

/// A server that nobody set.
struct FoundHere<'a>(&'a Provider);

impl Say for FoundHere<'_> {
    fn english(&self) -> String {
        format!("found at {}", self.0.base_url.as_str())
    }

    fn chinese(&self) -> String {
        format!("发现于 {}", self.0.base_url.as_str())
    }
}

/// Where a provider's key comes from.
struct Key<'a>(&'a Provider);

impl Say for Key<'_> {
    fn english(&self) -> String {
        let lacks = if self.0.lacks_key() { ", which is not there" } else { "" };
        match &self.0.credential {
            Credential::None => format!("no key, at {}", self.0.base_url.as_str()),
            Credential::Env(variable) => format!("key from {variable}{lacks}"),
            Credential::File(path) => format!("key from the file {}{lacks}", path.display()),
            Credential::Inline => "key from the configuration".to_owned(),
            Credential::Stored => "stored key".to_owned(),
        }
    }

    fn chinese(&self) -> String {
        let lacks = if self.0.lacks_key() { "（未设置）" } else { "" };
        match &self.0.credential {
            Credential::None => format!("无密钥，{}", self.0.base_url.as_str()),
            Credential::Env(variable) => format!("密钥来自 {variable}{lacks}"),
            Credential::File(path) => format!("密钥来自文件 {}{lacks}", path.display()),
            Credential::Inline => "密钥写在配置文件里".to_owned(),
            Credential::Stored => "已保存的密钥".to_owned(),
        }
    }
}
