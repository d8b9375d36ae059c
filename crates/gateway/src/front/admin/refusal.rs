//! Why our own interface does not do what it is asked, as values: status, code and words are made of
//! them, the words in the language that the asker prefers.
//!
//! It refuses to repeat a key that was sent in the wrong place.

use http::{Response, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;

use ekiden_config::edit::EditError;
use ekiden_config::{Budget, Config, KeysError, Language, Problems, say, show_size_bytes};
use ekiden_dialect::Dialect;
use ekiden_store::Trouble;

use crate::body::Body;
use crate::front::intake::IntakeError;
use crate::front::reply::{Asker, json};
use crate::settings::KeyError;
use crate::tokens::TokensError;

use super::forms::Form;
use super::query::QueryFault;
use super::settings::tagged;
use super::state::SettingsProblem;

/// A refusal.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The body did not come, or is coded.
    Intake(IntakeError),
    /// It is larger than a body of ours may be, in bytes.
    TooLarge(u64),
    Coded,
    Query(QueryFault),
    /// `detail` is the reader's own word, in English; `None`: it could show a key.
    Body {
        form: Form,
        detail: Option<String>,
    },
    Unfit(Unfit),
    /// A key that an import cannot set.
    ImportKey,
    /// A value of another shape than any key takes.
    Value {
        path: String,
    },
    NoSuch(Named, String),
    /// No provider bears that name; `near` is the one that was probably meant.
    NoProvider {
        id: String,
        near: Option<String>,
    },
    NoCall(String),
    NoOpenCall(String),
    AmbiguousSession,
    TooManyReaders(u64),
    NoPrecondition,
    /// R41: so many candidates go with the queue.
    NotConfirmed(usize),
    Edit(EditError),
    /// A change cannot be made to a file that cannot be used.
    Unusable(Problems),
    /// The settings as they stand are refused.
    Invalid(Problems),
    /// The same, at a place of an imported file.
    At(String, Box<Refusal>),
    Tokens(TokensError),
    NotKept(NotKept),
}

/// What does not fit in a body that could be read.
#[derive(Debug)]
pub(super) enum Unfit {
    /// Lengths and bounds of a new token.
    TokenBounds,
    Budget,
    TooManyChanges,
    Key(KeysError),
    /// An imported file is of another kind.
    ImportFormat {
        format: &'static str,
        version: u32,
    },
    /// A name at a place of an imported file.
    Name(String, Box<Refusal>),
    /// An imported candidate names no provider; `place` is in the file.
    ImportRoute {
        place: String,
    },
}

/// Why something is not on the disk.
#[derive(Debug)]
pub(super) enum NotKept {
    /// It holds, but not beyond this process.
    Beyond(Trouble),
    Key(KeyError),
    Stopping,
}

/// What bears a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Named {
    Session,
    Queue,
    Route,
    /// The stored key of a provider.
    Key,
    Token,
}

/// A refusal as it is sent.
#[derive(Serialize, JsonSchema)]
pub(super) struct Failure {
    error: Reason,
}

/// Why.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FailureReason")]
struct Reason {
    /// For programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    /// For people, in Chinese where `Accept-Language` prefers it, else in English.
    message: String,
    /// What to do, in the same language.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// What is wrong with settings, each with its code.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<SettingsProblem>,
}

impl From<EditError> for Box<Refusal> {
    fn from(error: EditError) -> Self {
        Self::new(Refusal::Edit(error))
    }
}

impl Refusal {
    /// Nothing bears that name.
    pub(super) fn no_such(what: Named, name: &str) -> Box<Self> {
        Box::new(Self::NoSuch(what, cut(name, 120)))
    }

    /// No provider bears that name.
    pub(super) fn no_provider(config: &Config, id: &str) -> Box<Self> {
        let near = config.nearest_provider(id).map(str::to_owned);
        Box::new(Self::NoProvider { id: cut(id, 120), near })
    }

    pub(super) fn no_call(id: &str) -> Box<Self> {
        Box::new(Self::NoCall(cut(id, 80)))
    }

    pub(super) fn no_open_call(id: &str) -> Box<Self> {
        Box::new(Self::NoOpenCall(cut(id, 80)))
    }

    /// The answer.
    pub(super) fn answer(self, language: Language) -> Response<Body> {
        if let Self::Intake(error) = self {
            return error.into_response(Asker { dialect: Dialect::OpenAiChat, language });
        }
        let error = Reason {
            code: Some(self.code()),
            message: self.message(language),
            hint: self.hint(language),
            problems: self.problems(language),
        };
        let response = json(self.status(), &Failure { error });
        if let Self::Edit(EditError::Conflict { now }) = &self {
            return tagged(response, now);
        }
        response
    }

