//! Lists of models as servers write them. It refuses to believe what no model can be: names with
//! control characters, windows of nothing; and to keep more than a bounded number of them.

use serde_json::Value;

use super::Offered;

/// Models of one provider at most; the largest catalog known has some hundreds.
const MODELS_MAX: usize = 5_000;
const NAME_CHARS_MAX: usize = 300;
const LEVELS_MAX: usize = 20;

/// Where the context window stands: OpenRouter and many others, Groq, vLLM, LM Studio, Mistral,
/// Anthropic. The first one that is there holds; LM Studio's loaded length before what it could load.
const WINDOWS: [&str; 7] = [
    "/loaded_context_length",
    "/context_length",
    "/context_window",
    "/max_model_len",
    "/max_context_length",
    "/max_input_tokens",
    "/top_provider/context_length",
];

/// Where the output limit stands.
const OUTPUTS: [&str; 4] = [
    "/top_provider/max_completion_tokens",
    "/max_completion_tokens",
    "/max_output_tokens",
    "/max_tokens",
];

/// The models of an answer; `None`: it is no list.
pub(super) fn read(bytes: &[u8]) -> Option<Vec<Offered>> {
    let whole: Value = serde_json::from_slice(bytes).ok()?;
    let list = whole.get("data").or_else(|| whole.get("models")).unwrap_or(&whole).as_array()?;
    let mut models: Vec<Offered> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for entry in list.iter().take(MODELS_MAX) {
        let Some(model) = name(entry) else { continue };
        // An embedding model answers no call.
        if entry.get("type").and_then(Value::as_str).is_some_and(|kind| kind == "embeddings") {
            continue;
        }
        if seen.insert(model.clone()) {
            models.push(offered(model, entry));
        }
    }
    Some(models)
}

fn name(entry: &Value) -> Option<String> {
    let name = entry.get("id").or_else(|| entry.get("name")).unwrap_or(entry).as_str()?;
    // Google writes its ids as paths, and takes them without.
    let name = name.strip_prefix("models/").unwrap_or(name);
    fits(name).then(|| name.to_owned())
}

fn fits(text: &str) -> bool {
    let chars = text.chars().count();
    (1..=NAME_CHARS_MAX).contains(&chars)
        && !text.chars().any(|c| c.is_control() || c.is_whitespace())
}

fn offered(model: String, entry: &Value) -> Offered {
    let number = |paths: &[&str]| {
        let found = paths.iter().find_map(|path| entry.pointer(path)?.as_u64());
        found.and_then(|number| u32::try_from(number).ok())
    };
    let shown = entry.get("display_name").or_else(|| entry.get("name")).and_then(Value::as_str);
    let shown = shown.filter(|shown| *shown != model && shown.chars().count() <= NAME_CHARS_MAX);
    Offered {
        name: shown.filter(|shown| !shown.chars().any(char::is_control)).map(str::to_owned),
        context_window: number(&WINDOWS).filter(|window| *window >= 1_000),
        output_max: number(&OUTPUTS).filter(|most| *most > 0),
        effort_levels: levels(entry),
        model,
    }
}

/// The effort levels: a list of names or of objects that name one (Codex' own list), or an object with
/// one member for each level (Anthropic's).
fn levels(entry: &Value) -> Option<Vec<String>> {
    let listed = ["supported_reasoning_levels", "supported_reasoning_efforts", "reasoning_efforts"];
    let list = listed.iter().find_map(|key| entry.get(key)?.as_array());
    let named: Vec<String> = match (list, entry.pointer("/capabilities/effort")) {
        (Some(list), _) => list
            .iter()
            .filter_map(|level| level.get("effort").unwrap_or(level).as_str())
            .map(str::to_owned)
            .collect(),
        (None, Some(Value::Object(levels))) => levels
            .iter()
            .filter(|(_, level)| level.get("supported").and_then(Value::as_bool) == Some(true))
            .map(|(name, _)| name.clone())
            .collect(),
        (None, Some(_) | None) => return None,
    };
    Some(named.into_iter().filter(|level| fits(level)).take(LEVELS_MAX).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(entry: &str) -> Offered {
        let list = format!("{{\"object\":\"list\",\"data\":[{entry}]}}");
        read(list.as_bytes()).unwrap().remove(0)
    }

    #[test]
    fn r37_lists_are_read_as_servers_write_them() {
        let plain = one(r#"{"id":"gpt-x","object":"model","created":1,"owned_by":"o"}"#);
        assert_eq!((plain.model.as_str(), plain.context_window), ("gpt-x", None));
        let router = one(r#"{"id":"moonshotai/kimi","name":"Kimi","context_length":262144,
                "top_provider":{"context_length":200000,"max_completion_tokens":65536}}"#);
        assert_eq!((router.context_window, router.output_max), (Some(262_144), Some(65_536)));
        assert_eq!(router.name.as_deref(), Some("Kimi"));
        assert_eq!(one(r#"{"id":"v","max_model_len":32768}"#).context_window, Some(32_768));
        let studio = r#"{"id":"q","max_context_length":131072,"loaded_context_length":8192}"#;
        assert_eq!(one(studio).context_window, Some(8_192), "what is loaded holds");
        let vendor =
            one(r#"{"id":"c","display_name":"C","max_input_tokens":1000000,"max_tokens":64000,
                "capabilities":{"effort":{"high":{"supported":true},"max":{"supported":false},
                "supported":true}}}"#);
        assert_eq!((vendor.context_window, vendor.output_max), (Some(1_000_000), Some(64_000)));
        assert_eq!(vendor.effort_levels, Some(vec!["high".to_owned()]));
        let codex =
            r#"{"id":"x","supported_reasoning_levels":[{"effort":"low"},{"effort":"xhigh"}]}"#;
        assert_eq!(one(codex).effort_levels, Some(vec!["low".to_owned(), "xhigh".to_owned()]));
        assert_eq!(one(r#"{"id":"models/gemini-x"}"#).model, "gemini-x");
        let bare = read(br#"{"models":[{"name":"qwen3:8b"},"llama"]}"#).unwrap();
        let names: Vec<_> = bare.iter().map(|offered| offered.model.as_str()).collect();
        assert_eq!(names, ["qwen3:8b", "llama"]);
    }

    #[test]
    fn r37_what_no_model_can_be_is_left_out() {
        let list = r#"{"data":[{"id":"a b"},{"id":"c\u0007"},{"id":""},{"id":7},null,
            {"id":"e","type":"embeddings"},{"id":"ok","context_length":7,"max_tokens":0},{"id":"ok"}]}"#;
        let models = read(list.as_bytes()).unwrap();
        assert_eq!(models.len(), 1, "{models:?}");
        assert_eq!((models[0].context_window, models[0].output_max), (None, None));
        for wrong in ["", "<html>", "{}", "{\"data\":3}", "7", "{\"error\":{}}"] {
            assert_eq!(read(wrong.as_bytes()), None, "{wrong}");
        }
        let many: Vec<String> = (0..6_000).map(|at| format!("\"m{at}\"")).collect();
        let many = format!("[{}]", many.join(","));
        assert_eq!(read(many.as_bytes()).unwrap().len(), MODELS_MAX);
    }
}
