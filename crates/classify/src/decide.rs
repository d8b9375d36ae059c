//! From evidence to verdict.
//!
//! It refuses to know any vendor: what is particular to one stands in the rules.

use alloc::borrow::ToOwned;
use alloc::string::String;

use ekiden_engine::class::{Class, Failure, Origin, Reach, Scope, Wait};

use crate::answer::{Framing, Outcome, events, stream_events};
use crate::civil::Zone;
use crate::facts::{Code, Facts, clip};
use crate::index::Marks;
use crate::rules::{CONNECTION_TALK, Rule, TURNED_AWAY, answered, transport};
use crate::status::leading_status;
use crate::wait::{self, Limits, NamedWait};
use crate::words::{find, has_any, same_code};
use crate::{Context, Evidence, OurAbort, Peer, TransportKind, Verdict, sizes};

/// A wait from which on an unnamed window is a plan's and not a rate's: one hour, in milliseconds.
const LONG_WAIT_MS: u64 = 3_600_000;
/// The longest sentence that is an error without any sign of a machine, in bytes.
const SENTENCE_MAX: usize = 160;
/// Where vendors live that name times without a zone: seconds east of UTC.
const CHINA_OFFSET_S: i32 = 8 * 3_600;

/// Says what went wrong; `None` only for an answer (2xx, or one without a status) with nothing wrong in it.
#[must_use]
pub fn classify(evidence: &Evidence<'_>, context: &Context<'_>) -> Option<Verdict> {
    match context.our_abort {
        OurAbort::Stopped => return Some(bare(Class::Aborted, "own-abort")),
        OurAbort::Deadline => return Some(bare(Class::Timeout, "own-deadline")),
        OurAbort::No => {}
    }
    match evidence {
        Evidence::Http { status, headers, body } => match status {
            Some(200..=299) | None => succeeded(headers, body, context, *status),
            Some(status) => Some(failed(Some(*status), headers, body, context)),
        },
        Evidence::StreamEvent { headers, data } => Some(event_failed(headers, data, context)),
        Evidence::Transport { kind, peer, text } => Some(disconnected(*kind, *peer, text, context)),
        Evidence::Host { code, message, status } => Some(hosted(code, message, *status, context)),
    }
}

fn bare(class: Class, rule: &'static str) -> Verdict {
    Verdict {
        failure: failure(class, Reach::ModelSpecific),
        wait: NamedWait::Unnamed,
        until: NamedWait::Unnamed,
        rule,
        message: None,
        code: None,
        param: None,
        sizes: crate::Sizes::default(),
    }
}

fn failed(
    status: Option<u16>,
    headers: &[(&str, &str)],
    body: &str,
    context: &Context<'_>,
) -> Verdict {
    let mut facts = Facts::default();
    match stream_events(body) {
        Some((events, _)) => events.iter().for_each(|event| facts.add_json(&event.json)),
        None => facts.add_text(body),
    }
    facts.outer_status(status);
    let mut judge = Judge::new(facts, headers, context);
    judge.received = true;
    judge.answered()
}

fn succeeded(
    headers: &[(&str, &str)],
    body: &str,
    context: &Context<'_>,
    status: Option<u16>,
) -> Option<Verdict> {
    let Some((events, framing, done)) = events(body) else {
        return spoken(headers, body, context, status);
    };
    if let Some(event) = events.iter().find(|event| event.is_error()) {
        let mut facts = Facts::default();
        facts.add_json(event.error());
        let mut judge = Judge::new(facts, headers, context);
        judge.received = status.is_some() || framing == Framing::Stream;
        return Some(judge.answered());
    }
    let outcome = Outcome::read(&events, done);
    if let Some(verdict) = disguised(headers, &outcome.text, context) {
        return Some(verdict);
    }
    outcome.judge(framing).map(|(class, rule)| bare(class, rule))
}

/// One event that reports a failure or ends the answer badly.
fn event_failed(headers: &[(&str, &str)], data: &str, context: &Context<'_>) -> Verdict {
    let found = events(data).map(|(events, ..)| events).unwrap_or_default();
    let mut facts = Facts::default();
    match found.iter().find(|event| event.is_error()) {
        Some(event) => facts.add_json(event.error()),
        None => match Outcome::read(&found, true).stopped_by() {
            Some((class, rule)) => return bare(class, rule),
            None => facts.add_text(data),
        },
    }
    let mut judge = Judge::new(facts, headers, context);
    judge.received = true;
    judge.answered()
}

