//! Which headers go out, and which come back (G5, G14).
//!
//! It refuses everything that is not on a list: a client's key, cookies and session ids never reach
//! a provider, and a provider's limits and cookies never reach a client.

use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue};
use secrecy::ExposeSecret;

use ekiden_config::{Profile, Provider};
use ekiden_dialect::Dialect;

/// Names this process to itself, so that a request that comes back is known (R6).
pub(crate) const HOP: HeaderName = HeaderName::from_static("x-ekiden-hop");

/// Anthropic's API version where the client names none.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// Headers of a client that go to the dialect's own vendor. Like all lists here they are looked
/// through for each of the few headers that came, which costs less than asking a map for every one.
const TO_VENDOR: [&str; 5] = [
    "user-agent",
    "anthropic-beta",
    "openai-beta",
    "x-app",
    "anthropic-dangerous-direct-browser-access",
];

/// Where it names the version of Anthropic's API.
const VERSION: HeaderName = HeaderName::from_static("anthropic-version");

/// Where clients show keys.
pub(crate) const KEYS: [&str; 4] = ["authorization", "x-api-key", "api-key", "x-goog-api-key"];

/// Headers of an answer that go on to the client.
const TO_CLIENT: [&str; 4] = ["content-type", "request-id", "x-request-id", "openai-processing-ms"];

/// Those of an error that goes on as it came.
const OF_ERRORS: [&str; 2] = ["retry-after", "x-should-retry"];

/// Headers in the order in which they go out: nobody looks anything up in them.
pub(crate) type HeaderList = Vec<(HeaderName, HeaderValue)>;

/// The headers of every request to one provider.
#[derive(Clone, Debug)]
pub(crate) struct RequestHeaders {
    fixed: HeaderList,
    dialect: Dialect,
    profile: Profile,
}

impl RequestHeaders {
    pub(crate) fn new(provider: &Provider, dialect: Dialect, instance: &str) -> Self {
        let mut fixed = HeaderMap::new();
        fixed.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        fixed.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        fixed.insert(
            USER_AGENT,
            HeaderValue::from_static(concat!("ekiden/", env!("CARGO_PKG_VERSION"))),
        );
        if let Ok(instance) = HeaderValue::from_str(instance) {
            fixed.insert(HOP, instance);
        }
        if let Some(key) = &provider.key {
            let (name, value) = match dialect {
                Dialect::AnthropicMessages => {
                    (HeaderName::from_static("x-api-key"), key.expose_secret().to_owned())
                }
                Dialect::OpenAiChat | Dialect::OpenAiResponses => {
                    (AUTHORIZATION, format!("Bearer {}", key.expose_secret()))
                }
            };
            insert_secret(&mut fixed, name, &value);
        }
        if dialect == Dialect::AnthropicMessages {
            fixed.insert(VERSION, HeaderValue::from_static(ANTHROPIC_VERSION));
        }
        for (name, value) in &provider.headers {
            if let Ok(name) = HeaderName::from_bytes(name.as_bytes()) {
                insert_secret(&mut fixed, name, value.expose_secret());
            }
        }
        let fixed = fixed.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        Self { fixed, dialect, profile: provider.profile }
    }

    /// For one request: what the provider always gets, and what of the client's may go on.
    pub(crate) fn request(&self, client: &HeaderMap, accept: &'static str) -> HeaderList {
        let mut headers = HeaderList::with_capacity(self.fixed.len() + 1 + client.len());
        headers.extend_from_slice(&self.fixed);
        put(&mut headers, &ACCEPT, HeaderValue::from_static(accept));
        let mut before = None;
        for (name, value) in client {
            // Gateways before us stay named: a loop may lead through several (R6).
            if *name == HOP {
                headers.push((HOP, value.clone()));
            } else if before != Some(name) && self.goes_on(name) {
                put(&mut headers, name, value.clone());
            }
            before = Some(name);
        }
        headers
    }

    fn goes_on(&self, name: &HeaderName) -> bool {
        (self.profile == Profile::Native && TO_VENDOR.contains(&name.as_str()))
            || (self.dialect == Dialect::AnthropicMessages && *name == VERSION)
    }

    /// Whether the client's query goes on.
    pub(crate) fn keeps_query(&self) -> bool {
        self.profile == Profile::Native && self.dialect == Dialect::AnthropicMessages
    }
}

fn insert_secret(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(mut value) = HeaderValue::from_str(value) {
        value.set_sensitive(true);
        headers.insert(name, value);
    }
}

/// Sets a header, in the place of what it was before.
fn put(headers: &mut HeaderList, name: &HeaderName, value: HeaderValue) {
    match headers.iter_mut().find(|(known, _)| known == name) {
        Some((_, before)) => *before = value,
        None => headers.push((name.clone(), value)),
    }
}

