//! Small shapes that several answers share.
//!
//! It refuses to hold text of a call: what a candidate said was masked and cut when it was kept.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use ekiden_engine::{Class, Tally};
use ekiden_store::{Evidence, Tokens};

/// A failure class, by its name.
#[derive(Clone, Copy, Debug)]
pub(in crate::front) struct ClassName(pub(in crate::front) Class);

impl Serialize for ClassName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}

impl JsonSchema for ClassName {
    fn schema_name() -> Cow<'static, str> {
        "Class".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names = Class::ALL.map(Class::name);
        json_schema!({ "type": "string", "description": "A failure class.", "enum": names })
    }
}

/// What a candidate said when it failed: at most 400 characters with keys masked; no message for
/// classes whose texts echo prompts.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Evidence")]
pub(in crate::front) struct Said {
    /// The HTTP status, if an answer came.
    status: Option<u16>,
    /// Its machine code.
    code: Option<String>,
    /// The parameter that it named.
    param: Option<String>,
    /// Its words.
    message: Option<String>,
}

impl Said {
    pub(in crate::front) fn of(evidence: &Evidence) -> Self {
        Self::from(evidence.clone())
    }
}

impl From<Evidence> for Said {
    fn from(evidence: Evidence) -> Self {
        let Evidence { status, code, param, message } = evidence;
        Self { status, code, param, message }
    }
}

/// Attempts of today over all sessions.
#[derive(Serialize, JsonSchema)]
pub(in crate::front) struct Today {
    /// Whole or truncated answers.
    successes: u32,
    /// Attempts that were judged or cooled.
    failures: u32,
}

impl Today {
    pub(in crate::front) fn of(tally: Tally) -> Self {
        Self { successes: tally.successes, failures: tally.failures }
    }
}

/// A number of tokens and where it comes from.
#[derive(Serialize, JsonSchema)]
pub(in crate::front) struct TokenCount {
    /// How many; none: nobody knows.
    count: Option<u64>,
    /// `reported` by the upstream, `estimated` by us from the size of the text, or `unknown`.
    source: &'static str,
}

impl TokenCount {
    pub(in crate::front) fn of(tokens: Tokens) -> Self {
        let (count, source) = match tokens {
            Tokens::Reported(count) => (Some(count), "reported"),
            Tokens::Estimated(count) => (Some(count), "estimated"),
            Tokens::Unknown => (None, "unknown"),
        };
        Self { count, source }
    }
}
