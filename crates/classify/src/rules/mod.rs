//! The rules, as data.
//!
//! No rule is written for one body: each names what a vendor documents, or what several bodies share, and cites at
//! least two of them. They are tried in order and the first that holds decides: codes with a fixed meaning, sizes,
//! money, filters, load, limits by their window, walls, names, capabilities, and the bare status last.

use ekiden_engine::class::{Class, Reach};

mod codes;
mod limits;
mod money;
mod requests;
mod sizes;
mod status;
mod talk;
mod transport;

/// One rule of the table.
///
/// It holds if the status is one of `statuses` (or none are given), one of `gate` occurs (or none are given), none
/// of `unless` occurs, and one of `codes` or one of `words` does (or neither is given).
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its name in docs and tests.
    pub id: &'static str,
    /// What it decides.
    pub class: Class,
    /// Read for [`Class::InvalidRequest`] alone.
    pub reach: Reach,
    /// Machine codes, compared without case and separators; `minimax:1008` is a number of one vendor's envelope.
    pub codes: &'static [&'static str],
    /// Patterns in the words of the messages (`*` a gap, `#` a number, `~` a word boundary).
    pub words: &'static [&'static str],
    /// Patterns of which one must occur besides.
    pub gate: &'static [&'static str],
    /// Patterns of which none may occur.
    pub unless: &'static [&'static str],
    /// Statuses, first and last of each range.
    pub statuses: &'static [(u16, u16)],
    /// Whether a wait of over an hour shows that this is a quota after all.
    pub long_wait_is_quota: bool,
    /// Two or more bodies of the corpus, or pages of the vendors' documentation. In WebAssembly there are none: a
    /// module that is loaded by hosts has no room for what only readers of the docs look up.
    pub cites: &'static [&'static str],
}

impl Rule {
    const fn new(id: &'static str, class: Class) -> Self {
        Self {
            id,
            class,
            reach: Reach::ModelSpecific,
            codes: &[],
            words: &[],
            gate: &[],
            unless: &[],
            statuses: &[],
            long_wait_is_quota: false,
            cites: &[],
        }
    }

    const fn codes(mut self, codes: &'static [&'static str]) -> Self {
        self.codes = codes;
        self
    }

    const fn words(mut self, words: &'static [&'static str]) -> Self {
        self.words = words;
        self
    }

    const fn gate(mut self, gate: &'static [&'static str]) -> Self {
        self.gate = gate;
        self
    }

    const fn unless(mut self, unless: &'static [&'static str]) -> Self {
        self.unless = unless;
        self
    }

    const fn statuses(mut self, statuses: &'static [(u16, u16)]) -> Self {
        self.statuses = statuses;
        self
    }

    const fn universal(mut self) -> Self {
        self.reach = Reach::Universal;
        self
    }

    const fn or_quota_after_an_hour(mut self) -> Self {
        self.long_wait_is_quota = true;
        self
    }

    const fn cites(mut self, cites: &'static [&'static str]) -> Self {
        if cfg!(not(target_family = "wasm")) {
            self.cites = cites;
        }
        self
    }
}

/// The tables in their order. A rule's number is its place in all of them together.
pub(crate) const TABLES: [&[Rule]; 8] = [
    codes::RULES,
    sizes::RULES,
    money::RULES,
    limits::RULES,
    requests::RULES,
    status::RULES,
    transport::RULES,
    talk::RULES,
];

/// Rules in all tables.
pub(crate) const RULES_MAX: usize = ANSWERED + transport::RULES.len() + talk::RULES.len();

const ANSWERED: usize = {
    let (mut table, mut count) = (0, 0);
    while table < 6 {
        count += TABLES[table].len();
        table += 1;
    }
    count
};

/// The number of the rule that holds for the words of a library whose connection failed.
pub(crate) const CONNECTION_TALK: usize = ANSWERED + transport::RULES.len();
/// The number of the rule that holds where a connection was refused or reset, and not by a proxy.
pub(crate) const TURNED_AWAY: usize = CONNECTION_TALK + 1;

/// Every rule for what an upstream answered, in the order in which they are tried, then those for connections.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    answered().chain(transport()).map(|(_, rule)| rule)
}

/// The rules for what an upstream answered, with their numbers.
pub(crate) fn answered() -> impl Iterator<Item = (usize, &'static Rule)> {
    TABLES.into_iter().flatten().enumerate().take(ANSWERED)
}

/// The rules for connections that gave no answer, with their numbers.
pub(crate) fn transport() -> impl Iterator<Item = (usize, &'static Rule)> {
    (ANSWERED..).zip(transport::RULES)
}
