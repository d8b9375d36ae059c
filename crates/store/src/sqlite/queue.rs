//! What waits to be written. It refuses to grow: beyond its bound records are dropped and counted,
//! so that whoever serves never waits for a disk.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::Trouble;
use crate::memory::Bounds;
use crate::record::Record;

/// Records that may wait. A record takes some hundred bytes.
pub(super) const WAITING_MAX: usize = 16_384;
/// The last quarter is for facts: a lost ledger row is a gap, a lost fact a wrong decision later.
const WAITING_ROWS_MAX: usize = WAITING_MAX / 4 * 3;
/// Bytes of catalogs that may wait.
const WAITING_BYTES_MAX: usize = 64 << 20;
/// So many records are written without waiting for more: half of what may wait, so that there is
/// room for what comes meanwhile.
const BATCH_MIN: usize = WAITING_MAX / 2;

/// Between everybody and the writer.
#[derive(Debug)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    more: Condvar,
    dropped: AtomicU64,
    trouble: AtomicU8,
}

#[derive(Debug)]
struct Waiting {
    records: Vec<Record>,
    bytes: usize,
    askers: Vec<Asker>,
    bounds: Option<Bounds>,
    end: End,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Open,
    Closing,
    Ended,
}

/// Whoever waits for a batch to be kept.
pub(super) type Asker = SyncSender<Result<(), Trouble>>;

/// What the writer has at hand while it waits for work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AtHand {
    /// Nothing.
    Nothing,
    /// Something that is written when nothing else comes for so long.
    Held(Duration),
    /// Something that could not be written before, to be tried again after so long.
    Unwritten(Duration),
}

/// What the writer is to do next.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) records: Vec<Record>,
    pub(super) askers: Vec<Asker>,
    pub(super) bounds: Option<Bounds>,
    pub(super) last: bool,
}

impl Queue {
    pub(super) fn new() -> Self {
        let waiting = Waiting {
            records: Vec::new(),
            bytes: 0,
            askers: Vec::new(),
            bounds: None,
            end: End::Open,
        };
        Self {
            waiting: Mutex::new(waiting),
            more: Condvar::new(),
            dropped: AtomicU64::new(0),
            trouble: AtomicU8::new(0),
        }
    }

    /// Takes what there is room for.
    pub(super) fn push(&self, records: Vec<Record>) {
        let mut waiting = self.lock();
        let before = waiting.records.len();
        let dropped = waiting.take(records);
        // In between the writer sleeps until its batch is due: each wake of it costs a call.
        let wakes = before == 0 || waiting.records.len() >= BATCH_MIN;
        drop(waiting);
        if wakes {
            self.more.notify_one();
        }
        if dropped > 0 {
            self.lose(dropped);
            self.set_trouble(Some(Trouble::Behind));
        }
    }

    /// Takes everything or nothing, and gives where to wait for the outcome.
    pub(super) fn push_all(
        &self,
        records: Vec<Record>,
    ) -> Result<Receiver<Result<(), Trouble>>, Trouble> {
        let mut waiting = self.lock();
        if waiting.end != End::Open {
            return Err(Trouble::Ended);
        }
        if !waiting.has_room_for(&records) {
            return Err(Trouble::Behind);
        }
        let dropped = waiting.take(records);
        let (asker, outcome) = sync_channel(1);
        waiting.askers.push(asker);
        drop(waiting);
        self.lose(dropped);
        self.more.notify_one();
        Ok(outcome)
    }

    pub(super) fn bound(&self, bounds: Bounds) {
        self.lock().bounds = Some(bounds);
        self.more.notify_one();
    }

    /// Waits for work, then for more of it, at most `batch` from its first record on. With something
    /// at hand there may be no work.
    pub(super) fn next(&self, batch: Duration, at_hand: AtHand) -> Work {
        let idle = |waiting: &mut Waiting| waiting.records.is_empty() && !waiting.hurried();
        let more = |waiting: &mut Waiting| waiting.records.len() < BATCH_MIN && !waiting.hurried();
        let mut waiting = self.lock();
        let mut most = batch;
        match at_hand {
            AtHand::Nothing => {
                let waited = self.more.wait_while(waiting, idle);
                waiting = waited.unwrap_or_else(PoisonError::into_inner);
            }
            AtHand::Held(patience) => {
                let waited = self.more.wait_timeout_while(waiting, patience, idle);
                let (now, came) = waited.unwrap_or_else(PoisonError::into_inner);
                waiting = now;
                if came.timed_out() {
                    most = Duration::ZERO;
                }
            }
            AtHand::Unwritten(patience) => most = patience,
        }
        let waited = self.more.wait_timeout_while(waiting, most, more);
        let (mut waiting, _) = waited.unwrap_or_else(PoisonError::into_inner);
        waiting.bytes = 0;
        Work {
            records: std::mem::take(&mut waiting.records),
            askers: std::mem::take(&mut waiting.askers),
            bounds: waiting.bounds.take(),
            last: waiting.end == End::Closing,
        }
    }

