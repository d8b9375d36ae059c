//! Providers that the environment shows (G8). Asks no server: local ones are asked by the program,
//! at the addresses of [`LOCAL_SERVERS`].

use std::net::{IpAddr, SocketAddr};

use secrecy::SecretString;

use crate::assemble::{DEFAULT_QUEUE, default_profile, empty_queue, points_at};
use crate::check::is_line;
use crate::clocks::ClockSettings;
use crate::env::Env;
use crate::mistake::{AddressFault, FoundMistake};
use crate::read::Reader;
use crate::settings::{Candidate, Config, Credential, Dialect, Origin, Provider};
use crate::url::{BaseUrl, UrlError};

/// A provider that is known by the variable that holds its key.
#[derive(Clone, Copy, Debug)]
pub struct WellKnown {
    /// The id that it gets.
    pub id: &'static str,
    /// The name that people see.
    pub name: &'static str,
    /// The variable that holds the key.
    pub key_variable: &'static str,
    /// The variable that clients read for another address, where there is one.
    pub url_variable: Option<&'static str>,
    /// Where it is.
    pub base_url: &'static str,
    /// What it speaks there.
    pub dialect: Dialect,
    /// The model that stands in the queue.
    pub model: &'static str,
    /// Its context window in tokens, where the source names it.
    pub context_window: Option<u32>,
    /// Where the model comes from.
    pub source: Source,
}

/// Where a default model comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The model list that the npm package `@mariozechner/pi-ai` 0.73.1 ships, and the defaults
    /// of `@mariozechner/pi-coding-agent` 0.73.1; read 2026-11-29.
    PiAi,
    /// A name that the vendor moves along to its current model, by its own documentation.
    MovingName,
}

/// A server on this machine that may offer models.
#[derive(Clone, Copy, Debug)]
pub struct LocalServer {
    /// The id that it gets.
    pub id: &'static str,
    /// The name that people see.
    pub name: &'static str,
    /// Where it listens unless told otherwise; its models stand below `/models`.
    pub base_url: &'static str,
    /// The variable that tells it and its clients otherwise, where there is one.
    pub variable: Option<&'static str>,
}

/// Where local servers listen unless told otherwise, by their documentation. They speak Chat.
pub const LOCAL_SERVERS: [LocalServer; 2] = [
    LocalServer {
        id: "ollama",
        name: "Ollama",
        base_url: "http://127.0.0.1:11434/v1",
        variable: Some("OLLAMA_HOST"),
    },
    LocalServer {
        id: "lm-studio",
        name: "LM Studio",
        base_url: "http://127.0.0.1:1234/v1",
        variable: None,
    },
];

/// The port of Ollama, where its variable names none.
const OLLAMA_PORT: u16 = 11_434;

/// Models of one local server that are taken, and characters of a name: more, nobody has.
const LOCAL_MODELS_MAX: usize = 100;
const LOCAL_MODEL_MAX_CHARS: usize = 200;

const CHAT: Dialect = Dialect::OpenAiChat;
const MESSAGES: Dialect = Dialect::AnthropicMessages;

