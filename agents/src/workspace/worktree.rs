//! Linked work trees without a branch, for work that runs beside the user's checkout: made, found again after a kill, removed.
//! They are recognized by git's folder for them, which lies where an agent does not work.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::error::WorkspaceError;
use super::id::CommitId;
use super::paths::lexical;
use super::place::{Place, Workspace};

/// A file in git's folder of a work tree, written once all files are checked out.
const COMPLETE: &str = "superstep/complete";
/// The attempts to make a work tree while others are made.
const TRIES: u32 = 5;

impl Workspace {
    /// Makes a linked work tree at `path` whose HEAD is detached at the commit `at`, or opens the one that is there if its HEAD is
    /// at `at` or after it. One that was left half made is removed and made again. `path` counts from the top of this work tree.
    /// No hook runs. Several can be made at once.
    ///
    /// # Errors
    /// [`WorktreeTaken`](WorkspaceError::WorktreeTaken) if something else is there, or its HEAD is elsewhere.
    /// [`NoSuchObject`](WorkspaceError::NoSuchObject) if there is no such commit.
    pub async fn detached_worktree(&self, path: impl AsRef<Path>, at: &CommitId) -> Result<Self, WorkspaceError> {
        let path = self.worktree_path(path.as_ref()).await?;
        self.ensure_commit(at).await?;
        match self.state_of(&path).await? {
            State::Complete => return self.reopened(&path, at).await,
            State::Partial => self.remove_worktree(&path).await?,
            State::Free => {}
            State::Foreign => return Err(taken(&path, at)),
        }
        self.add_worktree(&path, at).await?;
        let made = self.opened(&path, at).await?;
        made.look(|place| complete(&place)).await??;
        Ok(made)
    }

    /// Removes the linked work tree at `path`: its folder, whatever is in it, and git's folder for it, also if one of them is gone
    /// or the work tree is locked. Links are removed, not followed. Done twice, it is done once. `path` counts from the top of
    /// this work tree.
    ///
    /// # Errors
    /// [`NotAWorktree`](WorkspaceError::NotAWorktree) if something else is there, [`Io`](WorkspaceError::Io) if a file cannot be
    /// removed.
    pub async fn remove_worktree(&self, path: impl AsRef<Path>) -> Result<(), WorkspaceError> {
        let path = self.worktree_path(path.as_ref()).await?;
        self.look(move |place| {
            let entries = entries_of(&place, &path);
            let is_above = place.root.starts_with(&path);
            if is_above || (entries.is_empty() && !is_removable(&place, &path)) {
                return Err(WorkspaceError::NotAWorktree { path });
            }
            for entry in &entries {
                // From now on it counts as half made.
                remove(&entry.join(COMPLETE))?;
            }
            remove_folder(&path)?;
            entries.iter().try_for_each(|entry| remove(entry))
        })
        .await?
    }

    /// Returns the linked work trees of the repository that lie in `folder`, in the order of paths, whether or not their folders
    /// are there. `folder` counts from the top of this work tree.
    ///
    /// # Errors
    /// [`Io`](WorkspaceError::Io) if the reading cannot be started.
    pub async fn worktrees_below(&self, folder: impl AsRef<Path>) -> Result<Vec<PathBuf>, WorkspaceError> {
        let folder = self.worktree_path(folder.as_ref()).await?;
        self.look(move |place| {
            let mut found: Vec<_> = entries(&place).into_iter().filter_map(|entry| path_of(&entry)).collect();
            found.retain(|path| path.starts_with(&folder) && *path != folder);
            found.sort();
            found.dedup();
            found
        })
        .await
    }

    /// The path as git has it: links are resolved as far as the folders are there.
    pub(super) async fn worktree_path(&self, path: &Path) -> Result<PathBuf, WorkspaceError> {
        let path = path.to_owned();
        self.look(move |place| resolved(&place.root.join(path))).await
    }

    async fn state_of(&self, path: &Path) -> Result<State, WorkspaceError> {
        let path = path.to_owned();
        self.look(move |place| {
            let entries = entries_of(&place, &path);
            if let [entry] = entries.as_slice()
                && entry.join(COMPLETE).exists()
                && leads_to(&path).as_deref() == Some(entry)
            {
                State::Complete
            } else if entries.is_empty() && is_free(&path) {
                State::Free
            } else if is_partial(&place, &path, &entries) {
                State::Partial
            } else {
                State::Foreign
            }
        })
        .await
    }

    async fn ensure_commit(&self, at: &CommitId) -> Result<(), WorkspaceError> {
        let at = at.clone();
        self.objects("read a commit", move |repository, _| {
            repository.find_commit(at.oid()?).map(drop).map_err(|_| at.missing().into())
        })
        .await
    }

    async fn reopened(&self, path: &Path, at: &CommitId) -> Result<Self, WorkspaceError> {
        let there = self.opened(path, at).await?;
        let is_after = match there.head().await?.commit() {
            Some(head) => self.descends(head, at).await?,
            None => false,
        };
        if is_after { Ok(there) } else { Err(taken(path, at)) }
    }

    async fn opened(&self, path: &Path, at: &CommitId) -> Result<Self, WorkspaceError> {
        let there = Self::open_with(path, self.0.options.clone()).await?;
        let is_it = there.0.root == path && there.0.common_dir == self.0.common_dir;
        if is_it { Ok(there) } else { Err(taken(path, at)) }
    }

