//! Queues and their candidates.

use super::{Words, meant_text};
use crate::check::ENTRY_MAX_CHARS;
use crate::say;
use crate::say::Language;

/// What is wrong with a candidate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum CandidateMistake {
    TwiceInFallbacks {
        route: String,
    },
    /// `place` is that of the first, from 1.
    Twice {
        route: String,
        place: usize,
    },
    NoRoute,
    UnknownEffort {
        effort: String,
    },
    IsQueue {
        written: String,
        which: Contained,
    },
    /// `provider` is a good one for an example.
    Form {
        written: String,
        provider: String,
    },
    /// Too long, or more than one line.
    Line {
        written: String,
    },
    LeadsBack {
        route: String,
    },
    UnknownProvider {
        provider: String,
        advice: ProviderAdvice,
    },
}

/// Which queue stands where a route belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Contained {
    Itself,
    Another,
}

/// What to do about an unknown provider.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ProviderAdvice {
    Near { near: String, model: String },
    Write { provider: String },
    Known(Vec<String>),
}

/// What is wrong with a queue, or with direct calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum QueueMistake {
    BadId {
        id: String,
        of: IdOf,
    },
    /// An empty one stands in under this id.
    NoneWritten {
        id: &'static str,
    },
    Empty {
        queue: String,
    },
    SameName {
        queue: String,
        twin: String,
        name: String,
    },
    /// Candidates whose dialect this version does not speak.
    Unspoken {
        queue: String,
        routes: Vec<String>,
        which: Unspoken,
    },
    FallbacksUnasked,
}

/// What bears an id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum IdOf {
    Provider,
    Queue,
}

impl IdOf {
    /// Where it is written.
    pub(crate) const fn section(self) -> &'static str {
        match self {
            Self::Provider => "providers",
            Self::Queue => "queues",
        }
    }
}

/// Which candidates of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unspoken {
    All,
    Some,
}

impl Words for CandidateMistake {
    fn code(&self) -> &'static str {
        match self {
            Self::TwiceInFallbacks { .. } | Self::Twice { .. } => "route_twice",
            Self::NoRoute => "route_lacking",
            Self::UnknownEffort { .. } => "unknown_effort",
            Self::IsQueue { .. } | Self::LeadsBack { .. } => "queue_in_queue",
            Self::Form { .. } | Self::Line { .. } => "no_route",
            Self::UnknownProvider { .. } => "unknown_provider",
        }
    }

    fn message(&self, language: Language) -> String {
        match self {
            Self::TwiceInFallbacks { route } => say!(
                language,
                "route `{route}` stands twice in `fallbacks`",
                "线路 `{route}` 在 `fallbacks` 中出现了两次",
                route,
            ),
            Self::Twice { route, .. } => say!(
                language,
                "route `{route}` stands twice in this queue",
                "线路 `{route}` 在这个队列中出现了两次",
                route,
            ),
            Self::NoRoute => say!(language, "a candidate has no `route`", "有一个候选没有 `route`"),
            Self::UnknownEffort { effort } => say!(
                language,
                "effort `{effort}` is none of the `effort_levels`",
                "思考强度 `{effort}` 不在 `effort_levels` 之中",
                effort,
            ),
            Self::IsQueue { written, which: Contained::Itself } => {
                say!(language, "`{written}` is itself", "`{written}` 就是这个队列自己", written)
            }
            Self::IsQueue { written, which: Contained::Another } => {
                say!(language, "`{written}` is a queue", "`{written}` 是一个队列", written)
            }
            Self::Form { written, .. } => {
                say!(language, "`{written}` is no route", "`{written}` 不是线路", written)
            }
            Self::Line { written } => {
                say!(language, "`{written}` is no route", "`{written}` 不是线路", written)
            }
            Self::LeadsBack { route } => {
                say!(language, "`{route}` leads back to Ekiden", "`{route}` 又指回了 Ekiden", route,)
            }
            Self::UnknownProvider { provider, .. } => say!(
                language,
                "provider `{provider}` is unknown: its candidate is passed over",
                "没有提供方 `{provider}`：它的候选会被跳过",
                provider,
            ),
        }
    }

    fn hint(&self, language: Language) -> Option<String> {
        Some(match self {
            Self::TwiceInFallbacks { .. } => {
                say!(language, "keep one of the two", "请只保留一个")
            }
            Self::Twice { place, .. } => say!(
                language,
                "it is candidate {place} already: keep one of the two",
                "它已是第 {place} 个候选：请只保留一个",
                place,
            ),
            Self::NoRoute => say!(
                language,
                "write { route = \"provider/model\", … }",
                "请写成 { route = \"provider/model\", … }",
            ),
            Self::UnknownEffort { .. } => say!(
                language,
                "a level that the model does not know is not sent (R35)",
                "模型不认识的强度不会发送（R35）",
            ),
            Self::IsQueue { .. } => say!(
                language,
                "a queue never contains a queue (R6): write the candidates of the other one",
                "队列中不能再有队列（R6）：请写出那个队列的候选",
            ),
            Self::Form { provider, .. } => say!(
                language,
                "write a provider and a model: \"{provider}/model\"",
                "请写提供方和模型：\"{provider}/model\"",
                provider,
            ),
            Self::Line { .. } => say!(
                language,
                "a route is one line of at most {most} characters",
                "线路应为一行，最多 {most} 个字符",
                most = ENTRY_MAX_CHARS,
            ),
            Self::LeadsBack { .. } => say!(
                language,
                "a queue never contains a queue (R6): write routes of providers",
                "队列中不能再有队列（R6）：请写提供方的线路",
            ),
            Self::UnknownProvider { advice, .. } => advice.say(language),
        })
    }
}

