//! Carrying a change from one state of the files to another: what keeps the user's own changes out of commits.

use std::path::Path;

use git2::build::TreeUpdateBuilder;
use git2::{FileMode, IndexConflict, MergeOptions, Repository};

use super::diff::tree;
use super::error::WorkspaceError;
use super::id::TreeId;
use super::open::{Fault, Workspace};
use super::paths::{as_bytes, shown};

impl Workspace {
    /// Returns HEAD's tree with the change from `from` to `to` made to it. `from` is a snapshot of the moment when a task
    /// began, `to` one of now: whatever the user had changed by then is in both, and so in no commit. In a work tree that was
    /// clean, this is `to`.
    ///
    /// # Errors
    /// [`Conflict`](WorkspaceError::Conflict) if lines are changed that the user had changed too.
    pub async fn onto_head(&self, from: &TreeId, to: &TreeId) -> Result<TreeId, WorkspaceError> {
        let head = match self.head_tree().await? {
            Some(head) => head,
            None => self.empty_tree().await?,
        };
        self.carried(from, &head, to).await
    }

    /// Returns the tree without files.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if it cannot be written.
    pub async fn empty_tree(&self) -> Result<TreeId, WorkspaceError> {
        self.objects("write a tree", |repository, _| Ok(repository.treebuilder(None)?.write()?.into())).await
    }

    /// Returns the tree `onto` with the change from `from` to `to` made to it.
    ///
    /// # Errors
    /// [`Conflict`](WorkspaceError::Conflict) names the files that both sides changed in the same lines.
    pub async fn carried(&self, from: &TreeId, onto: &TreeId, to: &TreeId) -> Result<TreeId, WorkspaceError> {
        if from == onto || onto == to {
            return Ok(to.clone());
        }
        if from == to {
            return Ok(onto.clone());
        }
        let (from, onto, to) = (from.clone(), onto.clone(), to.clone());
        self.objects("merge trees", move |repository, _| merged(repository, [&from, &onto, &to])).await
    }
}

impl Workspace {
    /// Returns a tree with one more file, or with another text in it. `path` counts from the top of the work tree.
    ///
    /// # Errors
    /// [`NoSuchObject`](WorkspaceError::NoSuchObject) if the tree is not there.
    pub async fn with_file(&self, onto: &TreeId, path: &Path, text: &str) -> Result<TreeId, WorkspaceError> {
        let (onto, path, text) = (onto.clone(), path.to_owned(), text.to_owned());
        self.objects("write a tree", move |repository, _| {
            let blob = repository.blob(text.as_bytes())?;
            let mut update = TreeUpdateBuilder::new();
            update.upsert(as_bytes(&path), blob, FileMode::Blob);
            Ok(update.create_updated(repository, &tree(repository, &onto)?)?.into())
        })
        .await
    }
}

fn merged(repository: &Repository, [from, onto, to]: [&TreeId; 3]) -> Result<TreeId, Fault> {
    let (from, onto, to) = (tree(repository, from)?, tree(repository, onto)?, tree(repository, to)?);
    let mut options = MergeOptions::new();
    options.find_renames(false);
    let mut index = repository.merge_trees(&from, &onto, &to, Some(&options))?;
    if !index.has_conflicts() {
        return Ok(index.write_tree_to(repository)?.into());
    }
    let conflicts = index.conflicts()?.collect::<Result<Vec<_>, _>>()?;
    let mut files: Vec<_> = conflicts.iter().filter_map(name_of).collect();
    files.sort();
    files.dedup();
    Err(WorkspaceError::Conflict { files }.into())
}

fn name_of(conflict: &IndexConflict) -> Option<String> {
    let entry = conflict.our.as_ref().or(conflict.their.as_ref()).or(conflict.ancestor.as_ref());
    entry.map(|entry| shown(&entry.path))
}
