//! What is read back. It refuses to fail on one bad row: that row is left out.

use std::collections::HashSet;
use std::sync::Arc;

use ekiden_engine::{Class, Quarantine, Speed, Tally};
use rusqlite::{Connection, Row, ToSql, named_params};

use super::int;
use crate::PAGE_MAX;
use crate::entry::Entry;
use crate::line::Line;
use crate::masked::Evidence;
use crate::page::{JournalFilter, MoneySum, Share, Sum, SumBy, SumFilter, SumKey, TokenSum};
use crate::record::{AttemptRow, Basis, CallRow, Catalog, Cost, Currency, Place, Record, Tokens};
use crate::words::Word;

type Rows<T> = rusqlite::Result<Vec<T>>;

/// One copy of each name, however many rows have it.
#[derive(Default)]
struct Names(HashSet<Arc<str>>);

impl Names {
    fn text(&mut self, row: &Row<'_>, column: usize) -> Option<Arc<str>> {
        let text = row.get_ref(column).ok()?.as_str().ok()?;
        if let Some(known) = self.0.get(text) {
            return Some(Arc::clone(known));
        }
        let name: Arc<str> = text.into();
        self.0.insert(Arc::clone(&name));
        Some(name)
    }

    fn place(&mut self, row: &Row<'_>) -> Option<Place> {
        let (session, queue) = (self.text(row, 0)?, self.text(row, 1)?);
        Some(Place { session, queue, route: self.text(row, 2)? })
    }
}

pub(super) const RECALL: [&str; 5] = [
    "SELECT session, queue, route, class, day, since_ms, until_ms, parole_ms, paroles \
     FROM quarantine ORDER BY session, queue, route",
    "SELECT session, queue, route, day FROM verified ORDER BY session, queue, route",
    "SELECT route, day, successes, failures FROM tally ORDER BY route",
    "SELECT session, route, day, tokens, speaking_ms FROM speed ORDER BY session, route",
    "SELECT of_session, session, since_ms FROM pause ORDER BY of_session, session",
];

pub(super) fn recall(file: &Connection) -> Rows<Record> {
    // One moment of the file.
    let _moment = file.unchecked_transaction()?;
    let names = &mut Names::default();
    let [quarantine, verified, tally, speed, pause] = RECALL;
    let mut records = Vec::new();
    each(file, quarantine, &[], |row| records.extend(quarantined(row, names)))?;
    each(file, verified, &[], |row| {
        let verified = |names: &mut Names| {
            Some(Record::Verified { place: names.place(row)?, day: row.get(3).ok()? })
        };
        records.extend(verified(names));
    })?;
    each(file, tally, &[], |row| {
        let tallied = |names: &mut Names| {
            let tally = Tally { successes: row.get(2).ok()?, failures: row.get(3).ok()? };
            Some(Record::Tallied { route: names.text(row, 0)?, day: row.get(1).ok()?, tally })
        };
        records.extend(tallied(names));
    })?;
    each(file, speed, &[], |row| {
        let sped = |names: &mut Names| {
            let speed = Speed { tokens: number(row, 3)?, speaking_ms: number(row, 4)? };
            let (session, route) = (names.text(row, 0)?, names.text(row, 1)?);
            Some(Record::Sped { session, route, day: row.get(2).ok()?, speed })
        };
        records.extend(sped(names));
    })?;
    each(file, pause, &[], |row| {
        let paused = |names: &mut Names| {
            let of_session: bool = row.get(0).ok()?;
            let session = if of_session { Some(names.text(row, 1)?) } else { None };
            Some(Record::Paused { session, since_ms: number(row, 2)? })
        };
        records.extend(paused(names));
    })?;
    Ok(records)
}

fn quarantined(row: &Row<'_>, names: &mut Names) -> Option<Record> {
    let quarantine = Quarantine {
        class: class(row, 3)?,
        day: row.get(4).ok()?,
        since_ms: number(row, 5)?,
        until_ms: number(row, 6),
        parole_ms: number(row, 7),
        paroles: row.get(8).ok()?,
    };
    Some(Record::Quarantined { place: names.place(row)?, quarantine })
}

pub(super) const EVIDENCE: &str = "SELECT session, queue, route, status, code, param, message \
     FROM evidence JOIN quarantine USING (session, queue, route) WHERE session = :session \
     ORDER BY queue, route";

