//! The whole configuration from the file's tree and the environment. Refuses what each value alone
//! would allow: names that nothing bears, routes twice, queues that lead back to themselves.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::Path;

use secrecy::SecretString;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::candidates;
use crate::check;
use crate::clocks::{self, ClockSettings};
use crate::discover;
use crate::keys;
use crate::load::{self, KeyFile};
use crate::mask;
use crate::mistake::{IdOf, ProviderMistake, QueueMistake, Unspoken};
use crate::named::{aliases, prices};
use crate::policy::{self, PolicySettings, Preset};
use crate::problem::{Draft, Severity};
use crate::read::{Fields, Reader, Unset, in_order, joined};
use crate::settings::{
    Candidate, Config, Credential, Dialect, Direct, Journal, Limits, LogLevel, Origin, Profile,
    Provider, Queue, SessionField, UnknownModel,
};
use crate::url::BaseUrl;

/// Sections that stand inside the top one.
const INNER: [&str; 8] =
    ["providers", "queues", "defaults", "direct", "aliases", "prices", "journal", "limits"];

/// The id of the queue that is there when none is written (G8).
pub(crate) const DEFAULT_QUEUE: &str = "default";
/// Its name.
pub(crate) const DEFAULT_QUEUE_NAME: &str = "默认模板";

/// Fields of the layers that a queue's policy and clocks are built from.
pub(crate) struct Defaults {
    fields: Option<Fields>,
}

/// Builds the configuration. It is only to be used when no error was reported.
pub(crate) fn config(reader: &mut Reader<'_>, root: &DeTable<'_>) -> Config {
    let mut top = section(reader, Some(root), "", "");
    reader.variables(&mut top);
    let listen = top
        .text("listen")
        .and_then(|text| check::listen(text).ok())
        .unwrap_or(SocketAddr::from(([127, 0, 0, 1], DEFAULT_PORT)));
    let defaults = Defaults {
        fields: inner_table(root, "defaults")
            .map(|table| section(reader, Some(table), "defaults", "defaults")),
    };
    for name in INNER {
        if let Some(entry) = root.get(name) {
            reader.table(entry, name);
        }
    }
    let providers = providers(reader, root, listen);
    let queues = queues(reader, root, &providers, &defaults);
    let aliases = aliases(reader, root, &queues);
    let direct = direct(reader, root, &providers, &defaults);
    let mut config = Config {
        listen,
        time_zone: top.text("time_zone").map(str::to_owned),
        reset_hour: top.number("reset_hour").and_then(|hour| u8::try_from(hour).ok()).unwrap_or(1),
        enabled: top.is_on("enabled", Unset::On),
        unknown_model: top
            .text("unknown_model")
            .and_then(UnknownModel::from_name)
            .unwrap_or(UnknownModel::Error),
        log: top.text("log").and_then(LogLevel::from_name).unwrap_or(LogLevel::Info),
        state_dir: top.text("state_dir").map(|path| reader.path(path)),
        allowed_origins: top.texts("allowed_origins"),
        hidden_providers: top.texts("hidden_providers"),
        session_fields: top
            .texts("session_fields")
            .iter()
            .filter_map(|name| SessionField::from_name(name))
            .collect(),
        keepalive_after_ms: top.number("keepalive_after").unwrap_or(45_000),
        keepalive_every_ms: top.number("keepalive_every").unwrap_or(10_000),
        drain_ms: top.number("drain_timeout").unwrap_or(30_000),
        journal: journal(reader, root),
        limits: limits(reader, root),
        providers,
        queues,
        aliases,
        prices: prices(reader, root),
        direct,
        default_policy: defaults.policy(None, Preset::Relay),
        default_clocks: defaults.clocks(None),
        origins: std::collections::BTreeMap::new(),
    };
    let silent = !root.contains_key("providers") && !root.contains_key("queues");
    if silent {
        discover::fill(reader, &mut config);
    } else if config.queues.is_empty() {
        reader.warn(None, QueueMistake::NoneWritten { id: DEFAULT_QUEUE });
        config.queues.push(Queue {
            policy: config.default_policy.clone(),
            clocks: config.default_clocks,
            ..empty_queue()
        });
    }
    config.origins = std::mem::take(&mut reader.origins);
    config
}

