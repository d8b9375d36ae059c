//! Time as an input. Nothing here reads a clock.

/// An instant, as the shell read it.
///
/// `mono_ms` never goes back and stands still while the machine sleeps; clocks, backoff and idle
/// limits are measured on it. `wall_ms` is Unix time and may jump; days and named instants are
/// measured on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Now {
    /// Milliseconds since any fixed moment of this process.
    pub mono_ms: u64,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub wall_ms: u64,
}

impl Now {
    /// The moment `ms` from now, on both clocks.
    #[must_use]
    pub const fn after(self, ms: u64) -> Self {
        Self { mono_ms: self.mono_ms.saturating_add(ms), wall_ms: self.wall_ms.saturating_add(ms) }
    }

    /// The moment `ms` ago, on both clocks.
    #[must_use]
    pub const fn before(self, ms: u64) -> Self {
        Self { mono_ms: self.mono_ms.saturating_sub(ms), wall_ms: self.wall_ms.saturating_sub(ms) }
    }

    /// Whether `moment` has come. Either clock suffices: the monotonic one stands still while the
    /// machine sleeps, and a wall clock that is set back must not prolong a wait.
    #[must_use]
    pub const fn reached(self, moment: Self) -> bool {
        self.mono_ms >= moment.mono_ms || self.wall_ms >= moment.wall_ms
    }

    /// Milliseconds until `moment`; 0 once it has come.
    #[must_use]
    pub const fn until(self, moment: Self) -> u64 {
        let mono = moment.mono_ms.saturating_sub(self.mono_ms);
        let wall = moment.wall_ms.saturating_sub(self.wall_ms);
        if mono < wall { mono } else { wall }
    }

    /// By how many milliseconds the wall clock outran the monotonic one since `earlier` (R48).
    #[must_use]
    pub const fn slept_since(self, earlier: Self) -> u64 {
        let wall = self.wall_ms.saturating_sub(earlier.wall_ms);
        let mono = self.mono_ms.saturating_sub(earlier.mono_ms);
        wall.saturating_sub(mono)
    }
}

/// One logical day, from reset hour to reset hour (R17). The shell knows the calendar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Day {
    /// Counts days; a later day has a larger number.
    pub number: u32,
    /// Unix milliseconds at which the next day begins.
    pub ends_ms: u64,
}
