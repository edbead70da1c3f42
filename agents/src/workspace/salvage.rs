//! Salvage: work of a discarded attempt, stored under its own reference, to be restored on request.

use async_recursion::async_recursion as boxed;
use git2::{ErrorCode, Repository, Signature};
use serde::{Deserialize, Serialize};
use superstep_base::gather;

use super::error::WorkspaceError;
use super::id::{CommitId, SalvageKey, SalvagePhase, TreeId, private_folder, read_salvage_name, salvage_name};
use super::place::{Fault, Place, RepoPath, Workspace, lossy_path};
use super::references::{commit_tree, find_reference, put};
use super::trees::{FileChanges, ResetResult, differing_files};

/// Message in the log of references.
const LOG: &str = "superstep: salvage";

/// Salvaged work of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SalvagedWork {
    /// Reference of the work: `refs/superstep/THREAD/task-ID/attempt-K`, or
    /// `refs/superstep/THREAD/phase-K/attempt-N/task-ID` of a phase (`task-ID-2`: the second piece of work on the
    /// task). Earlier work of the same attempt has the suffix `-earlier-N`.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Id of the task in the plan.
    pub task: String,
    /// Attempt, from 1.
    pub attempt: u32,
    /// Phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<SalvagePhase>,
    /// Files that differ from the start of the task.
    pub files: Vec<String>,
}

impl Workspace {
    /// Stores a tree under the [reference](SalvagedWork::reference) of its key, as a commit on top of `base`, the commit at
    /// the start of the task. No hook runs, nothing is signed, no branch and no file changes. Idempotent; another tree
    /// under the same key renames the older reference.
    ///
    /// # Errors
    /// [`NoSuchObject`](WorkspaceError::NoSuchObject) if tree or base do not exist.
    #[boxed]
    pub async fn salvage(
        &self,
        key: &SalvageKey,
        base: Option<&CommitId>,
        tree: &TreeId,
    ) -> Result<SalvagedWork, WorkspaceError> {
        let (key, base, tree) = (key.clone(), base.cloned(), tree.clone());
        self.new_objects("salvage the work", move |repository, place| {
            let reference = salvage_name(&key);
            if !is_kept(repository, &reference, base.as_ref(), &tree)? {
                store_earlier(repository, place, &reference)?;
                let commit = write(repository, &key, base.as_ref(), &tree)?;
                put(repository, place, &reference, (commit, LOG))?;
            }
            read_salvaged(repository, reference, &key)
        })
        .await
    }

    /// Returns the salvaged work of a thread, ordered by phase, task id and attempt.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if the references cannot be read.
    #[boxed]
    pub async fn salvaged_work(&self, thread: &str) -> Result<Vec<SalvagedWork>, WorkspaceError> {
        let folder = private_folder(thread);
        self.objects("read salvaged work", move |repository, _| {
            let mut all = Vec::new();
            for reference in repository.references_glob(&format!("{folder}*"))? {
                let name = String::from_utf8_lossy(reference?.name_bytes()).into_owned();
                if let Some(key) = read_salvage_name(&name) {
                    all.push(read_salvaged(repository, name, &key)?);
                }
            }
            let phase = |one: &SalvagedWork| one.phase.map_or((0, 0), |part| (part.phase, one.attempt));
            let order = |one: &SalvagedWork| (phase(one), one.task.clone(), one.attempt, one.reference.clone());
            all.sort_by_cached_key(order);
            Ok(all)
        })
        .await
    }

    /// Applies the changes of salvaged work to the current files. HEAD and index do not change.
    ///
    /// # Errors
    /// [`NoSuchSalvage`](WorkspaceError::NoSuchSalvage), [`InTheWay`](WorkspaceError::InTheWay) if it would write files
    /// with uncommitted changes, [`Conflict`](WorkspaceError::Conflict) if later commits changed the same lines.
    /// Nothing was changed.
    #[boxed]
    pub async fn restore(&self, reference: &str) -> Result<ResetResult, WorkspaceError> {
        self.ensure_ready().await?;
        let (base, kept) = self.salvaged_trees(reference).await?;
        let now = self.snapshot().await?.tree;
        if now == kept {
            return Ok(ResetResult { from: now, removed: vec![], written: vec![] });
        }
        self.ensure_untouched(&self.steps(&base, &kept).await?, &now).await?;
        let to = self.apply_change(&base, &now, &kept).await?;
        let steps = self.steps(&now, &to).await?;
        self.ensure_free(&steps)?;
        self.apply_steps(now, &to, steps).await
    }

