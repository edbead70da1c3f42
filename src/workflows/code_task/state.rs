//! The state of a task: the request, its attempts, its children. Plain data; all of it is stored, so it holds no key
//! and no transcript.

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
use crate::workspace::Head;

/// The state of a task at any depth.
#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
pub struct CodeTaskState {
    /// The settings of the run. Hold no keys; never change.
    pub settings: Settings,
    /// The task; `None` only before the input.
    pub spec: Option<TaskSpec>,
    /// Its place in the tree of tasks.
    pub place: TaskPlace,
    /// The start of the work; `None` before.
    pub start: Option<Start>,
    /// The current attempt.
    pub attempt: Attempt,
    /// The verifier reports of the current attempt.
    #[channel(reduce = change, write = OutputChange)]
    pub outputs: Vec<VerifierOutput>,
    /// The obstacle of the current verification.
    #[channel(reduce = meet)]
    pub obstacle: Option<Obstacle>,
    /// The recorded attempts, in order.
    #[channel(append)]
    pub attempts: Vec<AttemptLine>,
    /// The last decision.
    pub decision: Option<DecisionRecord>,
    /// The decision of a person to apply next.
    pub pending: Option<Override>,
    /// The children that it was split into.
    pub children: Option<Children>,
    /// The results of finished children, in order.
    #[channel(append)]
    pub results: Vec<ChildResult>,
    /// The number of additional turns that a person granted.
    pub granted: u32,
    /// The usage of agents.
    #[channel(add)]
    pub usage: Usage,
    /// The usage by role.
    #[channel(reduce = add_up)]
    pub used: BTreeMap<Role, Usage>,
    /// The limits that people set instead of the profile's.
    #[channel(reduce = later)]
    pub raised: NewLimits,
    /// The outcome; `None` while the task runs.
    pub outcome: Option<TaskOutcome>,
    /// Notices for people.
    #[channel(append)]
    pub notices: Vec<String>,
}

/// The settings of a run, shared by a task and its children.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The drivers, models and limits of the agents.
    pub profile: Profile,
    /// The policy and the verifiers.
    pub run: RunSettings,
    /// The absolute path of the user's checkout.
    pub repository: PathBuf,
    /// The folder of records, relative to the checkout.
    pub records: PathBuf,
    /// Files that are not part of the work, relative to the checkout.
    pub apart: Vec<PathBuf>,
    /// Set to allow uncommitted changes of the user; they are never committed.
    pub allow_dirty: bool,
}

/// The place of a task in the tree of tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskPlace {
    /// The depth of the task.
    pub depth: u32,
    /// The ids of the tasks below the root, down to this one; empty for the root.
    pub path: Vec<String>,
    /// The hashes of its ancestors.
    pub lineage: Vec<String>,
    /// The errors that its siblings or those of an ancestor remove: they count as info here.
    pub expected: Vec<Fingerprint>,
    /// The working directory.
    pub at: WorkPlace,
    /// The usage of the run at its start.
    pub spent: Usage,
    /// The limits that people had set at its start.
    pub raised: NewLimits,
}

/// The working directory of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkPlace {
    /// The user's checkout, on a new branch.
    #[default]
    Checkout,
    /// The files of the parent, which waits meanwhile.
    Here(Box<Start>),
    /// A separate worktree.
    Worktree {
        /// Its absolute path.
        path: PathBuf,
        /// The commit with the files of the parent.
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
    /// The commit and files.
    pub base: Base,
    /// The position of HEAD before; `None`: unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub came_from: Option<Head>,
    /// The files before the task with the commits that people made meanwhile; `None`: there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with_commits: Option<crate::workspace::TreeId>,
}
