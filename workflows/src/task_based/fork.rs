//! A fork of a run on a plan: what it stores about its own work tree and branch.

use serde_json::{Value, json};
use superstep::nodes::Base;
use superstep::workspace::WorkspaceError;
use superstep_base::gather;

use super::state::ExecutionState;
use crate::fork::{ForkPlace, ForkedWork, NewPlace};
use crate::phases::{PhaseWork, WorkChange};

/// Makes a place of its own for a fork of the thread: a work tree in `.superstep/forks` and a branch, with the files of the
/// checkpoint. `newest` is the newest state of the forked thread, `thread` the name of the fork's, and `is_new_thread`
/// says whether they are two.
///
/// # Errors
/// Those of git.
pub async fn fork(
    at: &ExecutionState,
    newest: &ExecutionState,
    thread: &str,
    is_new_thread: bool,
) -> Result<ForkPlace, WorkspaceError> {
    let began = newest.run.start.as_ref().and_then(|start| start.at.commit.clone());
    let base = current_base(at);
    let commit = base.map_or(began, |base| base.at.commit.clone());
    let files = base.map(|base| {
        at.attempt.task_tree.clone().filter(|_| at.phased.phases.is_empty()).unwrap_or_else(|| base.tree.clone())
    });
    let work = ForkedWork { repository: &at.request.working_dir, thread, is_new_thread, commit, files };
    let place = work.place().await?;
    let values = values(at, &place);
    Ok(ForkPlace::new(place, values))
}

/// Returns the start of the current work; none if it has not begun.
fn current_base(state: &ExecutionState) -> Option<&Base> {
    let phase = state.phased.phase.base.as_ref().filter(|_| !state.phased.phases.is_empty());
    phase.or(state.attempt.task_base.as_ref()).or(state.run.start.as_ref())
}

fn values(state: &ExecutionState, place: &NewPlace) -> Value {
    let moved = |base: &Option<Base>| base.as_ref().map(|base| place.base(base));
    let works = state.phased.works.iter().map(|(id, work)| {
        let mut work = work.clone();
        work.paused = None; // its files are in a worktree of the run
        (id.clone(), Some(work))
    });
    let mut profile = state.request.profile.clone();
    profile.working_dir.clone_from(&place.folder);
    profile.stay_on_branch = Some(true);
    let is_draft = state.run.start.is_none() && state.planning.raw_architect_output.is_some();
    let (path, hash) = match state.plan_in_repo() {
        _ if is_draft => (None, None),
        Some(inside) => (Some(place.folder.join(inside)), state.source.plan_hash.clone()),
        None => (state.source.plan_path.clone(), state.source.plan_hash.clone()),
    };
    json!({
        "working_dir": place.folder,
        "profile": profile,
        "wanted_branch": place.branch,
        "came_from": null,
        "plan_path": path,
        "plan_hash": hash,
        "start": moved(&state.run.start),
        "task_base": moved(&state.attempt.task_base),
        "phase": PhaseWork { base: moved(&state.phased.phase.base), ..state.phased.phase.clone() },
        "works": gather::<WorkChange, _>(works),
        "architect_session": null,
        "developer_session": null,
        "driver_session_id": null,
    })
}
