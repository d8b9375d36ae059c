//! One sleep for a call: moved when it must ring earlier, left alone when it may ring later.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::time::{Instant, Sleep, sleep_until};

/// See the module.
pub(crate) struct Timer {
    sleep: Pin<Box<Sleep>>,
    rings: Option<Instant>,
}

impl Timer {
    /// A timer that does not ring; `now` is any instant.
    pub(crate) fn new(now: Instant) -> Self {
        Self { sleep: Box::pin(sleep_until(now)), rings: None }
    }

    /// When it rings from now on.
    pub(crate) fn set(&mut self, rings: Option<Instant>) {
        self.rings = rings;
        if let Some(rings) = rings
            && (rings < self.sleep.deadline() || self.sleep.is_elapsed())
        {
            self.sleep.as_mut().reset(rings);
        }
    }

    /// Ready once it rings.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(rings) = self.rings else { return Poll::Pending };
        loop {
            std::task::ready!(self.sleep.as_mut().poll(cx));
            if self.sleep.deadline() >= rings {
                self.rings = None;
                return Poll::Ready(());
            }
            self.sleep.as_mut().reset(rings);
        }
    }
}
