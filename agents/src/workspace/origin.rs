//! The beginning of a repository, by which it is recognized before a run has any commit in it.

use std::fs;
use std::path::Path;

use git2::{ObjectType, Oid, Repository};
use serde::{Deserialize, Serialize};

use super::head_log;
use super::worktree_entries::top_of;

/// The repository that a run was started with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Digest of the first line in the log of HEAD: a copy of all files has it too, and a clone one of its own.
    pub first: String,
    /// True if the run was started inside of another repository: then the place of the store tells nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_elsewhere: bool,
}

impl Origin {
    /// Returns the origin of a run that is started in a folder; none before the first commit. Blocks.
    pub fn of(root: &Path, current: &Path) -> Option<Self> {
        let is_elsewhere = top_of(current).is_some_and(|top| Some(top) != top_of(root));
        Some(Self { first: first_of(root)?, is_elsewhere })
    }
}

/// Returns a digest of the first line in the log of HEAD.
pub(super) fn first_of(top: &Path) -> Option<String> {
    let log = fs::read(head_log::file(Repository::open(top).ok()?.path())).ok()?;
    let line = log.split(|byte| *byte == b'\n').next().filter(|line| !line.is_empty())?;
    Oid::hash_object(ObjectType::Blob, line).ok().map(|digest| digest.to_string())
}
