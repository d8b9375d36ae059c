//! Settings by API: what holds, where it comes from, and changes as a person would make them (G7).
//!
//! It refuses to show a key, and to write over what somebody else wrote meanwhile.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use ekiden_config::edit::{Change, EditError, TextHash, key_at, value_from_text};
use ekiden_config::keys::Kind;
use ekiden_config::{
    Config, Credential, KeysError, Language, Origin, Setting, Value, WELL_KNOWN, show_size_bytes,
    show_span_ms,
};

use crate::body::Body;
use crate::front::Front;
use crate::front::client::text;
use crate::front::reply::json as answer;
use crate::settings::{KeyError, SettingsStatus};

use super::Answered;
use super::refusal::{Named, NotKept, Refusal, Unfit};
use super::state::SettingsState;

/// All settings.
#[derive(Serialize, JsonSchema)]
pub(in crate::front) struct Settings {
    #[serde(flatten)]
    status: SettingsState,
    settings: Vec<SettingShown>,
}

/// One key with its value.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Setting")]
struct SettingShown {
    /// Such as `queues.default.retries`.
    path: String,
    /// As a change takes it; spans and sizes with their unit, keys masked; none: nothing is set.
    value: Json,
    /// What holds where nobody sets it, as people read it; empty: nothing.
    default: String,
    origin: OriginShown,
    takes: Option<TakesShown>,
    /// What it is for.
    about: Option<About>,
}

/// Where a value comes from.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "from", rename_all = "snake_case")]
#[schemars(rename = "Origin")]
enum OriginShown {
    /// Nobody set it.
    Default,
    /// A line of the file, from 1.
    File { line: usize },
    /// An environment variable.
    Env { variable: String },
    /// A key that was given to the gateway to keep.
    Stored,
    /// A server that was found on this machine; its base URL.
    Found { at: String },
}

/// What a key takes.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[schemars(rename = "Takes")]
enum TakesShown {
    Bool,
    Integer {
        min: u64,
        max: u64,
    },
    /// With its unit; bounds in milliseconds.
    Span {
        min_ms: u64,
        max_ms: u64,
    },
    /// With its unit; bounds in bytes.
    Size {
        min: u64,
        max: u64,
    },
    Text {
        chars_max: usize,
    },
    Choice {
        of: &'static [&'static str],
    },
    Choices {
        of: &'static [&'static str],
    },
    Texts,
    /// Names with texts that are kept like keys.
    SecretPairs,
    Secret,
    Variable,
    Path,
    Url,
    Proxy,
    Listen,
    Zone,
    Candidates,
}

/// What a key is for.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SettingAbout")]
struct About {
    en: &'static str,
    zh: &'static str,
}

/// Changes, made all or none.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SettingsChanges")]
pub(in crate::front) struct Wish {
    #[schemars(length(max = 1_000))]
    changes: Vec<ChangeWished>,
}

/// One change. Values are JSON: `true`, `3`, `"45s"`, `["a"]`, `{"name": "text"}`.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
#[schemars(rename = "SettingsChange")]
enum ChangeWished {
    /// A key gets a value.
    Set { path: String, value: Json },
    /// A key, an alias or a whole provider goes, and its default holds again.
    Unset { path: String },
    /// A new queue, at the end.
    AddQueue {
        id: String,
        name: Option<String>,
        #[serde(default)]
        routes: Vec<String>,
    },
    /// A queue goes, with its candidates.
    DeleteQueue { id: String },
    /// The queues get this order.
    OrderQueues { ids: Vec<String> },
    /// A new candidate, before the one at `at` (from 0), or at the end.
    AddCandidate { queue: String, route: String, at: Option<usize> },
    /// A candidate goes.
    RemoveCandidate { queue: String, route: String },
    /// The candidates get this order.
    OrderCandidates { queue: String, routes: Vec<String> },
    /// An option of a candidate gets a value, or with none its default.
    SetCandidate { queue: String, route: String, key: String, value: Option<Json> },
}

