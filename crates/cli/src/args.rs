//! What can be asked of the program. It refuses to do any of it.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::error::ErrorKind;
use clap::{Args, FromArgMatches, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use ekiden_store::What;

use crate::failure::Failure;
use crate::help::{Advice, Mistake};
use crate::terminal::Terminal;

mod dress;
mod settings;

pub(crate) use dress::command;
pub(crate) use settings::{
    ConfigTask, KeyArgs, KeyTask, MoveArgs, NewQueueArgs, PlaceArgs, ProviderTask, QueueTask,
};

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

/// What to do, in the order of the help.
#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    Serve(ServeArgs),
    Demo(DemoArgs),
    Check(CheckArgs),
    Status(Asking),
    Sessions(SessionsArgs),
    Why(WhyArgs),
    Test(TestArgs),
    DryRun(DryRunArgs),
    Pause(PauseArgs),
    Resume(PauseArgs),
    Stop(StopArgs),
    Release(ReleaseArgs),
    Journal(JournalArgs),
    Ledger(LedgerArgs),
    #[command(subcommand)]
    Queue(QueueTask),
    #[command(subcommand)]
    Provider(ProviderTask),
    Catalog(CatalogArgs),
    Rescan(CatalogArgs),
    #[command(subcommand)]
    Key(KeyTask),
    #[command(subcommand)]
    Token(TokenTask),
    #[command(subcommand)]
    Config(ConfigTask),
    Replay(ReplayArgs),
    Classify(ClassifyArgs),
    Completions(CompletionsArgs),
}

/// Which gateway is asked, and how its answer is told.
#[derive(Args, Clone, Debug)]
pub(crate) struct Asking {
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    #[arg(long)]
    pub(crate) json: bool,
}

/// How an answer is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// In words.
    Words,
    /// As the gateway tells it.
    Json,
}

impl Asking {
    /// How the answer is told.
    pub(crate) const fn form(&self) -> Form {
        if self.json { Form::Json } else { Form::Words }
    }
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
    #[arg(long)]
    json: bool,
}

impl CheckArgs {
    /// How the answer is told.
    pub(crate) const fn form(&self) -> Form {
        if self.json { Form::Json } else { Form::Words }
    }
}

