//! Forks of runs: each gets a work tree and a branch of its own, so that it changes nothing of the first run.

use superstep::checkpoint::BoxFuture;
use superstep::workspace::WorkspaceError;
use superstep_app::{Exit, ForkPoint, ForkWrites, Refusal};
use superstep_workflows::ForkPlace;
use superstep_workflows::code_task::{self, CodeTaskState};
use superstep_workflows::task_based::{self, ExecutionState};

use crate::salvage::refusal;

type ForkFuture = BoxFuture<'static, Result<ForkWrites, Refusal>>;

/// A fork of `run tasks` or `run phases`.
pub(crate) fn tasks(point: ForkPoint<ExecutionState>) -> ForkFuture {
    Box::pin(async move {
        let place = task_based::fork(&point.at, &point.newest, &point.thread, point.is_new_thread).await;
        writes(place)
    })
}

/// A fork of `run code-task`.
pub(crate) fn code_task(point: ForkPoint<CodeTaskState>) -> ForkFuture {
    Box::pin(async move {
        let place = code_task::fork(&point.at, &point.newest, &point.thread, point.is_new_thread).await;
        writes(place)
    })
}

fn writes(place: Result<ForkPlace, WorkspaceError>) -> Result<ForkWrites, Refusal> {
    let mut place = place.map_err(|error| refusal(&error).exit(Exit::Failed))?;
    let (folder, branch) = (place.folder.display(), &place.branch);
    let text = format!("\nits files and branch are separate\n  files: {folder}\n  branch: {branch}\n");
    let values = std::mem::take(&mut place.values);
    let undo = move || -> BoxFuture<'static, Result<(), Refusal>> {
        let place = place.clone();
        Box::pin(async move { place.remove().await.map_err(|error| refusal(&error)) })
    };
    Ok(ForkWrites::new(values, text).undo(undo))
}
