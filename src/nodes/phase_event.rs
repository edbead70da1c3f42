//! Events of phases and subtasks, for people and programs.

use serde::{Deserialize, Serialize};
use superstep_base::time::{now, rfc3339};

use crate::graph::Ctx;

/// A change of a phase or subtask. Its JSON has one key, the kind: `{"phase_started": {"phase_index": 0, ..}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseEvent {
    /// The first attempt at a phase starts.
    PhaseStarted(Place),
    /// The work of a phase is on the run's branch.
    PhaseCompleted(Place),
    /// A further attempt at a phase starts.
    PhaseRetry(Place),
    /// A subtask starts.
    SubtaskStarted(Place),
    /// A subtask is done.
    SubtaskCompleted(Place),
    /// A subtask failed, or was cancelled.
    SubtaskFailed(Place),
}

/// Phase, subtask and attempt of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The index of the phase, from 0.
    pub phase_index: u32,
    /// The id of the subtask; none: the event is about the phase.
    pub subtask_id: Option<String>,
    /// The title of the subtask.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The attempt of the phase, from 1.
    pub attempt: u32,
    /// The time, as RFC 3339.
    #[serde(default)]
    pub time: String,
    /// The reason of a failure or retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl PhaseEvent {
    fn place(&mut self) -> &mut Place {
        match self {
            Self::PhaseStarted(place)
            | Self::PhaseCompleted(place)
            | Self::PhaseRetry(place)
            | Self::SubtaskStarted(place)
            | Self::SubtaskCompleted(place)
            | Self::SubtaskFailed(place) => place,
        }
    }

    /// Emits the event with the current time, and returns that time.
    pub(super) async fn emit<C: Send + Sync + 'static>(mut self, ctx: &Ctx<C>) -> String {
        let time = rfc3339(now());
        self.place().time.clone_from(&time);
        ctx.keep_event(&self).await;
        time
    }
}
