//! Private references below `refs/superstep/`, which keep commits that are on no branch yet. Knows names and commits.

use git2::{BranchType, ErrorCode, Repository};

use super::error::WorkspaceError;
use super::git_locks::taking;
use super::head::tip_of;
use super::id::CommitId;
use super::names::{PRIVATE, escaped};
use super::place::{Fault, Place, Workspace};

/// Returns the name of a private reference of a thread: `refs/superstep/THREAD/NAME`. Each part of the name is escaped
/// as in [`branch_name`](super::branch_name).
///
/// ```
/// # use superstep_agents as superstep;
/// # use superstep::workspace::reference_name;
/// assert_eq!(reference_name("ISSUE-7", &["integrated", "phase-2"]), "refs/superstep/ISSUE-7/integrated/phase-2");
/// ```
pub fn reference_name(thread: &str, name: &[&str]) -> String {
    let parts: String = name.iter().map(|part| format!("/{}", escaped(part))).collect();
    format!("{PRIVATE}{}{parts}", escaped(thread))
}

impl Workspace {
    /// Returns the commit of a private reference, if it exists.
    ///
    /// # Errors
    /// [`BadReference`](WorkspaceError::BadReference) if it is not below `refs/superstep/`.
    pub async fn reference(&self, name: &str) -> Result<Option<CommitId>, WorkspaceError> {
        let name = private(name)?;
        self.objects("read a reference", move |repository, _| found(repository, &name)).await
    }

    /// Sets a private reference to a commit, if it is at `expected` (`None`: does not exist), or at the commit already.
    ///
    /// # Errors
    /// [`ReferenceMoved`](WorkspaceError::ReferenceMoved) if it is elsewhere,
    /// [`BadReference`](WorkspaceError::BadReference) if it is not below `refs/superstep/`.
    pub async fn set_reference(
        &self,
        name: &str,
        expected: Option<&CommitId>,
        to: &CommitId,
    ) -> Result<(), WorkspaceError> {
        let (name, expected, to) = (private(name)?, expected.cloned(), to.clone());
        self.objects("set a reference", move |repository, place| {
            let commit = repository.find_commit(to.oid()?).map_err(|_| to.missing())?.id();
            let now = found(repository, &name)?;
            if now.as_ref() == Some(&to) {
                return Ok(());
            }
            if now != expected {
                return Err(WorkspaceError::ReferenceMoved { reference: name, expected, found: now }.into());
            }
            const LOG: &str = "superstep: set";
            taking(place, &[&name], || {
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
    pub async fn remove_reference(&self, name: &str) -> Result<(), WorkspaceError> {
        let name = private(name)?;
        self.objects("remove a reference", move |repository, place| delete(repository, place, &name)).await
    }
}

pub(super) fn private(name: &str) -> Result<String, WorkspaceError> {
    let is_ours = name.starts_with(PRIVATE) && git2::Reference::is_valid_name(name);
    if is_ours { Ok(name.to_owned()) } else { Err(WorkspaceError::BadReference { reference: name.to_owned() }) }
}

pub(super) fn found(repository: &Repository, name: &str) -> Result<Option<CommitId>, Fault> {
    match repository.find_reference(name) {
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        reference => Ok(Some(reference?.peel_to_commit()?.id().into())),
    }
}

/// Points a reference at a commit, wherever it was.
pub(super) fn put(
    repository: &Repository,
    place: &Place,
    name: &str,
    (to, log): (git2::Oid, &str),
) -> Result<(), Fault> {
    taking(place, &[name], || Ok(repository.reference(name, to, true, log).map(drop)?))
}

/// Deletes a reference, if it exists.
pub(super) fn delete(repository: &Repository, place: &Place, name: &str) -> Result<(), Fault> {
    match repository.find_reference(name) {
        Err(error) if error.code() == ErrorCode::NotFound => return Ok(()),
        found => drop(found?),
    }
    taking(place, &[name, "packed-refs"], || match repository.find_reference(name) {
        Err(error) if error.code() == ErrorCode::NotFound => Ok(()),
        found => Ok(found?.delete()?),
    })
}

pub(super) fn find_branch(repository: &Repository, name: &str) -> Result<Option<git2::Oid>, Fault> {
    match repository.find_branch(name, BranchType::Local) {
        Ok(branch) => tip_of(branch.get()).map(Some),
        Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}
