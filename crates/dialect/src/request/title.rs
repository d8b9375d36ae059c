//! Whether a side call asks for a title; it refuses to read what the conversation says.

use std::borrow::Cow;

use crate::json::{JsonError, Scanner};

/// Whether a JSON schema somewhere under `value` has `title` as its only property.
///
/// The three dialects put the schema at different depths: `output_config.format.schema`,
/// `response_format.json_schema.schema`, `text.format.schema`.
pub(super) fn asked_for(value: &mut Scanner<'_>) -> Result<bool, JsonError> {
    let mut found = false;
    value.object_or_skip(|inner, key| {
        match &*key.decode() {
            "format" | "json_schema" => found |= asked_for(inner)?,
            "schema" => inner.object_or_skip(|schema, key| {
                if key.decode() == "properties" {
                    let mut names: Vec<Cow<'_, str>> = Vec::new();
                    schema.object_or_skip(|property, name| {
                        names.push(name.decode());
                        property.pass()
                    })?;
                    found |= matches!(names.as_slice(), [only] if only == "title");
                    return Ok(());
                }
                schema.pass()
            })?,
            _ => inner.pass()?,
        }
        Ok(())
    })?;
    Ok(found)
}
