//! The configuration as people and digests see it: every key with its value and where that comes
//! from. Shows no credential: of keys and headers only where they come from, or their names.

use secrecy::ExposeSecret;

use crate::clocks::{self, Clocks, Locality};
use crate::keys::Group;
use crate::keys::keys_of;
use crate::mask::MASK;
use crate::policy::{self, PolicySettings};
use crate::read::joined;
use crate::settings::{Candidate, Config, Credential, Origin, Provider, Queue};
use crate::value::Value;

/// One key with its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// Such as `queues.default.retries`.
    pub path: String,
    /// As TOML; `None`: nothing is set, and nothing stands in for it.
    pub value: Option<Value>,
    /// Where it comes from (G7).
    pub origin: Origin,
}

/// Collects settings below one path.
struct Sheet<'c> {
    config: &'c Config,
    list: Vec<Setting>,
}

impl Config {
    /// Every key that holds, in the order of the reference.
    #[must_use]
    pub fn settings(&self) -> Vec<Setting> {
        let mut sheet = Sheet { config: self, list: Vec::new() };
        sheet.top();
        for provider in &self.providers {
            sheet.provider(provider);
        }
        for queue in &self.queues {
            sheet.queue(queue);
        }
        sheet.policy("defaults", &self.default_policy);
        sheet.clocks("defaults", &self.default_clocks.resolve(Locality::Remote));
        sheet.policy("direct", &self.direct.policy);
        sheet.clocks("direct", &self.direct.clocks.resolve(Locality::Remote));
        let fallbacks = self.direct.fallbacks.iter().map(Candidate::route).collect();
        sheet.put("direct", "fallbacks", Some(Value::Texts(fallbacks)));
        for alias in &self.aliases {
            sheet.put("aliases", &alias.pattern, Some(Value::Text(alias.queue.clone())));
        }
        for own in &self.prices {
            sheet.put("prices", &own.route, Some(Value::Text(own.price.to_string())));
        }
        sheet.list
    }

    /// A digest of everything that is set; the same on every machine and in every version that
    /// knows the same keys. Credentials take no part in it.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let mut digest = Fnv::new();
        for setting in self.settings() {
            digest.setting(&setting);
        }
        digest.0
    }

    /// A digest of what the decisions about a queue's calls read: its policy and candidates, the
    /// providers behind them, the day.
    #[must_use]
    pub fn queue_digest(&self, queue: &Queue) -> u64 {
        let mut sheet = Sheet { config: self, list: Vec::new() };
        sheet.queue(queue);
        for candidate in &queue.candidates {
            if let Some(provider) = self.provider(&candidate.provider) {
                sheet.provider(provider);
            }
        }
        sheet.put("", "enabled", Some(Value::Bool(self.enabled)));
        sheet.put("", "time_zone", self.time_zone.clone().map(Value::Text));
        sheet.put("", "reset_hour", Some(Value::Integer(self.reset_hour.into())));
        let mut digest = Fnv::new();
        for setting in &sheet.list {
            digest.setting(setting);
        }
        digest.0
    }
}

