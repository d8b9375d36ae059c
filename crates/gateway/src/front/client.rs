//! Who asks, and how long it waits.
//!
//! It refuses to change what is asked: it reads headers, and says nothing about sessions.

use std::borrow::Cow;

use http::{HeaderMap, HeaderValue, header};

use ekiden_config::Language;
use ekiden_dialect::request::{Facts, Request};

use crate::inbound::{ClientProfile, Program};

/// A caller's own limit on a call, in milliseconds.
const DEADLINE_HEADER: &str = "x-ekiden-deadline-ms";

/// What libraries say they wait for, in seconds. Nothing keeps a whole answer's client alive.
const WAIT_HEADERS: [&str; 2] = ["x-stainless-timeout", "x-stainless-read-timeout"];

/// The longest wait for a whole answer that every measured client has, in milliseconds: Claude
/// Code gives up its fallback after it, whatever its header says.
const WHOLE_MAX_MS: u64 = 300_000;

/// What the answer needs to reach the client in time, in milliseconds.
const MARGIN_MS: u64 = 5_000;

/// A request's headers laid out in a row: a call is asked for a dozen names that most clients do not
/// send, and a map is dear to look through each time.
#[derive(Debug)]
pub(crate) struct Said<'h>(Vec<(&'h str, &'h HeaderValue)>);

impl<'h> Said<'h> {
    pub(crate) fn of(headers: &'h HeaderMap) -> Self {
        Self(headers.iter().map(|(name, value)| (name.as_str(), value)).collect())
    }

    /// A header's first value as text; the name in small letters.
    pub(crate) fn text(&self, name: &str) -> Option<&'h str> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.and_then(|(_, value)| value.to_str().ok())
    }

    /// The first product of the `User-Agent`, without its version; empty when there is none.
    pub(crate) fn product(&self) -> &'h str {
        let agent = self.text("user-agent").unwrap_or_default();
        agent.split(['/', ' ']).next().unwrap_or_default()
    }
}

/// What the person behind it reads.
pub(crate) fn language(headers: &HeaderMap) -> Language {
    let mut lines = headers.get_all(header::ACCEPT_LANGUAGE).iter();
    let first = lines.next().and_then(|value| value.to_str().ok()).unwrap_or_default();
    // Lines of a list are one list (RFC 9110, 5.3).
    let more = lines.filter_map(|value| value.to_str().ok());
    let whole = more.fold(Cow::Borrowed(first), |whole, line| format!("{whole},{line}").into());
    Language::accepted(&whole)
}

/// Who asks.
pub(crate) fn profile(said: &Said<'_>, request: &Request, language: Language) -> ClientProfile {
    let wants_usage = request.facts().include_usage;
    ClientProfile { program: program(said, request), wants_usage, language }
}

fn program(said: &Said<'_>, request: &Request) -> Program {
    let product = said.product().to_ascii_lowercase();
    match product.as_str() {
        "claude-cli" | "claude-code" => Program::ClaudeCode,
        "opencode" => Program::Opencode,
        "qwencode" => Program::QwenCode,
        _ if product.starts_with("codex") => Program::Codex,
        _ if product.starts_with("cline") => Program::Cline,
        "ai-sdk" if is_cline(request) => Program::Cline,
        _ => Program::Other,
    }
}

/// Cline's command line shows its library's name alone (`ai-sdk`, measured with 3.0.65); what it
/// tells the model about itself does not change from call to call.
fn is_cline(request: &Request) -> bool {
    request.root().system.is_some_and(|text| text.trim_start().starts_with("You are Cline,"))
}

/// How long the call may take, in milliseconds (R8).
pub(crate) fn deadline_ms(said: &Said<'_>, facts: &Facts) -> Option<u64> {
    let own = said.text(DEADLINE_HEADER).and_then(|ms| ms.trim().parse::<u64>().ok());
    let own = own.filter(|ms| *ms > 0);
    if facts.stream {
        return own;
    }
    let waits = WAIT_HEADERS.iter().filter_map(|name| said.text(name)).filter_map(seconds_ms);
    let wait = waits.fold(WHOLE_MAX_MS, u64::min);
    // A client that waits a few seconds alone is still given most of them.
    let whole = wait.saturating_sub(MARGIN_MS).max(wait / 2);
    Some(own.map_or(whole, |own| own.min(whole)))
}

