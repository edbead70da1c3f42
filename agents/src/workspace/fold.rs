//! Commits that agents make by themselves: HEAD and the branches that they moved are put back, without touching a file.
//! Only moves that the reflog of HEAD shows during a turn are an agent's; what others moved is left as it is.

use git2::{Oid, Repository};

use super::error::WorkspaceError;
use super::git_locks::taking;
use super::head::{Head, head_of};
use super::head_log::{FOLD, HeadLog};
use super::history;
use super::id::CommitId;
use super::own_branches::{Created, PutBack, is_used_elsewhere, store};
use super::place::{Fault, Place, Workspace};
use super::references::{delete, find_branch};
use super::standing::{BranchMove, HeadMove, Standing, moved_branches};

/// Result of [`Workspace::fold`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folded {
    /// Movement of HEAD since the start of the turn.
    pub head: HeadMove,
    /// Set if commits on HEAD or its branch were taken back: their private reference, if there are any.
    pub taken_back: Option<Option<String>>,
    /// Other branches that were moved in this work tree and are back where they were.
    pub put_back: Vec<PutBack>,
    /// Other branches that somebody else moved, and that are left as they are.
    pub left: Vec<BranchMove>,
    /// Set if somebody else moved HEAD's branch, which is left as it is.
    pub own: Option<BranchMove>,
}

/// A turn whose moves are folded.
struct Turn<'a> {
    repository: &'a Repository,
    place: &'a Place,
    standing: &'a Standing,
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
    /// A move is an agent's if the reflog of HEAD shows it in one of the [`turns`](Standing::turns), and nobody else has
    /// moved the branch since: commits of people stay as they are, with everything beneath them. Any other branch is left
    /// as it is, HEAD's own too. Without a turn nothing is put back.
    ///
    /// # Errors
    /// [`HeadElsewhere`](WorkspaceError::HeadElsewhere) if the agent left HEAD at a commit of another history, so that the
    /// files are not those of the task. [`Ongoing`](WorkspaceError::Ongoing) if a merge or similar operation is in
    /// progress.
    pub async fn fold(&self, standing: &Standing, thread: Option<&str>) -> Result<Folded, WorkspaceError> {
        self.ensure_ready().await?;
        let head = self.movement(standing).await?.head;
        if self.was_left_by_agent(standing).await? {
            self.ensure_foldable(standing, &head).await?;
        }
        let (standing, thread) = (standing.clone(), thread.map(str::to_owned));
        self.read("put branches back", move |repository, place| {
            let now = head_of(repository)?;
            let log = HeadLog::inside(place, &standing.turns, now.branch());
            let turn = Turn { repository, place, standing: &standing, thread: thread.as_deref(), log };
            let (taken_back, own) = match &standing.branch {
                Some(branch) => turn.fold_branch(branch, &head)?,
                None => (turn.fold_detached(&head)?, None),
            };
            let (mut put_back, left) = turn.put_others_back()?;
            put_back.extend(turn.remove_created()?);
            Ok(Folded { head, taken_back, put_back, left, own })
        })
        .await
    }

    /// Returns whether nobody has moved HEAD since the last turn.
    async fn was_left_by_agent(&self, standing: &Standing) -> Result<bool, WorkspaceError> {
        let turns = standing.turns.clone();
        self.run_blocking(move |place| HeadLog::inside(&place, &turns, None).ends_inside()).await
    }

    async fn ensure_foldable(&self, standing: &Standing, head: &HeadMove) -> Result<(), WorkspaceError> {
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
}

/// Reference to the commits that were taken back, if there are any.
type Kept = Option<String>;

impl Turn<'_> {
    /// Puts HEAD on its branch, and the branch back as far as it was moved here.
    fn fold_branch(&self, branch: &str, head: &HeadMove) -> Result<(Option<Kept>, Option<BranchMove>), Fault> {
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
            taking(self.place, &["HEAD"], || Ok(self.repository.set_head(&reference)?))?;
        }
        let at = seen.unwrap_or(tip);
        let [old, new] = [base, at].map(|commit| commit.map(CommitId::from));
        let own = (at != base).then(|| BranchMove { branch: branch.to_owned(), old, new });
        Ok(((seen.is_some() || has_left).then_some(kept), own))
    }

    /// Detaches HEAD again at its commit, or at the last one that somebody else made on top.
    fn fold_detached(&self, head: &HeadMove) -> Result<Option<Kept>, Fault> {
        let (Some(base), false) = (self.base()?, *head == HeadMove::None) else { return Ok(None) };
        let at = head_of(self.repository)?.commit().map(CommitId::oid).transpose()?;
        let Some(Some(origin)) = self.log.head_origin(Some(base), at) else { return Ok(None) };
        let name = match head {
            HeadMove::Switched { to: Head::Branch { name, .. } } => name,
            _ => "HEAD",
        };
        let kept = self.keep(name, at, Some(origin))?;
        taking(self.place, &["HEAD"], || Ok(self.repository.set_head_detached(origin)?))?;
        Ok(Some(kept))
    }

    /// Removes the branches that were created in a work tree without a branch, in which nothing of an agent remains.
    fn remove_created(&self) -> Result<Vec<PutBack>, Fault> {
        if self.standing.branch.is_some() {
            return Ok(vec![]);
        }
        let (repository, place, own) = (self.repository, self.place, std::slice::from_ref(&self.place.git_dir));
        let head = head_of(repository)?;
        Created { repository, place, turn: self.standing, thread: self.thread, own }.remove(&self.log, head.branch())
    }

    fn put_others_back(&self) -> Result<(Vec<PutBack>, Vec<BranchMove>), Fault> {
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
            put_back.push(PutBack { moved: BranchMove { branch, old: at, new: moved.new }, kept });
        }
        Ok((put_back, left))
    }

    fn base(&self) -> Result<Option<Oid>, Fault> {
        Ok(self.standing.commit.as_ref().map(CommitId::oid).transpose()?)
    }

    /// Points a private reference at the commits that are on a branch and not in its origin.
    fn keep(&self, name: &str, tip: Option<Oid>, origin: Option<Oid>) -> Result<Kept, Fault> {
        let (Some(thread), Some(tip)) = (self.thread, tip) else { return Ok(None) };
        if self.repository.find_commit(tip).is_err() {
            return Ok(None); // it is gone
        }
        let is_old = match origin {
            Some(origin) => tip == origin || history::descends(self.repository, origin, tip)?,
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
        taking(self.place, &[&name], || match from {
            Some(from) => Ok(self.repository.reference_matching(&name, to, true, from, FOLD).map(drop)?),
            None => Ok(self.repository.reference(&name, to, false, FOLD).map(drop)?),
        })
    }
}
