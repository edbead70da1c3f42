//! Snapshots: a tree of all current files, tracked or not. The user's index is read but not changed.

use git2::FileMode;
use serde::{Deserialize, Serialize};

use super::error::WorkspaceError;
use super::id::TreeId;
use super::index::{NOT_ALLOWED, Scratch};
use super::left_out::{LeftOut, Reason};
use super::paths::shown;
use super::place::{Fault, Workspace};

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
        self.after_collection().await;
        let mut taken = self.snapshot_from(self.scratch().await?).await;
        let is_whole = match &taken {
            Ok(taken) => self.is_whole(&taken.tree).await?,
            Err(error) => !matches!(error, WorkspaceError::GitFailed { .. }),
        };
        if !is_whole {
            // A collection of garbage may have removed objects that the index alone has, or that were just written.
            self.after_collection().await;
            taken = self.snapshot_from(self.scratch_of_head().await?).await;
        }
        let taken = taken?;
        self.keep_made(taken.tree.as_str()).await?;
        Ok(taken)
    }

    /// Returns whether all objects of a tree that are not in HEAD exist: `git write-tree` does not look at all of them.
    async fn is_whole(&self, tree: &TreeId) -> Result<bool, WorkspaceError> {
        let (head, tree) = (self.head_tree().await?, tree.clone());
        self.objects("read the files", move |repository, _| {
            let head = head.map(|head| repository.find_tree(head.oid()?).map_err(Fault::from)).transpose()?;
            let Ok(tree) = repository.find_tree(tree.oid()?) else { return Ok(false) };
            let Ok(changes) = repository.diff_tree_to_tree(head.as_ref(), Some(&tree), None) else { return Ok(false) };
            let objects = repository.odb()?;
            let is_there = |file: git2::DiffFile<'_>| {
                !file.exists() || file.mode() == FileMode::Commit || objects.exists(file.id())
            };
            Ok(changes.deltas().all(|change| is_there(change.new_file())))
        })
        .await
    }

    async fn snapshot_from(&self, scratch: Scratch) -> Result<Snapshot, WorkspaceError> {
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
        Ok(Snapshot { tree, left_out: changes.left_out })
    }
}
