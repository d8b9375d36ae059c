//! The journal as JSON: codes, names and spans, no sentences (R32) but what is wrong with settings.
//!
//! It refuses to word anything else, so that each page words it in its reader's language.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use ekiden_config::Language;
use ekiden_engine::{Clock, LiftedBy, Mode, WaitFor};
use ekiden_store::{Entry, JournalFilter, Place, Told, Waited, What};

use super::query::Query;
use super::shape::{ClassName, Said};

/// Journal entries, newest first.
#[derive(Serialize, JsonSchema)]
pub(in crate::front) struct Journal {
    entries: Vec<Line>,
    /// The `before` of the next page; none: there is no more.
    next: Option<u64>,
}

/// One entry.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "JournalEntry")]
pub(in crate::front) struct Line {
    /// Later ones are larger.
    number: u64,
    /// When, in Unix milliseconds.
    at_ms: u64,
    /// The call that led to it, if one did.
    call: Option<Arc<str>>,
    #[serde(flatten)]
    what: Happened,
}

/// A session × queue × candidate.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Place")]
pub(in crate::front) struct PlaceNamed {
    /// The session's key; empty for background work.
    session: Arc<str>,
    /// The queue's id.
    queue: Arc<str>,
    /// `provider/model`.
    route: Arc<str>,
}

/// What happened.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
#[schemars(rename = "JournalWhat")]
enum Happened {
    /// A candidate is out for a session and queue.
    Quarantined {
        #[serde(flatten)]
        place: PlaceNamed,
        class: ClassName,
        /// Its own reset, in Unix milliseconds; none: the day's.
        #[serde(skip_serializing_if = "Option::is_none")]
        until_ms: Option<u64>,
        /// When one call may try again, in Unix milliseconds.
        #[serde(skip_serializing_if = "Option::is_none")]
        parole_ms: Option<u64>,
        evidence: Said,
    },
    /// It is in again.
    Lifted {
        #[serde(flatten)]
        place: PlaceNamed,
        /// `success`, `release` or `reset`.
        by: &'static str,
    },
    /// A quarantined candidate is tried.
    OnTrial {
        #[serde(flatten)]
        place: PlaceNamed,
        /// `parole`, `last_resort` or `probe`.
        mode: &'static str,
    },
    /// A route cools for everybody.
    Cooled { route: Arc<str>, ms: u64, class: ClassName, evidence: Said },
    /// A cooldown ended before its time.
    Warmed { route: Arc<str>, by: &'static str },
    /// A call moved on.
    FailedOver {
        from: Arc<str>,
        to: Arc<str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        class: Option<ClassName>,
    },
    /// A call was answered by another candidate than the head of its queue.
    ServedInstead { head: Arc<str>, route: Arc<str> },
    /// After repeated truncation the next call starts further down.
    Rotated { session: Arc<str>, queue: Arc<str>, truncations: u32 },
    /// A candidate was silent for too long.
    Stalled {
        route: Arc<str>,
        /// `connect`, `headers`, `idle`, `progress`, `first_output` or `share`.
        clock: &'static str,
    },
    /// A call waited.
    Waited {
        session: Arc<str>,
        queue: Arc<str>,
        /// `cooldown`, `rest`, `parole`, `stand_in`, `seat`, `probe`, `round` or `local_network`.
        #[serde(rename = "for")]
        why: &'static str,
    },
    /// The call carried continue messages.
    Continued { route: Arc<str>, times: u32 },
    /// A request was mended.
    Repaired { route: Arc<str>, param: String },
    /// A chunk could not be read and was skipped.
    ChunkSkipped { route: Arc<str> },
    /// A client was told an error.
    Refused { session: Arc<str>, queue: Arc<str>, told: ToldShown },
    /// A deleted queue was asked for.
    QueueGone { asked: Arc<str>, queue: Arc<str> },
    /// Other settings hold from now on.
    SettingsTaken,
    /// The settings were changed so that they cannot be used: the last good ones hold.
    SettingsRefused {
        /// File, line and column of the first problem.
        place: Arc<str>,
        /// For programs (docs/settings.md lists them); left out where an older version kept none.
        #[serde(skip_serializing_if = "str::is_empty")]
        code: Arc<str>,
        /// For people, in Chinese where `Accept-Language` prefers it, else in English.
        message: String,
    },
    /// Calls no longer persist.
    Paused {
        /// Whose; none: everybody's.
        session: Option<Arc<str>>,
    },
    /// They persist again.
    Resumed {
        /// Whose; none: everybody's.
        session: Option<Arc<str>>,
    },
    /// Somebody stopped the call.
    Stopped { session: Arc<str>, queue: Arc<str> },
    /// This machine slept.
    Slept { ms: u64 },
    /// A new day began.
    Turned { day: u32 },
}

/// What a client was told instead of a whole answer.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Told")]
pub(in crate::front) struct ToldShown {
    /// `as_it_came`, `overflow`, `come_back`, `do_not_retry`, `empty_queue`, `local_network`,
    /// `deadline`, `broken` or `stopped`.
    code: &'static str,
    /// After how long to come back.
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<u64>,
    /// What broke it.
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<ClassName>,
}

/// The filter that a question names, and how many entries it wants.
pub(super) fn filter(query: &Query) -> (JournalFilter, usize) {
    let filter = JournalFilter {
        after: query.number("after"),
        before: query.number("before"),
        call: query.text("call"),
        session: query.text("session"),
        route: query.text("route"),
        kind: query.text("what"),
    };
    (filter, query.count("limit"))
}

/// Newest first, as it is kept.
pub(super) fn shown(entries: &[Entry], most: usize, language: Language) -> Journal {
    let full = entries.len() >= most;
    Journal {
        entries: entries.iter().map(|entry| Line::of(entry, language)).collect(),
        next: entries.last().filter(|_| full).map(|last| last.number),
    }
}

impl Line {
    pub(super) fn of(entry: &Entry, language: Language) -> Self {
        Self {
            number: entry.number,
            at_ms: entry.at_ms,
            call: entry.call.clone(),
            what: Happened::of(&entry.what, language),
        }
    }
}

impl PlaceNamed {
    pub(super) fn of(place: &Place) -> Self {
        Self {
            session: Arc::clone(&place.session),
            queue: Arc::clone(&place.queue),
            route: Arc::clone(&place.route),
        }
    }
}

impl Happened {
    fn of(what: &What, language: Language) -> Self {
        match what.clone() {
            What::Quarantined { place, class, until_ms, parole_ms, evidence } => {
                Self::Quarantined {
                    place: PlaceNamed::of(&place),
                    class: ClassName(class),
                    until_ms,
                    parole_ms,
                    evidence: Said::of(&evidence),
                }
            }
            What::Lifted { place, by } => {
                Self::Lifted { place: PlaceNamed::of(&place), by: lifted_by(by) }
            }
            What::OnTrial { place, mode } => {
                Self::OnTrial { place: PlaceNamed::of(&place), mode: mode_name(mode) }
            }
            What::Cooled { route, ms, class, evidence } => {
                Self::Cooled { route, ms, class: ClassName(class), evidence: Said::of(&evidence) }
            }
            What::Warmed { route, by } => Self::Warmed { route, by: lifted_by(by) },
            What::FailedOver { from, to, class } => {
                Self::FailedOver { from, to, class: class.map(ClassName) }
            }
            What::ServedInstead { head, route } => Self::ServedInstead { head, route },
            What::Rotated { session, queue, truncations } => {
                Self::Rotated { session, queue, truncations }
            }
            What::Stalled { route, clock } => Self::Stalled { route, clock: clock_name(clock) },
            What::Waited { session, queue, why } => {
                Self::Waited { session, queue, why: waited(why) }
            }
            What::Continued { route, times } => Self::Continued { route, times },
            What::Repaired { route, param } => Self::Repaired { route, param },
            What::ChunkSkipped { route } => Self::ChunkSkipped { route },
            What::Refused { session, queue, told } => {
                Self::Refused { session, queue, told: ToldShown::of(told) }
            }
            What::QueueGone { asked, queue } => Self::QueueGone { asked, queue },
            What::SettingsTaken => Self::SettingsTaken,
            What::SettingsRefused { place, code, message, chinese } => {
                let message = match language {
                    Language::Chinese if !chinese.is_empty() => chinese,
                    Language::Chinese | Language::English => message,
                };
                Self::SettingsRefused { place, code, message }
            }
            What::Paused { session } => Self::Paused { session },
            What::Resumed { session } => Self::Resumed { session },
            What::Stopped { session, queue } => Self::Stopped { session, queue },
            What::Slept { ms } => Self::Slept { ms },
            What::Turned { day } => Self::Turned { day },
        }
    }
}

const fn lifted_by(by: LiftedBy) -> &'static str {
    match by {
        LiftedBy::Success => "success",
        LiftedBy::Release => "release",
        LiftedBy::Reset => "reset",
    }
}

