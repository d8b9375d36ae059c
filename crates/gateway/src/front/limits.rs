//! What may be open and held at once.
//!
//! It refuses to queue: whoever comes beyond a bound is told at once, since a client that waits
//! without knowing why runs into its own timeout.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

/// A bound over everybody, and how much of it is taken.
#[derive(Debug)]
pub(crate) struct Bound {
    taken: AtomicU64,
    most: AtomicU64,
    free: Notify,
}

impl Bound {
    pub(crate) fn new(most: u64) -> Arc<Self> {
        Arc::new(Self { taken: AtomicU64::new(0), most: AtomicU64::new(most), free: Notify::new() })
    }

    /// What is taken now.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// The bound.
    pub(crate) fn most(&self) -> u64 {
        self.most.load(Ordering::Relaxed)
    }

    /// Another bound from now on; what is taken stays taken.
    pub(crate) fn set_most(&self, most: u64) {
        self.most.store(most, Ordering::Relaxed);
    }

    /// Waits until nothing is taken.
    pub(crate) async fn idle(&self) {
        loop {
            let mut free = pin!(self.free.notified());
            // Listening first: what is given back between the look and the wait is not missed.
            free.as_mut().enable();
            if self.taken() == 0 {
                return;
            }
            free.await;
        }
    }

    fn give_back(&self, size: u64) {
        if self.taken.fetch_sub(size, Ordering::Relaxed) == size {
            self.free.notify_waiters();
        }
    }

    fn take(&self, more: u64) -> bool {
        let most = self.most();
        let fits = |taken: u64| taken.checked_add(more).filter(|sum| *sum <= most);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }
}

/// A share of a [`Bound`], given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    bound: Arc<Bound>,
    size: u64,
}

impl Share {
    /// `size` of the bound, or `None` if that is more than is left.
    pub(crate) fn of(bound: &Arc<Bound>, size: u64) -> Option<Self> {
        bound.take(size).then(|| Self { bound: Arc::clone(bound), size })
    }

    /// The bound on everybody.
    pub(crate) fn bound_most(&self) -> u64 {
        self.bound.most()
    }

    /// How much of the bound it is.
    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    /// Makes the share at least `size`; `false` if that is more than is left.
    pub(crate) fn grow_to(&mut self, size: u64) -> bool {
        let grown = size <= self.size || self.bound.take(size - self.size);
        if grown {
            self.size = self.size.max(size);
        }
        grown
    }

    /// Gives back what is over `size`.
    pub(crate) fn shrink_to(&mut self, size: u64) {
        let over = self.size.saturating_sub(size);
        self.size -= over;
        self.bound.give_back(over);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.bound.give_back(self.size);
    }
}

/// A call's place among the open calls.
pub(crate) type OpenCall = Share;

/// A body's share of what may be held, in bytes.
pub(crate) type HeldBytes = Share;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g14_a_share_is_given_back_whole_and_once() {
        let bound = Bound::new(10);
        let mut first = Share::of(&bound, 4).expect("room");
        assert!(first.grow_to(8));
        assert!(!first.grow_to(11), "beyond the bound");
        assert!(Share::of(&bound, 3).is_none());
        first.shrink_to(2);
        assert_eq!(bound.taken(), 2);
        drop(first);
        assert_eq!(bound.taken(), 0);
    }

    #[tokio::test]
    async fn g13_giving_everything_back_is_noticed() {
        let bound = Bound::new(10);
        bound.idle().await;
        let share = Share::of(&bound, 4).expect("room");
        let ((), ()) = tokio::join!(bound.idle(), async { drop(share) });
    }

    #[test]
    fn g14_a_size_beyond_counting_does_not_wrap() {
        let bound = Bound::new(u64::MAX - 1);
        let _one = Share::of(&bound, 2).expect("room");
        assert!(Share::of(&bound, u64::MAX).is_none());
    }
}
