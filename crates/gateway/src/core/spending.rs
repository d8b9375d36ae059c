//! What clients' tokens have spent today, and what their open calls may spend (G9). It refuses to guess:
//! what has no price, or is paid in another currency, counts in tokens alone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ekiden_config::{Budget, NANO, amount};
use ekiden_store::{
    AttemptRow, Basis, Cost, Currency, Store, Sum, SumBy, SumFilter, SumKey, Tokens,
};

use crate::plan::CandidateRuntime;

/// Lines of sums that are read at once.
const PAGE: usize = 1_000;

/// What all tokens have spent today.
#[derive(Debug, Default)]
pub(crate) struct Spending {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    day: u32,
    by_token: HashMap<Arc<str>, Spent>,
    /// What calls that are open may take, of tokens that have some; days do not end it.
    reserved: HashMap<Arc<str>, Spent>,
}

/// What one has spent, or may spend.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Spent {
    /// Input and output, reported and estimated.
    pub(crate) tokens: u64,
    /// In billionths, in the order of [`Currency::ALL`].
    pub(crate) nano: [u64; Currency::ALL.len()],
}

/// What an open call may take from its token's budget, given back when it is dropped: by then what it
/// did take is counted.
#[derive(Debug)]
pub(crate) struct Reserved {
    spending: Arc<Spending>,
    token: Arc<str>,
    amount: Spent,
}

/// Why no call is taken for a budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exhausted {
    /// It is spent.
    Spent,
    /// What is left may be taken by calls that are open.
    Reserved,
}

impl Spending {
    /// Sets aside what a call may take, where spent and set aside together leave something of the
    /// budget. Looking and setting aside are one step, so that calls which come together do not all
    /// see the same rest.
    pub(crate) fn reserve(
        self: &Arc<Self>,
        token: &Arc<str>,
        budget: Budget,
        amount: Spent,
    ) -> Result<Reserved, Exhausted> {
        let mut inner = self.inner();
        let spent = inner.by_token.get(token).copied().unwrap_or_default();
        if spent.exhausts(budget) {
            return Err(Exhausted::Spent);
        }
        let open = inner.reserved.entry(Arc::clone(token)).or_default();
        if spent.plus(*open).exhausts(budget) {
            return Err(Exhausted::Reserved);
        }
        *open = open.plus(amount);
        drop(inner);
        Ok(Reserved { spending: Arc::clone(self), token: Arc::clone(token), amount })
    }

    /// What a store knows of a day.
    pub(crate) fn recall(&self, store: &dyn Store, day: u32) {
        let mut filter = SumFilter { from_day: Some(day), ..SumFilter::by(SumBy::Token) };
        self.turn(day);
        loop {
            let sums = store.sums(&filter, PAGE);
            let mut inner = self.inner();
            for Sum { key, all, .. } in &sums {
                let SumKey::Name(token) = key else { continue };
                let both = |sum: ekiden_store::TokenSum| sum.reported + sum.estimated;
                let spent = Spent {
                    tokens: both(all.input) + both(all.output),
                    nano: all.cost.map(|sum| sum.reported + sum.estimated),
                };
                if !token.is_empty() {
                    inner.by_token.insert(Arc::clone(token), spent);
                }
            }
            drop(inner);
            match sums.last() {
                Some(last) if sums.len() >= PAGE => filter.after = Some(last.key.clone()),
                Some(_) | None => return,
            }
        }
    }

    /// A new day: nothing is spent yet.
    pub(crate) fn turn(&self, day: u32) {
        let mut inner = self.inner();
        if day > inner.day {
            inner.day = day;
            inner.by_token.clear();
        }
    }

    /// An attempt is over.
    pub(crate) fn add(&self, row: &AttemptRow) {
        let Some(token) = &row.token else { return };
        let mut inner = self.inner();
        let spent = inner.by_token.entry(Arc::clone(token)).or_default();
        for tokens in [row.input, row.output] {
            spent.tokens = spent.tokens.saturating_add(count(tokens).unwrap_or(0));
        }
        if let Some(cost) = row.cost {
            let nano = &mut spent.nano[cost.currency as usize];
            *nano = nano.saturating_add(cost.nano);
        }
    }

    pub(crate) fn of(&self, token: &str) -> Spent {
        self.inner().by_token.get(token).copied().unwrap_or_default()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // A panic between two lines loses what one attempt cost.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let mut inner = self.spending.inner();
        let Some(open) = inner.reserved.get_mut(&self.token) else { return };
        *open = open.minus(self.amount);
        if *open == Spent::default() {
            inner.reserved.remove(&self.token);
        }
    }
}

