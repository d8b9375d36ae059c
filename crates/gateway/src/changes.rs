//! What has changed lately, for those who look on.
//!
//! It refuses to grow and to wait: a bounded ring, in which whoever reads too slowly finds a gap and
//! is told so. Nothing is put into words until somebody reads it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ekiden_store::Record;
use tokio::sync::watch;

/// Changes that are remembered.
const KEPT_MAX: usize = 2_048;

/// The last changes, numbered from 1.
#[derive(Debug)]
pub(crate) struct Changes {
    ring: Mutex<Ring>,
    newest: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Ring {
    last: u64,
    kept: VecDeque<Change>,
}

/// One change.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// What is kept changed too.
    Kept(Record),
    /// A call came.
    Opened(Arc<Opened>),
    /// A session or call got a seat, or gave it back.
    Seat {
        /// `provider/model`.
        route: Arc<str>,
        /// The session's key, or the call's id.
        holder: Arc<str>,
        /// Whether it has it now.
        held: bool,
    },
    /// The settings are others.
    Settings,
}

/// A call that came.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) call: Arc<str>,
    pub(crate) session: Arc<str>,
    pub(crate) agent: Option<Arc<str>>,
    pub(crate) queue: Arc<str>,
    pub(crate) began_ms: u64,
}

/// What a reader finds behind a number.
#[derive(Debug)]
pub(crate) enum Read {
    /// The changes since, the first one with that number.
    Since(u64, Vec<Change>),
    /// Some are forgotten, or the number is none of ours; this is the newest one.
    Gap(u64),
}

impl Default for Changes {
    fn default() -> Self {
        Self { ring: Mutex::default(), newest: watch::Sender::new(0) }
    }
}

impl Changes {
    /// Takes the records that people look at.
    pub(crate) fn kept(&self, records: &[Record]) {
        self.push(records.iter().filter(|record| shown(record)).cloned().map(Change::Kept));
    }

    /// Takes changes, oldest first.
    pub(crate) fn push(&self, changes: impl IntoIterator<Item = Change>) {
        let mut ring = self.ring();
        let before = ring.last;
        for change in changes {
            ring.last += 1;
            ring.kept.push_back(change);
            if ring.kept.len() > KEPT_MAX {
                ring.kept.pop_front();
            }
        }
        let last = ring.last;
        drop(ring);
        if last != before {
            let looked_at = self.newest.receiver_count() > 0;
            self.newest.send_if_modified(|newest| {
                let later = last > *newest;
                *newest = last.max(*newest);
                // Nobody is woken where nobody looks on: it is done several times a call.
                later && looked_at
            });
        }
    }

    /// The number of the newest change; 0: there is none yet.
    pub(crate) fn last(&self) -> u64 {
        self.ring().last
    }

    /// Wakes when there are newer ones.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    /// At most so many changes after that one.
    pub(crate) fn after(&self, number: u64, most: usize) -> Read {
        let ring = self.ring();
        let forgotten = ring.last - ring.kept.len() as u64;
        if number < forgotten || number > ring.last {
            return Read::Gap(ring.last);
        }
        let skip = (number - forgotten) as usize;
        Read::Since(number + 1, ring.kept.iter().skip(skip).take(most).cloned().collect())
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        // A panic between two lines costs one number.
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether people look at it. Quarantines and days stand in the journal's own entries.
const fn shown(record: &Record) -> bool {
    match record {
        Record::Verified { .. }
        | Record::Unverified { .. }
        | Record::QueueDeleted { .. }
        | Record::Journal(_)
        | Record::Attempt(_)
        | Record::Call(_)
        | Record::Tallied { .. }
        | Record::Sped { .. } => true,
        Record::Quarantined { .. }
        | Record::Lifted { .. }
        | Record::Turned { .. }
        | Record::Catalog(_)
        | Record::CatalogForgotten { .. }
        | Record::Paused { .. }
        | Record::Resumed { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(read: &Read) -> (u64, usize) {
        match read {
            Read::Since(first, changes) => (*first, changes.len()),
            Read::Gap(newest) => (*newest, usize::MAX),
        }
    }

    #[test]
    fn a_reader_goes_on_where_it_stopped_and_a_slow_one_finds_a_gap() {
        let changes = Changes::default();
        assert_eq!(numbers(&changes.after(0, 10)), (1, 0));
        changes.push([Change::Settings, Change::Settings, Change::Settings]);
        assert_eq!(numbers(&changes.after(0, 10)), (1, 3));
        assert_eq!(numbers(&changes.after(1, 1)), (2, 1));
        assert_eq!(numbers(&changes.after(4, 1)), (3, usize::MAX), "a number of another process");
        changes.push((0..KEPT_MAX).map(|_| Change::Settings));
        let last = changes.last();
        assert_eq!(numbers(&changes.after(2, 10)), (last, usize::MAX));
        assert_eq!(numbers(&changes.after(3, 10)), (4, 10));
        assert_eq!(*changes.watch().borrow(), last);
    }
}
