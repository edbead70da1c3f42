//! Branches created in a linked work tree. All work trees share branches, and a branch does not record its origin; the
//! reflog of the work tree's HEAD does, and only that work tree writes it.

use std::fs;
use std::path::{Path, PathBuf};

use git2::{BranchType, Oid, Repository};

use super::error::WorkspaceError;
use super::head_log::HeadLog;
use super::history;
use super::id::CommitId;
use super::place::{Fault, Place, Workspace};
use super::references::{delete, put, reference_name};
use super::standing::{BranchMove, Standing};
use super::turn_log::turns_in;
use super::worktree_entries::{entries, entries_of};

/// End of the reference that keeps a thread's objects: commits of people get one that remains.
const OBJECTS: &str = "/objects";

/// A branch that an agent moved or created, and that was put back or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutBack {
    /// Its move by the agent.
    pub moved: BranchMove,
    /// Private reference of its commits; `None` if there are no new ones.
    pub kept: Option<String>,
}

impl Workspace {
    /// Removes the branches that agents of a thread created in the linked work tree at `path` since `turn`, as
    /// [`fold`](Self::fold) does: after a turn that could not be folded. `path` is relative to the top of this work tree.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if a branch cannot be read or removed.
    pub async fn remove_branches_of(
        &self,
        path: impl AsRef<Path>,
        turn: &Standing,
        thread: &str,
    ) -> Result<Vec<PutBack>, WorkspaceError> {
        let path = self.worktree_path(path.as_ref()).await?;
        let (turn, thread) = (turn.clone(), thread.to_owned());
        self.objects("remove branches", move |repository, place| {
            let own = entries_of(place, &path);
            let mut removed = vec![];
            for entry in &own {
                let log = HeadLog::inside_of(entry, &turns_in(entry, &thread), None);
                let created = Created { repository, place, turn: &turn, thread: Some(&thread), own: &own };
                removed.extend(created.remove(&log, None)?);
            }
            Ok(removed)
        })
        .await
    }

    /// Returns the branches that were created in the linked work tree at `path` since `standing` and are still there: each
    /// is new, and either HEAD was switched to it there, or it is at a commit made there, or after one. `path` is relative
    /// to the top of this work tree.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if a branch cannot be read.
    pub async fn branches_of(
        &self,
        path: impl AsRef<Path>,
        standing: &Standing,
    ) -> Result<Vec<BranchMove>, WorkspaceError> {
        let path = self.worktree_path(path.as_ref()).await?;
        let known = standing.known.clone();
        self.objects("read the branches", move |repository, place| {
            let entries = entries_of(place, &path);
            let logs: Vec<_> = entries.iter().map(|entry| HeadLog::inside_of(entry, &[[0, u64::MAX]], None)).collect();
            let mut found = vec![];
            for (name, tip) in branches(repository)? {
                // Without the names of all branches, new ones cannot be recognized.
                if known.is_empty() || known.contains(&name) {
                    continue;
                }
                for log in &logs {
                    if log.has_created(repository, &name, tip)? {
                        found.push(created(&name, tip));
                        break;
                    }
                }
            }
            Ok(found)
        })
        .await
    }

    /// Keeps the commit of HEAD in the linked work tree at `path` if nothing else does, as
    /// `refs/superstep/THREAD/branches/HEAD-COMMIT`, and returns that reference: a person may have committed there without
    /// a branch. `path` is relative to the top of this work tree.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if the references cannot be read or set.
    pub async fn keep_head_of(&self, path: impl AsRef<Path>, thread: &str) -> Result<Option<String>, WorkspaceError> {
        let path = self.worktree_path(path.as_ref()).await?;
        let thread = thread.to_owned();
        self.objects("keep a commit", move |repository, place| {
            for entry in entries_of(place, &path) {
                let text = fs::read_to_string(entry.join("HEAD")).unwrap_or_default();
                let Some(head) = Oid::from_str(text.trim()).ok().filter(|head| repository.find_commit(*head).is_ok())
                else {
                    continue; // on a branch, which stays
                };
                if !is_kept(repository, head)? {
                    return store((repository, place), (&thread, "HEAD"), head).map(Some);
                }
            }
            Ok(None)
        })
        .await
    }
}

