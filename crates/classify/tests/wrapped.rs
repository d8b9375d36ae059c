//! An envelope changes nothing: whatever a relay, a library or a client puts around a body, its class stays.
#![expect(clippy::unwrap_used, reason = "a test may fail")]

use ekiden_classify::{Context, Evidence, classify};
use serde_json::{Value, json};

const LINES: [&str; 2] = [include_str!("corpus.jsonl"), include_str!("field.jsonl")];

struct Line {
    id: String,
    provider: String,
    class: String,
    status: u16,
    body: Value,
}

/// Whole refusals in JSON whose headers say nothing.
fn lines() -> Vec<Line> {
    let parsed = LINES.iter().flat_map(|text| text.lines());
    parsed
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["phase"] == "http" && line["our_abort"] != Value::Bool(true))
        .filter(|line| line["headers"] == json!({}))
        .filter_map(|line| {
            let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
            let status = line["status"].as_u64().filter(|status| *status >= 400)?;
            let body = serde_json::from_str::<Value>(line["body"].as_str()?).ok()?;
            body.is_object().then(|| Line {
                id: text("id"),
                provider: text("provider"),
                class: text("class"),
                status: status.try_into().unwrap(),
                body,
            })
        })
        .collect()
}

/// What Python prints for the same value.
fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => {
            let text = text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n");
            format!("'{text}'")
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(python).collect::<Vec<_>>().join(", "))
        }
        Value::Object(members) => {
            let members: Vec<String> =
                members.iter().map(|(key, value)| format!("'{key}': {}", python(value))).collect();
            format!("{{{}}}", members.join(", "))
        }
    }
}

/// Every envelope around a body, with the status that it then comes with.
fn envelopes(line: &Line) -> Vec<(&'static str, Option<u16>, String)> {
    let (status, body) = (line.status, line.body.to_string());
    let kept = Some(status);
    let relay = json!({"error": {"message": format!("litellm.APIError: XException - {body}. Received Model Group=x"), "type": null, "code": status.to_string()}});
    let router = json!({"error": {"message": "Provider returned error", "code": status, "metadata": {"raw": body, "provider_name": "X"}}});
    let nested = json!({"error": {"message": body, "code": status}});
    vec![
        ("pretty", kept, serde_json::to_string_pretty(&line.body).unwrap()),
        ("array", kept, format!("[{body}]")),
        ("cut", kept, body[..body.len() - 2].to_owned()),
        ("python", kept, format!("Error code: {status} - {}", python(&line.body))),
        ("relay", kept, relay.to_string()),
        ("router", kept, router.to_string()),
        ("nested", kept, nested.to_string()),
        ("client", None, format!("API Error: {status} {body}")),
        ("retrying", None, format!("API Error ({status} {body}) · Retrying")),
        ("shown", None, format!("unexpected status {status} X: {body}, url: https://a.example/v1")),
    ]
}

#[test]
fn s3_an_envelope_changes_nothing() {
    let lines = lines();
    assert!(lines.len() > 900, "{}", lines.len());
    let (mut all, mut right) = (0, 0);
    for line in &lines {
        let context = Context { provider: Some(&line.provider), ..Context::default() };
        for (name, status, body) in envelopes(line) {
            let evidence = Evidence::Http { status, headers: &[], body: &body };
            let class = classify(&evidence, &context).map(|verdict| verdict.failure.class.name());
            all += 1;
            if class == Some(line.class.as_str()) {
                right += 1;
            } else {
                println!("{} as {name}: {class:?}, wanted {}", line.id, line.class);
            }
        }
    }
    assert!(right * 1_000 >= all * 998, "{right} of {all}");
}