/// The settings as they are now.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SettingsChanged")]
pub(in crate::front) struct ChangedTo {
    /// The hash of the file's text: the precondition of the next change.
    pub(super) hash: String,
}

/// A key to be kept.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ProviderKey")]
pub(in crate::front) struct KeyWish {
    key: SecretText,
}

/// Text that is not shown again.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
struct SecretText(String);

/// A provider whose stored key changed.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ProviderKeyChanged")]
pub(in crate::front) struct KeyChanged {
    provider: String,
    /// Whether one is stored now.
    stored: bool,
    /// Why the stored key is not used; left out where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    unused: Option<Unused>,
}

/// Why a stored key is not used. It is kept all the same.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "why", rename_all = "snake_case")]
#[schemars(rename = "ProviderKeyUnused")]
enum Unused {
    /// The settings have no such provider; `nearest` is the one that was probably meant.
    NoProvider {
        #[serde(skip_serializing_if = "Option::is_none")]
        nearest: Option<String>,
    },
    /// This variable gives the key, and comes first.
    Variable { variable: String },
    /// This file gives the key, and comes first.
    File { path: String },
    /// The settings themselves give the key, and come first.
    Settings,
    /// The settings file cannot be used as it stands: the last good ones hold, keys and all.
    SettingsRefused,
}

impl Unused {
    /// How it stands once a key is stored and the settings were taken anew; `None`: it is used.
    fn of(config: &Config, status: &SettingsStatus, id: &str) -> Option<Self> {
        if status.refused.is_some() {
            return Some(Self::SettingsRefused);
        }
        let Some(provider) = config.provider(id) else {
            let nearest = config.nearest_provider(id).map(str::to_owned);
            return Some(Self::NoProvider { nearest });
        };
        Some(match &provider.credential {
            Credential::Stored => return None,
            Credential::Env(variable) => Self::Variable { variable: variable.clone() },
            Credential::File(path) => Self::File { path: path.display().to_string() },
            Credential::Inline => Self::Settings,
            // The settings were not taken anew: they hold from the next look on.
            Credential::None => return None,
        })
    }
}

/// What a caller saw, if it says so.
pub(super) fn seen(headers: &HeaderMap) -> Option<TextHash> {
    let shown = text(headers, header::IF_MATCH.as_str())?.trim();
    let bare = shown.strip_prefix("W/").unwrap_or(shown).trim_matches('"');
    Some(TextHash::from_shown(bare))
}

impl Front {
    pub(super) fn settings(&self, language: Language) -> Response<Body> {
        let status = self.core.settings();
        let hash = status.hash.clone();
        let settings = self.core.plan().config().settings();
        let shown = Settings {
            status: SettingsState::of(status, language),
            settings: settings.into_iter().map(SettingShown::of).collect(),
        };
        tagged(answer(StatusCode::OK, &shown), &hash)
    }

    pub(super) async fn change_settings(&self, headers: &HeaderMap, wish: Wish) -> Answered {
        let seen = seen(headers).ok_or(Refusal::NoPrecondition)?;
        if wish.changes.len() > 1_000 {
            return Err(Box::new(Refusal::Unfit(Unfit::TooManyChanges)));
        }
        let changes: Result<Vec<_>, _> =
            wish.changes.into_iter().map(ChangeWished::change).collect();
        let hash = self.edit(Some(seen), changes?).await?;
        let told = ChangedTo { hash: hash.to_string() };
        Ok(tagged(answer(StatusCode::OK, &told), &hash))
    }

