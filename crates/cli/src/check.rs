//! `ekiden check`: what is wrong with a configuration, or what it makes. It refuses to start anything.
//! Servers on this machine are asked whether they are there, as a start would.

use std::path::Path;

use ekiden_config::{
    Config, Dialect, Language, LoadError, Loaded, Problem, Problems, ProcessEnv, Queue, QueuesFrom,
    Severity,
};
use serde_json::{Value, json};

use crate::args::{CheckArgs, Form};
use crate::failure::{Ended, Failure};
use crate::queues::queues;
use crate::running;
use crate::serve::{Found, local_servers};
use crate::terminal::{Ink, Say, Terminal};

/// Reads the configuration and says what it makes.
///
/// # Errors
/// When it cannot be used.
pub(crate) fn run(terminal: &Terminal, args: &CheckArgs) -> Result<Ended, Failure> {
    let path = args.path.as_deref();
    let loaded = match path {
        Some(path) if !path.exists() && args.form() == Form::Words => {
            let problem = Missing(path.display().to_string());
            let hint = terminal.say(&NameAnother);
            return Err(Failure::usage(terminal, &terminal.say(&problem), &hint));
        }
        Some(_) | None => Config::open(path, &ProcessEnv),
    };
    let loaded = match loaded {
        Ok(loaded) => Ok(with_local_servers(loaded)?),
        Err(error) => Err(error),
    };
    if args.form() == Form::Json {
        return as_json(terminal, &loaded);
    }
    let loaded = loaded.map_err(|error| unusable(terminal, &error))?;
    warn(terminal, &loaded)?;
    let source = loaded.path.as_deref().map_or(Source::Environment, Source::File);
    terminal.line(&terminal.ink(Ink::Good, &terminal.say(&Usable(source))))?;
    terminal.line("")?;
    terminal.raw(&queues(terminal, &loaded.config))?;
    if answers(&loaded.config) {
        return Ok(Ended::Well);
    }
    terminal.line("")?;
    terminal.line(&terminal.ink(Ink::Bad, &terminal.say(&NothingUsable)))?;
    Ok(Ended::Badly)
}

fn with_local_servers(loaded: Loaded) -> Result<Loaded, Failure> {
    let found = match loaded.queues {
        QueuesFrom::Surroundings => {
            let listen = loaded.config.listen;
            running::block_on(async { Ok(local_servers(&ProcessEnv, listen).await) })?
        }
        QueuesFrom::File => Found::default(),
    };
    Ok(loaded.with_found(|config| found.added_to(config)))
}

/// What is wrong, for scripts; the exit code is the same.
fn as_json(terminal: &Terminal, loaded: &Result<Loaded, LoadError>) -> Result<Ended, Failure> {
    let language = terminal.language;
    let (file, problems) = match loaded {
        Ok(Loaded { path, warnings, .. }) => {
            (path.as_ref().map(|path| path.display().to_string()), listed(warnings, language))
        }
        Err(LoadError::Invalid(problems)) => {
            (Some(problems.file.clone()), listed(problems, language))
        }
        Err(error @ LoadError::Missing { path, .. }) => {
            (Some(path.display().to_string()), alone("missing", error, language))
        }
        Err(error @ LoadError::Unreadable { path, .. }) => {
            (Some(path.display().to_string()), alone("unreadable", error, language))
        }
    };
    let usable = loaded.is_ok();
    let told = json!({ "usable": usable, "file": file, "problems": problems });
    terminal.line(&told.to_string())?;
    match loaded {
        Ok(loaded) if answers(&loaded.config) => Ok(Ended::Well),
        Ok(_) => Ok(Ended::Badly),
        // It is told already.
        Err(_) => Err(Failure::Usage(String::new())),
    }
}

fn listed(problems: &Problems, language: Language) -> Vec<Value> {
    let list = problems.list.iter().map(|Problem { severity, place, mistake }| {
        json!({
            "severity": match severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            "code": mistake.code(),
            "line": place.as_ref().map(|place| place.line),
            "column": place.as_ref().map(|place| place.column),
            "message": mistake.message(language),
            "hint": mistake.hint(language),
        })
    });
    list.collect()
}

/// What concerns the file as a whole.
fn alone(code: &str, error: &LoadError, language: Language) -> Vec<Value> {
    let message = error.message(language);
    vec![json!({ "severity": "error", "code": code, "message": message })]
}

/// Whether any call could be answered.
fn answers(config: &Config) -> bool {
    config.queues.iter().any(|queue| is_usable(config, queue))
}

/// Whether a call to it could be answered by anybody.
fn is_usable(config: &Config, queue: &Queue) -> bool {
    let providers =
        queue.candidates.iter().filter_map(|candidate| config.provider(&candidate.provider));
    let mut able = providers
        .filter(|provider| provider.dialect != Dialect::OpenAiResponses && !provider.lacks_key());
    able.next().is_some()
}

struct NothingUsable;

impl Say for NothingUsable {
    fn english(&self) -> String {
        "no queue can be used: every call would be refused, as no candidate has what it needs"
            .to_owned()
    }

    fn chinese(&self) -> String {
        "没有可用的队列：任何候选都缺少所需，所有请求都会被拒绝".to_owned()
    }
}

/// A configuration that cannot be used, for exit code 2.
pub(crate) fn unusable(terminal: &Terminal, error: &LoadError) -> Failure {
    Failure::Usage(error.say(terminal.language))
}

/// Says what probably is not meant.
///
/// # Errors
/// What writing says.
pub(crate) fn warn(terminal: &Terminal, loaded: &Loaded) -> Result<(), Failure> {
    if !loaded.warnings.list.is_empty() {
        terminal.complain(&format!("{}\n", loaded.warnings.say(terminal.language)))?;
    }
    Ok(())
}

/// Where a configuration comes from.
pub(crate) enum Source<'a> {
    /// A file.
    File(&'a Path),
    /// The environment alone.
    Environment,
}

impl Say for Source<'_> {
    fn english(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Environment => "the environment (no configuration file)".to_owned(),
        }
    }

    fn chinese(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Environment => "环境变量（没有配置文件）".to_owned(),
        }
    }
}

struct Usable<'a>(Source<'a>);

impl Say for Usable<'_> {
    fn english(&self) -> String {
        format!("usable: {}", self.0.english())
    }

    fn chinese(&self) -> String {
        format!("可用：{}", self.0.chinese())
    }
}

struct Missing(String);

impl Say for Missing {
    fn english(&self) -> String {
        format!("there is no file {}", self.0)
    }

    fn chinese(&self) -> String {
        format!("没有文件 {}", self.0)
    }
}

struct NameAnother;

impl Say for NameAnother {
    fn english(&self) -> String {
        "name another, or leave it out to check the file that `ekiden` would read".to_owned()
    }

    fn chinese(&self) -> String {
        "请换一个文件名，或不写路径以检查 `ekiden` 会读取的文件".to_owned()
    }
}
