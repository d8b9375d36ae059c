//! What may be kept of an error's text (R17). It refuses to keep what may echo a prompt, and
//! anything that looks like a credential.

use ekiden_engine::Class;

/// Characters of an error's message that are kept.
pub const ERROR_CHARS_MAX: usize = 400;

/// Characters of a code, and of a member's name.
const CODE_CHARS_MAX: usize = 100;

/// What stands in the place of a credential.
const MASK: &str = "***";

/// Beginnings of well-known credentials.
const PREFIXES: [&str; 13] = [
    "sk-",
    "sk_",
    "pk-",
    "rk-",
    "AIza",
    "gsk_",
    "xai-",
    "ghp_",
    "github_pat_",
    "hf_",
    "eyJ",
    "AKIA",
    "csk-",
];

/// What a candidate said when it failed, as far as it may be kept.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Evidence {
    /// The HTTP status.
    pub status: Option<u16>,
    /// The vendor's code.
    pub code: Option<String>,
    /// The member of the request that it names.
    pub param: Option<String>,
    /// The first [`ERROR_CHARS_MAX`] characters of the message with credentials masked; `None` for
    /// classes whose texts echo prompts.
    pub message: Option<String>,
}

impl Evidence {
    /// Keeps what may be kept. `known` are credentials that are masked wherever they stand.
    #[must_use]
    pub fn kept(
        class: Class,
        status: Option<u16>,
        code: Option<&str>,
        param: Option<&str>,
        message: &str,
        known: &[&str],
    ) -> Self {
        let message = (!echoes(class) && !message.is_empty()).then(|| masked(message, known));
        let short =
            |text: &str| masked(text, known).chars().take(CODE_CHARS_MAX).collect::<String>();
        Self { status, code: code.map(short), param: param.map(short), message }
    }

    /// What a store takes of it, whoever made it: the second look.
    pub(crate) fn bounded(self, class: Class) -> Self {
        let message = self.message.unwrap_or_default();
        Self::kept(class, self.status, self.code.as_deref(), self.param.as_deref(), &message, &[])
    }
}

/// Whether texts of that class may echo a prompt.
const fn echoes(class: Class) -> bool {
    matches!(class, Class::ContentFilter | Class::InvalidRequest)
}

/// The first [`ERROR_CHARS_MAX`] characters of a text, with credentials masked before it is cut.
#[must_use]
pub fn masked(text: &str, known: &[&str]) -> String {
    // Enough for the cut, and no more than that is worth searching.
    let head: String = text.chars().take(ERROR_CHARS_MAX * 8).collect();
    let mut out = head;
    for secret in known.iter().filter(|secret| secret.len() >= 4) {
        out = out.replace(secret, MASK);
    }
    words_masked(&out).chars().take(ERROR_CHARS_MAX).collect()
}

fn words_masked(text: &str) -> String {
    let edge = |c: char| c.is_whitespace() || "\"'`,=[]{}()<>:;".contains(c);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(edge).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        out.push_str(if looks_secret(word) { MASK } else { word });
        let mut after = after.chars();
        if let Some(mark) = after.next() {
            out.push(mark);
        }
        rest = after.as_str();
    }
    out
}

/// A known beginning, or a long word of letters and digits mixed. Vendors print keys with stars in
/// their middle; those are masked too.
fn looks_secret(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    if PREFIXES.iter().any(|prefix| word.starts_with(prefix) && word.len() > prefix.len() + 3) {
        return true;
    }
    let opaque = word.chars().all(|c| c.is_ascii_alphanumeric() || "_-+~*".contains(c));
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let letters = word.chars().filter(char::is_ascii_alphabetic).count();
    opaque && word.len() >= 24 && digits >= 4 && letters >= 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r17_keys_are_masked_and_the_text_is_cut_after_that() {
        let text =
            "Incorrect API key provided: sk-proj-abcd***wxyz. Bearer hunter2secret, see docs";
        let kept = masked(text, &["hunter2secret"]);
        assert_eq!(kept, "Incorrect API key provided: *** Bearer ***, see docs");
        let long = format!("{} sk-abcdefghijklmnop", "x ".repeat(198));
        let kept = masked(&long, &[]);
        assert!(!kept.contains("sk-abc"), "{kept}");
        assert_eq!(masked(&"é".repeat(1_000), &[]).chars().count(), ERROR_CHARS_MAX);
        assert_eq!(masked("id 0a1b2c3d4e5f60718293a4b5c6d7", &[]), "id ***");
    }

    #[test]
    fn r17_of_filters_and_refused_requests_only_code_and_param_are_kept() {
        for class in [Class::ContentFilter, Class::InvalidRequest] {
            let kept = Evidence::kept(
                class,
                Some(400),
                Some("bad"),
                Some("messages[3]"),
                "my prompt",
                &[],
            );
            assert_eq!(kept.message, None);
            assert_eq!(
                (kept.code.as_deref(), kept.param.as_deref()),
                (Some("bad"), Some("messages[3]"))
            );
        }
        let kept = Evidence::kept(Class::Auth, Some(401), None, None, "no such key", &[]);
        assert_eq!(kept.message.as_deref(), Some("no such key"));
    }
}
