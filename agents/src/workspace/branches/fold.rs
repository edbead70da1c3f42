//! Commits and branches that agents make by themselves: HEAD and the branches that they moved are put back, those that
//! they created in a linked work tree are removed, and the commits are kept, without touching a file. All work trees
//! share branches, and a branch does not record its origin: only moves that the reflog of HEAD shows during a turn are
//! an agent's; what others moved is left as it is.

use std::fs;
use std::path::{Path, PathBuf};

use async_recursion::async_recursion as boxed;
use git2::{Oid, Repository};

use super::head::{Head, descends, head_of};
use super::head_log::{FOLD, HeadLog, turns_in};
use super::standing::{BranchMove, BranchPositions, HeadMove, branches, moved_branches};
use crate::workspace::error::WorkspaceError;
use crate::workspace::git_locks::with_locks;
use crate::workspace::id::{CommitId, reference_name};
use crate::workspace::place::{Fault, Place, Workspace};
use crate::workspace::references::{delete, find_branch, put};
use crate::workspace::worktree::{entries, entries_of};

/// End of the reference that keeps a thread's objects: commits of people get one that remains.
const OBJECTS: &str = "/objects";

/// Result of [`Workspace::fold`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FoldResult {
    /// Movement of HEAD since the start of the turn.
    pub head: HeadMove,
    /// Set if commits on HEAD or its branch were taken back: their private reference, if there are any.
    pub taken_back: Option<Option<String>>,
    /// Other branches that were moved in this work tree and are back where they were.
    pub put_back: Vec<RestoredBranch>,
    /// Other branches that somebody else moved, and that are left as they are.
    pub left: Vec<BranchMove>,
    /// Set if somebody else moved HEAD's branch, which is left as it is.
    pub own: Option<BranchMove>,
}

/// A branch that an agent moved or created, and that was put back or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredBranch {
    /// Its move by the agent.
    pub moved: BranchMove,
    /// Private reference of its commits; `None` if there are no new ones.
    pub kept: Option<String>,
}

/// A turn whose moves are folded.
struct Turn<'a> {
    repository: &'a Repository,
    place: &'a Place,
    standing: &'a BranchPositions,
    /// Thread whose references keep the commits; `None`: they are not kept.
    thread: Option<&'a str>,
    log: HeadLog,
}

impl Workspace {
    /// Puts HEAD and the branches that an agent moved in this work tree since `standing` back, and leaves files and index
    /// unchanged: commits of an agent become uncommitted work of its task, and are kept as
    /// `refs/superstep/THREAD/branches/NAME-COMMIT`. If HEAD was detached, branches that were created in this work tree
    /// during the turn are removed.
    ///
    /// A move is an agent's if the reflog of HEAD shows it in one of the [`turns`](BranchPositions::turns), and nobody else has
    /// moved the branch since: commits of people stay as they are, with everything beneath them. Any other branch is left
    /// as it is, HEAD's own too. Without a turn nothing is put back.
    ///
    /// # Errors
    /// [`HeadElsewhere`](WorkspaceError::HeadElsewhere) if the agent left HEAD at a commit of another history, so that the
    /// files are not those of the task. [`Ongoing`](WorkspaceError::Ongoing) if a merge or similar operation is in
    /// progress.
    #[boxed]
    pub async fn fold(&self, standing: &BranchPositions, thread: Option<&str>) -> Result<FoldResult, WorkspaceError> {
        self.ensure_ready().await?;
        let head = self.movement(standing).await?.head;
        if self.was_left_by_agent(standing).await? {
            self.ensure_foldable(standing, &head).await?;
        }
        let (standing, thread) = (standing.clone(), thread.map(str::to_owned));
        self.read("put branches back", move |repository, place| {
            let now = head_of(repository)?;
            let log = HeadLog::read_parts(place, &standing.turns, now.branch());
            let turn = Turn { repository, place, standing: &standing, thread: thread.as_deref(), log };
            let (taken_back, own) = match &standing.branch {
                Some(branch) => turn.fold_branch(branch, &head)?,
                None => (turn.fold_detached(&head)?, None),
            };
            let (mut put_back, left) = turn.put_others_back()?;
            put_back.extend(turn.remove_created()?);
            Ok(FoldResult { head, taken_back, put_back, left, own })
        })
        .await
    }

    /// Returns whether nobody has moved HEAD since the last turn.
    async fn was_left_by_agent(&self, standing: &BranchPositions) -> Result<bool, WorkspaceError> {
        let turns = standing.turns.clone();
        self.run_blocking(move |place| HeadLog::read_parts(&place, &turns, None).ends_inside()).await
    }

    async fn ensure_foldable(&self, standing: &BranchPositions, head: &HeadMove) -> Result<(), WorkspaceError> {
        let at = match head {
            HeadMove::None | HeadMove::Ahead { .. } | HeadMove::Moved { .. } => return Ok(()),
            HeadMove::Switched { to } => to.commit(),
            HeadMove::Detached { commit } => Some(commit),
        };
        let is_after = match (at, &standing.commit) {
            (Some(at), Some(base)) => self.descends(at, base).await?,
            (_, base) => base.is_none(),
        };
        let expected = || match (&standing.branch, &standing.commit) {
            (Some(branch), _) => format!("on `{branch}`, or after it"),
            (None, Some(commit)) => format!("detached at {commit}, or after it"),
            (None, None) => "detached".to_owned(),
        };
        if is_after {
            return Ok(());
        }
        Err(WorkspaceError::HeadElsewhere { expected: expected(), found: self.head().await?.to_string() })
    }

