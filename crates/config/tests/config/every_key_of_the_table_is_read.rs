//! The table of keys and the reader say the same.

use crate::common::{BASE, error, good, has};
use ekiden_config::keys::{Group, Key, Kind, SECTIONS, keys_of};
use ekiden_config::{Origin, Value, show_size_bytes, show_span_ms};

/// A whole file in which one key stands in one section with a value, and the key's path.
pub(crate) fn file_with(section: &str, key: &Key, value: &str) -> (String, String) {
    let line = format!("{} = {value}", key.name);
    let name = key.name;
    match section {
        "" => (format!("{line}\n{BASE}"), name.to_owned()),
        "providers.ID" => {
            let mut text = "[providers.x]\n".to_owned();
            for (name, value) in
                [("base_url", "\"https://x.example\""), ("dialect", "\"openai-chat\"")]
            {
                if name != key.name {
                    text.push_str(&format!("{name} = {value}\n"));
                }
            }
            (format!("{text}{line}\n{BASE}"), format!("providers.x.{name}"))
        }
        "queues.ID" => {
            (format!("{BASE}\n[queues.second]\n{line}\n"), format!("queues.second.{name}"))
        }
        "queues.ID.candidates" => {
            let route = match name {
                "route" => "",
                _ => "route = \"deepseek/a\", ",
            };
            let queue = format!("[queues.second]\ncandidates = [{{ {route}{line} }}]");
            (format!("{BASE}\n{queue}\n"), format!("queues.second.candidates.0.{name}"))
        }
        other => (format!("{BASE}\n[{other}]\n{line}\n"), format!("{other}.{name}")),
    }
}

/// A value that is not the default, and how it is shown.
pub(crate) fn other_value(section: &str, key: &Key) -> String {
    let default = match (section, key.name) {
        ("direct", "policy") => "\"none\"".to_owned(),
        ("direct", "enabled") => "false".to_owned(),
        _ => key.default_text(),
    };
    let first_other = |values: Vec<String>| {
        values.into_iter().find(|value| *value != default).expect("two values at least")
    };
    match key.kind {
        Kind::Bool => first_other(vec!["true".into(), "false".into()]),
        Kind::Integer { min, max } => first_other(vec![max.to_string(), min.to_string()]),
        Kind::Span { min_ms, max_ms } => {
            first_other(vec![Value::Ms(max_ms).to_string(), Value::Ms(min_ms).to_string()])
        }
        Kind::Bytes { min, max } => {
            first_other(vec![Value::Bytes(max).to_string(), Value::Bytes(min).to_string()])
        }
        Kind::Choice(choices) => {
            first_other(choices.iter().map(|choice| format!("\"{choice}\"")).collect())
        }
        Kind::Choices(choices) => {
            first_other(choices.iter().map(|choice| format!("[\"{choice}\"]")).collect())
        }
        Kind::Text { .. } if key.name == "route" => "\"moonshot/b\"".to_owned(),
        Kind::Text { .. } => "\"something else\"".to_owned(),
        Kind::Texts if key.name == "allowed_origins" => "[\"tauri://localhost\"]".to_owned(),
        Kind::Texts if key.name == "fallbacks" => "[\"deepseek/a\", \"moonshot/b\"]".to_owned(),
        Kind::Texts => "[\"one\", \"two\"]".to_owned(),
        Kind::SecretPairs => "{ \"x-team\" = \"a\" }".to_owned(),
        Kind::Secret => "\"abc\"".to_owned(),
        Kind::Variable => "\"MY_KEY\"".to_owned(),
        Kind::Path => "\"/some/where\"".to_owned(),
        Kind::Url => "\"https://other.example/v1\"".to_owned(),
        Kind::Proxy => "\"socks5://127.0.0.1:1080\"".to_owned(),
        Kind::Listen => "\"127.0.0.1:9999\"".to_owned(),
        Kind::Zone => "\"Asia/Tokyo\"".to_owned(),
        Kind::Candidates => "[\"deepseek/a\"]".to_owned(),
    }
}

fn all() -> Vec<(&'static str, &'static Key)> {
    SECTIONS
        .iter()
        .flat_map(|section| section.groups.iter().map(move |group| (section.path, *group)))
        .flat_map(|(path, group)| keys_of(group).map(move |key| (path, key)))
        .collect()
}

#[test]
fn g7_each_key_reaches_the_configuration_and_remembers_its_line() {
    let keys = all();
    assert!(keys.len() > 130, "{}", keys.len());
    for (section, key) in keys {
        let value = other_value(section, key);
        let (text, path) = file_with(section, key, &value);
        let loaded = good(&text);
        let origin = loaded.config.origin(&path);
        let Origin::File { line } = origin else {
            panic!("{path} comes from {origin:?}");
        };
        let line = text.lines().nth(line - 1).unwrap();
        assert!(line.contains(key.name), "{path}: {line}");
        let settings = loaded.config.settings();
        if key.kind == Kind::Candidates {
            let queue = loaded.config.queue("second").unwrap();
            assert_eq!(queue.candidates[0].route(), "deepseek/a");
            continue;
        }
        let setting = settings.iter().find(|setting| setting.path == path);
        let setting = setting.unwrap_or_else(|| panic!("{path} is not shown"));
        assert_eq!(&setting.origin, origin, "{path}");
        let shown = setting.value.as_ref().map(ToString::to_string).unwrap_or_default();
        let expected = match key.kind {
            Kind::Secret => "\"***\"".to_owned(),
            Kind::SecretPairs => "{ \"x-team\" = \"***\" }".to_owned(),
            _ => value,
        };
        assert_eq!(shown, expected, "{path}");
        let plain = good(BASE).config.digest();
        assert_ne!(loaded.config.digest(), plain, "{path} does not count in the digest");
    }
}

