//! Conversion between git's paths (bytes, `/` between folders, relative to the top of the work tree) and the system's.

use std::path::{Component, Path, PathBuf};

/// Path inside the repository.
pub(super) type RepoPath = Vec<u8>;

/// Formats a path for people; invalid UTF-8 is replaced.
pub(super) fn shown(path: &[u8]) -> String {
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
        PathBuf::from(shown(path))
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
