//! The thread that writes. It refuses to give up: what cannot be written now is tried again, and
//! what is dropped is counted.

mod ended;
mod sums;

use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use super::apply::{Known, Room, Taking};
use super::queue::{AtHand, Queue, WAITING_MAX, Work};
use super::{BATCH_MS_MAX, int};
use crate::Trouble;
use crate::memory::Bounds;
use crate::record::Record;

use ended::ended;
use sums::{Due, Sums};

const BATCH: Duration = Duration::from_millis(BATCH_MS_MAX);
/// When facts that could not be written are tried again.
const RETRY: Duration = Duration::from_secs(1);
/// The part of the file's bound that the log may take: at most so many bytes, and a quarter.
const LOG_BYTES_MAX: u64 = 8 << 20;
/// What SQLite's index of its log takes.
const INDEX_BYTES: u64 = 64 << 10;
/// How often room is made for one batch: each time a tenth of the ledgers goes.
const TRIMS_MAX: usize = 20;

#[derive(Debug)]
pub(super) struct Writer {
    connection: Connection,
    queue: Arc<Queue>,
    bounds: Bounds,
    /// What the file says of itself; read again when a transaction was undone.
    known: Option<Known>,
    /// What could not be written yet.
    held: Vec<Record>,
    sums: Sums,
    /// Whether the bounds could not be kept when they changed.
    overdue: bool,
    syncing: Sync,
}

/// How far a commit goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sync {
    /// To the system's cache: it outlives the process.
    Process,
    /// To the disk: it outlives a power cut, and so does all before it.
    Power,
}

/// Whatever ends the thread, nobody waits for it in vain.
struct Farewell(Arc<Queue>);

impl Drop for Farewell {
    fn drop(&mut self) {
        self.0.ended();
        self.0.set_trouble(Some(Trouble::Ended));
    }
}

impl Writer {
    pub(super) fn new(connection: Connection, queue: Arc<Queue>, bounds: Bounds) -> Self {
        let held = Vec::new();
        let sums = Sums::default();
        Self {
            connection,
            queue,
            bounds,
            known: None,
            held,
            sums,
            overdue: false,
            syncing: Sync::Process,
        }
    }

    pub(super) fn run(mut self) {
        let _farewell = Farewell(Arc::clone(&self.queue));
        loop {
            let at_hand = self.at_hand();
            let Work { mut records, askers, bounds, last } = self.queue.next(BATCH, at_hand);
            let asked = last || !askers.is_empty();
            let idle = records.is_empty() && matches!(at_hand, AtHand::Held(_));
            let due = if asked || idle || bounds.is_some() { Due::Now } else { Due::InTime };
            self.sums.sift(&mut records, due);
            if let Some(bounds) = bounds {
                self.bounds = bounds;
                // A bound that cannot be kept now is kept with the next batch, or the next one that can.
                self.overdue = self.shrink().is_err();
            }
            if records.is_empty() && self.held.is_empty() && !asked {
                continue;
            }
            let outcome = self.batch(records, asked);
            self.queue.set_trouble(outcome.err());
            for asker in askers {
                // Whoever no longer waits does not want to know.
                let _ = asker.send(outcome);
            }
            if last {
                break;
            }
        }
        self.queue.lose(self.held.len());
        // An undone checkpoint is done when the file is opened next.
        let _ = self.connection.pragma_update(None, "wal_checkpoint", "truncate");
    }

    fn at_hand(&self) -> AtHand {
        if !self.held.is_empty() {
            AtHand::Unwritten(RETRY)
        } else if !self.sums.is_empty() {
            AtHand::Held(BATCH)
        } else {
            AtHand::Nothing
        }
    }

    /// Writes what was held back and what is new, as far as there is room.
    fn batch(&mut self, new: Vec<Record>, asked: bool) -> Result<(), Trouble> {
        let mut records = std::mem::take(&mut self.held);
        records.extend(new);
        if records.is_empty() {
            return Ok(());
        }
        let precious = asked || records.iter().any(Record::is_precious);
        let sync = if precious { Sync::Power } else { Sync::Process };
        let mut outcome = self.sync(sync).and_then(|()| self.commit(&records));
        for _ in 0..TRIMS_MAX {
            let full = outcome.as_ref().is_err_and(|error| trouble(error) == Trouble::Full);
            if !full || !self.trim().is_ok_and(|gone| gone > 0) {
                break;
            }
            outcome = self.commit(&records);
        }
        match outcome.map_err(|error| trouble(&error)) {
            Ok(0) => Ok(()),
            Ok(lost) => {
                self.queue.lose(lost);
                Err(Trouble::Full)
            }
            Err(Trouble::Locked) => {
                self.hold(records);
                Err(Trouble::Locked)
            }
            Err(why) => {
                // Facts before rows: without these there may be room.
                let all = records.len();
                records.retain(|record| !record.is_row());
                let rows = all - records.len();
                self.queue.lose(rows);
                match self.commit(&records) {
                    Ok(lost) => self.queue.lose(lost),
                    Err(_) => self.hold(records),
                }
                Err(why)
            }
        }
    }

