//! The one place that starts tasks. It refuses to forget one: each is counted while it lives.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use tokio::sync::Notify;
use tokio::task::{JoinError, JoinHandle};

/// Starts tasks and knows how many live. Copies share the count.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    live: AtomicUsize,
    idle: Notify,
}

#[derive(Debug)]
struct Counted(Arc<Shared>);

pin_project! {
    /// A task's future, counted. An `async` block around it would hold it twice: as what it was made
    /// with, and as what it waits for.
    #[derive(Debug)]
    pub(crate) struct CountedTask<F> {
        #[pin]
        future: F,
        counted: Counted,
    }
}

impl<F: Future> Future for CountedTask<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.project().future.poll(cx)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if self.0.live.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}

impl Tasks {
    /// Starts a task.
    #[expect(clippy::disallowed_methods, reason = "this module is the one that starts tasks")]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        tokio::spawn(self.counted(future))
    }

    /// The future as it is started: it counts until it is dropped.
    pub(crate) fn counted<F>(&self, future: F) -> CountedTask<F> {
        CountedTask { future, counted: self.count() }
    }

    /// Runs something long off the runtime.
    ///
    /// # Errors
    /// When it panicked, or the runtime is going down.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        let counted = self.count();
        tokio::task::spawn_blocking(move || {
            let _counted = counted;
            work()
        })
        .await
    }

    /// How many live.
    #[must_use]
    pub fn live(&self) -> usize {
        self.shared.live.load(Ordering::Acquire)
    }

    /// Waits until none lives.
    pub async fn idle(&self) {
        loop {
            let notified = self.shared.idle.notified();
            if self.live() == 0 {
                return;
            }
            notified.await;
        }
    }

    fn count(&self) -> Counted {
        self.shared.live.fetch_add(1, Ordering::AcqRel);
        Counted(Arc::clone(&self.shared))
    }
}

/// For the HTTP client, which starts a task for each connection.
impl<F> hyper::rt::Executor<F> for Tasks
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, future: F) {
        let boxed: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(future);
        drop(self.spawn(boxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn tasks_are_counted_until_they_end() {
        let tasks = Tasks::default();
        let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
        drop(tasks.spawn(async move { receiver.await.ok() }));
        assert_eq!(tasks.live(), 1);
        drop(sender);
        tasks.idle().await;
        assert_eq!(tasks.live(), 0);
        assert_eq!(tasks.blocking(|| 2 + 2).await.ok(), Some(4));
    }
}
