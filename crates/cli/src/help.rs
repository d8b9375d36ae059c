//! The words of the command line's help. It refuses to be complete where an example teaches more.

use crate::language::Language;
use crate::terminal::Say;

/// The help in one language; a text that is missing does not compile. Commands have what they do
/// and how they are used.
pub(crate) struct HelpTexts {
    pub(crate) headings: Headings,
    pub(crate) about: &'static str,
    pub(crate) first_steps: &'static str,
    pub(crate) version: &'static str,
    pub(crate) serve: (&'static str, &'static str),
    pub(crate) demo: (&'static str, &'static str),
    pub(crate) check: (&'static str, &'static str),
    pub(crate) why: (&'static str, &'static str),
    pub(crate) replay: (&'static str, &'static str),
    pub(crate) classify: (&'static str, &'static str),
    pub(crate) config: &'static str,
    pub(crate) listen: &'static str,
    pub(crate) once: &'static str,
    pub(crate) path: &'static str,
    pub(crate) call: &'static str,
    pub(crate) url: &'static str,
    pub(crate) json: &'static str,
    pub(crate) trace: &'static str,
    pub(crate) rules: &'static str,
}

/// What every command's help has.
pub(crate) struct Headings {
    pub(crate) template: &'static str,
    pub(crate) commands: &'static str,
    pub(crate) arguments: &'static str,
    pub(crate) options: &'static str,
    pub(crate) help: &'static str,
}

impl HelpTexts {
    pub(crate) const fn of(language: Language) -> &'static Self {
        match language {
            Language::English => &ENGLISH,
            Language::Chinese => &CHINESE,
        }
    }
}

static ENGLISH: HelpTexts = HelpTexts {
    headings: Headings {
        template: "{about-with-newline}\nUsage: {usage}\n\n{all-args}{after-help}\n",
        commands: "Commands",
        arguments: "Arguments",
        options: "Options",
        help: "Print this help",
    },
    about: "A queue of models that is itself one model: the first healthy one answers",
    first_steps: "\
Examples:
  ekiden                       start the gateway with the keys of your environment
  ekiden demo                  watch a relay, without any key
  ekiden check                 read your configuration and say what is wrong with it
  ekiden why last              tell what became of the last call, and why",
    version: "Print the version",
    serve: (
        "Start the gateway (what `ekiden` alone does)",
        "\
Without a file the providers are taken whose keys are in the environment (DEEPSEEK_API_KEY,
ANTHROPIC_API_KEY, OPENAI_API_KEY and others), and servers on this machine (Ollama, LM Studio).

Examples:
  ekiden
  DEEPSEEK_API_KEY=sk-… ekiden
  ekiden serve --config ./ekiden.toml
  ekiden serve --listen 127.0.0.1:9000

Ctrl-C (or SIGTERM) lets open calls finish; a second one ends them.",
    ),
    demo: (
        "Play a relay through scripted models and draw it; no key needed",
        "\
One model is out of quota, one says nothing, one breaks off, one answers. The gateway before them
is the real one; it stays up afterwards, so that you can ask it yourself.

Examples:
  ekiden demo
  ekiden demo --once | less    as lines instead of a picture",
    ),
    check: (
        "Read the configuration and say what is wrong with it, and where",
        "\
Exit code 0: it can be used. 2: it cannot.

Examples:
  ekiden check                 the file that `ekiden` would read
  ekiden check ./ekiden.toml",
    ),
    why: (
        "Tell which models a call passed over or tried, why, and for how long",
        "\
Every answer names its call in the header x-ekiden-call.

Examples:
  ekiden why last
  ekiden why CALL
  ekiden why last --json",
    ),
    replay: (
        "Decide a recorded call again: are they the same decisions?",
        "\
A trace holds what the decisions read: states, classes and counts, no prompts and no answers.
Exit code 0: the same decisions. 1: another one.

Examples:
  ekiden replay last
  ekiden replay ./call.trace
  curl -s http://127.0.0.1:8787/api/v1/calls/CALL/trace | ekiden replay -",
    ),
    classify: (
        "Say of each error on standard input what it is, a JSON object a line",
        "\
A line has `status`, `headers`, `body`, and where known `id`, `phase` (http, sse, transport, host),
`provider`, `now`. The answer has `id`, `class`, `retry_after_s`, `resets_at`, `model_specific`.

Examples:
  ekiden classify --rules
  echo '{\"id\":1,\"status\":429,\"headers\":{\"retry-after\":\"7\"},\"body\":\"slow down\"}' | ekiden classify",
    ),
    config: "The configuration file; else $EKIDEN_CONFIG, your own folder, the environment",
    listen: "Where to listen, instead of what the configuration says",
    once: "End after the conversation instead of staying up",
    path: "The file; without it the one that `ekiden` would read",
    call: "A call's id, or `last`",
    url: "The running gateway; without it where the configuration says that it listens",
    json: "Print what the gateway answers, as it is",
    trace: "A file, `-` for standard input, or a call's id (or `last`) at the running gateway",
    rules: "Print the rules as a table instead",
};

