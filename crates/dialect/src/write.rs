//! What the gateway says itself, in the asker's dialect.
//!
//! It refuses to choose what is said: which error, which seconds and which models come from the
//! caller. How clients react to each shape was measured; where a shape looks odd, that is why.

mod error;
mod event;
mod models;

use bytes::Bytes;

pub use error::{
    Fault, context_overflow, do_not_retry, error, not_found, retry_later, stopped, unknown_model,
};
pub use event::{StreamFault, error_event, keep_alive, responses_created};
pub use models::{ModelEntry, count_tokens, model, model_list};

/// A whole answer of the gateway's own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Headers, `content-type` included; names in lower case.
    pub headers: Vec<(&'static str, String)>,
    /// The body, JSON.
    pub body: Bytes,
}

impl Reply {
    fn json(status: u16, body: &impl serde::Serialize) -> Self {
        Self {
            status,
            headers: vec![("content-type", "application/json".to_owned())],
            body: to_json(body),
        }
    }

    fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }
}

/// JSON text of a structure of ours, which has no map with odd keys and so cannot fail.
fn to_json(value: &impl serde::Serialize) -> Bytes {
    Bytes::from(serde_json::to_vec(value).unwrap_or_default())
}

#[cfg(test)]
mod tests;