    /// Returns the trees at the start and the end of an attempt.
    async fn salvaged_trees(&self, reference: &str) -> Result<(TreeId, TreeId), WorkspaceError> {
        let reference = reference.to_owned();
        self.objects("read salvaged work", move |repository, _| {
            let missing = || WorkspaceError::NoSuchSalvage { reference: reference.clone() };
            let _ = read_salvage_name(&reference).ok_or_else(missing)?;
            let commit = repository.find_reference(&reference).and_then(|found| found.peel_to_commit());
            let commit = commit.map_err(|_| missing())?;
            Ok((base_tree(repository, &commit)?.id().into(), commit.tree_id().into()))
        })
        .await
    }

    /// Checks that no file to write has uncommitted changes.
    async fn ensure_untouched(&self, steps: &FileChanges, now: &TreeId) -> Result<(), WorkspaceError> {
        let head = match self.head_tree().await? {
            Some(head) => head,
            None => self.empty_tree().await?,
        };
        let own = self.steps(&head, now).await?;
        let own: std::collections::BTreeSet<&RepoPath> = gather(own.all());
        let mut files: Vec<_> = steps.all().filter(|file| own.contains(file)).map(|file| lossy_path(file)).collect();
        files.sort();
        if files.is_empty() { Ok(()) } else { Err(WorkspaceError::InTheWay { files }) }
    }
}

/// Returns whether the reference has this tree and base.
fn is_kept(repository: &Repository, name: &str, base: Option<&CommitId>, tree: &TreeId) -> Result<bool, Fault> {
    let found = match repository.find_reference(name) {
        Err(error) if error.code() == ErrorCode::NotFound => return Ok(false),
        found => found?.peel_to_commit()?,
    };
    let parent = found.parent_ids().next().map(CommitId::from);
    Ok(found.tree_id() == tree.oid()? && parent.as_ref() == base)
}

/// Stores the commit of an existing reference as `…-earlier-N`. The reference itself is replaced afterwards, so that a
/// kill in between loses neither; then the commit is found there.
fn store_earlier(repository: &Repository, place: &Place, name: &str) -> Result<(), Fault> {
    let Some(commit) = find_reference(repository, name)?.map(|commit| commit.oid()).transpose()? else { return Ok(()) };
    for earlier in (1..).map(|nth| format!("{name}-earlier-{nth}")) {
        match find_reference(repository, &earlier)? {
            Some(stored) if stored.oid()? != commit => {}
            Some(_) => return Ok(()),
            None => return put(repository, place, &earlier, (commit, LOG)),
        }
    }
    Ok(())
}

fn write(repository: &Repository, key: &SalvageKey, base: Option<&CommitId>, id: &TreeId) -> Result<git2::Oid, Fault> {
    let who = repository.signature().or_else(|_| Signature::now("superstep", "superstep@localhost"))?;
    let phase = key.phase.map(|part| format!("phase {}, ", part.phase)).unwrap_or_default();
    let message = format!("salvage: {phase}task {}, attempt {}\n", key.task.escape_debug(), key.attempt);
    commit_tree(repository, &who, base, id, &message)
}

fn read_salvaged(repository: &Repository, reference: String, key: &SalvageKey) -> Result<SalvagedWork, Fault> {
    let commit = repository.find_reference(&reference)?.peel_to_commit()?;
    let files = differing_files(repository, &base_tree(repository, &commit)?, &commit.tree()?)?;
    let files = files.iter().map(|file| lossy_path(file)).collect();
    Ok(SalvagedWork { reference, task: key.task.clone(), attempt: key.attempt, phase: key.phase, files })
}

fn base_tree<'a>(repository: &'a Repository, commit: &git2::Commit<'_>) -> Result<git2::Tree<'a>, Fault> {
    Ok(match commit.parent_id(0) {
        Ok(base) => repository.find_commit(base)?.tree()?,
        Err(_) => repository.find_tree(repository.treebuilder(None)?.write()?)?,
    })
}