    /// Adds it; what another git that adds one at the same moment gets in the way of is tried again.
    async fn add_worktree(&self, path: &Path, at: &CommitId) -> Result<(), WorkspaceError> {
        let mut tries = 0;
        loop {
            let add = self.git(&["worktree", "add", "--quiet", "--force", "--detach"]).arg(path).arg(at.as_str());
            match add.done().await {
                Err(WorkspaceError::GitFailed { .. }) if tries < TRIES => {
                    tries += 1;
                    self.remove_worktree(path).await?;
                    tokio::time::sleep(std::time::Duration::from_millis(50 * u64::from(tries))).await;
                }
                added => return added.map(drop),
            }
        }
    }
}

/// The state of the place of a work tree.
enum State {
    /// Nothing, or an empty folder.
    Free,
    /// A work tree of this repository.
    Complete,
    /// Some of it.
    Partial,
    /// Something else.
    Foreign,
}

fn taken(path: &Path, at: &CommitId) -> WorkspaceError {
    WorkspaceError::WorktreeTaken { path: path.to_owned(), commit: at.clone() }
}

fn complete(place: &Place) -> Result<(), WorkspaceError> {
    let path = place.git_dir.join(COMPLETE);
    let written = super::index::own_folder(place).and_then(|_| fs::write(&path, ""));
    written.map_err(|source| WorkspaceError::Io { doing: "write", path, source })
}

/// Git's folders for linked work trees.
pub(super) fn entries(place: &Place) -> Vec<PathBuf> {
    let all = fs::read_dir(place.common_dir.join("worktrees")).into_iter().flatten().filter_map(Result::ok);
    all.map(|entry| entry.path()).collect()
}

/// Git's folders for the work tree at `path`: one, unless a kill or an agent left more.
pub(super) fn entries_of(place: &Place, path: &Path) -> Vec<PathBuf> {
    entries(place).into_iter().filter(|entry| path_of(entry).as_deref() == Some(path)).collect()
}

/// The work tree that a folder of git's is for.
fn path_of(entry: &Path) -> Option<PathBuf> {
    let file = linked(entry, fs::read(entry.join("gitdir")).ok()?);
    (file.file_name() == Some(OsStr::new(".git"))).then(|| resolved(file.parent().unwrap_or(&file)))
}

/// The folder of git's that the `.git` of a work tree names.
fn leads_to(path: &Path) -> Option<PathBuf> {
    let file = path.join(".git");
    file.symlink_metadata().ok().filter(fs::Metadata::is_file)?;
    let text = fs::read(file).ok()?;
    Some(resolved(&linked(path, text.strip_prefix(b"gitdir: ")?.to_vec())))
}

/// A path in a file of git's; a relative one counts from the folder of the file.
fn linked(folder: &Path, text: Vec<u8>) -> PathBuf {
    folder.join(super::paths::as_path(text.trim_ascii_end()))
}

fn is_entry(place: &Place, entry: &Path) -> bool {
    entry.parent() == Some(&place.common_dir.join("worktrees"))
}

fn is_free(path: &Path) -> bool {
    match path.symlink_metadata() {
        Ok(about) => about.is_dir() && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none()),
        Err(_) => true,
    }
}

/// Returns whether making a work tree ended half-way there: it lies in the folder of stores, git is not done with it, or nothing is in it.
fn is_partial(place: &Place, path: &Path, entries: &[PathBuf]) -> bool {
    let is_begun = |entry: &PathBuf| fs::read(entry.join("locked")).is_ok_and(|why| why.starts_with(b"initializing"));
    let is_named = !entries.is_empty() || leads_to(path).is_some_and(|entry| is_entry(place, &entry));
    is_named && (is_stored(place, path) || is_free(path) || entries.iter().any(is_begun))
}

/// Returns whether it lies in the folder of stores, where a person has no files.
fn is_stored(place: &Place, path: &Path) -> bool {
    let store = place.root.join(".superstep");
    path.starts_with(&store) && path != store
}

/// Returns whether nothing of a person's is lost with it: nothing is there, its `.git` names a work tree of this repository, or it lies in
/// the folder of stores.
fn is_removable(place: &Place, path: &Path) -> bool {
    is_free(path) || leads_to(path).is_some_and(|entry| is_entry(place, &entry)) || is_stored(place, path)
}

/// Resolves links in the folders above a path as far as they are there, and `..`.
fn resolved(path: &Path) -> PathBuf {
    let plain = lexical(path);
    let (Some(above), Some(name)) = (plain.parent(), plain.file_name()) else { return plain };
    match above.canonicalize() {
        Ok(above) => above.join(name),
        Err(_) => resolved(above).join(name),
    }
}

/// Removes a work tree's folder; its `.git` last, so that it is known as one until then.
fn remove_folder(path: &Path) -> Result<(), WorkspaceError> {
    let is_folder = path.symlink_metadata().is_ok_and(|about| about.is_dir());
    if is_folder {
        writable(path);
        for entry in fs::read_dir(path).into_iter().flatten().filter_map(Result::ok) {
            if entry.file_name() != ".git" {
                remove(&entry.path())?;
            }
        }
    }
    remove(path)
}

/// Removes a file, link or folder. Links are not followed.
fn remove(path: &Path) -> Result<(), WorkspaceError> {
    let removed = match removed(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            path.parent().into_iter().for_each(writable);
            all_writable(path);
            removed(path)
        }
        removed => removed,
    };
    match removed {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(WorkspaceError::Io { doing: "remove", path: path.to_owned(), source })
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn removed(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

fn all_writable(path: &Path) {
    if !path.symlink_metadata().is_ok_and(|about| about.is_dir()) {
        return;
    }
    writable(path);
    let entries = fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    entries.for_each(|entry| all_writable(&entry.path()));
}

/// Lets the files of a folder be removed.
fn writable(folder: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // What cannot be changed shows when it is removed.
        let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    }
    #[cfg(not(unix))]
    let _ = folder;
}
