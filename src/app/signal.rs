//! Ctrl-C: once cancels what runs, twice ends the process. Knows no run.

use std::process::exit;

use crate::graph::CancellationToken;

/// The exit code of a process that was interrupted twice.
const INTERRUPTED: i32 = 130;

/// A token that Ctrl-C cancels, for as long as this lives.
pub(crate) struct Cancels {
    pub token: CancellationToken,
    listening: tokio::task::JoinHandle<()>,
}

impl Drop for Cancels {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// Begins to listen. On a thread of its own, so that a node that blocks its thread can be ended too.
pub(crate) fn cancels() -> Cancels {
    let token = CancellationToken::new();
    let cancelled = token.clone();
    let listening = tokio::spawn(async move {
        asked_to_stop().await;
        cancelled.cancel();
        asked_to_stop().await;
        exit(INTERRUPTED); // what is stored is stored; only the task in flight is lost
    });
    Cancels { token, listening }
}

#[cfg(unix)]
async fn asked_to_stop() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut hangup)) = (signal(SignalKind::terminate()), signal(SignalKind::hangup())) else {
        return std::future::pending().await;
    };
    tokio::select! {
        pressed = tokio::signal::ctrl_c() => if pressed.is_err() { std::future::pending().await },
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
}

#[cfg(not(unix))]
async fn asked_to_stop() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}