    /// The writer is to end when all is written.
    pub(super) fn close(&self) {
        self.lock().end = End::Closing;
        self.more.notify_one();
    }

    /// The writer has ended: whatever still comes is dropped.
    pub(super) fn ended(&self) {
        let mut waiting = self.lock();
        waiting.end = End::Ended;
        let lost = waiting.records.len();
        waiting.records.clear();
        waiting.askers.clear();
        drop(waiting);
        self.lose(lost);
    }

    pub(super) fn lose(&self, records: usize) {
        self.dropped.fetch_add(records as u64, Ordering::Relaxed);
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(super) fn set_trouble(&self, trouble: Option<Trouble>) {
        let code = match trouble {
            None => 0,
            Some(Trouble::Full) => 1,
            Some(Trouble::Locked) => 2,
            Some(Trouble::Behind) => 3,
            Some(Trouble::Disk) => 4,
            Some(Trouble::Ended) => 5,
        };
        self.trouble.store(code, Ordering::Relaxed);
    }

    pub(super) fn trouble(&self) -> Option<Trouble> {
        match self.trouble.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(Trouble::Full),
            2 => Some(Trouble::Locked),
            3 => Some(Trouble::Behind),
            4 => Some(Trouble::Disk),
            _ => Some(Trouble::Ended),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Nothing under this lock can panic half way.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn hurried(&self) -> bool {
        self.end != End::Open || !self.askers.is_empty() || self.bounds.is_some()
    }

    fn has_room_for(&self, records: &[Record]) -> bool {
        let bytes: usize = records.iter().map(weight).sum();
        self.records.len() + records.len() <= WAITING_MAX && self.bytes + bytes <= WAITING_BYTES_MAX
    }

    /// How many were dropped.
    fn take(&mut self, records: Vec<Record>) -> usize {
        let all = records.len();
        if self.end == End::Ended {
            return all;
        }
        let before = self.records.len();
        for record in records {
            let most = if record.is_row() { WAITING_ROWS_MAX } else { WAITING_MAX };
            let bytes = self.bytes + weight(&record);
            if self.records.len() < most && bytes <= WAITING_BYTES_MAX {
                self.bytes = bytes;
                self.records.push(record);
            }
        }
        all - (self.records.len() - before)
    }
}

/// Only catalogs are worth weighing.
fn weight(record: &Record) -> usize {
    match record {
        Record::Catalog(catalog) => catalog.json.len(),
        Record::Quarantined { .. }
        | Record::Lifted { .. }
        | Record::Verified { .. }
        | Record::Unverified { .. }
        | Record::Turned { .. }
        | Record::QueueDeleted { .. }
        | Record::Journal(_)
        | Record::Attempt(_)
        | Record::Call(_)
        | Record::Tallied { .. }
        | Record::Sped { .. }
        | Record::CatalogForgotten { .. }
        | Record::Paused { .. }
        | Record::Resumed { .. } => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Entry, What};

    fn row(number: u64) -> Record {
        Record::Journal(Entry { number, at_ms: 0, call: None, what: What::Slept { ms: 1 } })
    }

    #[test]
    fn g12_a_full_queue_drops_rows_before_facts_and_counts_them() {
        let queue = Queue::new();
        queue.push((0..WAITING_MAX as u64).map(row).collect());
        assert_eq!(queue.dropped(), (WAITING_MAX - WAITING_ROWS_MAX) as u64);
        let facts = vec![Record::Turned { day: 1 }; WAITING_MAX];
        queue.push(facts);
        let dropped = WAITING_MAX as u64;
        assert_eq!(queue.dropped(), dropped);
        assert_eq!(queue.push_all(vec![row(0)]).unwrap_err(), Trouble::Behind);
        assert_eq!(queue.next(Duration::ZERO, AtHand::Nothing).records.len(), WAITING_MAX);
        queue.push(vec![row(1)]);
        assert_eq!(queue.dropped(), dropped);
    }

    #[test]
    fn what_comes_after_the_end_is_counted() {
        let queue = Queue::new();
        queue.push(vec![row(1)]);
        queue.close();
        let work = queue.next(Duration::from_secs(600), AtHand::Nothing);
        assert!(work.last && work.records.len() == 1);
        queue.ended();
        queue.push(vec![row(2), row(3)]);
        assert_eq!(queue.dropped(), 2);
        assert_eq!(queue.push_all(Vec::new()).unwrap_err(), Trouble::Ended);
    }
}