    /// Removes the branches that agents of a thread created in the linked work tree at `path` since `turn`, as
    /// [`fold`](Self::fold) does: after a turn that could not be folded. `path` is relative to the top of this work tree.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if a branch cannot be read or removed.
    pub async fn remove_branches_of(
        &self,
        path: impl AsRef<Path>,
        turn: &BranchPositions,
        thread: &str,
    ) -> Result<Vec<RestoredBranch>, WorkspaceError> {
        let path = self.worktree_path(path.as_ref()).await?;
        let (turn, thread) = (turn.clone(), thread.to_owned());
        self.objects("remove branches", move |repository, place| {
            let own = entries_of(place, &path);
            let mut removed = vec![];
            for entry in &own {
                let log = HeadLog::read_parts_of(entry, &turns_in(entry, &thread), None);
                let created = CreatedBranches { repository, place, turn: &turn, thread: Some(&thread), own: &own };
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
        standing: &BranchPositions,
    ) -> Result<Vec<BranchMove>, WorkspaceError> {
        let path = self.worktree_path(path.as_ref()).await?;
        let known = standing.known.clone();
        self.objects("read the branches", move |repository, place| {
            let entries = entries_of(place, &path);
            let logs: Vec<_> =
                entries.iter().map(|entry| HeadLog::read_parts_of(entry, &[[0, u64::MAX]], None)).collect();
            let mut found = vec![];
            for (name, tip) in branches(repository)? {
                // Without the names of all branches, new ones cannot be recognized.
                if known.is_empty() || known.contains(&name) {
                    continue;
                }
                for log in &logs {
                    if log.has_created(repository, &name, tip)? {
                        found.push(creation_move(&name, tip));
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

    /// Keeps commits that people made on no branch, as `refs/superstep/THREAD/branches/HEAD-COMMIT`, and returns that
    /// reference.
    ///
    /// # Errors
    /// [`NoSuchObject`](WorkspaceError::NoSuchObject) if the commit does not exist.
    #[boxed]
    pub async fn keep_commits(&self, thread: &str, last: &CommitId) -> Result<String, WorkspaceError> {
        let (thread, last) = (thread.to_owned(), last.clone());
        self.objects("keep commits", move |repository, place| {
            let tip = repository.find_commit(last.oid()?).map_err(|_| last.missing())?.id();
            store((repository, place), (&thread, "HEAD"), tip)
        })
        .await
    }
}

/// Reference to the commits that were taken back, if there are any.
type RecoveredCommits = Option<String>;

impl Turn<'_> {
    /// Puts HEAD on its branch, and the branch back as far as it was moved here.
    fn fold_branch(
        &self,
        branch: &str,
        head: &HeadMove,
    ) -> Result<(Option<RecoveredCommits>, Option<BranchMove>), Fault> {
        let (base, tip) = (self.base()?, find_branch(self.repository, branch)?);
        let seen = if tip == base { None } else { self.log.origin(branch, base, tip) };
        let has_left = matches!(head, HeadMove::Switched { .. } | HeadMove::Detached { .. }) && self.log.ends_inside();
        let mut kept = match head {
            HeadMove::Detached { commit } if has_left => self.keep("HEAD", Some(commit.oid()?), base)?,
            _ => None,
        };
        if let Some(origin) = seen {
            kept = self.keep(branch, tip, origin)?.or(kept);
            self.set(branch, tip, origin)?;
        }
        let reference = format!("refs/heads/{branch}");
        if has_left {
            with_locks(self.place, &["HEAD"], || Ok(self.repository.set_head(&reference)?))?;
        }
        let at = seen.unwrap_or(tip);
        let [old, new] = [base, at].map(|commit| commit.map(CommitId::from));
        let own = (at != base).then(|| BranchMove { branch: branch.to_owned(), old, new });
        Ok(((seen.is_some() || has_left).then_some(kept), own))
    }

    /// Detaches HEAD again at its commit, or at the last one that somebody else made on top.
    fn fold_detached(&self, head: &HeadMove) -> Result<Option<RecoveredCommits>, Fault> {
        let (Some(base), false) = (self.base()?, *head == HeadMove::None) else { return Ok(None) };
        let at = head_of(self.repository)?.commit().map(CommitId::oid).transpose()?;
        let Some(Some(origin)) = self.log.head_origin(Some(base), at) else { return Ok(None) };
        let name = match head {
            HeadMove::Switched { to: Head::Branch { name, .. } } => name,
            _ => "HEAD",
        };
        let kept = self.keep(name, at, Some(origin))?;
        with_locks(self.place, &["HEAD"], || Ok(self.repository.set_head_detached(origin)?))?;
        Ok(Some(kept))
    }

    /// Removes the branches that were created in a work tree without a branch, in which nothing of an agent remains.
    fn remove_created(&self) -> Result<Vec<RestoredBranch>, Fault> {
        if self.standing.branch.is_some() {
            return Ok(vec![]);
        }
        let (repository, place, own) = (self.repository, self.place, std::slice::from_ref(&self.place.git_dir));
        let head = head_of(repository)?;
        CreatedBranches { repository, place, turn: self.standing, thread: self.thread, own }
            .remove(&self.log, head.branch())
    }

    fn put_others_back(&self) -> Result<(Vec<RestoredBranch>, Vec<BranchMove>), Fault> {
        let before = if self.standing.all.is_empty() { &self.standing.others } else { &self.standing.all };
        let (mut put_back, mut left) = (vec![], vec![]);
        for moved in moved_branches(self.repository, before)? {
            if self.standing.branch.as_ref() == Some(&moved.branch) {
                continue;
            }
            let [old, new] = [&moved.old, &moved.new].map(|commit| commit.as_ref().map(CommitId::oid).transpose());
            let (old, new) = (old?, new?);
            let origin = self.log.origin(&moved.branch, old, new);
            let Some(origin) = origin
                .filter(|_| !is_used_elsewhere(self.place, std::slice::from_ref(&self.place.git_dir), &moved.branch))
            else {
                left.push(moved);
                continue;
            };
            let (branch, at) = (moved.branch.clone(), origin.map(CommitId::from));
            let kept = self.keep(&branch, new, origin)?;
            self.set(&branch, new, origin)?;
            if at != moved.old {
                left.push(BranchMove { branch: branch.clone(), old: moved.old, new: at.clone() });
            }
            put_back.push(RestoredBranch { moved: BranchMove { branch, old: at, new: moved.new }, kept });
        }
        Ok((put_back, left))
    }

    fn base(&self) -> Result<Option<Oid>, Fault> {
        Ok(self.standing.commit.as_ref().map(CommitId::oid).transpose()?)
    }

    /// Points a private reference at the commits that are on a branch and not in its origin.
    fn keep(&self, name: &str, tip: Option<Oid>, origin: Option<Oid>) -> Result<RecoveredCommits, Fault> {
        let (Some(thread), Some(tip)) = (self.thread, tip) else { return Ok(None) };
        if self.repository.find_commit(tip).is_err() {
            return Ok(None); // it is gone
        }
        let is_old = match origin {
            Some(origin) => tip == origin || descends(self.repository, origin, tip)?,
            None => false,
        };
        if is_old {
            return Ok(None);
        }
        store((self.repository, self.place), (thread, name), tip).map(Some)
    }

    /// Moves a branch, unless somebody else moved it meanwhile.
    fn set(&self, branch: &str, from: Option<Oid>, to: Option<Oid>) -> Result<(), Fault> {
        let name = format!("refs/heads/{branch}");
        let Some(to) = to else { return delete(self.repository, self.place, &name) };
        with_locks(self.place, &[&name], || match from {
            Some(from) => Ok(self.repository.reference_matching(&name, to, true, from, FOLD).map(drop)?),
            None => Ok(self.repository.reference(&name, to, false, FOLD).map(drop)?),
        })
    }
}

/// Branches that were created during a turn.
struct CreatedBranches<'a> {
    repository: &'a Repository,
    place: &'a Place,
    /// The start of the turn, with all branches.
    turn: &'a BranchPositions,
    /// Thread whose references keep the commits; `None`: they are not kept.
    thread: Option<&'a str>,
    /// Git's folders for the work tree.
    own: &'a [PathBuf],
}

impl CreatedBranches<'_> {
    /// Removes the branches that the log of the turn shows, unless HEAD of another work tree, or of this one after the
    /// turn (`head`), is on them. All others may be a person's.
    fn remove(&self, log: &HeadLog, head: Option<&str>) -> Result<Vec<RestoredBranch>, Fault> {
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
            removed.push(RestoredBranch { moved: creation_move(&name, tip), kept });
        }
        Ok(removed)
    }

    /// Keeps commits that are newer than the start of the turn.
    fn keep(&self, name: &str, tip: Oid) -> Result<Option<String>, Fault> {
        let base = self.turn.commit.as_ref().map(CommitId::oid).transpose()?;
        let (Some(thread), Some(base)) = (self.thread, base) else { return Ok(None) };
        if tip == base || descends(self.repository, base, tip)? {
            return Ok(None);
        }
        store((self.repository, self.place), (thread, name), tip).map(Some)
    }
}

fn creation_move(name: &str, tip: Oid) -> BranchMove {
    BranchMove { branch: name.to_owned(), old: None, new: Some(tip.into()) }
}

/// Points a private reference at the commits of a branch, or of a detached `HEAD`.
fn store((repository, place): (&Repository, &Place), (thread, name): (&str, &str), tip: Oid) -> Result<String, Fault> {
    let short = &tip.to_string()[..12];
    let kept = reference_name(thread, &["branches", &format!("{name}-{short}")]);
    put(repository, place, &kept, (tip, "superstep: salvage"))?;
    Ok(kept)
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
