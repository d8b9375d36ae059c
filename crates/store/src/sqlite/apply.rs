//! One record into the file. It refuses what a day has left behind, and what exceeds a bound.

use rusqlite::{CachedStatement, Connection, OptionalExtension as _, ToSql, params};

use ekiden_engine::{Quarantine, Speed, Tally};

use super::int;
use crate::entry::{Entry, What};
use crate::line::Line;
use crate::masked::Evidence;
use crate::memory::Bounds;
use crate::record::{
    AttemptRow, Basis, CATALOG_BYTES_MAX, CATALOGS_MAX, CallRow, DELETED_MAX, PAUSES_MAX, Place,
    Record, Tokens,
};
use crate::words::Word as _;

/// What the file says of itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    pub(super) day: u32,
    /// Rows of each table that has a bound.
    rows: [usize; 7],
}

/// A table with a bound on its rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Table {
    Quarantine,
    Evidence,
    Verified,
    Tally,
    Speed,
    Catalog,
    Pause,
}

/// Whether a record was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Room {
    Found,
    None,
}

impl Table {
    const ALL: [Self; 7] = [
        Self::Quarantine,
        Self::Evidence,
        Self::Verified,
        Self::Tally,
        Self::Speed,
        Self::Catalog,
        Self::Pause,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Quarantine => "quarantine",
            Self::Evidence => "evidence",
            Self::Verified => "verified",
            Self::Tally => "tally",
            Self::Speed => "speed",
            Self::Catalog => "catalog",
            Self::Pause => "pause",
        }
    }

    const fn rows_max(self, bounds: &Bounds) -> usize {
        match self {
            Self::Quarantine | Self::Evidence | Self::Verified | Self::Tally | Self::Speed => {
                bounds.places_max
            }
            Self::Catalog => CATALOGS_MAX,
            Self::Pause => PAUSES_MAX,
        }
    }
}

impl Known {
    pub(super) fn read(file: &Connection) -> rusqlite::Result<Self> {
        let day = file.query_row("SELECT number FROM day", [], |row| row.get(0)).optional()?;
        let mut known = Self { day: day.unwrap_or(0), ..Self::default() };
        for table in Table::ALL {
            let count = format!("SELECT count(*) FROM {}", table.name());
            let count: i64 = file.query_row(&count, [], |row| row.get(0))?;
            known.rows[table as usize] = usize::try_from(count).unwrap_or(0);
        }
        Ok(known)
    }
}

/// One record under one set of bounds, in an open transaction.
struct Change<'a> {
    file: &'a Connection,
    known: &'a mut Known,
    bounds: &'a Bounds,
}

/// Takes one record.
pub(super) fn apply(
    file: &Connection,
    known: &mut Known,
    bounds: &Bounds,
    record: &Record,
) -> rusqlite::Result<Room> {
    let mut change = Change { file, known, bounds };
    match record {
        Record::Quarantined { place, quarantine } => change.quarantined(place, quarantine),
        Record::Lifted { place, .. } => {
            change.remove(Table::Quarantine, place)?;
            change.remove(Table::Evidence, place)
        }
        Record::Verified { place, day } => change.verified(place, *day),
        Record::Unverified { place } => change.remove(Table::Verified, place),
        Record::Turned { day } => change.turned(*day),
        Record::QueueDeleted { queue } => change.queue_deleted(queue),
        Record::Journal(entry) => change.journal(entry),
        Record::Attempt(row) => change.attempt(row),
        Record::Call(row) => change.call(row),
        Record::Tallied { route, day, tally } => change.tallied(route, *day, *tally),
        Record::Sped { session, route, day, speed } => change.sped(session, route, *day, *speed),
        Record::Catalog(catalog) => {
            if catalog.json.len() > CATALOG_BYTES_MAX {
                return Ok(Room::None);
            }
            let values = params![&*catalog.provider, catalog.version, &*catalog.json];
            change.put(
                Table::Catalog,
                "UPDATE catalog SET version = ?2, json = ?3 WHERE provider = ?1",
                "INSERT INTO catalog VALUES (?1, ?2, ?3)",
                values,
            )
        }
        Record::CatalogForgotten { provider } => change.delete(
            Table::Catalog,
            "DELETE FROM catalog WHERE provider = ?1",
            &[&&**provider],
        ),
        Record::Paused { session, since_ms } => {
            let (of_session, session) = pause_key(session.as_deref());
            change.put(
                Table::Pause,
                "UPDATE pause SET since_ms = ?3 WHERE of_session = ?1 AND session = ?2",
                "INSERT INTO pause VALUES (?1, ?2, ?3)",
                params![of_session, session, int(*since_ms)],
            )
        }
        Record::Resumed { session } => {
            let (of_session, session) = pause_key(session.as_deref());
            let sql = "DELETE FROM pause WHERE of_session = ?1 AND session = ?2";
            change.delete(Table::Pause, sql, params![of_session, session])
        }
    }
}

