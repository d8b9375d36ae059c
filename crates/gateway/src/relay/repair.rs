//! What of a refused request can be mended, by what the refusal names.
//!
//! It refuses to guess: what is dropped was named by the candidate, and what carries the
//! conversation is never dropped.

use ekiden_dialect::request::Facts;
use ekiden_dialect::splice::MaxTokensName;
use ekiden_engine::Class;

use crate::evidence::Judged;

/// Members that carry the request: without them it would be another one.
const ESSENTIAL: [&str; 9] = [
    "model",
    "messages",
    "input",
    "system",
    "instructions",
    "tools",
    "stream",
    "tool_choice",
    "prompt",
];

/// What to change when the request goes to the same candidate again.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Mend {
    /// The output limit that the candidate named.
    pub(crate) max_tokens: Option<u64>,
    /// The other name of the output limit.
    pub(crate) max_tokens_name: Option<MaxTokensName>,
    /// Members that it does not know.
    pub(crate) drop: Vec<String>,
    /// Members of tools that it does not know.
    pub(crate) drop_tool: Vec<String>,
    /// Thinking blocks of another issuer.
    pub(crate) no_thinking_blocks: bool,
    /// The `thinking` parameter.
    pub(crate) no_thinking: bool,
    /// Adaptive thinking.
    pub(crate) no_adaptive: bool,
    /// The effort level.
    pub(crate) no_effort: bool,
    /// `stream_options`.
    pub(crate) no_usage: bool,
    /// Roles that only the dialect's vendor knows.
    pub(crate) plain_roles: bool,
    /// What happens to the reasoning of earlier turns.
    pub(crate) reasoning: Reasoning,
    /// The member that was named, for the journal.
    pub(crate) named: String,
}

/// What happens to the `reasoning_content` of earlier turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Reasoning {
    /// It goes back to its issuer alone (G6).
    #[default]
    ToIssuer,
    /// The candidate wants it: thinking modes do, in a tool loop.
    Kept,
    /// The candidate does not know it.
    Dropped,
}

/// What can be mended after this refusal.
pub(crate) fn mend(judged: &Judged, facts: &Facts) -> Option<Mend> {
    if judged.failure.class != Class::InvalidRequest {
        return None;
    }
    let text = judged.message.to_ascii_lowercase();
    let param = judged.param.clone().or_else(|| named_in(&judged.message)).unwrap_or_default();
    let mend = signature(&text)
        .or_else(|| reasoning(&text, &param))
        .or_else(|| max_tokens(&text, &param, facts))
        .or_else(|| roles(&text, &param))
        .or_else(|| unknown_member(&text, &param, judged.code.as_deref()))?;
    let named = if mend.named.is_empty() { param } else { mend.named };
    Some(Mend { named, ..mend })
}

fn signature(text: &str) -> Option<Mend> {
    let foreign = (text.contains("signature") && text.contains("thinking"))
        || text.contains("thinking_signature")
        || text.contains("encrypted content");
    foreign.then(|| Mend {
        no_thinking_blocks: true,
        named: "thinking".to_owned(),
        ..Mend::default()
    })
}

fn reasoning(text: &str, param: &str) -> Option<Mend> {
    if !text.contains("reasoning_content") && !param.ends_with("reasoning_content") {
        return None;
    }
    let wanted = ["missing", "must be", "required", "passed back", "must contain", "should be"];
    let wanted = wanted.iter().any(|words| text.contains(words));
    Some(Mend {
        reasoning: if wanted { Reasoning::Kept } else { Reasoning::Dropped },
        named: "reasoning_content".to_owned(),
        ..Mend::default()
    })
}

fn max_tokens(text: &str, param: &str, facts: &Facts) -> Option<Mend> {
    const NAMES: [&str; 3] = ["max_completion_tokens", "max_output_tokens", "max_tokens"];
    let about = NAMES.iter().any(|name| text.contains(name) || param == *name);
    if !about {
        return None;
    }
    let named = "max_tokens".to_owned();
    if text.contains("unsupported")
        || text.contains("not supported")
        || text.contains("unrecognized")
    {
        // 'Use the other name instead' is the one thing that such a text can mean.
        let refused = text.find("max_completion_tokens").unwrap_or(usize::MAX);
        let name = match text.replace("max_completion_tokens", "").find("max_tokens") {
            Some(at) if at < refused => MaxTokensName::MaxCompletionTokens,
            Some(_) | None => MaxTokensName::MaxTokens,
        };
        return Some(Mend { max_tokens_name: Some(name), named, ..Mend::default() });
    }
    let asked = facts.max_tokens?;
    let limit = numbers(text).filter(|number| (16..asked).contains(number)).max()?;
    Some(Mend { max_tokens: Some(limit), named, ..Mend::default() })
}

fn roles(text: &str, param: &str) -> Option<Mend> {
    let about = text.contains("role") || param.ends_with("role");
    let odd = ["developer", "'system'", "\"system\"", "`system`", "mid_conv_system"];
    (about && odd.iter().any(|role| text.contains(role))).then(|| Mend {
        plain_roles: true,
        named: "role".to_owned(),
        ..Mend::default()
    })
}