impl ProviderAdvice {
    fn say(&self, language: Language) -> String {
        match self {
            Self::Near { near, model } => meant_text(language, &format!("{near}/{model}")),
            Self::Write { provider } => say!(
                language,
                "write `[providers.{provider}]` with `base_url` and `dialect`",
                "请写 `[providers.{provider}]`，其中有 `base_url` 和 `dialect`",
                provider,
            ),
            Self::Known(providers) => say!(
                language,
                "the providers are: {providers}",
                "现有的提供方：{providers}",
                providers = language.list(providers),
            ),
        }
    }
}

impl Words for QueueMistake {
    fn code(&self) -> &'static str {
        match self {
            Self::BadId { .. } => "bad_id",
            Self::NoneWritten { .. } => "no_queue",
            Self::Empty { .. } => "empty_queue",
            Self::SameName { .. } => "same_name",
            Self::Unspoken { .. } => "unspoken_dialect",
            Self::FallbacksUnasked => "fallbacks_unasked",
        }
    }

    fn message(&self, language: Language) -> String {
        match self {
            Self::BadId { id, of: IdOf::Provider } => {
                say!(language, "`{id}` is no provider id", "`{id}` 不能作提供方的 id", id)
            }
            Self::BadId { id, of: IdOf::Queue } => {
                say!(language, "`{id}` is no queue id", "`{id}` 不能作队列的 id", id)
            }
            Self::NoneWritten { id } => say!(
                language,
                "no queue is written: an empty one stands in as `{id}`",
                "没有写任何队列：暂以空队列 `{id}` 代替",
                id,
            ),
            Self::Empty { queue } => {
                say!(language, "queue `{queue}` is empty", "队列 `{queue}` 是空的", queue)
            }
            Self::SameName { queue, twin, name } => say!(
                language,
                "queue `{queue}` bears the name of queue `{twin}`: {name}",
                "队列 `{queue}` 与队列 `{twin}` 同名：{name}",
                queue,
                twin,
                name,
            ),
            Self::Unspoken { queue, routes, which: Unspoken::All } => say!(
                language,
                "no candidate of queue `{queue}` can be used: {routes}",
                "队列 `{queue}` 没有可用的候选：{routes}",
                queue,
                routes = language.list(routes),
            ),
            Self::Unspoken { queue, routes, which: Unspoken::Some } => say!(
                language,
                "queue `{queue}` has candidates that cannot be used: {routes}",
                "队列 `{queue}` 中有不可用的候选：{routes}",
                queue,
                routes = language.list(routes),
            ),
            Self::FallbacksUnasked => say!(
                language,
                "`fallbacks` are never asked while calls of `[direct]` have policy `none`",
                "`[direct]` 的策略为 `none` 时，`fallbacks` 永远不会用到",
            ),
        }
    }

    fn hint(&self, language: Language) -> Option<String> {
        Some(match self {
            Self::BadId { .. } => say!(
                language,
                "an id has 1 to 64 letters, digits, `.`, `_` or `-`, and begins with a letter or digit; `name` may be anything",
                "id 由 1 到 64 个字母、数字、`.`、`_` 或 `-` 组成，以字母或数字开头；`name` 可以随意",
            ),
            Self::NoneWritten { id } => say!(
                language,
                "write `[queues.{id}]` with `candidates = [\"provider/model\"]`",
                "请写 `[queues.{id}]`，其中有 `candidates = [\"provider/model\"]`",
                id,
            ),
            Self::Empty { .. } => say!(
                language,
                "its calls fail until it has `candidates = [\"provider/model\"]`",
                "在写上 `candidates = [\"provider/model\"]` 之前，发给它的请求都会失败",
            ),
            Self::SameName { .. } => say!(
                language,
                "people tell queues by their names: change one of them",
                "人们靠名字分辨队列：请改掉其中一个",
            ),
            Self::Unspoken { .. } => say!(
                language,
                "this version does not speak openai-responses and passes them over: use the provider's openai-chat or anthropic-messages interface if it has one",
                "这个版本不支持 openai-responses，会跳过它们：如果提供方有 openai-chat 或 anthropic-messages 接口，请改用",
            ),
            Self::FallbacksUnasked => say!(
                language,
                "write `policy = \"chain\"` into `[direct]`",
                "请在 `[direct]` 中写 `policy = \"chain\"`",
            ),
        })
    }
}
