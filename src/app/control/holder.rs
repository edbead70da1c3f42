//! The process that holds a store, from both sides: what this one offers to others, and how another one is reached.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::live::{Live, Running};
#[cfg(not(unix))]
use super::none::{Remote, Serving, serve};
#[cfg(unix)]
use super::remote::Remote;
#[cfg(unix)]
use super::server::{Serving, serve};
use crate::app::{failure::Failure, local::Local};
use crate::graph::{CancellationToken, RunnerWaker};

/// The service of a process for others, for as long as it holds the store.
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

/// The result of connecting to the process that holds a store.
pub(crate) enum Reached {
    /// It listens.
    Desk(Remote),
    /// It does not listen, or not yet, or no more.
    Nobody,
}

/// Connects to the process that holds the store.
pub(crate) async fn reach(store: &Path) -> Result<Reached, Failure> {
    Ok(Remote::connect(store).await?.map_or(Reached::Nobody, Reached::Desk))
}
