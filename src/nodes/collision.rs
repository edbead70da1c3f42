//! Reasons that keep the work of a subtask from being integrated with that of others. Plain data.

use serde::{Deserialize, Serialize};

/// Reason that ended the integration at a subtask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Collision {
    /// Its changes conflict with those of earlier commits in these files.
    Conflict {
        /// The files.
        files: Vec<String>,
        /// Changed files that it does not declare.
        #[serde(default)]
        undeclared: Vec<String>,
        /// True if no work is before it: its changes collide with those that the setup of its worktree made.
        #[serde(default)]
        is_with_setup: bool,
    },
    /// Commits that people made in its worktree conflict with those of others in these files.
    Commits {
        /// The files.
        files: Vec<String>,
        /// The reference that keeps the commits.
        kept: String,
    },
    /// A command fails on the files with its work.
    Check {
        /// The command with the end of its output.
        report: String,
    },
    /// It changed files that it does not declare.
    Undeclared {
        /// The files.
        files: Vec<String>,
    },
    /// A command changed git's hooks or configuration.
    Tampered {
        /// The changed files.
        what: Vec<String>,
    },
}

impl Collision {
    /// Returns true if the subtask may run once more on the work before it.
    pub fn can_be_mended(&self) -> bool {
        matches!(self, Self::Conflict { is_with_setup: false, .. } | Self::Check { .. })
    }

    /// Describes the collision.
    pub fn message(&self) -> String {
        match self {
            Self::Conflict { files, undeclared, is_with_setup } => {
                let those = if *is_with_setup { "that `setup` made" } else { "of subtasks before it" };
                let more = match undeclared.join(", ") {
                    none if none.is_empty() => none,
                    names => format!("; it does not declare {names}"),
                };
                format!("its changes collide with those {those}: {}{more}", files.join(", "))
            }
            Self::Commits { files, kept } => {
                let files = files.join(", ");
                format!("commits of people in its worktree collide with those of others: {files}; `{kept}` keeps them")
            }
            Self::Check { report } => format!("a check fails once it is put together with the others: {report}"),
            Self::Undeclared { files } => format!("it changed files that it does not declare: {}", files.join(", ")),
            Self::Tampered { what } => super::tampering_message("a check", what),
        }
    }
}

/// Returns the files that no path or glob matches; none if nothing is declared.
pub(super) fn undeclared(files: &[String], declared: &[String]) -> Vec<String> {
    let is_declared = |file: &&String| declared.iter().any(|glob| crate::plan::covers(glob, file));
    if declared.is_empty() { vec![] } else { files.iter().filter(|file| !is_declared(file)).cloned().collect() }
}