fn seconds_ms(text: &str) -> Option<u64> {
    let seconds: f64 = text.trim().parse().ok()?;
    // Beyond what any client waits the number says nothing; NaN and negatives neither.
    let told = seconds > 0.0 && seconds < 1e9;
    told.then_some((seconds * 1000.0) as u64).filter(|ms| *ms > 0)
}

/// A header's first value as text. Looking through the few that there are costs less than reading
/// `name` as a header's name.
pub(crate) fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut found = headers.iter().filter(|(known, _)| known.as_str() == name);
    found.next().and_then(|(_, value)| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| {
                (http::HeaderName::from_static(name), http::HeaderValue::from_static(value))
            })
            .collect()
    }

    fn told(system: &str) -> Request {
        let body = format!(
            r#"{{"model":"q","messages":[{{"role":"system","content":"{system}"}},{{"role":"user","content":"x"}}]}}"#
        );
        let read = ekiden_dialect::request::read(ekiden_dialect::Dialect::OpenAiChat, &body.into());
        read.expect("a body")
    }

    #[test]
    fn a_list_of_languages_may_stand_on_several_lines() {
        let mut lines = headers(&[("accept-language", "fr")]);
        assert_eq!(language(&lines), Language::English);
        let line = HeaderValue::from_static("zh;q=0.5");
        lines.append("accept-language", line);
        assert_eq!(language(&lines), Language::Chinese);
        assert_eq!(language(&HeaderMap::new()), Language::English);
    }

    #[test]
    fn r10_known_agents_are_known_by_their_user_agent() {
        for (agent, program) in [
            ("claude-cli/2.1.332 (external, cli)", Program::ClaudeCode),
            ("codex_exec/0.171.0 (Debian 12.0.0; x86_64)", Program::Codex),
            ("opencode/1.18.33 ai-sdk/provider-utils/4.0.23", Program::Opencode),
            ("QwenCode/0.24.4 (linux; x64)", Program::QwenCode),
            ("OpenAI/Python 3.57.0", Program::Other),
            ("Anthropic/JS 1.14.0", Program::Other),
            ("", Program::Other),
        ] {
            let headers = headers(&[("user-agent", agent)]);
            assert_eq!(super::program(&Said::of(&headers), &told("")), program, "{agent}");
        }
    }

    #[test]
    fn r10_cline_is_known_by_what_it_tells_the_model() {
        let headers =
            headers(&[("user-agent", "ai-sdk/openai-compatible/3.0.37 runtime/bun/1.3.13")]);
        for (system, program) in [
            ("You are Cline, an AI coding agent.", Program::Cline),
            ("You are a friend of Cline, an agent.", Program::Other),
        ] {
            assert_eq!(super::program(&Said::of(&headers), &told(system)), program, "{system}");
        }
        assert_eq!(
            Program::Cline.told_by(),
            crate::inbound::ToldBy::Event,
            "it would join what two models said"
        );
    }

    #[test]
    fn r08_a_whole_answer_has_a_deadline_and_a_stream_has_none() {
        let mut facts = Facts::default();
        for (pairs, ms) in [
            (&[][..], 295_000),
            (&[("x-stainless-timeout", "600")][..], 295_000),
            (&[("x-stainless-timeout", "120")][..], 115_000),
            (
                &[("x-stainless-timeout", "NOT_GIVEN"), ("x-stainless-read-timeout", "60.5")][..],
                55_500,
            ),
            (&[("x-stainless-timeout", "4")][..], 2_000),
            (&[("x-stainless-timeout", "-1")][..], 295_000),
            (&[("x-ekiden-deadline-ms", "1500")][..], 1_500),
            (&[("x-ekiden-deadline-ms", "0")][..], 295_000),
        ] {
            assert_eq!(deadline_ms(&Said::of(&headers(pairs)), &facts), Some(ms), "{pairs:?}");
        }
        facts.stream = true;
        assert_eq!(
            deadline_ms(&Said::of(&headers(&[("x-stainless-timeout", "120")])), &facts),
            None
        );
        assert_eq!(
            deadline_ms(&Said::of(&headers(&[("x-ekiden-deadline-ms", "900")])), &facts),
            Some(900)
        );
    }
}
