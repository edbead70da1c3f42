//! A repository that is open: its folders, its handle, and the errors of what is done with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use git2::ErrorCode;

use super::error::WorkspaceError;
use super::options::WorkspaceOptions;
use super::paths::RepoPath;

/// A folder for git in place of the repository's own; gone when dropped.
#[derive(Debug)]
pub(super) struct Shelter(pub(super) PathBuf);

impl Drop for Shelter {
    fn drop(&mut self) {
        // What is left of a run that was killed goes when the work tree is locked.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A work tree of a git repository. Copies are the same one.
///
/// All of it is async: the git program is waited for, reading through libgit2 happens on tokio's blocking threads. What is
/// dropped half-way ends the git it runs, hooks included.
#[derive(Clone, Debug)]
pub struct Workspace(pub(super) Arc<Place>);

/// Where a workspace lies.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) root: PathBuf,
    /// Of this work tree: HEAD, index.
    pub(super) git_dir: PathBuf,
    /// Of all work trees: objects, branches, configuration.
    pub(super) common_dir: PathBuf,
    pub(super) options: WorkspaceOptions,
    /// The files and folders that are kept apart.
    pub(super) apart: Vec<RepoPath>,
    /// The folder that `git_dir` is, if the repository's own is not to be trusted.
    pub(super) shelter: Option<Shelter>,
}

impl Place {
    /// Returns whether a file is kept apart, or lies in a folder that is.
    pub(super) fn is_apart(&self, file: &[u8]) -> bool {
        let is_in = |apart: &RepoPath| {
            file.strip_prefix(apart.as_slice()).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        };
        self.apart.iter().any(is_in)
    }
}

pub(super) fn is_unborn(error: &git2::Error) -> bool {
    matches!(error.code(), ErrorCode::UnbornBranch | ErrorCode::NotFound)
}

/// What went wrong inside a piece of work.
pub(super) enum Fault {
    Git(git2::Error),
    Room(WorkspaceError),
}

impl Fault {
    pub(super) fn told(self, doing: &'static str) -> WorkspaceError {
        match self {
            Self::Git(source) => WorkspaceError::Git { doing, source },
            Self::Room(error) => error,
        }
    }
}

impl From<git2::Error> for Fault {
    fn from(error: git2::Error) -> Self {
        Self::Git(error)
    }
}

impl From<WorkspaceError> for Fault {
    fn from(error: WorkspaceError) -> Self {
        Self::Room(error)
    }
}

pub(super) fn join<T>(
    joined: Result<Result<T, WorkspaceError>, tokio::task::JoinError>,
    root: &Path,
) -> Result<T, WorkspaceError> {
    let lost =
        |error| WorkspaceError::Io { doing: "work in", path: root.to_owned(), source: std::io::Error::other(error) };
    joined.map_err(lost)?
}
