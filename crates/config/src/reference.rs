//! The reference and the schema, printed from the table of keys. Nothing is written here by hand
//! that the table says.

use crate::discover::{LOCAL_SERVERS, Source, WELL_KNOWN};
use crate::keys::{Group, Key, Kind, SECTIONS, Section, keys_of};
use crate::mistake::expectation;
use crate::say::Language;
use crate::value::quoted;

const INTRODUCTION: &str = "\
# Configuration

<!-- Printed from crates/config/src/keys.rs; `cargo test -p ekiden-config -- --ignored bless` writes it anew. -->

One TOML file: `--config FILE`, else `$EKIDEN_CONFIG`, else `$XDG_CONFIG_HOME/ekiden/config.toml`
(`~/.config/ekiden/config.toml`), on Windows `%APPDATA%\\ekiden\\config.toml`. Without a file,
providers are found from the environment (see the end of this page).

- A span is text with its unit: `\"250ms\"`, `\"45s\"`, `\"2m\"`, `\"1h\"`; a size likewise: `\"64KiB\"`, `\"8MB\"`.
  `0` needs no unit.
- A value comes from a variable, else the file, else the default; a queue's own key beats `[defaults]`,
  a candidate's own clock beats the queue's.
- Unknown keys are refused, and the nearest right one is named. `ekiden check` tells every problem
  of the file at once, with its line.

```toml
time_zone = \"Asia/Shanghai\"

[providers.deepseek]
base_url = \"https://api.deepseek.com/v1\"
dialect = \"openai-chat\"
api_key_env = \"DEEPSEEK_API_KEY\"

[providers.moonshot]
base_url = \"https://api.moonshot.cn/v1\"
dialect = \"openai-chat\"
api_key_env = \"MOONSHOT_API_KEY\"

[queues.default]
name = \"默认模板\"
candidates = [
  \"deepseek/deepseek-v4-pro\",
  { route = \"moonshot/kimi-k2.6\", max_sessions = 2, idle_timeout = \"60s\" },
]
retries = 1

[aliases]
\"gpt-*\" = \"default\"
```

配置是一个 TOML 文件。时长与大小都写成带单位的文本；环境变量优先于文件，文件优先于默认值；未知的键会被拒绝，并指出最接近的正确写法。
";

/// `docs/configuration.md`.
#[must_use]
pub fn markdown() -> String {
    let mut out = INTRODUCTION.to_owned();
    for section in &SECTIONS {
        let title = if section.path.is_empty() {
            "Top".to_owned()
        } else if section.path == "queues.ID.candidates" {
            "An entry of `candidates`".to_owned()
        } else {
            format!("`[{}]`", section.path)
        };
        out.push_str(&format!("\n## {title}\n\n{}\n\n{}\n", section.about_en, section.about_zh));
        let keys: Vec<_> = own_groups(section).flat_map(keys_of).collect();
        if !keys.is_empty() {
            out.push_str(&table(&keys));
        }
    }
    out.push_str(
        "\n## A policy / 策略字段\n\nThese stand in `[defaults]`, `[queues.ID]` and `[direct]`.\n",
    );
    out.push_str(&table(&keys_of(Group::Policy).collect::<Vec<_>>()));
    out.push_str(
        "\n## Clocks / 时限\n\nThese stand in `[defaults]`, `[queues.ID]`, `[direct]` and entries of `candidates`.\n",
    );
    out.push_str(&table(&keys_of(Group::Clock).collect::<Vec<_>>()));
    out.push_str(&variables());
    out.push_str(&discovered());
    out
}

/// `docs/configuration.schema.json`, a JSON schema (draft 2020-12) for editors.
#[must_use]
pub fn schema() -> String {
    let mut members = Vec::new();
    for section in &SECTIONS {
        if section.path.is_empty() {
            let keys = section.groups.iter().flat_map(|group| keys_of(*group));
            members.extend(keys.map(property));
        }
    }
    for section in &SECTIONS {
        let name = section.path.split('.').next().unwrap_or_default();
        let named = section.path.ends_with(".ID");
        let body = match section.path {
            "" | "queues.ID.candidates" => continue,
            "aliases" | "prices" => {
                "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}}".to_owned()
            }
            _ if named => {
                format!("{{\"type\":\"object\",\"additionalProperties\":{}}}", object(section))
            }
            _ => object(section),
        };
        members.push(format!("{}:{body}", quoted(name)));
    }
    format!(
        "{{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"title\":\"Ekiden\",\
         \"type\":\"object\",\"additionalProperties\":false,\"properties\":{{\n{}\n}}}}\n",
        members.join(",\n")
    )
}

/// The groups that are printed with a section, rather than once for all.
fn own_groups(section: &'static Section) -> impl Iterator<Item = Group> {
    section.groups.iter().copied().filter(|group| !matches!(group, Group::Policy | Group::Clock))
}

fn table(keys: &[&Key]) -> String {
    let mut out =
        "\n| key | takes | default | what for | 说明 |\n|---|---|---|---|---|\n".to_owned();
    for key in keys {
        let default = key.default_text();
        let default = match default.chars().next() {
            None => "none".to_owned(),
            Some(c) if c.is_ascii_digit() || "\"[{".contains(c) => format!("`{default}`"),
            Some(_) if default == "true" || default == "false" => format!("`{default}`"),
            Some(_) => default,
        };
        out.push_str(&format!(
            "| `{}` | {} | {} | {} | {} |\n",
            key.name,
            expectation(key.kind, Language::English).replace('|', "\\|"),
            default,
            key.about_en,
            key.about_zh
        ));
    }
    out
}

