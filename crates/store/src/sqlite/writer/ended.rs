//! Which records of a batch another one of the same batch makes needless: an attempt is written as
//! it ended. It refuses to look further than that: facts that undo each other all stay.

use std::collections::HashMap;

use crate::record::{AttemptState, Record};

/// An attempt that began and ended in the batch is written once: as it ended, in the place of its
/// beginning, so that rows stay in the order in which attempts began. A turn of the day parts them, as
/// a row belongs to the day in which it was last told of.
pub(super) fn ended(records: &[Record]) -> Vec<&Record> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Place;

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
        let kept: Vec<&Record> = ended(&records);
        assert_eq!(kept, [&records[2], &records[3], &records[4]]);
        let records = [row(1, sent), Record::Turned { day: 2 }, row(1, done)];
        assert_eq!(ended(&records).len(), 3, "the row moves to the new day");
    }
}