#[derive(Args, Clone, Debug)]
pub(crate) struct SessionsArgs {
    #[arg(value_name = "SESSION")]
    pub(crate) named: Option<String>,
    #[arg(long, requires = "named")]
    pub(crate) end: bool,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct WhyArgs {
    #[arg(value_name = "CALL")]
    pub(crate) call: String,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct TestArgs {
    #[arg(value_name = "QUEUE")]
    pub(crate) queue: String,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct DryRunArgs {
    #[arg(value_name = "QUEUE")]
    pub(crate) queue: String,
    #[arg(long = "session", value_name = "SESSION")]
    pub(crate) of_session: Option<String>,
    #[arg(long, value_name = "N")]
    pub(crate) tokens: Option<u32>,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct PauseArgs {
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct StopArgs {
    #[arg(value_name = "CALL")]
    pub(crate) open_call: String,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct CatalogArgs {
    #[arg(value_name = "PROVIDER")]
    pub(crate) some_providers: Vec<String>,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Args, Clone, Debug)]
#[group(id = "whom")]
pub(crate) struct ReleaseArgs {
    #[arg(long, value_name = "SESSION", conflicts_with = "all")]
    pub(crate) session: Option<String>,
    #[arg(long, value_name = "QUEUE", requires = "session", requires = "route")]
    pub(crate) queue: Option<String>,
    #[arg(long, value_name = "ROUTE", conflicts_with = "all")]
    pub(crate) route: Option<String>,
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct JournalArgs {
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    #[arg(long = "call", value_name = "CALL")]
    pub(crate) of_call: Option<String>,
    #[arg(long = "session", value_name = "SESSION")]
    pub(crate) of_session: Option<String>,
    #[arg(long = "route", value_name = "ROUTE")]
    pub(crate) of_route: Option<String>,
    // The kinds stand in the refusal of another one.
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(What::KINDS))]
    #[arg(hide_possible_values = true)]
    pub(crate) what: Option<String>,
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) limit: Option<u32>,
    #[arg(long, short)]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct LedgerArgs {
    // Choices and defaults stand in the help's text, in its language.
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        default_value = "day",
        hide_possible_values = true
    )]
    #[arg(hide_default_value = true)]
    pub(crate) by: By,
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub(crate) days: Option<u32>,
    #[arg(long = "session", value_name = "SESSION")]
    pub(crate) of_session: Option<String>,
    #[arg(long = "queue", value_name = "QUEUE")]
    pub(crate) of_queue: Option<String>,
    #[arg(long = "route", value_name = "ROUTE")]
    pub(crate) of_route: Option<String>,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

/// What a line of the ledger stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum By {
    /// A day.
    Day,
    /// A queue.
    Queue,
    /// A candidate, over all queues: its route.
    Candidate,
    /// A session.
    Session,
    /// A call.
    Call,
    /// A client's token.
    Token,
}

/// What to do about tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenTask {
    List(Asking),
    New(NewTokenArgs),
    Revoke(RevokeArgs),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct NewTokenArgs {
    #[arg(value_name = "NAME")]
    pub(crate) token_name: String,
    #[arg(long)]
    pub(crate) admin: bool,
    #[arg(long = "queue", value_name = "QUEUE")]
    pub(crate) only: Vec<String>,
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) calls_max: Option<u32>,
    #[arg(long, value_name = "AMOUNT")]
    pub(crate) budget: Option<String>,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct RevokeArgs {
    #[arg(value_name = "ID")]
    pub(crate) token: String,
    #[command(flatten)]
    pub(crate) asking: Asking,
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

#[derive(Args, Clone, Debug)]
pub(crate) struct CompletionsArgs {
    #[arg(value_enum, value_name = "SHELL", hide_possible_values = true)]
    pub(crate) shell: Shell,
}

/// What the command line asks for.
#[derive(Debug)]
pub(crate) enum Asked {
    /// A task.
    Task(Box<Task>),
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
    let words = as_meant(words.into_iter().collect());
    let of_key = words.get(1).is_some_and(|word| word == "key");
    let of_check = words.get(1).is_some_and(|word| word == "check")
        && words.iter().any(|word| word.to_string_lossy().starts_with("--config"));
    let parsed = command(terminal)
        .try_get_matches_from(words)
        .and_then(|matches| Cli::from_arg_matches(&matches));
    match parsed {
        Ok(Cli { task: Some(task), .. }) => Ok(Asked::Task(Box::new(task))),
        Ok(Cli { task: None, serve }) => Ok(Asked::Task(Box::new(Task::Serve(serve)))),
        // What stands there may be a key: it is not repeated.
        Err(error) if of_key && error.kind() == ErrorKind::UnknownArgument => {
            let mistake = terminal.say(&Mistake::KeyInSight);
            Err(Failure::usage(terminal, &mistake, &terminal.say(&Advice::PipeKey)))
        }
        Err(error) if of_check && error.kind() == ErrorKind::UnknownArgument => {
            let mistake = terminal.say(&Mistake::Unknown { argument: "--config".to_owned() });
            Err(Failure::usage(terminal, &mistake, &terminal.say(&Advice::CheckFile)))
        }
        Err(error) => dress::told(terminal, &error),
    }
}

/// What others' command lines teach, in the words of this one: `help COMMAND` is `COMMAND --help`,
/// and `--config PATH check` is `check PATH`.
fn as_meant(mut words: Vec<OsString>) -> Vec<OsString> {
    let is = |at: usize, word: &str| words.get(at).is_some_and(|it| it == word);
    if is(1, "help") {
        words.remove(1);
        words.push("--help".into());
    } else if is(1, "--config") && is(3, "check") {
        words.swap(2, 3);
        words.remove(1);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Language;

    #[test]
    fn every_command_and_every_argument_has_its_words() {
        fn look(command: &clap::Command) {
            let name = command.get_name();
            assert!(command.get_about().is_some(), "{name}");
            assert!(command.get_after_help().is_some(), "{name}");
            for arg in command.get_arguments() {
                assert!(arg.get_help().is_some(), "{name} {}", arg.get_id());
            }
            command.get_subcommands().for_each(look);
        }
        for language in [Language::English, Language::Chinese] {
            let mut root = command(&Terminal::plain(language));
            root.build();
            root.clone().debug_assert();
            look(&root);
        }
    }

    #[test]
    fn nothing_is_serve() {
        let terminal = Terminal::plain(Language::English);
        let read = |words: &[&str]| {
            let words = ["ekiden"].iter().chain(words).map(OsString::from);
            read(&terminal, words)
        };
        let serves = |words: &[&str]| {
            let Ok(Asked::Task(task)) = read(words) else { return None };
            if let Task::Serve(args) = *task { Some(args) } else { None }
        };
        assert!(serves(&[]).is_some());
        assert!(serves(&["--listen", "127.0.0.1:9"]).unwrap().listen.is_some());
        assert!(matches!(read(&["--listen", "x"]), Err(Failure::Usage(_))));
    }
}