/// The providers, in the order in which they stand in the queue. Several vendors offer two
/// dialects, and each is a provider of its own, since a queue speaks to each asker in its dialect.
#[rustfmt::skip]
pub static WELL_KNOWN: [WellKnown; 21] = [
    known("anthropic", "Anthropic", "ANTHROPIC_API_KEY", Some("ANTHROPIC_BASE_URL"),
        "https://api.anthropic.com", MESSAGES, "claude-opus-4-7", 1_000_000),
    known("openai", "OpenAI", "OPENAI_API_KEY", Some("OPENAI_BASE_URL"),
        "https://api.openai.com/v1", CHAT, "gpt-5.4", 272_000),
    known("gemini", "Google Gemini", "GEMINI_API_KEY", None,
        "https://generativelanguage.googleapis.com/v1beta/openai", CHAT, "gemini-3.1-pro-preview", 1_048_576),
    known("deepseek", "DeepSeek", "DEEPSEEK_API_KEY", None,
        "https://api.deepseek.com/v1", CHAT, "deepseek-v4-pro", 1_000_000),
    known("deepseek-anthropic", "DeepSeek (Anthropic)", "DEEPSEEK_API_KEY", None,
        "https://api.deepseek.com/anthropic", MESSAGES, "deepseek-v4-pro", 1_000_000),
    known("moonshot", "Moonshot", "MOONSHOT_API_KEY", Some("MOONSHOT_BASE_URL"),
        "https://api.moonshot.cn/v1", CHAT, "kimi-k2.6", 262_144),
    known("moonshot-anthropic", "Moonshot (Anthropic)", "MOONSHOT_API_KEY", None,
        "https://api.moonshot.cn/anthropic", MESSAGES, "kimi-k2.6", 262_144),
    known("zhipu", "智谱", "ZHIPU_API_KEY", None,
        "https://open.bigmodel.cn/api/paas/v4", CHAT, "glm-5.1", 200_000),
    known("zhipu-anthropic", "智谱 (Anthropic)", "ZHIPU_API_KEY", None,
        "https://open.bigmodel.cn/api/anthropic", MESSAGES, "glm-5.1", 200_000),
    known("zai", "Z.ai", "ZAI_API_KEY", None,
        "https://api.z.ai/api/paas/v4", CHAT, "glm-5.1", 200_000),
    known("zai-anthropic", "Z.ai (Anthropic)", "ZAI_API_KEY", None,
        "https://api.z.ai/api/anthropic", MESSAGES, "glm-5.1", 200_000),
    WellKnown { source: Source::MovingName, context_window: None,
        ..known("dashscope", "阿里云百炼", "DASHSCOPE_API_KEY", Some("DASHSCOPE_BASE_URL"),
            "https://dashscope.aliyuncs.com/compatible-mode/v1", CHAT, "qwen-plus", 0) },
    known("minimax", "MiniMax", "MINIMAX_API_KEY", None,
        "https://api.minimax.io/v1", CHAT, "MiniMax-M2.7", 204_800),
    known("minimax-anthropic", "MiniMax (Anthropic)", "MINIMAX_API_KEY", None,
        "https://api.minimax.io/anthropic", MESSAGES, "MiniMax-M2.7", 204_800),
    known("kimi-coding", "Kimi For Coding", "KIMI_API_KEY", None,
        "https://api.kimi.com/coding", MESSAGES, "kimi-for-coding", 262_144),
    known("xai", "xAI", "XAI_API_KEY", None,
        "https://api.x.ai/v1", CHAT, "grok-4.3", 1_000_000),
    known("mistral", "Mistral", "MISTRAL_API_KEY", None,
        "https://api.mistral.ai/v1", CHAT, "mistral-medium-latest", 262_144),
    known("groq", "Groq", "GROQ_API_KEY", None,
        "https://api.groq.com/openai/v1", CHAT, "openai/gpt-oss-120b", 131_072),
    known("cerebras", "Cerebras", "CEREBRAS_API_KEY", None,
        "https://api.cerebras.ai/v1", CHAT, "zai-glm-4.7", 131_072),
    known("xiaomi-anthropic", "小米 MiMo", "XIAOMI_API_KEY", None,
        "https://api.xiaomimimo.com/anthropic", MESSAGES, "mimo-v2.5-pro", 1_048_576),
    known("openrouter", "OpenRouter", "OPENROUTER_API_KEY", None,
        "https://openrouter.ai/api/v1", CHAT, "moonshotai/kimi-k2.6", 262_144),
];

#[expect(clippy::too_many_arguments, reason = "a row of a table; the fields' names stand above it")]
const fn known(
    id: &'static str,
    name: &'static str,
    key_variable: &'static str,
    url_variable: Option<&'static str>,
    base_url: &'static str,
    dialect: Dialect,
    model: &'static str,
    context_window: u32,
) -> WellKnown {
    WellKnown {
        id,
        name,
        key_variable,
        url_variable,
        base_url,
        dialect,
        model,
        context_window: Some(context_window),
        source: Source::PiAi,
    }
}

