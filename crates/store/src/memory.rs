//! The store of one process that keeps nothing on disk. It refuses to grow without bounds.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ekiden_engine::{Quarantine, Speed, Tally};

use crate::entry::{Entry, What};
use crate::masked::Evidence;
use crate::page::{JournalFilter, PAGE_MAX, Sum, SumFilter};
use crate::record::{
    AttemptRow, AttemptState, CATALOG_BYTES_MAX, CATALOGS_MAX, CallName, CallRow, Catalog,
    DELETED_MAX, PAUSES_MAX, Place, Record,
};
use crate::{Store, Trouble};

/// How much a store keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Journal entries; older ones are pruned (R32). 0: no journal.
    pub journal_max: usize,
    /// Rows of each ledger.
    pub ledger_max: usize,
    /// Logical days of the ledgers, today included; 0: as many as there are.
    pub ledger_days: u32,
    /// Quarantines, verified marks, tallies and speeds, each.
    pub places_max: usize,
    /// Bytes of the file with its log, where there is one. When they are used up, the oldest tenth
    /// of the ledgers goes.
    pub bytes_max: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            journal_max: 200,
            ledger_max: 200_000,
            ledger_days: 30,
            places_max: 100_000,
            bytes_max: 256 << 20,
        }
    }
}

impl Bounds {
    fn in_memory(self) -> Self {
        Self { ledger_max: self.ledger_max.min(LEDGER_MAX), ..self }
    }
}

/// Rows of each ledger at most, whatever the bounds say: there is no file that they could lie in.
const LEDGER_MAX: usize = 10_000;

/// Everything in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    bounds: Bounds,
    day: u32,
    quarantined: BTreeMap<Place, Quarantine>,
    evidence: BTreeMap<Place, Evidence>,
    verified: BTreeMap<Place, u32>,
    tallies: BTreeMap<Arc<str>, (u32, Tally)>,
    speeds: BTreeMap<(Arc<str>, Arc<str>), (u32, Speed)>,
    pauses: BTreeMap<Option<Arc<str>>, u64>,
    catalogs: BTreeMap<Arc<str>, Catalog>,
    deleted: VecDeque<Arc<str>>,
    journal: VecDeque<Entry>,
    attempts: VecDeque<(u32, AttemptRow)>,
    calls: VecDeque<(u32, CallRow)>,
    /// What the rings hold: a new row, which most are, is known for one without a search.
    attempts_named: HashSet<(CallName, u32)>,
    calls_named: HashSet<CallName>,
    dropped: u64,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new(bounds: Bounds) -> Self {
        Self { kept: Mutex::new(Kept { bounds: bounds.in_memory(), ..Kept::default() }) }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // A panic while a record was taken loses that record alone.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for MemoryStore {
    fn write(&self, records: Vec<Record>) {
        let mut kept = self.kept();
        for record in records {
            if !kept.take(record) {
                kept.dropped += 1;
            }
        }
    }

    /// Nothing outlives the process here, and nothing is on its way.
    fn keep(&self, records: Vec<Record>) -> Result<(), Trouble> {
        let dropped = self.dropped();
        self.write(records);
        if self.dropped() == dropped { Ok(()) } else { Err(Trouble::Full) }
    }

    fn recall(&self) -> Vec<Record> {
        let kept = self.kept();
        let quarantined = kept.quarantined.iter().map(|(place, quarantine)| Record::Quarantined {
            place: place.clone(),
            quarantine: *quarantine,
        });
        let verified = kept
            .verified
            .iter()
            .map(|(place, day)| Record::Verified { place: place.clone(), day: *day });
        let tallies = kept.tallies.iter().map(|(route, (day, tally))| Record::Tallied {
            route: Arc::clone(route),
            day: *day,
            tally: *tally,
        });
        let speeds = kept.speeds.iter().map(|((session, route), (day, speed))| Record::Sped {
            session: Arc::clone(session),
            route: Arc::clone(route),
            day: *day,
            speed: *speed,
        });
        let pauses = kept
            .pauses
            .iter()
            .map(|(session, since)| Record::Paused { session: session.clone(), since_ms: *since });
        quarantined.chain(verified).chain(tallies).chain(speeds).chain(pauses).collect()
    }

    fn evidence(&self, sessions: &[Arc<str>]) -> Vec<(Place, Evidence)> {
        let kept = self.kept();
        let mut said = Vec::new();
        for session in sessions {
            let none: Arc<str> = Arc::from("");
            let first =
                Place { session: Arc::clone(session), queue: Arc::clone(&none), route: none };
            let own = kept.evidence.range(first..).take_while(|(at, _)| at.session == *session);
            let out = own.filter(|(place, _)| kept.quarantined.contains_key(*place));
            said.extend(out.map(|(place, evidence)| (place.clone(), evidence.clone())));
        }
        said
    }

    fn journal(&self, most: usize) -> Vec<Entry> {
        self.kept().journal.iter().rev().take(most).cloned().collect()
    }

    fn journal_page(&self, filter: &JournalFilter, most: usize) -> Vec<Entry> {
        let kept = self.kept();
        let page = kept.journal.iter().rev().filter(|entry| filter.takes(entry));
        page.take(most.min(PAGE_MAX)).cloned().collect()
    }

    fn attempts(&self, most: usize) -> Vec<AttemptRow> {
        self.kept().attempts.iter().rev().take(most).map(|(_, row)| row.clone()).collect()
    }

    fn attempts_of(&self, call: &str) -> Vec<AttemptRow> {
        let kept = self.kept();
        let own = kept.attempts.iter().map(|(_, row)| row).filter(|row| &*row.call == call);
        let mut own: Vec<_> = own.cloned().collect();
        own.sort_by_key(|row| row.attempt);
        own.truncate(PAGE_MAX);
        own
    }

    fn calls(&self, most: usize) -> Vec<CallRow> {
        self.kept().calls.iter().rev().take(most).map(|(_, row)| row.clone()).collect()
    }

    fn sums(&self, filter: &SumFilter, most: usize) -> Vec<Sum> {
        let mut sums = BTreeMap::new();
        for (day, row) in &self.kept().attempts {
            if let Some(key) = filter.key(*day, row) {
                sums.entry(key.clone()).or_insert_with(|| Sum::new(key)).add(row);
            }
        }
        sums.into_values().take(most.min(PAGE_MAX)).collect()
    }

    fn deleted_queues(&self) -> BTreeSet<String> {
        self.kept().deleted.iter().map(ToString::to_string).collect()
    }

    fn catalogs(&self) -> Vec<Catalog> {
        self.kept().catalogs.values().cloned().collect()
    }

    fn bound(&self, bounds: Bounds) {
        let mut kept = self.kept();
        kept.bounds = bounds.in_memory();
        kept.prune();
    }

    fn dropped(&self) -> u64 {
        self.kept().dropped
    }

    fn trouble(&self) -> Option<Trouble> {
        None
    }
}

