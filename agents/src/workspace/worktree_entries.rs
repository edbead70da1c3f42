//! Git's folders of linked work trees, and the work trees that they name. Reads only.

use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

use super::paths::{as_path, lexical};
use super::place::Place;

/// File in git's folder of a work tree, written once all files are checked out.
pub(super) const COMPLETE: &str = "superstep/complete";

/// Folders of `.superstep` that hold work trees.
const OWN_TREES: [&str; 3] = ["forks", "rewind", "worktrees"];

/// Returns whether it is a work tree that was created by [`detached_worktree`](super::Workspace::detached_worktree).
pub(super) fn is_made_for_agents(place: &Place) -> bool {
    place.git_dir != place.common_dir && place.git_dir.join(COMPLETE).exists()
}

/// Returns git's folders of linked work trees.
pub(super) fn entries(place: &Place) -> Vec<PathBuf> {
    entries_in(&place.common_dir)
}

/// The same for git's folder of a repository.
pub(super) fn entries_in(common_dir: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(common_dir.join("worktrees")).into_iter().flatten().filter_map(Result::ok);
    all.map(|entry| entry.path()).collect()
}

/// Returns git's folders of the work tree at `path`: one, unless a kill or an agent left more.
pub(super) fn entries_of(place: &Place, path: &Path) -> Vec<PathBuf> {
    entries(place).into_iter().filter(|entry| path_of(entry).as_deref() == Some(path)).collect()
}

/// Returns the work tree of a folder of git's.
pub(super) fn path_of(entry: &Path) -> Option<PathBuf> {
    tree_of(entry).map(|tree| resolved(&tree))
}

/// The same as it is written there.
pub(super) fn tree_of(entry: &Path) -> Option<PathBuf> {
    let file = linked(entry, fs::read(entry.join("gitdir")).ok()?);
    (file.file_name() == Some(OsStr::new(".git"))).then(|| lexical(file.parent().unwrap_or(&file)))
}

/// Returns the folder of git's named in the `.git` file of a work tree.
pub(super) fn leads_to(path: &Path) -> Option<PathBuf> {
    let file = path.join(".git");
    file.symlink_metadata().ok().filter(fs::Metadata::is_file)?;
    let text = fs::read(file).ok()?;
    Some(resolved(&linked(path, text.strip_prefix(b"gitdir: ")?.to_vec())))
}

/// Returns git's folder of the repository with this work tree, which may be linked.
pub(super) fn common_of(top: &Path) -> Option<PathBuf> {
    let git_dir = git_dir_of(top);
    let common = match fs::read(git_dir.join("commondir")) {
        Ok(text) => linked(&git_dir, text),
        Err(_) => git_dir,
    };
    common.canonicalize().ok()
}

/// Returns the top of the repository around a folder, which need not exist yet.
pub(super) fn top_of(folder: &Path) -> Option<PathBuf> {
    let folder = resolved(&std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()));
    let folder = folder.canonicalize().unwrap_or(folder);
    main_part(&folder).ancestors().find(|above| is_repository(above)).map(Path::to_owned)
}

/// Returns the repository in whose folder `.superstep` a work tree lies; others are returned as they are.
pub(super) fn main_part(folder: &Path) -> PathBuf {
    let parts: Vec<Component<'_>> = folder.components().collect();
    let is_own = |pair: &[Component<'_>]| {
        pair[0].as_os_str() == ".superstep" && OWN_TREES.iter().any(|own| pair[1].as_os_str() == *own)
    };
    match parts.windows(2).position(is_own) {
        Some(at) => parts[..at].iter().collect(),
        None => folder.to_owned(),
    }
}

pub(super) fn is_repository(top: &Path) -> bool {
    top.join(".git").exists()
}

/// Returns git's folder of the work tree that a path lies in.
pub fn git_folder(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    let git_dir = git_dir_of(path.ancestors().find(|above| is_repository(above))?);
    git_dir.join("HEAD").is_file().then_some(git_dir)
}

/// Returns git's folder of a work tree.
fn git_dir_of(top: &Path) -> PathBuf {
    leads_to(top).unwrap_or_else(|| top.join(".git"))
}

/// Resolves a path in a file of git's, relative to the folder of the file.
pub(super) fn linked(folder: &Path, text: Vec<u8>) -> PathBuf {
    folder.join(as_path(text.trim_ascii_end()))
}

/// Resolves links in the existing folders above a path, and `..`.
pub(super) fn resolved(path: &Path) -> PathBuf {
    let plain = lexical(path);
    let (Some(above), Some(name)) = (plain.parent(), plain.file_name()) else { return plain };
    match above.canonicalize() {
        Ok(above) => above.join(name),
        Err(_) => resolved(above).join(name),
    }
}
