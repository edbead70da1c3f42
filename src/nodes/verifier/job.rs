//! A verifier to run, and its result. Plain data; must not know how it runs.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::drivers::{NewLimits, Usage};
use crate::findings::{Fingerprint, VerifierOutput};
use crate::nodes::agents::AgentSpec;
use crate::nodes::folder::{Base, Folder};
use crate::spec::VerifierEntry;
use crate::verifiers::TaskView;
use crate::workspace::TreeId;

/// A verifier to run, and the attempt to verify. Plain data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunVerifier {
    /// The verifier.
    pub entry: VerifierEntry,
    /// The task.
    pub task: TaskView,
    /// The attempt, from 1.
    pub attempt: u32,
    /// The work tree.
    pub folder: Folder,
    /// Branch and files at the start of the task.
    pub base: Base,
    /// The files of the attempt; changes that the verifier makes to them are undone.
    pub tree: TreeId,
    /// The agent of a model verifier; its role is the verifier's id, and the verifier's settings take precedence.
    pub agent: AgentSpec,
    /// The part of this machine that verifiers get.
    pub host: VerifierHost,
    /// Errors that are expected to be fixed elsewhere: they count as infos.
    pub expected: Vec<Fingerprint>,
}

impl RunVerifier {
    /// Returns the key of an effect.
    pub(super) fn key(&self, of: &str) -> String {
        format!("verifier/{}/{of}", self.entry.id)
    }
}

/// The part of a machine that verifiers get.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifierHost {
    /// Variables of this process that commands get besides the usual ones.
    pub pass: Vec<String>,
    /// The folder for diffs that are too long for a prompt.
    pub long_diffs: PathBuf,
    /// Folders besides the work tree whose paths become relative in findings: the user's checkout.
    pub roots: Vec<PathBuf>,
}

/// Result of a verifier.
#[derive(Clone, Debug)]
pub struct RanVerifier {
    /// Its report.
    pub output: VerifierOutput,
    /// The usage of its model.
    pub usage: Usage,
    /// The limits of the run that a person set.
    pub raised: NewLimits,
    /// Notices for a person.
    pub notices: Vec<String>,
    /// Changes that it made to git's hooks or configuration; nothing may be run in git then.
    pub tampered: Vec<String>,
    /// True if the budget of the run is used up, and its model was not asked for that reason.
    pub is_spent: bool,
}
