//! What the system says when the process should end. It refuses to end it.

/// Waits for SIGTERM or ctrl-c, or their twins on Windows. Where neither can be listened for, it
/// waits for ever.
#[cfg(unix)]
pub async fn stop_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let listen = |kind| async move {
        match signal(kind) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        () = listen(SignalKind::terminate()) => {}
        () = listen(SignalKind::interrupt()) => {}
    }
}

/// Waits for SIGTERM or ctrl-c, or their twins on Windows. Where neither can be listened for, it
/// waits for ever.
#[cfg(windows)]
pub async fn stop_signal() {
    use tokio::signal::windows;
    let (c, close, shutdown) = (windows::ctrl_c(), windows::ctrl_close(), windows::ctrl_shutdown());
    let (Ok(mut c), Ok(mut close), Ok(mut shutdown)) = (c, close, shutdown) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = c.recv() => {}
        _ = close.recv() => {}
        _ = shutdown.recv() => {}
    }
}
