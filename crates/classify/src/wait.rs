//! When a failure says that it will be over.
//!
//! It refuses to believe nonsense: nothing is negative, nothing lies in the past, nothing is longer than 35 days.

use alloc::string::String;
use alloc::vec::Vec;
use core::cell::OnceCell;

use ekiden_engine::class::Wait;

use crate::civil::{Civil, Zone};
use crate::facts::{Facts, clip, relative, structured};
use crate::instant::{Instant, epoch, http_date, instant};
use crate::prose::{Named, Prose};
use crate::words::{normal, tidy};

/// What a wait becomes that is negative or whose end has passed, in milliseconds.
pub(crate) const PAST_MS: u64 = 60_000;
/// Bytes of a header's name or value that are read.
const VALUE_MAX: usize = 256;
/// The longest wait that is believed, in milliseconds: 35 days.
const LONGEST_MS: u64 = 35 * 86_400_000;

/// A wait as the sender named it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum NamedWait {
    /// Nothing was said.
    #[default]
    Unnamed,
    /// A span, in milliseconds.
    Ms(u64),
    /// An instant, in Unix milliseconds.
    At(u64),
    /// A time on a calendar whose zone the shell has to look up.
    Civil(Civil),
}

impl NamedWait {
    /// The same for the engine, which knows no calendars: `None` if a zone has to be looked up first.
    #[must_use]
    pub fn for_engine(&self) -> Option<Wait> {
        match self {
            Self::Unnamed => Some(Wait::Unnamed),
            Self::Ms(ms) => Some(Wait::Ms(*ms)),
            Self::At(at) => Some(Wait::At(*at)),
            Self::Civil(_) => None,
        }
    }

    /// The span in milliseconds, as far as it can be known without a zone database.
    #[must_use]
    pub fn span_ms(&self, now_wall_ms: Option<u64>) -> Option<u64> {
        let at = match self {
            Self::Unnamed => return None,
            Self::Ms(ms) => return Some((*ms).min(LONGEST_MS)),
            Self::At(at) => *at,
            Self::Civil(civil) => civil.resolve_fixed(now_wall_ms?)?,
        };
        now_wall_ms.map(|now| span_until(at, now))
    }
}

/// The span from now to an instant, both in Unix milliseconds: never in the past, never longer than believed.
#[must_use]
pub fn span_until(at_ms: u64, now_wall_ms: u64) -> u64 {
    match at_ms.checked_sub(now_wall_ms) {
        None | Some(0) => PAST_MS,
        Some(ms) => ms.min(LONGEST_MS),
    }
}

/// All that was said about when it will be over.
#[derive(Default, Debug)]
pub(crate) struct Said {
    pub(crate) wait: NamedWait,
    /// The instant, where one was named (perhaps beside a span).
    pub(crate) until: NamedWait,
}

/// Headers that speak of the sender's own limits.
#[derive(Default, Debug)]
pub(crate) struct Limits {
    pub(crate) wait: Option<Named>,
    /// Whether the limit that is used up is a plan's or a day's or longer.
    pub(crate) long: bool,
}

/// Reads the wait in the order of the notations' trustworthiness.
///
/// `limits` is given only where the failure is about a limit: those headers also stand on answers that failed for
/// other reasons.
pub(crate) fn read(
    headers: &[(&str, &str)],
    facts: &Facts,
    limits: Option<&Limits>,
    zone: &dyn Fn() -> Zone,
) -> Said {
    let words = OnceCell::new();
    let prose = || words.get_or_init(|| Prose::new(facts.original_words()));
    let inner: Vec<(&str, &str)> =
        facts.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let found = from_headers(&inner)
        .or_else(|| from_headers(headers))
        .or_else(|| structured(facts))
        .or_else(|| limits.and_then(|limits| limits.wait.clone()))
        .or_else(|| prose().named());
    let until = match &found {
        Some(Named::Until(found)) => Some(found.clone()),
        Some(Named::Ms(_)) => facts.instants.first().cloned().or_else(|| prose().named_instant()),
        None => None,
    };
    let until = until.map_or(NamedWait::Unnamed, |found| settle(Named::Until(found), zone));
    let wait = found.map_or(NamedWait::Unnamed, |found| settle(found, zone));
    Said { wait, until }
}

fn settle(found: Named, zone: &dyn Fn() -> Zone) -> NamedWait {
    match found {
        Named::Ms(ms) => NamedWait::Ms(ms.min(LONGEST_MS)),
        Named::Until(Instant::At(at)) => NamedWait::At(at),
        Named::Until(Instant::Civil(mut civil)) => {
            if civil.zone == Zone::Unknown {
                civil.zone = zone();
            }
            let whole = civil.date.is_some_and(|date| date.year.is_some());
            match civil.resolve_fixed(0).filter(|_| whole) {
                Some(at) => NamedWait::At(at),
                None => NamedWait::Civil(civil),
            }
        }
    }
}

