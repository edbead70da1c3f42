//! Private references below `refs/superstep/`, which keep commits that are on no branch yet, and commits of trees for
//! them, created directly in the object database: no hook runs, nothing is signed, no branch and no file changes.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_recursion::async_recursion as boxed;
use git2::{BranchType, ErrorCode, Oid, Reference, Repository, Signature, Time};

use super::error::WorkspaceError;
use super::git_locks::with_locks;
use super::id::{CommitId, PRIVATE, TreeId};
use super::place::{Fault, Place, Workspace, tree};

/// Tree to store as a commit.
#[derive(Clone, Debug)]
pub struct StoredTree {
    /// Private reference, from [`reference_name`](super::reference_name).
    pub reference: String,
    /// Parent commit; `None` for the first.
    pub parent: Option<CommitId>,
    /// The files.
    pub tree: TreeId,
    /// Message, subject first.
    pub message: String,
    /// Time of the commit, in milliseconds since 1970.
    pub at: u64,
}

impl Workspace {
    /// Returns the commit of a private reference, if it exists.
    ///
    /// # Errors
    /// [`BadReference`](WorkspaceError::BadReference) if it is not below `refs/superstep/`.
    #[boxed]
    pub async fn reference(&self, name: &str) -> Result<Option<CommitId>, WorkspaceError> {
        let name = private(name)?;
        self.objects("read a reference", move |repository, _| find_reference(repository, &name)).await
    }

    /// Sets a private reference to a commit, if it is at `expected` (`None`: does not exist), or at the commit already.
    ///
    /// # Errors
    /// [`ReferenceMoved`](WorkspaceError::ReferenceMoved) if it is elsewhere,
    /// [`BadReference`](WorkspaceError::BadReference) if it is not below `refs/superstep/`.
    #[boxed]
    pub async fn set_reference(
        &self,
        name: &str,
        expected: Option<&CommitId>,
        to: &CommitId,
    ) -> Result<(), WorkspaceError> {
        let (name, expected, to) = (private(name)?, expected.cloned(), to.clone());
        self.objects("set a reference", move |repository, place| {
            let commit = repository.find_commit(to.oid()?).map_err(|_| to.missing())?.id();
            let now = find_reference(repository, &name)?;
            if now.as_ref() == Some(&to) {
                return Ok(());
            }
            if now != expected {
                return Err(WorkspaceError::ReferenceMoved { reference: name, expected, found: now }.into());
            }
            const LOG: &str = "superstep: set";
            with_locks(place, &[&name], || {
                match &expected {
                    Some(old) => repository.reference_matching(&name, commit, true, old.oid()?, LOG)?,
                    None => repository.reference(&name, commit, false, LOG)?,
                };
                Ok(())
            })
        })
        .await
    }

    /// Removes a private reference, if it exists.
    ///
    /// # Errors
    /// [`BadReference`](WorkspaceError::BadReference) if it is not below `refs/superstep/`.
    #[boxed]
    pub async fn remove_reference(&self, name: &str) -> Result<(), WorkspaceError> {
        let name = private(name)?;
        self.objects("remove a reference", move |repository, place| delete(repository, place, &name)).await
    }

    /// Creates a commit of a tree, and points a private reference at it. Repeating the call with the same values
    /// creates the same commit.
    ///
    /// # Errors
    /// [`NoSuchObject`](WorkspaceError::NoSuchObject) if tree or parent do not exist,
    /// [`BadReference`](WorkspaceError::BadReference) if the reference is not below `refs/superstep/`.
    #[boxed]
    pub async fn keep_tree(&self, kept: &StoredTree) -> Result<CommitId, WorkspaceError> {
        let (reference, kept) = (private(&kept.reference)?, kept.clone());
        self.new_objects("keep the files", move |repository, place| {
            let commit = write(repository, &kept)?;
            put(repository, place, &reference, (commit, "superstep: attempt"))?;
            Ok(commit.into())
        })
        .await
    }
}

fn private(name: &str) -> Result<String, WorkspaceError> {
    let is_ours = name.starts_with(PRIVATE) && Reference::is_valid_name(name);
    if is_ours { Ok(name.to_owned()) } else { Err(WorkspaceError::BadReference { reference: name.to_owned() }) }
}

pub(super) fn find_reference(repository: &Repository, name: &str) -> Result<Option<CommitId>, Fault> {
    match repository.find_reference(name) {
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        reference => Ok(Some(reference?.peel_to_commit()?.id().into())),
    }
}

/// Points a reference at a commit, wherever it was.
pub(super) fn put(repository: &Repository, place: &Place, name: &str, (to, log): (Oid, &str)) -> Result<(), Fault> {
    with_locks(place, &[name], || Ok(repository.reference(name, to, true, log).map(drop)?))
}

/// Deletes a reference, if it exists.
pub(super) fn delete(repository: &Repository, place: &Place, name: &str) -> Result<(), Fault> {
    match repository.find_reference(name) {
        Err(error) if error.code() == ErrorCode::NotFound => return Ok(()),
        found => drop(found?),
    }
    with_locks(place, &[name, "packed-refs"], || match repository.find_reference(name) {
        Err(error) if error.code() == ErrorCode::NotFound => Ok(()),
        found => Ok(found?.delete()?),
    })
}

pub(super) fn find_branch(repository: &Repository, name: &str) -> Result<Option<Oid>, Fault> {
    match repository.find_branch(name, BranchType::Local) {
        Ok(branch) => tip_of(branch.get()).map(Some),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the commit of a branch or of HEAD, also one that is gone.
pub(super) fn tip_of(reference: &Reference<'_>) -> Result<Oid, Fault> {
    reference.target().map_or_else(|| Ok(reference.peel_to_commit()?.id()), Ok)
}

fn write(repository: &Repository, kept: &StoredTree) -> Result<Oid, Fault> {
    let who = signature(repository, UNIX_EPOCH + Duration::from_millis(kept.at))?;
    commit_tree(repository, &who, kept.parent.as_ref(), &kept.tree, &kept.message)
}

/// Creates a commit of a tree on top of a parent, on no branch.
pub(super) fn commit_tree(
    repository: &Repository,
    who: &Signature<'_>,
    parent: Option<&CommitId>,
    id: &TreeId,
    message: &str,
) -> Result<Oid, Fault> {
    let parent = parent.map(|parent| repository.find_commit(parent.oid()?).map_err(|_| Fault::from(parent.missing())));
    let parent = parent.transpose()?;
    let parents: Vec<_> = parent.iter().collect();
    Ok(repository.commit(None, who, who, message, &tree(repository, id)?, &parents)?)
}

/// Returns the configured user, or this program if there is none, with a time.
fn signature(repository: &Repository, at: SystemTime) -> Result<Signature<'static>, Fault> {
    let seconds = at.duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
    let time = Time::new(seconds, 0);
    let user = repository.signature().ok();
    let user = user.as_ref().and_then(|user| Some((user.name().ok()?.to_owned(), user.email().ok()?.to_owned())));
    let (name, email) = user.unwrap_or_else(|| ("superstep".to_owned(), "superstep@localhost".to_owned()));
    Ok(Signature::new(&name, &email, &time)?)
}
