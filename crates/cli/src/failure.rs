//! How a command ends. It refuses to end without saying what to do next.

use std::io;
use std::process::ExitCode;

use crate::terminal::{Say, Terminal};

/// How a command that did its work ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ended {
    /// All is well.
    Well,
    /// It did its work, and the answer is no: exit code 1.
    Badly,
}

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It was asked or configured wrongly: exit code 2. The text is complete, hints and all.
    Usage(String),
    /// Something went wrong: exit code 1.
    Trouble {
        /// What.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
    /// Whoever read the output has left; nothing to say, and nobody to say it to.
    NobodyReads,
}

/// The words before a complaint.
pub(crate) enum Label {
    Error,
    Warning,
    Hint,
}

impl Say for Label {
    fn english(&self) -> String {
        match self {
            Self::Error => "error:".to_owned(),
            Self::Warning => "warning:".to_owned(),
            Self::Hint => "hint:".to_owned(),
        }
    }

    fn chinese(&self) -> String {
        match self {
            Self::Error => "错误:".to_owned(),
            Self::Warning => "警告:".to_owned(),
            Self::Hint => "提示:".to_owned(),
        }
    }
}

impl Failure {
    /// Something went wrong, and this can be done about it.
    pub(crate) fn trouble(terminal: &Terminal, what: &impl Say, hint: Option<&impl Say>) -> Self {
        Self::Trouble { message: terminal.say(what), hint: hint.map(|hint| terminal.say(hint)) }
    }

    /// The command was asked wrongly.
    pub(crate) fn usage(terminal: &Terminal, message: &str, hint: &str) -> Self {
        let (error, then) = (terminal.say(&Label::Error), terminal.say(&Label::Hint));
        Self::Usage(format!("{error} {message}\n{then} {hint}\n"))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::NobodyReads;
        }
        Self::Trouble { message: error.to_string(), hint: None }
    }
}

/// Says how it ended, and gives the exit code.
pub(crate) fn conclude(terminal: &Terminal, result: Result<Ended, Failure>) -> ExitCode {
    let (text, code) = match result {
        Ok(Ended::Well) | Err(Failure::NobodyReads) => return ExitCode::SUCCESS,
        Ok(Ended::Badly) => return ExitCode::from(1),
        Err(Failure::Usage(text)) => (text, 2),
        Err(Failure::Trouble { message, hint }) => {
            let mut text = format!("{} {message}\n", terminal.say(&Label::Error));
            if let Some(hint) = hint {
                text.push_str(&format!("{} {hint}\n", terminal.say(&Label::Hint)));
            }
            (text, 1)
        }
    };
    // Standard error is closed: the code alone has to say it.
    let _ = terminal.complain(&text);
    ExitCode::from(code)
}