#[test]
fn nothing_is_shown_that_the_table_does_not_know() {
    let text = format!("{BASE}\n[aliases]\na = \"default\"\n");
    for setting in good(&text).config.settings() {
        let path: Vec<&str> = setting.path.split('.').collect();
        let section = match path.as_slice() {
            [_] => "",
            ["aliases", ..] => continue,
            ["providers", ..] => "providers.ID",
            ["queues", _, "candidates", ..] => "queues.ID.candidates",
            ["queues", ..] => "queues.ID",
            [] => unreachable!("a path has a name"),
            [section, ..] => section,
        };
        let name = path.last().unwrap();
        let known = all().iter().any(|(at, key)| *at == section && key.name == *name);
        assert!(known, "{}", setting.path);
    }
}

#[test]
fn defaults_of_the_table_are_the_configurations_defaults() {
    let settings = good(BASE).config.settings();
    let at = |path: &str, key: &Key| {
        let path =
            if path.is_empty() { key.name.to_owned() } else { format!("{path}.{}", key.name) };
        let setting = settings.iter().find(|setting| setting.path == path);
        let value = setting.unwrap_or_else(|| panic!("{path}")).value.as_ref();
        (path, value.map(ToString::to_string))
    };
    let sections = [
        ("", Group::Top),
        ("journal", Group::Journal),
        ("limits", Group::Limits),
        ("queues.default", Group::Policy),
        ("queues.default.candidates.0", Group::Clock),
        ("defaults", Group::Policy),
        ("defaults", Group::Clock),
    ];
    for (path, group) in sections {
        for key in keys_of(group) {
            let (path, value) = at(path, key);
            // Sentences stand for what only the machine at hand can say.
            if let Some(value) = value {
                assert_eq!(value, key.default_text(), "{path}");
            }
        }
    }
}

#[test]
fn r46_bounds_hold_at_both_ends_and_are_named() {
    for (section, key) in all() {
        let (inside, outside, named) = match key.kind {
            Kind::Integer { min, max } => (
                vec![min.to_string(), max.to_string()],
                vec![Some(max + 1), min.checked_sub(1)]
                    .into_iter()
                    .flatten()
                    .map(|value| value.to_string())
                    .chain(["-1".to_owned()])
                    .collect::<Vec<_>>(),
                [min.to_string(), max.to_string()],
            ),
            Kind::Span { min_ms, max_ms } => (
                vec![format!("\"{min_ms}ms\""), format!("\"{max_ms}ms\"")],
                vec![Some(max_ms + 1), min_ms.checked_sub(1)]
                    .into_iter()
                    .flatten()
                    .map(|value| format!("\"{value}ms\""))
                    .collect(),
                [show_span_ms(min_ms), show_span_ms(max_ms)],
            ),
            Kind::Bytes { min, max } => (
                vec![format!("\"{min}B\""), format!("\"{max}B\"")],
                vec![format!("\"{}B\"", max + 1), format!("\"{}B\"", min - 1)],
                [show_size_bytes(min), show_size_bytes(max)],
            ),
            _ => continue,
        };
        for value in inside {
            good(&file_with(section, key, &value).0);
        }
        for value in outside {
            let error = error(&file_with(section, key, &value).0);
            has(&error, &[key.name, "out of bounds", &named[0], &named[1]]);
        }
    }
}

#[test]
fn r46_the_bounds_are_those_of_the_rules() {
    let of = |group: Group, name: &str| keys_of(group).find(|key| key.name == name).unwrap().kind;
    let span = |max_s: u64| Kind::Span { min_ms: 0, max_ms: max_s * 1_000 };
    assert_eq!(of(Group::Policy, "retries"), Kind::Integer { min: 0, max: 10 });
    assert_eq!(of(Group::Policy, "continue_delay"), span(600));
    assert_eq!(of(Group::Policy, "wait_max"), span(600));
    assert_eq!(of(Group::Clock, "idle_timeout"), span(3_600));
    assert_eq!(of(Group::Policy, "cooldown"), span(3_600));
    assert_eq!(of(Group::Policy, "lease_rest"), span(300));
    assert_eq!(of(Group::Candidate, "max_sessions"), Kind::Integer { min: 1, max: 16 });
    assert_eq!(of(Group::Top, "reset_hour"), Kind::Integer { min: 0, max: 23 });
}
