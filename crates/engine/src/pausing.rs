//! Pause and resume (P5). A pause stops nothing that runs: it ends the waits of policy `persist`,
//! and calls that come later do not persist until it is lifted.

use alloc::vec::Vec;

use crate::engine::Engine;
use crate::fact::{Fact, Notice};
use crate::ids::SessionId;

/// Whom a pause concerns.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Whose {
    /// Every session.
    All,
    /// One session.
    Session(SessionId),
}

impl Engine {
    /// Pauses: a call that waits for another round ends with its last failure, and new ones do not
    /// persist until [`Engine::resume`]. A pause of all and one of a session are two: each is
    /// resumed by its own name. Nothing happens where it is paused already.
    pub fn pause(&mut self, whose: Whose) {
        if self.pauses.insert(whose, ()).is_none() {
            self.notices.push_back(Notice::Fact(Fact::Paused { whose }));
            let concerned =
                |session| matches!(whose, Whose::All) || whose == Whose::Session(session);
            let waiting = self.waiters.iter().filter(|waiter| concerned(waiter.session()));
            let woken: Vec<_> = waiting.map(|waiter| Notice::Wake(waiter.call())).collect();
            self.notices.extend(woken);
        }
    }

    /// Lifts a pause; the other kind stays.
    pub fn resume(&mut self, whose: Whose) {
        if self.pauses.remove(&whose).is_some() {
            self.notices.push_back(Notice::Fact(Fact::Resumed { whose }));
        }
    }

    /// Whether a session's calls do not persist at this moment.
    #[must_use]
    pub fn is_paused(&self, session: SessionId) -> bool {
        self.pauses.contains_key(&Whose::All) || self.pauses.contains_key(&Whose::Session(session))
    }

    /// What is paused, all before single sessions.
    pub fn pauses(&self) -> impl Iterator<Item = Whose> + '_ {
        self.pauses.keys().copied()
    }
}
