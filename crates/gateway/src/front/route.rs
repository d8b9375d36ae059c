//! What a path means.
//!
//! It refuses to look at bodies. Every path of the dialects exists with `/v1` and without: clients
//! differ in whether they count the version to the base URL, and their users in what they write.

use std::borrow::Cow;

use http::{HeaderMap, Method};

use ekiden_dialect::Dialect;

use crate::front::admin::{self, Operation};

/// What is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Endpoint {
    /// A call of that dialect.
    Call(Dialect),
    /// A web socket for Responses.
    Socket,
    /// The size of a conversation (Anthropic).
    CountTokens,
    /// All models.
    Models,
    /// One model.
    Model(String),
    /// What this is, for a person or a probe.
    About,
    /// Whether the process lives.
    Alive,
    /// Whether calls are taken.
    Ready,
    /// Our own interface, with the segments of the path that stand for names.
    Api(&'static Operation, Vec<String>),
}

/// Why a path and method mean nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Miss {
    /// No such path.
    Path,
    /// The path takes only these.
    Method(Cow<'static, str>),
}

/// What a 404 says exists.
pub(crate) const CALL_PATHS: &str = "POST /v1/chat/completions, POST /v1/messages, \
     POST /v1/messages/count_tokens, GET /v1/models";

/// What method and path ask for.
pub(crate) fn resolve(method: &Method, path: &str) -> Result<Endpoint, Miss> {
    let trimmed = path.trim_matches('/');
    if let Some(rest) = trimmed.strip_prefix("api/v1/") {
        return api(method, rest);
    }
    let mut short = trimmed;
    // A base URL with the version, given to a client that adds it, doubles it.
    while let Some(rest) = short.strip_prefix("v1/") {
        short = rest;
    }
    match short {
        "chat/completions" => post(method, Endpoint::Call(Dialect::OpenAiChat)),
        "messages" => post(method, Endpoint::Call(Dialect::AnthropicMessages)),
        "messages/count_tokens" => post(method, Endpoint::CountTokens),
        "responses" if *method == Method::GET => Ok(Endpoint::Socket),
        "responses" if *method == Method::POST => Ok(Endpoint::Call(Dialect::OpenAiResponses)),
        "responses" => Err(Miss::Method("GET, POST".into())),
        "models" => read(method, Endpoint::Models),
        "" | "v1" | "api/hello" => read(method, Endpoint::About),
        "health" | "healthz" => read(method, Endpoint::Alive),
        "readyz" => read(method, Endpoint::Ready),
        _ => match short.strip_prefix("models/") {
            Some(id) => read(method, Endpoint::Model(decoded(id))),
            None => Err(Miss::Path),
        },
    }
}

fn api(method: &Method, rest: &str) -> Result<Endpoint, Miss> {
    match admin::find(method, rest) {
        Ok((operation, names)) => Ok(Endpoint::Api(operation, names)),
        Err(Some(allowed)) => Err(Miss::Method(allowed.into())),
        Err(None) => Err(Miss::Path),
    }
}

fn read(method: &Method, endpoint: Endpoint) -> Result<Endpoint, Miss> {
    let reads = *method == Method::GET || *method == Method::HEAD;
    if reads { Ok(endpoint) } else { Err(Miss::Method("GET, HEAD".into())) }
}

fn post(method: &Method, endpoint: Endpoint) -> Result<Endpoint, Miss> {
    if *method == Method::POST { Ok(endpoint) } else { Err(Miss::Method("POST".into())) }
}

/// The text behind `%xx`; what is no such triplet stays as it is.
pub(crate) fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = bytes.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        let value = hex
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match value {
            Some(value) => {
                out.push(value);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The dialect in which to answer when the path does not say it: from the words of the path, then
/// from what only Anthropic's clients send.
pub(crate) fn guess(path: &str, headers: &HeaderMap) -> Dialect {
    if path.contains("responses") {
        Dialect::OpenAiResponses
    } else if path.contains("messages")
        || path.contains("anthropic")
        || headers.contains_key("anthropic-version")
        || headers.contains_key("x-api-key")
    {
        Dialect::AnthropicMessages
    } else {
        Dialect::OpenAiChat
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g01_every_path_exists_with_the_version_and_without() {
        let table = [
            ("POST", "chat/completions", Endpoint::Call(Dialect::OpenAiChat)),
            ("POST", "messages", Endpoint::Call(Dialect::AnthropicMessages)),
            ("POST", "messages/count_tokens", Endpoint::CountTokens),
            ("POST", "responses", Endpoint::Call(Dialect::OpenAiResponses)),
            ("GET", "responses", Endpoint::Socket),
            ("GET", "models", Endpoint::Models),
            ("GET", "models/default", Endpoint::Model("default".into())),
            ("GET", "models/deepseek%2Fchat", Endpoint::Model("deepseek/chat".into())),
            ("GET", "models/deepseek/chat", Endpoint::Model("deepseek/chat".into())),
            ("GET", "", Endpoint::About),
        ];
        for (method, path, endpoint) in table {
            for base in ["/", "/v1/", "/v1/v1/"] {
                let method: Method = method.parse().expect("method");
                let full = format!("{base}{path}");
                assert_eq!(resolve(&method, &full), Ok(endpoint.clone()), "{method} {full}");
                let slashed = format!("{full}/");
                assert_eq!(resolve(&method, &slashed), Ok(endpoint.clone()), "{method} {slashed}");
            }
        }
    }

    #[test]
    fn g01_probes_are_answered() {
        for (path, endpoint) in [
            ("/", Endpoint::About),
            ("/api/hello", Endpoint::About),
            ("/health", Endpoint::Alive),
            ("/healthz", Endpoint::Alive),
            ("/readyz", Endpoint::Ready),
        ] {
            assert_eq!(resolve(&Method::HEAD, path), Ok(endpoint.clone()), "{path}");
            assert_eq!(resolve(&Method::GET, path), Ok(endpoint), "{path}");
        }
    }

    #[test]
    fn g01_a_wrong_method_learns_the_right_ones() {
        for (method, path, allow) in [
            (Method::GET, "/v1/chat/completions", "POST"),
            (Method::PUT, "/v1/responses", "GET, POST"),
            (Method::POST, "/v1/models", "GET, HEAD"),
            (Method::GET, "/api/v1/release", "POST"),
        ] {
            assert_eq!(resolve(&method, path), Err(Miss::Method(allow.into())), "{method} {path}");
        }
        for path in
            ["/v2/chat", "/v1/embeddings", "/api/v1/", "/api/v1/calls/1/2/3", "/v1/api/v1/x"]
        {
            assert_eq!(resolve(&Method::GET, path), Err(Miss::Path), "{path}");
        }
    }

    #[test]
    fn g01_a_404_speaks_the_dialect_it_was_asked_in() {
        let mut headers = HeaderMap::new();
        assert_eq!(guess("/v1/embeddings", &headers), Dialect::OpenAiChat);
        assert_eq!(guess("/v1/responses/r_1", &headers), Dialect::OpenAiResponses);
        assert_eq!(guess("/v1/messages/batches", &headers), Dialect::AnthropicMessages);
        headers.insert("anthropic-version", "2023-06-01".parse().expect("value"));
        assert_eq!(guess("/v1/complete", &headers), Dialect::AnthropicMessages);
    }

    #[test]
    fn odd_escapes_stay_as_they_are() {
        assert_eq!(decoded("a%2Fb%zz%2"), "a/b%zz%2");
        assert_eq!(decoded("%+1"), "%+1");
    }
}
