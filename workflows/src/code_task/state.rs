//! The state of a task: the request, its attempts, its children, its outcome; and the task as the input of a run. Plain data;
//! all of it is stored, so it holds no key and no transcript.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::agent::{add_up, later};
use crate::{Profile, Role};
use superstep::decide::{AttemptKind, DecisionRecord, Override};
use superstep::drivers::{NewLimits, SessionRef, Usage};
use superstep::findings::{Fingerprint, VerifierOutput};
use superstep::graph::State;
use superstep::nodes::__private::TakenSnapshot;
use superstep::nodes::{Base, CutOff, Folder};
use superstep::spec::{RunSettings, TaskSpec};
use superstep::workspace::{CommitId, Head, TreeId};

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
#[non_exhaustive]
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
        at: superstep::workspace::CommitId,
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
    pub with_commits: Option<superstep::workspace::TreeId>,
}

/// The current attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Its number, from 1; 0 before the first.
    pub number: u32,
    /// The number of the agent's turns so far.
    pub turns: u32,
    /// The author of its files.
    pub kind: AttemptKind,
    /// The agent's session, for the next turn.
    pub session: Option<SessionRef>,
    /// The point at which a turn exceeded the budget.
    pub cut: Option<CutOff>,
    /// The reason why the agent's turn had no result.
    pub problem: Option<String>,
    /// The reason why the task could not be split.
    pub unsplit: Option<String>,
    /// The recorded form for the rules, once decided.
    pub past: Option<superstep::decide::PastAttempt>,
    /// The changed git hooks or configuration, if any.
    pub tampered: Option<String>,
    /// Set if a person decided on the current files, and the decision is applied before any further work.
    pub decides_now: bool,
    /// Set if the budget of the run is exhausted.
    pub is_spent: bool,
    /// A person's decision after a server rejected a session.
    pub given_up: Option<superstep::nodes::__private::GivenUp>,
    /// The commit and files it started from.
    pub base: Option<Base>,
    /// True if people have committed since these files were there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_behind: bool,
    /// The resulting files.
    pub files: Option<TakenSnapshot>,
    /// A person's note to the agent.
    pub note: String,
    /// The report on the children, for the agent.
    pub report: Vec<String>,
    /// The findings given to an agent whose turn was cut short, one per line: they are given again.
    pub unheeded: Vec<String>,
}

/// The reason for an early end of an attempt's verification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Obstacle {
    /// A verifier changed git hooks or configuration.
    Tampered(String),
    /// The budget of the run is exhausted.
    Spent,
}

/// Sets or clears the obstacle. Among parallel verifiers, the first tampering takes precedence.
pub(super) fn meet(obstacle: &mut Option<Obstacle>, met: Option<Obstacle>) {
    let stays = met.is_some() && matches!(obstacle, Some(Obstacle::Tampered(_)));
    if !stays {
        *obstacle = met;
    }
}

/// A recorded attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AttemptLine {
    /// The form for the rules.
    pub past: superstep::decide::PastAttempt,
    /// The decision.
    pub decision: String,
    /// The rule that decided.
    pub rule: String,
    /// The reason in words.
    pub reason: String,
    /// The commit with its files.
    pub commit: Option<CommitId>,
    /// The private reference to it; `None`: it is on the branch.
    pub reference: Option<String>,
    /// The errors and warnings, one per line; only the first ones if there are many.
    pub findings: Vec<String>,
    /// The usage since the last attempt: of the agent, the verifiers, the splitter and the children.
    pub usage: Usage,
    /// The digest of its record in `runs/RUN`; `None`: an earlier version recorded it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
}

/// A change to the list of verifier reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum OutputChange {
    /// Removes all reports.
    Clear,
    /// Appends a report.
    Add(Box<VerifierOutput>),
    /// Replaces all reports.
    Set(Vec<VerifierOutput>),
}

/// Applies a change to the list of reports.
pub(super) fn change(outputs: &mut Vec<VerifierOutput>, change: OutputChange) {
    match change {
        OutputChange::Clear => outputs.clear(),
        OutputChange::Add(output) => outputs.push(*output),
        OutputChange::Set(set) => *outputs = set,
    }
}

/// The outcome of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskOutcome {
    /// The task is done.
    Done,
    /// The task was given up.
    GaveUp,
    /// A person decided that it failed.
    Failed,
    /// A person ended the run.
    Cancelled,
}

/// The children that a task was split into.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Children {
    /// The children, in order.
    pub specs: Vec<TaskSpec>,
    /// The number of children that run in parallel.
    pub at_once: u32,
    /// The commit with the initial files of the next children; `None`: it cannot be created.
    pub at: Option<CommitId>,
    /// The initial files of the next children.
    pub tree: Option<TreeId>,
    /// The number of children whose results are in those files or were left out.
    pub joined: usize,
    /// Set once all are joined and the task was verified with their results.
    pub is_over: bool,
    /// The children whose changes conflict with those of others, with the files.
    pub conflicts: Vec<(String, Vec<String>)>,
}

impl Children {
    /// Returns the children to run next, each with its index.
    pub(super) fn batch(&self) -> impl Iterator<Item = (usize, &TaskSpec)> {
        self.specs.iter().enumerate().skip(self.joined).take(self.at_once.max(1) as usize)
    }

    /// Returns the errors that children other than the `nth` must remove.
    pub(super) fn of_others(&self, nth: usize) -> Vec<Fingerprint> {
        let origin = |spec: &TaskSpec| spec.relationships.origin.clone().map(|origin| origin.fingerprints);
        let own = self.specs.get(nth).and_then(origin).unwrap_or_default();
        let others = self.specs.iter().enumerate().filter(|(at, _)| *at != nth);
        let all = others.filter_map(|(_, spec)| origin(spec)).flatten();
        all.filter(|fingerprint| !own.contains(fingerprint)).collect()
    }
}

/// The result of a child.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ChildResult {
    /// The child's id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The outcome.
    pub outcome: TaskOutcome,
    /// The last decision.
    pub kind: superstep::decide::DecisionKind,
    /// The last decision, with its reason.
    pub decision: String,
    /// The number of attempts.
    pub attempts: u32,
    /// The commit and files it started from; `None`: it could not start.
    pub base: Option<Base>,
    /// Its files.
    pub tree: Option<TreeId>,
    /// The commit of its last attempt.
    pub commit: Option<CommitId>,
    /// Set if the budget of the run is exhausted.
    pub is_spent: bool,
    /// The usage.
    pub usage: Usage,
    /// The errors and warnings of its last attempt, one per line.
    pub findings: Vec<String>,
    /// The digests of its records and those of its children, by their paths below its own folder of records.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub records: BTreeMap<String, String>,
}

/// A task to run, at any depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CodeTask {
    /// The task.
    pub spec: TaskSpec,
    /// The place in the tree of tasks.
    pub place: TaskPlace,
    /// The settings of the run.
    pub settings: Settings,
}

impl CodeTask {
    /// Returns the first task of a run: it works in the user's checkout, on its own branch.
    pub fn new(spec: TaskSpec, settings: Settings) -> Self {
        Self { spec, place: TaskPlace::default(), settings }
    }
}

/// Converts a task from [`TaskStart::read`](super::TaskStart::read).
impl From<ReadTask> for CodeTask {
    fn from(ReadTask { spec, settings }: ReadTask) -> Self {
        Self::new(spec, settings)
    }
}

/// A parsed task with its settings.
#[derive(Clone, Debug)]
pub struct ReadTask {
    /// The task, with its effective policy.
    pub spec: TaskSpec,
    /// The settings of the run.
    pub settings: Settings,
}
