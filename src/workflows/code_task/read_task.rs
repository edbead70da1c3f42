//! A parsed task file with its settings.

use super::state::Settings;
use crate::spec::TaskSpec;

/// A parsed task with its settings.
#[derive(Clone, Debug)]
pub struct ReadTask {
    /// The task, with its effective policy.
    pub spec: TaskSpec,
    /// The settings of the run.
    pub settings: Settings,
}
