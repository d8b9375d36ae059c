//! One sleep for a call: moved when it must ring earlier, left alone when it may ring later.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::time::{Instant, Sleep, sleep_until};

/// See the module.
#[derive(Default)]
pub(crate) struct Timer {
    /// From the first wait on: a call that never waits costs the runtime's clock nothing.
    sleep: Option<Pin<Box<Sleep>>>,
    rings: Option<Instant>,
}

impl Timer {
    /// When it rings from now on.
    pub(crate) fn set(&mut self, rings: Option<Instant>) {
        self.rings = rings;
        if let (Some(rings), Some(sleep)) = (rings, &mut self.sleep)
            && (rings < sleep.deadline() || sleep.is_elapsed())
        {
            sleep.as_mut().reset(rings);
        }
    }

    /// Ready once it rings.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(rings) = self.rings else { return Poll::Pending };
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(rings)));
        loop {
            std::task::ready!(sleep.as_mut().poll(cx));
            if sleep.deadline() >= rings {
                self.rings = None;
                return Poll::Ready(());
            }
            sleep.as_mut().reset(rings);
        }
    }
}
