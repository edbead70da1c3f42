//! The children of a task: their specs and their results. Plain data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::outcome::TaskOutcome;
use crate::drivers::Usage;
use crate::findings::Fingerprint;
use crate::nodes::Base;
use crate::spec::TaskSpec;
use crate::workspace::{CommitId, TreeId};

/// The children that a task was split into.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
pub struct ChildResult {
    /// The child's id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The outcome.
    pub outcome: TaskOutcome,
    /// The last decision.
    pub kind: crate::decide::Kind,
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
