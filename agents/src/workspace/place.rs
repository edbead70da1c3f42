//! Open repository: its folders, its handle, and its errors.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use git2::ErrorCode;

use super::error::WorkspaceError;
use super::options::WorkspaceOptions;
use super::paths::RepoPath;

/// Separate folder for git in place of the repository's own; removed on drop.
#[derive(Debug)]
pub(super) struct SeparateGitDir(pub(super) PathBuf);

impl Drop for SeparateGitDir {
    fn drop(&mut self) {
        // Leftovers of a killed run are removed when the work tree is locked.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Work tree of a git repository. Clones share it.
///
/// All methods are async: the git program is awaited, and libgit2 runs on tokio's blocking threads. Dropping a future
/// ends the git it runs, hooks included.
#[derive(Clone, Debug)]
pub struct Workspace(pub(super) Arc<Place>);

/// Location of a workspace.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) root: PathBuf,
    /// Folder of this work tree: HEAD, index.
    pub(super) git_dir: PathBuf,
    /// Folder of all work trees: objects, branches, configuration.
    pub(super) common_dir: PathBuf,
    pub(super) options: WorkspaceOptions,
    /// Excluded files and folders.
    pub(super) apart: Vec<RepoPath>,
    /// Separate folder used as `git_dir`, if the repository's own is not trusted.
    pub(super) separate_git_dir: Option<SeparateGitDir>,
}

impl Place {
    /// Returns whether a file is excluded, or is in an excluded folder.
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

/// Error of an operation.
pub(super) enum Fault {
    Git(git2::Error),
    Workspace(WorkspaceError),
}

impl Fault {
    /// Returns whether a lock of git was taken.
    pub(super) fn is_locked(&self) -> bool {
        match self {
            Self::Git(error) => error.code() == ErrorCode::Locked,
            Self::Workspace(error) => matches!(error, WorkspaceError::Locked { .. }),
        }
    }

    pub(super) fn into_error(self, doing: &'static str) -> WorkspaceError {
        match self {
            Self::Git(error) => {
                tracing::warn!(doing, ?error, "libgit2 failed");
                WorkspaceError::Git { doing, cause: error.into() }
            }
            Self::Workspace(error) => error,
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
        Self::Workspace(error)
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
