//! Calendar times as messages write them.
//!
//! It refuses to know time zones by name: a zone database would weigh more than everything else here. A time with
//! a fixed offset is resolved here, in integers; a time in a named zone is handed on, name and all, and the shell
//! resolves it.

use alloc::string::String;

/// One second in milliseconds.
pub(crate) const SECOND_MS: i64 = 1_000;
/// One day in milliseconds.
pub(crate) const DAY_MS: i64 = 86_400_000;

/// A point on a calendar, with whatever parts the message left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Civil {
    /// The date, unless only a time of day was given.
    pub date: Option<CivilDate>,
    /// Hour, 0 to 23.
    pub hour: u8,
    /// Minute, 0 to 59.
    pub minute: u8,
    /// Second, 0 to 59.
    pub second: u8,
    /// The zone it is meant in.
    pub zone: Zone,
}

/// A day; without a year it is the next such day.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CivilDate {
    /// The year, unless it was left out.
    pub year: Option<i32>,
    /// Month, 1 to 12.
    pub month: u8,
    /// Day of the month, 1 to 31.
    pub day: u8,
}

/// The zone of a [`Civil`] time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Zone {
    /// Seconds east of UTC.
    Fixed(i32),
    /// A name of the IANA database, as the message spells it (`America/Los_Angeles`, `Etc/GMT+5`).
    Named(String),
    /// None was given, and the sender's habit is not known: usually the reader's own.
    Unknown,
}

impl Civil {
    /// The instant in Unix milliseconds, if the zone is a fixed offset.
    ///
    /// What was left out is filled in so that the instant is the next one after `now_wall_ms`. `None` for a zone
    /// that is not fixed, and for a day that does not exist.
    #[must_use]
    pub fn resolve_fixed(&self, now_wall_ms: u64) -> Option<u64> {
        match self.zone {
            Zone::Fixed(offset_s) => self.resolve_at_offset(offset_s, now_wall_ms),
            Zone::Named(_) | Zone::Unknown => None,
        }
    }

    /// The instant in Unix milliseconds, read at an offset of `offset_s` seconds east of UTC whatever the zone.
    #[must_use]
    pub fn resolve_at_offset(&self, offset_s: i32, now_wall_ms: u64) -> Option<u64> {
        let now = i64::try_from(now_wall_ms).ok()?;
        let local_now = now.checked_add(i64::from(offset_s) * SECOND_MS)?;
        let today = local_now.div_euclid(DAY_MS);
        let clock =
            (i64::from(self.hour) * 3600 + i64::from(self.minute) * 60 + i64::from(self.second))
                * SECOND_MS;
        let local = match self.date {
            None => {
                let local = today * DAY_MS + clock;
                if local > local_now { local } else { local + DAY_MS }
            }
            Some(CivilDate { year: Some(year), month, day }) => {
                days(year, month, day)? * DAY_MS + clock
            }
            Some(CivilDate { year: None, month, day }) => {
                let year = year_of(today);
                [year, year + 1, year + 2, year + 3, year + 4]
                    .into_iter()
                    .filter_map(|year| days(year, month, day))
                    .map(|date| date * DAY_MS + clock)
                    .find(|local| *local > local_now)?
            }
        };
        u64::try_from(local - i64::from(offset_s) * SECOND_MS).ok()
    }
}

/// Days from 1970-01-01 to a Gregorian date; `None` if there is no such day.
pub(crate) fn days(year: i32, month: u8, day: u8) -> Option<i64> {
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let length = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => return None,
    };
    if day == 0 || day > length || !(1970..=9999).contains(&year) {
        return None;
    }
    // Years begin in March here, so that the leap day is the last of its year.
    let (year, month) = if month > 2 {
        (i64::from(year), i64::from(month) - 3)
    } else {
        (i64::from(year) - 1, i64::from(month) + 9)
    };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * month + 2) / 5 + i64::from(day) - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

fn year_of(day: i64) -> i32 {
    let mut year = i32::try_from(1970 + day.div_euclid(366)).unwrap_or(9_999);
    while year < 9_999 && days(year + 1, 1, 1).is_some_and(|first| first <= day) {
        year += 1;
    }
    year
}

/// The month that a name in lower case begins with (English, and the forms of other locales seen in the field).
pub(crate) fn month(name: &str) -> Option<u8> {
    const NAMES: [(&str, u8); 25] = [
        ("jan", 1),
        ("feb", 2),
        ("mar", 3),
        ("apr", 4),
        ("may", 5),
        ("jun", 6),
        ("jul", 7),
        ("aug", 8),
        ("sep", 9),
        ("oct", 10),
        ("nov", 11),
        ("dec", 12),
        ("ene", 1),
        ("abr", 4),
        ("ago", 8),
        ("dic", 12),
        ("fev", 2),
        ("mai", 5),
        ("set", 9),
        ("out", 10),
        ("dez", 12),
        ("okt", 10),
        ("mär", 3),
        ("avr", 4),
        ("déc", 12),
    ];
    NAMES.iter().find(|(start, _)| name.starts_with(start)).map(|(_, month)| *month)
}