    /// Makes changes, all or none. Where the caller does not say what it saw, the change is made to
    /// whatever stands there: it touches nothing else.
    pub(super) async fn edit(
        &self,
        seen: Option<TextHash>,
        changes: Vec<Change>,
    ) -> Result<TextHash, Box<Refusal>> {
        let core = Arc::clone(&self.core);
        let work = move || match seen {
            Some(seen) => core
                .change_settings(&seen, &changes)
                .map_err(|error| instead_of_conflict(error, &seen, core.settings())),
            None => match core.change_settings(&core.settings().hash, &changes) {
                Err(EditError::Conflict { now }) => core.change_settings(&now, &changes),
                made => made,
            }
            .map_err(Into::into),
        };
        self.core
            .tasks()
            .blocking(work)
            .await
            .unwrap_or_else(|_| Err(Box::new(Refusal::NotKept(NotKept::Stopping))))
    }

    /// Looks at the file now, rather than within a second.
    pub(super) async fn reload_settings(&self) -> Answered {
        let core = Arc::clone(&self.core);
        let looked = self.core.tasks().blocking(move || core.reload_settings()).await;
        looked.map_err(|_| Refusal::NotKept(NotKept::Stopping))?.map_err(Refusal::Invalid)?;
        let hash = self.core.settings().hash;
        Ok(tagged(answer(StatusCode::OK, &ChangedTo { hash: hash.to_string() }), &hash))
    }

    pub(super) async fn store_key(&self, provider: String, wish: KeyWish) -> Answered {
        // Where no file names providers, its key is what makes a well-known one a finding (G8).
        let known = WELL_KNOWN.iter().any(|known| known.id == provider);
        if !known && self.core.plan().config().provider(&provider).is_none() {
            return Err(Refusal::no_provider(self.core.plan().config(), &provider));
        }
        let (core, named) = (Arc::clone(&self.core), provider.clone());
        let key = SecretString::from(wish.key.0);
        let stored = self.core.tasks().blocking(move || core.store_key(&named, &key)).await;
        match stored.map_err(|_| Refusal::NotKept(NotKept::Stopping))? {
            Ok(()) => {
                let unused =
                    Unused::of(self.core.plan().config(), &self.core.settings(), &provider);
                Ok(answer(StatusCode::OK, &KeyChanged { provider, stored: true, unused }))
            }
            Err(KeyError::Keys(why @ KeysError::NoKey)) => {
                Err(Box::new(Refusal::Unfit(Unfit::Key(why))))
            }
            Err(error) => Err(Box::new(Refusal::NotKept(NotKept::Key(error)))),
        }
    }

    pub(super) async fn forget_key(&self, provider: String) -> Answered {
        let (core, named) = (Arc::clone(&self.core), provider.clone());
        let forgotten = self.core.tasks().blocking(move || core.forget_key(&named)).await;
        let there_was = forgotten
            .map_err(|_| Refusal::NotKept(NotKept::Stopping))?
            .map_err(|error| Refusal::NotKept(NotKept::Key(error)))?;
        if !there_was {
            return Err(Refusal::no_such(Named::Key, &provider));
        }
        Ok(answer(StatusCode::OK, &KeyChanged { provider, stored: false, unused: None }))
    }
}

/// Whoever saw what runs has missed nothing that could be used: a file that is refused is the cause,
/// and looking again would show the same.
fn instead_of_conflict(error: EditError, seen: &TextHash, status: SettingsStatus) -> Box<Refusal> {
    match (&error, status.refused) {
        (EditError::Conflict { .. }, Some(problems)) if *seen == status.hash => {
            Box::new(Refusal::Unusable(problems))
        }
        _ => error.into(),
    }
}

impl ChangeWished {
    fn change(self) -> Result<Change, Box<Refusal>> {
        Ok(match self {
            Self::Set { path, value } => Change::Set { value: given(&path, &value)?, path },
            Self::Unset { path } => Change::Unset { path },
            Self::AddQueue { id, name, routes } => Change::AddQueue { id, name, routes },
            Self::DeleteQueue { id } => Change::DeleteQueue { id },
            Self::OrderQueues { ids } => Change::OrderQueues { ids },
            Self::AddCandidate { queue, route, at } => Change::AddCandidate { queue, route, at },
            Self::RemoveCandidate { queue, route } => Change::RemoveCandidate { queue, route },
            Self::OrderCandidates { queue, routes } => Change::OrderCandidates { queue, routes },
            Self::SetCandidate { queue, route, key, value } => {
                // What a key takes does not depend on whose it is.
                let path = format!("queues.{queue}.candidates.0.{key}");
                let value = value.map(|value| given(&path, &value)).transpose()?;
                Change::SetCandidate { queue, route, key, value }
            }
        })
    }
}

