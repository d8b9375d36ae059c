//! What `ekiden check` says. Prints nothing itself and ends no process.

use std::path::Path;

use crate::env::Env;
use crate::load::Loaded;
use crate::settings::{Config, Origin};

/// The outcome of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// Whether the gateway would start with it.
    pub verdict: Verdict,
    /// What people read, with a line end at its end.
    pub text: String,
}

/// Whether a configuration can be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It holds, and there is nothing to say.
    Good,
    /// It holds; something is probably not as meant.
    Warned,
    /// It is refused.
    Refused,
}

/// Checks the configuration that [`Config::find`] finds.
#[must_use]
pub fn check(named: Option<&Path>, env: &dyn Env) -> Report {
    match Config::find(named, env) {
        Err(error) => Report { verdict: Verdict::Refused, text: error.to_string() },
        Ok(loaded) if loaded.warnings.list.is_empty() => {
            Report { verdict: Verdict::Good, text: summary(&loaded) }
        }
        Ok(loaded) => Report {
            verdict: Verdict::Warned,
            text: format!("{}\n{}", loaded.warnings, summary(&loaded)),
        },
    }
}

/// Every setting on a line as TOML, with where it comes from.
#[must_use]
pub fn listing(config: &Config) -> String {
    let mut out = String::new();
    for setting in config.settings() {
        let Some(value) = setting.value else { continue };
        let origin = match setting.origin {
            Origin::Default => "default".to_owned(),
            Origin::File { line } => format!("line {line}"),
            Origin::Env { variable } => variable,
            Origin::Stored => "stored".to_owned(),
            Origin::Found { at } => format!("found at {at}"),
        };
        out.push_str(&format!("{} = {value}  # {origin}\n", setting.path));
    }
    out
}

fn summary(loaded: &Loaded) -> String {
    let config = &loaded.config;
    let source = match &loaded.path {
        Some(path) => path.display().to_string(),
        None => "the environment".to_owned(),
    };
    let mut out = format!(
        "{source}: {}, {}\n",
        counted(config.providers.len(), "provider"),
        counted(config.queues.len(), "queue")
    );
    for queue in &config.queues {
        out.push_str(&format!("{} ({})\n", queue.id, queue.name));
        for (at, candidate) in queue.candidates.iter().enumerate() {
            out.push_str(&format!("  {}. {}\n", at + 1, candidate.route()));
        }
    }
    out
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
