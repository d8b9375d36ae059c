//! From settings to what a call runs on: the engine's queues, and for each candidate what a request
//! to it needs.
//!
//! It refuses to decide anything: numbers are copied, names become numbers, nothing is chosen.

mod lack;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use http::Uri;
use secrecy::ExposeSecret;

use ekiden_config::{
    Candidate as CandidateSettings, Clocks as ClockSettings, Config, PolicySettings, Price,
    Profile, Provider, Queue as QueueSettings,
};
use ekiden_dialect::Dialect;
use ekiden_engine::{
    AllCooling, Candidate, Class, ClassSet, Clocks, CommitOn, Continuing, Moves, OnOverflow,
    Policy, Presence, Queue, QueueId, Switch,
};

use crate::catalog::{Catalogs, Facts, Offer};
use crate::names::Names;
use crate::upstream::{Lane, RequestHeaders, Upstream};

pub use lack::Lack;

/// Models that were asked for outside any queue and are remembered; a name beyond it is refused.
const DIRECT_MAX: usize = 10_000;

/// All that one configuration means. A reload makes another; running calls keep theirs.
#[derive(Debug)]
pub struct Plan {
    config: Arc<Config>,
    queues: Vec<Arc<QueueRuntime>>,
    providers: BTreeMap<String, Arc<ProviderRuntime>>,
    direct: Mutex<HashMap<String, Arc<QueueRuntime>>>,
}

/// A queue as calls run on it.
pub struct QueueRuntime {
    /// What clients ask for: the queue's id, or `provider/model` outside any queue.
    pub id: Arc<str>,
    /// What people see.
    pub name: Arc<str>,
    /// In the user's order.
    pub candidates: Vec<CandidateRuntime>,
    /// The text of R9's messages.
    pub continue_text: String,
    /// The longest that a call may take, in milliseconds.
    pub deadline_ms: Option<u64>,
    /// The context window that it declares, in tokens: that of its first candidate that has one (R36).
    pub context_window: Option<u32>,
    /// By the asker's dialect: candidates of another one stand as missing until it is translated.
    by_dialect: [Arc<Queue>; Dialect::ALL.len()],
}

/// A candidate as requests go to it.
#[derive(Clone, Debug)]
pub struct CandidateRuntime {
    /// `provider/model`.
    pub route: Arc<str>,
    /// The model as the provider calls it.
    pub model: String,
    /// Its provider.
    pub provider: Arc<ProviderRuntime>,
    /// The effort to send (R35).
    pub effort: Option<String>,
    /// The levels that the model declares.
    pub effort_levels: Vec<String>,
    /// More output tokens than this are not asked for.
    pub max_tokens: Option<u32>,
    /// What it costs, if anybody says so (R34).
    pub price: Option<Price>,
}

/// A provider as requests go to it.
pub struct ProviderRuntime {
    /// The settings. They hold the key, so they are never shown whole.
    pub(crate) settings: Provider,
    /// What it speaks.
    pub(crate) dialect: Dialect,
    /// Where calls go.
    pub(crate) endpoint: Option<Uri>,
    /// Where token counts go.
    pub(crate) count_endpoint: Option<Uri>,
    pub(crate) headers: RequestHeaders,
    pub(crate) lane: Lane,
    /// Whether the settings have it; the candidates of one that is not there are passed over (R40).
    standing: Standing,
    /// What it said of its models when it was asked (R37).
    offer: Option<Arc<Offer>>,
}

/// Whether the settings have a provider.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Standing {
    Configured,
    Unknown,
}

impl fmt::Debug for QueueRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueRuntime").field("id", &self.id).finish_non_exhaustive()
    }
}

impl fmt::Debug for ProviderRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderRuntime").field("id", &self.settings.id).finish_non_exhaustive()
    }
}

impl Plan {
    /// Makes the plan of a configuration. `instance` goes into the loop header (R6).
    pub(crate) fn new(
        config: Arc<Config>,
        catalogs: &Catalogs,
        names: &Names,
        upstream: &Upstream,
        instance: &str,
    ) -> Self {
        let mut providers: BTreeMap<_, _> = config
            .providers
            .iter()
            .map(|provider| {
                let offer = catalogs.offer(provider);
                let runtime = ProviderRuntime::new(provider, upstream, instance);
                (provider.id.clone(), Arc::new(ProviderRuntime { offer, ..runtime }))
            })
            .collect();
        for provider in config.unknown_providers() {
            let standing = Standing::Unknown;
            let runtime = ProviderRuntime::new(&provider, upstream, instance);
            let runtime = ProviderRuntime { standing, endpoint: None, ..runtime };
            providers.insert(provider.id, Arc::new(runtime));
        }
        let queues = config
            .queues
            .iter()
            .map(|queue| Arc::new(QueueRuntime::of_queue(&config, queue, &providers, names)))
            .collect();
        Self { config, queues, providers, direct: Mutex::default() }
    }

