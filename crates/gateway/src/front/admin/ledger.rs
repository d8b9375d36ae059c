//! The ledger: sums and single attempts (R34).
//!
//! It refuses to add what was reported to what was estimated.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use ekiden_store::{
    AttemptRow, AttemptState, Basis, Cost, Currency, MoneySum, Share, Sum, SumBy, SumFilter,
    SumKey, TokenSum,
};

use super::query::Query;
use super::shape::{ClassName, TokenCount};

/// The attempt ledger, summed.
#[derive(Serialize, JsonSchema)]
pub(in crate::front) struct Ledger {
    /// `day`, `queue`, `route`, `session`, `call` or `token`.
    by: &'static str,
    sums: Vec<SumLine>,
    /// The `after` of the next page; none: there is no more.
    next: Option<String>,
}

/// One line of sums.
#[derive(Serialize, JsonSchema)]
struct SumLine {
    /// The day's number as text, or the name.
    key: String,
    /// Everything.
    all: ShareShown,
    /// What of it never reached a client.
    waste: ShareShown,
    /// Attempts that were answered to their end.
    complete: u64,
    /// Attempts of whose billing nothing is known.
    unknown: u64,
}

/// A part of the ledger, summed.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LedgerShare")]
struct ShareShown {
    attempts: u64,
    input: TokenSumShown,
    output: TokenSumShown,
    /// Of the input tokens, those that were read from a cache.
    cached: u64,
    /// Attempts whose cost is known.
    priced: u64,
    /// What those cost, in each currency that was paid in.
    cost: Vec<MoneySumShown>,
}

/// Money of one currency, by who named the amount.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "MoneySum")]
struct MoneySumShown {
    /// By ISO 4217.
    currency: &'static str,
    /// Billionths, as upstream said.
    reported_nano: u64,
    /// Billionths, as counted from prices and tokens.
    estimated_nano: u64,
}

/// What an attempt cost.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Cost")]
struct CostShown {
    /// By ISO 4217.
    currency: &'static str,
    /// Billionths.
    nano: u64,
    /// `reported` where upstream named the amount; `estimated` where it is counted from a price and the
    /// tokens.
    source: &'static str,
}

/// Tokens by where their number comes from.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TokenSum")]
struct TokenSumShown {
    /// As upstream said.
    reported: u64,
    /// As we estimate from the size of the text.
    estimated: u64,
}

/// Single attempts, newest first; those of one call in order.
#[derive(Serialize, JsonSchema)]
pub(in crate::front) struct Attempts {
    attempts: Vec<AttemptLine>,
}

/// One attempt in the ledger.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LedgerAttempt")]
pub(in crate::front) struct AttemptLine {
    call: Arc<str>,
    /// Its number in the call, from 1.
    attempt: u32,
    session: Arc<str>,
    queue: Arc<str>,
    route: Arc<str>,
    began_ms: u64,
    took_ms: u64,
    /// `sent`: nothing is known of its end; `unknown`: of its billing; `complete`.
    state: &'static str,
    class: Option<ClassName>,
    status: Option<u16>,
    input: TokenCount,
    output: TokenCount,
    /// Of the input, what was read from a cache, if upstream said so.
    cached: Option<u64>,
    /// Of the input, what was written to a cache, if upstream said so.
    cache_written: Option<u64>,
    /// None: upstream named none, and there is no price, or nobody knows the tokens.
    cost: Option<CostShown>,
    /// The id of the client's token.
    token: Option<Arc<str>>,
    /// Nothing of it reached the client.
    wasted: bool,
}

/// What a question asks to be summed, and how many lines it wants.
pub(super) fn filter(query: &Query) -> (SumFilter, usize) {
    let by = match query.text("by").as_deref() {
        Some("queue") => SumBy::Queue,
        Some("route") => SumBy::Route,
        Some("session") => SumBy::Session,
        Some("call") => SumBy::Call,
        Some("token") => SumBy::Token,
        Some(_) | None => SumBy::Day,
    };
    let day = |name| query.number(name).map(|day| u32::try_from(day).unwrap_or(u32::MAX));
    let after = query.text("after").map(|after| match by {
        SumBy::Day => SumKey::Day(after.parse().unwrap_or(0)),
        SumBy::Queue | SumBy::Route | SumBy::Session | SumBy::Call | SumBy::Token => {
            SumKey::Name(after)
        }
    });
    let filter = SumFilter {
        by,
        from_day: day("from_day"),
        to_day: day("to_day"),
        session: query.text("session"),
        queue: query.text("queue"),
        route: query.text("route"),
        after,
    };
    (filter, query.count("limit"))
}

pub(super) fn summed(by: SumBy, sums: &[Sum], most: usize) -> Ledger {
    let key = |sum: &Sum| match &sum.key {
        SumKey::Day(day) => day.to_string(),
        SumKey::Name(name) => name.to_string(),
    };
    let line = |sum: &Sum| SumLine {
        key: key(sum),
        all: ShareShown::of(&sum.all),
        waste: ShareShown::of(&sum.waste),
        complete: sum.complete,
        unknown: sum.unknown,
    };
    Ledger {
        by: match by {
            SumBy::Day => "day",
            SumBy::Queue => "queue",
            SumBy::Route => "route",
            SumBy::Session => "session",
            SumBy::Call => "call",
            SumBy::Token => "token",
        },
        sums: sums.iter().map(line).collect(),
        next: sums.last().filter(|_| sums.len() >= most).map(key),
    }
}

pub(super) fn attempts(rows: &[AttemptRow]) -> Attempts {
    Attempts { attempts: rows.iter().map(AttemptLine::of).collect() }
}

impl ShareShown {
    fn of(share: &Share) -> Self {
        let tokens =
            |sum: TokenSum| TokenSumShown { reported: sum.reported, estimated: sum.estimated };
        let paid = Currency::ALL.into_iter().zip(share.cost);
        let paid = paid.filter(|(_, sum)| *sum != MoneySum::default());
        Self {
            attempts: share.attempts,
            input: tokens(share.input),
            output: tokens(share.output),
            cached: share.cached,
            priced: share.priced,
            cost: paid
                .map(|(currency, sum)| MoneySumShown {
                    currency: currency.code(),
                    reported_nano: sum.reported,
                    estimated_nano: sum.estimated,
                })
                .collect(),
        }
    }
}

impl AttemptLine {
    pub(super) fn of(row: &AttemptRow) -> Self {
        Self {
            call: Arc::clone(&row.call),
            attempt: row.attempt,
            session: Arc::clone(&row.place.session),
            queue: Arc::clone(&row.place.queue),
            route: Arc::clone(&row.place.route),
            began_ms: row.began_ms,
            took_ms: row.took_ms,
            state: match row.state {
                AttemptState::Sent => "sent",
                AttemptState::Unknown => "unknown",
                AttemptState::Complete => "complete",
            },
            class: row.class.map(ClassName),
            status: row.status,
            input: TokenCount::of(row.input),
            output: TokenCount::of(row.output),
            cached: row.cached,
            cache_written: row.cache_written,
            cost: row.cost.map(|Cost { currency, nano, basis }| CostShown {
                currency: currency.code(),
                nano,
                source: match basis {
                    Basis::Reported => "reported",
                    Basis::Estimated => "estimated",
                },
            }),
            token: row.token.clone(),
            wasted: row.wasted,
        }
    }
}
