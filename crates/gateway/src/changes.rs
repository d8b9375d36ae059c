//! What has changed lately, for those who look on.
//!
//! It refuses to grow and to wait: a bounded ring, in which whoever reads too slowly finds a gap and
//! is told so. Nothing is put into words until somebody reads it, and nothing is kept that nobody can
//! ask for: every reader has read before, or begins with what is newest.

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
    /// So many more are kept though nobody looks on: whoever left may come back and go on.
    kept_unseen: usize,
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
        let shown = records.iter().filter(|record| shown(record));
        self.push(shown, |record| Change::Kept(record.clone()));
    }

    /// Takes changes, oldest first. They are made only if somebody may read them.
    pub(crate) fn push<T>(
        &self,
        things: impl IntoIterator<Item = T>,
        change: impl Fn(T) -> Change,
    ) {
        let looked_at = self.newest.receiver_count() > 0;
        let mut ring = self.ring();
        let before = ring.last;
        for thing in things {
            ring.take(|| change(thing), looked_at);
        }
        let last = ring.last;
        drop(ring);
        if last != before {
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
        let mut ring = self.ring();
        ring.kept_unseen = KEPT_MAX;
        ring.last
    }

    /// Wakes when there are newer ones.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    /// At most so many changes after that one.
    pub(crate) fn after(&self, number: u64, most: usize) -> Read {
        let mut ring = self.ring();
        ring.kept_unseen = KEPT_MAX;
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

impl Ring {
    fn take(&mut self, change: impl FnOnce() -> Change, looked_at: bool) {
        self.last += 1;
        if looked_at {
            self.kept_unseen = KEPT_MAX;
        } else if let Some(left) = self.kept_unseen.checked_sub(1) {
            self.kept_unseen = left;
        } else {
            // All of them are behind what the last reader could go on with.
            return self.kept.clear();
        }
        self.kept.push_back(change());
        if self.kept.len() > KEPT_MAX {
            self.kept.pop_front();
        }
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

    fn push(changes: &Changes, number: usize) {
        changes.push(0..number, |_| Change::Settings);
    }

    #[test]
    fn what_nobody_can_ask_for_is_neither_made_nor_kept() {
        let changes = Changes::default();
        changes.push(0..9, |_| unreachable!("nobody has looked yet"));
        let reader = changes.watch();
        assert_eq!(numbers(&changes.after(9, 10)), (10, 0), "a reader begins with the newest");
        push(&changes, 3);
        drop(reader);
        push(&changes, KEPT_MAX - 3);
        assert_eq!(numbers(&changes.after(9, usize::MAX)), (10, KEPT_MAX), "it came back in time");
        push(&changes, KEPT_MAX);
        changes.push(0..1, |_| unreachable!("whoever read last is too far behind"));
        let newest = 10 + 2 * KEPT_MAX as u64;
        assert_eq!(numbers(&changes.after(9, 1)), (newest, usize::MAX));
        push(&changes, 2);
        assert_eq!(numbers(&changes.after(newest, 10)), (newest + 1, 2));
        assert_eq!(numbers(&changes.after(newest - 1, 10)), (newest + 2, usize::MAX));
    }

    #[test]
    fn a_reader_goes_on_where_it_stopped_and_a_slow_one_finds_a_gap() {
        let changes = Changes::default();
        assert_eq!(numbers(&changes.after(0, 10)), (1, 0));
        push(&changes, 3);
        assert_eq!(numbers(&changes.after(0, 10)), (1, 3));
        assert_eq!(numbers(&changes.after(1, 1)), (2, 1));
        assert_eq!(numbers(&changes.after(4, 1)), (3, usize::MAX), "a number of another process");
        push(&changes, KEPT_MAX);
        let last = changes.last();
        assert_eq!(numbers(&changes.after(2, 10)), (last, usize::MAX));
        assert_eq!(numbers(&changes.after(3, 10)), (4, 10));
        assert_eq!(*changes.watch().borrow(), last);
    }
}