    /// The settings.
    #[must_use]
    pub const fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// All queues, in the order of the settings.
    #[must_use]
    pub fn queues(&self) -> &[Arc<QueueRuntime>] {
        &self.queues
    }

    /// The provider of that id, if it is configured.
    pub(crate) fn provider(&self, id: &str) -> Option<&Arc<ProviderRuntime>> {
        self.providers.get(id).filter(|provider| provider.standing == Standing::Configured)
    }

    /// The queue of that id.
    #[must_use]
    pub fn queue(&self, id: &str) -> Option<&Arc<QueueRuntime>> {
        self.queues.iter().find(|queue| &*queue.id == id)
    }

    /// A model of a provider outside any queue, as a queue of itself and the fallbacks that direct
    /// calls have (C1, C2). `None`: no such provider, or too
    /// many different names were asked for.
    pub(crate) fn direct(
        &self,
        provider: &str,
        model: &str,
        names: &Names,
    ) -> Option<Arc<QueueRuntime>> {
        let runtime = self.providers.get(provider)?;
        if runtime.standing == Standing::Unknown {
            return None;
        }
        let id = format!("{provider}/{model}");
        let mut direct = self.direct.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = direct.get(&id) {
            return Some(Arc::clone(known));
        }
        if direct.len() >= DIRECT_MAX {
            return None;
        }
        let queue = Arc::new(self.of_model(&id, model, runtime, names));
        direct.insert(id, Arc::clone(&queue));
        Some(queue)
    }

    fn of_model(
        &self,
        id: &str,
        model: &str,
        provider: &Arc<ProviderRuntime>,
        names: &Names,
    ) -> QueueRuntime {
        let config = &self.config;
        let head = CandidateSettings {
            provider: provider.settings.id.clone(),
            model: model.to_owned(),
            effort: None,
            effort_levels: Vec::new(),
            context_window: None,
            max_tokens: None,
            max_sessions: None,
            max_in_flight: None,
            clocks: config.direct_clocks(&provider.settings),
        };
        let mut rows = vec![row(config, &head, provider, names)];
        // C8: without a policy that moves on there is nobody but the head.
        let fallbacks = &config.direct.fallbacks;
        let others =
            fallbacks.iter().filter(|other| config.direct.policy.enabled && other.route() != id);
        rows.extend(others.filter_map(|other| {
            let provider = self.providers.get(&other.provider)?;
            Some(row(config, other, provider, names))
        }));
        QueueRuntime::new(config, id, id, &config.direct.policy, rows, names)
    }
}

impl QueueRuntime {
    /// The engine's queue for an asker of that dialect.
    #[must_use]
    pub fn engine(&self, dialect: Dialect) -> &Arc<Queue> {
        &self.by_dialect[index(dialect)]
    }

    fn of_queue(
        config: &Config,
        queue: &QueueSettings,
        providers: &BTreeMap<String, Arc<ProviderRuntime>>,
        names: &Names,
    ) -> Self {
        let rows: Vec<(CandidateRuntime, Candidate)> = queue
            .candidates
            .iter()
            .filter_map(|candidate| {
                let provider = providers.get(&candidate.provider)?;
                Some(row(config, candidate, provider, names))
            })
            .collect();
        Self::new(config, &queue.id, &queue.name, &queue.policy, rows, names)
    }

