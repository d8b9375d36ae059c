//! What the turns show without being understood: it refuses to read what they say.

use std::borrow::Cow;

use crate::Dialect;
use crate::json::{JsonError, Scanner, Span};

/// Whether an assistant turn or a tool result stands in the conversation.
pub(super) fn under_way(dialect: Dialect, text: &str, turns: &[Span]) -> Result<bool, JsonError> {
    for turn in turns {
        let mut found = false;
        Scanner::within(text, turn).object_or_skip(|inner, key| {
            match &*key.decode() {
                "role" => {
                    let role = inner.text_or_skip()?.map(|role| role.decode());
                    found |= matches!(role.as_deref(), Some("assistant" | "tool" | "function"));
                }
                "type" if dialect == Dialect::OpenAiResponses => {
                    let kind = inner.text_or_skip()?.map(|kind| kind.decode());
                    found |= kind.as_deref().is_some_and(is_made_by_a_run);
                }
                "content" if dialect == Dialect::AnthropicMessages => {
                    found |= holds_tool_result(inner)?;
                }
                _ => inner.pass()?,
            }
            Ok(())
        })?;
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Responses items that only a model's turn, or an answer to it, leaves behind.
fn is_made_by_a_run(kind: &str) -> bool {
    kind == "reasoning" || kind.ends_with("_call") || kind.ends_with("_call_output")
}

fn holds_tool_result(content: &mut Scanner<'_>) -> Result<bool, JsonError> {
    let mut found = false;
    content.array_or_skip(|blocks| {
        blocks.object_or_skip(|block, key| {
            if key.decode() == "type" {
                let kind = block.text_or_skip()?.map(|kind| kind.decode());
                found |= kind.as_deref() == Some("tool_result");
                return Ok(());
            }
            block.pass()
        })
    })?;
    Ok(found)
}

/// Whether a JSON schema somewhere under `value` has `title` as its only property.
///
/// The three dialects put the schema at different depths: `output_config.format.schema`,
/// `response_format.json_schema.schema`, `text.format.schema`.
pub(super) fn asks_for_title(value: &mut Scanner<'_>) -> Result<bool, JsonError> {
    let mut found = false;
    value.object_or_skip(|inner, key| {
        match &*key.decode() {
            "format" | "json_schema" => found |= asks_for_title(inner)?,
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
