//! What can be asked of the program. It refuses to do any of it.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgAction, Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::failure::Failure;
use crate::help::{Advice, Headings, HelpTexts, Mistake};
use crate::terminal::Terminal;

/// The whole command line.
#[derive(Debug, Parser)]
#[command(name = "ekiden", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    /// Nothing is `serve`.
    #[command(subcommand)]
    pub(crate) task: Option<Task>,
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    Serve(ServeArgs),
    Demo(DemoArgs),
    Check(CheckArgs),
    Why(WhyArgs),
    Replay(ReplayArgs),
    Classify(ClassifyArgs),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct ServeArgs {
    #[arg(long, value_name = "PATH")]
    pub(crate) config: Option<PathBuf>,
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct DemoArgs {
    #[arg(long)]
    pub(crate) once: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct CheckArgs {
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct WhyArgs {
    #[arg(value_name = "CALL")]
    pub(crate) call: String,
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct ReplayArgs {
    #[arg(value_name = "TRACE")]
    pub(crate) trace: String,
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct ClassifyArgs {
    #[arg(long)]
    pub(crate) rules: bool,
}

/// What the command line asks for.
#[derive(Debug)]
pub(crate) enum Asked {
    /// A task.
    Task(Task),
    /// To be shown this text.
    Text(String),
}

/// Reads the command line.
///
/// # Errors
/// When it cannot be understood.
pub(crate) fn read(
    terminal: &Terminal,
    words: impl IntoIterator<Item = OsString>,
) -> Result<Asked, Failure> {
    let parsed = command(terminal)
        .try_get_matches_from(words)
        .and_then(|matches| Cli::from_arg_matches(&matches));
    match parsed {
        Ok(Cli { task: Some(task), .. }) => Ok(Asked::Task(task)),
        Ok(Cli { task: None, serve }) => Ok(Asked::Task(Task::Serve(serve))),
        Err(error)
            if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) =>
        {
            Ok(Asked::Text(error.render().to_string()))
        }
        Err(error) => Err(refused(terminal, &error)),
    }
}

/// The command with its texts in the language that is spoken.
fn command(terminal: &Terminal) -> Command {
    let texts = HelpTexts::of(terminal.language);
    let headings = &texts.headings;
    let serve_options = |command: Command| {
        command
            .mut_arg("config", |arg| arg.help(texts.config))
            .mut_arg("listen", |arg| arg.help(texts.listen))
    };
    let root = dressed(serve_options(Cli::command()), headings)
        .about(texts.about)
        .after_help(texts.first_steps)
        .subcommand_help_heading(headings.commands)
        .disable_help_subcommand(true)
        .disable_version_flag(true)
        .arg(
            clap::Arg::new("version")
                .long("version")
                .short('V')
                .action(ArgAction::Version)
                .help(texts.version)
                .help_heading(headings.options),
        );
    let with = |sub: Command, (about, examples): (&'static str, &'static str)| {
        dressed(sub, headings).about(about).after_help(examples)
    };
    root.mut_subcommand("serve", |sub| with(serve_options(sub), texts.serve))
        .mut_subcommand("demo", |sub| {
            with(sub.mut_arg("once", |arg| arg.help(texts.once)), texts.demo)
        })
        .mut_subcommand("check", |sub| {
            with(sub.mut_arg("path", |arg| arg.help(texts.path)), texts.check)
        })
        .mut_subcommand("why", |sub| {
            let sub = sub
                .mut_arg("call", |arg| arg.help(texts.call))
                .mut_arg("url", |arg| arg.help(texts.url))
                .mut_arg("json", |arg| arg.help(texts.json));
            with(sub, texts.why)
        })
        .mut_subcommand("replay", |sub| {
            let sub = sub
                .mut_arg("trace", |arg| arg.help(texts.trace))
                .mut_arg("url", |arg| arg.help(texts.url));
            with(sub, texts.replay)
        })
        .mut_subcommand("classify", |sub| {
            with(sub.mut_arg("rules", |arg| arg.help(texts.rules)), texts.classify)
        })
}

/// Headings and the help flag, which clap would write in English.
fn dressed(command: Command, headings: &Headings) -> Command {
    command
        .help_template(headings.template)
        .disable_help_flag(true)
        .mut_args(|arg| {
            let heading = if arg.is_positional() { headings.arguments } else { headings.options };
            arg.help_heading(heading)
        })
        .arg(
            clap::Arg::new("help")
                .long("help")
                .short('h')
                .action(ArgAction::Help)
                .help(headings.help)
                .help_heading(headings.options),
        )
}

/// clap's error as `error:` and `hint:`.
fn refused(terminal: &Terminal, error: &clap::Error) -> Failure {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(list)) => list.first().cloned(),
        Some(_) | None => None,
    };
    let argument = [ContextKind::InvalidArg, ContextKind::PriorArg].into_iter().find_map(context);
    let argument = argument.unwrap_or_default();
    let value = context(ContextKind::InvalidValue).unwrap_or_default();
    let kind = error.kind();
    let what = if kind == ErrorKind::UnknownArgument {
        Mistake::Unknown { argument }
    } else if kind == ErrorKind::InvalidSubcommand {
        let command = context(ContextKind::InvalidSubcommand).unwrap_or_default();
        Mistake::NoCommand { command }
    } else if kind == ErrorKind::MissingRequiredArgument {
        Mistake::Missing { argument }
    } else if kind == ErrorKind::InvalidValue && value.is_empty() {
        Mistake::NoValue { argument }
    } else if matches!(kind, ErrorKind::InvalidValue | ErrorKind::ValueValidation) {
        Mistake::BadValue { argument, value }
    } else if kind == ErrorKind::ArgumentConflict {
        Mistake::Twice { argument }
    } else {
        let text = error.render().to_string();
        let first = text.lines().next().unwrap_or_default();
        Mistake::Other(first.trim_start_matches("error: ").to_owned())
    };
    let near =
        [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg].into_iter().find_map(context);
    let address = matches!(&what, Mistake::BadValue { argument, .. } if argument.contains("ADDR"));
    let hint = terminal.say(&if address { Advice::Address } else { Advice::Look { near } });
    Failure::usage(terminal, &terminal.say(&what), &hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Language;

    #[test]
    fn every_command_and_every_argument_has_its_words() {
        for language in [Language::English, Language::Chinese] {
            let mut root = command(&Terminal::plain(language));
            root.build();
            root.clone().debug_assert();
            for sub in root.get_subcommands().chain([&root]) {
                assert!(sub.get_about().is_some(), "{}", sub.get_name());
                assert!(sub.get_after_help().is_some(), "{}", sub.get_name());
                for arg in sub.get_arguments() {
                    assert!(arg.get_help().is_some(), "{} {}", sub.get_name(), arg.get_id());
                }
            }
        }
    }

    #[test]
    fn nothing_is_serve() {
        let terminal = Terminal::plain(Language::English);
        let read = |words: &[&str]| {
            let words = ["ekiden"].iter().chain(words).map(OsString::from);
            read(&terminal, words)
        };
        assert!(matches!(read(&[]), Ok(Asked::Task(Task::Serve(_)))));
        let named = read(&["--listen", "127.0.0.1:9"]);
        assert!(matches!(named, Ok(Asked::Task(Task::Serve(ServeArgs { listen: Some(_), .. })))));
        assert!(matches!(read(&["--listen", "x"]), Err(Failure::Usage(_))));
    }
}