    fn hold(&mut self, mut records: Vec<Record>) {
        let all = records.len();
        if all > WAITING_MAX {
            records.retain(|record| !record.is_row());
            records.truncate(WAITING_MAX);
        }
        self.queue.lose(all - records.len());
        self.held = records;
    }

    /// One transaction; how many records found no room.
    fn commit(&mut self, records: &[Record]) -> rusqlite::Result<usize> {
        if records.is_empty() {
            return Ok(0);
        }
        // Taken out, so that a transaction that is undone leaves nothing half known.
        let known = self.known.take();
        let change = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut known = match known {
            Some(known) => known,
            None => Known::read(&change)?,
        };
        let mut lost = 0;
        let mut taking = Taking::new(&change, &mut known, &self.bounds);
        for record in ended(records) {
            match taking.take(record) {
                Ok(Room::Found) => {}
                Ok(Room::None) => lost += 1,
                // One record that SQLite cannot take is no reason to lose the others.
                Err(error) if is_own_fault(&error) => lost += 1,
                Err(error) => return Err(error),
            }
        }
        if self.overdue {
            taking.prune_all()?;
        } else {
            taking.prune()?;
        }
        drop(taking);
        change.commit()?;
        self.known = Some(known);
        self.overdue = false;
        Ok(lost)
    }

    fn sync(&mut self, sync: Sync) -> rusqlite::Result<()> {
        if self.syncing != sync {
            let how = match sync {
                Sync::Process => "normal",
                Sync::Power => "full",
            };
            self.connection.pragma_update(None, "synchronous", how)?;
            self.syncing = sync;
        }
        Ok(())
    }

    /// Drops the oldest tenth of the ledgers; how many rows went.
    fn trim(&mut self) -> rusqlite::Result<usize> {
        let change = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut gone = 0;
        for table in ["attempt", "call"] {
            gone += change.execute(
                &format!(
                    "DELETE FROM {table} WHERE id <= (SELECT min(id) + (max(id) - min(id)) / 10 FROM {table})"
                ),
                [],
            )?;
        }
        change.commit()?;
        Ok(gone)
    }

    /// Brings the file within its bounds.
    fn shrink(&mut self) -> rusqlite::Result<()> {
        let log = LOG_BYTES_MAX.min(self.bounds.bytes_max / 4);
        let page = self.number("page_size")?.max(1);
        let pages = int(self.bounds.bytes_max.saturating_sub(log + INDEX_BYTES)) / page;
        self.connection.pragma_update(None, "wal_autocheckpoint", (int(log) / page / 2).max(1))?;
        self.connection.pragma_update(None, "journal_size_limit", int(log))?;
        let known = self.known.take();
        let change = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut known = match known {
            Some(known) => known,
            None => Known::read(&change)?,
        };
        Taking::new(&change, &mut known, &self.bounds).prune_all()?;
        change.commit()?;
        self.known = Some(known);
        if self.number("page_count")? > pages {
            // Without the older bound in the way.
            self.connection.pragma_update(None, "max_page_count", i64::from(u32::MAX - 1))?;
            while self.number("page_count")? - self.number("freelist_count")? > pages
                && self.trim()? > 0
            {}
            self.connection.execute_batch("VACUUM")?;
        }
        self.connection.pragma_update(None, "max_page_count", pages.max(1))
    }

    fn number(&self, pragma: &str) -> rusqlite::Result<i64> {
        self.connection.pragma_query_value(None, pragma, |row| row.get(0))
    }
}

/// Whether it is the record that SQLite refuses, and not the disk.
fn is_own_fault(error: &rusqlite::Error) -> bool {
    match error.sqlite_error_code() {
        Some(code) => matches!(
            code,
            ErrorCode::TooBig | ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch
        ),
        None => true,
    }
}

fn trouble(error: &rusqlite::Error) -> Trouble {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Trouble::Full,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Trouble::Locked,
        Some(_) | None => Trouble::Disk,
    }
}
