//! What was found without a file (G8), written down before it is changed. Refuses to write a key:
//! it names where the key comes from.

use toml_edit::{Array, DocumentMut, InlineTable};

use super::EditError;
use super::document::{item_of, put, section};
use crate::settings::{Config, Credential, Provider, Queue};
use crate::value::Value;

pub(super) fn write_down(
    document: &mut DocumentMut,
    found: Option<&Config>,
) -> Result<(), EditError> {
    let Some(found) = found else { return Ok(()) };
    for provider in &found.providers {
        write_provider(document, provider)?;
    }
    for queue in &found.queues {
        write_queue(document, queue)?;
    }
    Ok(())
}

fn write_provider(document: &mut DocumentMut, provider: &Provider) -> Result<(), EditError> {
    let table = section(document, &["providers", &provider.id])?;
    let text = |text: &str| item_of(&Value::Text(text.to_owned()));
    put(table, "name", text(&provider.name)?);
    put(table, "base_url", text(provider.base_url.as_str())?);
    put(table, "dialect", text(provider.dialect.name())?);
    match &provider.credential {
        Credential::Env(variable) => put(table, "api_key_env", text(variable)?),
        Credential::File(path) => put(table, "api_key_file", text(&path.display().to_string())?),
        // Stored keys are found by the provider's id; what was found has none of its own.
        Credential::Stored | Credential::Inline | Credential::None => {}
    }
    if !provider.models.is_empty() {
        put(table, "models", item_of(&Value::Texts(provider.models.clone()))?);
    }
    Ok(())
}

fn write_queue(document: &mut DocumentMut, queue: &Queue) -> Result<(), EditError> {
    let table = section(document, &["queues", &queue.id])?;
    put(table, "name", item_of(&Value::Text(queue.name.clone()))?);
    let mut array = Array::new();
    for candidate in &queue.candidates {
        let route = candidate.route();
        let mut value: toml_edit::Value = match candidate.context_window {
            Some(window) => {
                let mut options = InlineTable::new();
                options.insert("route", route.into());
                options.insert("context_window", i64::from(window).into());
                options.into()
            }
            None => route.into(),
        };
        value.decor_mut().set_prefix("\n  ");
        array.push_formatted(value);
    }
    if !queue.candidates.is_empty() {
        array.set_trailing("\n");
        array.set_trailing_comma(true);
    }
    put(table, "candidates", array.into());
    Ok(())
}
