//! The state of the task that a thread is about.

use serde::Deserialize;
use superstep_app::{Exit, Refusal, ThreadSummary};
use superstep_workflows::code_task::CodeTaskState;

/// The name of the graph.
pub(crate) const GRAPH: &str = "code-task";

/// Returns the state of the task that a thread is about.
pub(super) fn task(found: &ThreadSummary) -> Result<CodeTaskState, Refusal> {
    if found.graph != GRAPH {
        let error = format!("thread `{}` belongs to the graph `{}`, which has no task", found.thread, found.graph);
        return Err(Refusal::new(error).help(format!("use a thread of the graph `{GRAPH}`")));
    }
    state(&found.state)
}

/// Reads the state of a task.
pub(super) fn state(json: &serde_json::Value) -> Result<CodeTaskState, Refusal> {
    let unread = |error| Refusal::new(format!("the state of the task cannot be read: {error}")).exit(Exit::Failed);
    CodeTaskState::deserialize(json).map_err(unread)
}