    fn new(
        config: &Config,
        id: &str,
        name: &str,
        policy: &PolicySettings,
        rows: Vec<(CandidateRuntime, Candidate)>,
        names: &Names,
    ) -> Self {
        let queue_id = names.queue(id);
        let engine_policy = engine_policy(policy, config.enabled);
        let by_dialect = Dialect::ALL.map(|dialect| {
            let candidates = rows.iter().map(|(runtime, candidate)| Candidate {
                presence: match runtime.lack(dialect) {
                    None => Presence::Present,
                    Some(_) => Presence::Missing,
                },
                ..*candidate
            });
            Arc::new(digested(queue_id, engine_policy.clone(), candidates.collect()))
        });
        Self {
            id: id.into(),
            name: name.into(),
            context_window: rows.iter().find_map(|(_, candidate)| candidate.window),
            candidates: rows.into_iter().map(|(runtime, _)| runtime).collect(),
            continue_text: policy.continue_text.clone(),
            deadline_ms: (policy.deadline_ms > 0).then_some(policy.deadline_ms),
            by_dialect,
        }
    }
}

impl ProviderRuntime {
    /// What must never be shown: its key and the values of its headers.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        let headers = self.settings.headers.iter().map(|(_, value)| value);
        self.settings.key.iter().chain(headers).map(ExposeSecret::expose_secret)
    }

    /// Those of [`Self::secrets`] that are told from ordinary words, as they may stand in an error:
    /// as they are, and as JSON writes them. The key itself may be short; of headers only what is
    /// long enough to be a key.
    pub(crate) fn keys(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let key = self.settings.key.as_ref().map(ExposeSecret::expose_secret);
        self.secrets()
            .filter(move |secret| secret.len() >= if key == Some(*secret) { 4 } else { 8 })
            .flat_map(|secret| {
                let written = serde_json::Value::from(secret).to_string();
                let written = written.trim_matches('"').to_owned();
                let other = (written != secret).then_some(Cow::Owned(written));
                std::iter::once(Cow::Borrowed(secret)).chain(other)
            })
    }

    fn new(settings: &Provider, upstream: &Upstream, instance: &str) -> Self {
        let dialect = match settings.dialect {
            ekiden_config::Dialect::OpenAiChat => Dialect::OpenAiChat,
            ekiden_config::Dialect::OpenAiResponses => Dialect::OpenAiResponses,
            ekiden_config::Dialect::AnthropicMessages => Dialect::AnthropicMessages,
        };
        let tail = match dialect {
            Dialect::OpenAiChat => "chat/completions",
            Dialect::OpenAiResponses => "responses",
            Dialect::AnthropicMessages => "messages",
        };
        Self {
            dialect,
            endpoint: settings.endpoint(tail).parse().ok(),
            count_endpoint: settings.endpoint("messages/count_tokens").parse().ok(),
            headers: RequestHeaders::new(settings, dialect, instance),
            lane: upstream.lane(settings),
            settings: settings.clone(),
            standing: Standing::Configured,
            offer: None,
        }
    }

    pub(crate) fn is_native(&self) -> bool {
        self.settings.profile == Profile::Native
    }
}

fn row(
    config: &Config,
    settings: &CandidateSettings,
    provider: &Arc<ProviderRuntime>,
    names: &Names,
) -> (CandidateRuntime, Candidate) {
    let route = settings.route();
    let facts = Facts::of(&provider.settings, provider.offer.as_deref(), &settings.model);
    let candidate = Candidate {
        route: names.route(&route),
        presence: Presence::Present,
        max_sessions: settings.max_sessions,
        max_in_flight: settings.max_in_flight,
        window: settings.context_window.or_else(|| facts.window().map(|(window, _)| window)),
        clocks: clocks(&settings.clocks),
    };
    let runtime = CandidateRuntime {
        route: route.into(),
        model: settings.model.clone(),
        provider: Arc::clone(provider),
        effort: settings.effort.clone(),
        effort_levels: effort_levels(settings, provider, &facts),
        max_tokens: settings.max_tokens,
        price: config.price(&settings.provider, &settings.model),
    };
    (runtime, candidate)
}

/// R35: the levels that the user says, else those that the model declares. The vendor itself is left to
/// judge what it is asked for: its list may be older than its newest level.
fn effort_levels(
    settings: &CandidateSettings,
    provider: &ProviderRuntime,
    facts: &Facts<'_>,
) -> Vec<String> {
    if !settings.effort_levels.is_empty() || provider.is_native() {
        return settings.effort_levels.clone();
    }
    facts.effort_levels().map(|(levels, _)| levels).unwrap_or_default()
}

const fn clocks(settings: &ClockSettings) -> Clocks {
    Clocks {
        connect_ms: settings.connect_ms,
        headers_ms: settings.headers_ms,
        first_byte_ms: settings.first_byte_ms,
        idle_ms: settings.idle_ms,
        progress_ms: settings.progress_ms,
        first_output_ms: settings.first_output_ms,
    }
}

