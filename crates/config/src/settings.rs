//! The checked configuration. Plain data: it opens no file, reads no variable and no clock.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use secrecy::SecretString;

use crate::clocks::{ClockSettings, Clocks};
use crate::models;
use crate::policy::PolicySettings;
use crate::price::Price;
use crate::problem::nearest;
use crate::url::BaseUrl;

/// Everything that was set, checked; shared as `Arc<Config>`.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the gateway listens; beyond loopback it starts only with tokens (G9).
    pub listen: SocketAddr,
    /// The IANA name of the zone whose day counts (R17); `None`: the system's.
    pub time_zone: Option<String>,
    /// The hour at which the day turns, 0 to 23 (R17).
    pub reset_hour: u8,
    /// Off: every queue is one try on its first candidate (R0).
    pub enabled: bool,
    /// What an unknown model name gets (R1).
    pub unknown_model: UnknownModel,
    /// The least severe log lines that are written.
    pub log: LogLevel,
    /// Where state is kept; `None`: see [`crate::paths::state_dir`].
    pub state_dir: Option<PathBuf>,
    /// Origins of browser apps that may call (G14).
    pub allowed_origins: Vec<String>,
    /// Providers whose models are left out where candidates are chosen, by id (R38). One that is not
    /// there (any more) hides nothing.
    pub hidden_providers: Vec<String>,
    /// Body members that may name a session (wire order after the headers, R20).
    pub session_fields: Vec<SessionField>,
    /// How long a stream's status and head are held before keep-alives begin, in ms (G2).
    pub keepalive_after_ms: u64,
    /// The pause between keep-alives, in ms (G2).
    pub keepalive_every_ms: u64,
    /// How long open calls may go on after a stop was asked for, in ms (G13).
    pub drain_ms: u64,
    /// The event log that people read (R32).
    pub journal: Journal,
    /// Bounds on what is held and kept (G9, G14).
    pub limits: Limits,
    /// In the order of the file.
    pub providers: Vec<Provider>,
    /// In the order of the file; never empty.
    pub queues: Vec<Queue>,
    /// Model names of the user's own (R1).
    pub aliases: Vec<Alias>,
    /// What models cost, as the user says it, before the table of known models (R34).
    pub prices: Vec<PriceOf>,
    /// What holds for calls that name `provider/model` (spec section 4).
    pub direct: Direct,
    /// The policy of queues that say nothing.
    pub(crate) default_policy: PolicySettings,
    pub(crate) default_clocks: ClockSettings,
    pub(crate) origins: BTreeMap<String, Origin>,
}

/// What an unknown model name gets (R1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnknownModel {
    /// 404 with the nearest names.
    Error,
    /// The first queue.
    First,
}

/// The least severe log lines that are written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LogLevel {
    /// Nothing.
    Off,
    /// What stops the gateway or loses data.
    Error,
    /// What the user should change.
    Warn,
    /// What happens.
    Info,
    /// How it happens.
    Debug,
    /// Every step.
    Trace,
}

/// A member of a request's body that may name its session, if the user says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SessionField {
    /// `user`.
    User,
    /// `safety_identifier`.
    SafetyIdentifier,
}

/// The event log that people read (R32).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Journal {
    /// Whether it is kept.
    pub enabled: bool,
    /// Older entries are pruned.
    pub entries_max: u32,
}

/// Bounds on what is held and kept (G9, G14).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// One request's body, decoded.
    pub body_max_bytes: u64,
    /// All bodies held for resending; beyond it a body is not read and the answer is 503.
    pub held_max_bytes: u64,
    /// One call's head.
    pub head_max_bytes: u64,
    /// Calls open at once.
    pub calls_max: u32,
    /// Sessions remembered.
    pub sessions_max: u32,
}

/// The wire format that a provider speaks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dialect {
    /// `POST /chat/completions`.
    OpenAiChat,
    /// `POST /responses`.
    OpenAiResponses,
    /// `POST /v1/messages`.
    AnthropicMessages,
}

/// How much of its dialect a provider takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Profile {
    /// The dialect's own vendor: everything passes through.
    Native,
    /// A third party: fields that such servers refuse are taken out or rewritten.
    Compatible,
}