    const fn status(&self) -> StatusCode {
        match self {
            Self::Intake(_)
            | Self::Coded
            | Self::Query(_)
            | Self::Body { .. }
            | Self::Unfit(_)
            | Self::Invalid(_)
            | Self::Tokens(TokensError::BadName)
            | Self::Edit(EditError::Invalid(_)) => StatusCode::BAD_REQUEST,
            Self::NoSuch(..)
            | Self::NoProvider { .. }
            | Self::NoCall(_)
            | Self::NoOpenCall(_)
            | Self::Tokens(TokensError::Unknown)
            | Self::Edit(EditError::NoSuch(_)) => StatusCode::NOT_FOUND,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::AmbiguousSession
            | Self::NotConfirmed(_)
            | Self::Unusable(_)
            | Self::At(..)
            | Self::ImportKey
            | Self::Value { .. }
            | Self::Tokens(TokensError::TooMany | TokensError::Last)
            | Self::Edit(EditError::ReadOnly { .. } | EditError::Refused(_)) => {
                StatusCode::CONFLICT
            }
            Self::Edit(EditError::Conflict { .. }) => StatusCode::PRECONDITION_FAILED,
            Self::NoPrecondition => StatusCode::PRECONDITION_REQUIRED,
            Self::TooManyReaders(_)
            | Self::NotKept(_)
            | Self::Edit(EditError::Io { .. })
            | Self::Tokens(
                TokensError::Io { .. } | TokensError::Unreadable { .. } | TokensError::NoRandom,
            ) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    const fn code(&self) -> &'static str {
        match self {
            Self::Body { form, .. } => form.code(),
            Self::Query(_) => "bad_query",
            Self::Intake(_) | Self::Coded | Self::Unfit(_) | Self::Tokens(TokensError::BadName) => {
                "bad_body"
            }
            Self::TooLarge(_) => "body_too_large",
            Self::NoSuch(what, _) => what.code(),
            Self::NoProvider { .. } => "no_such_provider",
            Self::NoCall(_) | Self::NoOpenCall(_) => "no_such_call",
            Self::AmbiguousSession => "ambiguous_session",
            Self::TooManyReaders(_) => "too_many_readers",
            Self::NoPrecondition => "no_precondition",
            Self::NotConfirmed(_) => "not_confirmed",
            Self::Invalid(_) | Self::Edit(EditError::Invalid(_)) => "invalid_settings",
            Self::Edit(EditError::NoSuch(_)) => "no_such_setting",
            Self::Edit(EditError::Conflict { .. }) => "changed",
            Self::Edit(EditError::ReadOnly { .. }) => "read_only",
            Self::Unusable(_)
            | Self::At(..)
            | Self::ImportKey
            | Self::Value { .. }
            | Self::Edit(EditError::Refused(_)) => "refused",
            Self::Tokens(TokensError::TooMany) => "too_many_tokens",
            Self::Tokens(TokensError::Last) => "last_token",
            Self::Tokens(TokensError::Unknown) => "no_such_token",
            Self::NotKept(_)
            | Self::Edit(EditError::Io { .. })
            | Self::Tokens(
                TokensError::Io { .. } | TokensError::Unreadable { .. } | TokensError::NoRandom,
            ) => "not_kept",
        }
    }

    fn message(&self, language: Language) -> String {
        match self {
            Self::Intake(error) => error.say(language),
            Self::TooLarge(most) => say!(
                language,
                "the body is larger than {size} ({most} bytes), the most that this takes; no setting changes that",
                "请求体大于 {size}（{most} 字节），即这里的上限；没有设置可以改变它",
                size = show_size_bytes(*most),
                most,
            ),
            Self::Coded => say!(
                language,
                "the body must come without a content coding",
                "请求体不能带内容编码",
            ),
            Self::Query(fault) => fault.say(language),
            Self::Body { form, detail: None } => form.wanted(language),
            Self::Body { detail: Some(detail), .. } => {
                say!(language, "{detail}", "请求体不合要求（{detail}）", detail)
            }
            Self::Unfit(unfit) => unfit.say(language),
            Self::ImportKey => say!(language, "there is no such key", "没有这个键"),
            Self::Value { path } => {
                say!(language, "`{path}` does not take this", "`{path}` 不接受这个值", path)
            }
            Self::NoSuch(what, name) => what.lacks(name, language),
            Self::NoProvider { id, .. } => {
                say!(language, "no provider `{id}` is known", "没有提供方 `{id}`", id)
            }
            Self::NoCall(id) => say!(
                language,
                "no call `{id}` is remembered; the newest 1,000 are",
                "没有请求 `{id}` 的记录；只保留最近 1,000 次",
                id,
            ),
            Self::NoOpenCall(id) => {
                say!(language, "no call `{id}` is open", "没有进行中的请求 `{id}`", id)
            }
            Self::AmbiguousSession => say!(
                language,
                "sessions of several clients bear this name",
                "不止一个客户端的会话叫这个名字",
            ),
            Self::TooManyReaders(most) => {
                say!(language, "{most} readers look on already", "已有 {most} 个读者在旁观", most,)
            }
            Self::NoPrecondition => say!(
                language,
                "say in `If-Match` on which `hash` this was decided, as GET shows it",
                "请在 `If-Match` 中写明这次修改依据的 `hash`，即 GET 所示",
            ),
            Self::NotConfirmed(count) => {
                say!(language, "{count} candidates go with it", "会一并删除 {count} 个候选", count,)
            }
            Self::Edit(error) => error.say(language),
            Self::Unusable(problems) => unusable(problems, language),
            Self::Invalid(problems) => problems.say_errors(language),
            Self::At(place, refusal) => at(place, refusal, language),
            Self::Tokens(error) => error.say(language),
            Self::NotKept(why) => why.say(language),
        }
    }

    fn hint(&self, language: Language) -> Option<String> {
        Some(match self {
            Self::Body { form, detail: Some(_) } => form.wanted(language),
            Self::NoProvider { near: Some(near), .. } => {
                say!(language, "did you mean `{near}`?", "是否想写 `{near}`？", near)
            }
            Self::AmbiguousSession => say!(
                language,
                "use the whole key, as state shows it",
                "请写完整的键，状态中可以看到",
            ),
            Self::NotConfirmed(count) => say!(
                language,
                "say so with `?candidates={count}`",
                "请用 `?candidates={count}` 确认",
                count,
            ),
            Self::Edit(EditError::Conflict { .. }) => {
                say!(language, "look again", "请看清现在的内容再来")
            }
            Self::Edit(error) => return error.hint(language),
            Self::Unusable(_) => say!(
                language,
                "mend it first; until then the last usable settings hold",
                "请先修好它；在那之前沿用上一份可用的设置",
            ),
            Self::At(_, refusal) | Self::Unfit(Unfit::Name(_, refusal)) => {
                return refusal.hint(language);
            }
            Self::ImportKey => say!(
                language,
                "docs/configuration.md names the keys",
                "各个键见 docs/configuration.md",
            ),
            Self::Value { .. } => say!(
                language,
                "write true, 3, \"45s\", [\"a\"] or {\"name\": \"text\"}",
                "请写 true、3、\"45s\"、[\"a\"] 或 {\"name\": \"text\"}",
            ),
            Self::Intake(_)
            | Self::TooLarge(_)
            | Self::Coded
            | Self::Query(_)
            | Self::Body { detail: None, .. }
            | Self::Unfit(_)
            | Self::NoSuch(..)
            | Self::NoProvider { near: None, .. }
            | Self::NoCall(_)
            | Self::NoOpenCall(_)
            | Self::TooManyReaders(_)
            | Self::NoPrecondition
            | Self::Invalid(_)
            | Self::Tokens(_)
            | Self::NotKept(_) => return None,
        })
    }

    fn problems(&self, language: Language) -> Vec<SettingsProblem> {
        match self {
            Self::Invalid(problems)
            | Self::Unusable(problems)
            | Self::Edit(EditError::Invalid(problems)) => {
                SettingsProblem::errors_of(problems, language)
            }
            Self::Edit(EditError::NoSuch(mistake) | EditError::Refused(mistake)) => {
                vec![SettingsProblem::of_mistake(mistake, language)]
            }
            Self::At(_, refusal) => refusal.problems(language),
            Self::Edit(
                EditError::Conflict { .. } | EditError::ReadOnly { .. } | EditError::Io { .. },
            )
            | Self::Intake(_)
            | Self::TooLarge(_)
            | Self::Coded
            | Self::Query(_)
            | Self::Body { .. }
            | Self::Unfit(_)
            | Self::ImportKey
            | Self::Value { .. }
            | Self::NoSuch(..)
            | Self::NoProvider { .. }
            | Self::NoCall(_)
            | Self::NoOpenCall(_)
            | Self::AmbiguousSession
            | Self::TooManyReaders(_)
            | Self::NoPrecondition
            | Self::NotConfirmed(_)
            | Self::Tokens(_)
            | Self::NotKept(_) => Vec::new(),
        }
    }
}

impl Unfit {
    fn say(&self, language: Language) -> String {
        match self {
            Self::TokenBounds => say!(
                language,
                "`calls_max` is from 1 to 1000000, and `queues` holds at most 100 ids",
                "`calls_max` 从 1 到 1000000，`queues` 最多 100 个 id",
            ),
            Self::Budget => say!(
                language,
                "write `budget_per_day` as `{example}`",
                "`budget_per_day` 请写成 `{example}`",
                example = Budget::EXAMPLE,
            ),
            Self::TooManyChanges => {
                say!(language, "at most 1,000 changes at once", "一次最多 1,000 项修改")
            }
            Self::ImportFormat { format, version } => say!(
                language,
                "`format` is \"{format}\" and `version` {version}",
                "`format` 应为 \"{format}\"，`version` 应为 {version}",
                format,
                version,
            ),
            Self::ImportRoute { place } => say!(
                language,
                "{place}: write a provider and a model, \"a/b\"",
                "{place}：请写提供方和模型，即 \"a/b\"",
                place,
            ),
            Self::Key(why) => why.say(language),
            Self::Name(place, why) => at(place, why, language),
        }
    }
}

impl NotKept {
    fn say(&self, language: Language) -> String {
        match self {
            Self::Beyond(trouble) => say!(
                language,
                "it holds, but not beyond this process: {why}",
                "已生效，但进程结束后不会保留：{why}",
                why = trouble_said(*trouble, language),
            ),
            Self::Key(error) => error.say(language),
            Self::Stopping => say!(language, "the gateway is stopping", "网关正在停止"),
        }
    }
}

impl Named {
    const fn code(self) -> &'static str {
        match self {
            Self::Session => "no_such_session",
            Self::Queue => "no_such_queue",
            Self::Route => "no_such_route",
            Self::Key => "no_such_key",
            Self::Token => "no_such_token",
        }
    }

