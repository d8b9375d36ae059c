//! The store of one process in one SQLite file that people can open.
//!
//! It refuses to make anybody wait: records go to a thread of its own through a bounded queue, at
//! most [`BATCH_MS_MAX`] are gathered into one transaction, and reading goes through a connection of
//! its own that the writer never blocks. It refuses files that are not its own or that a newer
//! program has written.
//!
//! Killed at any moment it has lost at most what was gathered. After a power cut quarantines,
//! releases, pauses and deleted ids are as old as that too; the other records may be as old as the
//! system's cache (see `docs/storage.md`).

mod apply;
mod open;
mod queue;
mod read;
mod writer;

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;

use crate::entry::Entry;
use crate::masked::Evidence;
use crate::memory::Bounds;
use crate::page::{JournalFilter, Sum, SumFilter};
use crate::record::{AttemptRow, CallRow, Catalog, DELETED_MAX, Place, Record};
use crate::{Store, Trouble};

pub use open::OpenError;
use queue::Queue;
use writer::Writer;

/// The file's name in its folder; SQLite keeps a log and an index of it beside it.
pub const FILE_NAME: &str = "ekiden.sqlite";

/// Milliseconds for which records are gathered before they are written together (G12). Tallies and
/// speeds are gathered over several of these spans.
pub const BATCH_MS_MAX: u64 = 250;

/// Everything in one file.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    queue: Arc<Queue>,
    /// Absent only while it is dropped.
    reader: Mutex<Option<Connection>>,
    /// Ids of queues that this process deleted, oldest first: a call that comes before the writer
    /// has written them is to find them too. It is never held while a disk is waited for.
    deleted: Mutex<VecDeque<Arc<str>>>,
    writer: Option<JoinHandle<()>>,
}

impl SqliteStore {
    /// Opens the file of that folder, or makes it, brings it to the newest version and begins to
    /// write. The folder is there and is this process's own: see [`crate::StateFolder`].
    ///
    /// # Errors
    /// When the file is of a newer version, of another program, damaged, or cannot be used. The
    /// file is then as it was.
    pub fn open(folder: &Path, bounds: Bounds) -> Result<Self, OpenError> {
        let path = folder.join(FILE_NAME);
        let connection = open::writing(&path)?;
        let reader = open::reading(&path)?;
        let queue = Arc::new(Queue::new());
        queue.bound(bounds);
        let writer = Writer::new(connection, Arc::clone(&queue), bounds);
        let thread = std::thread::Builder::new().name("ekiden-store".into());
        let writer = thread.spawn(move || writer.run()).map_err(|source| OpenError::Unusable {
            path: path.clone(),
            source: Box::new(source),
        })?;
        let (reader, deleted) = (Mutex::new(Some(reader)), Mutex::default());
        Ok(Self { path, queue, reader, deleted, writer: Some(writer) })
    }

    /// Where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn remember_deleted(&self, records: &[Record]) {
        for record in records {
            let Record::QueueDeleted { queue } = record else { continue };
            let mut fresh = self.fresh();
            if !fresh.contains(queue) {
                fresh.push_back(Arc::clone(queue));
            }
            if fresh.len() > DELETED_MAX {
                fresh.pop_front();
            }
        }
    }

    fn fresh(&self) -> MutexGuard<'_, VecDeque<Arc<str>>> {
        self.deleted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a question finds; what cannot be read is missing in it, and counts as trouble.
    fn read<T>(&self, ask: impl FnOnce(&Connection) -> rusqlite::Result<Vec<T>>) -> Vec<T> {
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(reader) = reader.as_ref() else { return Vec::new() };
        ask(reader).unwrap_or_else(|_| {
            self.queue.set_trouble(Some(Trouble::Disk));
            Vec::new()
        })
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        // The last connection to be closed empties the log into the file; only the writer may.
        *self.reader.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        self.queue.close();
        if let Some(writer) = self.writer.take() {
            // A writer that panicked has nothing left to say.
            let _ = writer.join();
        }
    }
}

impl Store for SqliteStore {
    fn write(&self, records: Vec<Record>) {
        if !records.is_empty() {
            self.remember_deleted(&records);
            self.queue.push(records);
        }
    }

    fn keep(&self, records: Vec<Record>) -> Result<(), Trouble> {
        self.remember_deleted(&records);
        let outcome = self.queue.push_all(records)?;
        outcome.recv().unwrap_or(Err(Trouble::Ended))
    }

    fn recall(&self) -> Vec<Record> {
        self.read(read::recall)
    }

    fn evidence(&self, sessions: &[Arc<str>]) -> Vec<(Place, Evidence)> {
        self.read(|reader| read::evidence(reader, sessions))
    }

    fn journal(&self, most: usize) -> Vec<Entry> {
        self.read(|reader| read::journal(reader, &JournalFilter::default(), most))
    }

    fn journal_page(&self, filter: &JournalFilter, most: usize) -> Vec<Entry> {
        self.read(|reader| read::journal(reader, filter, most.min(crate::PAGE_MAX)))
    }

    fn attempts(&self, most: usize) -> Vec<AttemptRow> {
        self.read(|reader| read::attempts(reader, most))
    }

    fn attempts_of(&self, call: &str) -> Vec<AttemptRow> {
        self.read(|reader| read::attempts_of(reader, call))
    }

    fn calls(&self, most: usize) -> Vec<CallRow> {
        self.read(|reader| read::calls(reader, most))
    }

    fn sums(&self, filter: &SumFilter, most: usize) -> Vec<Sum> {
        self.read(|reader| read::sums(reader, filter, most.min(crate::PAGE_MAX)))
    }

    fn deleted_queues(&self) -> BTreeSet<String> {
        let mut ids = self.read(read::deleted_queues);
        let fresh: Vec<_> = {
            let kept: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
            let fresh = self.fresh();
            fresh.iter().filter(|id| !kept.contains(&***id)).map(ToString::to_string).collect()
        };
        ids.extend(fresh);
        // The file forgets its oldest ones when these arrive in it.
        let over = ids.len().saturating_sub(DELETED_MAX);
        ids.into_iter().skip(over).collect()
    }

    fn catalogs(&self) -> Vec<Catalog> {
        self.read(read::catalogs)
    }

    fn bound(&self, bounds: Bounds) {
        self.queue.bound(bounds);
    }

    fn dropped(&self) -> u64 {
        self.queue.dropped()
    }

    fn trouble(&self) -> Option<Trouble> {
        self.queue.trouble()
    }
}

/// A number as SQLite has it: the largest one stands for all that are larger.
fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
