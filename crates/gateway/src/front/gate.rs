//! A task that wakes itself is polled again in its place.
//!
//! It refuses to loop: who goes on waking itself goes through the runtime, behind the others. The HTTP
//! library hands a request's body over within one task, and wakes it for that. Through the runtime
//! each such wake would rouse another thread, which then takes the connection over: two system
//! calls and a change of cores for every call.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use atomic_waker::AtomicWaker;

/// Polls in a row at most.
const POLLS_MAX: u8 = 4;

/// Nobody polls: a wake goes to the runtime.
const IDLE: u8 = 0;
/// It is being polled.
const POLLED: u8 = 1;
/// It was woken meanwhile.
const WOKEN: u8 = 2;

/// The future, gated.
#[derive(Debug)]
pub(super) struct Gated<F> {
    inner: Pin<Box<F>>,
    gate: Arc<Gate>,
    waker: Waker,
}

#[derive(Debug, Default)]
struct Gate {
    state: AtomicU8,
    task: AtomicWaker,
}

impl<F: Future> Gated<F> {
    pub(super) fn new(inner: F) -> Self {
        let gate = Arc::new(Gate::default());
        let waker = Waker::from(Arc::clone(&gate));
        Self { inner: Box::pin(inner), gate, waker }
    }
}

impl Wake for Gate {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let (set, unseen) = (Ordering::AcqRel, Ordering::Acquire);
        match self.state.compare_exchange(POLLED, WOKEN, set, unseen) {
            Ok(_) | Err(WOKEN) => {}
            Err(_) => self.task.wake(),
        }
    }
}

impl<F: Future> Future for Gated<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        // Before the first poll: a wake that comes after it finds whom to wake.
        this.gate.task.register(cx.waker());
        for _ in 0..POLLS_MAX {
            this.gate.state.store(POLLED, Ordering::Release);
            let polled = this.inner.as_mut().poll(&mut Context::from_waker(&this.waker));
            let woken = this.gate.state.swap(IDLE, Ordering::AcqRel) == WOKEN;
            if polled.is_ready() || !woken {
                return polled;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Wakes itself so many times; how often it was polled, and how often the runtime was asked to.
    fn polled(self_wakes: usize) -> (usize, usize) {
        let (polls, count) = (Arc::new(AtomicUsize::new(0)), Arc::new(Count::default()));
        let seen = Arc::clone(&polls);
        let mut gated = Gated::new(poll_fn(move |cx| {
            if seen.fetch_add(1, Ordering::Relaxed) < self_wakes {
                cx.waker().wake_by_ref();
            }
            Poll::<()>::Pending
        }));
        let waker = Waker::from(Arc::clone(&count));
        assert!(Pin::new(&mut gated).poll(&mut Context::from_waker(&waker)).is_pending());
        (polls.load(Ordering::Relaxed), count.0.load(Ordering::Relaxed))
    }

    #[test]
    fn who_wakes_itself_is_polled_again_without_the_runtime_but_not_for_ever() {
        assert_eq!(polled(0), (1, 0));
        assert_eq!(polled(1), (2, 0));
        assert_eq!(polled(3), (4, 0));
        assert_eq!(polled(100), (4, 1), "behind the others");
    }

    #[test]
    fn a_wake_between_two_polls_goes_to_the_runtime() {
        let (inner, count) = (Arc::new(AtomicWaker::new()), Arc::new(Count::default()));
        let slot = Arc::clone(&inner);
        let mut gated = Gated::new(poll_fn(move |cx| {
            slot.register(cx.waker());
            Poll::<()>::Pending
        }));
        let waker = Waker::from(Arc::clone(&count));
        for round in 1..3 {
            assert!(Pin::new(&mut gated).poll(&mut Context::from_waker(&waker)).is_pending());
            inner.wake();
            assert_eq!(count.0.load(Ordering::Relaxed), round);
        }
    }

    #[tokio::test]
    async fn nothing_is_lost_between_threads() {
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        let sending = std::thread::spawn(move || {
            for n in 0..10_000 {
                sender.send(n).expect("somebody listens");
            }
        });
        let mut heard = 0;
        Gated::new(async {
            while receiver.recv().await.is_some() {
                heard += 1;
            }
        })
        .await;
        assert_eq!(heard, 10_000);
        sending.join().expect("sent");
    }
}
