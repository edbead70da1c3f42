//! A subtask: its input and its progress. Plain data.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::state::SubtaskState;
use crate::drivers::{RunLimits, SessionRef, Usage};
use crate::graph::State;
use crate::nodes::{Base, Brief, Check, CutOff, Folder, Lane};
use crate::plan::Comment;
use crate::workflows::task_based::add_up;
use crate::workflows::{Profile, Role};
use crate::workspace::{CommitId, Standing, TreeId};

/// A subtask to run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subtask {
    /// The task with its part of the plan.
    pub brief: Brief,
    /// The subtask as people see it.
    pub line: SubtaskState,
    /// Its place among the subtasks of the phase.
    pub lane: Lane,
    /// Set if the plan declares that it changes no files.
    pub changes_nothing: bool,
    /// The profile of the run.
    pub profile: Profile,
    /// The usage of the run at its start.
    pub spent: Usage,
    /// The limits of the run.
    pub budget: RunLimits,
    /// The work tree of the run.
    pub repository: Folder,
    /// The folder of its worktree.
    pub worktree: PathBuf,
    /// Branches that must not move while it runs.
    pub others: Vec<String>,
    /// The commit it starts from; `None` only by default.
    pub at: Option<CommitId>,
    /// The last commit that people made in the worktree of an earlier attempt, which stays beneath the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits: Option<CommitId>,
    /// The comments of the review that rejected the phase.
    pub comments: Vec<Comment>,
    /// The failures to fix: its conflicts with other work.
    pub failures: Vec<String>,
    /// The note of a person.
    pub note: String,
    /// The references that hold work of earlier attempts.
    pub salvage: Vec<String>,
    /// Set if it runs again on top of the integrated work.
    pub second: bool,
    /// The number of turns of its developers in earlier attempts.
    pub turns: u32,
    /// Set if a person starts it although one of its dependencies is left out.
    #[serde(default)]
    pub without_needs: bool,
    /// The progress to resume from; `None`: it starts.
    pub progress: Option<Progress>,
}

/// The progress of a subtask.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Its worktree, once that is ready.
    pub folder: Option<Folder>,
    /// The commit and files it started from.
    pub base: Option<Base>,
    /// The start of its last turn, if what was moved in git during it could not be put back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfolded: Option<Standing>,
    /// Its files.
    pub tree: Option<TreeId>,
    /// The files at the last review.
    pub last_reviewed: Option<TreeId>,
    /// The developer's session.
    pub session: Option<SessionRef>,
    /// The number of turns of developers.
    pub attempts: u32,
    /// The number of attempts that were reviewed or failed their checks.
    pub judged: u32,
    /// The number of consecutive attempts without changes.
    pub empty: u32,
    /// The checks of the last attempt.
    pub checks: Vec<Check>,
    /// The open comments of its own review.
    pub comments: Vec<Comment>,
    /// The failures of the last attempt.
    pub failures: Vec<String>,
    /// The changes of the last attempt that no commit will contain, with the reason.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// The point at which the last turn exceeded the budget.
    pub from: Option<CutOff>,
    /// The models that a person chose.
    pub models: BTreeMap<Role, String>,
    /// Its state.
    pub standing: SubtaskStanding,
}

/// The state of a subtask.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubtaskStanding {
    /// In progress.
    #[default]
    Working,
    /// Its checks passed.
    Verified,
    /// It is done.
    Done,
    /// It failed.
    Failed(String),
    /// It failed because files that git executes were changed.
    Tampered(String),
    /// It was cancelled with its siblings.
    Cancelled(String),
    /// The budget of the run is exhausted.
    Spent,
    /// A person skipped it.
    Skipped,
    /// A person ended the run.
    Aborted,
}

/// The state of the graph of one subtask.
#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
pub struct SubtaskRun {
    /// The subtask.
    pub subtask: Subtask,
    /// Its progress.
    pub progress: Progress,
    /// The usage of its agents.
    #[channel(add)]
    pub usage: Usage,
    /// The usage of each role.
    #[channel(reduce = add_up)]
    pub used: BTreeMap<Role, Usage>,
    /// Notices for people.
    #[channel(append)]
    pub notices: Vec<String>,
}

impl SubtaskStanding {
    /// Returns whether it has ended.
    pub fn is_over(&self) -> bool {
        !matches!(self, Self::Working | Self::Verified)
    }
}

impl SubtaskRun {
    /// Returns the folder of sessions, ledgers and contents.
    pub(crate) fn home(&self) -> PathBuf {
        self.subtask.repository.directory.join(".superstep")
    }
}
