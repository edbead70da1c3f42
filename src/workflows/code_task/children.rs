//! The children of a task: what they are to do, and their results. Plain data.

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
    /// How many are worked on at a time.
    pub at_once: u32,
    /// The commit with the files at which those begin that are worked on next; none: it cannot be made.
    pub at: Option<CommitId>,
    /// The files at which those begin that are worked on next.
    pub tree: Option<TreeId>,
    /// The number of children whose results are in those files, or were left out.
    pub joined: usize,
    /// Whether all are joined and the task was verified with their results.
    pub is_over: bool,
    /// The children whose changes collide with those of others, with the files.
    pub conflicts: Vec<(String, Vec<String>)>,
}

impl Children {
    /// Returns the children that are worked on next, each with its index.
    pub(super) fn batch(&self) -> impl Iterator<Item = (usize, &TaskSpec)> {
        self.specs.iter().enumerate().skip(self.joined).take(self.at_once.max(1) as usize)
    }

    /// Returns the errors that children other than the `nth` settle.
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
    /// The same with its reason.
    pub decision: String,
    /// The number of attempts.
    pub attempts: u32,
    /// The position and files at which it began; none: it could not begin.
    pub base: Option<Base>,
    /// Its files.
    pub tree: Option<TreeId>,
    /// The commit of its last attempt.
    pub commit: Option<CommitId>,
    /// Whether the budget of the run is used up.
    pub is_spent: bool,
    /// The usage.
    pub usage: Usage,
    /// The errors and warnings of its last attempt, a line each.
    pub findings: Vec<String>,
}
