//! One attempt's request: what of the client's body changes for a candidate, and why.
//!
//! It refuses to rewrite: it says which edits are due, and the dialect crate makes them on the
//! client's own bytes.

use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{Method, Uri};

use ekiden_dialect::splice::{
    self, Append, Edits, Effort, MaxTokensName, ThinkingBlocks, ThinkingMode,
};
use ekiden_dialect::{Dialect, request};

use crate::inbound::Inbound;
use crate::issuers::Own;
use crate::plan::CandidateRuntime;
use crate::relay::repair::{Mend, Reasoning};
use crate::upstream::Ask;

/// The budget that stands for adaptive thinking at providers that do not know it, in tokens: what
/// the vendor's own documentation uses in its examples of extended thinking, doubled.
const ADAPTIVE_BUDGET: u64 = 16_384;

/// Members that only a dialect's own vendor takes (wire facts of coding clients).
const ANTHROPIC_NATIVE: [&str; 7] = [
    "context_management",
    "output_config",
    "metadata",
    "container",
    "mcp_servers",
    "service_tier",
    "speed",
];
const CHAT_NATIVE: [&str; 8] = [
    "store",
    "metadata",
    "service_tier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "verbosity",
    "prediction",
];
const TOOL_NATIVE: [&str; 3] = ["defer_loading", "strict", "eager_input_streaming"];

/// What an attempt depends on besides the call and the candidate.
pub(crate) struct Terms<'a> {
    /// `continue_text` messages after the original ones (R9).
    pub(crate) continues: u32,
    /// What the candidate refused before and is mended now.
    pub(crate) mend: Option<&'a Mend>,
    /// Whose signatures may go there (G6).
    pub(crate) own: &'a Own<'a>,
}

/// The body for a candidate.
pub(crate) fn body(
    inbound: &Inbound,
    candidate: &CandidateRuntime,
    terms: &Terms<'_>,
) -> splice::Body {
    let provider = &candidate.provider;
    let mend = terms.mend;
    let native = provider.is_native();
    let dialect = provider.dialect;
    let mut drop: Vec<&str> = provider.settings.drop_fields.iter().map(String::as_str).collect();
    if !native {
        drop.extend(match dialect {
            Dialect::AnthropicMessages => ANTHROPIC_NATIVE.as_slice(),
            Dialect::OpenAiChat => CHAT_NATIVE.as_slice(),
            Dialect::OpenAiResponses => &[],
        });
    }
    drop.extend(mend.iter().flat_map(|mend| &mend.drop).map(String::as_str));
    let mut drop_tool: Vec<&str> = if native { Vec::new() } else { TOOL_NATIVE.to_vec() };
    drop_tool.extend(mend.iter().flat_map(|mend| &mend.drop_tool).map(String::as_str));
    let caps = [candidate.max_tokens.map(u64::from), mend.and_then(|mend| mend.max_tokens)];
    let is_own = |signature: &str| terms.own.is_own(signature);
    let edits = Edits {
        model: Some(&candidate.model),
        max_tokens_cap: caps.into_iter().flatten().min(),
        max_tokens_name: max_tokens_name(native, dialect, mend),
        effort: effort(candidate, inbound.request.facts(), native, mend),
        thinking: thinking(native, mend),
        ask_usage: provider.settings.stream_usage && !mend.is_some_and(|mend| mend.no_usage),
        append: (terms.continues > 0).then(|| Append {
            times: terms.continues.min(3) as u8,
            text: &inbound.queue.continue_text,
        }),
        drop_members: &drop,
        drop_tool_members: &drop_tool,
        thinking_blocks: if mend.is_some_and(|mend| mend.no_thinking_blocks) {
            ThinkingBlocks::Strip
        } else {
            ThinkingBlocks::KeepIf(&is_own)
        },
        drop_reasoning_content: match mend.map(|mend| mend.reasoning).unwrap_or_default() {
            Reasoning::ToIssuer => !terms.own.served_last(),
            Reasoning::Kept => false,
            Reasoning::Dropped => true,
        },
        system_turns_as_user: !native || mend.is_some_and(|mend| mend.plain_roles),
        developer_as_system: (!native && dialect == Dialect::OpenAiChat)
            || mend.is_some_and(|mend| mend.plain_roles),
    };
    splice::splice(&inbound.request, &edits)
}

/// The request to a candidate; `None` where its URL cannot be built.
pub(crate) fn request(
    inbound: &Inbound,
    candidate: &CandidateRuntime,
    body: &splice::Body,
) -> Option<Ask> {
    let provider = &candidate.provider;
    let uri = with_query(provider.endpoint.as_ref()?, inbound, candidate)?;
    let accept =
        if inbound.request.facts().stream { "text/event-stream" } else { "application/json" };
    let headers = provider.headers.request(&inbound.headers, accept);
    Some(Ask { method: Method::POST, uri, headers, body: body.clone() })
}

fn with_query(endpoint: &Uri, inbound: &Inbound, candidate: &CandidateRuntime) -> Option<Uri> {
    let query = inbound.query.as_deref().filter(|query| !query.is_empty());
    let Some(query) = query.filter(|_| candidate.provider.headers.keeps_query()) else {
        return Some(endpoint.clone());
    };
    let mut parts = endpoint.clone().into_parts();
    let path = Bytes::from(format!("{}?{query}", endpoint.path()));
    parts.path_and_query = Some(PathAndQuery::from_maybe_shared(path).ok()?);
    Uri::from_parts(parts).ok()
}

fn max_tokens_name(native: bool, dialect: Dialect, mend: Option<&Mend>) -> MaxTokensName {
    match (mend.and_then(|mend| mend.max_tokens_name), dialect) {
        (Some(name), _) => name,
        (None, Dialect::OpenAiChat) if !native => MaxTokensName::MaxTokens,
        (None, Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::AnthropicMessages) => {
            MaxTokensName::AsWritten
        }
    }
}

/// R35: the candidate's own level; else the client's where the candidate knows it.
fn effort<'a>(
    candidate: &'a CandidateRuntime,
    facts: &request::Facts,
    native: bool,
    mend: Option<&Mend>,
) -> Effort<'a> {
    let levels = &candidate.effort_levels;
    let knows = |level: &String| levels.is_empty() || levels.contains(level);
    if mend.is_some_and(|mend| mend.no_effort) {
        return Effort::Remove;
    }
    match (&candidate.effort, &facts.effort) {
        (Some(own), _) if knows(own) => Effort::Set(own),
        (Some(_), _) => Effort::Remove,
        (None, Some(asked)) if levels.contains(asked) || (native && levels.is_empty()) => {
            Effort::AsWritten
        }
        (None, Some(_)) => Effort::Remove,
        (None, None) => Effort::AsWritten,
    }
}

fn thinking(native: bool, mend: Option<&Mend>) -> ThinkingMode {
    if mend.is_some_and(|mend| mend.no_thinking) {
        ThinkingMode::Remove
    } else if native && !mend.is_some_and(|mend| mend.no_adaptive) {
        ThinkingMode::AsWritten
    } else {
        ThinkingMode::AdaptiveAsBudget(ADAPTIVE_BUDGET)
    }
}