impl Kept {
    /// Whether there was room for it.
    fn take(&mut self, record: Record) -> bool {
        let places_max = self.bounds.places_max;
        match record {
            Record::Quarantined { place, quarantine } => {
                let stale = quarantine.day < self.day;
                stale || put(&mut self.quarantined, place, quarantine, places_max)
            }
            Record::Lifted { place, .. } => {
                self.quarantined.remove(&place);
                self.evidence.remove(&place);
                true
            }
            Record::Verified { place, day } => {
                day < self.day || put(&mut self.verified, place, day, places_max)
            }
            Record::Unverified { place } => {
                self.verified.remove(&place);
                true
            }
            Record::Tallied { route, day, tally } => self.tallied(route, day, tally),
            Record::Sped { session, route, day, speed } => self.sped((session, route), day, speed),
            Record::Turned { day } => {
                self.turn(day);
                true
            }
            Record::QueueDeleted { queue } => {
                if !self.deleted.contains(&queue) {
                    drop(push(&mut self.deleted, queue, DELETED_MAX));
                }
                true
            }
            Record::Journal(entry) => {
                self.journal(entry);
                true
            }
            Record::Attempt(row) => {
                self.attempt(row.bounded());
                true
            }
            Record::Call(row) => {
                self.call(row);
                true
            }
            Record::Catalog(catalog) => {
                let small = catalog.json.len() <= CATALOG_BYTES_MAX;
                let provider = Arc::clone(&catalog.provider);
                small && put(&mut self.catalogs, provider, catalog, CATALOGS_MAX)
            }
            Record::CatalogForgotten { provider } => {
                self.catalogs.remove(&provider);
                true
            }
            Record::Paused { session, since_ms } => {
                put(&mut self.pauses, session, since_ms, PAUSES_MAX)
            }
            Record::Resumed { session } => {
                self.pauses.remove(&session);
                true
            }
        }
    }

    fn tallied(&mut self, route: Arc<str>, day: u32, tally: Tally) -> bool {
        let known = self.tallies.get(&route).filter(|(known, _)| *known >= day);
        if day < self.day || known.is_some_and(|(known, _)| *known > day) {
            return true;
        }
        let known = known.map(|(_, tally)| *tally).unwrap_or_default();
        let tally = Tally {
            successes: tally.successes.max(known.successes),
            failures: tally.failures.max(known.failures),
        };
        put(&mut self.tallies, route, (day, tally), self.bounds.places_max)
    }