impl Sheet<'_> {
    fn put(&mut self, path: &str, name: &str, value: Option<Value>) {
        let path = joined(path, name);
        let origin = self.config.origin(&path).clone();
        self.list.push(Setting { path, value, origin });
    }

    fn top(&mut self) {
        let config = self.config;
        for key in keys_of(Group::Top) {
            self.put("", key.name, top_value(config, key.name));
        }
        let journal = [
            ("enabled", Value::Bool(config.journal.enabled)),
            ("entries_max", Value::Integer(config.journal.entries_max.into())),
        ];
        for (name, value) in journal {
            self.put("journal", name, Some(value));
        }
        let limits = [
            ("body_bytes_max", Value::Bytes(config.limits.body_max_bytes)),
            ("held_bytes_max", Value::Bytes(config.limits.held_max_bytes)),
            ("head_bytes_max", Value::Bytes(config.limits.head_max_bytes)),
            ("calls_max", Value::Integer(config.limits.calls_max.into())),
            ("sessions_max", Value::Integer(config.limits.sessions_max.into())),
        ];
        for (name, value) in limits {
            self.put("limits", name, Some(value));
        }
    }

    /// As [`Sheet::put`], for what was found together with a provider (G8).
    fn put_found(&mut self, provider: &str, path: &str, name: &str, value: Option<Value>) {
        self.put(path, name, value);
        let found = self.config.origins.get(&joined("providers", provider));
        if let (Some(origin), Some(last)) = (found, self.list.last_mut())
            && last.origin == Origin::Default
        {
            last.origin = origin.clone();
        }
    }

    fn provider(&mut self, provider: &Provider) {
        let path = joined("providers", &provider.id);
        let text = |text: &str| Some(Value::Text(text.to_owned()));
        self.put(&path, "name", text(&provider.name));
        self.put_found(&provider.id, &path, "base_url", text(provider.base_url.as_str()));
        self.put(&path, "dialect", text(provider.dialect.name()));
        self.put(&path, "profile", text(provider.profile.name()));
        self.put(&path, "vendor", text(&provider.vendor));
        let credential = match &provider.credential {
            Credential::None => None,
            Credential::Env(variable) => Some(("api_key_env", variable.clone())),
            Credential::File(path) => Some(("api_key_file", path.display().to_string())),
            Credential::Inline | Credential::Stored => Some(("api_key", MASK.to_owned())),
        };
        if let Some((name, value)) = credential {
            self.put_found(&provider.id, &path, name, Some(Value::Text(value)));
        }
        self.put(&path, "http2", Some(Value::Bool(provider.http2)));
        self.put(&path, "proxy", provider.proxy.as_ref().and_then(|url| text(url.as_str())));
        let headers = provider.headers.iter().map(|(name, _)| (name.clone(), MASK.to_owned()));
        self.put(&path, "headers", Some(Value::Pairs(headers.collect())));
        self.put(&path, "stream_usage", Some(Value::Bool(provider.stream_usage)));
        self.put(&path, "drop_fields", Some(Value::Texts(provider.drop_fields.clone())));
        self.put(&path, "allow_link_local", Some(Value::Bool(provider.allow_link_local)));
        let models = Some(Value::Texts(provider.models.clone()));
        self.put_found(&provider.id, &path, "models", models);
    }

    fn queue(&mut self, queue: &Queue) {
        let path = joined("queues", &queue.id);
        self.put(&path, "name", Some(Value::Text(queue.name.clone())));
        self.policy(&path, &queue.policy);
        self.clocks(&path, &queue.clocks.resolve(Locality::Remote));
        for (at, candidate) in queue.candidates.iter().enumerate() {
            self.candidate(&format!("{path}.candidates.{at}"), candidate);
        }
    }

    fn candidate(&mut self, path: &str, candidate: &Candidate) {
        let count = |count: Option<u32>| count.map(|count| Value::Integer(count.into()));
        let route = Some(Value::Text(candidate.route()));
        self.put_found(&candidate.provider, path, "route", route);
        self.put(path, "effort", candidate.effort.clone().map(Value::Text));
        self.put(path, "effort_levels", Some(Value::Texts(candidate.effort_levels.clone())));
        self.put(path, "context_window", count(candidate.context_window));
        self.put(path, "max_tokens", count(candidate.max_tokens));
        self.put(path, "max_sessions", count(candidate.max_sessions));
        self.put(path, "max_in_flight", count(candidate.max_in_flight));
        self.clocks(path, &candidate.clocks);
    }

    fn policy(&mut self, path: &str, settings: &PolicySettings) {
        for row in &policy::ROWS {
            self.inherited(path, row.key.name, (row.show)(settings));
        }
    }

    fn clocks(&mut self, path: &str, clocks: &Clocks) {
        for row in &clocks::ROWS {
            self.inherited(path, row.key.name, Value::Ms((row.show)(clocks)));
        }
    }

    /// A value that the sections around may have given.
    fn inherited(&mut self, path: &str, name: &str, value: Value) {
        let queue = path.split_once(".candidates.").map(|(queue, _)| queue);
        // `[defaults]` does not say whether direct calls are relayed.
        let own = path == "direct" && matches!(name, "policy" | "enabled");
        let sections = [Some(path), queue, (!own).then_some("defaults")];
        let origin = sections
            .into_iter()
            .flatten()
            .find_map(|section| self.config.origins.get(&joined(section, name)))
            .unwrap_or(&Origin::Default)
            .clone();
        self.list.push(Setting { path: joined(path, name), value: Some(value), origin });
    }
}

impl Provider {
    /// The credential and the further headers' values, which nothing that is logged, journalled or
    /// told may hold.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        let key = self.key.iter().map(ExposeSecret::expose_secret);
        key.chain(self.headers.iter().map(|(_, value)| value.expose_secret()))
    }
}

fn top_value(config: &Config, name: &str) -> Option<Value> {
    let text = |text: &str| Some(Value::Text(text.to_owned()));
    match name {
        "listen" => text(&config.listen.to_string()),
        "time_zone" => config.time_zone.clone().map(Value::Text),
        "reset_hour" => Some(Value::Integer(config.reset_hour.into())),
        "enabled" => Some(Value::Bool(config.enabled)),
        "unknown_model" => text(config.unknown_model.name()),
        "log" => text(config.log.name()),
        "state_dir" => config.state_dir.as_ref().and_then(|path| text(&path.to_string_lossy())),
        "allowed_origins" => Some(Value::Texts(config.allowed_origins.clone())),
        "hidden_providers" => Some(Value::Texts(config.hidden_providers.clone())),
        "session_fields" => {
            let names = config.session_fields.iter().map(|field| field.name().to_owned());
            Some(Value::Texts(names.collect()))
        }
        "keepalive_after" => Some(Value::Ms(config.keepalive_after_ms)),
        "keepalive_every" => Some(Value::Ms(config.keepalive_every_ms)),
        "drain_timeout" => Some(Value::Ms(config.drain_ms)),
        _ => None,
    }
}

/// FNV-1a, 64 bits: small, and the same everywhere for ever.
struct Fnv(u64);

impl Fnv {
    const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn setting(&mut self, setting: &Setting) {
        let value = setting.value.as_ref().map(Value::to_string).unwrap_or_default();
        for part in [setting.path.as_str(), "=", value.as_str(), "\n"] {
            for byte in part.bytes() {
                self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }
}
