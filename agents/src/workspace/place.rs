//! Place of a workspace: its folders, with the paths and times of files in them; its objects by their ids; and the
//! errors of work there. Paths of git are bytes, with `/` between folders, relative to the top of the work tree.

use std::path::{Component, Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::{fs, io};

use git2::{ErrorCode, Oid, Repository};

use super::error::WorkspaceError;
use super::id::{CommitId, TreeId};
use super::options::WorkspaceOptions;

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
    /// Returns the main work tree; `None` if git's folder is not in it.
    pub(super) fn main_tree(&self) -> Option<&Path> {
        self.common_dir.parent().filter(|_| self.common_dir.file_name().is_some_and(|name| name == ".git"))
    }

    /// Returns whether a file is excluded, or is in an excluded folder.
    pub(super) fn is_apart(&self, file: &[u8]) -> bool {
        let is_in = |apart: &RepoPath| {
            file.strip_prefix(apart.as_slice()).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        };
        self.apart.iter().any(is_in)
    }
}

/// Separate folder for git in place of the repository's own; removed on drop.
#[derive(Debug)]
pub(super) struct SeparateGitDir(pub(super) PathBuf);

/// Prefix of the names of these folders.
pub(super) const SEPARATE: &str = "guarded-";

impl Drop for SeparateGitDir {
    fn drop(&mut self) {
        // Leftovers of a killed run are removed when the work tree is locked.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns our folder inside git's folder, and creates it.
pub(super) fn own_folder(place: &Place) -> io::Result<PathBuf> {
    let folder = place.git_dir.join("superstep");
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Returns the present time of the file system, in nanoseconds since 1970: later changes of files are not before it.
pub(super) fn file_time(place: &Place) -> io::Result<u64> {
    // No branch of a run has this name: git takes files of this folder for references.
    let file = own_folder(place)?.join("clock+");
    // A new file, so that nothing is written through a link.
    let _ = fs::remove_file(&file);
    fs::write(&file, "")?;
    Ok(changed_at(&fs::symlink_metadata(&file)?))
}

/// Returns the time of the last change of content or attributes, in nanoseconds since 1970.
#[cfg(unix)]
pub(super) fn changed_at(about: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let seconds = u64::try_from(about.ctime()).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(about.ctime_nsec()).unwrap_or(0))
}

#[cfg(not(unix))]
pub(super) fn changed_at(about: &fs::Metadata) -> u64 {
    let since = about.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

macro_rules! oid {
    ($name:ident, $kind:literal) => {
        impl $name {
            pub(super) fn oid(&self) -> Result<Oid, WorkspaceError> {
                Oid::from_str(&self.0).map_err(|_| self.missing())
            }

            pub(super) fn missing(&self) -> WorkspaceError {
                WorkspaceError::NoSuchObject { id: self.0.clone(), kind: $kind }
            }
        }

        impl FromStr for $name {
            type Err = WorkspaceError;

            fn from_str(text: &str) -> Result<Self, WorkspaceError> {
                let id = Self(text.to_owned());
                if text.len() != 40 {
                    return Err(id.missing());
                }
                id.oid().map(Self::from)
            }
        }
    };
}

oid!(TreeId, "tree");
oid!(CommitId, "commit");

pub(super) fn tree<'a>(repository: &'a Repository, id: &TreeId) -> Result<git2::Tree<'a>, Fault> {
    repository.find_tree(id.oid()?).map_err(|_| id.missing().into())
}

/// Path inside the repository.
pub(super) type RepoPath = Vec<u8>;

/// Formats a path for people; invalid UTF-8 is replaced.
pub(super) fn lossy_path(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

pub(super) fn as_path(path: &[u8]) -> PathBuf {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        PathBuf::from(std::ffi::OsStr::from_bytes(path))
    }
    #[cfg(not(unix))]
    {
        PathBuf::from(lossy_path(path))
    }
}

pub(super) fn as_bytes(path: &Path) -> RepoPath {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        path.as_os_str().as_bytes().to_vec()
    }
    #[cfg(not(unix))]
    {
        path.to_string_lossy().replace('\\', "/").into_bytes()
    }
}

pub(super) fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/')
}

/// Returns the path of a file relative to the top of the work tree, if it is inside. The last component may be a link.
pub(super) fn inside(root: &Path, file: &Path) -> Option<RepoPath> {
    let file = root.join(file);
    let folder = file.parent()?.canonicalize().ok()?.join(file.file_name()?);
    folder.strip_prefix(root).ok().map(as_bytes)
}

/// Joins paths for git's `-z --stdin`.
pub(super) fn with_zeros<'a>(paths: impl IntoIterator<Item = &'a RepoPath>) -> Vec<u8> {
    paths.into_iter().flat_map(|path| path.iter().copied().chain([0])).collect()
}

/// Resolves `.` and `..` lexically, so that each file has one name.
pub(super) fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir if plain.pop() => {}
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
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

pub(super) fn join<T>(joined: io::Result<Result<T, WorkspaceError>>, root: &Path) -> Result<T, WorkspaceError> {
    let lost = |source| WorkspaceError::Io { doing: "work in", path: root.to_owned(), source };
    joined.map_err(lost)?
}
