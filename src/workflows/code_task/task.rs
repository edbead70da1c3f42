//! A task as the input of a node: the task, its place and its settings.

use serde::{Deserialize, Serialize};

use super::read_task::ReadTask;
use super::state::{Settings, TaskPlace};
use crate::spec::TaskSpec;

/// A task to run, at any depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CodeTask {
    /// The task.
    pub spec: TaskSpec,
    /// The place in the tree of tasks.
    pub place: TaskPlace,
    /// The settings of the run.
    pub settings: Settings,
}

impl CodeTask {
    /// Returns the first task of a run: it works in the user's checkout, on its own branch.
    pub fn new(spec: TaskSpec, settings: Settings) -> Self {
        Self { spec, place: TaskPlace::default(), settings }
    }
}

/// Converts a task from [`TaskStart::read`](super::TaskStart::read).
impl From<ReadTask> for CodeTask {
    fn from(ReadTask { spec, settings }: ReadTask) -> Self {
        Self::new(spec, settings)
    }
}
