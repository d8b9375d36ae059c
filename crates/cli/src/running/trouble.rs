//! What goes wrong with a running gateway, in words. It refuses to word what the gateway refuses: the
//! gateway says it in the language that it is asked in, and here stands what a command can do about it.

use http::StatusCode;
use serde::Deserialize;

use crate::terminal::{Say, steers};

/// What goes wrong.
pub(super) enum Trouble {
    NoGateway { base: String, why: String },
    NoSuchCall { call: String, base: String },
    NoCallYet { base: String },
    Strange { base: String, why: String },
    Refused { base: String, status: StatusCode, refusal: Refusal },
}

/// What a refusal says.
#[derive(Default)]
pub(super) struct Refusal {
    code: String,
    message: String,
    /// What the gateway says can be done.
    advice: Option<String>,
    /// What the parser of the settings says, line by line.
    problems: Option<String>,
}

impl Trouble {
    /// What an answer that is no success says.
    pub(super) fn refused(base: &str, status: StatusCode, body: &str) -> Self {
        #[derive(Deserialize)]
        struct Body {
            error: Told,
        }
        #[derive(Deserialize)]
        struct Told {
            code: Option<String>,
            message: String,
            hint: Option<String>,
        }
        let refusal = match serde_json::from_str(body) {
            Ok(Body { error: Told { code, message, hint } }) => {
                let code = code.unwrap_or_default();
                let problems = (code == "invalid_settings").then(|| lines(&message));
                let advice = hint.as_deref().map(cut);
                Refusal { code, message: cut(&message), advice, problems }
            }
            Err(_) => Refusal { message: cut(body), ..Refusal::default() },
        };
        Self::Refused { base: base.to_owned(), status, refusal }
    }

    /// What is complete as the gateway says it, hints and all.
    pub(super) fn in_full(&self) -> Option<&str> {
        match self {
            Self::Refused { refusal, .. } => refusal.problems.as_deref(),
            Self::NoGateway { .. }
            | Self::NoSuchCall { .. }
            | Self::NoCallYet { .. }
            | Self::Strange { .. } => None,
        }
    }
}

impl Say for Trouble {
    fn english(&self) -> String {
        match self {
            Self::NoGateway { base, why } => format!("there is no gateway at {base}: {why}"),
            Self::NoSuchCall { call, base } => {
                format!("the gateway at {base} knows no call `{call}`")
            }
            Self::NoCallYet { base } => format!("the gateway at {base} has had no call yet"),
            Self::Strange { base, why } => {
                format!("what answers at {base} is another version, or no Ekiden: {why}")
            }
            Self::Refused { refusal, .. } if !refusal.code.is_empty() => refusal.message.clone(),
            Self::Refused { base, status, refusal } => {
                format!("{base} answers {status}: {}", refusal.message)
            }
        }
    }

    fn chinese(&self) -> String {
        match self {
            Self::NoGateway { base, why } => format!("{base} 上没有网关：{why}"),
            Self::NoSuchCall { call, base } => format!("{base} 上的网关没有请求 `{call}`"),
            Self::NoCallYet { base } => format!("{base} 上的网关还没有过请求"),
            Self::Strange { base, why } => format!("{base} 上的是别的版本，或不是 Ekiden：{why}"),
            // The gateway was asked to speak the same language.
            Self::Refused { refusal, .. } if !refusal.code.is_empty() => refusal.message.clone(),
            Self::Refused { base, status, refusal } => {
                format!("{base} 回答 {status}：{}", refusal.message)
            }
        }
    }
}

/// What can be done about it.
pub(super) enum Advice {
    MakeACall,
    StartOne,
    AskForLast,
    AskWhy,
    OtherAddress,
    ListSessions,
    WholeKey,
    ListQueues,
    ListTokens,
    MakeAnother,
    ShowToken,
    LookAtFolder,
    ListProviders,
    LookAgain,
    AddProvider,
    WriteByHand,
    /// In the gateway's own words.
    AsTold(String),
}

