//! The journal as JSON: codes, names and spans, no sentences (R32).
//!
//! It refuses to word anything, so that each page words it in its reader's language.

use serde::Serialize;
use serde_json::{Map, Value, json};

use ekiden_engine::{Clock, LiftedBy, Mode, WaitFor};
use ekiden_store::{Entry, Evidence, Place, Told, Waited, What};

#[derive(Serialize)]
pub(super) struct Journal {
    entries: Vec<Value>,
}

/// Newest first, as it is kept.
pub(super) fn shown(entries: &[Entry]) -> Journal {
    Journal { entries: entries.iter().map(entry).collect() }
}

fn entry(entry: &Entry) -> Value {
    let (code, details) = what(&entry.what);
    let mut line = Map::new();
    line.insert("number".into(), entry.number.into());
    line.insert("at_ms".into(), entry.at_ms.into());
    line.insert("call".into(), entry.call.as_deref().into());
    line.insert("what".into(), code.into());
    if let Value::Object(details) = details {
        line.extend(details.into_iter().filter(|(_, value)| !value.is_null()));
    }
    Value::Object(line)
}

fn what(what: &What) -> (&'static str, Value) {
    match what {
        What::Quarantined { place, class, until_ms, parole_ms, evidence } => (
            "quarantined",
            at(
                place,
                json!({
                    "class": class.name(), "until_ms": until_ms, "parole_ms": parole_ms,
                    "evidence": said(evidence),
                }),
            ),
        ),
        What::Lifted { place, by } => ("lifted", at(place, json!({ "by": lifted_by(*by) }))),
        What::OnTrial { place, mode } => {
            ("on_trial", at(place, json!({ "mode": mode_name(*mode) })))
        }
        What::Cooled { route, ms, class, evidence } => (
            "cooled",
            json!({ "route": **route, "ms": ms, "class": class.name(), "evidence": said(evidence) }),
        ),
        What::Warmed { route, by } => ("warmed", json!({ "route": **route, "by": lifted_by(*by) })),
        What::FailedOver { from, to, class } => (
            "failed_over",
            json!({ "from": **from, "to": **to, "class": class.map(|class| class.name()) }),
        ),
        What::Rotated { session, queue, truncations } => (
            "rotated",
            json!({ "session": **session, "queue": **queue, "truncations": truncations }),
        ),
        What::Stalled { route, clock } => {
            ("stalled", json!({ "route": **route, "clock": clock_name(*clock) }))
        }
        What::Waited { session, queue, why } => {
            ("waited", json!({ "session": **session, "queue": **queue, "for": waited(*why) }))
        }
        What::Continued { route, times } => {
            ("continued", json!({ "route": **route, "times": times }))
        }
        What::Repaired { route, param } => {
            ("repaired", json!({ "route": **route, "param": param }))
        }
        What::ChunkSkipped { route } => ("chunk_skipped", json!({ "route": **route })),
        What::Refused { session, queue, told } => (
            "refused",
            json!({ "session": **session, "queue": **queue, "told": self::told(*told) }),
        ),
        What::QueueGone { asked, queue } => {
            ("queue_gone", json!({ "asked": **asked, "queue": **queue }))
        }
        What::Slept { ms } => ("slept", json!({ "ms": ms })),
        What::Turned { day } => ("turned", json!({ "day": day })),
    }
}

fn at(place: &Place, details: Value) -> Value {
    let mut line =
        json!({ "session": *place.session, "queue": *place.queue, "route": *place.route });
    if let (Value::Object(line), Value::Object(details)) = (&mut line, details) {
        line.extend(details);
    }
    line
}

pub(super) fn said(evidence: &Evidence) -> Value {
    json!({ "status": evidence.status, "code": evidence.code, "param": evidence.param,
        "message": evidence.message })
}

pub(super) const fn lifted_by(by: LiftedBy) -> &'static str {
    match by {
        LiftedBy::Success => "success",
        LiftedBy::Release => "release",
        LiftedBy::Reset => "reset",
    }
}

pub(super) const fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Normal => "normal",
        Mode::Probe => "probe",
        Mode::Parole => "parole",
        Mode::LastResort => "last_resort",
    }
}

const fn clock_name(clock: Clock) -> &'static str {
    match clock {
        Clock::Connect => "connect",
        Clock::Headers => "headers",
        Clock::Idle => "idle",
        Clock::Progress => "progress",
        Clock::FirstOutput => "first_output",
        Clock::Share => "share",
    }
}

const fn waited(why: Waited) -> &'static str {
    match why {
        Waited::LocalNetwork => "local_network",
        Waited::Candidate(WaitFor::Cooldown) => "cooldown",
        Waited::Candidate(WaitFor::Rest) => "rest",
        Waited::Candidate(WaitFor::Parole) => "parole",
        Waited::Candidate(WaitFor::StandIn) => "stand_in",
        Waited::Candidate(WaitFor::Seat) => "seat",
        Waited::Candidate(WaitFor::Probe) => "probe",
    }
}

/// What a client was told instead of a whole answer.
pub(super) fn told(told: Told) -> Value {
    match told {
        Told::AsItCame => json!({ "code": "as_it_came" }),
        Told::Overflow => json!({ "code": "overflow" }),
        Told::ComeBack(seconds) => json!({ "code": "come_back", "seconds": seconds }),
        Told::DoNotRetry => json!({ "code": "do_not_retry" }),
        Told::EmptyQueue => json!({ "code": "empty_queue" }),
        Told::LocalNetwork => json!({ "code": "local_network" }),
        Told::Deadline => json!({ "code": "deadline" }),
        Told::Broken(class) => json!({ "code": "broken", "class": class.name() }),
    }
}
