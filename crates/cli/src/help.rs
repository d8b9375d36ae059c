//! The words of the command line's help. It refuses to be complete where an example teaches more.

mod arguments;
mod changes;
mod commands;
mod control;

use crate::language::Language;
use crate::terminal::Say;

/// What a command does, and how it is used, in each language; one that is missing does not compile.
struct CommandWords {
    /// As it is typed behind `ekiden`; empty: the program itself.
    path: &'static str,
    english: (&'static str, &'static str),
    chinese: (&'static str, &'static str),
}

/// What an argument is for.
struct ArgumentWords {
    id: &'static str,
    english: &'static str,
    chinese: &'static str,
}

/// What a command does, and how it is used.
pub(crate) fn command(language: Language, path: &str) -> Option<(&'static str, &'static str)> {
    let mut all = commands::COMMANDS.iter().chain(changes::CHANGES).chain(control::CONTROL);
    let words = all.find(|words| words.path == path)?;
    Some(match language {
        Language::English => words.english,
        Language::Chinese => words.chinese,
    })
}

/// What an argument is for.
pub(crate) fn argument(language: Language, id: &str) -> Option<&'static str> {
    let words = arguments::ARGUMENTS.iter().find(|words| words.id == id)?;
    Some(match language {
        Language::English => words.english,
        Language::Chinese => words.chinese,
    })
}

/// What every command's help has.
pub(crate) struct Headings {
    pub(crate) template: &'static str,
    pub(crate) commands: &'static str,
    pub(crate) command: &'static str,
    pub(crate) arguments: &'static str,
    pub(crate) options: &'static str,
    /// In a usage line.
    pub(crate) options_short: &'static str,
    pub(crate) help: &'static str,
    pub(crate) version: &'static str,
}

impl Headings {
    pub(crate) const fn of(language: Language) -> &'static Self {
        match language {
            Language::English => &ENGLISH,
            Language::Chinese => &CHINESE,
        }
    }
}

static ENGLISH: Headings = Headings {
    template: "{about-with-newline}\nUsage: {usage}\n\n{all-args}{after-help}\n",
    commands: "Commands",
    command: "COMMAND",
    arguments: "Arguments",
    options: "Options",
    options_short: "[OPTIONS]",
    help: "Print this help",
    version: "Print the version",
};

static CHINESE: Headings = Headings {
    template: "{about-with-newline}\n用法：{usage}\n\n{all-args}{after-help}\n",
    commands: "命令",
    command: "命令",
    arguments: "参数",
    options: "选项",
    options_short: "[选项]",
    help: "显示本帮助",
    version: "显示版本",
};

/// What is wrong with a command line.
pub(crate) enum Mistake {
    /// No argument of that name.
    Unknown { argument: String },
    /// No command of that name.
    NoCommand { command: String },
    /// Something is missing.
    Missing { argument: String },
    /// An option without its value.
    NoValue { argument: String },
    /// A value that does not fit.
    BadValue { argument: String, value: String },
    /// It stands there twice, or beside what it does not go with.
    Twice { argument: String },
    /// Something beside a provider's name, which may be its key.
    KeyInSight,
    /// As clap says it.
    Other(String),
}

impl Say for Mistake {
    fn english(&self) -> String {
        match self {
            Self::Unknown { argument } => format!("there is no `{argument}` here"),
            Self::NoCommand { command } => format!("there is no command `{command}`"),
            Self::Missing { argument } => format!("{argument} is missing"),
            Self::NoValue { argument } => format!("`{argument}` needs a value"),
            Self::BadValue { argument, value } => format!("`{value}` does not fit `{argument}`"),
            Self::Twice { argument } => format!("`{argument}` does not go with the rest"),
            Self::KeyInSight => {
                "no key is taken from the command line, where everybody can read it".to_owned()
            }
            Self::Other(text) => text.clone(),
        }
    }

    fn chinese(&self) -> String {
        match self {
            Self::Unknown { argument } => format!("这里没有 `{argument}`"),
            Self::NoCommand { command } => format!("没有 `{command}` 这个命令"),
            Self::Missing { argument } => format!("缺少 {argument}"),
            Self::NoValue { argument } => format!("`{argument}` 需要一个值"),
            Self::BadValue { argument, value } => format!("`{value}` 不适用于 `{argument}`"),
            Self::Twice { argument } => format!("`{argument}` 不能与其余部分同用"),
            Self::KeyInSight => "不从命令行接收密钥：那里人人可读".to_owned(),
            Self::Other(text) => text.clone(),
        }
    }
}

/// What to do about a mistake.
pub(crate) enum Advice {
    /// To look at what there is.
    Look {
        /// What may have been meant.
        near: Option<String>,
    },
    /// To write an address.
    Address,
    /// To name the file to check without an option.
    CheckFile,
    /// To give a key otherwise.
    PipeKey,
    /// To take one of these.
    Choose {
        /// All of them.
        choices: Vec<String>,
    },
}

impl Say for Advice {
    fn english(&self) -> String {
        match self {
            Self::Look { near: Some(near) } => {
                format!("did you mean `{near}`? `ekiden --help` shows what there is")
            }
            Self::Look { near: None } => {
                "`ekiden --help` and `ekiden COMMAND --help` show what there is".to_owned()
            }
            Self::Address => "write an address with its port, such as 127.0.0.1:8787".to_owned(),
            Self::CheckFile => "name the file alone: ekiden check PATH".to_owned(),
            Self::PipeKey => {
                "type it when asked, or pipe it: ekiden key set PROVIDER < FILE".to_owned()
            }
            Self::Choose { choices } => format!("it is one of {}", choices.join(", ")),
        }
    }

    fn chinese(&self) -> String {
        match self {
            Self::Look { near: Some(near) } => {
                format!("是不是 `{near}`？`ekiden --help` 列出全部用法")
            }
            Self::Look { near: None } => {
                "`ekiden --help` 与 `ekiden 命令 --help` 列出全部用法".to_owned()
            }
            Self::Address => "请写带端口的地址，例如 127.0.0.1:8787".to_owned(),
            Self::CheckFile => "直接写文件名：ekiden check PATH".to_owned(),
            Self::PipeKey => "请在提示时输入，或用管道：ekiden key set PROVIDER < 文件".to_owned(),
            Self::Choose { choices } => format!("可选：{}", choices.join("、")),
        }
    }
}
