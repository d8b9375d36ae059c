//! Changes that make no sense in this file.

use super::{Words, meant};
use crate::say;
use crate::say::Language;

/// What is not there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Absent {
    /// `near` is what was probably meant.
    Key {
        path: String,
        near: Option<String>,
    },
    /// A provider is no key; one of its keys is.
    KeyOfProvider {
        path: String,
    },
    Queue {
        id: String,
        known: Known,
    },
    Provider {
        id: String,
        known: Known,
    },
    Candidate {
        route: String,
        known: Known,
    },
    /// Places count from 0.
    Place {
        place: usize,
        count: usize,
    },
    Value {
        path: String,
    },
    Option {
        key: String,
    },
}

/// What there is instead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Known {
    Near(String),
    All(Vec<String>),
    Nothing,
}

/// Why a change is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum EditMistake {
    ByHandAlone,
    Unwritable,
    NoSection { path: String },
    NoList,
    QueueThere { id: String },
    LastQueue,
    QueueOrder { known: Vec<String> },
    CandidateOrder { known: Vec<String> },
    RouteThere { route: String },
}

impl Words for Absent {
    fn code(&self) -> &'static str {
        match self {
            Self::Key { .. } | Self::KeyOfProvider { .. } => "no_such_key",
            Self::Queue { .. } => "no_such_queue",
            Self::Provider { .. } => "no_such_provider",
            Self::Candidate { .. } | Self::Place { .. } => "no_such_candidate",
            Self::Value { .. } | Self::Option { .. } => "not_set",
        }
    }

    fn message(&self, language: Language) -> String {
        match self {
            Self::Key { path, .. } | Self::KeyOfProvider { path } => {
                say!(language, "there is no key `{path}`", "没有键 `{path}`", path)
            }
            Self::Queue { id, .. } => {
                say!(language, "there is no queue `{id}`", "没有队列 `{id}`", id)
            }
            Self::Provider { id, .. } => {
                say!(language, "there is no provider `{id}`", "没有提供方 `{id}`", id)
            }
            Self::Candidate { route, .. } => {
                say!(language, "there is no candidate `{route}`", "没有候选 `{route}`", route)
            }
            Self::Place { place, .. } => {
                say!(language, "there is no candidate {place}", "没有编号为 {place} 的候选", place)
            }
            Self::Value { path } => say!(
                language,
                "there is no value of `{path}` in this file",
                "这个文件里没有 `{path}` 的值",
                path,
            ),
            Self::Option { key } => say!(
                language,
                "there is no value of `{key}` at this candidate",
                "这个候选没有写 `{key}`",
                key,
            ),
        }
    }

    fn hint(&self, language: Language) -> Option<String> {
        match self {
            Self::Key { near, .. } => near.as_ref().map(|near| meant(language, near)),
            Self::KeyOfProvider { path } => Some(say!(
                language,
                "set a key of it, such as `{path}.base_url`",
                "请设置它的某个键，例如 `{path}.base_url`",
                path,
            )),
            Self::Queue { known, .. }
            | Self::Provider { known, .. }
            | Self::Candidate { known, .. } => known.say(language),
            Self::Place { count, .. } => Some(say!(
                language,
                "this queue has {count}, counted from 0",
                "这个队列有 {count} 个候选，编号从 0 开始",
                count,
            )),
            Self::Value { .. } => Some(say!(
                language,
                "its default, or a variable, holds already",
                "现在已经是默认值，或由环境变量决定",
            )),
            Self::Option { .. } => {
                Some(say!(language, "its default holds already", "现在已经是默认值"))
            }
        }
    }
}

impl Known {
    fn say(&self, language: Language) -> Option<String> {
        match self {
            Self::Near(near) => Some(meant(language, near)),
            Self::All(all) => Some(there_are(language, all)),
            Self::Nothing => None,
        }
    }
}

fn there_are(language: Language, all: &[String]) -> String {
    say!(language, "there are: {all}", "现有：{all}", all = language.list(all))
}

impl Words for EditMistake {
    fn code(&self) -> &'static str {
        match self {
            Self::ByHandAlone => "by_hand_alone",
            Self::Unwritable => "unwritable_value",
            Self::NoSection { .. } => "no_section",
            Self::NoList => "no_list",
            Self::QueueThere { .. } => "queue_exists",
            Self::LastQueue => "last_queue",
            Self::QueueOrder { .. } | Self::CandidateOrder { .. } => "bad_order",
            Self::RouteThere { .. } => "route_twice",
        }
    }

    fn message(&self, language: Language) -> String {
        match self {
            Self::ByHandAlone => {
                say!(language, "this file cannot be changed from here", "这个文件不能从这里修改",)
            }
            Self::Unwritable => {
                say!(language, "this value cannot be written", "这个值无法写入文件")
            }
            Self::NoSection { path } => say!(
                language,
                "`{path}` is no section in this file",
                "`{path}` 在这个文件里不是分节",
                path,
            ),
            Self::NoList => say!(
                language,
                "`candidates` is no list in this file",
                "`candidates` 在这个文件里不是列表",
            ),
            Self::QueueThere { id } => {
                say!(language, "there is a queue `{id}` already", "已有队列 `{id}`", id)
            }
            Self::LastQueue => {
                say!(language, "the last queue cannot be deleted", "最后一个队列不能删除")
            }
            Self::QueueOrder { .. } => say!(
                language,
                "an order names all queues, each once",
                "顺序须列出全部队列，每个一次",
            ),
            Self::CandidateOrder { .. } => say!(
                language,
                "an order names all candidates, each once",
                "顺序须列出全部候选，每个一次",
            ),
            Self::RouteThere { route } => say!(
                language,
                "`{route}` stands in this queue already",
                "`{route}` 已在这个队列中",
                route,
            ),
        }
    }

    fn hint(&self, language: Language) -> Option<String> {
        Some(match self {
            Self::ByHandAlone => say!(language, "change it by hand", "请手动修改"),
            Self::Unwritable => say!(
                language,
                "leave out characters that no text may hold",
                "请去掉文本中不允许的字符",
            ),
            Self::NoSection { path } => say!(
                language,
                "write `[{path}]` on a line of its own",
                "请让 `[{path}]` 独占一行",
                path,
            ),
            Self::NoList => say!(
                language,
                "write `candidates = [\"provider/model\"]`",
                "请写成 `candidates = [\"provider/model\"]`",
            ),
            Self::QueueThere { .. } => say!(
                language,
                "take another id; `name` may be anything",
                "请换一个 id；`name` 可以随意",
            ),
            Self::LastQueue => {
                say!(language, "add another one first (R1)", "请先添加另一个（R1）")
            }
            Self::QueueOrder { known } | Self::CandidateOrder { known } => {
                there_are(language, known)
            }
            Self::RouteThere { .. } => say!(
                language,
                "a route stands at most once in a queue",
                "一条线路在一个队列中只出现一次",
            ),
        })
    }
}