fn unknown_member(text: &str, param: &str, code: Option<&str>) -> Option<Mend> {
    const SAYS: [&str; 14] = [
        "unsupported",
        "not supported",
        "unrecognized",
        "unknown parameter",
        "unknown field",
        "extra inputs",
        "extra_forbidden",
        "not permitted",
        "unexpected keyword",
        "does not support",
        "not allowed",
        "unknown name",
        "capability_rejected",
        "invalid parameter",
    ];
    let coded =
        matches!(code, Some("unsupported_parameter" | "unknown_parameter" | "unsupported_value"));
    if !coded && !SAYS.iter().any(|words| text.contains(words)) {
        return None;
    }
    let top = param.split(['.', '[']).next().unwrap_or_default();
    let last = param.rsplit(['.', ']']).next().unwrap_or_default();
    if top == "tools" {
        const DROPPABLE: [&str; 6] = [
            "defer_loading",
            "strict",
            "eager_input_streaming",
            "cache_control",
            "allowed_callers",
            "input_examples",
        ];
        return DROPPABLE
            .contains(&last)
            .then(|| Mend { drop_tool: vec![last.to_owned()], ..Mend::default() });
    }
    match top {
        "" => None,
        "thinking" if text.contains("adaptive") => {
            Some(Mend { no_adaptive: true, ..Mend::default() })
        }
        "thinking" => Some(Mend { no_thinking: true, ..Mend::default() }),
        "reasoning_effort" | "effort" => Some(Mend { no_effort: true, ..Mend::default() }),
        "output_config" if last == "effort" => Some(Mend { no_effort: true, ..Mend::default() }),
        "reasoning" => {
            Some(Mend { no_effort: true, drop: vec![top.to_owned()], ..Mend::default() })
        }
        "stream_options" => {
            Some(Mend { no_usage: true, drop: vec![top.to_owned()], ..Mend::default() })
        }
        top if ESSENTIAL.contains(&top) => None,
        top => Some(Mend { drop: vec![top.to_owned()], ..Mend::default() }),
    }
}

/// The first quoted word that could be a member, or what stands before a colon at the start.
fn named_in(message: &str) -> Option<String> {
    let word = |text: &str| {
        !text.is_empty()
            && text.len() <= 60
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "_.[]".contains(c))
            && text.starts_with(|c: char| c.is_ascii_lowercase())
    };
    for quote in ['\'', '`', '"'] {
        let quoted = message.split(quote).skip(1).step_by(2).find(|text| word(text));
        if let Some(found) = quoted {
            return Some(found.to_owned());
        }
    }
    if let Some((start, _)) = message.split_once(':').filter(|(start, _)| word(start)) {
        return Some(start.to_owned());
    }
    let tail = message.rsplit(": ").next()?.trim_end_matches('.');
    word(tail).then(|| tail.to_owned())
}

fn numbers(text: &str) -> impl Iterator<Item = u64> + '_ {
    let digits = |c: char| !(c.is_ascii_digit() || c == ',');
    text.split(digits).filter_map(|run| run.trim_matches(',').replace(',', "").parse().ok())
}

#[cfg(test)]
mod tests {
    use ekiden_classify::Sizes;
    use ekiden_engine::Failure;

    use super::*;

    fn refused(message: &str, param: Option<&str>) -> Judged {
        Judged {
            failure: Failure::upstream(Class::InvalidRequest),
            code: None,
            param: param.map(str::to_owned),
            message: message.to_owned(),
            sizes: Sizes::default(),
        }
    }

    fn asked(max_tokens: u64) -> Facts {
        let mut facts = Facts::default();
        facts.max_tokens = Some(max_tokens);
        facts
    }

    #[test]
    fn a_limit_that_is_named_is_kept() {
        for text in [
            "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for m",
            "max_tokens is too large: 32000. This model supports at most 8192 completion tokens.",
            "Range of max_tokens should be [1, 8192]",
            "max_tokens must be less than or equal to 8,192",
        ] {
            let mend = mend(&refused(text, None), &asked(32_000)).expect(text);
            assert_eq!(mend.max_tokens, Some(8_192), "{text}");
        }
        let text = "Unsupported parameter: 'max_tokens' is not supported with this model. \
                    Use 'max_completion_tokens' instead.";
        let mend = mend(&refused(text, Some("max_tokens")), &asked(32_000)).expect("other name");
        assert_eq!(mend.max_tokens_name, Some(MaxTokensName::MaxCompletionTokens));
    }

    #[test]
    fn a_member_that_is_named_goes_and_the_conversation_stays() {
        let facts = asked(1);
        let drops = |text: &str, param: Option<&str>| {
            mend(&refused(text, param), &facts).map(|mend| mend.drop)
        };
        let store = Some(vec!["store".to_owned()]);
        assert_eq!(drops("Unrecognized request argument supplied: store", None), store);
        assert_eq!(drops("Unknown parameter: 'store'.", Some("store")), store);
        assert_eq!(drops("store: Extra inputs are not permitted", None), store);
        assert_eq!(drops("Unknown parameter: 'messages[2].x'.", Some("messages[2].x")), None);
        assert_eq!(drops("something is wrong", Some("store")), None);
        let tool = mend(
            &refused("tools.0.custom.defer_loading: Extra inputs are not permitted", None),
            &facts,
        );
        assert_eq!(tool.map(|mend| mend.drop_tool), Some(vec!["defer_loading".to_owned()]));
    }

    #[test]
    fn g06_a_foreign_signature_is_stripped() {
        let text = "messages.1.content.0: Invalid `signature` in `thinking` block";
        let mend = mend(&refused(text, None), &asked(1)).expect("signature");
        assert!(mend.no_thinking_blocks);
    }
}
