//! Linked work trees without a branch, for work beside the user's checkout: created, reopened after a kill, removed.
//! They are recognized by git's folder for them, which is outside the agent's folder.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use superstep_base::moved::present_path;

use super::error::WorkspaceError;
use super::id::CommitId;
use super::place::{Place, Workspace, as_path, lexical, own_folder};
use crate::process::may_use;

/// Attempts at creating a work tree while others are created.
const TRIES: u32 = 5;
/// Age from which a folder of git's without a work tree is not one that is just being made.
const BROKEN: Duration = Duration::from_secs(300);

impl Workspace {
    /// Creates a linked work tree at `path` with HEAD detached at the commit `at`, or opens the existing one if its
    /// HEAD is at `at` or a descendant. An incomplete one is removed and created again. `path` is relative to the top
    /// of this work tree. No hook runs. Several can be created at once.
    ///
    /// # Errors
    /// [`WorktreeTaken`](WorkspaceError::WorktreeTaken) if something else is there, or its HEAD is elsewhere.
    /// [`NoSuchObject`](WorkspaceError::NoSuchObject) if the commit does not exist.
    pub async fn detached_worktree(&self, path: impl AsRef<Path>, at: &CommitId) -> Result<Self, WorkspaceError> {
        let path = self.worktree_path(path.as_ref()).await?;
        self.ensure_commit(at).await?;
        match self.state_of(&path).await? {
            State::Complete => return self.reopen(&path, at).await,
            State::Partial => self.remove_worktree(&path).await?,
            State::Free => {}
            State::Foreign => return Err(taken_error(&path, at)),
        }
        self.add_worktree(&path, at).await?;
        let made = self.open_existing(&path, at).await?;
        made.run_blocking(|place| complete(&place)).await??;
        Ok(made)
    }

    /// Removes the linked work tree at `path`: its folder with all contents, and git's folder for it, also if one of
    /// them is missing or the work tree is locked. Links are removed, not followed. Idempotent. `path` is relative to
    /// the top of this work tree.
    ///
    /// # Errors
    /// [`NotAWorktree`](WorkspaceError::NotAWorktree) if something else is there, [`Io`](WorkspaceError::Io) if a file cannot be
    /// removed.
    pub async fn remove_worktree(&self, path: impl AsRef<Path>) -> Result<(), WorkspaceError> {
        let path = self.worktree_path(path.as_ref()).await?;
        self.run_blocking(move |place| {
            let entries = entries_of(&place, &path);
            let is_above = place.root.starts_with(&path);
            if is_above || (entries.is_empty() && !is_removable(&place, &path)) {
                return Err(WorkspaceError::NotAWorktree { path });
            }
            for entry in &entries {
                // From now on it counts as incomplete.
                remove(&entry.join(COMPLETE))?;
            }
            remove_folder(&path, ".git")?;
            // Without the file `gitdir`, a folder of git's belongs to no work tree.
            entries.iter().try_for_each(|entry| remove_folder(entry, "gitdir"))?;
            remove_broken_entries(&place);
            Ok(())
        })
        .await?
    }

    /// Returns whether there is a complete linked work tree at `path`, which is relative to the top of this work tree.
    ///
    /// # Errors
    /// [`Io`](WorkspaceError::Io) if the blocking task fails.
    pub async fn has_worktree(&self, path: impl AsRef<Path>) -> Result<bool, WorkspaceError> {
        let path = self.worktree_path(path.as_ref()).await?;
        Ok(matches!(self.state_of(&path).await?, State::Complete))
    }

    /// Returns the commit of HEAD in the linked work tree at `path`, also if its folder is missing; none if git's folder for
    /// it is. `path` is relative to the top of this work tree.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if the repository cannot be read.
    pub async fn head_of_worktree(&self, path: impl AsRef<Path>) -> Result<Option<CommitId>, WorkspaceError> {
        let path = self.worktree_path(path.as_ref()).await?;
        self.objects("read HEAD", move |repository, place| {
            let head = |entry: PathBuf| {
                let text = fs::read_to_string(entry.join("HEAD")).ok()?;
                let id = match text.trim().strip_prefix("ref: ") {
                    Some(reference) => repository.refname_to_id(reference).ok()?,
                    None => git2::Oid::from_str(text.trim()).ok()?,
                };
                repository.find_commit(id).ok().map(|commit| commit.id().into())
            };
            Ok(entries_of(place, &path).into_iter().find_map(head))
        })
        .await
    }

