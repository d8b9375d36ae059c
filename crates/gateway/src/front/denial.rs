//! Why a request is turned away before anybody is asked, in words: English, or Chinese where
//! `Accept-Language` prefers it.
//!
//! It refuses to word what upstream said, and what the relay tells of a call that was tried.

use std::net::SocketAddr;

use ekiden_config::{Budget, Language, say};

use crate::front::route::CALL_PATHS;

/// No token, or none that holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unauthorized {
    /// None came.
    None,
    /// It was revoked, or never made here.
    Unknown,
    /// It came in the URL.
    InUrl,
}

/// Who may not ask.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Forbidden {
    /// A page of another site.
    OtherSite,
    TwoHosts,
    /// A name, where other machines reach us.
    AnyHost {
        host: String,
    },
    /// A name of another machine.
    OtherHost {
        host: String,
        listen: SocketAddr,
    },
    Origin {
        origin: String,
    },
    /// A client's token asks for our own interface.
    ForCalls,
}

/// Why a call is not taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Denial {
    CallsMax(u64),
    /// Of one token.
    TokenCalls(u64),
    Budget {
        budget: Budget,
        minutes: u64,
    },
    /// What is left of a budget is set aside for open calls.
    Reserved {
        budget: Budget,
    },
    OtherModels {
        own: String,
    },
    Stopping,
    Path {
        path: String,
    },
    Method {
        path: String,
        allow: String,
        method: String,
    },
    Responses,
    Socket,
}

/// A model that is not there, with the nearest names that are (R1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct UnknownModel<'a> {
    pub(crate) asked: &'a str,
    pub(crate) nearest: &'a [String],
}

impl UnknownModel<'_> {
    pub(crate) fn say(&self, language: Language) -> String {
        let nearest: Vec<String> = self.nearest.iter().map(|name| format!("`{name}`")).collect();
        let asked = self.asked;
        match nearest.as_slice() {
            [] => say!(
                language,
                "The model `{asked}` does not exist here. `GET /v1/models` lists what does.",
                "这里没有模型 `{asked}`。`GET /v1/models` 列出现有的。",
                asked,
            ),
            [only] => say!(
                language,
                "The model `{asked}` does not exist here. Did you mean {only}?",
                "这里没有模型 `{asked}`。是否想用 {only}？",
                asked,
                only,
            ),
            [rest @ .., last] => say!(
                language,
                "The model `{asked}` does not exist here. Did you mean {rest} or {last}?",
                "这里没有模型 `{asked}`。是否想用 {rest} 或 {last}？",
                asked,
                rest = language.list(rest),
                last,
            ),
        }
    }
}

impl Unauthorized {
    pub(crate) fn say(self, language: Language) -> String {
        match self {
            Self::None => say!(
                language,
                "This gateway asks for a token: send it as `Authorization: Bearer TOKEN` or `x-api-key: TOKEN`.",
                "这个网关需要令牌：请以 `Authorization: Bearer TOKEN` 或 `x-api-key: TOKEN` 发送。",
            ),
            Self::Unknown => say!(
                language,
                "This token was revoked, or was never made here. Ask whoever runs this gateway for another.",
                "这个令牌已被吊销，或从未在这里创建。请向网关的管理者索取新的。",
            ),
            Self::InUrl => say!(
                language,
                "A token in a URL stays in logs and histories, so this one was not read. Send it as `Authorization: Bearer TOKEN`, and revoke it if others could read the URL.",
                "URL 中的令牌会留在日志和历史记录里，因此没有读取。请以 `Authorization: Bearer TOKEN` 发送；如果别人可能看到这个 URL，请吊销它。",
            ),
        }
    }
}

