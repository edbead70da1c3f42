//! Snapshots: a tree of all current files, tracked or not. The user's index is read but not changed.

use serde::{Deserialize, Serialize};

use super::error::WorkspaceError;
use super::id::TreeId;
use super::index::NOT_ALLOWED;
use super::left_out::{LeftOut, Reason};
use super::paths::shown;
use super::place::Workspace;

/// All files at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The files, as a commit would contain them.
    pub tree: TreeId,
    /// Changed or new files that are not in it, in the order of names: the tree has their version in HEAD, if any.
    pub left_out: Vec<LeftOut>,
}

impl Workspace {
    /// Takes a snapshot of the work tree: tracked and new files as a commit would contain them, with modes, links and
    /// filters; without ignored, excluded and left-out files and `.superstep/`. Neither files nor the user's index
    /// change. Submodules are taken from the index.
    ///
    /// # Errors
    /// [`GitFailed`](WorkspaceError::GitFailed) if git fails. A file that git refuses is left out.
    pub async fn snapshot(&self) -> Result<Snapshot, WorkspaceError> {
        let scratch = self.scratch().await?;
        let mut changes = self.changes(Some(&scratch)).await?;
        self.unstage(&scratch, &changes.removed).await?;
        let refused = self.stage_allowed(&scratch, std::mem::take(&mut changes.written)).await?;
        for (path, why) in refused {
            if why != NOT_ALLOWED {
                changes.as_in_head.push(path.clone());
            }
            changes.left_out.push(LeftOut { path: shown(&path), reason: Reason::Refused { why } });
        }
        changes.as_in_head.retain(|path| !path.ends_with(b"/"));
        self.as_in_head(&scratch, changes.as_in_head).await?;
        changes.left_out.sort();
        changes.left_out.dedup();
        let tree = self.write_tree(&scratch).await?;
        self.keep_made(tree.as_str()).await?;
        Ok(Snapshot { tree, left_out: changes.left_out })
    }
}
