//! What every store does: each claim is checked on each store.

use std::sync::Arc;

use ekiden_engine::{Class, LiftedBy, Speed, Tally};
use ekiden_store::{
    AttemptState, Basis, Bounds, CATALOG_BYTES_MAX, Catalog, Cost, Currency, Ending, JournalFilter,
    MoneySum, PAGE_MAX, Record, SumBy, SumFilter, SumKey, TokenSum, Tokens, Trouble, What,
};

use crate::made::{Opened, attempt, call, entry, out, place, quarantined, said};

type Open = fn(Bounds) -> Opened;

macro_rules! every_store {
    ($($claim:ident),* $(,)?) => {
        mod memory { $( #[test] fn $claim() { super::$claim(super::Opened::memory); } )* }
        mod sqlite { $( #[test] fn $claim() { super::$claim(super::Opened::sqlite); } )* }
    };
}

every_store! {
    r17_what_holds_is_found_again_and_a_new_day_finds_nothing,
    r17_a_day_that_has_passed_never_comes_back,
    r17_the_error_outlives_its_journal_entry_but_not_its_quarantine,
    r18_a_parole_that_failed_is_kept_with_its_count,
    r29_a_tally_only_grows_within_its_day,
    r30_the_larger_sum_of_a_speed_holds,
    r32_the_journal_is_bounded_and_newest_first,
    r32_the_journal_can_be_off,
    r32_the_journal_is_filtered_and_paged,
    r34_an_attempt_has_one_row_however_often_it_is_told_of,
    r34_a_call_has_one_row_however_often_it_is_told_of,
    r34_the_ledger_is_bounded_by_count_and_by_age,
    r34_sums_tell_reported_from_estimated_and_waste_apart,
    r34_sums_tell_what_was_paid_in_each_currency_and_for_what_was_dropped,
    r34_broken_reports_do_not_break_sums,
    r37_a_catalog_is_kept_with_its_version_until_it_is_forgotten,
    r01_deleted_queues_are_remembered,
    p5_pauses_of_sessions_and_of_everybody_are_apart,
    places_are_bounded_and_what_does_not_fit_is_counted,
    narrower_bounds_hold_at_once,
}

fn ledger(bounds: Bounds) -> Bounds {
    Bounds { journal_max: 200, ..bounds }
}

fn r17_what_holds_is_found_again_and_a_new_day_finds_nothing(open: Open) {
    let kept = open(Bounds::default());
    let (a, b) = (place("s", "a/m"), place("s", "b/m"));
    let own_reset = ekiden_engine::Quarantine {
        class: Class::QuotaExhausted,
        until_ms: Some(u64::MAX >> 1),
        parole_ms: None,
        ..out(7)
    };
    kept.put(vec![
        quarantined(&a, 7),
        Record::Quarantined { place: b.clone(), quarantine: own_reset },
        Record::Lifted { place: a.clone(), by: LiftedBy::Success },
        Record::Verified { place: a.clone(), day: 7 },
    ]);
    let holds = [
        Record::Quarantined { place: b, quarantine: own_reset },
        Record::Verified { place: a.clone(), day: 7 },
    ];
    assert_eq!(kept.store.recall(), holds);
    kept.put(vec![Record::Unverified { place: a.clone() }]);
    assert_eq!(kept.store.recall(), holds[..1]);
    kept.put(vec![Record::Verified { place: a, day: 7 }, Record::Turned { day: 8 }]);
    assert_eq!(kept.store.recall(), []);
}

fn r17_a_day_that_has_passed_never_comes_back(open: Open) {
    let kept = open(Bounds::default());
    let a = place("s", "a/m");
    kept.put(vec![Record::Turned { day: 8 }, quarantined(&a, 7), quarantined(&a, 8)]);
    kept.put(vec![
        Record::Turned { day: 7 },
        quarantined(&place("s", "b/m"), 7),
        Record::Verified { place: a.clone(), day: 7 },
        Record::Tallied { route: "a/m".into(), day: 7, tally: Tally::default() },
        Record::Sped {
            session: "s".into(),
            route: "a/m".into(),
            day: 7,
            speed: Speed { tokens: 1, speaking_ms: 1 },
        },
    ]);
    assert_eq!(kept.store.recall(), [quarantined(&a, 8)]);
}

fn r17_the_error_outlives_its_journal_entry_but_not_its_quarantine(open: Open) {
    let kept = open(Bounds { journal_max: 1, ..Bounds::default() });
    let (a, b) = (place("s", "a/m"), place("s", "b/m"));
    // Whichever comes first.
    kept.put(vec![quarantined(&a, 1), entry(1, said(&a, Class::ServerError, "first"))]);
    kept.put(vec![entry(2, said(&b, Class::ServerError, "second")), quarantined(&b, 1)]);
    kept.put(vec![entry(3, said(&place("s", "c/m"), Class::ServerError, "of no quarantine"))]);
    let said = || {
        let evidence = kept.store.evidence(&["s".into()]).into_iter();
        evidence.map(|(of, said)| (of, said.message.unwrap())).collect::<Vec<_>>()
    };
    assert_eq!(said(), [(a.clone(), "first".into()), (b.clone(), "second".into())]);
    kept.put(vec![Record::Lifted { place: a, by: LiftedBy::Release }]);
    assert_eq!(said(), [(b, "second".into())]);
    kept.put(vec![Record::Turned { day: 2 }]);
    assert_eq!(said(), []);
}

fn r18_a_parole_that_failed_is_kept_with_its_count(open: Open) {
    let kept = open(Bounds::default());
    let a = place("s", "a/m");
    let failed = ekiden_engine::Quarantine { paroles: 3, parole_ms: Some(480_001), ..out(1) };
    let again = Record::Quarantined { place: a.clone(), quarantine: failed };
    kept.put(vec![quarantined(&a, 1), again.clone()]);
    assert_eq!(kept.store.recall(), [again]);
}

fn r29_a_tally_only_grows_within_its_day(open: Open) {
    let kept = open(Bounds::default());
    let tallied = |day, successes, failures| Record::Tallied {
        route: "a/m".into(),
        day,
        tally: Tally { successes, failures },
    };
    kept.put(vec![tallied(1, 1, 0), tallied(1, 3, 1), tallied(1, 2, 2)]);
    assert_eq!(kept.store.recall(), [tallied(1, 3, 2)]);
    kept.put(vec![tallied(2, 1, 0)]);
    assert_eq!(kept.store.recall(), [tallied(2, 1, 0)]);
    kept.put(vec![Record::Turned { day: 3 }]);
    assert_eq!(kept.store.recall(), []);
}

fn r30_the_larger_sum_of_a_speed_holds(open: Open) {
    let kept = open(Bounds::default());
    let sped = |day, tokens, speaking_ms| Record::Sped {
        session: "s".into(),
        route: "a/m".into(),
        day,
        speed: Speed { tokens, speaking_ms },
    };
    kept.put(vec![sped(1, 10, 100), sped(1, 30, 250), sped(1, 20, 900)]);
    assert_eq!(kept.store.recall(), [sped(1, 30, 250)]);
    kept.put(vec![sped(2, 5, 50)]);
    assert_eq!(kept.store.recall(), [sped(2, 5, 50)]);
}

fn r32_the_journal_is_bounded_and_newest_first(open: Open) {
    let kept = open(Bounds { journal_max: 3, ..Bounds::default() });
    for number in 1..=5 {
        kept.put(vec![entry(number, What::Slept { ms: number })]);
    }
    // Told again, nothing is added.
    kept.put(vec![entry(4, What::Slept { ms: 4 })]);
    let numbers = |most| kept.store.journal(most).iter().map(|e| e.number).collect::<Vec<_>>();
    assert_eq!(numbers(10), [5, 4, 3]);
    assert_eq!(numbers(1), [5]);
}

fn r32_the_journal_can_be_off(open: Open) {
    let kept = open(Bounds { journal_max: 0, ..Bounds::default() });
    let a = place("s", "a/m");
    kept.put(vec![quarantined(&a, 1), entry(1, said(&a, Class::ServerError, "broke"))]);
    assert_eq!(kept.store.journal(10), []);
    assert_eq!(
        kept.store.evidence(&["s".into()]).len(),
        1,
        "the page shows the error all the same"
    );
}

fn r32_the_journal_is_filtered_and_paged(open: Open) {
    let kept = open(Bounds::default());
    let a = place("s", "a/m");
    kept.put(vec![
        entry(1, said(&a, Class::ServerError, "broke")),
        entry(2, What::FailedOver { from: "a/m".into(), to: "b/m".into(), class: None }),
        entry(3, What::Slept { ms: 9 }),
        entry(4, What::ChunkSkipped { route: "b/m".into() }),
        entry(5, What::Repaired { route: "c/m".into(), param: "b/m".into() }),
    ]);
    let page = |filter: JournalFilter, most| {
        let page = kept.store.journal_page(&filter, most);
        page.iter().map(|entry| entry.number).collect::<Vec<_>>()
    };
    let all = JournalFilter::default;
    assert_eq!(page(all(), 2), [5, 4]);
    assert_eq!(page(JournalFilter { before: Some(4), ..all() }, 2), [3, 2]);
    assert_eq!(page(JournalFilter { after: Some(3), ..all() }, 9), [5, 4]);
    assert_eq!(page(JournalFilter { session: Some("s".into()), ..all() }, 9), [1]);
    assert_eq!(page(JournalFilter { route: Some("b/m".into()), ..all() }, 9), [4, 2]);
    assert_eq!(page(JournalFilter { kind: Some("slept".into()), ..all() }, 9), [3]);
    assert_eq!(page(JournalFilter { call: Some("c".into()), ..all() }, 9), []);
    let both =
        JournalFilter { route: Some("a/m".into()), kind: Some("failed_over".into()), ..all() };
    assert_eq!(page(both, 9), [2]);
}

fn r34_an_attempt_has_one_row_however_often_it_is_told_of(open: Open) {
    let kept = open(Bounds::default());
    let told = |number, state| Record::Attempt(attempt("c1", number, state));
    kept.put(vec![told(1, AttemptState::Sent)]);
    kept.put(vec![told(2, AttemptState::Sent), told(1, AttemptState::Complete)]);
    for _ in 0..3 {
        kept.put(vec![told(1, AttemptState::Unknown), told(1, AttemptState::Sent)]);
    }
    let rows = |rows: Vec<ekiden_store::AttemptRow>| {
        rows.iter().map(|row| (row.attempt, row.state)).collect::<Vec<_>>()
    };
    let (first, second) = ((1, AttemptState::Complete), (2, AttemptState::Sent));
    assert_eq!(rows(kept.store.attempts(10)), [second, first]);
    assert_eq!(rows(kept.store.attempts_of("c1")), [first, second]);
    assert_eq!(rows(kept.store.attempts_of("c2")), []);
    assert_eq!(kept.store.attempts(1)[0], attempt("c1", 2, AttemptState::Sent));
}

fn r34_a_call_has_one_row_however_often_it_is_told_of(open: Open) {
    let kept = open(Bounds::default());
    let left = ekiden_store::CallRow { ending: Ending::Left, route: None, ..call("c1", 2) };
    kept.put(vec![Record::Call(call("c1", 1)), Record::Call(call("c2", 1))]);
    kept.put(vec![Record::Call(left.clone()), Record::Call(left.clone())]);
    assert_eq!(kept.store.calls(10), [call("c2", 1), left]);
}

fn r34_the_ledger_is_bounded_by_count_and_by_age(open: Open) {
    let kept = open(Bounds { ledger_max: 3, ledger_days: 2, ..Bounds::default() });
    let told = |name: &str| {
        let row = attempt(name, 1, AttemptState::Complete);
        vec![Record::Attempt(row), Record::Call(call(name, 1))]
    };
    let names = || {
        let attempts = kept.store.attempts(10).into_iter().map(|row| row.call);
        let attempts = attempts.collect::<Vec<_>>();
        let calls = kept.store.calls(10).into_iter().map(|row| row.call).collect::<Vec<_>>();
        assert_eq!(attempts, calls);
        attempts.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    kept.put(vec![Record::Turned { day: 10 }]);
    for name in ["c1", "c2", "c3", "c4"] {
        kept.put(told(name));
    }
    assert_eq!(names(), ["c4", "c3", "c2"]);
    kept.put(vec![Record::Turned { day: 11 }]);
    kept.put(told("c5"));
    assert_eq!(names(), ["c5", "c4", "c3"]);
    kept.put(vec![Record::Turned { day: 12 }]);
    assert_eq!(names(), ["c5"]);
}

fn r34_sums_tell_what_was_paid_in_each_currency_and_for_what_was_dropped(open: Open) {
    let kept = open(ledger(Bounds::default()));
    let cost = |currency, nano, basis| Some(Cost { currency, nano, basis });
    let (usd, cny) = (Currency::Usd, Currency::Cny);
    let rows = [
        (cost(usd, 700, Basis::Reported), false, "t1"),
        (cost(usd, 30, Basis::Estimated), true, "t1"),
        (cost(cny, 5, Basis::Reported), true, "t2"),
        (None, true, "t2"),
    ];
    kept.put(
        (1..)
            .zip(rows)
            .map(|(number, (cost, wasted, token))| {
                Record::Attempt(ekiden_store::AttemptRow {
                    cost,
                    wasted,
                    cached: Some(4),
                    token: Some(token.into()),
                    ..attempt("c", number, AttemptState::Complete)
                })
            })
            .collect(),
    );
    let sums = kept.store.sums(&SumFilter::by(SumBy::Call), 10);
    assert_eq!(sums.len(), 1);
    let sum = &sums[0];
    assert_eq!((sum.all.attempts, sum.all.priced, sum.all.cached), (4, 3, 16));
    assert_eq!(sum.all.cost[usd as usize], MoneySum { reported: 700, estimated: 30 });
    assert_eq!(sum.all.cost[cny as usize], MoneySum { reported: 5, estimated: 0 });
    assert_eq!((sum.waste.priced, sum.waste.cached), (2, 12));
    assert_eq!(sum.waste.cost[usd as usize], MoneySum { reported: 0, estimated: 30 });
    let by_token = kept.store.sums(&SumFilter::by(SumBy::Token), 10);
    let keys: Vec<_> = by_token.iter().map(|sum| (sum.key.clone(), sum.all.priced)).collect();
    assert_eq!(keys, [(SumKey::Name("t1".into()), 2), (SumKey::Name("t2".into()), 1)]);
}

fn r34_sums_tell_reported_from_estimated_and_waste_apart(open: Open) {
    let kept = open(ledger(Bounds::default()));
    let row = |day: u32, session: &str, route: &str, number, wasted| {
        let row = ekiden_store::AttemptRow {
            place: place(session, route),
            wasted,
            ..attempt("c", number, AttemptState::Complete)
        };
        [Record::Turned { day }, Record::Attempt(row)]
    };
    let unknown = ekiden_store::AttemptRow {
        place: place("s2", "b/m"),
        input: Tokens::Unknown,
        output: Tokens::Estimated(7),
        ..attempt("c", 5, AttemptState::Unknown)
    };
    let mut records = Vec::new();
    records.extend(row(1, "s1", "a/m", 1, true));
    records.extend(row(1, "s1", "b/m", 2, false));
    records.extend(row(2, "s1", "a/m", 3, false));
    records.extend(row(2, "s2", "b/m", 4, false));
    records.push(Record::Attempt(unknown));
    kept.put(records);
    let sums = |filter: SumFilter| kept.store.sums(&filter, 10);
    let name = |name: &str| SumKey::Name(name.into());

    let by_route = sums(SumFilter::by(SumBy::Route));
    let keys: Vec<_> = by_route.iter().map(|sum| sum.key.clone()).collect();
    assert_eq!(keys, [name("a/m"), name("b/m")]);
    let (a, b) = (&by_route[0], &by_route[1]);
    assert_eq!((a.all.attempts, a.waste.attempts, a.complete, a.unknown), (2, 1, 2, 0));
    assert_eq!(a.all.output, TokenSum { reported: 6, estimated: 0 });
    assert_eq!(a.waste.output, TokenSum { reported: 3, estimated: 0 });
    assert_eq!(a.waste.input, TokenSum { reported: 0, estimated: 10 });
    assert_eq!((b.all.attempts, b.complete, b.unknown), (3, 2, 1));
    assert_eq!(b.all.input, TokenSum { reported: 0, estimated: 20 });
    assert_eq!(b.all.output, TokenSum { reported: 6, estimated: 7 });

    let attempts = |sums: Vec<ekiden_store::Sum>| {
        sums.into_iter().map(|sum| (sum.key, sum.all.attempts)).collect::<Vec<_>>()
    };
    let by_day = attempts(sums(SumFilter::by(SumBy::Day)));
    assert_eq!(by_day, [(SumKey::Day(1), 2), (SumKey::Day(2), 3)]);
    let by_session = attempts(sums(SumFilter::by(SumBy::Session)));
    assert_eq!(by_session, [(name("s1"), 3), (name("s2"), 2)]);
    let by_queue = attempts(sums(SumFilter::by(SumBy::Queue)));
    assert_eq!(by_queue, [(name("default"), 5)]);
    let first = SumFilter { to_day: Some(1), ..SumFilter::by(SumBy::Session) };
    assert_eq!(attempts(sums(first)), [(name("s1"), 2)]);
    let second = SumFilter {
        from_day: Some(2),
        session: Some("s2".into()),
        queue: Some("default".into()),
        route: Some("b/m".into()),
        ..SumFilter::by(SumBy::Day)
    };
    assert_eq!(attempts(sums(second)), [(SumKey::Day(2), 2)]);
    let next = SumFilter { after: Some(name("s1")), ..SumFilter::by(SumBy::Session) };
    assert_eq!(attempts(sums(next)), [(name("s2"), 2)]);
    let next = SumFilter { after: Some(SumKey::Day(1)), ..SumFilter::by(SumBy::Day) };
    assert_eq!(attempts(sums(next)), [(SumKey::Day(2), 3)]);
    assert_eq!(kept.store.sums(&SumFilter::by(SumBy::Day), 1).len(), 1);
}

fn r34_broken_reports_do_not_break_sums(open: Open) {
    let kept = open(Bounds { ledger_max: PAGE_MAX * 3, ..Bounds::default() });
    let row = |number| {
        let output = Tokens::Reported(u64::MAX);
        let row = attempt("c", number, AttemptState::Complete);
        Record::Attempt(ekiden_store::AttemptRow { output, took_ms: u64::MAX, ..row })
    };
    kept.put((1..=2_000).map(row).collect());
    let sums = kept.store.sums(&SumFilter::by(SumBy::Route), 10);
    assert_eq!(sums[0].all.attempts, 2_000);
    assert_eq!(sums[0].all.output.reported, 2_000 << 40);
    assert_eq!(kept.store.attempts_of("c").len(), PAGE_MAX);
}

fn r37_a_catalog_is_kept_with_its_version_until_it_is_forgotten(open: Open) {
    let kept = open(Bounds::default());
    let catalog = |provider: &str, version, json: &str| Catalog {
        provider: provider.into(),
        version,
        json: json.into(),
    };
    let put = |catalog: &Catalog| Record::Catalog(catalog.clone());
    let (old, new, other) = (catalog("b", 1, "[]"), catalog("b", 2, "[1]"), catalog("a", 1, "!"));
    kept.put(vec![put(&old), put(&new), put(&other)]);
    assert_eq!(kept.store.catalogs(), [other.clone(), new]);
    kept.put(vec![Record::CatalogForgotten { provider: "b".into() }]);
    assert_eq!(kept.store.catalogs(), std::slice::from_ref(&other));
    let large = catalog("c", 1, &"x".repeat(CATALOG_BYTES_MAX + 1));
    assert_eq!(kept.store.keep(vec![put(&large)]), Err(Trouble::Full));
    assert_eq!((kept.store.catalogs(), kept.store.dropped()), (vec![other], 1));
}

fn r01_deleted_queues_are_remembered(open: Open) {
    let kept = open(Bounds::default());
    let gone = |queue: &str| Record::QueueDeleted { queue: queue.into() };
    kept.put(vec![gone("old"), gone("old"), gone("older")]);
    kept.put(vec![Record::Turned { day: 9 }]);
    let ids = || kept.store.deleted_queues().into_iter().collect::<Vec<_>>();
    assert_eq!(ids(), ["old", "older"]);
    // The call behind the deletion finds it, whether it is on the disk yet or not.
    for queue in ["young", "younger", "old"] {
        kept.store.write(vec![gone(queue)]);
        assert!(ids().contains(&queue.to_owned()), "{queue}: {:?}", ids());
    }
    kept.store.flush().unwrap();
    assert_eq!(ids(), ["old", "older", "young", "younger"]);
}

fn p5_pauses_of_sessions_and_of_everybody_are_apart(open: Open) {
    let kept = open(Bounds::default());
    let paused = |session: Option<&str>, since_ms| Record::Paused {
        session: session.map(Arc::from),
        since_ms,
    };
    let resumed = |session: Option<&str>| Record::Resumed { session: session.map(Arc::from) };
    kept.put(vec![paused(None, 1), paused(Some("s"), 2), paused(Some(""), 3), paused(None, 4)]);
    let all = [paused(None, 4), paused(Some(""), 3), paused(Some("s"), 2)];
    assert_eq!(kept.store.recall(), all);
    kept.put(vec![resumed(None), resumed(Some("s"))]);
    assert_eq!(kept.store.recall(), [paused(Some(""), 3)]);
    kept.put(vec![Record::Turned { day: 5 }]);
    assert_eq!(kept.store.recall(), [paused(Some(""), 3)]);
}

fn places_are_bounded_and_what_does_not_fit_is_counted(open: Open) {
    let kept = open(Bounds { places_max: 2, ..Bounds::default() });
    let rooms = ["a", "b", "c", "a"].map(|session| quarantined(&place(session, "r"), 1));
    kept.store.write(rooms.to_vec());
    // It says so to whom it concerns, and keeps the rest.
    assert_eq!(kept.store.keep(vec![quarantined(&place("d", "r"), 1)]), Err(Trouble::Full));
    assert_eq!((kept.store.recall().len(), kept.store.dropped()), (2, 2));
    kept.put(vec![Record::Lifted { place: place("a", "r"), by: LiftedBy::Success }]);
    kept.put(vec![quarantined(&place("c", "r"), 1)]);
    assert_eq!((kept.store.recall().len(), kept.store.dropped()), (2, 2));
}

fn narrower_bounds_hold_at_once(open: Open) {
    let kept = open(Bounds::default());
    let row = |number| Record::Attempt(attempt("c", number, AttemptState::Complete));
    kept.put((1..=9).map(row).collect());
    kept.put((1..=9).map(|number| entry(number, What::Slept { ms: 1 })).collect());
    kept.store.bound(Bounds { journal_max: 4, ledger_max: 5, ..Bounds::default() });
    kept.store.flush().unwrap();
    assert_eq!((kept.store.journal(10).len(), kept.store.attempts(10).len()), (4, 5));
}