pub(crate) const DEFAULT_PORT: u16 = 8787;

pub(crate) fn empty_queue() -> Queue {
    Queue {
        id: DEFAULT_QUEUE.to_owned(),
        name: DEFAULT_QUEUE_NAME.to_owned(),
        candidates: Vec::new(),
        policy: PolicySettings::preset(Preset::Relay),
        clocks: ClockSettings::default(),
    }
}

impl Defaults {
    /// A policy from its preset, what holds everywhere, and its own fields on top.
    fn policy(&self, own: Option<&Fields>, preset: Preset) -> PolicySettings {
        let of_direct = preset == Preset::None;
        let general = self.fields.as_ref();
        // `[defaults]` says what queues are; direct calls are no queue.
        let named = if of_direct { None } else { general.and_then(|all| all.text("policy")) };
        let preset = own
            .and_then(|own| own.text("policy"))
            .or(named)
            .and_then(Preset::from_name)
            .unwrap_or(preset);
        let mut settings = PolicySettings::preset(preset);
        for (layer, is_general) in [(general, true), (own, false)] {
            let Some(layer) = layer else { continue };
            for row in &policy::ROWS {
                let skipped = row.key.name == "policy"
                    || is_general && of_direct && row.key.name == "enabled";
                if let Some(value) = layer.value(row.key.name).filter(|_| !skipped) {
                    (row.put)(&mut settings, value);
                }
            }
        }
        settings
    }

    fn clocks(&self, own: Option<&Fields>) -> ClockSettings {
        let general = self.fields.as_ref().map(clock_fields).unwrap_or_default();
        own.map(clock_fields).unwrap_or_default().over(general)
    }
}

pub(crate) fn clock_fields(fields: &Fields) -> ClockSettings {
    let mut clocks = ClockSettings::default();
    for row in &clocks::ROWS {
        if let Some(value) = fields.value(row.key.name) {
            clocks.put(row.key.name, value);
        }
    }
    clocks
}

fn section(
    reader: &mut Reader<'_>,
    table: Option<&DeTable<'_>>,
    section: &str,
    path: &str,
) -> Fields {
    let empty = DeTable::new();
    let inner: &[&str] = if section.is_empty() { &INNER } else { &[] };
    match keys::section(section) {
        Some(section) => reader.section(table.unwrap_or(&empty), section, path, inner),
        None => Fields::none(path),
    }
}

fn journal(reader: &mut Reader<'_>, root: &DeTable<'_>) -> Journal {
    let fields = section(reader, inner_table(root, "journal"), "journal", "journal");
    Journal {
        enabled: fields.is_on("enabled", Unset::On),
        entries_max: fields.count("entries_max").unwrap_or(200),
    }
}

fn limits(reader: &mut Reader<'_>, root: &DeTable<'_>) -> Limits {
    let fields = section(reader, inner_table(root, "limits"), "limits", "limits");
    Limits {
        body_max_bytes: fields.number("body_bytes_max").unwrap_or(64 << 20),
        held_max_bytes: fields.number("held_bytes_max").unwrap_or(512 << 20),
        head_max_bytes: fields.number("head_bytes_max").unwrap_or(64 << 10),
        calls_max: fields.count("calls_max").unwrap_or(1_000),
        sessions_max: fields.count("sessions_max").unwrap_or(10_000),
    }
}

pub(crate) fn inner_table<'t, 'i>(root: &'t DeTable<'i>, name: &str) -> Option<&'t DeTable<'i>> {
    root.get(name).and_then(|entry| entry.get_ref().as_table())
}

