//! What the system says when the process should end, or look at its settings. It refuses to do either.

#[cfg(unix)]
use std::io::IsTerminal as _;

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
    // A terminal that closes says the same as somebody who wants settings looked at: what tells
    // them apart is whether the terminal is there afterwards.
    let had_terminal = std::io::stdin().is_terminal();
    let hung_up = async {
        loop {
            listen(SignalKind::hangup()).await;
            if had_terminal && !std::io::stdin().is_terminal() {
                return;
            }
        }
    };
    tokio::select! {
        () = listen(SignalKind::terminate()) => {}
        () = listen(SignalKind::interrupt()) => {}
        () = hung_up => {}
    }
}

/// Waits for SIGHUP: the settings are to be looked at now. Where it cannot be listened for, it waits
/// for ever.
#[cfg(unix)]
pub(crate) async fn reload_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::hangup()) {
        Ok(mut signal) => drop(signal.recv().await),
        Err(_) => std::future::pending().await,
    }
}

/// Windows has no such signal: the file is looked at every second, and the API takes the wish.
#[cfg(windows)]
pub(crate) async fn reload_signal() {
    std::future::pending().await
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
