//! Commits that are made again on top of others, without a work tree. No hook runs.

use std::collections::HashMap;

use git2::{Commit, Oid, Repository, Sort};

use super::error::WorkspaceError;
use super::id::CommitId;
use super::merge::merge_change;
use super::objects::tree;
use super::place::{Fault, Workspace};

impl Workspace {
    /// Makes the commits after `from`, up to `to`, again on top of `onto`, with their authors, times and messages; merges
    /// stay merges. Repeating the call creates the same commits. Returns the last one.
    ///
    /// # Errors
    /// [`Conflict`](WorkspaceError::Conflict) if both sides changed the same lines,
    /// [`NoSuchObject`](WorkspaceError::NoSuchObject) if a commit does not exist.
    pub async fn rebased(&self, from: &CommitId, to: &CommitId, onto: &CommitId) -> Result<CommitId, WorkspaceError> {
        let [from, to, onto] = [from, to, onto].map(Clone::clone);
        let rebase = self.new_objects("rebase commits", move |repository, _| {
            for commit in [&from, &to, &onto] {
                repository.find_commit(commit.oid()?).map_err(|_| commit.missing())?;
            }
            rebased(repository, from.oid()?, to.oid()?, onto.oid()?).map(CommitId::from)
        });
        let last = rebase.await?;
        self.keep_made(last.as_str()).await?;
        Ok(last)
    }

    /// Returns a commit that has the history of both: `commit` itself if it comes after `tip`, `tip` if it contains
    /// `commit`, otherwise a new merge of them.
    ///
    /// # Errors
    /// [`Conflict`](WorkspaceError::Conflict) if both sides changed the same lines.
    pub async fn joined(&self, tip: &CommitId, commit: &CommitId, message: &str) -> Result<CommitId, WorkspaceError> {
        if self.descends(commit, tip).await? {
            return Ok(commit.clone());
        }
        if self.descends(tip, commit).await? {
            return Ok(tip.clone());
        }
        let (tip, commit, message) = (tip.clone(), commit.clone(), message.to_owned());
        let merge = self.new_objects("merge commits", move |repository, _| {
            let [ours, theirs] = [&tip, &commit].map(|id| id.oid().map(|id| repository.find_commit(id)));
            let (ours, theirs) = (ours??, theirs??);
            let base = repository.find_commit(repository.merge_base(ours.id(), theirs.id())?)?;
            let merged = merge_change(repository, [base.tree_id(), ours.tree_id(), theirs.tree_id()])?;
            let who = theirs.committer();
            let parents = [&ours, &theirs];
            Ok(repository.commit(None, &who, &who, &message, &tree(repository, &merged)?, &parents)?.into())
        });
        let merged: CommitId = merge.await?;
        self.keep_made(merged.as_str()).await?;
        Ok(merged)
    }

    /// Detaches HEAD at a commit. Files and index do not change.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if HEAD cannot be written.
    pub async fn detach_at(&self, commit: &CommitId) -> Result<(), WorkspaceError> {
        self.detach_head(commit).await
    }
}

fn rebased(repository: &Repository, from: Oid, to: Oid, onto: Oid) -> Result<Oid, Fault> {
    let mut walk = repository.revwalk()?;
    walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE)?;
    walk.push(to)?;
    walk.hide(from)?;
    let mut made = HashMap::from([(from, onto)]);
    for id in walk {
        let commit = repository.find_commit(id?)?;
        let new = again(repository, &commit, &made)?;
        made.insert(commit.id(), new);
    }
    Ok(made.get(&to).copied().unwrap_or(to))
}

/// Makes a commit again with the new commits in place of its parents.
fn again(repository: &Repository, commit: &Commit<'_>, made: &HashMap<Oid, Oid>) -> Result<Oid, Fault> {
    let parents = commit.parents().map(|parent| match made.get(&parent.id()) {
        Some(new) => repository.find_commit(*new),
        None => Ok(parent),
    });
    let parents = parents.collect::<Result<Vec<_>, _>>()?;
    let tree_id = match (commit.parents().next(), parents.first()) {
        (Some(old), Some(new)) => merge_change(repository, [old.tree_id(), new.tree_id(), commit.tree_id()])?,
        _ => commit.tree_id().into(),
    };
    let message = String::from_utf8_lossy(commit.message_raw_bytes()).into_owned();
    let parents: Vec<_> = parents.iter().collect();
    let (author, committer) = (commit.author(), commit.committer());
    Ok(repository.commit(None, &author, &committer, &message, &tree(repository, &tree_id)?, &parents)?)
}