/// Adds what of an answer's headers goes on to the client.
pub(crate) fn answer_headers(upstream: &HeaderMap, out: &mut HeaderMap) {
    pick(upstream, out, |name| TO_CLIENT.contains(&name));
}

/// The same for an error that goes on as it came.
pub(crate) fn error_headers(upstream: &HeaderMap) -> HeaderMap {
    let mut out = HeaderMap::new();
    pick(upstream, &mut out, |name| TO_CLIENT.contains(&name) || OF_ERRORS.contains(&name));
    out
}

/// Of a header that came twice the first value counts.
fn pick(upstream: &HeaderMap, out: &mut HeaderMap, wanted: impl Fn(&str) -> bool) {
    let mut before = None;
    for (name, value) in upstream {
        if before != Some(name) && wanted(name.as_str()) {
            out.insert(name.clone(), value.clone());
        }
        before = Some(name);
    }
}

/// What of a client's headers a call needs, copied: the others are not kept, and neither is the
/// buffer that they were read into.
pub(crate) fn client_headers(client: &HeaderMap) -> HeaderMap {
    let mut kept = HeaderMap::new();
    for (name, value) in client {
        let word = name.as_str();
        let needed = TO_VENDOR.contains(&word)
            || KEYS.contains(&word)
            || word == VERSION.as_str()
            || word == HOP.as_str();
        if needed && let Ok(copy) = HeaderValue::from_bytes(value.as_bytes()) {
            // A name never holds on to the buffer: the library copies those that it does not know.
            kept.append(name.clone(), copy);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use ekiden_config::{Config, FixedEnv};

    use super::*;

    fn provider(profile: &str) -> Provider {
        let text = format!(
            "[providers.p]\nbase_url = \"https://p.example/v1\"\ndialect = \"anthropic-messages\"\n\
             profile = \"{profile}\"\napi_key = \"secret-0000\"\n[queues.q]\ncandidates = [\"p/m\"]\n"
        );
        let loaded = Config::parse(&text, "test.toml", &FixedEnv::new()).expect("good settings");
        loaded.config.providers[0].clone()
    }

    fn client() -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("authorization", "Bearer of-the-client"),
            ("x-api-key", "of-the-client"),
            ("cookie", "a=b"),
            ("x-claude-code-session-id", "s"),
            ("user-agent", "claude-cli/2"),
            ("anthropic-beta", "beta-1"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn g14_only_the_vendor_itself_learns_program_and_beta_flags() {
        for (profile, knows) in [("native", true), ("compatible", false)] {
            let headers =
                RequestHeaders::new(&provider(profile), Dialect::AnthropicMessages, "instance");
            let sent: HeaderMap =
                headers.request(&client(), "application/json").into_iter().collect();
            assert_eq!(sent.get("anthropic-beta").is_some(), knows);
            assert_eq!(
                sent.get_all("user-agent").iter().count(),
                1,
                "the client's is in its place"
            );
            assert_eq!(sent.get("user-agent").is_some_and(|value| value == "claude-cli/2"), knows);
            assert_eq!(sent.get("x-api-key").map(HeaderValue::as_bytes), Some(&b"secret-0000"[..]));
            for name in ["authorization", "cookie", "x-claude-code-session-id"] {
                assert_eq!(sent.get(name), None, "{name}");
            }
            assert_eq!(sent.get(HOP).map(HeaderValue::as_bytes), Some(&b"instance"[..]));
            assert_eq!(headers.keeps_query(), knows);
            assert!(!format!("{sent:?}").contains("secret-0000"), "a key is never shown");
        }
    }

    #[test]
    fn g05_limits_cookies_and_turn_state_of_an_upstream_stay_here() {
        let mut answer = HeaderMap::new();
        for name in [
            "content-type",
            "x-request-id",
            "set-cookie",
            "x-ratelimit-remaining-requests",
            "anthropic-ratelimit-tokens-reset",
            "retry-after",
            "x-codex-turn-state",
            "content-encoding",
            "content-length",
            "connection",
            "transfer-encoding",
        ] {
            answer.insert(HeaderName::from_static(name), HeaderValue::from_static("1"));
        }
        let names = |headers: &HeaderMap| {
            let mut names: Vec<String> = headers.keys().map(ToString::to_string).collect();
            names.sort();
            names
        };
        let mut of_answer = HeaderMap::new();
        answer_headers(&answer, &mut of_answer);
        assert_eq!(names(&of_answer), ["content-type", "x-request-id"]);
        let of_error = ["content-type", "retry-after", "x-request-id"];
        assert_eq!(names(&error_headers(&answer)), of_error);
    }
}
