//! The HTTP status that a text names. It refuses to take a number for a status that stands elsewhere.

/// `429: …`, `403 FORBIDDEN`: the status that a text begins with, and the rest.
pub(crate) fn leading_status(text: &str) -> (Option<u16>, &str) {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let status = (digits == 3)
        .then(|| text.get(..3).and_then(|digits| digits.parse::<u16>().ok()))
        .flatten()
        .filter(|status| (400..600).contains(status));
    let rest = text.get(3..).unwrap_or_default();
    match status {
        Some(status) if rest.is_empty() || rest.starts_with([':', ' ', ',', '\n', '-', '|']) => {
            (Some(status), rest.trim_start_matches([':', ' ', ',', '-']))
        }
        _ => (None, text),
    }
}

/// Words in front of a status inside prose.
const STATUS_WORDS: [&str; 30] = [
    "status code",
    "status_code",
    "statuscode",
    "http status",
    "last status",
    "status",
    "http",
    "http/1.1",
    "http/2",
    "error code",
    "api error",
    "server error",
    "responded with",
    "returned",
    "got",
    "error",
    "code",
    "request failed",
    "api error:",
    "failed with",
    "<",
    "[",
    "upstream_status",
    "response",
    "failed",
    "状态码",
    "错误码",
    "rejected",
    "request failed:",
    "(",
];

/// The first HTTP status that prose names.
pub(crate) fn status_in(words: &str) -> Option<u16> {
    if let (Some(status), _) = leading_status(words) {
        return Some(status);
    }
    let bytes = words.as_bytes();
    let mut at = 0;
    while at + 3 <= bytes.len() {
        let digit = |index: usize| bytes.get(index).is_some_and(u8::is_ascii_digit);
        if !digit(at) {
            at += 1;
            continue;
        }
        let len = bytes.iter().skip(at).take_while(|byte| byte.is_ascii_digit()).count();
        let status = words
            .get(at..at + len)
            .filter(|_| len == 3)
            .and_then(|digits| digits.parse::<u16>().ok());
        if let Some(status) = status.filter(|status| (400..600).contains(status)) {
            let before = words
                .get(..at)
                .unwrap_or_default()
                .trim_end_matches([' ', ':', '=', '(', '[', '"', '\'', '<']);
            let opened = words.get(before.len()..at).unwrap_or_default();
            let after = words.get(at + 3..).unwrap_or_default();
            let closed = (opened.contains('<') && after.starts_with('>'))
                || (opened.contains('(') && after.starts_with(')'));
            let named = STATUS_WORDS.iter().any(|word| before.ends_with(word))
                || closed
                || reason_phrase(after);
            if named
                && !after.starts_with('.')
                && !after.starts_with(" tokens")
                && !after.starts_with("ms")
            {
                return Some(status);
            }
        }
        at += len;
    }
    None
}

fn reason_phrase(after: &str) -> bool {
    const PHRASES: [&str; 20] = [
        "bad request",
        "unauthorized",
        "payment required",
        "forbidden",
        "not found",
        "method not allowed",
        "request timeout",
        "conflict",
        "payload too large",
        "request entity too large",
        "unprocessable",
        "too many requests",
        "internal server error",
        "bad gateway",
        "service unavailable",
        "service temporarily",
        "gateway time",
        "site is overloaded",
        "client closed",
        "internal error",
    ];
    let after = after.trim_start_matches([' ', ':', '-', '(']);
    PHRASES.iter().any(|phrase| after.starts_with(phrase))
}
