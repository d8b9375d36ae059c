//! What people ask of journal and ledger, a bounded page at a time. A question refuses to be
//! unbounded: no answer has more than [`PAGE_MAX`] lines.

use std::sync::Arc;

use crate::entry::Entry;
use crate::line::Line;
use crate::record::{AttemptRow, AttemptState, Basis, Currency, Tokens};

/// Lines of one page.
pub const PAGE_MAX: usize = 1_000;

/// Which journal entries; every condition that is given holds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct JournalFilter {
    /// Only those with a larger number.
    pub after: Option<u64>,
    /// Only those with a smaller number: the next page.
    pub before: Option<u64>,
    /// The call that led to it.
    pub call: Option<Arc<str>>,
    /// The session it is about.
    pub session: Option<Arc<str>>,
    /// The route it is about; of a failover either one.
    pub route: Option<Arc<str>>,
    /// Its kind, as in [`crate::What::kind`].
    pub kind: Option<Arc<str>>,
}

/// What the ledger is summed by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SumBy {
    /// The logical day in which an attempt was last told of.
    Day,
    /// The queue's id.
    Queue,
    /// The candidate's route.
    Route,
    /// The session's key.
    Session,
    /// The call's public id.
    Call,
    /// The id of the client's token; empty: none was shown.
    Token,
}

/// What one line of sums is about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SumKey {
    /// A day's number.
    Day(u32),
    /// A queue, route, session, call or token.
    Name(Arc<str>),
}

/// Which attempts are summed, and how; every condition that is given holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SumFilter {
    /// One line for each.
    pub by: SumBy,
    /// The first day.
    pub from_day: Option<u32>,
    /// The last day.
    pub to_day: Option<u32>,
    /// One session alone.
    pub session: Option<Arc<str>>,
    /// One queue alone.
    pub queue: Option<Arc<str>>,
    /// One route alone.
    pub route: Option<Arc<str>>,
    /// Only lines behind this one: the next page.
    pub after: Option<SumKey>,
}

impl SumFilter {
    /// All attempts that are kept.
    #[must_use]
    pub const fn by(by: SumBy) -> Self {
        Self {
            by,
            from_day: None,
            to_day: None,
            session: None,
            queue: None,
            route: None,
            after: None,
        }
    }
}

/// Tokens by where their number comes from (R34).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TokenSum {
    /// The upstream said so.
    pub reported: u64,
    /// Ours, from the size of the text.
    pub estimated: u64,
}

/// Money of one currency, in billionths, by where the tokens behind it come from (R34).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MoneySum {
    /// The upstream said them all.
    pub reported: u64,
    /// Some are ours, from the size of the text.
    pub estimated: u64,
}

/// A part of the ledger, summed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Share {
    /// Attempts.
    pub attempts: u64,
    /// Input tokens.
    pub input: TokenSum,
    /// Output tokens.
    pub output: TokenSum,
    /// Of the input, what was read from a cache.
    pub cached: u64,
    /// Attempts whose cost is known.
    pub priced: u64,
    /// What they cost, in the order of [`Currency::ALL`].
    pub cost: [MoneySum; Currency::ALL.len()],
}

/// One line of sums.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sum {
    /// What it is about.
    pub key: SumKey,
    /// Everything.
    pub all: Share,
    /// What of it never reached a client.
    pub waste: Share,
    /// Attempts that were answered to their end.
    pub complete: u64,
    /// Attempts of whose billing nothing is known.
    pub unknown: u64,
}

impl JournalFilter {
    /// Whether an entry is asked for.
    #[must_use]
    pub fn takes(&self, entry: &Entry) -> bool {
        let line = Line::of(&entry.what);
        let is = |asked: &Option<Arc<str>>, has: Option<&str>| {
            asked.as_deref().is_none_or(|asked| has == Some(asked))
        };
        let far = (entry.what.kind() == "failed_over").then_some(line.other).flatten();
        self.after.is_none_or(|number| entry.number > number)
            && self.before.is_none_or(|number| entry.number < number)
            && is(&self.call, entry.call.as_deref())
            && is(&self.session, line.session.as_deref())
            && (is(&self.route, line.route.as_deref()) || is(&self.route, far.as_deref()))
            && is(&self.kind, Some(entry.what.kind()))
    }
}

impl SumFilter {
    /// The line that an attempt of that day belongs to, if it is asked for.
    pub(crate) fn key(&self, day: u32, row: &AttemptRow) -> Option<SumKey> {
        let is = |asked: &Option<Arc<str>>, has: &Arc<str>| {
            asked.as_ref().is_none_or(|asked| asked == has)
        };
        let asked = self.from_day.is_none_or(|from| day >= from)
            && self.to_day.is_none_or(|to| day <= to)
            && is(&self.session, &row.place.session)
            && is(&self.queue, &row.place.queue)
            && is(&self.route, &row.place.route);
        let key = match self.by {
            SumBy::Day => SumKey::Day(day),
            SumBy::Queue => SumKey::Name(Arc::clone(&row.place.queue)),
            SumBy::Route => SumKey::Name(Arc::clone(&row.place.route)),
            SumBy::Session => SumKey::Name(Arc::clone(&row.place.session)),
            SumBy::Call => SumKey::Name(Arc::clone(&row.call)),
            SumBy::Token => SumKey::Name(row.token.clone().unwrap_or_else(|| "".into())),
        };
        (asked && self.after.as_ref().is_none_or(|after| key > *after)).then_some(key)
    }
}

impl Sum {
    pub(crate) fn new(key: SumKey) -> Self {
        let none = Share::default();
        Self { key, all: none, waste: none, complete: 0, unknown: 0 }
    }

    pub(crate) fn add(&mut self, row: &AttemptRow) {
        self.all.add(row);
        if row.wasted {
            self.waste.add(row);
        }
        match row.state {
            AttemptState::Complete => self.complete += 1,
            AttemptState::Unknown => self.unknown += 1,
            AttemptState::Sent => {}
        }
    }
}

impl Share {
    fn add(&mut self, row: &AttemptRow) {
        self.attempts += 1;
        self.input.add(row.input);
        self.output.add(row.output);
        self.cached += row.cached.unwrap_or(0);
        if let Some(cost) = row.cost {
            self.priced += 1;
            let sum = &mut self.cost[cost.currency as usize];
            match cost.basis {
                Basis::Reported => sum.reported += cost.nano,
                Basis::Estimated => sum.estimated += cost.nano,
            }
        }
    }
}

impl TokenSum {
    const fn add(&mut self, tokens: Tokens) {
        match tokens {
            Tokens::Reported(count) => self.reported += count,
            Tokens::Estimated(count) => self.estimated += count,
            Tokens::Unknown => {}
        }
    }
}
