//! The listeners of a replay.

use super::event::{Mode, Sink};
use super::recorded_events::Heard;

/// Who listens, and what was emitted.
pub(crate) struct Telling {
    pub sink: Sink,
    pub heard: Heard,
    /// Whether events were recorded, and somebody wants them.
    pub listens: bool,
}

impl Telling {
    /// Whether a state is shown by anything that is told.
    pub(crate) fn needs_states(&self, names: &[String]) -> bool {
        [Mode::Values, Mode::Tasks, Mode::Checkpoints].iter().any(|mode| self.sink.wants(*mode, names.is_empty()))
    }
}