fn providers(reader: &mut Reader<'_>, root: &DeTable<'_>, listen: SocketAddr) -> Vec<Provider> {
    let mut list = Vec::new();
    let Some(table) = inner_table(root, "providers") else {
        return list;
    };
    for (id, entry) in in_order(table) {
        let path = joined("providers", id.get_ref());
        check_id(reader, id, IdOf::Provider);
        if let Some(table) = reader.table(entry, &path) {
            let fields = section(reader, Some(table), "providers.ID", &path);
            list.extend(provider(reader, id, &fields, listen));
        }
    }
    list
}

fn provider(
    reader: &mut Reader<'_>,
    id: &Spanned<std::borrow::Cow<'_, str>>,
    fields: &Fields,
    listen: SocketAddr,
) -> Option<Provider> {
    let name = id.get_ref().to_string();
    let base_url = fields.text("base_url").and_then(|text| BaseUrl::parse(text).ok());
    let dialect = fields.text("dialect").and_then(Dialect::from_name);
    let credential = credential(reader, fields, &name);
    let headers = match fields.value("headers") {
        Some(crate::value::Value::Pairs(pairs)) => pairs
            .iter()
            .map(|(name, value)| (name.clone(), SecretString::from(value.clone())))
            .collect(),
        Some(_) | None => Vec::new(),
    };
    // A key that was written and did not fit has been told already.
    for (key, example) in [
        ("base_url", "base_url = \"https://api.example.com/v1\""),
        ("dialect", "dialect = \"openai-chat\""),
    ] {
        if !reader.was_written(fields.path(), key) {
            let provider = mask::shown(&name).to_owned();
            reader.error(id.span(), ProviderMistake::Lacks { provider, key, example });
        }
    }
    let (base_url, dialect) = (base_url?, dialect?);
    let allow_link_local = fields.is_on("allow_link_local", Unset::Off);
    check_address(reader, fields, &base_url, listen);
    let (credential, key) = credential;
    Some(Provider {
        name: fields.text("name").map_or_else(|| name.clone(), str::to_owned),
        id: name,
        profile: fields
            .text("profile")
            .and_then(Profile::from_name)
            .unwrap_or_else(|| default_profile(dialect, &base_url)),
        vendor: fields.text("vendor").map_or_else(|| base_url.vendor(), str::to_owned),
        base_url,
        dialect,
        credential,
        key,
        http2: fields.is_on("http2", Unset::Off),
        proxy: fields.text("proxy").and_then(|text| BaseUrl::parse_proxy(text).ok()),
        headers,
        stream_usage: fields.is_on("stream_usage", Unset::On),
        drop_fields: fields.texts("drop_fields"),
        allow_link_local,
        models: fields.texts("models"),
    })
}

/// Only a dialect's own vendor takes all of it.
pub(crate) fn default_profile(dialect: Dialect, base_url: &BaseUrl) -> Profile {
    let own: &[&str] = match dialect {
        Dialect::OpenAiChat | Dialect::OpenAiResponses => &["openai.com", "openai.azure.com"],
        Dialect::AnthropicMessages => &["anthropic.com"],
    };
    if own.iter().any(|domain| base_url.is_below(domain)) {
        Profile::Native
    } else {
        Profile::Compatible
    }
}

/// R6, G9: no way back to ourselves, none to a cloud's credentials, and a word on plain text.
fn check_address(reader: &mut Reader<'_>, fields: &Fields, url: &BaseUrl, listen: SocketAddr) {
    let Some(span) = fields.span("base_url") else {
        return;
    };
    if points_at(url, listen) {
        reader.error(span, ProviderMistake::PointsHere { listen });
    } else if url.is_guarded() && !fields.is_on("allow_link_local", Unset::Off) {
        reader.error(span, ProviderMistake::Guarded { host: url.host().to_owned() });
    } else if !url.is_secure() && url.locality() == crate::clocks::Locality::Remote {
        reader.warn(Some(span), ProviderMistake::PlainText { host: url.host().to_owned() });
    }
}

