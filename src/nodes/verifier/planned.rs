//! A dry run of a verifier.

use serde::Serialize;

use super::{model, shell};
use crate::graph::NodeError;
use crate::nodes::folder::{Folder, failed};
use crate::spec::{Mode, VerifierEntry};
use crate::verifiers::TaskView;

/// The plan of a verifier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedVerifier {
    /// The command, from the settings or discovered in the last commit; none: there is none, or the verifier is no
    /// command.
    pub command: Option<String>,
    /// Length of the prompt without any changes, in bytes; none: it is no model.
    pub prompt: Option<usize>,
}

/// Returns what a verifier would run for a task in a repository. Nothing runs.
///
/// # Errors
/// If the repository cannot be read.
pub async fn planned_verifier(
    entry: &VerifierEntry,
    task: &TaskView,
    folder: &Folder,
) -> Result<PlannedVerifier, NodeError> {
    let workspace = folder.open().await?;
    let command = match (entry.mode, workspace.head_tree().await.map_err(failed)?) {
        (Mode::Shell, Some(tree)) => shell::command(entry, &tree, &workspace).await?,
        (Mode::Shell, None) => entry.config.command.clone(),
        (Mode::Model | Mode::Code, _) => None,
    };
    let prompt = (entry.mode == Mode::Model).then(|| model::prompt_length(entry, task));
    Ok(PlannedVerifier { command, prompt })
}
