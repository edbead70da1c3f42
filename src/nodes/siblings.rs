//! Parallel tasks of one run: their maximum number, and stopping them together. Knows no agent and no git.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use superstep_base::moved::present_path;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::graph::{Ctx, NodeError};
use crate::nodes::job::Context;

/// A group of parallel tasks, as one of them knows it. Plain data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Siblings {
    /// Name of the group, unique in the run: `phase 2, attempt 1`.
    pub group: String,
    /// Maximum number of tasks at a time.
    pub at_once: u32,
    /// A file with the reason, once the group was stopped: a process that resumes the run after a kill reads it.
    pub stopped: PathBuf,
}

/// The group during its run.
#[derive(Clone)]
pub(super) struct Group {
    places: Arc<Semaphore>,
    stop: CancellationToken,
    why: Arc<OnceLock<String>>,
    file: PathBuf,
}

impl Siblings {
    /// Returns the group, which all its tasks in this run share.
    pub(super) async fn join<C: Context>(&self, ctx: &Ctx<C>) -> Result<Group, NodeError> {
        let group = ctx.keep_for_run(&format!("siblings {}", self.group), || Group::new(self)).await;
        group.ok_or_else(|| {
            NodeError::permanent(format!("the name `{}` is already used by another value of this run", self.group))
        })
    }
}

impl Group {
    fn new(siblings: &Siblings) -> Self {
        let places = Arc::new(Semaphore::new(siblings.at_once.max(1) as usize));
        let (stop, why) = (CancellationToken::new(), OnceLock::new());
        let file = present_path(&siblings.stopped);
        if let Ok(known) = std::fs::read_to_string(&file) {
            let _ = why.set(known);
            stop.cancel();
        }
        Self { places, stop, why: Arc::new(why), file }
    }

    /// Waits for a place; it is free again once the permit is dropped. None if the group is stopped.
    pub(super) async fn enter(&self) -> Option<OwnedSemaphorePermit> {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => None,
            permit = Arc::clone(&self.places).acquire_owned() => permit.ok(),
        }
    }

    /// Stops all tasks of the group, now and in every process that resumes the run.
    pub(super) fn stop(&self, why: &str) -> Result<(), NodeError> {
        if self.why.set(why.to_owned()).is_ok() {
            self.file.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            write_whole(&self.file, why)?;
        }
        self.stop.cancel();
        Ok(())
    }

    /// Returns why the group was stopped; none if it was not.
    pub(super) fn stop_reason(&self) -> Option<String> {
        self.stop.is_cancelled().then(|| self.why.get().cloned().unwrap_or_default())
    }

    pub(super) async fn wait_for_stop(&self) {
        self.stop.cancelled().await;
    }

    /// Returns a token that is cancelled when the group is stopped.
    pub(super) fn token(&self) -> CancellationToken {
        self.stop.clone()
    }
}

/// Writes a small file atomically: a reader finds all of it, or nothing.
pub(super) fn write_whole(file: &Path, text: &str) -> std::io::Result<()> {
    let draft = file.with_extension("draft");
    std::fs::write(&draft, text)?;
    std::fs::rename(&draft, file)
}