/// A body that is no JSON at all.
fn spoken(
    headers: &[(&str, &str)],
    body: &str,
    context: &Context<'_>,
    status: Option<u16>,
) -> Option<Verdict> {
    if body.trim().is_empty() {
        return Some(bare(Class::EmptyResponse, "answer-empty"));
    }
    let mut facts = Facts::default();
    facts.add_text(body);
    let judge = Judge::new(facts, headers, context);
    // A client's rendering of a dead connection, where no status proves that there was an answer.
    if status.is_none() && judge.facts.status.is_none() && judge.is_connection_talk() {
        return Some(judge.connection());
    }
    Some(judge.answered())
}

/// An error that a relay printed as if the model had said it: only if the whole text is one.
fn disguised(headers: &[(&str, &str)], text: &str, context: &Context<'_>) -> Option<Verdict> {
    let text = text.trim();
    let begins = [
        "Error:",
        "API Error",
        "error:",
        "ERROR:",
        "{\"error\"",
        "[Error",
        "[ERROR",
        "Error code:",
        "upstream error",
    ];
    if text.len() > 2_000 || !begins.iter().any(|begin| text.starts_with(begin)) {
        return None;
    }
    let mut facts = Facts::default();
    facts.add_text(text);
    let machine = facts.status.is_some() || facts.error_seen;
    let verdict = Judge::new(facts, headers, context).answered();
    // Local engines answer a prompt that does not fit with one sentence.
    let bare_overflow =
        text.len() <= SENTENCE_MAX && verdict.failure.class == Class::ContextOverflow;
    (machine || bare_overflow).then_some(verdict)
}

fn disconnected(
    kind: Option<TransportKind>,
    peer: Peer,
    text: &str,
    context: &Context<'_>,
) -> Verdict {
    let mut facts = Facts::default();
    facts.add_text(text);
    let judge = Judge::new(facts, &[], context);
    let known = match (kind, peer) {
        (Some(TransportKind::Timeout), _) => Some(Class::Timeout),
        (Some(TransportKind::Refused | TransportKind::Reset | TransportKind::Eof), Peer::Proxy) => {
            Some(Class::LocalNetwork)
        }
        (
            Some(
                TransportKind::Refused
                | TransportKind::Reset
                | TransportKind::Eof
                | TransportKind::MalformedChunk,
            ),
            Peer::Remote | Peer::Loopback | Peer::Proxy,
        ) => Some(Class::TransportRemote),
        (Some(TransportKind::Dns | TransportKind::Unreachable), Peer::Loopback) => {
            Some(Class::TransportRemote)
        }
        (Some(TransportKind::Dns | TransportKind::Unreachable), Peer::Remote | Peer::Proxy) => {
            Some(Class::LocalNetwork)
        }
        (Some(TransportKind::Tls) | None, _) => None,
    };
    match known {
        Some(class) => judge.verdict(class, Reach::ModelSpecific, "transport-kind"),
        None if kind.is_none() && judge.is_answer_talk() => judge.answered(),
        // A library that prints the body it was given.
        None if kind.is_none() && judge.facts.status.is_some() && judge.facts.error_seen => {
            judge.answered()
        }
        None => judge.connection(),
    }
}

fn hosted(code: &str, message: &str, status: Option<u16>, context: &Context<'_>) -> Verdict {
    let mut facts = Facts::default();
    facts.add_text(message);
    facts.outer_status(leading_status(message).0.or(status));
    let bare_status = facts.status.is_none();
    let digits = code.strip_prefix("HTTP_").and_then(|digits| digits.parse().ok());
    let by_code = match code {
        "AUTH" => Some(401),
        "QUOTA" => Some(402),
        "RATE_LIMIT" => Some(429),
        "SERVER" => Some(500),
        "INVALID_REQUEST" => Some(400),
        _ => digits,
    };
    facts.outer_status(by_code);
    facts.codes.push(Code { space: "", text: code.to_owned() });
    let judge = Judge::new(facts, &[], context);
    let cut = matches!(code, "TRANSPORT" | "STREAM_CLOSED" | "ABORTED");
    if bare_status && (cut || judge.is_connection_talk()) {
        return judge.connection();
    }
    judge.answered()
}

/// Facts with everything that is derived from them.
struct Judge<'a> {
    facts: Facts,
    words: String,
    marks: Marks,
    headers: &'a [(&'a str, &'a str)],
    context: &'a Context<'a>,
    /// Whether an answer is known to have come: then nothing it says is about our own connection.
    received: bool,
}