impl Forbidden {
    pub(crate) fn say(&self, language: Language) -> String {
        match self {
            Self::OtherSite => say!(
                language,
                "A page of another site asked for this. Add its origin to `allowed_origins` if it may.",
                "这个请求来自另一个网站的页面。如果允许，请把它的来源加入 `allowed_origins`。",
            ),
            Self::TwoHosts => {
                say!(language, "The request names two hosts.", "请求中写了两个主机。")
            }
            Self::AnyHost { host } => say!(
                language,
                "The host `{host}` may be anybody's. Send a token, as every call here needs one.",
                "主机 `{host}` 可能是任何人的。请发送令牌，这里的每个请求都需要。",
                host,
            ),
            Self::OtherHost { host, listen } => say!(
                language,
                "The host `{host}` is not this machine. Use http://{listen} or http://localhost:{port}.",
                "主机 `{host}` 不是这台机器。请用 http://{listen} 或 http://localhost:{port}。",
                host,
                listen,
                port = listen.port(),
            ),
            Self::Origin { origin } => say!(
                language,
                "The origin `{origin}` may not call this gateway. Add it to `allowed_origins` if it may.",
                "来源 `{origin}` 不能请求这个网关。如果允许，请把它加入 `allowed_origins`。",
                origin,
            ),
            Self::ForCalls => say!(
                language,
                "This token is for calls; the gateway's own interface takes an admin token.",
                "这个令牌只能用来发请求；网关自己的接口需要管理令牌。",
            ),
        }
    }
}

impl Denial {
    pub(crate) fn say(&self, language: Language) -> String {
        match self {
            Self::CallsMax(most) => say!(
                language,
                "{most} calls are open, the limit of `limits.calls_max`. Try again shortly.",
                "已有 {most} 个进行中的请求，即 `limits.calls_max` 的上限。请稍后再试。",
                most,
            ),
            Self::TokenCalls(most) => say!(
                language,
                "This token has {most} open calls, all that it may have at once.",
                "这个令牌已有 {most} 个进行中的请求，达到了它的上限。",
                most,
            ),
            Self::Budget { budget, minutes } => say!(
                language,
                "This token has spent its budget of {budget} a day. The day ends in {hours} h {minutes} min.",
                "这个令牌每天 {budget} 的预算已用完。距离换日还有 {hours} 小时 {minutes} 分钟。",
                budget,
                hours = minutes / 60,
                minutes = minutes % 60,
            ),
            Self::Reserved { budget } => say!(
                language,
                "This token's open calls may take what is left of its budget of {budget} a day. Try again when one of them has ended.",
                "这个令牌每天 {budget} 的预算所剩部分，可能会被它进行中的请求用掉。请等其中一个结束后再试。",
                budget,
            ),
            Self::OtherModels { own } => say!(
                language,
                "This token is for other models: {own}.",
                "这个令牌只能用于别的模型：{own}。",
                own,
            ),
            Self::Stopping => say!(
                language,
                "The gateway is stopping. Try again in a moment.",
                "网关正在停止。请过一会儿再试。",
            ),
            Self::Path { path } => say!(
                language,
                "There is no `{path}` here. There are {known}.",
                "这里没有 `{path}`。可用的有 {known}。",
                path,
                known = CALL_PATHS,
            ),
            Self::Method { path, allow, method } => say!(
                language,
                "`{path}` takes {allow}, not {method}.",
                "`{path}` 接受 {allow}，不接受 {method}。",
                path,
                allow,
                method,
            ),
            Self::Responses => say!(
                language,
                "The Responses API comes in a later version. Use POST /v1/chat/completions or POST /v1/messages.",
                "Responses API 会在以后的版本中提供。请用 POST /v1/chat/completions 或 POST /v1/messages。",
            ),
            Self::Socket => say!(
                language,
                "There is no web socket here; use POST /v1/responses.",
                "这里没有 WebSocket；请用 POST /v1/responses。",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r01_an_unknown_model_is_told_with_the_nearest_names() {
        let told = |names: &[&str], language| {
            let nearest: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            UnknownModel { asked: "x", nearest: &nearest }.say(language)
        };
        assert_eq!(
            told(&["a", "b", "c"], Language::English),
            "The model `x` does not exist here. Did you mean `a`, `b` or `c`?"
        );
        assert!(told(&["a"], Language::English).ends_with("Did you mean `a`?"));
        assert!(told(&[], Language::English).contains("GET /v1/models"));
        let chinese = told(&["a", "b", "c"], Language::Chinese);
        assert_eq!(chinese, "这里没有模型 `x`。是否想用 `a`、`b` 或 `c`？");
    }
}
