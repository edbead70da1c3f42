//! Search for key values in files, before work is shown or committed. Reads objects, runs nothing.

use std::fmt;

use git2::{Delta, Repository};
use serde::{Deserialize, Serialize};

use super::error::WorkspaceError;
use super::id::TreeId;
use super::place::{Fault, Workspace};
use crate::process::Key;

/// Value of a known key in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeakedKey {
    /// File, relative to the top of the work tree.
    pub path: String,
    /// Line, from 1.
    pub line: usize,
    /// Environment variable that holds the key.
    pub variable: String,
}

impl fmt::Display for LeakedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} holds the value of `{}`", self.path, self.line, self.variable)
    }
}

impl Workspace {
    /// Finds key values in the files that are new or changed between two trees: the first occurrence per file and key.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if a tree cannot be read.
    pub async fn leaked_keys(
        &self,
        from: &TreeId,
        to: &TreeId,
        keys: Vec<Key>,
    ) -> Result<Vec<LeakedKey>, WorkspaceError> {
        if keys.is_empty() || from == to {
            return Ok(vec![]);
        }
        let (from, to) = (from.clone(), to.clone());
        self.objects("look for keys", move |repository, _| found(repository, [&from, &to], &keys)).await
    }
}

fn found(repository: &Repository, [from, to]: [&TreeId; 2], keys: &[Key]) -> Result<Vec<LeakedKey>, Fault> {
    let (from, to) = (repository.find_tree(from.oid()?)?, repository.find_tree(to.oid()?)?);
    let diff = repository.diff_tree_to_tree(Some(&from), Some(&to), None)?;
    let mut found = Vec::new();
    for delta in diff.deltas().filter(|delta| delta.status() != Delta::Deleted) {
        let file = delta.new_file();
        // A submodule has no content here.
        let Ok(blob) = repository.find_blob(file.id()) else { continue };
        let text = String::from_utf8_lossy(blob.content());
        let path = file.path_bytes().map(|path| String::from_utf8_lossy(path).into_owned()).unwrap_or_default();
        for key in keys {
            if let Some(at) = key.place_in(&text) {
                let line = text[..at].matches('\n').count() + 1;
                found.push(LeakedKey { path: path.clone(), line, variable: key.variable().to_owned() });
            }
        }
    }
    Ok(found)
}
