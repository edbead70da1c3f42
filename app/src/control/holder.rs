//! [`Control`]: requests between this process and others that use the same store, in both directions.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use superstep::graph::CancellationToken;
use superstep::graph::runner::RunnerWaker;

use super::active_runs::{ActiveRuns, RunGuard};
#[cfg(not(unix))]
use super::none::{Remote, Serving, serve};
#[cfg(unix)]
use super::remote::Remote;
#[cfg(unix)]
use super::server::{ControlServer, serve};
use crate::failure::Failure;
use crate::local::Local;

/// The service of a process for others, for as long as it holds the store.
#[derive(Clone, Default)]
pub(crate) struct Control {
    live: Arc<ActiveRuns>,
    serving: Arc<Mutex<Option<ControlServer>>>,
}

impl Control {
    /// Starts to serve other processes. If there can be no socket, work continues without.
    pub(crate) fn serve(&self, local: &Local, store: &Path) {
        let mut serving = self.serving.lock().unwrap_or_else(PoisonError::into_inner);
        if serving.is_none() {
            *serving = serve(local, &self.live, store);
        }
    }

    /// Returns whether other processes can reach this one.
    #[cfg(feature = "server")]
    pub(crate) fn is_served(&self) -> bool {
        self.serving.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Registers a run of this process until the returned guard is dropped.
    pub(crate) fn runs(&self, thread: &str, cancel: CancellationToken) -> RunGuard {
        self.live.begin(thread, cancel)
    }

    /// Sets the runner to wake whenever an answer is stored for another process.
    pub(crate) fn wakes(&self, runner: RunnerWaker) {
        self.live.wakes(runner);
    }

    /// Finishes pending replies, removes the socket and releases the store.
    pub(crate) async fn close(&self) {
        let serving = self.serving.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(serving) = serving {
            serving.close().await;
        }
    }
}

/// The result of connecting to the process that holds a store.
pub(crate) enum HolderConnection {
    ThreadService(Remote),
    /// It does not listen: not yet, no longer, or never.
    Nobody,
}

/// Connects to the process that holds the store in a folder.
pub(crate) async fn reach(store: Option<&Path>) -> Result<HolderConnection, Failure> {
    let Some(store) = store else { return Ok(HolderConnection::Nobody) };
    Ok(Remote::connect(store).await?.map_or(HolderConnection::Nobody, HolderConnection::ThreadService))
}
