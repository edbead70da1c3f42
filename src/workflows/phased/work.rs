//! What a run keeps of the phase in work besides what people are shown. Plain data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::subtask::Progress;
use crate::nodes::{Base, Collision, Content};
use crate::plan::Comment;
use crate::workspace::{CommitId, TreeId};

/// The error of a subtask that was under way when a person ended the run.
pub(super) const ENDED: &str = "the run was ended";

/// The phase in work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseWork {
    /// The position of the run's branch, on which the phase builds; none before the repository is prepared.
    pub base: Option<Base>,
    /// The plan, as prompts refer to it.
    pub plan: Content,
    /// The commit up to which subtasks are integrated; none: the base.
    pub tip: Option<CommitId>,
    /// The files of that commit.
    pub tree: Option<TreeId>,
    /// The subtasks that are integrated, in order.
    pub integrated: Vec<String>,
    /// The commands that do not count any more: they fail with work that a person accepted.
    #[serde(default)]
    pub waived: Vec<String>,
    /// The state of the phase as a whole.
    pub standing: PhaseStanding,
    /// The number of reviews that rejected it.
    pub rejections: u32,
    /// The number of rejections after which a person is asked.
    pub allowed: u32,
    /// The comments of the last rejection.
    pub comments: Vec<Comment>,
    /// The files that it was about; none: there was none.
    #[serde(default)]
    pub judged: Option<TreeId>,
    /// The references that hold the work of the attempt before.
    pub salvage: Vec<String>,
    /// The references that hold the first work of subtasks that ran once more in this attempt.
    #[serde(default)]
    pub collided: Vec<String>,
    /// The reason for the last retry of the phase.
    #[serde(default)]
    pub retry_reason: Option<String>,
    /// The note of a person to the developers.
    pub note: String,
    /// The number of times that a person was asked what becomes of the phase.
    pub halts: u32,
    /// Whether a person accepted it and another plan holds: its work goes onto the branch before the phases are computed.
    #[serde(default)]
    pub is_accepted: bool,
    /// The plan's way into the repository.
    #[serde(default)]
    pub plan_file: PlanFileStanding,
}

/// The way of a plan that an architect wrote into the repository.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanFileStanding {
    /// It is there, or has no place there.
    #[default]
    Settled,
    /// It goes into the next commit.
    Waits,
    /// It is in a commit that is not on the branch yet.
    Committed,
}

impl PlanFileStanding {
    /// Returns it after commits of the phase.
    pub(super) fn after_commits(self, made: usize) -> Self {
        if self == Self::Waits && made > 0 { Self::Committed } else { self }
    }

    /// Returns it after the commits of the phase went onto the branch, or were dropped.
    pub(super) fn after_phase(self, is_on_branch: bool) -> Self {
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
    /// Subtasks are worked on.
    #[default]
    Working,
    /// All subtasks are integrated: it goes to review.
    Integrated,
    /// A subtask runs once more on the integrated work.
    Collided,
    /// Its work is to go onto the branch.
    Approved,
    /// The review rejected it, and it runs again.
    Rejected,
    /// A person decides: about a subtask, or the whole phase.
    Halted {
        /// The subtask; none: the phase.
        subtask: Option<String>,
        /// The reason.
        reason: String,
        /// The cause.
        #[serde(default)]
        cause: HaltCause,
    },
    /// The budget of the run is used up: a person decides.
    Spent,
    /// A person left it out.
    LeftOut,
    /// Another plan holds, about which a person is asked.
    ToApprove,
    /// Another plan holds, whose phases are computed.
    ToPlan,
    /// A person ended the run.
    Aborted,
}

/// The cause of a halt, as far as something follows from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HaltCause {
    /// Work that did not pass.
    #[default]
    Failure,
    /// A change of what git runs: a person is asked, whatever the profile says.
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
    /// What git runs was changed.
    Tampered,
    /// A person ended the run at it.
    Aborted,
}

/// The work of one subtask that is not on the branch yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubtaskWork {
    /// The files with which it began, after the setup.
    pub from: Option<TreeId>,
    /// Its files.
    pub tree: Option<TreeId>,
    /// The commit at which it began.
    pub at: Option<CommitId>,
    /// The reference that holds its work, if it was put aside.
    pub salvage: Option<String>,
    /// The state in which it waits for a larger budget.
    pub paused: Option<Progress>,
    /// The collision for which it runs once more.
    pub collision: Option<Collision>,
    /// Whether it already ran once more in this attempt.
    pub second: bool,
    /// Whether its commands do not count any more: a person accepted its work.
    pub accepted: bool,
    /// The kind of its failure; none: it did not fail.
    #[serde(default)]
    pub failure: Option<SubtaskFailure>,
    /// The number of turns of its developers in all attempts.
    pub turns: u32,
    /// Whether a person has it worked on although a task that it depends on is left out.
    #[serde(default)]
    pub without_needs: bool,
}

/// A change of what is known of a subtask's work; none: nothing is known any more.
pub type WorkChange = BTreeMap<String, Option<SubtaskWork>>;

/// Makes changes to what is known of the subtasks' work.
pub(crate) fn change(works: &mut BTreeMap<String, SubtaskWork>, changes: WorkChange) {
    for (id, work) in changes {
        match work {
            Some(work) => drop(works.insert(id, work)),
            None => drop(works.remove(&id)),
        }
    }
}
