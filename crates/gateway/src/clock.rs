//! The one place that reads clocks, and the calendar of the logical day (R17).
//!
//! It refuses to sleep: whoever waits computes an instant from here and hands it to the runtime.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ekiden_engine::{Day, Now};
use jiff::civil::{Date, time};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, ToSpan};
use tokio::time::Instant;

/// The gateway's clocks.
///
/// The monotonic one is tokio's, so that a test whose time is paused decides how fast it goes. It
/// stands still while the machine sleeps on Linux and macOS, which is how R48 is seen; on Windows
/// it goes on, and a sleep there shows as clocks that ran out.
#[derive(Debug)]
pub struct Clock {
    started: Instant,
    wall: Wall,
    /// Settings may change it.
    calendar: RwLock<Calendar>,
}

#[derive(Debug)]
enum Wall {
    System,
    /// Starts here and keeps step with the monotonic clock, but for jumps.
    Virtual {
        started_ms: u64,
        jumped_ms: AtomicI64,
    },
}

/// Where the day turns.
#[derive(Clone, Debug)]
pub struct Calendar {
    zone: TimeZone,
    reset_hour: i8,
}

impl Clock {
    /// The clocks of this machine.
    #[must_use]
    pub fn system(calendar: Calendar) -> Self {
        Self { started: instant_now(), wall: Wall::System, calendar: RwLock::new(calendar) }
    }

    /// For tests: a wall clock that starts at this Unix millisecond and keeps step with tokio's.
    #[must_use]
    pub fn starting_at(wall_ms: u64, calendar: Calendar) -> Self {
        let wall = Wall::Virtual { started_ms: wall_ms, jumped_ms: AtomicI64::new(0) };
        Self { started: instant_now(), wall, calendar: RwLock::new(calendar) }
    }

    /// For tests: the wall clock jumps ahead (or back), as after a sleep. A system clock does not.
    pub fn jump(&self, ms: i64) {
        if let Wall::Virtual { jumped_ms, .. } = &self.wall {
            jumped_ms.fetch_add(ms, Ordering::Relaxed);
        }
    }

    /// Both clocks.
    #[must_use]
    pub fn now(&self) -> Now {
        let mono_ms = instant_now().saturating_duration_since(self.started).as_millis() as u64;
        let wall_ms = match &self.wall {
            Wall::System => system_ms(),
            Wall::Virtual { started_ms, jumped_ms } => {
                (started_ms + mono_ms).saturating_add_signed(jumped_ms.load(Ordering::Relaxed))
            }
        };
        Now { mono_ms, wall_ms }
    }

    /// The runtime's instant for monotonic milliseconds.
    #[must_use]
    pub fn instant(&self, mono_ms: u64) -> Instant {
        self.started + Duration::from_millis(mono_ms)
    }

    /// The logical day of a moment.
    #[must_use]
    pub fn day(&self, now: Now) -> Day {
        self.held().day(now.wall_ms)
    }

    /// The zone of the day.
    #[must_use]
    pub fn zone(&self) -> TimeZone {
        self.held().zone.clone()
    }

    /// From now on the day turns by this calendar.
    pub(crate) fn keep_days_by(&self, calendar: Calendar) {
        *self.calendar.write().unwrap_or_else(PoisonError::into_inner) = calendar;
    }