pub(super) fn evidence(file: &Connection, sessions: &[Arc<str>]) -> Rows<(Place, Evidence)> {
    // One moment of the file.
    let _moment = file.unchecked_transaction()?;
    let (mut names, mut out) = (Names::default(), Vec::new());
    for session in sessions {
        each(file, EVIDENCE, named_params! { ":session": &**session }, |row| {
            out.extend(names.place(row).map(|place| (place, seen(row, 3))));
        })?;
    }
    Ok(out)
}

const JOURNAL: &str = "SELECT number, at_ms, call, kind, session, queue, route, other, class, word, \
     amount, until_ms, parole_ms, status, code, param, message FROM journal";

pub(super) fn journal(file: &Connection, filter: &JournalFilter, most: usize) -> Rows<Entry> {
    let sql = format!(
        "{JOURNAL} WHERE number > :after AND number < :before \
         AND (:call IS NULL OR call = :call) AND (:session IS NULL OR session = :session) \
         AND (:route IS NULL OR route = :route OR (kind = 'failed_over' AND other = :route)) \
         AND (:kind IS NULL OR kind = :kind) ORDER BY number DESC LIMIT :most"
    );
    let values = named_params! {
        ":after": filter.after.map_or(-1, int),
        ":before": filter.before.map_or(i64::MAX, int),
        ":call": filter.call.as_deref(),
        ":session": filter.session.as_deref(),
        ":route": filter.route.as_deref(),
        ":kind": filter.kind.as_deref(),
        ":most": int(most as u64),
    };
    let (mut names, mut entries) = (Names::default(), Vec::new());
    each(file, &sql, values, |row| entries.extend(entry(row, &mut names)))?;
    Ok(entries)
}

fn entry(row: &Row<'_>, names: &mut Names) -> Option<Entry> {
    let kind = names.text(row, 3)?;
    let line = Line {
        session: names.text(row, 4),
        queue: names.text(row, 5),
        route: names.text(row, 6),
        other: names.text(row, 7),
        class: class(row, 8),
        word: names.text(row, 9),
        amount: number(row, 10),
        until_ms: number(row, 11),
        parole_ms: number(row, 12),
        evidence: seen(row, 13),
    };
    Some(Entry {
        number: number(row, 0)?,
        at_ms: number(row, 1)?,
        call: names.text(row, 2),
        what: line.what(&kind)?,
    })
}

const ATTEMPT: &str = "SELECT session, queue, route, call, attempt, began_ms, took_ms, state, class, \
     status, input_tokens, input_source, output_tokens, output_source, wasted, cached_tokens, \
     written_tokens, cost_nano, currency, cost_source, token FROM attempt";

pub(super) fn attempts(file: &Connection, most: usize) -> Rows<AttemptRow> {
    let sql = format!("{ATTEMPT} ORDER BY id DESC LIMIT :most");
    attempt_rows(file, &sql, named_params! { ":most": int(most as u64) })
}

pub(super) fn attempts_of(file: &Connection, call: &str) -> Rows<AttemptRow> {
    let sql = format!("{ATTEMPT} WHERE call = :call ORDER BY attempt LIMIT :most");
    attempt_rows(file, &sql, named_params! { ":call": call, ":most": int(PAGE_MAX as u64) })
}

fn attempt_rows(file: &Connection, sql: &str, values: &[(&str, &dyn ToSql)]) -> Rows<AttemptRow> {
    let (mut names, mut rows) = (Names::default(), Vec::new());
    each(file, sql, values, |row| rows.extend(attempt(row, &mut names)))?;
    Ok(rows)
}

fn attempt(row: &Row<'_>, names: &mut Names) -> Option<AttemptRow> {
    Some(AttemptRow {
        place: names.place(row)?,
        call: names.text(row, 3)?,
        attempt: row.get(4).ok()?,
        began_ms: number(row, 5)?,
        took_ms: number(row, 6)?,
        state: word(row, 7)?,
        class: class(row, 8),
        status: row.get(9).ok()?,
        input: tokens(row, 10),
        output: tokens(row, 12),
        wasted: row.get(14).ok()?,
        cached: number(row, 15),
        cache_written: number(row, 16),
        cost: cost(row, 17),
        token: names.text(row, 20),
    })
}

