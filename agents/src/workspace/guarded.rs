//! Work in a repository whose hooks or configuration an agent may have changed: git gets a separate folder that
//! contains only HEAD and the repository's objects, so that no configuration, hook, filter or include of the repository
//! is read.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, io};

use git2::Repository;

use super::error::WorkspaceError;
use super::index::{NAME, own_folder};
use super::place::{Place, SeparateGitDir, Workspace};
use super::worktree_entries::entries_of;

const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";

/// HEAD without a commit.
const UNBORN: &str = "ref: refs/heads/none\n";

impl Workspace {
    /// Returns the same work tree for use after hooks or configuration were changed: git runs without any
    /// configuration, hook, filter, monitor or include, and is not refused. Ignore rules are read from `info/exclude`
    /// and `.gitignore` files. HEAD stays where it is now.
    ///
    /// Only [`snapshot`](Self::snapshot), [`diff`](Self::diff), [`salvage`](Self::salvage) and
    /// [`reset_to`](Self::reset_to) are supported there; files are read and written without filters.
    ///
    /// # Errors
    /// [`Io`](WorkspaceError::Io) if the folder for git cannot be created.
    pub async fn guarded(&self) -> Result<Self, WorkspaceError> {
        let place = self.run_blocking(|place| guarded_place(&place, &place.root, Some(&place.git_dir))).await??;
        Ok(Self(Arc::new(place)))
    }

    /// Opens the linked work tree at `path` as [`guarded`](Self::guarded) does. Its own `.git` file is not read,
    /// because it may have been replaced; git's folder for it may be missing. `path` is relative to the top of this
    /// work tree.
    ///
    /// # Errors
    /// [`NotAWorktree`](WorkspaceError::NotAWorktree) if the folder does not exist, [`Io`](WorkspaceError::Io) if the
    /// folder for git cannot be created.
    pub async fn guarded_worktree(&self, path: impl AsRef<Path>) -> Result<Self, WorkspaceError> {
        let path = self.worktree_path(path.as_ref()).await?;
        let place = self.run_blocking(move |place| {
            if !path.symlink_metadata().is_ok_and(|about| about.is_dir()) {
                return Err(WorkspaceError::NotAWorktree { path });
            }
            let entries = entries_of(&place, &path);
            guarded_place(&place, &path, entries.first().map(PathBuf::as_path))
        });
        Ok(Self(Arc::new(place.await??)))
    }
}

/// Returns the location of a work tree with a separate folder in place of `git_dir`.
fn guarded_place(place: &Place, root: &Path, git_dir: Option<&Path>) -> Result<Place, WorkspaceError> {
    let made = create_git_dir(place, git_dir);
    let folder = made.map_err(|source| WorkspaceError::Io { doing: "write", path: place.git_dir.clone(), source })?;
    let apart = place.options.apart.iter().filter_map(|file| super::paths::inside(root, file)).collect();
    Ok(Place {
        root: root.to_owned(),
        git_dir: folder.clone(),
        common_dir: place.common_dir.clone(),
        options: place.options.clone(),
        apart,
        separate_git_dir: Some(SeparateGitDir(folder)),
    })
}

fn create_git_dir(place: &Place, git_dir: Option<&Path>) -> io::Result<PathBuf> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = format!("{NAME}{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let folder = own_folder(place)?.join(name);
    // Leftover of a killed process with the same id.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder)?;
    share(&place.common_dir, &folder)?;
    fs::create_dir(folder.join("info"))?;
    fs::write(folder.join("info/exclude"), plain(&place.common_dir.join("info/exclude")).unwrap_or_default())?;
    fs::write(folder.join("config"), CONFIG)?;
    fs::write(folder.join("HEAD"), UNBORN)?;
    if let Some(head) = git_dir.and_then(|git_dir| head_of(&folder, git_dir)) {
        fs::write(folder.join("HEAD"), format!("{head}\n"))?;
    }
    Ok(folder)
}

/// Links the repository's objects and references into a folder.
#[cfg(unix)]
fn share(common_dir: &Path, folder: &Path) -> io::Result<()> {
    ["objects", "refs", "packed-refs"]
        .iter()
        .try_for_each(|name| std::os::unix::fs::symlink(common_dir.join(name), folder.join(name)))
}

/// Links the repository's objects into a folder; references are read in the repository.
#[cfg(not(unix))]
fn share(common_dir: &Path, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder.join("refs"))?;
    fs::create_dir_all(folder.join("objects/info"))?;
    fs::write(folder.join("objects/info/alternates"), super::paths::as_bytes(&common_dir.join("objects")))
}

/// Returns HEAD's commit, if it can be read.
fn head_of(folder: &Path, git_dir: &Path) -> Option<git2::Oid> {
    let text = String::from_utf8(plain(&git_dir.join("HEAD"))?).ok()?;
    let repository = Repository::open_bare(folder).ok()?;
    let id = match text.trim().strip_prefix("ref: ") {
        Some(reference) => repository.refname_to_id(reference.trim()).ok()?,
        None => git2::Oid::from_str(text.trim()).ok()?,
    };
    repository.find_commit(id).ok().map(|commit| commit.id())
}

/// Returns the content of a regular file.
fn plain(file: &Path) -> Option<Vec<u8>> {
    file.symlink_metadata().ok().filter(fs::Metadata::is_file)?;
    fs::read(file).ok()
}
