//! Opens a workspace: finds the repository and its folders, and provides access to them for the rest of the room. Where
//! hooks or configuration may have been changed by an agent, git gets a separate folder that contains only HEAD and the
//! repository's objects, so that no configuration, hook, filter or include of the repository is read.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fs, io};

use async_recursion::async_recursion as boxed;
use git2::{ErrorCode, Repository};
use superstep_base::moved::{present_path, stored_path};

use super::error::WorkspaceError;
use super::id::TreeId;
use super::options::{COMMIT_LIMIT, COMMIT_TIMEOUT, LIMIT, TIMEOUT, WorkspaceOptions};
use super::place::{Fault, Place, SEPARATE, SeparateGitDir, Workspace, inside, is_unborn, join, own_folder};
use super::program::Call;
use super::worktree::entries_of;
use crate::process::run_blocking;

/// Minimum version of git.
const OLDEST: (u32, u32) = (2, 30);

impl Workspace {
    /// Opens the repository that contains `dir`, with default options.
    ///
    /// # Errors
    /// [`NoRepository`](WorkspaceError::NoRepository), [`Bare`](WorkspaceError::Bare),
    /// [`NotYours`](WorkspaceError::NotYours) or [`Unreadable`](WorkspaceError::Unreadable) for the repository,
    /// [`GitMissing`](WorkspaceError::GitMissing) or [`GitTooOld`](WorkspaceError::GitTooOld) for the program.
    pub async fn open(dir: impl AsRef<Path>) -> Result<Self, WorkspaceError> {
        Self::open_with(dir, WorkspaceOptions::new()).await
    }

    /// Opens the repository that contains `dir`.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub async fn open_with(dir: impl AsRef<Path>, options: WorkspaceOptions) -> Result<Self, WorkspaceError> {
        let dir = present_path(dir);
        let place = join(run_blocking(move || find(&dir, options)).await, &PathBuf::new())?;
        let place = Arc::new(place);
        check_version(&place).await?;
        Ok(Self(place))
    }

    /// Returns the top folder of the work tree.
    pub fn root(&self) -> &Path {
        &self.0.root
    }

    /// Returns the same by the path that a run stores: that from before a move of the repository, as all that it stored.
    pub fn stored_root(&self) -> PathBuf {
        stored_path(&self.0.root)
    }

    /// Returns git's folder for this work tree.
    pub fn git_dir(&self) -> &Path {
        &self.0.git_dir
    }

    /// Returns git's folder shared by all work trees of the repository.
    pub fn common_dir(&self) -> &Path {
        &self.0.common_dir
    }

    /// Returns a call of the git program in this work tree.
    pub(super) fn git(&self, args: &[&str]) -> Call<'_> {
        Call::new(&self.0, args)
    }

    /// Runs work on the work tree's repository, on a blocking thread.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Repository, &Place) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, WorkspaceError> {
        let open = |place: &Place| match place.separate_git_dir {
            Some(_) => Repository::open_bare(&place.git_dir),
            None => Repository::open(&place.root),
        };
        self.with(doing, open, work).await
    }

    /// Runs work on objects and branches only: files of the work tree, such as `.gitattributes`, have no influence.
    pub(super) async fn objects<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Repository, &Place) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, WorkspaceError> {
        let open = |place: &Place| match place.separate_git_dir {
            Some(_) if cfg!(unix) => Repository::open_bare(&place.git_dir),
            Some(_) | None => Repository::open_bare(&place.common_dir),
        };
        self.with(doing, open, work).await
    }

    /// Does the same for work that writes objects.
    pub(super) async fn new_objects<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Repository, &Place) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, WorkspaceError> {
        self.after_collection().await;
        self.objects(doing, work).await
    }

    async fn with<T: Send + 'static>(
        &self,
        doing: &'static str,
        open: fn(&Place) -> Result<Repository, git2::Error>,
        work: impl FnOnce(&Repository, &Place) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, WorkspaceError> {
        let place = Arc::clone(&self.0);
        let worked = run_blocking(move || {
            let repository = open(&place).map_err(|source| unreadable_error(&place.root, source))?;
            work(&repository, &place).map_err(|fault| fault.into_error(doing))
        });
        join(worked.await, &self.0.root)
    }

    /// Runs work on files, on a blocking thread and without libgit2.
    pub(super) async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(Arc<Place>) -> T + Send + 'static,
    ) -> Result<T, WorkspaceError> {
        let place = Arc::clone(&self.0);
        join(run_blocking(move || Ok(work(place))).await, &self.0.root)
    }

    /// Returns the tree of HEAD's commit, if there is one.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if it cannot be read.
    #[boxed]
    pub async fn head_tree(&self) -> Result<Option<TreeId>, WorkspaceError> {
        self.read("read HEAD", |repository, _| match repository.head() {
            Ok(head) => Ok(Some(head.peel_to_tree()?.id().into())),
            Err(error) if is_unborn(&error) => Ok(None),
            Err(error) => Err(error.into()),
        })
        .await
    }
}