/// A value as JSON has it, for the key of that path.
pub(super) fn given(path: &str, value: &Json) -> Result<Value, Box<Refusal>> {
    let misfit = || Box::new(Refusal::Value { path: path.to_owned() });
    match value {
        Json::String(text) => Ok(value_from_text(path, text)?),
        Json::Bool(_) | Json::Number(_) => Ok(value_from_text(path, &value.to_string())?),
        Json::Array(list) => {
            let texts = list.iter().map(|entry| entry.as_str().map(str::to_owned));
            texts.collect::<Option<_>>().map(Value::Texts).ok_or_else(misfit)
        }
        Json::Object(members) => {
            let pairs = members
                .iter()
                .map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
            pairs.collect::<Option<_>>().map(Value::Pairs).ok_or_else(misfit)
        }
        Json::Null => Err(misfit()),
    }
}

/// A value as [`given`] takes it.
pub(super) fn shown(value: &Value) -> Json {
    match value {
        Value::Bool(on) => json!(on),
        Value::Integer(number) => json!(number),
        Value::Ms(ms) => json!(show_span_ms(*ms)),
        Value::Bytes(bytes) => json!(show_size_bytes(*bytes)),
        Value::Text(text) => json!(text),
        Value::Texts(texts) => json!(texts),
        Value::Pairs(pairs) => {
            let members = pairs.iter().map(|(name, text)| (name.clone(), json!(text)));
            Json::Object(members.collect())
        }
    }
}

impl SettingShown {
    fn of(setting: Setting) -> Self {
        let Setting { path, value, origin } = setting;
        let key = key_at(&path);
        Self {
            value: value.as_ref().map_or(Json::Null, shown),
            default: key.map(|key| key.default_text()).unwrap_or_default(),
            origin: match origin {
                Origin::Default => OriginShown::Default,
                Origin::File { line } => OriginShown::File { line },
                Origin::Env { variable } => OriginShown::Env { variable },
                Origin::Stored => OriginShown::Stored,
                Origin::Found { at } => OriginShown::Found { at },
            },
            takes: key.map(|key| TakesShown::of(key.kind)),
            about: key.map(|key| About { en: key.about_en, zh: key.about_zh }),
            path,
        }
    }
}

impl TakesShown {
    const fn of(kind: Kind) -> Self {
        match kind {
            Kind::Bool => Self::Bool,
            Kind::Integer { min, max } => Self::Integer { min, max },
            Kind::Span { min_ms, max_ms } => Self::Span { min_ms, max_ms },
            Kind::Bytes { min, max } => Self::Size { min, max },
            Kind::Text { max_chars } => Self::Text { chars_max: max_chars },
            Kind::Choice(of) => Self::Choice { of },
            Kind::Choices(of) => Self::Choices { of },
            Kind::Texts => Self::Texts,
            Kind::SecretPairs => Self::SecretPairs,
            Kind::Secret => Self::Secret,
            Kind::Variable => Self::Variable,
            Kind::Path => Self::Path,
            Kind::Url => Self::Url,
            Kind::Proxy => Self::Proxy,
            Kind::Listen => Self::Listen,
            Kind::Zone => Self::Zone,
            Kind::Candidates => Self::Candidates,
        }
    }
}

pub(super) fn tagged(mut response: Response<Body>, hash: &TextHash) -> Response<Body> {
    if let Ok(tag) = HeaderValue::try_from(format!("\"{hash}\"")) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}
