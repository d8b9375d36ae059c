//! Keeps credentials out of everything that is printed. Refuses to be exact: what only looks like
//! a credential is masked too, since a lost word costs less than a lost key.

/// What stands in a credential's place.
pub(crate) const MASK: &str = "***";

/// Words in a key's name that make its value a credential.
const SECRET_WORDS: [&str; 7] =
    ["key", "token", "secret", "password", "passwd", "authorization", "credential"];

/// Keys whose names hold such a word, and whose values say where a credential is, or count.
const PLAIN_KEYS: [&str; 4] = ["api_key_env", "api_key_file", "max_tokens", "keepalive"];

/// Beginnings of well-known credentials.
const PREFIXES: [&str; 14] = [
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
    "Bearer ",
];

/// Whether a text looks like a credential.
pub(crate) fn looks_secret(text: &str) -> bool {
    let text = text.trim();
    if PREFIXES.iter().any(|prefix| text.starts_with(prefix) && text.len() > prefix.len() + 3) {
        return true;
    }
    // Long, without the marks of names, paths and addresses, and with letters and digits mixed.
    let opaque = text.chars().all(|c| c.is_ascii_alphanumeric() || "_-+=~".contains(c));
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let letters = text.chars().filter(char::is_ascii_alphabetic).count();
    opaque && text.len() >= 24 && digits >= 4 && letters >= 4
}

/// The text, or the mask if it looks like a credential.
pub(crate) fn shown(text: &str) -> &str {
    if looks_secret(text) { MASK } else { text }
}

/// A line of the file with credentials masked, and where a column of it has gone.
pub(crate) fn line(text: &str, column: usize, kept: Kept) -> (String, usize) {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut moved = None;
    let mut at = 0;
    for (start, end) in spans(&chars, kept) {
        out.extend(&chars[at..start]);
        if (at..start).contains(&column) {
            moved = Some(out.chars().count() - (start - column));
        } else if (start..end).contains(&column) {
            moved = Some(out.chars().count());
        }
        out.push_str(MASK);
        at = end;
    }
    let before = out.chars().count();
    out.extend(&chars[at..]);
    let column = moved.unwrap_or_else(|| before + column.saturating_sub(at));
    (out, column)
}

/// Whether a line begins a value that is kept back.
pub(crate) fn begins_secret(text: &str) -> bool {
    let chars: Vec<char> = text.chars().collect();
    secret_assignment(&chars, &text.to_lowercase(), Kept::BySecretKey).is_some()
}

/// Which values of a line are kept back whatever they look like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kept {
    /// Those whose key says so.
    BySecretKey,
    /// All: the line stands in a section of headers.
    All,
    /// The whole line: it goes on with a value that began on an earlier one.
    Whole,
}

/// The ranges of characters to mask, in order, apart from each other.
fn spans(chars: &[char], kept: Kept) -> Vec<(usize, usize)> {
    if kept == Kept::Whole {
        return vec![(0, chars.len())];
    }
    let lower = chars.iter().collect::<String>().to_lowercase();
    if let Some(equals) = secret_assignment(chars, &lower, kept) {
        let start = equals + 1 + chars[equals + 1..].iter().take_while(|c| **c == ' ').count();
        let mut found = words(&chars[..equals]);
        found.push((start.min(chars.len()), chars.len()));
        return found;
    }
    words(chars)
}

/// Where the first `=` stands after which everything is kept back.
fn secret_assignment(chars: &[char], lower: &str, kept: Kept) -> Option<usize> {
    let mut key_start = 0;
    let lower: Vec<char> = lower.chars().collect();
    // Lower case may be longer than the text in a few alphabets; then nothing is certain.
    let certain = lower.len() == chars.len();
    for (at, c) in chars.iter().enumerate() {
        if *c == '{' || *c == ',' {
            key_start = at + 1;
        }
        if *c != '=' {
            continue;
        }
        let key: String = if certain {
            lower[key_start..at].iter().collect()
        } else {
            chars[key_start..at].iter().collect::<String>().to_lowercase()
        };
        let plain = PLAIN_KEYS.iter().any(|plain| key.contains(plain));
        let secret =
            is_headers(&key) || SECRET_WORDS.iter().any(|word| key.contains(word)) && !plain;
        if kept == Kept::All || secret {
            return Some(at);
        }
    }
    None
}

