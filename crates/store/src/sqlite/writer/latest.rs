//! Which records of a batch another one of the same batch makes needless: what is told of the same
//! thing later holds. It refuses to look further than that: facts that undo each other all stay.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::record::{AttemptState, Record};

/// A thing that records tell of again and again, each time with all that is known.
#[derive(PartialEq, Eq, Hash)]
enum Thing<'a> {
    Tally(&'a str, u32),
    Speed(&'a str, &'a str, u32),
    Verified(&'a str, &'a str, &'a str, u32),
}

/// The records that are worth writing, in their order.
pub(super) fn latest(records: &[Record]) -> Vec<&Record> {
    let mut told: HashMap<Thing<'_>, &Record> = HashMap::with_capacity(records.len());
    let mut kept: Vec<&Record> = Vec::with_capacity(records.len());
    // From the end: the first that is met of a thing is the last that was told of it.
    for record in records.iter().rev() {
        let needless = thing(record).is_some_and(|thing| match told.entry(thing) {
            Entry::Occupied(later) => covers(later.get(), record),
            Entry::Vacant(first) => {
                first.insert(record);
                false
            }
        });
        if !needless {
            kept.push(record);
        }
    }
    kept.reverse();
    ended(&kept)
}

/// An attempt that began and ended in the batch is written once: as it ended, in the place of its
/// beginning, so that rows stay in the order in which attempts began. A turn of the day parts them, as
/// a row belongs to the day in which it was last told of.
fn ended<'r>(records: &[&'r Record]) -> Vec<&'r Record> {
    let mut begun: HashMap<(&str, u32), usize> = HashMap::new();
    let mut kept: Vec<&Record> = Vec::with_capacity(records.len());
    for record in records {
        match record {
            Record::Turned { .. } => begun.clear(),
            Record::Attempt(row) => {
                let named = (&*row.call, row.attempt);
                let place = match row.state {
                    AttemptState::Sent => begun.insert(named, kept.len()),
                    AttemptState::Unknown | AttemptState::Complete => begun.remove(&named),
                };
                if let Some(place) = place {
                    kept[place] = record;
                    if row.state == AttemptState::Sent {
                        begun.insert(named, place);
                    }
                    continue;
                }
            }
            Record::Tallied { .. }
            | Record::Sped { .. }
            | Record::Verified { .. }
            | Record::Quarantined { .. }
            | Record::Lifted { .. }
            | Record::Unverified { .. }
            | Record::QueueDeleted { .. }
            | Record::Journal(_)
            | Record::Call(_)
            | Record::Catalog(_)
            | Record::CatalogForgotten { .. }
            | Record::Paused { .. }
            | Record::Resumed { .. } => {}
        }
        kept.push(record);
    }
    kept
}

/// Whether what is told later of the same thing leaves nothing of what was told before. Sums only
/// grow: where it is otherwise, the file decides.
fn covers(later: &Record, record: &Record) -> bool {
    match (later, record) {
        (Record::Tallied { tally: later, .. }, Record::Tallied { tally, .. }) => {
            later.successes >= tally.successes && later.failures >= tally.failures
        }
        (Record::Sped { speed: later, .. }, Record::Sped { speed, .. }) => {
            later.tokens >= speed.tokens
        }
        (_, Record::Verified { .. }) => true,
        (_, _) => false,
    }
}

fn thing(record: &Record) -> Option<Thing<'_>> {
    match record {
        Record::Tallied { route, day, .. } => Some(Thing::Tally(route, *day)),
        Record::Sped { session, route, day, .. } => Some(Thing::Speed(session, route, *day)),
        Record::Verified { place, day } => {
            Some(Thing::Verified(&place.session, &place.queue, &place.route, *day))
        }
        Record::Quarantined { .. }
        | Record::Lifted { .. }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Place;
    use ekiden_engine::Tally;

    fn tally(route: &str, day: u32, successes: u32) -> Record {
        let tally = Tally { successes, ..Tally::default() };
        Record::Tallied { route: route.into(), day, tally }
    }

    #[test]
    fn r29_of_what_is_counted_on_and_on_the_last_count_is_written() {
        let records =
            [tally("a/m", 1, 1), tally("b/m", 1, 1), tally("a/m", 1, 2), tally("a/m", 2, 1)];
        let kept: Vec<&Record> = latest(&records);
        assert_eq!(kept, [&records[1], &records[2], &records[3]]);
        let records = [tally("a/m", 1, 5), tally("a/m", 1, 3)];
        assert_eq!(latest(&records).len(), 2, "the file takes the larger one");
    }

    #[test]
    fn r17_a_mark_that_is_withdrawn_and_given_again_keeps_its_order() {
        let place = Place { session: "s".into(), queue: "q".into(), route: "a/m".into() };
        let verified = Record::Verified { place: place.clone(), day: 1 };
        let records = [verified.clone(), Record::Unverified { place }, verified];
        let kept: Vec<&Record> = latest(&records);
        assert_eq!(kept, [&records[1], &records[2]]);
    }

    #[test]
    fn r34_an_attempt_that_ends_in_its_batch_stands_where_it_began() {
        let row = |attempt, state| {
            Record::Attempt(crate::record::AttemptRow {
                call: "c".into(),
                attempt,
                place: Place { session: "s".into(), queue: "q".into(), route: "a/m".into() },
                began_ms: 1,
                took_ms: 1,
                state,
                class: None,
                status: None,
                input: crate::record::Tokens::Unknown,
                output: crate::record::Tokens::Unknown,
                cached: None,
                cache_written: None,
                cost: None,
                token: None,
                wasted: false,
            })
        };
        let (sent, done) = (AttemptState::Sent, AttemptState::Complete);
        let records = [row(1, sent), row(2, sent), row(1, done), row(2, done), row(1, done)];
        let kept: Vec<&Record> = latest(&records);
        assert_eq!(kept, [&records[2], &records[3], &records[4]]);
        let records = [row(1, sent), Record::Turned { day: 2 }, row(1, done)];
        assert_eq!(latest(&records).len(), 3, "the row moves to the new day");
    }
}
