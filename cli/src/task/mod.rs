//! The commands about tasks: `task new`, `task show`, `override`, `rewind`, and what other limits would have decided.

mod new;
mod overriding;
mod records;
mod rewind;
mod show;
mod what_if;

use serde::Deserialize;
use superstep::app::{Exit, Found, Refusal};
use superstep::workflows::code_task::CodeTaskState;

pub(crate) use new::new;
pub(crate) use overriding::overriding;
pub(crate) use rewind::rewind;
pub(crate) use show::show;
pub(crate) use what_if::what_if;

/// The name of the graph.
pub(crate) const GRAPH: &str = "code-task";

/// Returns the state of the task that a thread is about.
fn task(found: &Found) -> Result<CodeTaskState, Refusal> {
    if found.graph != GRAPH {
        let error = format!("thread `{}` is of the graph `{}`: there is no task in it", found.thread, found.graph);
        return Err(Refusal::new(error).help(format!("name a thread of the graph `{GRAPH}`")));
    }
    state(&found.state)
}

fn state(json: &serde_json::Value) -> Result<CodeTaskState, Refusal> {
    let unread = |error| Refusal::new(format!("the state of the task cannot be read: {error}")).exit(Exit::Failed);
    CodeTaskState::deserialize(json).map_err(unread)
}