const fn mode_name(mode: Mode) -> &'static str {
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

pub(super) const fn waited(why: Waited) -> &'static str {
    match why {
        Waited::LocalNetwork => "local_network",
        Waited::Candidate(WaitFor::Cooldown) => "cooldown",
        Waited::Candidate(WaitFor::Rest) => "rest",
        Waited::Candidate(WaitFor::Parole) => "parole",
        Waited::Candidate(WaitFor::StandIn) => "stand_in",
        Waited::Candidate(WaitFor::Seat) => "seat",
        Waited::Candidate(WaitFor::Probe) => "probe",
        Waited::Candidate(WaitFor::Round) => "round",
    }
}

impl ToldShown {
    pub(super) fn of(told: Told) -> Self {
        let (code, seconds, class) = match told {
            Told::AsItCame => ("as_it_came", None, None),
            Told::Overflow => ("overflow", None, None),
            Told::ComeBack(seconds) => ("come_back", Some(seconds), None),
            Told::DoNotRetry => ("do_not_retry", None, None),
            Told::EmptyQueue => ("empty_queue", None, None),
            Told::LocalNetwork => ("local_network", None, None),
            Told::Deadline => ("deadline", None, None),
            Told::Broken(class) => ("broken", None, Some(ClassName(class))),
            Told::Stopped => ("stopped", None, None),
        };
        Self { code, seconds, class }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r32_the_kinds_that_can_be_asked_for_are_those_that_are_shown() {
        let schema = schemars::schema_for!(Happened).to_value();
        let shown = schema["oneOf"].as_array().expect("kinds").iter();
        let shown: Vec<_> = shown.map(|one| one["properties"]["what"]["const"].clone()).collect();
        assert_eq!(shown, What::KINDS, "{schema:#}");
    }
}