    fn lacks(self, name: &str, language: Language) -> String {
        match self {
            Self::Session => {
                say!(language, "no session `{name}` is known", "没有会话 `{name}`", name)
            }
            Self::Queue => say!(language, "no queue `{name}` is known", "没有队列 `{name}`", name),
            Self::Route => say!(language, "no route `{name}` is known", "没有线路 `{name}`", name),
            Self::Key => {
                say!(language, "no key `{name}` is known", "没有为 `{name}` 保存密钥", name)
            }
            Self::Token => say!(language, "no token `{name}` is known", "没有令牌 `{name}`", name),
        }
    }
}

fn at(place: &str, refusal: &Refusal, language: Language) -> String {
    let why = refusal.message(language);
    say!(language, "{place}: {why}", "{place}：{why}", place, why)
}

/// The first of what is wrong, with its line.
fn unusable(problems: &Problems, language: Language) -> String {
    let first = problems.first_error();
    let why = first.map(|one| one.mistake.message(language)).unwrap_or_default();
    let line = first.and_then(|one| one.place.as_ref()).map(|place| place.line);
    let place = line.map_or_else(|| problems.file.clone(), |at| format!("{}:{at}", problems.file));
    say!(
        language,
        "the settings file cannot be used as it stands: {place}: {why}",
        "设置文件现在的内容不可用：{place}：{why}",
        place,
        why,
    )
}

fn trouble_said(trouble: Trouble, language: Language) -> String {
    match (trouble, language) {
        (_, Language::English) => trouble.to_string(),
        (Trouble::Full, Language::Chinese) => "磁盘已满，或文件达到上限".to_owned(),
        (Trouble::Locked, Language::Chinese) => "文件被别的程序占用".to_owned(),
        (Trouble::Behind, Language::Chinese) => "要写的多于写得完的".to_owned(),
        (Trouble::Disk, Language::Chinese) => "文件无法写入或读取".to_owned(),
        (Trouble::Ended, Language::Chinese) => "写入任务已结束".to_owned(),
    }
}

/// A name from outside, as far as it is shown.
fn cut(name: &str, chars_max: usize) -> String {
    name.chars().filter(|c| !c.is_control()).take(chars_max).collect()
}
