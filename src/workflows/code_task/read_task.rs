//! A task file as it was read, with its settings.

use super::state::Settings;
use crate::spec::TaskSpec;

/// A task that was read, and how it is executed.
#[derive(Clone, Debug)]
pub struct ReadTask {
    /// The task; its policy is the one that holds.
    pub spec: TaskSpec,
    /// How the work is done.
    pub settings: Settings,
}