    fn sped(&mut self, of: (Arc<str>, Arc<str>), day: u32, speed: Speed) -> bool {
        let known = self.speeds.get(&of).map(|(day, speed)| (*day, speed.tokens));
        if day < self.day || known.is_some_and(|known| known > (day, speed.tokens)) {
            return true;
        }
        put(&mut self.speeds, of, (day, speed), self.bounds.places_max)
    }

    /// What belongs to earlier days is gone; a day that has passed never comes back.
    fn turn(&mut self, day: u32) {
        self.day = self.day.max(day);
        let today = self.day;
        self.quarantined.retain(|_, out| out.day >= today);
        let quarantined = &self.quarantined;
        self.evidence.retain(|place, _| quarantined.contains_key(place));
        self.verified.retain(|_, of| *of >= today);
        self.tallies.retain(|_, (of, _)| *of >= today);
        self.speeds.retain(|_, (of, _)| *of >= today);
        self.prune();
    }

    fn journal(&mut self, entry: Entry) {
        if let What::Quarantined { place, class, evidence, .. } = &entry.what {
            let (place, evidence) = (place.clone(), evidence.clone().bounded(*class));
            put(&mut self.evidence, place, evidence, self.bounds.places_max);
        }
        let entry = Entry { what: entry.what.bounded(), ..entry };
        let later = |known: &Entry| known.number < entry.number;
        match self.journal.back() {
            Some(known) if !later(known) => {
                let place = self.journal.partition_point(later);
                match self.journal.get_mut(place).filter(|known| known.number == entry.number) {
                    Some(known) => *known = entry,
                    None => self.journal.insert(place, entry),
                }
                self.prune();
            }
            Some(_) | None => drop(push(&mut self.journal, entry, self.bounds.journal_max)),
        }
    }

    /// One row for each attempt, however often it is told of (K11). Calls run side by side, so that
    /// the earlier row of an attempt is near the end but not at it.
    fn attempt(&mut self, row: AttemptRow) {
        let name = (Arc::clone(&row.call), row.attempt);
        if self.attempts_named.contains(&name) {
            let same = |(_, known): &&mut (u32, AttemptRow)| {
                known.attempt == row.attempt && known.call == row.call
            };
            match self.attempts.iter_mut().rev().find(same) {
                Some((_, known)) if known.state != AttemptState::Sent => {}
                Some(known) => *known = (self.day, row),
                None => {}
            }
            return;
        }
        if let Some((_, oldest)) = push(&mut self.attempts, (self.day, row), self.bounds.ledger_max)
        {
            self.attempts_named.remove(&(oldest.call, oldest.attempt));
        }
        if self.bounds.ledger_max > 0 {
            self.attempts_named.insert(name);
        }
    }

    fn call(&mut self, row: CallRow) {
        let name = Arc::clone(&row.call);
        if self.calls_named.contains(&name) {
            let same = |(_, known): &&mut (u32, CallRow)| known.call == row.call;
            if let Some((_, known)) = self.calls.iter_mut().rev().find(same) {
                *known = row;
            }
            return;
        }
        if let Some((_, oldest)) = push(&mut self.calls, (self.day, row), self.bounds.ledger_max) {
            self.calls_named.remove(&oldest.call);
        }
        if self.bounds.ledger_max > 0 {
            self.calls_named.insert(name);
        }
    }

    fn name_rows(&mut self) {
        let attempts = self.attempts.iter();
        self.attempts_named =
            attempts.map(|(_, row)| (Arc::clone(&row.call), row.attempt)).collect();
        self.calls_named = self.calls.iter().map(|(_, row)| Arc::clone(&row.call)).collect();
    }

    fn prune(&mut self) {
        let Bounds { journal_max, ledger_max, ledger_days, .. } = self.bounds;
        let first_day = match ledger_days {
            0 => 0,
            days => (self.day + 1).saturating_sub(days),
        };
        self.journal.drain(..self.journal.len().saturating_sub(journal_max));
        self.attempts.retain(|(day, _)| *day >= first_day);
        self.attempts.drain(..self.attempts.len().saturating_sub(ledger_max));
        self.calls.retain(|(day, _)| *day >= first_day);
        self.calls.drain(..self.calls.len().saturating_sub(ledger_max));
        self.name_rows();
    }
}

/// Whether there was room for it.
fn put<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: V, most: usize) -> bool {
    let room = map.len() < most || map.contains_key(&key);
    if room {
        map.insert(key, value);
    }
    room
}

/// Adds to a ring that is not over its bound, and gives what had to go for it.
fn push<T>(ring: &mut VecDeque<T>, item: T, most: usize) -> Option<T> {
    if most == 0 {
        return None;
    }
    let oldest = if ring.len() >= most { ring.pop_front() } else { None };
    ring.push_back(item);
    oldest
}

#[cfg(test)]
mod tests;
