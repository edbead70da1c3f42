//! The process that holds the store can be asked: through a socket in the store's directory, which only its owner may open.
//! Knows the store's place and who runs what here; must not know what is in the store.
//!
//! | file | what it knows |
//! |---|---|
//! | `live` | the runs of this process, and what they told so far |
//! | `wire` | lines of JSON, their limits |
//! | `socket` | where the socket is, and who may use it |
//! | `server`, `counter` | connections; what is answered |
//! | `remote` | the desk in another process |

#![cfg_attr(not(unix), allow(dead_code, reason = "nobody listens"))]

#[cfg(unix)]
mod counter;
mod live;
#[cfg(not(unix))]
mod none;
#[cfg(unix)]
mod remote;
#[cfg(unix)]
mod server;
#[cfg(unix)]
mod socket;
#[cfg(unix)]
mod wire;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::failure::Failure;
use super::local::Local;
use crate::graph::{CancellationToken, RunnerWaker};

use live::{Live, Running};
#[cfg(not(unix))]
use none::{Remote, Serving, serve};
#[cfg(unix)]
use {remote::Remote, server::Serving, server::serve};

/// What a process offers to others for as long as it holds the store.
#[derive(Clone, Default)]
pub(crate) struct Control {
    live: Arc<Live>,
    serving: Arc<Mutex<Option<Serving>>>,
}

impl Control {
    /// Begins to answer other processes. Where that cannot be, work goes on without.
    pub(crate) fn serve(&self, local: &Local, store: &Path) {
        let mut serving = self.serving.lock().unwrap_or_else(PoisonError::into_inner);
        if serving.is_none() {
            *serving = serve(local, &self.live, store);
        }
    }

    /// Notes a run of this process, for as long as what is returned lives.
    pub(crate) fn runs(&self, thread: &str, cancel: CancellationToken) -> Running {
        self.live.begin(thread, cancel)
    }

    /// Wakes a runner whenever an answer was stored for another process.
    pub(crate) fn wakes(&self, runner: RunnerWaker) {
        self.live.wakes(runner);
    }

    /// Answers what was asked, removes the socket and lets the store go.
    pub(crate) async fn close(&self) {
        let serving = self.serving.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(serving) = serving {
            serving.close().await;
        }
    }
}

/// What came of asking the process that holds a store.
pub(crate) enum Reached {
    /// It listens.
    Desk(Remote),
    /// It does not listen, or not yet, or no more.
    Nobody,
}

/// Connects to the process that holds the store.
pub(crate) async fn reach(store: &Path) -> Result<Reached, Failure> {
    Remote::connect(store).await
}