/// Adds the providers of the environment and the queue made of them.
pub(crate) fn fill(reader: &mut Reader<'_>, config: &mut Config) {
    let mut queue = empty_queue();
    queue.policy = config.default_policy.clone();
    queue.clocks = config.default_clocks;
    for known in &WELL_KNOWN {
        let variable = reader.env.var(known.key_variable).map(|key| {
            let variable = known.key_variable.to_owned();
            (SecretString::from(key), Credential::Env(variable.clone()), Origin::Env { variable })
        });
        let stored = || {
            let key = reader.env.stored_key(known.id)?;
            Some((key, Credential::Stored, Origin::Stored))
        };
        let Some((key, credential, origin)) = variable.or_else(stored) else {
            continue;
        };
        let Some(base_url) = address(reader, known, config) else {
            continue;
        };
        reader.origins.insert(format!("providers.{}", known.id), origin.clone());
        reader.origins.insert(format!("queues.{DEFAULT_QUEUE}"), origin);
        let provider = Provider { credential, key: Some(key), ..provider(known, base_url) };
        queue.candidates.push(candidate(
            &provider,
            known.model,
            known.context_window,
            config.default_clocks,
        ));
        config.providers.push(provider);
    }
    config.queues.push(queue);
    for server in &LOCAL_SERVERS {
        let Some((variable, Err(why))) = server.said(reader.env) else { continue };
        let (provider, instead) = (server.id, server.base_url);
        reader.warn(None, FoundMistake::Address { variable, why, provider, instead });
    }
    if config.providers.is_empty() {
        let variables = WELL_KNOWN.iter().take(4).map(|known| known.key_variable).collect();
        reader.warn(None, FoundMistake::NoProvider { variables });
    }
}

impl LocalServer {
    /// Where it is to be asked for: as its variable says, else where it listens by itself. An
    /// address that is none, or leads to a cloud's credentials, counts as not said. `None`: what
    /// listens there is Ekiden itself.
    #[must_use]
    pub fn address(&self, env: &dyn Env, listen: SocketAddr) -> Option<BaseUrl> {
        let said = self.said(env).and_then(|(_, said)| said.ok());
        let url = said.or_else(|| BaseUrl::parse(self.base_url).ok())?;
        (!points_at(&url, listen)).then_some(url)
    }

    /// What its variable says, or why that is not used; `None`: nothing.
    fn said(&self, env: &dyn Env) -> Option<(&'static str, Result<BaseUrl, AddressFault>)> {
        let variable = self.variable?;
        let written = env.var(variable).filter(|written| !written.trim().is_empty())?;
        let url = match ollama_host(&written) {
            Ok(url) if url.is_guarded() => Err(AddressFault::Guarded),
            Ok(url) => Ok(url),
            Err(why) => Err(AddressFault::Url(why)),
        };
        Some((variable, url))
    }
}

/// `OLLAMA_HOST` as Ollama reads it (`envconfig.Host` in its source): scheme, host and port may each
/// be left out, and with a scheme the port is that scheme's. The address of every interface, which
/// is where a server listens, is this machine to a client.
fn ollama_host(written: &str) -> Result<BaseUrl, UrlError> {
    let written = written.trim().trim_matches(['"', '\'']).trim();
    let (scheme, rest, port) = match written.split_once("://") {
        Some(("http", rest)) => ("http", rest, 80),
        Some(("https", rest)) => ("https", rest, 443),
        Some(_) => return Err(UrlError::Scheme),
        None => ("http", written, OLLAMA_PORT),
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    if authority.contains('@') {
        return Err(UrlError::Credential);
    }
    let bare = authority.trim_matches(['[', ']']);
    let (host, port) = match (bare.parse::<IpAddr>(), authority.rsplit_once(':')) {
        (Ok(_), _) => (bare, port),
        (Err(_), Some((host, named))) => {
            (host.trim_matches(['[', ']']), named.parse().unwrap_or(port))
        }
        (Err(_), None) => (bare, port),
    };
    let host = match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) if ip.is_unspecified() => "127.0.0.1".to_owned(),
        Ok(IpAddr::V6(ip)) if ip.is_unspecified() => "[::1]".to_owned(),
        Ok(IpAddr::V6(ip)) => format!("[{ip}]"),
        Ok(IpAddr::V4(_)) => host.to_owned(),
        Err(_) if host.is_empty() => "127.0.0.1".to_owned(),
        Err(_) => host.to_owned(),
    };
    let path = path.trim_matches('/');
    let below = if path.is_empty() { String::new() } else { format!("/{path}") };
    BaseUrl::parse(&format!("{scheme}://{host}:{port}{below}/v1"))
}

