//! The corpus of real bodies, with the answers that people gave them.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail, and says where")]

use ekiden_classify::{Civil, Line, OurAbort, Phase, Printed, Zone};
use serde_json::Value;

/// Bodies that people collected.
const CORPUS: &str = include_str!("corpus.jsonl");
/// Their siblings: put together from the vendors' documentation and from the words of their programs.
const FIELD: &str = include_str!("field.jsonl");

fn text<'a>(line: &'a Value, key: &str) -> Option<&'a str> {
    line.get(key).and_then(Value::as_str)
}

/// Unix milliseconds of `2026-03-09T06:20:11Z`.
fn epoch_ms(text: &str) -> u64 {
    text.parse::<jiff::Timestamp>().unwrap().as_millisecond().try_into().unwrap()
}

fn resolve(civil: &Civil, now_ms: u64) -> Option<u64> {
    let zone = match &civil.zone {
        Zone::Named(name) => jiff::tz::TimeZone::get(name).ok()?,
        Zone::Fixed(_) | Zone::Unknown => jiff::tz::TimeZone::UTC,
    };
    // Good enough for a test: the offset that holds now.
    let now = jiff::Timestamp::from_millisecond(now_ms.try_into().ok()?).ok()?;
    let offset = zone.to_offset(now);
    let at = civil.resolve_at_offset(offset.seconds(), now_ms)?;
    let then = jiff::Timestamp::from_millisecond(at.try_into().ok()?).ok()?;
    civil.resolve_at_offset(zone.to_offset(then).seconds(), now_ms)
}

fn judge(line: &Value) -> (Printed, String) {
    let headers: Vec<(&str, &str)> = line["headers"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str().unwrap()))
        .collect();
    let judged = Line {
        status: line["status"].as_u64().map(|status| status.try_into().unwrap()),
        headers: &headers,
        body: text(line, "body").unwrap_or_default(),
        phase: Phase::from_name(text(line, "phase").unwrap()).unwrap(),
        code: text(line, "code"),
        our_abort: if line["our_abort"] == Value::Bool(true) {
            OurAbort::Stopped
        } else {
            OurAbort::No
        },
        now_wall_ms: text(line, "now").map(epoch_ms),
        provider: text(line, "provider"),
    }
    .judge();
    let rule = judged.verdict().map_or("-", |verdict| verdict.rule).to_owned();
    (judged.print(resolve), rule)
}

#[derive(Default)]
struct Score {
    lines: usize,
    classes: usize,
    waits: (usize, usize),
    resets: usize,
    reach: usize,
    misses: Vec<String>,
}

fn score(lines: &str) -> Score {
    let mut score = Score::default();
    for raw in lines.lines() {
        let line: Value = serde_json::from_str(raw).unwrap();
        let (printed, rule) = judge(&line);
        let id = text(&line, "id").unwrap();
        score.lines += 1;
        let class = printed.class.map(|class| class.name());
        if class == text(&line, "class") {
            score.classes += 1;
        } else {
            score.misses.push(format!(
                "{id}: class {class:?} by {rule}, wanted {:?}",
                text(&line, "class")
            ));
        }
        println!("RULE {id} {rule} {}", class == text(&line, "class"));
        let wanted = line["retry_after_s"].as_f64();
        let got = printed.retry_after_ms.map(|ms| ms as f64 / 1_000.0);
        let same = match (wanted, got) {
            (None, None) => true,
            (Some(wanted), Some(got)) => (wanted - got).abs() < 0.002,
            _ => false,
        };
        score.waits.1 += 1;
        if same {
            score.waits.0 += 1;
        } else {
            score.misses.push(format!("{id}: wait {got:?}, wanted {wanted:?}"));
        }
        let resets = text(&line, "resets_at").map(epoch_ms);
        let open = line.get("fidelity").is_none() && resets.is_none();
        if open || resets == printed.resets_at_ms.map(|ms| ms / 1_000 * 1_000) {
            score.resets += 1;
        } else {
            score
                .misses
                .push(format!("{id}: resets {:?}, wanted {resets:?}", printed.resets_at_ms));
        }
        let open = line.get("fidelity").is_none() && line.get("model_specific").is_none();
        if open || line["model_specific"].as_bool() == printed.model_specific {
            score.reach += 1;
        } else {
            score.misses.push(format!(
                "{id}: model specific {:?}, wanted {}",
                printed.model_specific, line["model_specific"]
            ));
        }
    }
    for miss in &score.misses {
        println!("MISS {miss}");
    }
    println!(
        "{} lines: classes {}, waits {}/{}, resets {}, reach {}",
        score.lines, score.classes, score.waits.0, score.waits.1, score.resets, score.reach
    );
    score
}

#[test]
fn s3_the_corpus_is_classified() {
    let score = score(CORPUS);
    assert!(score.classes * 100 >= score.lines * 97, "{:#?}", score.misses);
    assert!(score.waits.0 * 100 >= score.waits.1 * 98, "{:#?}", score.misses);
    assert!(score.resets * 100 >= score.lines * 98, "{:#?}", score.misses);
    assert!(score.reach * 100 >= score.lines * 98, "{:#?}", score.misses);
}

#[test]
fn s3_the_siblings_are_classified() {
    let score = score(FIELD);
    assert!(score.classes * 100 >= score.lines * 99, "{:#?}", score.misses);
    assert!(score.waits.0 * 100 >= score.waits.1 * 99, "{:#?}", score.misses);
    assert!(score.resets * 100 >= score.lines * 99, "{:#?}", score.misses);
    assert!(score.reach * 100 >= score.lines * 98, "{:#?}", score.misses);
}
