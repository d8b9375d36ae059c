//! What outlives a call: facts, journal, ledger, catalogs, pauses and the ids of deleted queues.
//!
//! It refuses to decide, to wait and to know a prompt: whoever writes hands over typed records and
//! goes on at once; what is written is names, classes, numbers and, of an error, at most
//! [`ERROR_CHARS_MAX`] characters with the keys masked (R17). It reads no clock: times stand in the
//! records.
//!
//! Engine numbers mean nothing after a restart, so that records carry names. [`SqliteStore`] writes
//! the records to one file through a thread of its own; [`MemoryStore`] is the reference. Both pass
//! the same tests.

mod entry;
mod folder;
mod line;
mod masked;
mod memory;
mod page;
mod record;
mod sqlite;
mod words;

use std::collections::BTreeSet;
use std::sync::Arc;

pub use entry::{Entry, Told, Waited, What};
pub use folder::{FolderError, StateFolder};
pub use masked::{ERROR_CHARS_MAX, Evidence, masked};
pub use memory::{Bounds, MemoryStore};
pub use page::{JournalFilter, MoneySum, PAGE_MAX, Share, Sum, SumBy, SumFilter, SumKey, TokenSum};
pub use record::{
    AttemptRow, AttemptState, Basis, CATALOG_BYTES_MAX, CallName, CallRow, Catalog, Cost, Currency,
    Ending, Place, Record, Tokens,
};
pub use sqlite::{BATCH_MS_MAX, FILE_NAME, OpenError, SqliteStore};

/// Where records go, and where they come from after a restart.
///
/// `write` never waits. All that reads, and `keep` and `flush`, may wait for a disk: call them where
/// waiting hurts nobody. What was written may take [`BATCH_MS_MAX`] to be read.
pub trait Store: Send + Sync + std::fmt::Debug {
    /// Takes records in the order in which they became true. It returns at once: a store that
    /// cannot keep up, or whose disk is full, drops records and counts them. The records of one
    /// `write` are kept together or not at all, unless the disk is full; tallies and speeds, which are
    /// told anew by every attempt, may be kept some seconds later than the rest.
    fn write(&self, records: Vec<Record>);

    /// As `write`, but returns only when the records, and all before them, outlive the process: for
    /// what a person was told is set.
    ///
    /// # Errors
    /// When they may not: why.
    fn keep(&self, records: Vec<Record>) -> Result<(), Trouble>;

    /// Returns when all that was taken so far outlives the process.
    ///
    /// # Errors
    /// When some of what was still on its way may not: why.
    fn flush(&self) -> Result<(), Trouble> {
        self.keep(Vec::new())
    }

    /// What still holds of what was kept, in an order in which it can be taken up again:
    /// quarantines, verified marks, tallies, speeds, pauses.
    fn recall(&self) -> Vec<Record>;

    /// What the candidates that are quarantined for these sessions said when they failed, where the
    /// journal was told (R17); in the order of the sessions. It outlives the journal's own entries.
    fn evidence(&self, sessions: &[Arc<str>]) -> Vec<(Place, Evidence)>;

    /// The newest journal entries, at most so many, newest first.
    fn journal(&self, most: usize) -> Vec<Entry>;

    /// The newest journal entries that a filter takes, at most so many and at most [`PAGE_MAX`],
    /// newest first.
    fn journal_page(&self, filter: &JournalFilter, most: usize) -> Vec<Entry>;

    /// The newest rows of the attempt ledger, at most so many, newest first.
    fn attempts(&self, most: usize) -> Vec<AttemptRow>;

    /// The attempts of one call, in order, at most [`PAGE_MAX`].
    fn attempts_of(&self, call: &str) -> Vec<AttemptRow>;

    /// The newest rows of the call ledger, at most so many, newest first.
    fn calls(&self, most: usize) -> Vec<CallRow>;

    /// The attempt ledger, summed: at most so many lines and at most [`PAGE_MAX`], in the order of
    /// their keys (R34).
    fn sums(&self, filter: &SumFilter, most: usize) -> Vec<Sum>;

    /// The ids of queues that were deleted (R1).
    fn deleted_queues(&self) -> BTreeSet<String>;

    /// The cached catalogs, by provider (R37).
    fn catalogs(&self) -> Vec<Catalog>;

    /// From now on these bounds hold; what exceeds them goes.
    fn bound(&self, bounds: Bounds);

    /// How many records were dropped since the start.
    fn dropped(&self) -> u64;

    /// Why records are not being kept at this moment; `None`: they are.
    fn trouble(&self) -> Option<Trouble>;
}

/// Why records are not being kept. Serving goes on; recording goes on by itself once it can.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Trouble {
    /// The disk, or the file's bound, leaves no room: make room.
    #[error("the disk, or the bound of the file, leaves no room")]
    Full,
    /// Another program holds the file: end it.
    #[error("another program holds the file")]
    Locked,
    /// More comes than can be written: records are dropped.
    #[error("more comes than can be written")]
    Behind,
    /// The file cannot be written, or not read: look at disk and permissions.
    #[error("the file cannot be written or read")]
    Disk,
    /// The writer has ended.
    #[error("the writer has ended")]
    Ended,
}
