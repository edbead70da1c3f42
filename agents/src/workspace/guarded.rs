//! Work in a repository whose hooks or configuration an agent may have changed: git gets a folder of its own with nothing in it but
//! HEAD, and the repository's objects. So no configuration, hook, filter or include of the repository is read.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, io};

use git2::Repository;

use super::error::WorkspaceError;
use super::index::{NAME, own_folder};
use super::place::{Place, Shelter, Workspace};
use super::worktree::entries_of;

const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";

/// A HEAD without a commit.
const UNBORN: &str = "ref: refs/heads/none\n";

impl Workspace {
    /// Returns the same work tree for use after hooks or configuration were changed: git runs without any configuration, hook,
    /// filter, monitor or include, and is not refused. What is ignored is read from `info/exclude` and `.gitignore` files. HEAD is
    /// where it is now.
    ///
    /// [`snapshot`](Self::snapshot), [`diff`](Self::diff), [`salvage`](Self::salvage) and [`reset_to`](Self::reset_to) work there;
    /// files are taken and written as they are, without filters. Nothing else should be called.
    ///
    /// # Errors
    /// [`Io`](WorkspaceError::Io) if the folder for git cannot be made.
    pub async fn guarded(&self) -> Result<Self, WorkspaceError> {
        let place = self.look(|place| sheltered(&place, &place.root, Some(&place.git_dir))).await??;
        Ok(Self(Arc::new(place)))
    }

    /// Opens the linked work tree at `path` as [`guarded`](Self::guarded) does. Its own `.git` file is not read, so it may have been
    /// replaced; git's folder for it may be gone. `path` counts from the top of this work tree.
    ///
    /// # Errors
    /// [`NotAWorktree`](WorkspaceError::NotAWorktree) if there is no such folder, [`Io`](WorkspaceError::Io) if the folder for git
    /// cannot be made.
    pub async fn guarded_worktree(&self, path: impl AsRef<Path>) -> Result<Self, WorkspaceError> {
        let path = self.worktree_path(path.as_ref()).await?;
        let place = self.look(move |place| {
            if !path.symlink_metadata().is_ok_and(|about| about.is_dir()) {
                return Err(WorkspaceError::NotAWorktree { path });
            }
            let entries = entries_of(&place, &path);
            sheltered(&place, &path, entries.first().map(PathBuf::as_path))
        });
        Ok(Self(Arc::new(place.await??)))
    }
}

/// The place of a work tree with a folder for git in place of `git_dir`.
fn sheltered(place: &Place, root: &Path, git_dir: Option<&Path>) -> Result<Place, WorkspaceError> {
    let made = shelter(place, git_dir);
    let folder = made.map_err(|source| WorkspaceError::Io { doing: "write", path: place.git_dir.clone(), source })?;
    let apart = place.options.apart.iter().filter_map(|file| super::paths::inside(root, file)).collect();
    Ok(Place {
        root: root.to_owned(),
        git_dir: folder.clone(),
        common_dir: place.common_dir.clone(),
        options: place.options.clone(),
        apart,
        shelter: Some(Shelter(folder)),
    })
}

fn shelter(place: &Place, git_dir: Option<&Path>) -> io::Result<PathBuf> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = format!("{NAME}{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let folder = own_folder(place)?.join(name);
    // Left by a process of the same number that was killed.
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

/// Lends the repository's objects and references to a folder.
#[cfg(unix)]
fn share(common_dir: &Path, folder: &Path) -> io::Result<()> {
    ["objects", "refs", "packed-refs"]
        .iter()
        .try_for_each(|name| std::os::unix::fs::symlink(common_dir.join(name), folder.join(name)))
}

/// Lends the repository's objects to a folder; references are read where they are.
#[cfg(not(unix))]
fn share(common_dir: &Path, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder.join("refs"))?;
    fs::create_dir_all(folder.join("objects/info"))?;
    fs::write(folder.join("objects/info/alternates"), super::paths::as_bytes(&common_dir.join("objects")))
}

/// The commit that HEAD is at, if it can be read.
fn head_of(folder: &Path, git_dir: &Path) -> Option<git2::Oid> {
    let text = String::from_utf8(plain(&git_dir.join("HEAD"))?).ok()?;
    let repository = Repository::open_bare(folder).ok()?;
    let id = match text.trim().strip_prefix("ref: ") {
        Some(reference) => repository.refname_to_id(reference.trim()).ok()?,
        None => git2::Oid::from_str(text.trim()).ok()?,
    };
    repository.find_commit(id).ok().map(|commit| commit.id())
}

/// The content of a file that is one.
fn plain(file: &Path) -> Option<Vec<u8>> {
    file.symlink_metadata().ok().filter(fs::Metadata::is_file)?;
    fs::read(file).ok()
}