    fn held(&self) -> RwLockReadGuard<'_, Calendar> {
        self.calendar.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Calendar {
    /// The calendar of a zone, `None` being the system's; the hour is 0 to 23. A zone that this
    /// machine does not know is taken for UTC; the configuration has refused it before.
    #[must_use]
    pub fn new(zone: Option<&str>, reset_hour: u8) -> Self {
        let zone = match zone {
            Some(name) => TimeZone::get(name).unwrap_or(TimeZone::UTC),
            None => TimeZone::system(),
        };
        Self { zone, reset_hour: reset_hour.min(23) as i8 }
    }

    /// The logical day of a Unix millisecond: it began at the last reset and ends at the next.
    #[must_use]
    pub fn day(&self, wall_ms: u64) -> Day {
        let now = i64::try_from(wall_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
        let now = now.unwrap_or(Timestamp::UNIX_EPOCH);
        let mut date = self.zone.to_datetime(now).date();
        date = date.saturating_add(1.day());
        // A zone that leaves out a whole day has two resets at one instant: the later date holds.
        while self.reset(date) > now && date > Date::MIN {
            date = date.saturating_sub(1.day());
        }
        let ends = self.reset(date.saturating_add(1.day()));
        let number = date.since(Date::constant(1970, 1, 1)).map_or(0, |span| span.get_days());
        Day {
            number: u32::try_from(number).unwrap_or(0),
            ends_ms: u64::try_from(ends.as_millisecond()).unwrap_or(u64::MAX),
        }
    }

    /// The instant of a date's reset: an hour that the clock skips becomes the first instant after,
    /// one that comes twice its first.
    fn reset(&self, date: Date) -> Timestamp {
        let at = date.to_datetime(time(self.reset_hour, 0, 0, 0));
        let ambiguous = self.zone.to_ambiguous_timestamp(at);
        let earlier = |offset: jiff::tz::Offset| offset.to_timestamp(at);
        let found = match ambiguous.offset() {
            AmbiguousOffset::Unambiguous { offset }
            | AmbiguousOffset::Fold { before: offset, .. } => earlier(offset),
            AmbiguousOffset::Gap { before, .. } => earlier(before).map(|inside| {
                // Read with the offset before, the skipped hour lies at or after the jump.
                let jump =
                    self.zone.preceding(inside.saturating_add(1.nanosecond()).unwrap_or(inside));
                jump.into_iter().next().map_or(inside, |jump| jump.timestamp())
            }),
        };
        found.unwrap_or(Timestamp::MAX)
    }
}

#[expect(clippy::disallowed_methods, reason = "this module is the one that reads clocks")]
fn instant_now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "this module is the one that reads clocks")]
fn system_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(text: &str) -> u64 {
        text.parse::<Timestamp>().unwrap().as_millisecond() as u64
    }

    fn ends(calendar: &Calendar, at: &str) -> String {
        Timestamp::from_millisecond(calendar.day(ms(at)).ends_ms as i64).unwrap().to_string()
    }

    #[test]
    fn r17_the_day_turns_at_the_reset_hour_of_the_zone() {
        let shanghai = Calendar::new(Some("Asia/Shanghai"), 1);
        assert_eq!(ends(&shanghai, "2026-11-29T16:59:59Z"), "2026-11-29T17:00:00Z");
        assert_eq!(ends(&shanghai, "2026-11-29T17:00:00Z"), "2026-11-30T17:00:00Z");
        let before = shanghai.day(ms("2026-11-29T16:59:59Z")).number;
        let after = shanghai.day(ms("2026-11-29T17:00:00Z")).number;
        assert_eq!(after, before + 1);
    }

    #[test]
    fn r17_a_skipped_hour_is_the_first_instant_after_and_a_doubled_one_its_first() {
        let berlin = Calendar::new(Some("Europe/Berlin"), 2);
        assert_eq!(ends(&berlin, "2026-03-29T00:30:00Z"), "2026-03-29T01:00:00Z");
        let autumn = Calendar::new(Some("Europe/Berlin"), 2);
        assert_eq!(ends(&autumn, "2026-10-24T23:00:00Z"), "2026-10-25T00:00:00Z");
        // Half an hour is skipped at two o'clock.
        let lord_howe = Calendar::new(Some("Australia/Lord_Howe"), 2);
        assert_eq!(ends(&lord_howe, "2026-10-03T15:00:00Z"), "2026-10-03T15:30:00Z");
        // A whole day was left out.
        let apia = Calendar::new(Some("Pacific/Apia"), 1);
        let last = apia.day(ms("2011-12-30T09:00:00Z"));
        let next = apia.day(ms("2011-12-30T11:30:00Z"));
        assert!(next.number > last.number);
        assert!(last.ends_ms <= ms("2011-12-30T11:00:00Z"));
    }

    #[test]
    fn r17_every_moment_lies_inside_its_day() {
        for zone in ["America/New_York", "Africa/Cairo", "America/Santiago", "Asia/Beirut", "UTC"] {
            for hour in [0, 1, 2, 3, 23] {
                let calendar = Calendar::new(Some(zone), hour);
                let mut at = ms("2026-01-01T00:10:00Z");
                let mut last = calendar.day(at);
                while at < ms("2027-01-01T00:00:00Z") {
                    let day = calendar.day(at);
                    assert!(day.ends_ms > at, "{zone} {hour} {at}");
                    assert!(day == last || (day.number == last.number + 1 && at >= last.ends_ms));
                    last = day;
                    at += 30 * 60_000;
                }
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn r48_a_wall_clock_that_jumps_is_seen_against_the_other() {
        let clock = Clock::starting_at(1_000_000, Calendar::new(Some("UTC"), 1));
        let before = clock.now();
        tokio::time::advance(Duration::from_secs(2)).await;
        clock.jump(60_000);
        let after = clock.now();
        assert_eq!(after.mono_ms - before.mono_ms, 2_000);
        assert_eq!(after.slept_since(before), 60_000);
    }
}
