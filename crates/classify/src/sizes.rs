//! The two sizes that an overflow names.
//!
//! It refuses to compute one from the other: what the text does not say stays unknown.

use crate::Sizes;
use crate::facts::Facts;
use crate::words::find;

/// Templates with the meaning of their numbers: `p` the prompt, `w` the window, `-` neither.
const TEMPLATES: [(&str, &str); 22] = [
    ("maximum context length is # tokens*requested # tokens (# in the messages", "w-p"),
    ("maximum context length is # tokens*(# in your prompt", "wp"),
    ("maximum context length is # tokens*contains at least # input tokens", "wp"),
    ("maximum context length is # tokens*request has # input tokens", "wp"),
    ("maximum context length is # tokens*resulted in # tokens", "wp"),
    ("maximum context length is # tokens*requested about # tokens", "wp"),
    ("maximum context length is # tokens*requested # tokens", "wp"),
    ("maximum context length of # tokens*requested a total of # tokens", "wp"),
    ("prompt is too long: # tokens > # maximum", "pw"),
    ("prompt token count of # exceeds the limit of #", "pw"),
    ("input token count (#) exceeds the maximum number of tokens allowed (#)", "pw"),
    ("input token count*# exceeds the maximum number of tokens allowed*#", "pw"),
    ("exceed context limit: # + # > #", "p-w"),
    ("limit #, requested #", "wp"),
    ("first # tokens*context length of only # tokens", "pw"),
    ("(# tokens) exceeds the available context size (# tokens)", "pw"),
    ("maximum prompt length is # but the request contains # tokens", "wp"),
    ("contains # tokens*limit of #", "pw"),
    ("# tokens*maximum context length (# tokens)", "pw"),
    ("range of input length should be [#, #]", "-w"),
    ("maximum context length is #", "w"),
    ("context length of only #", "w"),
];

/// The sizes that members or words name.
pub(crate) fn read(facts: &Facts, words: &str) -> Sizes {
    let mut sizes =
        Sizes { prompt_tokens: facts.prompt_tokens, window_tokens: facts.window_tokens };
    for (template, meanings) in TEMPLATES {
        let Some((_, numbers)) = find(words, template) else { continue };
        for (index, meaning) in meanings.bytes().enumerate() {
            let slot = match meaning {
                b'p' => &mut sizes.prompt_tokens,
                b'w' => &mut sizes.window_tokens,
                _ => continue,
            };
            *slot = slot.or_else(|| numbers.nth(index));
        }
        break;
    }
    sizes
}
