//! The rows of the ledgers (R34). It refuses a second row of the same name. The file has no index of
//! names: nearly every row is new, and would pay for it twice, when it comes and when it goes.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};

use rusqlite::{CachedStatement, Connection, OptionalExtension as _, ToSql, params};

use super::super::int;
use super::Taking;
use crate::record::{AttemptRow, AttemptState, Basis, CallRow, Tokens};
use crate::words::Word as _;

const ATTEMPT: &str = "INSERT INTO attempt (call, attempt, session, queue, route, day, began_ms, \
    took_ms, state, class, status, input_tokens, input_source, output_tokens, output_source, \
    wasted, cached_tokens, written_tokens, cost_nano, currency, cost_source, token) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, \
    ?20, ?21, ?22)";

const ATTEMPT_AGAIN: &str = "UPDATE attempt SET session = ?3, queue = ?4, route = ?5, day = ?6, \
    began_ms = ?7, took_ms = ?8, state = ?9, class = ?10, status = ?11, input_tokens = ?12, \
    input_source = ?13, output_tokens = ?14, output_source = ?15, wasted = ?16, \
    cached_tokens = ?17, written_tokens = ?18, cost_nano = ?19, currency = ?20, \
    cost_source = ?21, token = ?22 WHERE id = ?23 AND call = ?1 AND attempt = ?2";

const CALL: &str = "INSERT INTO call (call, session, queue, day, began_ms, took_ms, attempts, route, \
    ending) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";

const CALL_AGAIN: &str = "UPDATE call SET session = ?2, queue = ?3, began_ms = ?5, took_ms = ?6, \
    attempts = ?7, route = ?8, ending = ?9 WHERE id = ?10 AND call = ?1";

/// How many of the newest rows are remembered by name. What is told again of a row comes while it is
/// new; or the row is of an attempt that was still open, and those are remembered beside.
const NEWEST: i64 = 4_096;

/// Names that are remembered at most.
const KNOWN_MAX: usize = 16_384;

/// Where the newest rows of one ledger are. A name stands here as a hash with a key of this process,
/// so that nobody can choose names that meet; whether two did, the row says.
#[derive(Debug, Default)]
pub(super) struct Rows {
    key: RandomState,
    ids: HashMap<u64, Known>,
    last: i64,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    id: i64,
    state: State,
}

/// Whether more is to come of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Open,
    Over,
}

impl State {
    const fn of(attempt: AttemptState) -> Self {
        match attempt {
            AttemptState::Sent => Self::Open,
            AttemptState::Unknown | AttemptState::Complete => Self::Over,
        }
    }
}

impl Rows {
    fn name(&self, name: impl Hash) -> u64 {
        self.key.hash_one(name)
    }

    fn id(&self, name: u64) -> Option<i64> {
        self.ids.get(&name).map(|known| known.id)
    }

    fn put(&mut self, name: u64, id: i64, state: State) {
        self.ids.insert(name, Known { id, state });
        self.last = self.last.max(id);
    }

    /// Forgets what is no longer new, now and then.
    pub(super) fn forget(&mut self) {
        let gone = self.last.saturating_sub(NEWEST);
        if self.ids.len() > KNOWN_MAX {
            self.ids.retain(|_, known| known.id > gone || known.state == State::Open);
        }
        // Ends that were dropped on a full disk never come.
        if self.ids.len() > KNOWN_MAX {
            self.ids.retain(|_, known| known.id > gone);
        }
    }

    pub(super) fn of_attempts(file: &Connection) -> rusqlite::Result<Self> {
        let mut rows = Self::default();
        let newest = "SELECT id, call, attempt FROM attempt ORDER BY id DESC LIMIT ?1";
        let mut statement = file.prepare(newest)?;
        let mut newest = statement.query([NEWEST])?;
        while let Some(row) = newest.next()? {
            let attempt: u32 = row.get(2).unwrap_or_default();
            let name = rows.name((row.get_ref(1)?.as_str().unwrap_or_default(), attempt));
            rows.put(name, row.get(0)?, State::Over);
        }
        Ok(rows)
    }