impl Workspace {
    /// Keeps commits that people made on no branch, as `refs/superstep/THREAD/branches/HEAD-COMMIT`, and returns that
    /// reference.
    ///
    /// # Errors
    /// [`NoSuchObject`](WorkspaceError::NoSuchObject) if the commit does not exist.
    pub async fn keep_commits(&self, thread: &str, last: &CommitId) -> Result<String, WorkspaceError> {
        let (thread, last) = (thread.to_owned(), last.clone());
        self.objects("keep commits", move |repository, place| {
            let tip = repository.find_commit(last.oid()?).map_err(|_| last.missing())?.id();
            store((repository, place), (&thread, "HEAD"), tip)
        })
        .await
    }
}

/// Branches that were created during a turn.
pub(super) struct Created<'a> {
    pub(super) repository: &'a Repository,
    pub(super) place: &'a Place,
    /// The start of the turn, with all branches.
    pub(super) turn: &'a Standing,
    /// Thread whose references keep the commits; `None`: they are not kept.
    pub(super) thread: Option<&'a str>,
    /// Git's folders for the work tree.
    pub(super) own: &'a [PathBuf],
}

impl Created<'_> {
    /// Removes the branches that the log of the turn shows, unless HEAD of another work tree, or of this one after the
    /// turn (`head`), is on them. All others may be a person's.
    pub(super) fn remove(&self, log: &HeadLog, head: Option<&str>) -> Result<Vec<PutBack>, Fault> {
        let mut removed = vec![];
        if self.turn.all.is_empty() {
            return Ok(removed); // recorded by a version that did not know all branches: any may be older
        }
        for (name, tip) in branches(self.repository)? {
            let is_new = !self.turn.all.contains_key(&name) && head != Some(&name);
            if !is_new
                || is_used_elsewhere(self.place, self.own, &name)
                || !log.has_created(self.repository, &name, tip)?
            {
                continue;
            }
            let kept = self.keep(&name, tip)?;
            delete(self.repository, self.place, &format!("refs/heads/{name}"))?;
            removed.push(PutBack { moved: created(&name, tip), kept });
        }
        Ok(removed)
    }

    /// Keeps commits that are newer than the start of the turn.
    fn keep(&self, name: &str, tip: Oid) -> Result<Option<String>, Fault> {
        let base = self.turn.commit.as_ref().map(CommitId::oid).transpose()?;
        let (Some(thread), Some(base)) = (self.thread, base) else { return Ok(None) };
        if tip == base || history::descends(self.repository, base, tip)? {
            return Ok(None);
        }
        store((self.repository, self.place), (thread, name), tip).map(Some)
    }
}

fn created(name: &str, tip: Oid) -> BranchMove {
    BranchMove { branch: name.to_owned(), old: None, new: Some(tip.into()) }
}

/// Points a private reference at the commits of a branch, or of a detached `HEAD`.
pub(super) fn store(
    (repository, place): (&Repository, &Place),
    (thread, name): (&str, &str),
    tip: Oid,
) -> Result<String, Fault> {
    let short = &tip.to_string()[..12];
    let kept = reference_name(thread, &["branches", &format!("{name}-{short}")]);
    put(repository, place, &kept, (tip, "superstep: salvage"))?;
    Ok(kept)
}

fn branches(repository: &Repository) -> Result<Vec<(String, Oid)>, Fault> {
    let mut found = vec![];
    for branch in repository.branches(Some(BranchType::Local))? {
        let (branch, _) = branch?;
        if let (Ok(Some(name)), Ok(commit)) = (branch.name(), branch.get().peel_to_commit()) {
            found.push((name.to_owned(), commit.id()));
        }
    }
    Ok(found)
}

/// Returns whether a branch is checked out in a work tree other than that with these folders of git's.
pub(super) fn is_used_elsewhere(place: &Place, own: &[PathBuf], name: &str) -> bool {
    let folders = entries(place).into_iter().chain([place.common_dir.clone()]);
    let mut heads =
        folders.filter(|folder| !own.contains(folder)).filter_map(|folder| fs::read(folder.join("HEAD")).ok());
    heads.any(|head| head.trim_ascii() == format!("ref: refs/heads/{name}").as_bytes())
}

/// Returns whether a reference other than those for unfinished work has a commit.
fn is_kept(repository: &Repository, commit: Oid) -> Result<bool, Fault> {
    let mut walk = repository.revwalk()?;
    walk.push(commit)?;
    for reference in repository.references()? {
        let reference = reference?;
        // One of a tree, or a damaged one, keeps no commit.
        if let Ok(tip) = reference.peel_to_commit()
            && !String::from_utf8_lossy(reference.name_bytes()).ends_with(OBJECTS)
        {
            walk.hide(tip.id())?;
        }
    }
    // A shallow clone lacks commits, and then this one is kept once more.
    Ok(walk.next().is_none())
}