impl Advice {
    /// What can be done about a refusal; `None`: it says so itself.
    pub(super) fn about(trouble: &Trouble) -> Option<Self> {
        let Trouble::Refused { status, refusal, .. } = trouble else {
            return Some(Self::OtherAddress);
        };
        Some(match refusal.code.as_str() {
            "no_such_call" => Self::AskWhy,
            "no_such_session" => Self::ListSessions,
            "ambiguous_session" => Self::WholeKey,
            "no_such_queue" | "no_such_route" => Self::ListQueues,
            "no_such_token" | "too_many_tokens" => Self::ListTokens,
            "last_token" => Self::MakeAnother,
            "not_kept" => Self::LookAtFolder,
            "no_such_provider" | "no_such_key" => {
                refusal.advice.clone().map_or(Self::ListProviders, Self::AsTold)
            }
            "changed" => Self::LookAgain,
            "unknown_provider" => Self::AddProvider,
            "read_only" => Self::WriteByHand,
            "refused" | "no_such_setting" | "not_confirmed" | "bad_body" | "bad_release"
            | "bad_query" => {
                return refusal.advice.clone().map(Self::AsTold);
            }
            _ if matches!(*status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                Self::ShowToken
            }
            _ => Self::OtherAddress,
        })
    }
}

impl Say for Advice {
    fn english(&self) -> String {
        match self {
            Self::MakeACall => "ask it for something first; `ekiden demo` shows how",
            Self::StartOne => "start one with `ekiden`, or say where it is with --url",
            Self::AskForLast => {
                "it remembers the last 1,000; `last` is the newest, and answers name theirs in \
                 the header x-ekiden-call"
            }
            Self::AskWhy => "if it is over, `ekiden why` tells how it ended",
            Self::OtherAddress => "say where the gateway is: --url http://127.0.0.1:8787",
            Self::ListSessions => "`ekiden sessions` shows them",
            Self::WholeKey => "name it by its whole key; `ekiden sessions` shows it",
            Self::ListQueues => "`ekiden status` shows queues and routes",
            Self::ListTokens => "`ekiden token list` shows them",
            Self::MakeAnother => "make another first: `ekiden token new`",
            Self::ShowToken => "put an admin token into the variable EKIDEN_TOKEN",
            Self::LookAtFolder => "look at the permissions and the disk of the state folder",
            Self::ListProviders => "`ekiden provider list` shows them",
            Self::LookAgain => "look at what it says now, then ask again",
            Self::AddProvider => "`ekiden config set` adds one; see `ekiden provider --help`",
            Self::WriteByHand => {
                "change the file by hand, or its permissions; it is read anew at once"
            }
            Self::AsTold(advice) => advice,
        }
        .to_owned()
    }

    fn chinese(&self) -> String {
        match self {
            Self::MakeACall => "先向它发一次请求；`ekiden demo` 有示范",
            Self::StartOne => "用 `ekiden` 启动一个，或用 --url 指明地址",
            Self::AskForLast => {
                "网关保留最近 1000 次；`last` 是最新一次，每个回答的响应头 x-ekiden-call 写有 id"
            }
            Self::AskWhy => "如果它已经结束，`ekiden why` 会说明结果",
            Self::OtherAddress => "用 --url 指明网关地址，例如 http://127.0.0.1:8787",
            Self::ListSessions => "`ekiden sessions` 列出全部会话",
            Self::WholeKey => "请写完整的键，见 `ekiden sessions`",
            Self::ListQueues => "`ekiden status` 列出队列与线路",
            Self::ListTokens => "`ekiden token list` 列出全部令牌",
            Self::MakeAnother => "请先新建一个：`ekiden token new`",
            Self::ShowToken => "请把管理令牌放进环境变量 EKIDEN_TOKEN",
            Self::LookAtFolder => "请检查状态文件夹的权限与磁盘",
            Self::ListProviders => "`ekiden provider list` 列出全部提供方",
            Self::LookAgain => "请看清现在的内容再来",
            Self::AddProvider => "用 `ekiden config set` 添加，见 `ekiden provider --help`",
            Self::WriteByHand => "请手动修改该文件或其权限；修改后会立即重新读取",
            Self::AsTold(advice) => advice,
        }
        .to_owned()
    }
}

/// The same for what has lines, each with its end.
fn lines(text: &str) -> String {
    let line = |line: &str| -> String {
        line.chars().map(|c| if steers(c) { ' ' } else { c }).chain(['\n']).collect()
    };
    text.trim_end().lines().map(line).collect()
}

/// Others say what they like; it moves no cursor.
fn cut(body: &str) -> String {
    let plain = body.trim().chars().map(|c| if steers(c) { ' ' } else { c });
    plain.take(300).collect()
}
