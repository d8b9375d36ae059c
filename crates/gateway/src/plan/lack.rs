//! Why a candidate cannot serve a call, whatever its health. It refuses to look beyond the settings.

use std::borrow::Cow;

use ekiden_config::{Credential, Language, say};
use ekiden_dialect::Dialect;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CandidateRuntime, Standing};

/// What a candidate lacks to serve an asker.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Lack {
    /// The settings have no such provider (R40).
    NoProvider {
        /// Its id.
        provider: String,
    },
    /// Its provider speaks another dialect than the asker, and nothing is translated yet.
    OtherDialect {
        /// What the provider speaks.
        speaks: Cow<'static, str>,
        /// What was asked in.
        asked: Cow<'static, str>,
    },
    /// Its provider wants a key, and there is none.
    NoKey {
        /// The environment variable that should hold it; none: it is looked for elsewhere.
        variable: Option<String>,
    },
    /// Its provider's address is no URL.
    BadAddress,
}

impl Lack {
    /// In words.
    #[must_use]
    pub fn say(&self, language: Language) -> String {
        match self {
            Self::NoProvider { provider } => say!(
                language,
                "there is no provider `{provider}`",
                "没有提供方 `{provider}`",
                provider,
            ),
            Self::OtherDialect { speaks, asked } => say!(
                language,
                "it speaks {speaks} and cannot answer a client that speaks {asked}",
                "它使用 {speaks} 协议，无法回答使用 {asked} 协议的客户端",
                speaks,
                asked,
            ),
            Self::NoKey { variable: Some(variable) } => say!(
                language,
                "no key: {variable} is not set",
                "没有密钥：未设置 {variable}",
                variable,
            ),
            Self::NoKey { variable: None } => say!(language, "no key", "没有密钥"),
            Self::BadAddress => say!(language, "its address is no URL", "它的地址不是 URL"),
        }
    }
}

impl CandidateRuntime {
    /// Why it cannot serve an asker of that dialect; `None`: it can. One whose key is missing would
    /// only be told so by its provider; it is passed over instead.
    pub(crate) fn lack(&self, asked: Dialect) -> Option<Lack> {
        let (provider, settings) = (&self.provider, &self.provider.settings);
        if provider.standing == Standing::Unknown {
            return Some(Lack::NoProvider { provider: settings.id.clone() });
        }
        if provider.dialect != asked {
            let (speaks, asked) = (provider.dialect.name().into(), asked.name().into());
            return Some(Lack::OtherDialect { speaks, asked });
        }
        if settings.lacks_key() {
            let variable = match &settings.credential {
                Credential::Env(variable) => Some(variable.clone()),
                Credential::None
                | Credential::File(_)
                | Credential::Inline
                | Credential::Stored => None,
            };
            return Some(Lack::NoKey { variable });
        }
        provider.endpoint.is_none().then_some(Lack::BadAddress)
    }
}
