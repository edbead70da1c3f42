//! The work on the current phase and on its subtasks, apart from what people see. Plain data.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::state::SubtaskState;
use crate::agent::add_up;
use crate::attempt::{AttemptOutcome, SubtaskWords};
use crate::{Profile, Role};
use superstep::drivers::{RunLimits, SessionRef, Usage};
use superstep::graph::State;
use superstep::nodes::__private::{Collision, Lane};
use superstep::nodes::{Base, Brief, Check, Content, CutOff, Folder};
use superstep::plan::Comment;
use superstep::workspace::{BranchPositions, CommitId, TreeId};

/// The current phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseWork {
    /// The position of the run's branch at the start of the phase; `None` until the repository is prepared.
    pub base: Option<Base>,
    /// The plan, as referenced in prompts.
    pub plan: Content,
    /// The commit with the integrated subtasks; `None`: the base.
    pub tip: Option<CommitId>,
    /// The files of that commit.
    pub tree: Option<TreeId>,
    /// The integrated subtasks, in order.
    pub integrated: Vec<String>,
    /// The commands that no longer count, because they fail with work that a person accepted.
    #[serde(default)]
    pub waived: Vec<String>,
    /// The state of the phase as a whole.
    pub standing: PhaseStanding,
    /// The number of rejections by reviews.
    pub rejections: u32,
    /// The number of rejections after which a person decides.
    pub allowed: u32,
    /// The comments of the last rejection.
    pub comments: Vec<Comment>,
    /// The files of that review; `None` without a rejection.
    #[serde(default)]
    pub judged: Option<TreeId>,
    /// The references that hold the last attempt's work.
    pub salvage: Vec<String>,
    /// The references that hold the first work of subtasks that ran again in this attempt.
    #[serde(default)]
    pub collided: Vec<String>,
    /// The reason for the last retry of the phase.
    #[serde(default)]
    pub retry_reason: Option<String>,
    /// A person's note to the developers.
    pub note: String,
    /// The number of times that a person decided on the phase.
    pub halts: u32,
    /// Set if a person accepted it with another plan: its work enters the branch before the phases are computed.
    #[serde(default)]
    pub is_accepted: bool,
    /// The status of the plan file.
    #[serde(default)]
    pub plan_file: PlanFileStanding,
}

/// The status of the architect's plan file in the repository.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanFileStanding {
    /// It is in the repository, or does not belong there.
    #[default]
    Settled,
    /// It belongs in the next commit.
    Waits,
    /// It is in a commit that is not on the branch yet.
    Committed,
}

impl PlanFileStanding {
    /// Returns the status after commits of the phase.
    pub(crate) fn after_commits(self, made: usize) -> Self {
        if self == Self::Waits && made > 0 { Self::Committed } else { self }
    }

    /// Returns the status after the commits of the phase entered the branch, or were dropped.
    pub(crate) fn after_phase(self, is_on_branch: bool) -> Self {
        match self {
            Self::Committed if is_on_branch => Self::Settled,
            Self::Committed => Self::Waits,
            Self::Settled | Self::Waits => self,
        }
    }
}

/// The state of a phase as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseStanding {
    /// Its subtasks run.
    #[default]
    Working,
    /// All subtasks are integrated: it goes to review.
    Integrated,
    /// A subtask runs again, on top of the integrated work.
    Collided,
    /// Its work is ready for the branch.
    Approved,
    /// The review rejected it, and it runs again.
    Rejected,
    /// A person decides, on a subtask or on the whole phase.
    Halted {
        /// The subtask; `None`: the phase.
        subtask: Option<String>,
        /// The reason.
        reason: String,
        /// The cause.
        #[serde(default)]
        cause: HaltCause,
    },
    /// The budget of the run is exhausted: a person decides.
    Spent,
    /// A person left it out.
    LeftOut,
    /// Another plan was adopted, which a person must approve.
    ToApprove,
    /// Another plan was adopted, whose phases must be computed.
    ToPlan,
    /// A person ended the run.
    Aborted,
}

/// The cause of a halt, if it has consequences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HaltCause {
    /// Work that did not pass.
    #[default]
    Failure,
    /// A change of files that git executes: a person decides, regardless of the profile.
    Tampering,
}

/// The kind of a subtask's failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubtaskFailure {
    /// Its work did not pass, or its agent failed.
    Failed,
    /// It was cancelled with its siblings.
    Cancelled,
    /// Files that git executes were changed.
    Tampered,
    /// A person ended the run during it.
    Aborted,
}

/// The work of one subtask that is not on the branch yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubtaskWork {
    /// The files it started from, after the setup.
    pub from: Option<TreeId>,
    /// Its files.
    pub tree: Option<TreeId>,
    /// The commit it started from.
    pub at: Option<CommitId>,
    /// The last commit that people made in its worktree meanwhile; `None`: there is none.
    #[serde(default)]
    pub commits: Option<CommitId>,
    /// The reference that holds its saved work.
    pub salvage: Option<String>,
    /// The progress with which it waits for a larger budget.
    pub paused: Option<Progress>,
    /// The collision because of which it runs again.
    pub collision: Option<Collision>,
    /// Set if it already ran again in this attempt.
    pub second: bool,
    /// Set if its commands no longer count, because a person accepted its work.
    pub accepted: bool,
    /// The kind of its failure, if any.
    #[serde(default)]
    pub failure: Option<SubtaskFailure>,
    /// The number of turns of its developers in all attempts.
    pub turns: u32,
    /// Set if a person starts it although one of its dependencies is left out.
    #[serde(default)]
    pub without_needs: bool,
}

impl PhaseWork {
    /// Returns the same work in another state.
    pub(crate) fn with(&self, standing: PhaseStanding) -> Self {
        Self { standing, ..self.clone() }
    }
}

impl SubtaskWork {
    /// Returns the parts that stay for the next attempt.
    pub(crate) fn for_next_attempt(&self) -> Self {
        let commits = self.commits_to_keep();
        Self { turns: self.turns, without_needs: self.without_needs, commits, ..Self::default() }
    }

    /// Returns the commits of people that stay beneath the next attempt: not those that collided with others, after which
    /// a person decided.
    pub(crate) fn commits_to_keep(&self) -> Option<CommitId> {
        let has_collided = matches!(self.collision, Some(Collision::Commits { .. }));
        self.commits.clone().filter(|_| !has_collided)
    }
}

/// A change to the work of subtasks; `None` removes it.
pub(crate) type WorkChange = BTreeMap<String, Option<SubtaskWork>>;

/// Applies changes to the work of subtasks.
pub(crate) fn change_works(works: &mut BTreeMap<String, SubtaskWork>, changes: WorkChange) {
    for (id, work) in changes {
        match work {
            Some(work) => drop(works.insert(id, work)),
            None => drop(works.remove(&id)),
        }
    }
}

/// A subtask to run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
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
#[non_exhaustive]
pub struct Progress {
    /// Its worktree, once that is ready.
    pub folder: Option<Folder>,
    /// The commit and files it started from.
    pub base: Option<Base>,
    /// The start of its last turn, if what was moved in git during it could not be put back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfolded: Option<BranchPositions>,
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
    /// The outcome of the last attempt.
    #[serde(with = "SubtaskWords")]
    pub standing: AttemptOutcome,
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

impl SubtaskRun {
    /// Returns the folder of sessions, ledgers and contents.
    pub(crate) fn home(&self) -> PathBuf {
        self.subtask.repository.directory.join(".superstep")
    }
}
