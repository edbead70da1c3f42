//! Ctrl-C: the first one cancels the run, the second one ends the process. Must not know a run.

use std::process::exit;

use crate::graph::CancellationToken;

/// Exit code of a process that was interrupted twice.
const INTERRUPTED: i32 = 130;

/// A token that Ctrl-C cancels while this guard lives.
pub(crate) struct CancelOnSignal {
    pub token: CancellationToken,
    listening: tokio::task::JoinHandle<()>,
}

impl Drop for CancelOnSignal {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// Installs the signal handlers: from the return on, no signal ends the process at once. A task of its own waits for
/// signals, so that Ctrl-C also ends a process whose node blocks its thread.
pub(crate) fn cancel_on_signal() -> CancelOnSignal {
    let token = CancellationToken::new();
    let (cancelled, mut signals) = (token.clone(), Signals::new());
    let listening = tokio::spawn(async move {
        signals.next().await;
        cancelled.cancel();
        signals.next().await;
        exit(INTERRUPTED); // what is stored is stored; only the task in flight is lost
    });
    CancelOnSignal { token, listening }
}

/// Termination signals; empty if no handler can be installed.
#[cfg(unix)]
struct Signals(Vec<tokio::signal::unix::Signal>);

#[cfg(unix)]
impl Signals {
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        Self(kinds.into_iter().filter_map(|kind| signal(kind).ok()).collect())
    }

    async fn next(&mut self) {
        let received = |cx: &mut std::task::Context<'_>| {
            let ready =
                self.0.iter_mut().any(|signal| matches!(signal.poll_recv(cx), std::task::Poll::Ready(Some(()))));
            if ready { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        };
        std::future::poll_fn(received).await;
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> Self {
        Self
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }
}