fn variables() -> String {
    let mut out = "\n## Variables / 环境变量\n\n| variable | key |\n|---|---|\n| `EKIDEN_CONFIG` | the file itself |\n"
        .to_owned();
    for key in keys_of(Group::Top) {
        if let Some(variable) = key.variable {
            out.push_str(&format!("| `{variable}` | `{}` |\n", key.name));
        }
    }
    out
}

fn discovered() -> String {
    let mut out = "\n## Found from the environment / 从环境中发现\n\n\
        Where neither `providers` nor `queues` are written, each variable that is set gives a provider, \
        and the queue `default` is made of them in this order. A client's own variable for another \
        address is followed, unless it leads to Ekiden itself.\n\n\
        | variable | provider | base URL | dialect | model | source |\n|---|---|---|---|---|---|\n"
        .to_owned();
    for known in &WELL_KNOWN {
        let source = match known.source {
            Source::PiAi => "pi-ai 0.73.1 (npm), 2026-11-29",
            Source::MovingName => "the vendor's moving name",
        };
        let url = match known.url_variable {
            Some(variable) => format!("{} (or `{variable}`)", known.base_url),
            None => known.base_url.to_owned(),
        };
        out.push_str(&format!(
            "| `{}` | `{}` | {url} | `{}` | `{}` | {source} |\n",
            known.key_variable,
            known.id,
            known.dialect.name(),
            known.model
        ));
    }
    out.push_str("\nLocal servers are asked whether they are there:");
    for server in &LOCAL_SERVERS {
        out.push_str(&format!(" {} at `{}`", server.name, server.base_url));
        if let Some(variable) = server.variable {
            out.push_str(&format!(" (or where `{variable}` says)"));
        }
        out.push(if server.id == LOCAL_SERVERS[0].id { ',' } else { '.' });
    }
    out.push('\n');
    out
}

fn object(section: &'static Section) -> String {
    let keys = section.groups.iter().flat_map(|group| keys_of(*group));
    let members: Vec<_> = keys.map(property).collect();
    let required = match section.path {
        "providers.ID" => ",\"required\":[\"base_url\",\"dialect\"]",
        "queues.ID.candidates" => ",\"required\":[\"route\"]",
        _ => "",
    };
    format!(
        "{{\"type\":\"object\",\"additionalProperties\":false{required},\"properties\":{{\n{}\n}}}}",
        members.join(",\n")
    )
}

fn property(key: &Key) -> String {
    let about = format!("\"description\":{}", json(&format!("{}\n{}", key.about_en, key.about_zh)));
    let unit = |pattern: &str| {
        format!("\"oneOf\":[{{\"const\":0}},{{\"type\":\"string\",\"pattern\":{}}}]", json(pattern))
    };
    let choices = |choices: &[&str]| {
        let list: Vec<_> = choices.iter().map(|choice| json(choice)).collect();
        format!("\"enum\":[{}]", list.join(","))
    };
    let takes = match key.kind {
        Kind::Bool => "\"type\":\"boolean\"".to_owned(),
        Kind::Integer { min, max } => {
            format!("\"type\":\"integer\",\"minimum\":{min},\"maximum\":{max}")
        }
        Kind::Span { .. } => unit("^(0|([0-9]+ ?(ms|s|m|h|d) ?)+)$"),
        Kind::Bytes { .. } => unit("^(0|[0-9]+ ?([KMG]i?)?B)$"),
        Kind::Text { max_chars } => {
            format!("\"type\":\"string\",\"minLength\":1,\"maxLength\":{max_chars}")
        }
        Kind::Choice(list) => choices(list),
        Kind::Choices(list) => {
            format!("\"type\":\"array\",\"uniqueItems\":true,\"items\":{{{}}}", choices(list))
        }
        Kind::Texts => {
            "\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"type\":\"string\",\"minLength\":1}"
                .to_owned()
        }
        Kind::SecretPairs => {
            "\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}".to_owned()
        }
        Kind::Secret | Kind::Path | Kind::Listen | Kind::Zone => {
            "\"type\":\"string\",\"minLength\":1".to_owned()
        }
        Kind::Variable => "\"type\":\"string\",\"pattern\":\"^[A-Za-z0-9_]+$\"".to_owned(),
        Kind::Proxy => {
            "\"type\":\"string\",\"pattern\":\"^(https?|socks5)://\"".to_owned()
        }
        Kind::Url => "\"type\":\"string\",\"pattern\":\"^https?://\"".to_owned(),
        Kind::Candidates => {
            let entry = SECTIONS.iter().find(|section| section.path == "queues.ID.candidates");
            let table = entry.map(object).unwrap_or_default();
            format!(
                "\"oneOf\":[{{\"type\":\"string\"}},{{\"type\":\"array\",\"items\":{{\"oneOf\":[\
                 {{\"type\":\"string\"}},{table}]}}}}]"
            )
        }
    };
    format!("{}:{{{about},{takes}}}", json(key.name))
}

/// Text between JSON quotes; what TOML escapes in a basic text, JSON escapes alike.
fn json(text: &str) -> String {
    quoted(text)
}
