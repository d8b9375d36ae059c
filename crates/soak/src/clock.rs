//! The soak's only clock. It measures spans and never asks what day it is.

use tokio::time::Instant;

/// This instant.
#[expect(clippy::disallowed_methods, reason = "measuring time is half of what a soak is for")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
