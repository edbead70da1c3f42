//! The work of a subtask, for the integration. Plain data.

use serde::{Deserialize, Serialize};

use super::collision::Collision;
use super::phase::KeptPart;
use super::phase_event::Place;
use crate::workspace::{CommitId, TreeId};

/// Work of a subtask to integrate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The subtask's id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its files at the start.
    pub from: TreeId,
    /// Its files.
    pub tree: TreeId,
    /// Paths and globs of the files that it declares; empty: it declares none.
    pub declared: Vec<String>,
    /// Commands that must succeed from this commit on.
    pub verify: Vec<String>,
    /// The message of its commit, subject first.
    pub message: String,
    /// The phase, from 1.
    pub phase: u32,
    /// The attempt of the phase, from 1.
    pub attempt: u32,
    /// The commit at its start.
    pub at: Option<CommitId>,
    /// The last commit that people made in its worktree; none: there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits: Option<CommitId>,
    /// True for the work of the run on the integrated tree.
    pub second: bool,
    /// True if a person accepted it: commands that fail with it do not count any more.
    pub accepted: bool,
}

impl Part {
    pub(super) fn place(&self, collision: &Collision) -> Place {
        Place {
            phase_index: self.phase.saturating_sub(1),
            subtask_id: Some(self.id.clone()),
            title: self.title.clone(),
            attempt: self.attempt,
            time: String::new(),
            reason: Some(collision.message()),
        }
    }

    pub(super) fn kept(&self) -> KeptPart {
        KeptPart {
            id: self.id.clone(),
            phase: self.phase,
            attempt: self.attempt,
            second: self.second,
            at: self.at.clone(),
            tree: self.tree.clone(),
        }
    }
}
