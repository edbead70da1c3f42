//! The events of phases and subtasks, for people who watch and for programs.

use serde::{Deserialize, Serialize};

use crate::checkpoint::time::{now, rfc3339};
use crate::graph::Ctx;

/// A change of a phase or subtask. Its JSON has one key, the kind: `{"phase_started": {"phase_index": 0, ..}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseEvent {
    /// The first attempt at a phase begins.
    PhaseStarted(Place),
    /// The work of a phase is on the run's branch.
    PhaseCompleted(Place),
    /// A further attempt at a phase begins.
    PhaseRetry(Place),
    /// The work on a subtask begins.
    SubtaskStarted(Place),
    /// It is done.
    SubtaskCompleted(Place),
    /// It failed, or was cancelled.
    SubtaskFailed(Place),
}

/// The phase, subtask and attempt that an event is about.
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
    /// The reason, of a failure or a retry.
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

    /// Emits the event with the time of now, and returns that time.
    pub(super) async fn emit<C: Send + Sync + 'static>(mut self, ctx: &Ctx<C>) -> String {
        let time = rfc3339(now());
        self.place().time.clone_from(&time);
        ctx.keep_event(&self).await;
        time
    }
}