fn engine_policy(settings: &PolicySettings, enabled: bool) -> Policy {
    let switch = |on: bool| if on { Switch::On } else { Switch::Off };
    Policy {
        relay: switch(enabled && settings.enabled),
        retries: settings.retries,
        retry_pause_ms: settings.retry_pause_ms,
        attempts_max: settings.attempts_max,
        wait_max_ms: settings.wait_max_ms,
        inline_wait_ms: settings.inline_wait_ms,
        cooldown_ms: settings.cooldown_ms,
        cooldown_max_ms: settings.cooldown_max_ms,
        continuing: match settings.continue_on_failover {
            ekiden_config::Continuing::Always => Continuing::Always,
            ekiden_config::Continuing::Auto => Continuing::Auto,
            ekiden_config::Continuing::Never => Continuing::Never,
        },
        continues_max: settings.continues_max,
        continue_delay_ms: settings.continue_delay_ms,
        commit: match settings.commit {
            ekiden_config::CommitOn::FirstOutput => CommitOn::FirstOutput,
            ekiden_config::CommitOn::FirstToken => CommitOn::FirstToken,
            ekiden_config::CommitOn::Complete => CommitOn::Complete,
        },
        held_max_bytes: settings.hold_max_bytes,
        rotate_after: settings.rotate_after,
        overflow: match settings.overflow {
            ekiden_config::OnOverflow::Tell => OnOverflow::Tell,
            ekiden_config::OnOverflow::Larger => OnOverflow::Larger,
        },
        retry_when_all_quarantined: switch(settings.retry_when_all_quarantined),
        failover_on_filter: switch(settings.failover_on_filter),
        parole_after_ms: settings.parole_after_ms,
        parole_max_ms: settings.parole_max_ms,
        parole_idle_ms: settings.parole_idle_ms,
        rest_ms: settings.lease_rest_ms,
        lease_idle_ms: settings.lease_idle_ms,
        judged_memory_ms: settings.judged_memory_ms,
        client_stall_ms: settings.client_stall_ms,
        quarantine: switch(settings.quarantine),
        sticky: switch(settings.sticky),
        switch_on: class_set(&settings.switch_on),
        moves: match settings.switching {
            ekiden_config::Switching::InCall => Moves::InCall,
            ekiden_config::Switching::NextCall => Moves::NextCall,
        },
        breaker_threshold: settings.failure_threshold,
        breaker_ms: settings.breaker_cooldown_ms,
        breaker_max_ms: settings.breaker_cooldown_max_ms,
        breaker_at_once: class_set(&settings.breaker_at_once),
        all_cooling: match settings.all_cooling {
            ekiden_config::AllCooling::Wait => AllCooling::Wait,
            ekiden_config::AllCooling::Soonest => AllCooling::Soonest,
            ekiden_config::AllCooling::Head => AllCooling::Head,
        },
        persist: switch(settings.persist),
        rounds_max: settings.max_rounds,
        backoff_ms: settings.backoff_ms,
        backoff_max_ms: settings.backoff_max_ms,
        backoff_jitter_bp: settings.backoff_jitter * 100,
    }
}

/// The classes of that name; `all` is all of them.
fn class_set(names: &[String]) -> ClassSet {
    if names.iter().any(|name| name == "all") {
        return ClassSet::ALL;
    }
    let classes: Vec<Class> = names.iter().filter_map(|name| Class::from_name(name)).collect();
    ClassSet::of(&classes)
}

/// The queue with the digest of its own text, so that a trace names what it ran on.
fn digested(id: QueueId, policy: Policy, candidates: Vec<Candidate>) -> Queue {
    let mut queue = Queue { id, digest: 0, policy, candidates };
    // The same in every process: a digest of another run must compare.
    let hasher = std::hash::BuildHasherDefault::<Fnv>::default();
    queue.digest = hasher.hash_one(format!("{queue:?}"));
    queue
}

/// FNV-1a: stable over versions of the standard library, which its own hashers are not.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

const fn index(dialect: Dialect) -> usize {
    match dialect {
        Dialect::OpenAiChat => 0,
        Dialect::OpenAiResponses => 1,
        Dialect::AnthropicMessages => 2,
    }
}
