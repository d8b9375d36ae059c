//! Who made which opaque signature (G6).
//!
//! It refuses to keep a signature: a number made from it is enough to know it again. What is
//! forgotten, or was made before a restart, counts as foreign unless its vendor served the session
//! last.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ekiden_engine::SessionId;

/// Signatures that are remembered, over all sessions.
const SIGNATURES_MAX: usize = 200_000;
/// Sessions whose last vendor is remembered.
const SESSIONS_MAX: usize = 100_000;

/// The side table of signatures.
#[derive(Debug, Default)]
pub(crate) struct Issuers {
    inner: Mutex<Inner>,
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct Inner {
    made_by: HashMap<(SessionId, u64), Arc<str>>,
    order: VecDeque<(SessionId, u64)>,
    served_by: HashMap<SessionId, Arc<str>>,
    served: VecDeque<SessionId>,
}

/// What one session's request may send back to one vendor.
#[derive(Debug)]
pub(crate) struct Own<'a> {
    issuers: &'a Issuers,
    session: SessionId,
    vendor: &'a str,
}

impl Issuers {
    /// This vendor made this signature for this session.
    pub(crate) fn made(&self, session: SessionId, signature: &str, vendor: &Arc<str>) {
        let key = (session, self.number(signature));
        let mut inner = self.inner();
        if inner.made_by.insert(key, Arc::clone(vendor)).is_none() {
            inner.order.push_back(key);
        }
        while inner.order.len() > SIGNATURES_MAX {
            if let Some(oldest) = inner.order.pop_front() {
                inner.made_by.remove(&oldest);
            }
        }
    }

    /// This vendor gave the session its last whole answer.
    pub(crate) fn served(&self, session: SessionId, vendor: &Arc<str>) {
        let mut inner = self.inner();
        match inner.served_by.get_mut(&session) {
            Some(last) if last == vendor => return,
            Some(last) => *last = Arc::clone(vendor),
            None => {
                inner.served_by.insert(session, Arc::clone(vendor));
                inner.served.push_back(session);
            }
        }
        while inner.served.len() > SESSIONS_MAX {
            if let Some(oldest) = inner.served.pop_front() {
                inner.served_by.remove(&oldest);
            }
        }
    }

    pub(crate) const fn own<'a>(&'a self, session: SessionId, vendor: &'a str) -> Own<'a> {
        Own { issuers: self, session, vendor }
    }

    fn number(&self, signature: &str) -> u64 {
        self.hasher.hash_one(signature)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Two maps that drift apart cost memory of one entry, nothing else.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Own<'_> {
    /// Whether the vendor made this signature.
    pub(crate) fn is_own(&self, signature: &str) -> bool {
        let key = (self.session, self.issuers.number(signature));
        let inner = self.issuers.inner();
        match inner.made_by.get(&key).or_else(|| inner.served_by.get(&self.session)) {
            Some(vendor) => **vendor == *self.vendor,
            None => false,
        }
    }

    /// Whether the vendor served the session last.
    pub(crate) fn served_last(&self) -> bool {
        let inner = self.issuers.inner();
        inner.served_by.get(&self.session).is_some_and(|vendor| **vendor == *self.vendor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g06_a_signature_goes_back_to_its_maker_alone() {
        let (issuers, session) = (Issuers::default(), SessionId(7));
        let (a, b): (Arc<str>, Arc<str>) = ("a.example".into(), "b.example".into());
        issuers.made(session, "sig-of-a", &a);
        issuers.made(session, "sig-of-b", &b);
        issuers.served(session, &b);
        assert!(issuers.own(session, "a.example").is_own("sig-of-a"));
        assert!(!issuers.own(session, "b.example").is_own("sig-of-a"));
        // Unknown ones count as the last server's.
        assert!(issuers.own(session, "b.example").is_own("from before"));
        assert!(!issuers.own(session, "a.example").is_own("from before"));
        assert!(!issuers.own(SessionId(8), "a.example").is_own("sig-of-a"));
    }
}
