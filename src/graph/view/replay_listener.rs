//! The listeners of a replay.

use super::event::{Mode, Sink};
use super::event_log::EventLog;

/// The listener of a replay, and the recorded events.
pub(crate) struct ReplayListener {
    pub sink: Sink,
    pub events: EventLog,
    /// Set if there are recorded events and a listener takes them.
    pub listens: bool,
}

impl ReplayListener {
    /// Returns true if an event shows a state.
    pub(crate) fn needs_states(&self, names: &[String]) -> bool {
        [Mode::Values, Mode::Tasks, Mode::Checkpoints].iter().any(|mode| self.sink.wants(*mode, names.is_empty()))
    }
}