impl Spent {
    /// What a call may take: its input as estimated, and as much output as it allows, at the dearest
    /// of the candidates. One that allows any amount of output counts with its input alone.
    pub(crate) fn at_most(
        input: u64,
        output_max: Option<u64>,
        candidates: &[CandidateRuntime],
    ) -> Self {
        let mut most = Self::default();
        for candidate in candidates {
            let cap = candidate.max_tokens.map_or(u64::MAX, u64::from);
            let output = output_max.unwrap_or(0).min(cap);
            most.tokens = most.tokens.max(input.saturating_add(output));
            if let Some(price) = candidate.price {
                let nano = &mut most.nano[kept(price.currency) as usize];
                *nano = (*nano).max(price.cost_nano(input, 0, 0, output));
            }
        }
        most
    }

    fn plus(self, other: Self) -> Self {
        let nano = |at: usize| self.nano[at].saturating_add(other.nano[at]);
        Self { tokens: self.tokens.saturating_add(other.tokens), nano: std::array::from_fn(nano) }
    }

    fn minus(self, other: Self) -> Self {
        let nano = |at: usize| self.nano[at].saturating_sub(other.nano[at]);
        Self { tokens: self.tokens.saturating_sub(other.tokens), nano: std::array::from_fn(nano) }
    }

    /// Whether nothing of a budget is left.
    pub(crate) const fn exhausts(&self, budget: Budget) -> bool {
        match budget {
            Budget::Money(currency, nano) => self.nano[kept(currency) as usize] >= nano,
            Budget::Tokens(tokens) => self.tokens >= tokens,
        }
    }

    /// What it is in each currency that was paid in, as people write it.
    pub(crate) fn money(&self) -> Vec<String> {
        let paid = Currency::ALL.into_iter().zip(self.nano).filter(|(_, nano)| *nano > 0);
        paid.map(|(currency, nano)| format!("{} {}", currency.code(), amount(nano))).collect()
    }
}

/// What an attempt costs by its price (R34), which is our estimate even where upstream counted the
/// tokens; `None` where there is no price, or nobody knows what it took. `cached` and `written` are
/// parts of the input.
pub(crate) fn cost(
    candidate: &CandidateRuntime,
    input: Tokens,
    output: Tokens,
    (cached, written): (Option<u64>, Option<u64>),
) -> Option<Cost> {
    let price = candidate.price?;
    let (cached, written) = (cached.unwrap_or(0), written.unwrap_or(0));
    let nano = price.cost_nano(count(input)?, cached, written, count(output).unwrap_or(0));
    Some(Cost { currency: kept(price.currency), nano, basis: Basis::Estimated })
}

/// A currency as the store has it.
pub(crate) const fn kept(currency: ekiden_config::Currency) -> Currency {
    match currency {
        ekiden_config::Currency::Usd => Currency::Usd,
        ekiden_config::Currency::Cny => Currency::Cny,
    }
}

const fn count(tokens: Tokens) -> Option<u64> {
    match tokens {
        Tokens::Reported(count) | Tokens::Estimated(count) => Some(count),
        Tokens::Unknown => None,
    }
}

const _: () = assert!(NANO == 1_000_000_000, "both count in billionths");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g09_a_budget_is_exhausted_by_its_own_currency_alone() {
        let spent = Spent { tokens: 10, nano: [5 * NANO, 0] };
        let usd = |units| Budget::Money(ekiden_config::Currency::Usd, units * NANO);
        assert!(spent.exhausts(usd(5)) && !spent.exhausts(usd(6)));
        assert!(!spent.exhausts(Budget::Money(ekiden_config::Currency::Cny, 1)));
        assert!(spent.exhausts(Budget::Tokens(10)) && !spent.exhausts(Budget::Tokens(11)));
        assert!(Spent::default().exhausts(Budget::Tokens(0)), "nothing may be spent at all");
        assert_eq!(spent.money(), ["USD 5"]);
    }

    #[test]
    fn g09_what_open_calls_may_take_is_set_aside_until_they_end() {
        let spending = Arc::new(Spending::default());
        let (one, other): (Arc<str>, Arc<str>) = ("one".into(), "other".into());
        let budget = Budget::Tokens(100);
        let amount = |tokens| Spent { tokens, ..Spent::default() };
        let first = spending.reserve(&one, budget, amount(60)).unwrap();
        let second = spending.reserve(&one, budget, amount(60)).unwrap();
        let refused = spending.reserve(&one, budget, amount(1));
        assert_eq!(refused.unwrap_err(), Exhausted::Reserved);
        drop(spending.reserve(&other, budget, amount(1)).expect("its own budget"));
        // A day that turns ends no call.
        spending.turn(7);
        assert!(spending.reserve(&one, budget, amount(1)).is_err());
        drop(second);
        drop(spending.reserve(&one, budget, amount(1)).expect("60 of 100"));
        drop(first);
        assert!(spending.inner().reserved.is_empty(), "nothing is kept of calls that ended");
        spending.inner().by_token.insert(Arc::clone(&one), amount(100));
        let refused = spending.reserve(&one, budget, amount(1));
        assert_eq!(refused.unwrap_err(), Exhausted::Spent);
    }
}