fn header<'a>(headers: &[(&str, &'a str)], name: &str) -> Option<&'a str> {
    headers
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name))
        .map(|(_, value)| clip(value.trim(), VALUE_MAX))
}

fn from_headers(headers: &[(&str, &str)]) -> Option<Named> {
    let ms = ["retry-after-ms", "x-ms-retry-after-ms", "x-retry-after-ms"]
        .iter()
        .find_map(|name| header(headers, name));
    if let Some(ms) = ms.and_then(|ms| relative(&normal(ms))) {
        // `relative` read seconds, rounded up to a thousandth.
        return Some(Named::Ms(if ms == PAST_MS { PAST_MS } else { ms.div_ceil(1_000) }));
    }
    let text =
        ["retry-after", "x-retry-after", "x-ratelimit-reset-after", "x-ratelimit-retry-after"]
            .iter()
            .find_map(|name| header(headers, name))?;
    let lower = normal(text);
    if let Some(ms) = relative(&lower) {
        return Some(Named::Ms(ms));
    }
    let at = match epoch(&lower) {
        Some((at, _)) => at,
        None => http_date(text)?,
    };
    Some(match header(headers, "date").and_then(http_date) {
        Some(sent) => Named::Ms(span_until(at, sent)),
        None => Named::Until(Instant::At(at)),
    })
}

/// Reads the reset headers: the limit that is used up, else the longest.
pub(crate) fn limits(headers: &[(&str, &str)], facts: &Facts, now_wall_ms: Option<u64>) -> Limits {
    let inner = facts.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let all: Vec<(String, &str)> = inner
        .chain(headers.iter().copied())
        .map(|(name, value)| {
            (clip(name, VALUE_MAX).to_ascii_lowercase(), clip(value.trim(), VALUE_MAX))
        })
        .collect();
    let pairs: Vec<(&str, &str)> =
        all.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let mut limits = Limits::default();
    let mut used_up: Option<(u64, Named)> = None;
    let mut longest: Option<(u64, Named)> = None;
    for (name, value) in &pairs {
        if !is_reset(name) {
            continue;
        }
        let Some(found) = reset(name, value, header(&pairs, "date")) else { continue };
        let length = match &found {
            Named::Ms(ms) => *ms,
            Named::Until(Instant::At(at)) => {
                now_wall_ms.map_or(*at / 2, |now| at.saturating_sub(now))
            }
            Named::Until(Instant::Civil(_)) => 1,
        };
        let spent = is_used_up(&pairs, name);
        if spent && is_long(name) {
            limits.long = true;
        }
        let slot = if spent { &mut used_up } else { &mut longest };
        if slot.as_ref().is_none_or(|(known, _)| *known < length) {
            *slot = Some((length, found));
        }
    }
    limits.long |= header(&pairs, "anthropic-ratelimit-unified-status") == Some("rejected");
    limits.wait = used_up.or(longest).map(|(_, found)| found);
    limits
}

fn is_reset(name: &str) -> bool {
    name.contains("reset")
        && ["ratelimit", "rate-limit", "x-codex-", "x-limit", "quota", "x-usage"]
            .iter()
            .any(|part| name.contains(part))
        && !name.contains("credits")
}

fn is_long(name: &str) -> bool {
    [
        "x-codex-",
        "unified",
        "-day",
        "day-",
        "daily",
        "-week",
        "-month",
        "quota-snapshot",
        "-5h",
        "-7d",
    ]
    .iter()
    .any(|part| name.contains(part))
}

fn is_used_up(headers: &[(&str, &str)], reset: &str) -> bool {
    let stem = reset
        .replace("reset-after-seconds", "reset")
        .replace("reset-at", "reset")
        .replace("reset-after", "reset");
    let zero = |value: &str| value.parse::<f64>().is_ok_and(|left| left <= 0.0);
    let remaining = header(headers, &stem.replace("reset", "remaining")).is_some_and(zero);
    let full = header(headers, &stem.replace("reset", "used-percent"))
        .and_then(|used| used.parse::<f64>().ok())
        .is_some_and(|used| used >= 100.0);
    let rejected = header(headers, &stem.replace("reset", "status")) == Some("rejected");
    remaining || full || rejected
}

fn reset(name: &str, value: &str, date: Option<&str>) -> Option<Named> {
    let lower = normal(value);
    if let Some((at, _)) = epoch(&lower) {
        return Some(Named::Until(Instant::At(at)));
    }
    if let Some(ms) = relative(&lower) {
        return Some(Named::Ms(if name.ends_with("-ms") { ms.div_ceil(1_000) } else { ms }));
    }
    let (found, _) = instant(&lower, &tidy(value))?;
    Some(match (&found, date.and_then(http_date)) {
        (Instant::At(at), Some(sent)) => Named::Ms(span_until(*at, sent)),
        _ => Named::Until(found),
    })
}