fn find(dir: &Path, mut options: WorkspaceOptions) -> Result<Place, WorkspaceError> {
    let repository = Repository::discover(dir).map_err(|source| open_error(dir, source))?;
    let Some(root) = repository.workdir() else {
        return Err(WorkspaceError::Bare { dir: repository.path().to_owned() });
    };
    let canonical = |path: &Path| {
        path.canonicalize().map_err(|source| WorkspaceError::Io { doing: "find", path: path.to_owned(), source })
    };
    let root = canonical(root)?;
    let (git_dir, common_dir) = (canonical(repository.path())?, canonical(repository.commondir())?);
    let apart = options.apart.iter().filter_map(|file| inside(&root, file)).collect();
    options.limit.get_or_insert_with(|| configured_limit(&repository, TIMEOUT, LIMIT));
    options.commit_limit.get_or_insert_with(|| configured_limit(&repository, COMMIT_TIMEOUT, COMMIT_LIMIT));
    Ok(Place { root, git_dir, common_dir, options, apart, separate_git_dir: None })
}

/// Returns the time limit that git's configuration names: whole seconds, or a text such as `90s`, `10m`, `1h`.
fn configured_limit(repository: &Repository, key: &str, default: Duration) -> Duration {
    let text = repository.config().and_then(|config| config.get_string(key));
    text.ok().as_deref().and_then(seconds).map_or(default, Duration::from_secs)
}

fn seconds(text: &str) -> Option<u64> {
    let (number, factor) = [("s", 1), ("m", 60), ("h", 3600), ("", 1)]
        .into_iter()
        .find_map(|(unit, factor)| Some((text.trim().strip_suffix(unit)?, factor)))?;
    number.trim_end().parse::<u64>().ok().filter(|number| *number > 0)?.checked_mul(factor)
}

fn open_error(dir: &Path, source: git2::Error) -> WorkspaceError {
    let dir = dir.to_owned();
    match source.code() {
        ErrorCode::NotFound => match linked_git_dir(&dir) {
            Some(path) => WorkspaceError::LinkedGitDir { path },
            None => WorkspaceError::NoRepository { dir },
        },
        ErrorCode::Owner => WorkspaceError::NotYours { dir },
        _ => unreadable_error(&dir, source),
    }
}

/// Returns the nearest `.git` above a folder, if it is a symbolic link to a folder.
fn linked_git_dir(dir: &Path) -> Option<PathBuf> {
    let nearest = dir.ancestors().map(|above| above.join(".git")).find(|path| path.symlink_metadata().is_ok())?;
    (nearest.is_symlink() && nearest.is_dir()).then_some(nearest)
}

fn unreadable_error(dir: &Path, source: git2::Error) -> WorkspaceError {
    tracing::warn!(dir = %dir.display(), error = ?source, "libgit2 failed");
    WorkspaceError::Unreadable { dir: dir.to_owned(), cause: source.into() }
}

/// Programs whose version was checked, each with the `PATH` of its lookup: a run opens its workspace at every step, but
/// should check the version of git once.
static CHECKED: Mutex<BTreeSet<(PathBuf, Option<OsString>)>> = Mutex::new(BTreeSet::new());

async fn check_version(place: &Arc<Place>) -> Result<(), WorkspaceError> {
    let checked = || CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
    let which = (place.options.program.clone(), place.options.variable("PATH"));
    if checked().contains(&which) {
        return Ok(());
    }
    let output = Call::new(place, &["version"]).output().await?;
    let output = String::from_utf8_lossy(&output);
    let found = output.trim().trim_start_matches("git version ").to_owned();
    let mut numbers = found.split(['.', ' ']).map_while(|number| number.parse().ok());
    if (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < OLDEST {
        return Err(WorkspaceError::GitTooOld { found, needed: format!("{}.{}", OLDEST.0, OLDEST.1) });
    }
    checked().insert(which);
    Ok(())
}

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
    #[boxed]
    pub async fn open_guarded(&self) -> Result<Self, WorkspaceError> {
        let place = self.run_blocking(|place| guarded_place(&place, &place.root, Some(&place.git_dir))).await??;
        Ok(Self(Arc::new(place)))
    }

    /// Opens the linked work tree at `path` as [`open_guarded`](Self::open_guarded) does. Its own `.git` file is not read,
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
    let apart = place.options.apart.iter().filter_map(|file| inside(root, file)).collect();
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
    let name = format!("{SEPARATE}{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
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
    fs::write(folder.join("objects/info/alternates"), super::place::as_bytes(&common_dir.join("objects")))
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
