//! The benchmark's only clock. It measures spans and never asks what day it is.

use std::time::{Duration, Instant};

/// This instant.
#[expect(clippy::disallowed_methods, reason = "measuring time is what a benchmark is for")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Lets others run for a while: between looks at a process that starts or settles.
#[expect(clippy::disallowed_methods, reason = "there is no runtime here that could be blocked")]
pub(crate) fn pause(span: Duration) {
    std::thread::sleep(span);
}