impl Config {
    /// This configuration with a server that was found on this machine at that address, and its
    /// models at the end of the queue that was made of the environment (G8). Models whose names nobody
    /// could write are left out.
    #[must_use]
    pub fn with_local_server(&self, server: &LocalServer, at: &BaseUrl, models: &[String]) -> Self {
        let mut config = self.clone();
        let models: Vec<String> =
            models.iter().filter(|model| is_name(model)).take(LOCAL_MODELS_MAX).cloned().collect();
        if config.provider(server.id).is_some() || models.is_empty() {
            return config;
        }
        let provider = Provider {
            id: server.id.to_owned(),
            name: server.name.to_owned(),
            models: models.clone(),
            credential: Credential::None,
            key: None,
            ..bare(at.clone(), Dialect::OpenAiChat)
        };
        let origin = Origin::Found { at: at.as_str().to_owned() };
        if let Some(queue) = config.queues.iter_mut().find(|queue| queue.id == DEFAULT_QUEUE) {
            let clocks = config.default_clocks;
            queue
                .candidates
                .extend(models.iter().map(|model| candidate(&provider, model, None, clocks)));
            let path = format!("queues.{DEFAULT_QUEUE}");
            config.origins.entry(path).or_insert_with(|| origin.clone());
        }
        config.origins.insert(format!("providers.{}", server.id), origin);
        config.providers.push(provider);
        config
    }
}

fn is_name(model: &str) -> bool {
    // As a route has it, so that it can be written down.
    let plain = !model.is_empty() && !model.contains(char::is_whitespace) && is_line(model);
    plain && model.chars().count() <= LOCAL_MODEL_MAX_CHARS
}

/// The address of a provider: the client's own variable, unless it leads to ourselves because the
/// user pointed the client here.
fn address(reader: &mut Reader<'_>, known: &WellKnown, config: &Config) -> Option<BaseUrl> {
    let own = || BaseUrl::parse(known.base_url).ok();
    let Some(variable) = known.url_variable else {
        return own();
    };
    let Some(written) = reader.env.var(variable) else {
        return own();
    };
    let why = match BaseUrl::parse(&written) {
        Ok(url) if points_at(&url, config.listen) => AddressFault::PointsHere,
        Ok(url) if url.is_guarded() => AddressFault::Guarded,
        Ok(url) => {
            let origin = Origin::Env { variable: variable.to_owned() };
            reader.origins.insert(format!("providers.{}.base_url", known.id), origin);
            return Some(url);
        }
        Err(error) => AddressFault::Url(error),
    };
    let (provider, instead) = (known.id, known.base_url);
    reader.warn(None, FoundMistake::Address { variable, why, provider, instead });
    own()
}

fn provider(known: &WellKnown, base_url: BaseUrl) -> Provider {
    Provider {
        id: known.id.to_owned(),
        name: known.name.to_owned(),
        models: vec![known.model.to_owned()],
        ..bare(base_url, known.dialect)
    }
}

fn bare(base_url: BaseUrl, dialect: Dialect) -> Provider {
    Provider {
        id: String::new(),
        name: String::new(),
        profile: default_profile(dialect, &base_url),
        vendor: base_url.vendor(),
        base_url,
        dialect,
        credential: Credential::None,
        key: None,
        http2: false,
        proxy: None,
        headers: Vec::new(),
        stream_usage: true,
        drop_fields: Vec::new(),
        allow_link_local: false,
        models: Vec::new(),
    }
}

fn candidate(
    provider: &Provider,
    model: &str,
    context_window: Option<u32>,
    clocks: ClockSettings,
) -> Candidate {
    Candidate {
        provider: provider.id.clone(),
        model: model.to_owned(),
        effort: None,
        effort_levels: Vec::new(),
        context_window,
        max_tokens: None,
        max_sessions: None,
        max_in_flight: None,
        clocks: clocks.resolve(provider.base_url.locality()),
    }
}