/// One upstream: base URL, dialect, credential.
#[derive(Clone, Debug)]
pub struct Provider {
    /// The name before the slash of a route.
    pub id: String,
    /// The name that people see.
    pub name: String,
    /// Without a slash at its end.
    pub base_url: BaseUrl,
    /// What it speaks.
    pub dialect: Dialect,
    /// How much of it.
    pub profile: Profile,
    /// Who issues its signatures and opaque ids: what one vendor issued goes to no other (G6).
    pub vendor: String,
    /// Where the credential comes from.
    pub credential: Credential,
    /// The credential, if it was found there.
    pub key: Option<SecretString>,
    /// Whether HTTP/2 may be used (G14).
    pub http2: bool,
    /// A proxy for this provider; never used for loopback (G14).
    pub proxy: Option<BaseUrl>,
    /// Further headers; their values are kept like keys.
    pub headers: Vec<(String, SecretString)>,
    /// Whether `stream_options.include_usage` may be asked for.
    pub stream_usage: bool,
    /// Top-level members that this provider refuses.
    pub drop_fields: Vec<String>,
    /// Whether the base URL may be, or resolve to, a link-local or metadata address (G9).
    pub allow_link_local: bool,
    /// Models that are known without asking.
    pub models: Vec<String>,
}

/// Where a credential comes from. Never holds it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Credential {
    /// None is sent.
    None,
    /// An environment variable.
    Env(String),
    /// A file that holds it alone.
    File(PathBuf),
    /// The configuration file itself.
    Inline,
    /// The keys that Ekiden was given to keep: see [`crate::StoredKeys`].
    Stored,
}

/// A queue, offered to clients as a model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Queue {
    /// What clients ask for; stays when the name changes.
    pub id: String,
    /// What people see.
    pub name: String,
    /// In the user's order (R2).
    pub candidates: Vec<Candidate>,
    /// The mechanisms.
    pub policy: PolicySettings,
    /// What its candidates' clocks stand on, for the page; theirs hold it already.
    pub clocks: ClockSettings,
}

/// A route in a queue with its own options.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// The provider's id. It may be none of [`Config::providers`]: the candidate is then kept, shown as
    /// missing and passed over (R40).
    pub provider: String,
    /// The model as the provider calls it.
    pub model: String,
    /// The effort that is sent, if the model knows it (R35).
    pub effort: Option<String>,
    /// The levels that the model declares, where the catalog does not say (R35).
    pub effort_levels: Vec<String>,
    /// The context window in tokens, where the user says it (R36).
    pub context_window: Option<u32>,
    /// More output tokens than this are not asked for.
    pub max_tokens: Option<u32>,
    /// How many sessions may hold a seat, 1 to 16 (R24).
    pub max_sessions: Option<u32>,
    /// How many calls may run at once (R24).
    pub max_in_flight: Option<u32>,
    /// What holds here after defaults, queue and candidate (R11).
    pub clocks: Clocks,
}

/// A model name of the user's own (R1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alias {
    /// A name, or a pattern with `*` and `?`.
    pub pattern: String,
    /// The queue's id.
    pub queue: String,
}

/// What a model costs, by the user's own word (R34).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PriceOf {
    /// `provider/model`.
    pub route: String,
    /// How much.
    pub price: Price,
}

/// What holds for calls that name `provider/model`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Direct {
    /// `none` unless set.
    pub policy: PolicySettings,
    /// On top of what the provider's place gives.
    pub clocks: ClockSettings,
    /// Who is asked after the model that was asked for (C2); no route twice.
    pub fallbacks: Vec<Candidate>,
}

/// Where a value comes from (G7).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// A line of the file, counted from 1.
    File {
        /// The line.
        line: usize,
    },
    /// An environment variable.
    Env {
        /// Its name.
        variable: String,
    },
    /// A key that was given to Ekiden to keep.
    Stored,
    /// A server that was found on this machine (G8).
    Found {
        /// Its base URL.
        at: String,
    },
}

impl Config {
    /// The queue of that id.
    #[must_use]
    pub fn queue(&self, id: &str) -> Option<&Queue> {
        self.queues.iter().find(|queue| queue.id == id)
    }

    /// The provider of that id.
    #[must_use]
    pub fn provider(&self, id: &str) -> Option<&Provider> {
        self.providers.iter().find(|provider| provider.id == id)
    }

    /// The id of a provider that was probably meant by another id.
    #[must_use]
    pub fn nearest_provider(&self, id: &str) -> Option<&str> {
        nearest(id, self.providers.iter().map(|provider| provider.id.as_str()))
    }

