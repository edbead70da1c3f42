//! The state of a task: what is asked for, its attempts, its children. Plain data; everything in it is stored, so no key and no
//! transcript is.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::attempt::{Attempt, AttemptLine, Obstacle, OutputChange, change, meet};
use super::children::{ChildResult, Children};
use super::outcome::TaskOutcome;
use crate::decide::{DecisionRecord, Override};
use crate::drivers::{NewLimits, Usage};
use crate::findings::{Fingerprint, VerifierOutput};
use crate::graph::State;
use crate::nodes::{Base, Folder};
use crate::spec::{RunSettings, TaskSpec};
use crate::workflows::task_based::{add_up, later};
use crate::workflows::{Profile, Role};

/// The state of a task at any depth.
#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
pub struct CodeTaskState {
    /// How the work is done, and by whom. Holds no keys; never changes.
    pub settings: Settings,
    /// The task; none only before the input.
    pub spec: Option<TaskSpec>,
    /// Its place among tasks.
    pub place: TaskPlace,
    /// The start of the work; none before that.
    pub start: Option<Start>,
    /// The attempt in work.
    pub attempt: Attempt,
    /// The reports of its verifiers so far.
    #[channel(reduce = change, write = OutputChange)]
    pub outputs: Vec<VerifierOutput>,
    /// The obstacle that verifiers have met.
    #[channel(reduce = meet)]
    pub obstacle: Option<Obstacle>,
    /// The attempts that were recorded, in order.
    #[channel(append)]
    pub attempts: Vec<AttemptLine>,
    /// The last decision.
    pub decision: Option<DecisionRecord>,
    /// The decision of a person that is to be followed next.
    pub pending: Option<Override>,
    /// The children that it was split into.
    pub children: Option<Children>,
    /// The children that have ended, in order.
    #[channel(append)]
    pub results: Vec<ChildResult>,
    /// The number of further turns that a person granted.
    pub granted: u32,
    /// The usage of agents.
    #[channel(add)]
    pub usage: Usage,
    /// The usage of each role.
    #[channel(reduce = add_up)]
    pub used: BTreeMap<Role, Usage>,
    /// The limits that people set in place of those of the profile.
    #[channel(reduce = later)]
    pub raised: NewLimits,
    /// The outcome; none while the task is worked on.
    pub outcome: Option<TaskOutcome>,
    /// Notices for people.
    #[channel(append)]
    pub notices: Vec<String>,
}

/// How the work is done. The same for a task and its children.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Who works, and with what.
    pub profile: Profile,
    /// The policy and the verifiers.
    pub run: RunSettings,
    /// The user's checkout: an absolute path.
    pub repository: PathBuf,
    /// The folder of records, from the top of the checkout.
    pub records: PathBuf,
    /// Files that are no part of the work, from the top of the checkout.
    pub apart: Vec<PathBuf>,
    /// Whether changes of the user's own may be in the files; they are in no commit.
    pub allow_dirty: bool,
}

/// The place of a task among others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskPlace {
    /// The depth that it counts as.
    pub depth: u32,
    /// The ids of the tasks below the first one, down to this; empty: it is the first one.
    pub path: Vec<String>,
    /// The hashes of the tasks above it.
    pub lineage: Vec<String>,
    /// The errors that siblings settle, or siblings of a task above: they count as information here.
    pub expected: Vec<Fingerprint>,
    /// The place of its work.
    pub at: WorkPlace,
    /// The usage of the run when it was started.
    pub spent: Usage,
    /// The limits that people had set by then.
    pub raised: NewLimits,
}

/// The place of a task's work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkPlace {
    /// The user's checkout, on a branch that is made for it.
    #[default]
    Checkout,
    /// The files of the task above, which waits meanwhile.
    Here(Box<Start>),
    /// A worktree of its own.
    Worktree {
        /// Its folder: an absolute path.
        path: PathBuf,
        /// The commit with the files of the task above.
        at: crate::workspace::CommitId,
        /// Branches that must not move.
        others: Vec<String>,
    },
}

/// The start of the work on a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// The name of the run.
    pub run: String,
    /// The folder of the work.
    pub folder: Folder,
    /// The position and files.
    pub base: Base,
}
