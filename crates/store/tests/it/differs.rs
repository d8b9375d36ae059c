//! Two stores that are told the same say the same, whatever it is, and however often one of them is
//! closed and opened in between.

use ekiden_store::{Bounds, JournalFilter, MemoryStore, Record, Store, SumBy, SumFilter, SumKey};

use crate::made::{Chance, open};

#[test]
fn r17_r32_r34_a_file_that_is_closed_and_opened_says_what_memory_says() {
    for seed in 0..24 {
        history(seed);
    }
}

fn history(seed: u64) {
    let chance = &mut Chance(seed);
    let bounds = |chance: &mut Chance| Bounds {
        journal_max: chance.pick(&[0, 1, 7, 200]),
        ledger_max: chance.pick(&[1, 10, 2_000]),
        ledger_days: chance.pick(&[0, 1, 3]),
        places_max: chance.pick(&[2, 1_000, 1_000]),
        ..Bounds::default()
    };
    let mut now = bounds(chance);
    let folder = tempfile::tempdir().unwrap();
    let memory = MemoryStore::new(now);
    let mut file = Some(open(folder.path(), now));
    let (mut day, mut number, mut dropped) = (100, 0, 0);
    for _ in 0..12 {
        let mut records = Vec::new();
        for _ in 0..=chance.below(30) {
            // Now and then an entry is told twice.
            number += chance.below(8).min(1);
            records.push(chance.record(day, number));
        }
        if chance.below(4) == 0 {
            day += chance.below(3) as u32;
            records.push(Record::Turned { day });
        }
        let store = file.as_ref().unwrap();
        memory.write(records.clone());
        // A row that is told of again after it was pruned is a new one; when it is pruned depends
        // on the batch.
        let together = if now.ledger_max > 100 { records.len() } else { 1 };
        for records in records.chunks(together) {
            store.write(records.to_vec());
            let _ = store.flush();
        }
        if chance.below(4) == 0 {
            now = bounds(chance);
            // Before the bounds change, so that both prune the same.
            let _ = store.flush();
            memory.bound(now);
            store.bound(now);
        }
        if chance.below(4) == 0 {
            let _ = store.flush();
            dropped += store.dropped();
            drop(file.take());
            file = Some(open(folder.path(), now));
        }
        let store = file.as_ref().unwrap();
        let _ = store.flush();
        same(seed, &memory, store, chance);
        // What is told again in one batch, and has no room, is counted once there.
        let (all, counted) = (memory.dropped(), dropped + store.dropped());
        assert!(counted <= all && (counted == 0) == (all == 0), "seed {seed}: {counted} of {all}");
    }
}

fn same(seed: u64, memory: &dyn Store, file: &dyn Store, chance: &mut Chance) {
    assert_eq!(memory.recall(), file.recall(), "seed {seed}");
    let of: Vec<std::sync::Arc<str>> = vec![chance.session(), "".into(), "no one".into()];
    assert_eq!(memory.evidence(&of), file.evidence(&of), "seed {seed}");
    assert_eq!(memory.journal(50), file.journal(50), "seed {seed}");
    assert_eq!(memory.attempts(50), file.attempts(50), "seed {seed}");
    assert_eq!(memory.attempts_of("c1"), file.attempts_of("c1"), "seed {seed}");
    assert_eq!(memory.calls(50), file.calls(50), "seed {seed}");
    assert_eq!(memory.deleted_queues(), file.deleted_queues(), "seed {seed}");
    assert_eq!(memory.catalogs(), file.catalogs(), "seed {seed}");
    let filter = JournalFilter {
        after: chance.pick(&[None, Some(5)]),
        before: chance.pick(&[None, Some(60)]),
        call: chance.pick(&[None, None, Some("c1")]).map(Into::into),
        session: (chance.below(3) == 0).then(|| chance.session()),
        route: (chance.below(3) == 0).then(|| chance.route()),
        kind: (chance.below(4) == 0).then(|| chance.what().kind().into()),
    };
    assert_eq!(memory.journal_page(&filter, 9), file.journal_page(&filter, 9), "seed {seed}");
    let by = chance.pick(&[
        SumBy::Day,
        SumBy::Queue,
        SumBy::Route,
        SumBy::Session,
        SumBy::Call,
        SumBy::Token,
    ]);
    let filter = SumFilter {
        by,
        from_day: chance.pick(&[None, None, Some(101)]),
        to_day: chance.pick(&[None, None, Some(102)]),
        session: (chance.below(4) == 0).then(|| chance.session()),
        queue: (chance.below(4) == 0).then(|| chance.queue()),
        route: (chance.below(4) == 0).then(|| chance.route()),
        after: match chance.below(3) {
            0 => None,
            1 => Some(SumKey::Day(100)),
            _ => Some(SumKey::Name(chance.route())),
        },
    };
    assert_eq!(memory.sums(&filter, 3), file.sums(&filter, 3), "seed {seed} {filter:?}");
}
