//! Moments as people of this machine read and write them. It refuses to know what time it is: the
//! gateway's answer says so.

use ekiden_config::parse_span_ms;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// A moment in this machine's zone: `2026-11-30 08:12:03`.
pub(crate) fn moment(unix_ms: u64) -> String {
    let at = i64::try_from(unix_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    at.map_or_else(
        || unix_ms.to_string(),
        |at| at.to_zoned_datetime(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
    )
}

/// The date of a day by its number: days since 1970-01-01.
pub(crate) fn day(number: u32) -> String {
    let first = Date::constant(1970, 1, 1);
    first
        .checked_add(i64::from(number).days())
        .map_or_else(|_| number.to_string(), |date| date.to_string())
}

/// The moment that a text names, in Unix milliseconds: a span back from `now_ms`, a date, or a date
/// with its time, in this machine's zone unless it names another. `None`: it names none.
pub(crate) fn since(text: &str, now_ms: u64) -> Option<u64> {
    since_in(text, now_ms, TimeZone::system())
}

fn since_in(text: &str, now_ms: u64, zone: TimeZone) -> Option<u64> {
    let text = text.trim();
    if let Ok(span_ms) = parse_span_ms(text) {
        return Some(now_ms.saturating_sub(span_ms));
    }
    let at = match text.parse::<Timestamp>() {
        Ok(at) => at,
        Err(_) => text.parse::<DateTime>().ok()?.to_zoned_datetime(zone).ok()?.timestamp(),
    };
    Some(u64::try_from(at.as_millisecond()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_named_by_a_span_a_date_or_a_time() {
        let now = 1_795_996_800_000;
        let zone = || TimeZone::fixed(jiff::tz::offset(8));
        for (text, ms) in [
            ("2h", Some(now - 7_200_000)),
            ("1d", Some(now - 86_400_000)),
            ("2026-11-30", Some(1_795_968_000_000)),
            ("2026-11-30T08:00", Some(1_795_996_800_000)),
            ("2026-11-30 08:00:01", Some(1_795_996_801_000)),
            ("2026-11-30T08:00Z", Some(1_796_025_600_000)),
            ("yesterday", None),
            ("7", None),
        ] {
            assert_eq!(since_in(text, now, zone()), ms, "{text}");
        }
    }

    #[test]
    fn days_are_counted_from_the_beginning_of_1970() {
        assert_eq!(day(0), "1970-01-01");
        assert_eq!(day(20_787), "2026-11-30");
    }
}
