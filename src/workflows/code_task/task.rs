//! A task as a node gets it: the task, its place and its settings.

use serde::{Deserialize, Serialize};

use super::read_task::ReadTask;
use super::state::{Settings, TaskPlace};
use crate::spec::TaskSpec;

/// A task to be carried out, at any depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CodeTask {
    /// The task.
    pub spec: TaskSpec,
    /// Its place.
    pub place: TaskPlace,
    /// How the work is done.
    pub settings: Settings,
}

impl CodeTask {
    /// Returns a task that is the first of its run: it works in the user's checkout, on a branch of its own.
    pub fn new(spec: TaskSpec, settings: Settings) -> Self {
        Self { spec, place: TaskPlace::default(), settings }
    }
}

/// A task as [`TaskStart::read`](super::TaskStart::read) returns it.
impl From<ReadTask> for CodeTask {
    fn from(ReadTask { spec, settings }: ReadTask) -> Self {
        Self::new(spec, settings)
    }
}
