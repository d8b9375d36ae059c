//! The query of a question, read by the table of operations.
//!
//! It refuses what the table does not name: a mistyped filter that is silently dropped answers
//! another question than was asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use ekiden_config::{Language, say};

use crate::front::route::decoded;

use super::operations::{Operation, Param, Takes};
use super::refusal::Refusal;

/// Lines of a list when the question names no number.
const LIST_DEFAULT: usize = 200;

/// A question's parameters, all of them such as the table allows.
#[derive(Debug, Default)]
pub(super) struct Query {
    pairs: BTreeMap<&'static str, String>,
}

impl Query {
    /// Reads a query, without its `?`.
    pub(super) fn read(operation: &Operation, query: Option<&str>) -> Result<Self, Box<Refusal>> {
        let mut pairs = BTreeMap::new();
        let given = query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
        for pair in given {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (plain(name), plain(value));
            let Some(param) = operation.query.iter().find(|param| param.name == name) else {
                return Err(refusal(unknown(operation, &name)));
            };
            if let Some(wrong) = misfit(param, &value) {
                return Err(refusal(wrong));
            }
            if pairs.insert(param.name, value).is_some() {
                return Err(refusal(QueryFault::Twice { name: param.name }));
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

/// What is wrong with a query.
#[derive(Debug)]
pub(super) enum QueryFault {
    /// A parameter that is not known; `known` are those that are.
    Unknown {
        name: String,
        known: Vec<&'static str>,
    },
    Twice {
        name: &'static str,
    },
    Count {
        name: &'static str,
        most: u64,
    },
    Number {
        name: &'static str,
        most: u64,
    },
    Long {
        name: &'static str,
    },
    Choice {
        name: &'static str,
        choices: &'static [&'static str],
    },
    /// `after` comes from nowhere.
    After,
}

impl QueryFault {
    pub(super) fn say(&self, language: Language) -> String {
        match self {
            Self::Unknown { name, known } if known.is_empty() => say!(
                language,
                "`{name}` is not known here; there are no parameters",
                "这里没有参数 `{name}`；这里不接受参数",
                name,
            ),
            Self::Unknown { name, known } => say!(
                language,
                "`{name}` is not known here; {known} are",
                "这里没有参数 `{name}`；可用的有 {known}",
                name,
                known = language.list(known),
            ),
            Self::Twice { name } => {
                say!(language, "`{name}` is given twice", "`{name}` 写了两次", name)
            }
            Self::Count { name, most } => say!(
                language,
                "`{name}` is a whole number from 1 to {most}",
                "`{name}` 应为 1 到 {most} 的整数",
                name,
                most,
            ),
            Self::Number { name, most } => say!(
                language,
                "`{name}` is a whole number up to {most}",
                "`{name}` 应为不超过 {most} 的整数",
                name,
                most,
            ),
            Self::Long { name } => say!(
                language,
                "`{name}` has at most 1,000 characters",
                "`{name}` 最多 1,000 个字符",
                name,
            ),
            Self::Choice { name, choices } => say!(
                language,
                "`{name}` is one of {choices}",
                "`{name}` 应为以下之一：{choices}",
                name,
                choices = language.list(choices),
            ),
            Self::After => {
                say!(language, "`after` is the `next` of a page", "`after` 应为某一页的 `next`",)
            }
        }
    }
}

fn misfit(param: &Param, value: &str) -> Option<QueryFault> {
    let name = param.name;
    match param.takes {
        Takes::Count { most } => {
            let fits = value.parse::<u64>().is_ok_and(|count| (1..=most).contains(&count));
            (!fits).then_some(QueryFault::Count { name, most })
        }
        Takes::Number { most } => {
            let fits = value.parse::<u64>().is_ok_and(|number| number <= most);
            (!fits).then_some(QueryFault::Number { name, most })
        }
        Takes::Text => {
            let fits = value.chars().count() <= 1_000;
            (!fits).then_some(QueryFault::Long { name })
        }
        Takes::Choice(choices) => {
            let fits = choices.contains(&value);
            (!fits).then_some(QueryFault::Choice { name, choices })
        }
    }
}

fn unknown(operation: &Operation, name: &str) -> QueryFault {
    let name: String = name.chars().filter(|c| !c.is_control()).take(80).collect();
    let known = operation.query.iter().map(|param| param.name).collect();
    QueryFault::Unknown { name, known }
}

pub(super) fn refusal(fault: QueryFault) -> Box<Refusal> {
    Box::new(Refusal::Query(fault))
}
