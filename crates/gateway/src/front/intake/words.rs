//! What is wrong with a request, in words. It refuses to repeat what stands in it.

use ekiden_config::Language;
use ekiden_dialect::request::BodyError;

/// The reader's own words, which are English, in Chinese.
const WORDS: [(&str, &str); 14] = [
    ("an object", "对象"),
    ("an array", "数组"),
    ("a string", "字符串"),
    ("a number", "数字"),
    ("a boolean", "布尔值"),
    ("null", "null"),
    ("a string or an array", "字符串或数组"),
    ("digit", "数字"),
    ("letter", "字母"),
    ("character", "字符"),
    ("end", "结尾"),
    (
        "name a queue or a model, as `GET /v1/models` lists them",
        "请写一个队列或模型，`GET /v1/models` 列出了它们",
    ),
    ("it holds the conversation, an array of messages", "其中是对话，即消息的数组"),
    ("it holds the conversation, a string or an array", "其中是对话，即字符串或数组"),
];

/// What is wrong with it.
pub(super) fn of_body(error: &BodyError, language: Language) -> String {
    if language == Language::English {
        return capitalised(&error.to_string());
    }
    match error {
        BodyError::NotUtf8 { offset } => {
            format!("请求体不是 UTF-8：偏移 {offset} 处的字节不是字符的开头。")
        }
        BodyError::NotJson { offset, line, column, found } => {
            let found = chinese(found);
            format!("请求体不是 JSON：第 {line} 行第 {column} 列（偏移 {offset}）不应出现{found}。")
        }
        BodyError::TooDeep { offset, limit } => {
            format!("请求体在偏移 {offset} 处嵌套超过 {limit} 层。")
        }
        BodyError::NotAnObject { found } => {
            format!("请求体应为 JSON 对象，现在是{}。", chinese(found))
        }
        BodyError::Missing { name, hint } => format!("缺少 `{name}`；{}。", chinese(hint)),
        BodyError::WrongType { name, wanted, found } => {
            format!("`{name}` 应为{}，现在是{}。", chinese(wanted), chinese(found))
        }
        // What a later reader says besides.
        _ => format!("请求体不合要求（{error}）。"),
    }
}

/// A sign stays as it is.
fn chinese(words: &str) -> &str {
    WORDS.iter().find(|(english, _)| *english == words).map_or(words, |(_, chinese)| chinese)
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(chars).chain(['.']).collect())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use ekiden_dialect::{Dialect, request};

    use super::*;

    #[test]
    fn g07_a_body_that_is_none_is_told_in_chinese_without_an_english_word() {
        let deep = format!("{{\"model\": \"a\", \"messages\": {}", "[".repeat(10_000));
        let bodies: &[&[u8]] = &[
            b"\xff",
            b"{",
            b"{]",
            b"{a",
            b"{7",
            "{\u{1f600}".as_bytes(),
            deep.as_bytes(),
            b"[]",
            b"\"\"",
            b"7",
            b"true",
            b"null",
            b"{}",
            br#"{"model": {}}"#,
            br#"{"model": "a"}"#,
            br#"{"model": "a", "messages": 1, "input": 1}"#,
            br#"{"model": "a", "stream": "true"}"#,
            br#"{"model": "a", "stream_options": 1}"#,
            br#"{"model": "a", "max_tokens": []}"#,
            br#"{"model": "a", "tools": false}"#,
        ];
        for (dialect, body) in
            Dialect::ALL.iter().flat_map(|one| bodies.iter().map(move |it| (one, it)))
        {
            let error =
                request::read(*dialect, &Bytes::copy_from_slice(body)).expect_err("no request");
            let told = of_body(&error, Language::Chinese);
            let plain: String = told.split('`').step_by(2).collect();
            let plain = plain.replace("JSON", "").replace("UTF-8", "").replace("null", "");
            assert!(!plain.contains(|c: char| c.is_ascii_alphabetic()), "{told}");
            assert!(told.ends_with('。') && told.contains(|c| c > '\u{4e00}'), "{told}");
            let english = of_body(&error, Language::English);
            assert!(english.is_ascii() && english.ends_with('.'), "{english}");
        }
    }
}
