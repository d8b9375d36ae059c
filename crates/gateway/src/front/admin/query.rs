//! The query of a question, read by the table of operations.
//!
//! It refuses what the table does not name: a mistyped filter that is silently dropped answers
//! another question than was asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::{Response, StatusCode};

use crate::body::Body;
use crate::front::route::decoded;

use super::failure;
use super::operations::{Operation, Param, Takes};

/// Lines of a list when the question names no number.
const LIST_DEFAULT: usize = 200;

/// A question's parameters, all of them such as the table allows.
#[derive(Debug, Default)]
pub(super) struct Query {
    pairs: BTreeMap<&'static str, String>,
}

impl Query {
    /// Reads a query, without its `?`.
    pub(super) fn read(
        operation: &Operation,
        query: Option<&str>,
    ) -> Result<Self, Box<Response<Body>>> {
        let mut pairs = BTreeMap::new();
        let given = query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
        for pair in given {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (plain(name), plain(value));
            let Some(param) = operation.query.iter().find(|param| param.name == name) else {
                return Err(refusal(&unknown(operation, &name)));
            };
            if let Some(wrong) = misfit(param, &value) {
                return Err(refusal(&wrong));
            }
            if pairs.insert(param.name, value).is_some() {
                return Err(refusal(&format!("`{}` is given twice", param.name)));
            }
        }
        Ok(Self { pairs })
    }

    /// A number, if it was given.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.pairs.get(name)?.parse().ok()
    }

    /// How many lines.
    pub(super) fn count(&self, name: &str) -> usize {
        self.number(name).and_then(|count| usize::try_from(count).ok()).unwrap_or(LIST_DEFAULT)
    }

    /// A text, if it was given.
    pub(super) fn text(&self, name: &str) -> Option<Arc<str>> {
        self.pairs.get(name).map(|text| text.as_str().into())
    }
}

fn plain(text: &str) -> String {
    decoded(&text.replace('+', " "))
}

fn misfit(param: &Param, value: &str) -> Option<String> {
    let name = param.name;
    match param.takes {
        Takes::Count { most } => {
            let fits = value.parse::<u64>().is_ok_and(|count| (1..=most).contains(&count));
            (!fits).then(|| format!("`{name}` is a whole number from 1 to {most}"))
        }
        Takes::Number { most } => {
            let fits = value.parse::<u64>().is_ok_and(|number| number <= most);
            (!fits).then(|| format!("`{name}` is a whole number up to {most}"))
        }
        Takes::Text => {
            let fits = value.chars().count() <= 1_000;
            (!fits).then(|| format!("`{name}` has at most 1,000 characters"))
        }
        Takes::Choice(choices) => {
            let fits = choices.contains(&value);
            (!fits).then(|| format!("`{name}` is one of {}", choices.join(", ")))
        }
    }
}

fn unknown(operation: &Operation, name: &str) -> String {
    let name: String = name.chars().filter(|c| !c.is_control()).take(80).collect();
    let known: Vec<&str> = operation.query.iter().map(|param| param.name).collect();
    if known.is_empty() {
        return format!("`{name}` is not known here; there are no parameters");
    }
    format!("`{name}` is not known here; {} are", known.join(", "))
}

pub(super) fn refusal(message: &str) -> Box<Response<Body>> {
    Box::new(failure(StatusCode::BAD_REQUEST, "bad_query", message))
}
