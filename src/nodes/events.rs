//! Events of nodes at work, besides those that agents emit: activities and phases for live views and programs, notices for
//! people. Activities are emitted inside of effects, so that each is emitted once. Knows no task and no turn.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::json;
use superstep_base::time::{now, rfc3339};

use super::prompts::Parts;
use crate::graph::Ctx;
use crate::nodes::job::Context;

/// An activity of a node; its JSON has one key, the kind.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Activity<'a> {
    /// Start of an agent's turn.
    Turn {
        role: &'a str,
        driver: &'a str,
        model: Option<&'a str>,
        task: &'a str,
        /// Number of the phase that is reviewed as a whole.
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<u32>,
        attempt: u32,
        /// Title of the task; empty if the turn belongs to none.
        #[serde(skip_serializing_if = "str::is_empty")]
        title: &'a str,
        /// Position of the task among all tasks, from 1; 0 if there is only one.
        #[serde(skip_serializing_if = "is_zero")]
        position: usize,
        /// The number of tasks; 0 if there is only one.
        #[serde(skip_serializing_if = "is_zero")]
        total: usize,
        directory: String,
        /// The part that holds for a whole session, where it is a new one.
        #[serde(skip_serializing_if = "Option::is_none")]
        system: Option<&'a Parts>,
        /// Name of the prompt's template.
        template: &'a str,
        prompt: &'a Parts,
        /// Folder of the contents that the prompts refer to.
        #[serde(skip_serializing_if = "Option::is_none")]
        contents: Option<&'a Path>,
    },
    /// Start of a command of the plan.
    Check { command: &'a str },
    /// End of a command; with the end of its output if it failed.
    Checked {
        command: &'a str,
        code: Option<i32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        output: Option<&'a str>,
    },
    /// A commit of work.
    Commit {
        id: String,
        message: &'a str,
        task: &'a str,
        attempt: u32,
        /// Output of git and of its hooks.
        #[serde(skip_serializing_if = "String::is_empty")]
        output: String,
    },
    /// A notice for a person.
    Notice(String),
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Activity<'_> {
    /// Emits the message to the event stream and the journal.
    pub(super) async fn emit<C: Context>(&self, ctx: &Ctx<C>) {
        ctx.emit_message(self).await;
    }
}

/// A change of a phase or subtask. Its JSON has one key, the kind: `{"phase_started": {"phase_index": 0, ..}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseEvent {
    /// The first attempt at a phase starts.
    PhaseStarted(EventPlace),
    /// The work of a phase is on the run's branch.
    PhaseCompleted(EventPlace),
    /// A further attempt at a phase starts.
    PhaseRetry(EventPlace),
    /// A subtask starts.
    SubtaskStarted(EventPlace),
    /// A subtask is done.
    SubtaskCompleted(EventPlace),
    /// A subtask failed, or was cancelled.
    SubtaskFailed(EventPlace),
}

/// Phase, subtask and attempt of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventPlace {
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
    fn place(&mut self) -> &mut EventPlace {
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
    pub(super) async fn emit<C: Context>(mut self, ctx: &Ctx<C>) -> String {
        let time = rfc3339(now());
        self.place().time.clone_from(&time);
        ctx.keep_event(&self).await;
        time
    }
}

/// Notices for people from several steps of a node, in order. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    /// Adds notices, each once.
    pub(super) fn add(&self, notices: impl IntoIterator<Item = String>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for notice in notices {
            if !all.contains(&notice) {
                all.push(notice);
            }
        }
    }

    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Notices until a step returns them.
type Pending = Arc<Mutex<Vec<String>>>;

/// Emits a notice for the log, once in a process: each arrival finds the same moves.
pub(super) async fn note_once<C: Context>(ctx: &Ctx<C>, notice: String) {
    let noted = ctx.keep_for_run("notes", || Arc::new(Mutex::new(BTreeSet::<String>::new()))).await;
    let is_new = noted.is_none_or(|noted| noted.lock().unwrap_or_else(PoisonError::into_inner).insert(notice.clone()));
    if is_new {
        ctx.keep_event(&json!({ "note": notice })).await;
    }
}

/// Puts a notice into the log, and keeps it for the next step that returns notices.
pub(super) async fn note_pending<C: Context>(ctx: &Ctx<C>, notice: String) {
    ctx.keep_event(&json!({ "note": notice })).await;
    if let Some(pending) = ctx.keep_for_run("pending notices", Pending::default).await {
        pending.lock().unwrap_or_else(PoisonError::into_inner).push(notice);
    }
}

/// Returns the notices that no step has returned yet.
pub(super) async fn pending_notices<C: Context>(ctx: &Ctx<C>) -> Vec<String> {
    let pending = ctx.keep_for_run("pending notices", Pending::default).await;
    pending.map_or(vec![], |pending| std::mem::take(&mut *pending.lock().unwrap_or_else(PoisonError::into_inner)))
}
