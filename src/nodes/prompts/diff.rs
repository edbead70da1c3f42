//! The changes of a task in a prompt: a text, or a file that contains it. Pure.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::parts::Parts;

/// Changes: as text, or in a file if they are many.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Diff {
    /// As text.
    Text(String),
    /// In a file.
    File {
        /// Its absolute path.
        path: String,
        /// The changes, a line for each file.
        files: String,
    },
}

impl Diff {
    pub(in crate::nodes) fn file(&self) -> Option<PathBuf> {
        match self {
            Self::Text(_) => None,
            Self::File { path, .. } => Some(path.into()),
        }
    }

    pub(super) fn text(&self) -> Parts {
        match self {
            Self::Text(text) => Parts::fenced("diff", text.as_str()),
            Self::File { path, files } => {
                let place = format!("The diff is long. It is in the file {path}\n\nThese files changed:\n\n");
                Parts::from(place).with(Parts::fenced("text", files.as_str()))
            }
        }
    }
}
