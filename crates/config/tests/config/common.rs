//! What the tests share.

use ekiden_config::{Config, FixedEnv, Language, Loaded, Problems, Severity};

/// Two providers and one queue; further text goes in front of or behind it.
pub(crate) const BASE: &str = r#"
[providers.deepseek]
base_url = "https://api.deepseek.com/v1"
dialect = "openai-chat"
[providers.moonshot]
base_url = "https://api.moonshot.cn/v1"
dialect = "openai-chat"
[queues.default]
candidates = ["deepseek/deepseek-v4-pro", "moonshot/kimi-k2.6"]
"#;

pub(crate) fn env(pairs: &[(&str, &str)]) -> FixedEnv {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

pub(crate) fn parse(text: &str) -> Result<Loaded, Problems> {
    Config::parse(text, "config.toml", &FixedEnv::new())
}

pub(crate) fn good(text: &str) -> Loaded {
    parse(text).unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

/// The errors of a refused text, each as `line:column message | hint`.
pub(crate) fn errors(text: &str) -> Vec<String> {
    let problems = match parse(text) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(problems) => problems,
    };
    listed(&problems, Severity::Error)
}

/// The warnings of an accepted text.
pub(crate) fn warnings(text: &str) -> Vec<String> {
    listed(&good(text).warnings, Severity::Warning)
}

pub(crate) fn listed(problems: &Problems, severity: Severity) -> Vec<String> {
    problems
        .list
        .iter()
        .filter(|problem| problem.severity == severity)
        .map(|problem| {
            let place = problem.place.as_ref();
            let place = place.map(|at| format!("{}:{} ", at.line, at.column)).unwrap_or_default();
            let (message, hint) = (
                problem.mistake.message(Language::English),
                problem.mistake.hint(Language::English).unwrap_or_default(),
            );
            format!("{place}{message} | {hint}")
        })
        .collect()
}

/// The one error of a refused text.
pub(crate) fn error(text: &str) -> String {
    let errors = errors(text);
    assert_eq!(errors.len(), 1, "{errors:#?}");
    errors[0].clone()
}

pub(crate) fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in: {text}");
    }
}