/// Whether a key stands for headers, or for one of them; a time limit on them is none.
fn is_headers(key: &str) -> bool {
    key.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').any(|part| part == "headers")
}

/// Words that look like credentials, and what stands before the `@` of a URL.
fn words(chars: &[char]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let is_edge = |c: char| c.is_whitespace() || "\"'`,=[]{}()<>".contains(c);
    let mut at = 0;
    while at < chars.len() {
        if is_edge(chars[at]) {
            at += 1;
            continue;
        }
        let mut end = at + chars[at..].iter().take_while(|c| !is_edge(**c)).count();
        if chars[at..end].windows(3).any(|three| three == [':', '/', '/']) {
            let ends = |c: char| c.is_whitespace() || "\"'`".contains(c);
            end = at + chars[at..].iter().take_while(|c| !ends(**c)).count();
        }
        let word: String = chars[at..end].iter().collect();
        let slashes = word.find("://").map(|byte| word[..byte].chars().count() + 3);
        let user_end = chars[at..end].iter().rposition(|c| *c == '@');
        match (slashes, user_end) {
            (Some(start), Some(stop)) if start < stop => found.push((at + start, at + stop)),
            _ if looks_secret(&word) => found.push((at, end)),
            _ if slashes.is_some() => {
                if let Some(query) = word.find('?') {
                    found.push((at + word[..query].chars().count() + 1, end));
                }
            }
            _ => {}
        }
        at = end;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_masked_and_the_column_follows() {
        let cases = [
            (r#"api_key = "hunter2""#, r#"api_key = ***"#),
            (r#"headers_timeout = "3s""#, r#"headers_timeout = "3s""#),
            (r#"providers.a.headers.x-id = "3""#, r#"providers.a.headers.x-id = ***"#),
            (r#"headers = { x-id = "3" }"#, r#"headers = ***"#),
            (r#"api_key = "unterminated"#, r#"api_key = ***"#),
            (
                r#"{ base_url = "https://x", api_key = "s", http2 = 1 }"#,
                r#"{ base_url = "https://x", api_key = ***"#,
            ),
            (r#"listn = "sk-abcdef123""#, r#"listn = "***""#),
            (r#"base_url = "https://me:pw@x.example""#, r#"base_url = "https://***@x.example""#),
            (r#"base_url = "https://x.example?a=b""#, r#"base_url = "https://x.example?***""#),
            (r#"headers = { x-a = "b" }"#, r#"headers = ***"#),
            (r#"api_key_env = "MY_KEY""#, r#"api_key_env = "MY_KEY""#),
            (r#"max_tokens = 12"#, r#"max_tokens = 12"#),
            (
                r#"candidates = ["moonshot/kimi-k2-0905-preview"]"#,
                r#"candidates = ["moonshot/kimi-k2-0905-preview"]"#,
            ),
        ];
        for (text, masked) in cases {
            assert_eq!(line(text, 0, Kept::BySecretKey).0, masked);
        }
        assert_eq!(line(r#"x-a = "b""#, 0, Kept::All).0, "x-a = ***");
        assert_eq!(line("the rest=of it", 4, Kept::Whole), ("***".to_owned(), 0));
        let text = r#"a = "sk-abcdef123", bad"#;
        assert_eq!(line(text, 20, Kept::BySecretKey), (r#"a = "***", bad"#.to_owned(), 11));
        assert_eq!(line(text, 1, Kept::BySecretKey).1, 1);
        assert_eq!(line(text, 8, Kept::BySecretKey).1, 5);
    }
}