pub(super) fn calls(file: &Connection, most: usize) -> Rows<CallRow> {
    let sql = "SELECT call, session, queue, began_ms, took_ms, attempts, route, ending FROM call \
               ORDER BY id DESC LIMIT :most";
    let (mut names, mut rows) = (Names::default(), Vec::new());
    each(file, sql, named_params! { ":most": int(most as u64) }, |row| {
        let call = |names: &mut Names| {
            Some(CallRow {
                call: names.text(row, 0)?,
                session: names.text(row, 1)?,
                queue: names.text(row, 2)?,
                began_ms: number(row, 3)?,
                took_ms: number(row, 4)?,
                attempts: row.get(5).ok()?,
                route: names.text(row, 6),
                ending: word(row, 7)?,
            })
        };
        rows.extend(call(&mut names));
    })?;
    Ok(rows)
}

/// The question for sums, with only the conditions that are given.
fn sums_sql(filter: &SumFilter) -> String {
    let key = match filter.by {
        SumBy::Day => "day",
        SumBy::Queue => "queue",
        SumBy::Route => "route",
        SumBy::Session => "session",
        SumBy::Call => "call",
        SumBy::Token => "ifnull(token, '')",
    };
    let mut parts = vec!["true".to_owned()];
    let mut given = |given: bool, part: &str| {
        if given {
            parts.push(part.to_owned());
        }
    };
    given(filter.from_day.is_some(), "day >= :from_day");
    given(filter.to_day.is_some(), "day <= :to_day");
    given(filter.session.is_some(), "session = :session");
    given(filter.queue.is_some(), "queue = :queue");
    given(filter.route.is_some(), "route = :route");
    given(filter.after.is_some(), &format!("{key} > :after"));
    let sum = |of: &str, source: &str, which: &str| {
        format!("sum(iif({of}_source = '{source}'{which}, {of}_tokens, 0))")
    };
    let share = |which: &str| {
        let of =
            |of: &str| format!("{}, {}", sum(of, "reported", which), sum(of, "estimated", which));
        let money = |currency: Currency| {
            let sum = |basis: &str| {
                let code = currency.code();
                format!(
                    "sum(iif(currency = '{code}' AND cost_source = '{basis}'{which}, cost_nano, 0))"
                )
            };
            format!("{}, {}", sum("reported"), sum("estimated"))
        };
        let [usd, cny] = Currency::ALL.map(money);
        format!(
            "{}, {}, sum(iif(cached_tokens IS NOT NULL{which}, cached_tokens, 0)), \
             sum(cost_nano IS NOT NULL{which}), {usd}, {cny}",
            of("input"),
            of("output"),
        )
    };
    format!(
        "SELECT {key}, count(*), {}, sum(wasted), {}, sum(state = 'complete'), \
         sum(state = 'unknown') FROM attempt WHERE {} GROUP BY {key} ORDER BY {key} LIMIT :most",
        share(""),
        share(" AND wasted"),
        parts.join(" AND "),
    )
}

pub(super) fn sums(file: &Connection, filter: &SumFilter, most: usize) -> Rows<Sum> {
    let (after_day, after_name) = match (&filter.after, filter.by) {
        (None, _) => (None, None),
        (Some(SumKey::Day(day)), SumBy::Day) => (Some(*day), None),
        (
            Some(SumKey::Name(name)),
            SumBy::Queue | SumBy::Route | SumBy::Session | SumBy::Call | SumBy::Token,
        ) => (None, Some(name)),
        // Days stand before names.
        (
            Some(SumKey::Day(_)),
            SumBy::Queue | SumBy::Route | SumBy::Session | SumBy::Call | SumBy::Token,
        ) => {
            return sums(file, &SumFilter { after: None, ..filter.clone() }, most);
        }
        (Some(SumKey::Name(_)), SumBy::Day) => return Ok(Vec::new()),
    };
    let sql = sums_sql(filter);
    let (mut names, mut lines) = (Names::default(), Vec::new());
    let most = int(most as u64);
    let mut values: Vec<(&str, &dyn ToSql)> = vec![(":most", &most)];
    let given: [(&str, Option<&dyn ToSql>); 7] = [
        (":from_day", filter.from_day.as_ref().map(|day| day as &dyn ToSql)),
        (":to_day", filter.to_day.as_ref().map(|day| day as &dyn ToSql)),
        (":session", filter.session.as_ref().map(|name| name as &dyn ToSql)),
        (":queue", filter.queue.as_ref().map(|name| name as &dyn ToSql)),
        (":route", filter.route.as_ref().map(|name| name as &dyn ToSql)),
        (":after", after_day.as_ref().map(|day| day as &dyn ToSql)),
        (":after", after_name.map(|name| name as &dyn ToSql)),
    ];
    values.extend(given.into_iter().filter_map(|(name, value)| value.map(|value| (name, value))));
    each(file, &sql, &values, |row| {
        let sum = |names: &mut Names| {
            let key = match filter.by {
                SumBy::Day => SumKey::Day(row.get(0).ok()?),
                SumBy::Queue | SumBy::Route | SumBy::Session | SumBy::Call | SumBy::Token => {
                    SumKey::Name(names.text(row, 0)?)
                }
            };
            let (all, waste) = (share(row, 1)?, share(row, 1 + SHARE)?);
            let (complete, unknown) = (number(row, 1 + 2 * SHARE)?, number(row, 2 + 2 * SHARE)?);
            Some(Sum { key, all, waste, complete, unknown })
        };
        lines.extend(sum(&mut names));
    })?;
    Ok(lines)
}

