//! The command line in the language that is spoken. It refuses to know what a command does.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgAction, Command, CommandFactory};

use super::{Asked, Cli};
use crate::failure::Failure;
use crate::help::{self, Advice, Headings, Mistake};
use crate::language::Language;
use crate::terminal::Terminal;

/// The command with its texts in the language that is spoken.
pub(crate) fn command(terminal: &Terminal) -> Command {
    let language = terminal.language;
    let headings = Headings::of(language);
    dressed(Cli::command(), "", language)
        .subcommand_help_heading(headings.commands)
        .disable_version_flag(true)
        .arg(
            clap::Arg::new("version")
                .long("version")
                .short('V')
                .action(ArgAction::Version)
                .help(headings.version)
                .help_heading(headings.options),
        )
}

/// A command and those below it, with headings and a help flag that clap would write in English.
fn dressed(command: Command, path: &str, language: Language) -> Command {
    let headings = Headings::of(language);
    let mut command = command
        .help_template(headings.template)
        .subcommand_help_heading(headings.commands)
        .subcommand_value_name(headings.command)
        .disable_help_flag(true)
        .disable_help_subcommand(true)
        .mut_args(|arg| {
            let heading = if arg.is_positional() { headings.arguments } else { headings.options };
            let text = help::argument(language, arg.get_id().as_str());
            let arg = match text {
                Some(text) => arg.help(text),
                None => arg,
            };
            arg.help_heading(heading)
        })
        .arg(
            clap::Arg::new("help")
                .long("help")
                .short('h')
                .action(ArgAction::Help)
                .help(headings.help)
                .help_heading(headings.options),
        );
    if let Some((about, examples)) = help::command(language, path) {
        command = command.about(about).after_help(examples);
    }
    let names: Vec<String> =
        command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    for name in names {
        let below = if path.is_empty() { name.clone() } else { format!("{path} {name}") };
        command = command.mut_subcommand(name, |sub| dressed(sub, &below, language));
    }
    command
}

/// What clap ends with: a text that was asked for, or a mistake.
///
/// # Errors
/// A mistake.
pub(super) fn told(terminal: &Terminal, error: &clap::Error) -> Result<Asked, Failure> {
    let kind = error.kind();
    let rendered = || {
        let options = Headings::of(terminal.language).options_short;
        error.render().to_string().replace("[OPTIONS]", options)
    };
    if matches!(kind, ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return Ok(Asked::Text(rendered()));
    }
    if kind == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Err(Failure::Usage(rendered()));
    }
    Err(refused(terminal, error))
}

/// clap's error as `error:` and `hint:`.
fn refused(terminal: &Terminal, error: &clap::Error) -> Failure {
    let all = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(list)) => list.clone(),
        Some(_) | None => Vec::new(),
    };
    let context = |kind| all(kind).into_iter().next();
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
    // The nearest comes last.
    let suggested = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg];
    let near = suggested.into_iter().find_map(|kind| all(kind).pop());
    let choices = all(ContextKind::ValidValue);
    let address = matches!(&what, Mistake::BadValue { argument, .. } if argument.contains("ADDR"));
    let hint = if address {
        Advice::Address
    } else if choices.is_empty() {
        Advice::Look { near }
    } else {
        Advice::Choose { choices }
    };
    Failure::usage(terminal, &terminal.say(&what), &terminal.say(&hint))
}
