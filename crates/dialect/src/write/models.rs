//! Model lists, and counts of tokens.

use serde::Serialize;

use crate::write::Reply;

/// A model that the gateway offers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModelEntry<'a> {
    /// The id that a client asks for.
    pub id: &'a str,
    /// The name for people.
    pub name: &'a str,
    /// When it was made, in Unix seconds.
    pub created_s: u64,
    /// Its window in tokens, if known.
    pub window: Option<u64>,
}

/// One object that serves both OpenAI's and Anthropic's clients.
#[derive(Serialize)]
struct ModelBody<'a> {
    id: &'a str,
    object: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    display_name: &'a str,
    created: u64,
    created_at: String,
    owned_by: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_length: Option<u64>,
}

#[derive(Serialize)]
struct ListBody<'a> {
    object: &'static str,
    data: Vec<ModelBody<'a>>,
    has_more: bool,
    first_id: Option<&'a str>,
    last_id: Option<&'a str>,
}

impl<'a> From<&ModelEntry<'a>> for ModelBody<'a> {
    fn from(entry: &ModelEntry<'a>) -> Self {
        Self {
            id: entry.id,
            object: "model",
            kind: "model",
            display_name: entry.name,
            created: entry.created_s,
            created_at: instant(entry.created_s),
            owned_by: "ekiden",
            context_length: entry.window,
        }
    }
}

/// `GET /v1/models`, in the given order.
#[must_use]
pub fn model_list(entries: &[ModelEntry<'_>]) -> Reply {
    Reply::json(
        200,
        &ListBody {
            object: "list",
            data: entries.iter().map(ModelBody::from).collect(),
            has_more: false,
            first_id: entries.first().map(|entry| entry.id),
            last_id: entries.last().map(|entry| entry.id),
        },
    )
}

/// `GET /v1/models/{id}`.
#[must_use]
pub fn model(entry: &ModelEntry<'_>) -> Reply {
    Reply::json(200, &ModelBody::from(entry))
}

/// The answer of `POST /v1/messages/count_tokens`.
#[must_use]
pub fn count_tokens(tokens: u64) -> Reply {
    #[derive(Serialize)]
    struct Count {
        input_tokens: u64,
    }
    Reply::json(200, &Count { input_tokens: tokens })
}

/// Unix seconds in RFC 3339, UTC. Civil date after Hinnant, "chrono-Compatible Low-Level Date
/// Algorithms": days are counted from 1 March, so that the leap day ends a year.
fn instant(unix_s: u64) -> String {
    let (days, second) = (unix_s / 86_400 + 719_468, unix_s % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = year + era * 400 + next;
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}Z")
}