/// Columns of one share.
const SHARE: usize = 7 + 2 * Currency::ALL.len();

fn share(row: &Row<'_>, first: usize) -> Option<Share> {
    let sum = |at| Some(TokenSum { reported: number(row, at)?, estimated: number(row, at + 1)? });
    let money = |at| Some(MoneySum { reported: number(row, at)?, estimated: number(row, at + 1)? });
    Some(Share {
        attempts: number(row, first)?,
        input: sum(first + 1)?,
        output: sum(first + 3)?,
        cached: number(row, first + 5)?,
        priced: number(row, first + 6)?,
        cost: [money(first + 7)?, money(first + 9)?],
    })
}

fn cost(row: &Row<'_>, first: usize) -> Option<Cost> {
    let text = |at| row.get_ref(at).ok().and_then(|text| text.as_str().ok());
    let basis = match text(first + 2)? {
        "reported" => Basis::Reported,
        "estimated" => Basis::Estimated,
        _ => return None,
    };
    let currency = Currency::of(text(first + 1)?)?;
    Some(Cost { currency, nano: number(row, first)?, basis })
}

pub(super) fn deleted_queues(file: &Connection) -> Rows<String> {
    let mut queues = Vec::new();
    each(file, "SELECT queue FROM deleted_queue ORDER BY id", &[], |row| {
        queues.extend(row.get(0));
    })?;
    Ok(queues)
}

pub(super) fn catalogs(file: &Connection) -> Rows<Catalog> {
    let (mut names, mut catalogs) = (Names::default(), Vec::new());
    let sql = "SELECT provider, version, json FROM catalog ORDER BY provider";
    each(file, sql, &[], |row| {
        let catalog = |names: &mut Names| {
            let json: String = row.get(2).ok()?;
            let (provider, version) = (names.text(row, 0)?, row.get(1).ok()?);
            Some(Catalog { provider, version, json: json.into() })
        };
        catalogs.extend(catalog(&mut names));
    })?;
    Ok(catalogs)
}

fn each(
    file: &Connection,
    sql: &str,
    values: &[(&str, &dyn ToSql)],
    mut take: impl FnMut(&Row<'_>),
) -> rusqlite::Result<()> {
    let mut statement = file.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    while let Some(row) = rows.next()? {
        take(row);
    }
    Ok(())
}

fn number(row: &Row<'_>, column: usize) -> Option<u64> {
    let number: Option<i64> = row.get(column).ok()?;
    u64::try_from(number?).ok()
}

fn word<T: Word>(row: &Row<'_>, column: usize) -> Option<T> {
    T::of(row.get_ref(column).ok()?.as_str().ok()?)
}

fn class(row: &Row<'_>, column: usize) -> Option<Class> {
    Class::from_name(row.get_ref(column).ok()?.as_str().ok()?)
}

fn tokens(row: &Row<'_>, column: usize) -> Tokens {
    let source = row.get_ref(column + 1).ok().and_then(|source| source.as_str().ok());
    match (number(row, column), source) {
        (Some(count), Some("reported")) => Tokens::Reported(count),
        (Some(count), Some("estimated")) => Tokens::Estimated(count),
        (Some(_) | None, Some(_) | None) => Tokens::Unknown,
    }
}

fn seen(row: &Row<'_>, first: usize) -> Evidence {
    Evidence {
        status: row.get(first).unwrap_or_default(),
        code: row.get(first + 1).unwrap_or_default(),
        param: row.get(first + 2).unwrap_or_default(),
        message: row.get(first + 3).unwrap_or_default(),
    }
}
