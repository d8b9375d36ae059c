//! `ekiden classify`: error lines in, judgements out.
//!
//! It refuses to judge anything itself: it reads JSON, looks up time zones, and leaves the rest to
//! `ekiden-classify`. A line that cannot be read gives an error object and the next one is read.

use std::io::{BufRead, Write};

use ekiden_classify::{Civil, CivilDate, Line, OurAbort, Phase, Rule, Zone, rules};
use jiff::{Timestamp, civil, tz::TimeZone};
use serde::Serialize;
use serde_json::{Value, json};

/// Reads lines like those of an error corpus and prints one judgement a line.
///
/// # Errors
///
/// Only if reading or writing itself fails.
pub(crate) fn run(mut input: impl BufRead, mut output: impl Write) -> std::io::Result<()> {
    let mut raw = Vec::new();
    let mut number = 0u64;
    loop {
        raw.clear();
        if input.read_until(b'\n', &mut raw)? == 0 {
            return output.flush();
        }
        number += 1;
        let text = String::from_utf8_lossy(&raw);
        let text = text.trim().trim_start_matches('\u{feff}');
        if text.is_empty() {
            continue;
        }
        let answer = match serde_json::from_str::<Value>(text) {
            Ok(line) if line.is_object() => judge(&line),
            Ok(_) => unread(Value::Null, format!("line {number} is not an object")),
            Err(error) => unread(Value::Null, format!("line {number} is not JSON: {error}")),
        };
        serde_json::to_writer(&mut output, &answer)?;
        output.write_all(b"\n")?;
    }
}

/// What is printed for a line, its members in this order.
#[derive(Serialize)]
#[serde(untagged)]
enum Answer {
    Judged {
        id: Value,
        class: Option<&'static str>,
        retry_after_s: Option<Value>,
        resets_at: Option<String>,
        model_specific: Option<bool>,
    },
    Unread {
        id: Value,
        error: String,
    },
}

const fn unread(id: Value, error: String) -> Answer {
    Answer::Unread { id, error }
}

/// Prints the table of rules, in the order in which they are tried: name, class, what has to be
/// there, and where it was seen.
///
/// # Errors
///
/// Only if writing fails.
pub(crate) fn print_rules(mut output: impl Write) -> std::io::Result<()> {
    let rows: Vec<[String; 4]> = rules().map(row).collect();
    let heads = ["rule", "class", "when", "seen in"].map(str::to_owned);
    let width = |column: usize| {
        let cell = |row: &[String; 4]| row.get(column).map_or(0, |cell| cell.chars().count());
        rows.iter().chain([&heads]).map(cell).max().unwrap_or(0)
    };
    let (first, second) = (width(0), width(1));
    for [rule, class, when, seen] in [&heads].into_iter().chain(&rows) {
        writeln!(output, "{rule:first$}  {class:second$}  {when}  [{seen}]")?;
    }
    output.flush()
}

fn row(rule: &Rule) -> [String; 4] {
    let mut when = Vec::new();
    if !rule.statuses.is_empty() {
        let range = |(from, to): &(u16, u16)| {
            if from == to { from.to_string() } else { format!("{from}-{to}") }
        };
        when.push(format!(
            "status {}",
            rule.statuses.iter().map(range).collect::<Vec<_>>().join(", ")
        ));
    }
    let lists =
        [("code", rule.codes), ("words", rule.words), ("and", rule.gate), ("unless", rule.unless)];
    for (what, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
        let quoted: Vec<String> = list.iter().map(|word| format!("`{word}`")).collect();
        when.push(format!("{what} {}", quoted.join(" ")));
    }
    if rule.long_wait_is_quota {
        when.push("quota_exhausted where the wait is over an hour".to_owned());
    }
    [rule.id.to_owned(), rule.class.name().to_owned(), when.join("; "), rule.cites.join(", ")]
}

fn judge(line: &Value) -> Answer {
    let id = line.get("id").cloned().unwrap_or(Value::Null);
    let text = |key: &str| line.get(key).and_then(Value::as_str);
    let Some(phase) = Phase::from_name(text("phase").unwrap_or("http")) else {
        return unread(id, "phase is none of http, sse, transport, host".to_owned());
    };
    let now = match text("now").map(str::parse::<Timestamp>) {
        None => None,
        Some(Ok(now)) => u64::try_from(now.as_millisecond()).ok(),
        Some(Err(error)) => return unread(id, format!("now: {error}")),
    };
    let body = match line.get("body") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(body)) => body.clone(),
        Some(other) => other.to_string(),
    };
    let headers = headers(line);
    let pairs: Vec<(&str, &str)> =
        headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let printed = Line {
        status: line.get("status").and_then(number),
        headers: &pairs,
        body: &body,
        phase,
        code: text("code"),
        our_abort: our_abort(line.get("our_abort")),
        now_wall_ms: now,
        provider: text("provider"),
    }
    .judge()
    .print(resolve);
    Answer::Judged {
        id,
        class: printed.class.map(ekiden_engine::class::Class::name),
        retry_after_s: printed.retry_after_ms.map(seconds),
        resets_at: printed.resets_at_ms.and_then(instant),
        model_specific: printed.model_specific,
    }
}