    pub(super) fn of_calls(file: &Connection) -> rusqlite::Result<Self> {
        let mut rows = Self::default();
        let mut statement = file.prepare("SELECT id, call FROM call ORDER BY id DESC LIMIT ?1")?;
        let mut newest = statement.query([NEWEST])?;
        while let Some(row) = newest.next()? {
            let name = rows.name(row.get_ref(1)?.as_str().unwrap_or_default());
            rows.put(name, row.get(0)?, State::Over);
        }
        Ok(rows)
    }
}

impl Taking<'_> {
    /// One row for each attempt, however often it is told of (K11): what is known of its end stays.
    pub(super) fn attempt(&mut self, row: &AttemptRow) -> rusqlite::Result<()> {
        let row = row.clone().bounded();
        let (input, input_source) = tokens(row.input);
        let (output, output_source) = tokens(row.output);
        let name = self.known.attempts.name((&*row.call, row.attempt));
        let known = self.known.attempts.id(name);
        let values: &[&dyn ToSql] = params![
            &*row.call,
            row.attempt,
            &*row.place.session,
            &*row.place.queue,
            &*row.place.route,
            self.known.day,
            int(row.began_ms),
            int(row.took_ms),
            row.state.word(),
            row.class.map(ekiden_engine::Class::name),
            row.status,
            input,
            input_source,
            output,
            output_source,
            row.wasted,
            row.cached.map(int),
            row.cache_written.map(int),
            row.cost.map(|cost| int(cost.nano)),
            row.cost.map(|cost| cost.currency.code()),
            row.cost.map(|cost| basis(cost.basis)),
            row.token.as_deref(),
            known
        ];
        if let Some(id) = known {
            let state = "SELECT state FROM attempt WHERE id = ?1 AND call = ?2 AND attempt = ?3";
            let state: Option<String> = self
                .file
                .prepare_cached(state)?
                .query_row(params![id, &*row.call, row.attempt], |row| row.get(0))
                .optional()?;
            if let Some(state) = state {
                if state == AttemptState::Sent.word() {
                    self.run(ATTEMPT_AGAIN, values)?;
                    self.known.attempts.put(name, id, State::of(row.state));
                }
                return Ok(());
            }
        }
        ready(&mut self.attempt, self.file, ATTEMPT)?.execute(&values[..values.len() - 1])?;
        self.known.attempts.put(name, self.file.last_insert_rowid(), State::of(row.state));
        self.grown.ledgers = true;
        Ok(())
    }

    /// One row for each call; the last that was told of it holds.
    pub(super) fn call(&mut self, row: &CallRow) -> rusqlite::Result<()> {
        let name = self.known.calls.name(&*row.call);
        let known = self.known.calls.id(name);
        let values: &[&dyn ToSql] = params![
            &*row.call,
            &*row.session,
            &*row.queue,
            self.known.day,
            int(row.began_ms),
            int(row.took_ms),
            row.attempts,
            row.route.as_deref(),
            row.ending.word(),
            known
        ];
        if known.is_some() && self.run(CALL_AGAIN, values)? > 0 {
            return Ok(());
        }
        ready(&mut self.call, self.file, CALL)?.execute(&values[..values.len() - 1])?;
        self.known.calls.put(name, self.file.last_insert_rowid(), State::Over);
        self.grown.ledgers = true;
        Ok(())
    }
}

/// A statement that is looked up once for all records of a transaction.
fn ready<'s, 'f>(
    place: &'s mut Option<CachedStatement<'f>>,
    file: &'f Connection,
    sql: &str,
) -> rusqlite::Result<&'s mut CachedStatement<'f>> {
    match place {
        Some(ready) => Ok(ready),
        none => Ok(none.insert(file.prepare_cached(sql)?)),
    }
}

const fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::Reported => "reported",
        Basis::Estimated => "estimated",
    }
}

fn tokens(tokens: Tokens) -> (Option<i64>, Option<&'static str>) {
    match tokens {
        Tokens::Reported(count) => (Some(int(count)), Some("reported")),
        Tokens::Estimated(count) => (Some(int(count)), Some("estimated")),
        Tokens::Unknown => (None, None),
    }
}