static CHINESE: HelpTexts = HelpTexts {
    headings: Headings {
        template: "{about-with-newline}\n用法：{usage}\n\n{all-args}{after-help}\n",
        commands: "命令",
        arguments: "参数",
        options: "选项",
        help: "显示本帮助",
    },
    about: "模型接力：一条模型队列，本身就是一个模型；由第一个健康的候选作答",
    first_steps: "\
示例：
  ekiden                       用环境变量里的密钥启动网关
  ekiden demo                  看一场接力，不需要密钥
  ekiden check                 检查配置，指出哪里不对
  ekiden why last              说明上一次调用发生了什么、为什么",
    version: "显示版本",
    serve: (
        "启动网关（单独运行 `ekiden` 即是）",
        "\
没有配置文件时，使用环境变量里有密钥的上游（DEEPSEEK_API_KEY、ANTHROPIC_API_KEY、
OPENAI_API_KEY 等）以及本机的服务（Ollama、LM Studio）。

示例：
  ekiden
  DEEPSEEK_API_KEY=sk-… ekiden
  ekiden serve --config ./ekiden.toml
  ekiden serve --listen 127.0.0.1:9000

Ctrl-C（或 SIGTERM）会等未完成的调用结束；再按一次则立即结束。",
    ),
    demo: (
        "用脚本模拟的模型演一场接力并画出来；不需要密钥",
        "\
一个模型额度用尽，一个一言不发，一个中途断开，一个作答。它们前面的网关是真的；
演完后继续运行，你可以自己去问它。

示例：
  ekiden demo
  ekiden demo --once | less    逐行输出，不画图",
    ),
    check: (
        "读取配置，指出哪里不对、该怎么写",
        "\
退出码 0：可用。2：不可用。

示例：
  ekiden check                 检查 `ekiden` 会读取的那个文件
  ekiden check ./ekiden.toml",
    ),
    why: (
        "说明一次调用跳过或尝试了哪些候选、为什么、花了多久",
        "\
每个回答都在响应头 x-ekiden-call 中写明调用 id。

示例：
  ekiden why last
  ekiden why CALL
  ekiden why last --json",
    ),
    replay: (
        "把记录下来的调用重新决定一遍：决定是否相同？",
        "\
轨迹里只有决定所依据的内容：状态、类别与计数，没有提示词，也没有回答。
退出码 0：决定相同。1：有不同。

示例：
  ekiden replay last
  ekiden replay ./call.trace
  curl -s http://127.0.0.1:8787/api/v1/calls/CALL/trace | ekiden replay -",
    ),
    classify: (
        "判断标准输入中的每个错误属于哪一类，每行一个 JSON 对象",
        "\
每行含 `status`、`headers`、`body`，已知时还有 `id`、`phase`（http、sse、transport、host）、
`provider`、`now`。回答含 `id`、`class`、`retry_after_s`、`resets_at`、`model_specific`。

示例：
  ekiden classify --rules
  echo '{\"id\":1,\"status\":429,\"headers\":{\"retry-after\":\"7\"},\"body\":\"slow down\"}' | ekiden classify",
    ),
    config: "配置文件；否则依次为 $EKIDEN_CONFIG、用户配置文件夹、环境变量",
    listen: "监听地址，代替配置中的地址",
    once: "演完即结束，不继续运行",
    path: "文件；不写则为 `ekiden` 会读取的那个",
    call: "调用的 id，或 `last`",
    url: "正在运行的网关；不写则为配置中的监听地址",
    json: "原样输出网关的回答",
    trace: "文件、`-`（标准输入），或网关上某次调用的 id（或 `last`）",
    rules: "改为输出规则表",
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
        }
    }
}
