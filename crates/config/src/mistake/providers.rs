//! Providers, written or found in the environment.

use std::net::SocketAddr;

use super::Words;
use crate::hindrance::Hindrance;
use crate::say;
use crate::say::Language;
use crate::url::UrlError;

/// What is wrong with a provider.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ProviderMistake {
    /// A key that every provider has; `example` is a line.
    Lacks {
        provider: String,
        key: &'static str,
        example: &'static str,
    },
    PointsHere {
        listen: SocketAddr,
    },
    Guarded {
        host: String,
    },
    PlainText {
        host: String,
    },
    TwoKeys {
        other: &'static str,
        way: &'static str,
    },
    Unset {
        variable: String,
    },
    KeyInFile,
    KeyShared {
        path: String,
    },
    NoKeyIn {
        path: String,
        why: KeyFault,
    },
}

/// Why a file holds no key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum KeyFault {
    Unreadable(Hindrance),
    Empty,
    ManyWords,
}

/// What is to be said about the environment (G8).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum FoundMistake {
    /// Some of the variables that would have shown one.
    NoProvider { variables: Vec<&'static str> },
    Address {
        variable: &'static str,
        why: AddressFault,
        provider: &'static str,
        instead: &'static str,
    },
}

/// Why a variable's address is not used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AddressFault {
    PointsHere,
    Guarded,
    Url(UrlError),
}

impl Words for ProviderMistake {
    fn code(&self) -> &'static str {
        match self {
            Self::Lacks { .. } => "key_lacking",
            Self::PointsHere { .. } => "points_at_ekiden",
            Self::Guarded { .. } => "guarded_address",
            Self::PlainText { .. } => "plain_text",
            Self::TwoKeys { .. } => "two_keys",
            Self::Unset { .. } => "variable_unset",
            Self::KeyInFile => "key_in_file",
            Self::KeyShared { .. } => "key_shared",
            Self::NoKeyIn { .. } => "no_key_in_file",
        }
    }

    fn message(&self, language: Language) -> String {
        match self {
            Self::Lacks { provider, key, .. } => say!(
                language,
                "provider `{provider}` has no `{key}`",
                "提供方 `{provider}` 没有 `{key}`",
                provider,
                key,
            ),
            Self::PointsHere { listen } => say!(
                language,
                "`base_url` points at Ekiden itself, which listens on {listen}",
                "`base_url` 指向 Ekiden 自己，它正监听 {listen}",
                listen,
            ),
            Self::Guarded { host } => say!(
                language,
                "`base_url` is a link-local or metadata address: {host}",
                "`base_url` 是链路本地地址或云元数据地址：{host}",
                host,
            ),
            Self::PlainText { host } => say!(
                language,
                "key and prompts go to {host} in plain text",
                "密钥和提示词会以明文发往 {host}",
                host,
            ),
            Self::TwoKeys { other, way } => say!(
                language,
                "`{other}` stands beside `{way}`",
                "`{other}` 与 `{way}` 同时出现",
                other,
                way,
            ),
            Self::Unset { variable } => say!(
                language,
                "the environment variable {variable} is not set",
                "环境变量 {variable} 没有设置",
                variable,
            ),
            Self::KeyInFile => {
                say!(language, "the key stands in this file", "密钥直接写在这个文件里")
            }
            Self::KeyShared { path } => say!(
                language,
                "others than its owner can read {path}",
                "{path} 能被所有者之外的人读取",
                path,
            ),
            Self::NoKeyIn { path, why } => say!(
                language,
                "no key in {path}: {why}",
                "{path} 中没有密钥：{why}",
                path,
                why = why.say(language),
            ),
        }
    }

    fn hint(&self, language: Language) -> Option<String> {
        Some(match self {
            Self::Lacks { provider, example, .. } => say!(
                language,
                "write `{example}` below [providers.{provider}]",
                "请在 [providers.{provider}] 下写 `{example}`",
                example,
                provider,
            ),
            Self::PointsHere { .. } => say!(
                language,
                "a queue never contains a queue (R6): write the address of the provider",
                "队列中不能再有队列（R6）：请写提供方的地址",
            ),
            Self::Guarded { .. } => say!(
                language,
                "a cloud hands out its machines' credentials there; if an upstream really is there, write `allow_link_local = true`",
                "云平台在那里发放机器自己的凭据；如果提供方确实在那里，请写 `allow_link_local = true`",
            ),
            Self::PlainText { .. } => say!(
                language,
                "write `https://` if the provider offers it",
                "如果提供方支持，请写 `https://`",
            ),
            Self::TwoKeys { .. } => say!(
                language,
                "a provider has one key: keep one of the two",
                "一个提供方只有一个密钥：请只保留一个",
            ),
            Self::Unset { .. } => say!(
                language,
                "until it is, every call to this provider fails as `auth`",
                "在设置之前，发给这个提供方的请求都会以 `auth` 失败",
            ),
            Self::KeyInFile => say!(
                language,
                "safer: name a variable with `api_key_env`, or a file that only you can read with `api_key_file`",
                "更安全的做法：用 `api_key_env` 写环境变量的名字，或用 `api_key_file` 写只有您能读取的文件",
            ),
            Self::KeyShared { path } => {
                say!(language, "run `chmod 600 {path}`", "请运行 `chmod 600 {path}`", path)
            }
            Self::NoKeyIn { .. } => say!(
                language,
                "until it holds one, every call to this provider fails as `auth`",
                "在写入密钥之前，发给这个提供方的请求都会以 `auth` 失败",
            ),
        })
    }
}

impl KeyFault {
    fn say(&self, language: Language) -> String {
        match self {
            Self::Unreadable(why) => why.say(language),
            Self::Empty => say!(language, "it is empty", "文件是空的"),
            Self::ManyWords => say!(language, "it holds more than one word", "其中不止一个词"),
        }
    }
}

impl Words for FoundMistake {
    fn code(&self) -> &'static str {
        match self {
            Self::NoProvider { .. } => "no_provider",
            Self::Address { .. } => "address_not_used",
        }
    }

    fn message(&self, language: Language) -> String {
        match self {
            Self::NoProvider { .. } => {
                say!(language, "no provider was found", "没有找到任何提供方")
            }
            Self::Address { variable, why: AddressFault::PointsHere, .. } => say!(
                language,
                "{variable} points at Ekiden itself",
                "{variable} 指向 Ekiden 自己",
                variable,
            ),
            Self::Address { variable, why: AddressFault::Guarded, .. } => say!(
                language,
                "{variable} is a link-local or metadata address",
                "{variable} 是链路本地地址或云元数据地址",
                variable,
            ),
            Self::Address { variable, why: AddressFault::Url(why), .. } => say!(
                language,
                "{variable} is not used: {why}",
                "不使用 {variable}：{why}",
                variable,
                why = why.say(language),
            ),
        }
    }

    fn hint(&self, language: Language) -> Option<String> {
        Some(match self {
            Self::NoProvider { variables } => say!(
                language,
                "set one of {variables} and others, start a local server, or write a `[providers.ID]`",
                "请设置 {variables} 等环境变量之一，或启动本地服务，或写一个 `[providers.ID]`",
                variables = language.list(variables),
            ),
            Self::Address { provider, instead, .. } => say!(
                language,
                "`{provider}` is asked at {instead} instead",
                "`{provider}` 改用 {instead}",
                provider,
                instead,
            ),
        })
    }
}
