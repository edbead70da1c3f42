//! A verifier to run, and what came of it. Plain data; must not know how it runs.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::drivers::{NewLimits, Usage};
use crate::findings::{Fingerprint, VerifierOutput};
use crate::nodes::{
    agents::AgentSpec,
    folder::{Base, Folder},
};
use crate::spec::VerifierEntry;
use crate::verifiers::TaskView;
use crate::workspace::TreeId;

/// A verifier to run, and the attempt that it judges. Plain data.
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
    /// The branch and the files from before the task.
    pub base: Base,
    /// The files of the attempt; what the verifier changes of them is taken back.
    pub tree: TreeId,
    /// The agent of a model verifier; the verifier's id becomes its role, and its settings come before the agent's.
    pub agent: AgentSpec,
    /// The part of this machine that verifiers get.
    pub host: VerifierHost,
    /// Errors that others remove: they count as infos.
    pub expected: Vec<Fingerprint>,
}

impl RunVerifier {
    /// Returns the name of an effect.
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
    /// Folders besides the work tree whose paths count as relative ones in findings: the user's checkout.
    pub roots: Vec<PathBuf>,
}

/// A verifier that has run.
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