/// Drops what exceeds the bounds, oldest first.
pub(super) fn prune(file: &Connection, bounds: &Bounds, day: u32) -> rusqlite::Result<()> {
    let journal = "DELETE FROM journal WHERE number <= \
        (SELECT number FROM journal ORDER BY number DESC LIMIT 1 OFFSET ?1)";
    file.prepare_cached(journal)?.execute([int(bounds.journal_max as u64)])?;
    let first_day = match bounds.ledger_days {
        0 => 0,
        days => (day + 1).saturating_sub(days),
    };
    for (by_count, by_age) in [
        (
            "DELETE FROM attempt WHERE id <= (SELECT max(id) FROM attempt) - ?1",
            "DELETE FROM attempt WHERE day < ?1",
        ),
        (
            "DELETE FROM call WHERE id <= (SELECT max(id) FROM call) - ?1",
            "DELETE FROM call WHERE day < ?1",
        ),
    ] {
        file.prepare_cached(by_count)?.execute([int(bounds.ledger_max as u64)])?;
        file.prepare_cached(by_age)?.execute([first_day])?;
    }
    Ok(())
}

impl Change<'_> {
    fn quarantined(&mut self, place: &Place, out: &Quarantine) -> rusqlite::Result<Room> {
        if out.day < self.known.day {
            return Ok(Room::Found);
        }
        self.put(
            Table::Quarantine,
            "UPDATE quarantine SET class = ?4, day = ?5, since_ms = ?6, until_ms = ?7, \
             parole_ms = ?8, paroles = ?9 WHERE session = ?1 AND queue = ?2 AND route = ?3",
            "INSERT INTO quarantine VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                &*place.session,
                &*place.queue,
                &*place.route,
                out.class.name(),
                out.day,
                int(out.since_ms),
                out.until_ms.map(int),
                out.parole_ms.map(int),
                out.paroles
            ],
        )
    }

    fn verified(&mut self, place: &Place, day: u32) -> rusqlite::Result<Room> {
        if day < self.known.day {
            return Ok(Room::Found);
        }
        self.put(
            Table::Verified,
            "UPDATE verified SET day = ?4 WHERE session = ?1 AND queue = ?2 AND route = ?3",
            "INSERT INTO verified VALUES (?1, ?2, ?3, ?4)",
            params![&*place.session, &*place.queue, &*place.route, day],
        )
    }

    fn tallied(&mut self, route: &str, day: u32, tally: Tally) -> rusqlite::Result<Room> {
        if day < self.known.day {
            return Ok(Room::Found);
        }
        self.put(
            Table::Tally,
            "UPDATE tally SET day = max(day, ?2), \
             successes = CASE WHEN day > ?2 THEN successes WHEN day = ?2 THEN max(successes, ?3) \
             ELSE ?3 END, \
             failures = CASE WHEN day > ?2 THEN failures WHEN day = ?2 THEN max(failures, ?4) \
             ELSE ?4 END WHERE route = ?1",
            "INSERT INTO tally VALUES (?1, ?2, ?3, ?4)",
            params![route, day, tally.successes, tally.failures],
        )
    }

    fn sped(
        &mut self,
        session: &str,
        route: &str,
        day: u32,
        speed: Speed,
    ) -> rusqlite::Result<Room> {
        if day < self.known.day {
            return Ok(Room::Found);
        }
        self.put(
            Table::Speed,
            "UPDATE speed SET day = max(day, ?3), \
             tokens = CASE WHEN (day, tokens) > (?3, ?4) THEN tokens ELSE ?4 END, \
             speaking_ms = CASE WHEN (day, tokens) > (?3, ?4) THEN speaking_ms ELSE ?5 END \
             WHERE session = ?1 AND route = ?2",
            "INSERT INTO speed VALUES (?1, ?2, ?3, ?4, ?5)",
            params![session, route, day, int(speed.tokens), int(speed.speaking_ms)],
        )
    }

    /// What belongs to earlier days is gone; a day that has passed never comes back.
    fn turned(&mut self, day: u32) -> rusqlite::Result<Room> {
        if day <= self.known.day {
            return Ok(Room::Found);
        }
        self.known.day = day;
        self.run("INSERT INTO day VALUES (1, ?1) ON CONFLICT DO UPDATE SET number = ?1", &[&day])?;
        for (table, sql) in [
            (Table::Quarantine, "DELETE FROM quarantine WHERE day < ?1"),
            (Table::Verified, "DELETE FROM verified WHERE day < ?1"),
            (Table::Tally, "DELETE FROM tally WHERE day < ?1"),
            (Table::Speed, "DELETE FROM speed WHERE day < ?1"),
        ] {
            self.delete(table, sql, &[&day])?;
        }
        let orphans = "DELETE FROM evidence WHERE NOT EXISTS (SELECT 1 FROM quarantine AS out \
             WHERE (out.session, out.queue, out.route) = \
             (evidence.session, evidence.queue, evidence.route))";
        self.delete(Table::Evidence, orphans, &[])
    }

    fn queue_deleted(&mut self, queue: &str) -> rusqlite::Result<Room> {
        let sql = "INSERT INTO deleted_queue (queue) VALUES (?1) ON CONFLICT DO NOTHING";
        self.run(sql, &[&queue])?;
        let sql = "DELETE FROM deleted_queue WHERE id <= \
            (SELECT max(id) FROM deleted_queue) - ?1";
        self.run(sql, &[&int(DELETED_MAX as u64)])?;
        Ok(Room::Found)
    }

    fn journal(&mut self, entry: &Entry) -> rusqlite::Result<Room> {
        let what = entry.what.clone().bounded();
        if let What::Quarantined { place, evidence, .. } = &what {
            self.evidence(place, evidence)?;
        }
        if self.bounds.journal_max == 0 {
            return Ok(Room::Found);
        }
        let line = Line::of(&what);
        let seen = &line.evidence;
        self.run(
            "INSERT OR REPLACE INTO journal VALUES \
             (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
            params![
                int(entry.number),
                int(entry.at_ms),
                entry.call.as_deref(),
                what.kind(),
                line.session.as_deref(),
                line.queue.as_deref(),
                line.route.as_deref(),
                line.other.as_deref(),
                line.class.map(ekiden_engine::Class::name),
                line.word.as_deref(),
                line.amount.map(int),
                line.until_ms.map(int),
                line.parole_ms.map(int),
                seen.status,
                seen.code,
                seen.param,
                seen.message
            ],
        )?;
        Ok(Room::Found)
    }

    /// Kept apart from its journal entry, which is pruned earlier, and from its quarantine, which
    /// may come later.
    fn evidence(&mut self, place: &Place, seen: &Evidence) -> rusqlite::Result<Room> {
        self.put(
            Table::Evidence,
            "UPDATE evidence SET status = ?4, code = ?5, param = ?6, message = ?7 \
             WHERE session = ?1 AND queue = ?2 AND route = ?3",
            "INSERT INTO evidence VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                &*place.session,
                &*place.queue,
                &*place.route,
                seen.status,
                seen.code,
                seen.param,
                seen.message
            ],
        )
    }

    /// One row for each attempt, however often it is told of (K11).
    fn attempt(&mut self, row: &AttemptRow) -> rusqlite::Result<Room> {
        let row = row.clone().bounded();
        let (input, input_source) = tokens(row.input);
        let (output, output_source) = tokens(row.output);
        self.run(
            "INSERT INTO attempt (call, attempt, session, queue, route, day, began_ms, took_ms, \
             state, class, status, input_tokens, input_source, output_tokens, output_source, \
             wasted, cached_tokens, written_tokens, cost_nano, currency, cost_source, token) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, \
             ?18, ?19, ?20, ?21, ?22) \
             ON CONFLICT (call, attempt) DO UPDATE SET session = ?3, queue = ?4, route = ?5, \
             day = ?6, began_ms = ?7, took_ms = ?8, state = ?9, class = ?10, status = ?11, \
             input_tokens = ?12, input_source = ?13, output_tokens = ?14, output_source = ?15, \
             wasted = ?16, cached_tokens = ?17, written_tokens = ?18, cost_nano = ?19, \
             currency = ?20, cost_source = ?21, token = ?22 WHERE state = 'sent'",
            params![
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
                row.token.as_deref()
            ],
        )?;
        Ok(Room::Found)
    }

    fn call(&mut self, row: &CallRow) -> rusqlite::Result<Room> {
        self.run(
            "INSERT INTO call (call, session, queue, day, began_ms, took_ms, attempts, route, \
             ending) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) \
             ON CONFLICT (call) DO UPDATE SET session = ?2, queue = ?3, began_ms = ?5, \
             took_ms = ?6, attempts = ?7, route = ?8, ending = ?9",
            params![
                &*row.call,
                &*row.session,
                &*row.queue,
                self.known.day,
                int(row.began_ms),
                int(row.took_ms),
                row.attempts,
                row.route.as_deref(),
                row.ending.word()
            ],
        )?;
        Ok(Room::Found)
    }

    /// Changes the row that is there, else adds one if there is room.
    fn put(
        &mut self,
        table: Table,
        update: &str,
        insert: &str,
        values: &[&dyn ToSql],
    ) -> rusqlite::Result<Room> {
        if self.run(update, values)? > 0 {
            return Ok(Room::Found);
        }
        if self.known.rows[table as usize] >= table.rows_max(self.bounds) {
            return Ok(Room::None);
        }
        self.known.rows[table as usize] += self.run(insert, values)?;
        Ok(Room::Found)
    }

    fn remove(&mut self, table: Table, place: &Place) -> rusqlite::Result<Room> {
        let name = table.name();
        let sql = format!("DELETE FROM {name} WHERE session = ?1 AND queue = ?2 AND route = ?3");
        self.delete(table, &sql, params![&*place.session, &*place.queue, &*place.route])
    }

    fn delete(&mut self, table: Table, sql: &str, values: &[&dyn ToSql]) -> rusqlite::Result<Room> {
        let gone = self.run(sql, values)?;
        let rows = &mut self.known.rows[table as usize];
        *rows = rows.saturating_sub(gone);
        Ok(Room::Found)
    }

    fn run(&self, sql: &str, values: &[&dyn ToSql]) -> rusqlite::Result<usize> {
        let mut statement: CachedStatement<'_> = self.file.prepare_cached(sql)?;
        statement.execute(values)
    }
}

fn pause_key(session: Option<&str>) -> (bool, &str) {
    (session.is_some(), session.unwrap_or_default())
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