impl<'a> Judge<'a> {
    fn new(mut facts: Facts, headers: &'a [(&'a str, &'a str)], context: &'a Context<'a>) -> Self {
        for (name, value) in headers {
            if ["x-amzn-errortype", "x-error-code", "x-ms-error-code", "x-should-error"]
                .iter()
                .any(|known| name.eq_ignore_ascii_case(known))
            {
                let code = clip(value, 120).split([':', '#']).next().unwrap_or_default().trim();
                facts.codes.push(Code { space: "", text: code.to_owned() });
            }
        }
        let words = facts.words();
        let marks =
            Marks::read(&words, facts.codes.iter().map(|code| (code.space, code.text.as_str())));
        Self { facts, words, marks, headers, context, received: false }
    }

    /// The verdict on an answer.
    fn answered(self) -> Verdict {
        match answered().find(|(number, rule)| self.holds(*number, rule)) {
            Some((_, rule)) => self.by_rule(rule),
            None if !self.received && self.is_connection_talk() => self.connection(),
            None => self.verdict(Class::ServerError, Reach::ModelSpecific, "unknown"),
        }
    }

    /// The verdict on a connection without an answer.
    fn connection(self) -> Verdict {
        match self.loopback_port() {
            Some(port) if is_proxy_port(port) => {
                return self.verdict(Class::LocalNetwork, Reach::ModelSpecific, "local-proxy-down");
            }
            Some(_) => {
                return self.verdict(
                    Class::TransportRemote,
                    Reach::ModelSpecific,
                    "local-server-down",
                );
            }
            None => {}
        }
        let mut causes = transport().take_while(|(_, rule)| rule.id != "broken-off");
        if let Some((_, rule)) = causes.find(|(number, rule)| self.holds(*number, rule)) {
            return self.by_rule(rule);
        }
        // Some clients print what an upstream said behind words of their own about the stream.
        let said = answered()
            .take_while(|(_, rule)| rule.id != "no-access")
            .find(|(number, rule)| self.holds(*number, rule));
        match said.or_else(|| transport().find(|(number, rule)| self.holds(*number, rule))) {
            Some((_, rule)) => self.by_rule(rule),
            None => self.verdict(Class::TransportRemote, Reach::ModelSpecific, "connection"),
        }
    }

    /// The port on this machine that refused or reset the connection.
    fn loopback_port(&self) -> Option<u64> {
        if !self.marks.says(TURNED_AWAY) || self.marks.forbids(TURNED_AWAY) {
            return None;
        }
        [
            "127.0.0.1:#",
            "127.0.0.1 port #",
            "localhost:#",
            "localhost port #",
            "[::1]:#",
            "::1:#",
            "0.0.0.0:#",
            "host='127.0.0.1', port=#",
            "host='localhost', port=#",
        ]
        .iter()
        .find_map(|pattern| find(&self.words, pattern)?.1.nth(0))
    }

    /// Whether the words name a status or an error, and none of a library's own troubles.
    fn is_answer_talk(&self) -> bool {
        (self.facts.status.is_some() || self.facts.error_seen) && !self.is_connection_talk()
    }

    /// Whether the words are those of a library whose connection failed.
    fn is_connection_talk(&self) -> bool {
        self.marks.says(CONNECTION_TALK)
    }

    fn holds(&self, number: usize, rule: &Rule) -> bool {
        let status = self.facts.status.unwrap_or(0);
        let of_status = rule.statuses.is_empty()
            || rule.statuses.iter().any(|(first, last)| (*first..=*last).contains(&status));
        of_status
            && (rule.codes.is_empty() && rule.words.is_empty() || self.marks.says(number))
            && (rule.gate.is_empty() || self.marks.opens(number))
            && !self.marks.forbids(number)
    }

    fn by_rule(self, rule: &Rule) -> Verdict {
        let limits = self.limits_if(rule.class);
        let mut verdict = self.said(rule.class, rule.reach, rule.id, limits.as_ref());
        let long = limits.is_some_and(|limits| limits.long)
            || is_long(&verdict.wait, self.context.now_wall_ms);
        if rule.long_wait_is_quota && long {
            verdict.failure = Failure {
                wait: verdict.failure.wait,
                ..failure(Class::QuotaExhausted, rule.reach)
            };
        }
        verdict
    }

    fn verdict(&self, class: Class, reach: Reach, rule: &'static str) -> Verdict {
        let limits = self.limits_if(class);
        self.said(class, reach, rule, limits.as_ref())
    }

    fn limits_if(&self, class: Class) -> Option<Limits> {
        let about_limits =
            matches!(class, Class::RateLimited | Class::QuotaExhausted | Class::Overloaded);
        about_limits.then(|| wait::limits(self.headers, &self.facts, self.context.now_wall_ms))
    }

