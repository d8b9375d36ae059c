//! Names to the engine's numbers and back.
//!
//! It refuses to grow without bounds: sessions that were unseen longest are forgotten. Numbers mean
//! nothing after a restart; what is kept on disk is kept by name.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ekiden_engine::{QueueId, RouteId, SessionId};

/// The names behind the engine's numbers.
#[derive(Debug)]
pub struct Names {
    inner: Mutex<Inner>,
    sessions_max: usize,
}

#[derive(Debug, Default)]
struct Inner {
    sessions: HashMap<Arc<str>, SessionId>,
    session_names: HashMap<SessionId, Known>,
    next_session: u64,
    clock: u64,
    queues: Table,
    routes: Table,
}

#[derive(Debug)]
struct Known {
    name: Arc<str>,
    seen: u64,
}

#[derive(Debug, Default)]
struct Table {
    numbers: HashMap<Arc<str>, u32>,
    names: Vec<Arc<str>>,
}

impl Table {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        let name: Arc<str> = name.into();
        self.names.push(Arc::clone(&name));
        self.numbers.insert(name, number);
        number
    }

    fn name(&self, number: u32) -> Arc<str> {
        self.names.get(number as usize).cloned().unwrap_or_else(|| "?".into())
    }
}

impl Names {
    /// Remembers at most so many sessions.
    #[must_use]
    pub fn new(sessions_max: usize) -> Self {
        Self { inner: Mutex::default(), sessions_max: sessions_max.max(1) }
    }

    /// A session's number; the empty key is background work (R20).
    pub fn session(&self, key: &str) -> SessionId {
        if key.is_empty() {
            return SessionId::BACKGROUND;
        }
        let mut inner = self.inner();
        inner.clock += 1;
        let seen = inner.clock;
        if let Some(id) = inner.sessions.get(key).copied() {
            if let Some(known) = inner.session_names.get_mut(&id) {
                known.seen = seen;
            }
            return id;
        }
        if inner.sessions.len() >= self.sessions_max {
            inner.forget_longest_unseen(self.sessions_max / 10 + 1);
        }
        inner.next_session += 1;
        let id = SessionId(inner.next_session);
        let name: Arc<str> = key.into();
        inner.sessions.insert(Arc::clone(&name), id);
        inner.session_names.insert(id, Known { name, seen });
        id
    }

    /// A session's number, if it is known.
    #[must_use]
    pub fn known_session(&self, key: &str) -> Option<SessionId> {
        self.inner().sessions.get(key).copied()
    }

    /// A session's key; empty for background work.
    #[must_use]
    pub fn session_name(&self, id: SessionId) -> Arc<str> {
        let inner = self.inner();
        inner.session_names.get(&id).map_or_else(|| "".into(), |known| Arc::clone(&known.name))
    }

    /// All sessions that are remembered, in no order.
    #[must_use]
    pub fn sessions(&self) -> Vec<(SessionId, Arc<str>)> {
        let inner = self.inner();
        inner.session_names.iter().map(|(id, known)| (*id, Arc::clone(&known.name))).collect()
    }

    /// A queue's number.
    pub fn queue(&self, id: &str) -> QueueId {
        QueueId(self.inner().queues.number(id))
    }

    /// A queue's id.
    #[must_use]
    pub fn queue_name(&self, id: QueueId) -> Arc<str> {
        self.inner().queues.name(id.0)
    }

    /// A route's number.
    pub fn route(&self, route: &str) -> RouteId {
        RouteId(self.inner().routes.number(route))
    }

    /// `provider/model`.
    #[must_use]
    pub fn route_name(&self, id: RouteId) -> Arc<str> {
        self.inner().routes.name(id.0)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // A panic between two inserts leaves at worst a number without a name.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn forget_longest_unseen(&mut self, how_many: usize) {
        let mut seen: Vec<(u64, SessionId)> =
            self.session_names.iter().map(|(id, known)| (known.seen, *id)).collect();
        seen.sort_unstable();
        for (_, id) in seen.into_iter().take(how_many) {
            if let Some(known) = self.session_names.remove(&id) {
                self.sessions.remove(&known.name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_and_the_longest_unseen_session_goes_first() {
        let names = Names::new(2);
        assert_eq!(names.session(""), SessionId::BACKGROUND);
        let (a, b) = (names.session("a"), names.session("b"));
        assert_eq!(names.session("a"), a);
        let c = names.session("c");
        assert_eq!(&*names.session_name(c), "c");
        assert_eq!(&*names.session_name(b), "");
        assert_eq!(names.known_session("a"), Some(a));
        assert_ne!(names.session("b"), b);
        assert_eq!(names.route("x/y"), names.route("x/y"));
        assert_eq!(&*names.route_name(names.route("x/z")), "x/z");
    }
}
