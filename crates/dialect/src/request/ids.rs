//! What in a body may name a session; it refuses to choose between them (that is the gateway's).

use crate::json::{JsonError, Kind, Scanner};

use super::outline::Outline;
use super::owned;

/// Ids in a body, each as it was written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Ids {
    /// `user` (OpenAI).
    pub user: Option<String>,
    /// `safety_identifier` (OpenAI).
    pub safety_identifier: Option<String>,
    /// `prompt_cache_key` (OpenAI).
    pub prompt_cache_key: Option<String>,
    /// `metadata.user_id` whole (Anthropic).
    pub metadata_user_id: Option<String>,
    /// The session inside `metadata.user_id`: the `session_id` of the JSON text in it, or what
    /// follows `_session_` in its older form (Claude Code).
    pub metadata_session_id: Option<String>,
    /// `client_metadata.session_id` (Codex).
    pub client_session_id: Option<String>,
}

pub(super) fn read(text: &str, outline: &Outline<'_>) -> Result<Ids, JsonError> {
    let mut ids = Ids::default();
    for (name, member) in &outline.members {
        let mut value = Scanner::within(text, &member.value);
        match &**name {
            "user" => ids.user = filled(value.text_or_skip().map(owned)?),
            "safety_identifier" => {
                ids.safety_identifier = filled(value.text_or_skip().map(owned)?);
            }
            "prompt_cache_key" => ids.prompt_cache_key = filled(value.text_or_skip().map(owned)?),
            "metadata" => ids.metadata_user_id = field(&mut value, "user_id")?,
            "client_metadata" => ids.client_session_id = field(&mut value, "session_id")?,
            _ => {}
        }
    }
    ids.metadata_session_id = ids.metadata_user_id.as_deref().and_then(session_in);
    Ok(ids)
}

fn session_in(user_id: &str) -> Option<String> {
    let mut scanner = Scanner::new(user_id);
    if scanner.kind() == Ok(Kind::Object) {
        return field(&mut scanner, "session_id").ok().flatten();
    }
    let (_, session) = user_id.rsplit_once("_session_")?;
    filled(Some(session.to_owned()))
}

/// The string of that name in the object that comes next.
fn field(value: &mut Scanner<'_>, name: &str) -> Result<Option<String>, JsonError> {
    let mut found = None;
    value.object_or_skip(|inner, key| {
        if key.decode() == name {
            found = filled(inner.text_or_skip().map(owned)?);
            return Ok(());
        }
        inner.pass()
    })?;
    Ok(found)
}

fn filled(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}