    /// Stand-ins for the providers that candidates name and that are not there (R40): nothing can be
    /// sent to them.
    #[must_use]
    pub fn unknown_providers(&self) -> Vec<Provider> {
        let mut list: Vec<Provider> = Vec::new();
        for candidate in self.queues.iter().flat_map(|queue| &queue.candidates) {
            let id = &candidate.provider;
            if self.provider(id).is_none() && !list.iter().any(|known| known.id == *id) {
                list.extend(Provider::unknown(id));
            }
        }
        list
    }

    /// What a model of a provider costs (R34): the user's own price, else that of the table of known
    /// models; `None`: nobody says.
    #[must_use]
    pub fn price(&self, provider: &str, model: &str) -> Option<Price> {
        let route = format!("{provider}/{model}");
        let own = self.prices.iter().find(|own| own.route == route).map(|own| own.price);
        let known = || models::known_model(self.provider(provider)?, model)?.price;
        own.or_else(known)
    }

    /// The clocks of a direct call to a provider (R11).
    #[must_use]
    pub fn direct_clocks(&self, provider: &Provider) -> Clocks {
        self.direct.clocks.resolve(provider.base_url.locality())
    }

    /// Where the value at a path such as `queues.default.retries` comes from.
    #[must_use]
    pub fn origin(&self, path: &str) -> &Origin {
        self.origins.get(path).unwrap_or(&Origin::Default)
    }
}

impl Provider {
    /// A provider of which nothing but its id is known.
    fn unknown(id: &str) -> Option<Self> {
        // RFC 6761: no such name ever resolves.
        let base_url = BaseUrl::parse("https://unknown.invalid/v1").ok()?;
        Some(Self {
            id: id.to_owned(),
            name: id.to_owned(),
            vendor: base_url.vendor(),
            base_url,
            dialect: Dialect::OpenAiChat,
            profile: Profile::Compatible,
            credential: Credential::None,
            key: None,
            http2: false,
            proxy: None,
            headers: Vec::new(),
            stream_usage: false,
            drop_fields: Vec::new(),
            allow_link_local: false,
            models: Vec::new(),
        })
    }

    /// The URL of one of the dialect's endpoints, `models` or the dialect's own: vendors of the
    /// Anthropic dialect give a base URL without the version, the others with it.
    #[must_use]
    pub fn endpoint(&self, tail: &str) -> String {
        let base = self.base_url.as_str();
        match self.dialect {
            Dialect::AnthropicMessages if !base.ends_with("/v1") => format!("{base}/v1/{tail}"),
            Dialect::AnthropicMessages | Dialect::OpenAiChat | Dialect::OpenAiResponses => {
                format!("{base}/{tail}")
            }
        }
    }

    /// Whether a credential is meant to be sent and was not found.
    #[must_use]
    pub fn lacks_key(&self) -> bool {
        self.credential != Credential::None && self.key.is_none()
    }
}

impl Queue {
    /// The window that the queue declares: its first candidate's that has one (R36).
    #[must_use]
    pub fn context_window(&self) -> Option<u32> {
        self.candidates.iter().find_map(|candidate| candidate.context_window)
    }
}

impl Candidate {
    /// `provider/model`.
    #[must_use]
    pub fn route(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }
}

macro_rules! names {
    ($type:ident, $list:ident, $($variant:ident => $name:literal),+) => {
        pub(crate) const $list: &[&str] = &[$($name),+];

        impl $type {
            /// The name in the file.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }

            pub(crate) fn from_name(name: &str) -> Option<Self> {
                [$(Self::$variant),+].into_iter().find(|choice| choice.name() == name)
            }
        }
    };
}

names!(UnknownModel, UNKNOWN_MODELS, Error => "error", First => "first");
names!(LogLevel, LOG_LEVELS, Off => "off", Error => "error", Warn => "warn", Info => "info",
    Debug => "debug", Trace => "trace");
names!(SessionField, SESSION_FIELDS, User => "user", SafetyIdentifier => "safety_identifier");
names!(Dialect, DIALECTS, OpenAiChat => "openai-chat", OpenAiResponses => "openai-responses",
    AnthropicMessages => "anthropic-messages");
names!(Profile, PROFILES, Native => "native", Compatible => "compatible");