/// Whether a URL leads to where we listen.
pub(crate) fn points_at(url: &BaseUrl, listen: SocketAddr) -> bool {
    url.is_loopback() && url.port() == listen.port()
}

/// G7: a key comes from a variable, else from a file, else from those that are stored.
fn credential(
    reader: &mut Reader<'_>,
    fields: &Fields,
    id: &str,
) -> (Credential, Option<SecretString>) {
    let told = reader.problems.len();
    let written = written_credential(reader, fields);
    if written.1.is_some() {
        return written;
    }
    let Some(key) = reader.env.stored_key(id) else {
        return written;
    };
    // That a variable is not set is no trouble then.
    let warning = |draft: &Draft| draft.severity == Severity::Warning;
    if reader.problems[told..].iter().all(warning) {
        reader.problems.truncate(told);
    }
    reader.origins.insert(joined(fields.path(), "api_key"), Origin::Stored);
    (Credential::Stored, Some(key))
}

fn written_credential(
    reader: &mut Reader<'_>,
    fields: &Fields,
) -> (Credential, Option<SecretString>) {
    let ways = ["api_key_env", "api_key_file", "api_key"];
    let set: Vec<(&'static str, Range<usize>)> =
        ways.into_iter().filter_map(|way| Some((way, fields.span(way)?))).collect();
    let Some((way, span)) = set.first().cloned() else {
        return (Credential::None, None);
    };
    if let Some((other, span)) = set.get(1).cloned() {
        reader.error(span, ProviderMistake::TwoKeys { other, way });
    }
    let text = fields.text(way).unwrap_or_default().to_owned();
    match way {
        "api_key_env" => {
            let found = reader.env.var(&text);
            if found.is_none() {
                reader.warn(Some(span), ProviderMistake::Unset { variable: text.clone() });
            }
            (Credential::Env(text), found.map(SecretString::from))
        }
        "api_key_file" => {
            let path = reader.path(&text);
            let key = key_file(reader, span, &path);
            (Credential::File(path), key)
        }
        _ => {
            reader.warn(Some(span), ProviderMistake::KeyInFile);
            (Credential::Inline, Some(SecretString::from(text)))
        }
    }
}

fn key_file(reader: &mut Reader<'_>, span: Range<usize>, path: &Path) -> Option<SecretString> {
    let shown = path.display().to_string();
    match load::key_file(path) {
        KeyFile::Private(key) => Some(key),
        KeyFile::Shared(key) => {
            reader.warn(Some(span), ProviderMistake::KeyShared { path: shown });
            Some(key)
        }
        KeyFile::Unusable(why) => {
            reader.warn(Some(span), ProviderMistake::NoKeyIn { path: shown, why });
            None
        }
    }
}

fn queues(
    reader: &mut Reader<'_>,
    root: &DeTable<'_>,
    providers: &[Provider],
    defaults: &Defaults,
) -> Vec<Queue> {
    let mut list: Vec<Queue> = Vec::new();
    let Some(table) = inner_table(root, "queues") else {
        return list;
    };
    // Providers that are written but wrong are known all the same.
    let known: Vec<String> = inner_table(root, "providers")
        .map(|table| table.keys().map(|id| id.get_ref().to_string()).collect())
        .unwrap_or_default();
    let ids: Vec<String> = table.keys().map(|id| id.get_ref().to_string()).collect();
    for (id, entry) in in_order(table) {
        let path = joined("queues", id.get_ref());
        check_id(reader, id, IdOf::Queue);
        let Some(table) = reader.table(entry, &path) else {
            continue;
        };
        let fields = section(reader, Some(table), "queues.ID", &path);
        let clocks = defaults.clocks(Some(&fields));
        let place = candidates::Place {
            queue: id.get_ref(),
            providers,
            known: &known,
            queues: &ids,
            clocks,
        };
        let candidates = candidates::read(reader, table.get("candidates"), &place);
        if candidates.is_empty() && !reader.was_refused(table.get("candidates")) {
            reader.warn(Some(id.span()), QueueMistake::Empty { queue: id.get_ref().to_string() });
        }
        warn_of_unspoken(reader, id, &candidates, providers);
        let name = fields.text("name").unwrap_or(id.get_ref()).to_owned();
        if let Some(twin) = list.iter().find(|queue| queue.name == name) {
            let (queue, twin) = (id.get_ref().to_string(), twin.id.clone());
            reader.error(
                fields.span("name").unwrap_or(id.span()),
                QueueMistake::SameName { queue, twin, name: name.clone() },
            );
        }
        list.push(Queue {
            id: id.get_ref().to_string(),
            name,
            candidates,
            policy: defaults.policy(Some(&fields), Preset::Relay),
            clocks,
        });
    }
    list
}

/// Says which candidates are passed over because this version does not speak their dialect.
fn warn_of_unspoken(
    reader: &mut Reader<'_>,
    id: &Spanned<Cow<'_, str>>,
    candidates: &[Candidate],
    providers: &[Provider],
) {
    let spoken = |candidate: &&Candidate| {
        let provider = providers.iter().find(|provider| provider.id == candidate.provider);
        provider.is_none_or(|provider| provider.dialect != Dialect::OpenAiResponses)
    };
    let unspoken = candidates.iter().filter(|candidate| !spoken(candidate));
    let routes: Vec<_> = unspoken.map(|candidate| format!("`{}`", candidate.route())).collect();
    if routes.is_empty() {
        return;
    }
    let all = routes.len() == candidates.len();
    let which = if all { Unspoken::All } else { Unspoken::Some };
    let queue = id.get_ref().to_string();
    reader.warn(Some(id.span()), QueueMistake::Unspoken { queue, routes, which });
}

fn direct(
    reader: &mut Reader<'_>,
    root: &DeTable<'_>,
    providers: &[Provider],
    defaults: &Defaults,
) -> Direct {
    let fields =
        inner_table(root, "direct").map(|table| section(reader, Some(table), "direct", "direct"));
    let policy = defaults.policy(fields.as_ref(), Preset::None);
    let clocks = defaults.clocks(fields.as_ref());
    let fallbacks = match &fields {
        Some(fields) => candidates::fallbacks(reader, fields, providers, clocks),
        None => Vec::new(),
    };
    if !fallbacks.is_empty() && !policy.enabled {
        reader.warn(
            fields.as_ref().and_then(|fields| fields.span("fallbacks")),
            QueueMistake::FallbacksUnasked,
        );
    }
    Direct { policy, clocks, fallbacks }
}

pub(crate) fn is_id(text: &str) -> bool {
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    let begins = text.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
    plain && begins && text.len() <= 64
}

/// Ids stand in URLs, model names and reports.
fn check_id(reader: &mut Reader<'_>, id: &Spanned<std::borrow::Cow<'_, str>>, of: IdOf) {
    let text = id.get_ref();
    if is_id(text) {
        return;
    }
    if let Err(hidden) = check::unhidden(of.section(), text) {
        return reader.error(id.span(), hidden);
    }
    let shown = mask::shown(text).to_owned();
    reader.error(id.span(), QueueMistake::BadId { id: shown, of });
}

impl Reader<'_> {
    /// Whether a key of a section was written at all, fitting or not.
    fn was_written(&self, path: &str, key: &str) -> bool {
        self.written.contains(&joined(path, key))
    }

    /// Whether candidates were written and refused, so that their lack needs no second word.
    fn was_refused(&self, entry: Option<&Spanned<DeValue<'_>>>) -> bool {
        entry.is_some_and(|entry| match entry.get_ref().as_array() {
            Some(array) => !array.is_empty(),
            None => true,
        })
    }
}
