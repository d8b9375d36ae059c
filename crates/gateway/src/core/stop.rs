//! Pause, resume and stop (P5). They refuse to touch anything else of what runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Context;

use atomic_waker::AtomicWaker;
use ekiden_engine::Whose;
use ekiden_store::What;

use super::Core;

/// The way to tell one open call to end.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    asked: AtomicBool,
    waker: AtomicWaker,
}

impl Stop {
    /// The call is to end. Whether it was not asked to already.
    pub(crate) fn ask(&self) -> bool {
        let first = !self.asked.swap(true, Ordering::AcqRel);
        self.waker.wake();
        first
    }

    /// Whether it was asked to, and has not been told yet. Who looks is woken when it is.
    pub(crate) fn look(&self, cx: &Context<'_>) -> bool {
        self.waker.register(cx.waker());
        self.asked.load(Ordering::Acquire)
    }

    /// Whether it was asked to; once it has been told, no more.
    pub(crate) fn take(&self) -> bool {
        self.asked.swap(false, Ordering::AcqRel)
    }

    /// The same. Who polls is woken when it is.
    pub(crate) fn poll(&self, cx: &Context<'_>) -> bool {
        self.look(cx) && self.take()
    }
}

impl Core {
    /// Calls no longer persist, until they are resumed (P5).
    pub fn pause(&self, whose: Whose) {
        self.with_engine(None, |engine, _| engine.pause(whose));
    }

    /// They persist again (P5).
    pub fn resume(&self, whose: Whose) {
        self.with_engine(None, |engine, _| engine.resume(whose));
    }

    /// Whose pauses hold, by the sessions' keys; `None`: everybody's (P5).
    #[must_use]
    pub fn pauses(&self) -> Vec<Option<Arc<str>>> {
        let pauses: Vec<Whose> = self.decisions().engine.pauses().collect();
        pauses.into_iter().map(|whose| self.whose(whose)).collect()
    }

    /// Ends an open call (P5); its client is told so. Whether it was open.
    pub fn stop(&self, call: &str) -> bool {
        let open = self.calls.open_now();
        let Some(open) = open.iter().find(|open| &*open.call == call) else { return false };
        let Some(reach) = self.waiting().get(&open.id).cloned() else { return false };
        if reach.stop.ask() {
            let (session, queue) = (Arc::clone(&open.session), Arc::clone(&open.queue.id));
            self.note(Some(Arc::clone(&open.call)), What::Stopped { session, queue });
        }
        true
    }

    pub(super) fn whose(&self, whose: Whose) -> Option<Arc<str>> {
        match whose {
            Whose::All => None,
            Whose::Session(session) => Some(self.names.session_name(session)),
        }
    }
}
