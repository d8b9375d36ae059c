//! Sums that are told again and again, each time with all that is known: tallies and speeds of the
//! day (R29, R30). They are gathered over several batches and written once. It refuses to hold back
//! anything else: these are statistics, and nothing is decided by them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use crate::record::Record;

/// Sums are written with every so many batches, or when nothing else comes.
const BATCHES: u32 = 24;
/// More sums than this are not held.
const HELD_MAX: usize = 16_384;

/// Whether what is held is to be written now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Due {
    Now,
    /// When it has been held long enough.
    InTime,
}

/// What a sum is of.
#[derive(PartialEq, Eq, Hash, Debug)]
enum Thing {
    Route(Arc<str>),
    Session(Arc<str>, Arc<str>),
}

#[derive(Debug, Default)]
pub(super) struct Sums {
    /// In the order in which each was first told.
    held: Vec<Record>,
    places: HashMap<Thing, usize>,
    batches: u32,
}

impl Sums {
    pub(super) const fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Takes the sums out of a batch, and puts those behind it that are due.
    pub(super) fn sift(&mut self, records: &mut Vec<Record>, due: Due) {
        // Across a turn of the day each sum stays where it was told.
        let turns = records.iter().any(|record| matches!(record, Record::Turned { .. }));
        if turns {
            records.splice(..0, self.release());
        } else {
            for record in records.extract_if(.., |record| thing(record).is_some()) {
                self.add(record);
            }
        }
        self.batches += 1;
        if due == Due::Now || self.batches >= BATCHES || self.held.len() >= HELD_MAX {
            records.append(&mut self.release());
        }
    }

    fn add(&mut self, record: Record) {
        let Some(thing) = thing(&record) else { return };
        match self.places.entry(thing) {
            Entry::Vacant(new) => {
                new.insert(self.held.len());
                self.held.push(record);
            }
            Entry::Occupied(known) => {
                if let Some(known) = self.held.get_mut(*known.get()) {
                    merge(known, record);
                }
            }
        }
    }

    fn release(&mut self) -> Vec<Record> {
        self.batches = 0;
        self.places.clear();
        std::mem::take(&mut self.held)
    }
}

fn thing(record: &Record) -> Option<Thing> {
    match record {
        Record::Tallied { route, .. } => Some(Thing::Route(Arc::clone(route))),
        Record::Sped { session, route, .. } => {
            Some(Thing::Session(Arc::clone(session), Arc::clone(route)))
        }
        Record::Quarantined { .. }
        | Record::Lifted { .. }
        | Record::Verified { .. }
        | Record::Unverified { .. }
        | Record::Turned { .. }
        | Record::QueueDeleted { .. }
        | Record::Journal(_)
        | Record::Attempt(_)
        | Record::Call(_)
        | Record::Catalog(_)
        | Record::CatalogForgotten { .. }
        | Record::Paused { .. }
        | Record::Resumed { .. } => None,
    }
}

/// As the file would merge the two (see `apply`): larger numbers of the later day hold.
fn merge(known: &mut Record, later: Record) {
    match (&mut *known, &later) {
        (Record::Tallied { day, tally, .. }, Record::Tallied { day: on, tally: more, .. })
            if day == on =>
        {
            tally.successes = tally.successes.max(more.successes);
            tally.failures = tally.failures.max(more.failures);
        }
        (Record::Tallied { day, .. }, Record::Tallied { day: on, .. }) if on < day => {}
        (Record::Sped { day, speed, .. }, Record::Sped { day: on, speed: more, .. })
            if (*on, more.tokens) < (*day, speed.tokens) => {}
        (_, _) => *known = later,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ekiden_engine::{Speed, Tally};

    fn tally(route: &str, day: u32, successes: u32, failures: u32) -> Record {
        Record::Tallied { route: route.into(), day, tally: Tally { successes, failures } }
    }

    fn sped(session: &str, tokens: u64, speaking_ms: u64) -> Record {
        let speed = Speed { tokens, speaking_ms };
        Record::Sped { session: session.into(), route: "a/m".into(), day: 1, speed }
    }

    fn sift(sums: &mut Sums, mut records: Vec<Record>, due: Due) -> Vec<Record> {
        sums.sift(&mut records, due);
        records
    }

    #[test]
    fn r29_r30_of_what_is_counted_on_and_on_the_last_count_is_written() {
        let mut sums = Sums::default();
        let row = Record::QueueDeleted { queue: "q".into() };
        let told = vec![tally("a/m", 1, 1, 0), row.clone(), sped("s", 10, 5), sped("t", 1, 1)];
        assert_eq!(sift(&mut sums, told, Due::InTime), [row]);
        assert!(!sums.is_empty());
        let told = vec![tally("a/m", 1, 3, 0), tally("a/m", 1, 2, 1), sped("s", 30, 9)];
        let kept = sift(&mut sums, told, Due::Now);
        assert_eq!(kept, [tally("a/m", 1, 3, 1), sped("s", 30, 9), sped("t", 1, 1)]);
        assert!(sums.is_empty());
    }

    #[test]
    fn r30_they_are_not_held_for_ever() {
        let mut sums = Sums::default();
        for _ in 1..BATCHES {
            assert_eq!(sift(&mut sums, vec![sped("s", 1, 1)], Due::InTime), []);
        }
        assert_eq!(sift(&mut sums, Vec::new(), Due::InTime), [sped("s", 1, 1)]);
        let many = (0..HELD_MAX).map(|number| sped(&number.to_string(), 1, 1)).collect();
        assert_eq!(sift(&mut sums, many, Due::InTime).len(), HELD_MAX);
    }

    #[test]
    fn r17_a_turn_of_the_day_parts_them() {
        let mut sums = Sums::default();
        assert_eq!(sift(&mut sums, vec![tally("a/m", 1, 5, 0)], Due::InTime), []);
        let told = vec![Record::Turned { day: 2 }, tally("a/m", 2, 1, 0)];
        let all = [tally("a/m", 1, 5, 0), told[0].clone(), told[1].clone()];
        assert_eq!(sift(&mut sums, told, Due::InTime), all);
        let later = vec![tally("b/m", 3, 1, 0), tally("b/m", 2, 9, 0)];
        assert_eq!(sift(&mut sums, later, Due::Now), [tally("b/m", 3, 1, 0)]);
    }
}