fn our_abort(value: Option<&Value>) -> OurAbort {
    if value == Some(&Value::Bool(true)) {
        OurAbort::Stopped
    } else if value.and_then(Value::as_str) == Some("deadline") {
        OurAbort::Deadline
    } else {
        OurAbort::No
    }
}

fn number(value: &Value) -> Option<u16> {
    if let Value::String(text) = value {
        return text.trim().parse().ok();
    }
    value.as_u64().and_then(|status| u16::try_from(status).ok())
}

fn headers(line: &Value) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    for (name, value) in line.get("headers").and_then(Value::as_object).into_iter().flatten() {
        let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        for value in values {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            headers.push((name.clone(), value));
        }
    }
    headers
}

/// Whole seconds as an integer, others with their thousandths.
fn seconds(ms: u64) -> Value {
    if ms.is_multiple_of(1_000) { json!(ms / 1_000) } else { json!(ms as f64 / 1_000.0) }
}

fn instant(ms: u64) -> Option<String> {
    let second = i64::try_from(ms / 1_000).ok()?;
    Timestamp::from_second(second).ok().map(|at| at.to_string())
}

/// A calendar time in Unix milliseconds; a time without any zone is taken as UTC.
fn resolve(civil: &Civil, now_wall_ms: u64) -> Option<u64> {
    let zone = match &civil.zone {
        Zone::Fixed(_) | Zone::Unknown => TimeZone::UTC,
        Zone::Named(name) => TimeZone::get(name).ok()?,
    };
    let now = Timestamp::from_millisecond(i64::try_from(now_wall_ms).ok()?).ok()?;
    u64::try_from(next(civil, now, &zone)?.as_millisecond()).ok()
}

/// The first such time after now.
fn next(civil: &Civil, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let (hour, minute) = (i8::try_from(civil.hour).ok()?, i8::try_from(civil.minute).ok()?);
    let time = civil::Time::new(hour, minute, i8::try_from(civil.second).ok()?, 0).ok()?;
    let on = |date: civil::Date| zone.to_timestamp(date.to_datetime(time)).ok();
    let day = |year: i16, date: CivilDate| {
        civil::Date::new(year, i8::try_from(date.month).ok()?, i8::try_from(date.day).ok()?).ok()
    };
    let today = zone.to_datetime(now).date();
    match civil.date {
        None => on(today).filter(|at| *at > now).or_else(|| on(today.tomorrow().ok()?)),
        Some(date) => match date.year {
            Some(year) => on(day(i16::try_from(year).ok()?, date)?),
            None => (today.year()..=today.year() + 4)
                .filter_map(|year| on(day(year, date)?))
                .find(|at| *at > now),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORPUS: &str = include_str!("../../classify/tests/corpus.jsonl");

    fn answers(input: &[u8]) -> Vec<Value> {
        let mut output = Vec::new();
        run(input, &mut output).unwrap();
        let text = String::from_utf8(output).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn s3_the_whole_corpus_gets_the_right_answers() {
        let answers = answers(CORPUS.as_bytes());
        let wanted: Vec<Value> =
            CORPUS.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(answers.len(), wanted.len());
        let mut misses = Vec::new();
        for (answer, wanted) in answers.iter().zip(&wanted) {
            let wait = |value: &Value| value["retry_after_s"].as_f64();
            let same_wait = match (wait(answer), wait(wanted)) {
                (Some(one), Some(other)) => (one - other).abs() < 0.002,
                (one, other) => one == other,
            };
            let same = |key: &str| answer[key] == wanted[key];
            let whole = ["id", "class", "resets_at", "model_specific"].into_iter().all(same);
            if !(whole && same_wait) {
                misses.push(answer.to_string());
            }
        }
        assert!(misses.is_empty(), "{misses:#?}");
    }

    #[test]
    fn s3_an_unreadable_line_is_said_and_the_next_one_read() {
        let answers = answers(
            b"{broken\n\n[1]\n\xff\xfe\n{\"id\":\"a\",\"phase\":\"http\",\"status\":429}\n",
        );
        assert_eq!(answers.len(), 4);
        assert!(answers.iter().take(3).all(|answer| answer["error"].is_string()));
        assert_eq!(answers[3]["class"], "rate_limited");
        assert_eq!(answers[3]["retry_after_s"], Value::Null);
    }

    #[test]
    fn s3_zones_with_daylight_saving_are_looked_up() {
        let line = |now: &str, body: &str| {
            json!({"id": "z", "phase": "http", "status": null, "headers": {}, "now": now, "body": body})
                .to_string()
        };
        // The clock goes forward in the night between: 2 am is still the old offset, 4 am the new one.
        let spring =
            line("2026-03-29T00:30:00Z", "Usage limit reached, resets 4am (Europe/Berlin)");
        let autumn = line("2026-10-25T12:00:00Z", "You've hit your limit · resets 1pm (Etc/GMT+5)");
        let year =
            line("2026-12-31T12:00:00Z", "You've hit your limit · resets Jan 2, 9am (Asia/Tokyo)");
        let input = format!("{spring}\n{autumn}\n{year}\n");
        let found: Vec<Value> =
            answers(input.as_bytes()).iter().map(|answer| answer["resets_at"].clone()).collect();
        assert_eq!(found, ["2026-03-29T02:00:00Z", "2026-10-25T18:00:00Z", "2027-01-02T00:00:00Z"]);
    }
}