    /// Returns the linked work trees of the repository inside `folder`, in the order of paths, including those whose
    /// folders are missing. `folder` is relative to the top of this work tree.
    ///
    /// # Errors
    /// [`Io`](WorkspaceError::Io) if the blocking task fails.
    pub async fn worktrees_below(&self, folder: impl AsRef<Path>) -> Result<Vec<PathBuf>, WorkspaceError> {
        let folder = self.worktree_path(folder.as_ref()).await?;
        self.run_blocking(move |place| {
            let mut found: Vec<_> = entries(&place).into_iter().filter_map(|entry| path_of(&entry)).collect();
            found.retain(|path| path.starts_with(&folder) && *path != folder);
            found.sort();
            found.dedup();
            found
        })
        .await
    }

    /// Returns the path as git has it: links in existing folders are resolved.
    pub(super) async fn worktree_path(&self, path: &Path) -> Result<PathBuf, WorkspaceError> {
        let path = path.to_owned();
        self.run_blocking(move |place| resolve_links(&present_path(place.root.join(path)))).await
    }

    async fn state_of(&self, path: &Path) -> Result<State, WorkspaceError> {
        let path = path.to_owned();
        self.run_blocking(move |place| {
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

    async fn reopen(&self, path: &Path, at: &CommitId) -> Result<Self, WorkspaceError> {
        let there = self.open_existing(path, at).await?;
        let is_after = match there.head().await?.commit() {
            Some(head) => self.descends(head, at).await?,
            None => false,
        };
        if is_after { Ok(there) } else { Err(taken_error(path, at)) }
    }

    async fn open_existing(&self, path: &Path, at: &CommitId) -> Result<Self, WorkspaceError> {
        let there = Self::open_with(path, self.0.options.clone()).await?;
        let is_it = there.0.root == path && there.0.common_dir == self.0.common_dir;
        if is_it { Ok(there) } else { Err(taken_error(path, at)) }
    }

    /// Adds it, and retries if another git that adds one at the same time interferes.
    async fn add_worktree(&self, path: &Path, at: &CommitId) -> Result<(), WorkspaceError> {
        let mut tries = 0;
        loop {
            let add = self
                .git(&["worktree", "add", "--quiet", "--force", "--detach"])
                .arg(path)
                .arg(at.as_str())
                .with_locks(&[]);
            match add.output().await {
                Err(WorkspaceError::GitFailed { .. }) if tries < TRIES => {
                    tries += 1;
                    self.remove_worktree(path).await?;
                    tokio::time::sleep(Duration::from_millis(50 * u64::from(tries))).await;
                }
                added => return added.map(drop),
            }
        }
    }
}

/// State of the path of a work tree.
enum State {
    /// Nothing, or an empty folder.
    Free,
    /// A work tree of this repository.
    Complete,
    /// An incomplete work tree.
    Partial,
    /// Something else.
    Foreign,
}

fn taken_error(path: &Path, at: &CommitId) -> WorkspaceError {
    WorkspaceError::WorktreeTaken { path: path.to_owned(), commit: at.clone() }
}

fn complete(place: &Place) -> Result<(), WorkspaceError> {
    let path = place.git_dir.join(COMPLETE);
    let written = own_folder(place).and_then(|_| fs::write(&path, ""));
    written.map_err(|source| WorkspaceError::Io { doing: "write", path, source })
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

/// Returns whether the work tree is incomplete: it is in the folder of stores, git has not finished it, or it is empty.
fn is_partial(place: &Place, path: &Path, entries: &[PathBuf]) -> bool {
    let is_initializing =
        |entry: &PathBuf| fs::read(entry.join("locked")).is_ok_and(|why| why.starts_with(b"initializing"));
    let is_named = !entries.is_empty() || leads_to(path).is_some_and(|entry| is_entry(place, &entry));
    is_stored(place, path) || is_named && (is_free(path) || entries.iter().any(is_initializing))
}

/// Returns whether it is in the folder of stores, which contains no files of people.
fn is_stored(place: &Place, path: &Path) -> bool {
    let store = place.root.join(".superstep");
    path.starts_with(&store) && path != store
}

/// Returns whether it can be removed without losing files of people: it is empty, its `.git` names a work tree of this
/// repository, or it is in the folder of stores.
fn is_removable(place: &Place, path: &Path) -> bool {
    is_free(path) || leads_to(path).is_some_and(|entry| is_entry(place, &entry)) || is_stored(place, path)
}

/// Removes git's folders of work trees that a kill has left without a work tree: their file `gitdir` is missing or
/// empty. One that another git is just making remains.
pub(super) fn remove_broken_entries(place: &Place) {
    for entry in entries(place) {
        if is_broken(&entry) && !may_use(&entry.join("gitdir"), &[place.root.clone(), place.common_dir.clone()]) {
            // A failure is retried next time.
            let _ = remove(&entry);
        }
    }
}

/// Returns whether it names no work tree, and has not for a while. One that is locked belongs to somebody; one that
/// cannot be read now may be complete.
fn is_broken(entry: &Path) -> bool {
    let is_empty = match fs::read(entry.join("gitdir")) {
        Ok(text) => text.trim_ascii().is_empty(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    let is_old = |about: fs::Metadata| {
        let age = about.modified().ok().and_then(|at| at.elapsed().ok());
        about.is_dir() && age.is_some_and(|age| age >= BROKEN)
    };
    let is_locked = entry.join("locked").symlink_metadata().is_ok();
    is_empty && !is_locked && entry.symlink_metadata().is_ok_and(is_old)
}

/// Removes a folder; the file by which it is recognized last.
fn remove_folder(path: &Path, last: &str) -> Result<(), WorkspaceError> {
    let is_folder = path.symlink_metadata().is_ok_and(|about| about.is_dir());
    if is_folder {
        make_writable(path);
        for entry in fs::read_dir(path).into_iter().flatten().filter_map(Result::ok) {
            if entry.file_name() != *last {
                remove(&entry.path())?;
            }
        }
    }
    remove(path)
}

/// Removes a file, link or folder. Links are not followed.
fn remove(path: &Path) -> Result<(), WorkspaceError> {
    let removed = match remove_path(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            path.parent().into_iter().for_each(make_writable);
            all_writable(path);
            remove_path(path)
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

fn remove_path(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

fn all_writable(path: &Path) {
    if !path.symlink_metadata().is_ok_and(|about| about.is_dir()) {
        return;
    }
    make_writable(path);
    let entries = fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    entries.for_each(|entry| all_writable(&entry.path()));
}

/// Makes a folder writable, so that its files can be removed.
fn make_writable(folder: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // A failure shows when the file is removed.
        let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    }
    #[cfg(not(unix))]
    let _ = folder;
}

/// File in git's folder of a work tree, written once all files are checked out.
pub(super) const COMPLETE: &str = "superstep/complete";

/// Folders of `.superstep` that hold work trees.
const OWN_TREES: [&str; 3] = ["forks", "rewind", "worktrees"];

/// Returns whether it is a work tree that was created by [`detached_worktree`](Workspace::detached_worktree).
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
    tree_of(entry).map(|tree| resolve_links(&tree))
}

/// The same as it is written there.
pub(super) fn tree_of(entry: &Path) -> Option<PathBuf> {
    let file = link_target(entry, fs::read(entry.join("gitdir")).ok()?);
    (file.file_name() == Some(OsStr::new(".git"))).then(|| lexical(file.parent().unwrap_or(&file)))
}

/// Returns the folder of git's named in the `.git` file of a work tree.
pub(super) fn leads_to(path: &Path) -> Option<PathBuf> {
    let file = path.join(".git");
    file.symlink_metadata().ok().filter(fs::Metadata::is_file)?;
    let text = fs::read(file).ok()?;
    Some(resolve_links(&link_target(path, text.strip_prefix(b"gitdir: ")?.to_vec())))
}

/// Returns git's folder of the repository with this work tree, which may be linked.
pub(super) fn common_of(top: &Path) -> Option<PathBuf> {
    let git_dir = git_dir_of(top);
    let common = match fs::read(git_dir.join("commondir")) {
        Ok(text) => link_target(&git_dir, text),
        Err(_) => git_dir,
    };
    common.canonicalize().ok()
}

/// Returns the top of the repository around a folder, which need not exist yet.
pub(super) fn top_of(folder: &Path) -> Option<PathBuf> {
    let folder = resolve_links(&std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()));
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
fn link_target(folder: &Path, text: Vec<u8>) -> PathBuf {
    folder.join(as_path(text.trim_ascii_end()))
}

/// Resolves links in the existing folders above a path, and `..`.
pub(super) fn resolve_links(path: &Path) -> PathBuf {
    let plain = lexical(path);
    let (Some(above), Some(name)) = (plain.parent(), plain.file_name()) else { return plain };
    match above.canonicalize() {
        Ok(above) => above.join(name),
        Err(_) => resolve_links(above).join(name),
    }
}
