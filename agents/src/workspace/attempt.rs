//! Commits of trees under private references, created directly in the object database: no hook runs, nothing is signed,
//! no branch and no file changes. Knows names, trees and commits.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use git2::{Oid, Repository, Signature, Time};

use super::error::WorkspaceError;
use super::id::{CommitId, TreeId};
use super::objects::tree;
use super::paths::as_bytes;
use super::place::{Fault, Workspace};
use super::references::{private, put};

/// Tree to store as a commit.
#[derive(Clone, Debug)]
pub struct KeptTree {
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
    /// Creates a commit of a tree, and points a private reference at it. Repeating the call with the same values
    /// creates the same commit.
    ///
    /// # Errors
    /// [`NoSuchObject`](WorkspaceError::NoSuchObject) if tree or parent do not exist,
    /// [`BadReference`](WorkspaceError::BadReference) if the reference is not below `refs/superstep/`.
    pub async fn keep_tree(&self, kept: &KeptTree) -> Result<CommitId, WorkspaceError> {
        let (reference, kept) = (private(&kept.reference)?, kept.clone());
        self.new_objects("keep the files", move |repository, place| {
            let commit = write(repository, &kept)?;
            put(repository, place, &reference, (commit, "superstep: attempt"))?;
            Ok(commit.into())
        })
        .await
    }

    /// Returns whether the index contains the file or folder `path`, which is relative to the top of the work tree.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if the index cannot be read.
    pub async fn is_tracked(&self, path: &Path) -> Result<bool, WorkspaceError> {
        let path = as_bytes(path);
        self.read("read the index", move |repository, _| {
            let is_in = |entry: git2::IndexEntry| {
                let rest = entry.path.strip_prefix(path.as_slice());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
            };
            Ok(repository.index()?.iter().any(is_in))
        })
        .await
    }
}

fn write(repository: &Repository, kept: &KeptTree) -> Result<Oid, Fault> {
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
