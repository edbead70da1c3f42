//! Forks of runs: each gets a work tree and a branch of its own, so that it changes nothing of the first run.

use std::future::Future;
use std::pin::Pin;

use superstep::app::{Exit, ForkPoint, ForkWrites, Refusal};
use superstep::workflows::ForkPlace;
use superstep::workflows::code_task::{self, CodeTaskState};
use superstep::workflows::task_based::{self, ExecutionState};
use superstep::workspace::WorkspaceError;

use crate::salvage::refused;

type Made = Pin<Box<dyn Future<Output = Result<ForkWrites, Refusal>> + Send>>;

/// A fork of `run tasks` or `run phases`.
pub(crate) fn tasks(point: ForkPoint<ExecutionState>) -> Made {
    Box::pin(async move {
        let place = task_based::fork(&point.at, &point.newest, &point.thread, point.is_new_thread).await;
        writes(place)
    })
}

/// A fork of `run code-task`.
pub(crate) fn code_task(point: ForkPoint<CodeTaskState>) -> Made {
    Box::pin(async move {
        let place = code_task::fork(&point.at, &point.newest, &point.thread, point.is_new_thread).await;
        writes(place)
    })
}

fn writes(place: Result<ForkPlace, WorkspaceError>) -> Result<ForkWrites, Refusal> {
    let ForkPlace { folder, branch, values } = place.map_err(|error| refused(&error).exit(Exit::Failed))?;
    let text = format!("\nits work has a place of its own\n  files: {}\n  branch: {branch}\n", folder.display());
    Ok(ForkWrites { values, text })
}
