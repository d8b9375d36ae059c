//! One record into the file. It refuses what a day has left behind, and what exceeds a bound.

mod ledger;

use rusqlite::{CachedStatement, Connection, OptionalExtension as _, ToSql, params};

use ekiden_engine::{Quarantine, Speed, Tally};

use super::int;
use crate::entry::{Entry, What};
use crate::line::Line;
use crate::masked::Evidence;
use crate::memory::Bounds;
use crate::record::{CATALOG_BYTES_MAX, CATALOGS_MAX, DELETED_MAX, PAUSES_MAX, Place, Record};
use ledger::Rows;

/// What the file says of itself.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) day: u32,
    /// Rows of each table that has a bound.
    rows: [usize; 7],
    attempts: Rows,
    calls: Rows,
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
        let (attempts, calls) = (Rows::of_attempts(file)?, Rows::of_calls(file)?);
        let mut known = Self { day: day.unwrap_or(0), rows: [0; 7], attempts, calls };
        for table in Table::ALL {
            let count = format!("SELECT count(*) FROM {}", table.name());
            let count: i64 = file.query_row(&count, [], |row| row.get(0))?;
            known.rows[table as usize] = usize::try_from(count).unwrap_or(0);
        }
        Ok(known)
    }
}

/// Takes records under one set of bounds, in an open transaction.
pub(super) struct Taking<'a> {
    file: &'a Connection,
    known: &'a mut Known,
    bounds: &'a Bounds,
    /// What nearly every record is written with: found in the cache once, not for each.
    attempt: Option<CachedStatement<'a>>,
    call: Option<CachedStatement<'a>>,
    /// What there may be too much of now.
    grown: Grown,
}

/// What was added since the bounds were last kept.
#[derive(Clone, Copy, Debug, Default)]
struct Grown {
    journal: bool,
    ledgers: bool,
    /// Another day makes rows older.
    days: bool,
}

impl<'a> Taking<'a> {
    pub(super) fn new(file: &'a Connection, known: &'a mut Known, bounds: &'a Bounds) -> Self {
        let grown = Grown::default();
        Self { file, known, bounds, attempt: None, call: None, grown }
    }

    /// Takes one record.
    pub(super) fn take(&mut self, record: &Record) -> rusqlite::Result<Room> {
        match record {
            Record::Quarantined { place, quarantine } => self.quarantined(place, quarantine),
            Record::Lifted { place, .. } => {
                self.remove(Table::Quarantine, place)?;
                self.remove(Table::Evidence, place)
            }
            Record::Verified { place, day } => self.verified(place, *day),
            Record::Unverified { place } => self.remove(Table::Verified, place),
            Record::Turned { day } => self.turned(*day),
            Record::QueueDeleted { queue } => self.queue_deleted(queue),
            Record::Journal(entry) => self.journal(entry),
            Record::Attempt(row) => self.attempt(row).map(|()| Room::Found),
            Record::Call(row) => self.call(row).map(|()| Room::Found),
            Record::Tallied { route, day, tally } => self.tallied(route, *day, *tally),
            Record::Sped { session, route, day, speed } => self.sped(session, route, *day, *speed),
            Record::Catalog(catalog) => {
                if catalog.json.len() > CATALOG_BYTES_MAX {
                    return Ok(Room::None);
                }
                let values = params![&*catalog.provider, catalog.version, &*catalog.json];
                self.put(
                    Table::Catalog,
                    "UPDATE catalog SET version = ?2, json = ?3 WHERE provider = ?1",
                    "INSERT INTO catalog VALUES (?1, ?2, ?3)",
                    values,
                )
            }
            Record::CatalogForgotten { provider } => self.delete(
                Table::Catalog,
                "DELETE FROM catalog WHERE provider = ?1",
                &[&&**provider],
            ),
            Record::Paused { session, since_ms } => {
                let (of_session, session) = pause_key(session.as_deref());
                self.put(
                    Table::Pause,
                    "UPDATE pause SET since_ms = ?3 WHERE of_session = ?1 AND session = ?2",
                    "INSERT INTO pause VALUES (?1, ?2, ?3)",
                    params![of_session, session, int(*since_ms)],
                )
            }
            Record::Resumed { session } => {
                let (of_session, session) = pause_key(session.as_deref());
                let sql = "DELETE FROM pause WHERE of_session = ?1 AND session = ?2";
                self.delete(Table::Pause, sql, params![of_session, session])
            }
        }
    }

    /// Drops what exceeds the bounds, oldest first, where something was added.
    pub(super) fn prune(&mut self) -> rusqlite::Result<()> {
        let Grown { journal, ledgers, days } = self.grown;
        if journal {
            let sql = "DELETE FROM journal WHERE number <= \
                (SELECT number FROM journal ORDER BY number DESC LIMIT 1 OFFSET ?1)";
            self.run(sql, &[&int(self.bounds.journal_max as u64)])?;
        }
        let rows_max = int(self.bounds.ledger_max as u64);
        if ledgers {
            for sql in [
                "DELETE FROM attempt WHERE id <= (SELECT max(id) FROM attempt) - ?1",
                "DELETE FROM call WHERE id <= (SELECT max(id) FROM call) - ?1",
            ] {
                self.run(sql, &[&rows_max])?;
            }
            self.known.attempts.forget();
            self.known.calls.forget();
        }
        if days {
            let first_day = match self.bounds.ledger_days {
                0 => 0,
                days => (self.known.day + 1).saturating_sub(days),
            };
            for sql in ["DELETE FROM attempt WHERE day < ?1", "DELETE FROM call WHERE day < ?1"] {
                self.run(sql, &[&first_day])?;
            }
        }
        Ok(())
    }

    /// Drops all that exceeds the bounds.
    pub(super) fn prune_all(&mut self) -> rusqlite::Result<()> {
        self.grown = Grown { journal: true, ledgers: true, days: true };
        self.prune()
    }

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
        self.grown.days = true;
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
        self.grown.journal = true;
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