    fn said(
        &self,
        class: Class,
        reach: Reach,
        rule: &'static str,
        limits: Option<&Limits>,
    ) -> Verdict {
        let named = wait::read(self.headers, &self.facts, limits, &|| self.zone());
        let mut failure = failure(class, reach);
        failure.wait = named.wait.for_engine().unwrap_or(Wait::Unnamed);
        let says_something = |message: &&String| {
            message.bytes().any(|byte| byte.is_ascii_alphabetic() || byte >= 0x80)
                && !message.eq_ignore_ascii_case("provider returned error")
        };
        Verdict {
            failure,
            wait: named.wait,
            until: named.until,
            rule,
            message: self.facts.messages.iter().find(says_something).cloned(),
            code: self.telling_code(),
            param: self.facts.param.clone(),
            sizes: if class == Class::ContextOverflow {
                sizes::read(&self.facts, &self.words)
            } else {
                crate::Sizes::default()
            },
        }
    }

    /// The innermost code that says more than that the request or the server is at fault.
    fn telling_code(&self) -> Option<String> {
        const VAGUE: [&str; 7] = [
            "invalid_request_error",
            "api_error",
            "error",
            "BadRequestError",
            "None",
            "new_api_error",
            "invalid_request",
        ];
        let codes = &self.facts.codes;
        let telling =
            codes.iter().find(|code| !VAGUE.iter().any(|vague| same_code(vague, &code.text)));
        telling.or(codes.first()).map(|code| code.text.clone())
    }

    /// The zone of times that name none.
    fn zone(&self) -> Zone {
        const CHINESE: [&str; 24] = [
            "zhipu",
            "z.ai",
            "zai",
            "bigmodel",
            "glm",
            "dashscope",
            "aliyun",
            "qwen",
            "bailian",
            "volc",
            "ark",
            "doubao",
            "minimax",
            "moonshot",
            "kimi",
            "qianfan",
            "baidu",
            "siliconflow",
            "deepseek",
            "stepfun",
            "hunyuan",
            "tencent",
            "xiaomi",
            "modelscope",
        ];
        let provider = self.context.provider.unwrap_or_default().to_ascii_lowercase();
        let chinese =
            CHINESE.iter().any(|name| provider.contains(name))
                || self.words.chars().any(|letter| ('\u{4e00}'..='\u{9fff}').contains(&letter))
                || has_any(&self.words, &["~glm", "~zai~", "~z.ai~", "bigmodel", "volcengine"])
                || self.facts.codes.iter().any(|code| {
                    ["1304", "1308", "1310", "1316", "1317"].contains(&code.text.as_str())
                });
        if chinese { Zone::Fixed(CHINA_OFFSET_S) } else { Zone::Unknown }
    }
}

/// Ports on which the usual local proxies listen.
fn is_proxy_port(port: u64) -> bool {
    matches!(port, 1080..=1089 | 2080 | 3128 | 6152..=6153 | 7078 | 7890..=7899 | 8118 | 8889 | 9674 | 10800..=10813 | 20170..=20172 | 33210)
}

fn is_long(wait: &NamedWait, now_wall_ms: Option<u64>) -> bool {
    let span = match wait {
        NamedWait::Civil(civil) => match now_wall_ms {
            Some(now) => civil.resolve_at_offset(0, now).map(|at| at.saturating_sub(now)),
            None => civil.date.map(|_| LONG_WAIT_MS),
        },
        NamedWait::Unnamed | NamedWait::Ms(_) | NamedWait::At(_) => wait.span_ms(now_wall_ms),
    };
    span.is_some_and(|span| span >= LONG_WAIT_MS)
}

/// Whose doing a class is, and what it proves to be out of order.
fn failure(class: Class, reach: Reach) -> Failure {
    let (origin, scope) = match class {
        Class::RateLimited
        | Class::Overloaded
        | Class::ServerError
        | Class::Timeout
        | Class::TransportRemote
        | Class::EmptyResponse
        | Class::Stall
        | Class::NotFound => (Origin::Upstream, Scope::Candidate),
        Class::QuotaExhausted | Class::Auth => (Origin::Upstream, Scope::Account),
        Class::InvalidRequest => match reach {
            Reach::ModelSpecific => (Origin::Upstream, Scope::Request),
            Reach::Universal => (Origin::Client, Scope::Request),
        },
        Class::ContentFilter | Class::ContextOverflow | Class::Aborted | Class::Truncated => {
            (Origin::Client, Scope::Request)
        }
        Class::LocalNetwork => (Origin::Local, Scope::Network),
    };
    Failure { class, origin, scope, wait: Wait::Unnamed, reach }
}
