//! The workspace itself: which repository, where its parts lie, and how the rest of the room reads it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use git2::{ErrorCode, Repository};

use super::error::WorkspaceError;
use super::id::TreeId;
use super::options::WorkspaceOptions;
use super::paths;
use super::place::{Fault, Place, Workspace, is_unborn, join};
use super::program::Call;

/// The oldest git that has all that is used here.
const OLDEST: (u32, u32) = (2, 30);

impl Workspace {
    /// Opens the repository that `dir` lies in, with the usual options.
    ///
    /// # Errors
    /// [`NoRepository`](WorkspaceError::NoRepository), [`Bare`](WorkspaceError::Bare),
    /// [`NotYours`](WorkspaceError::NotYours) or [`Unreadable`](WorkspaceError::Unreadable) for the repository,
    /// [`GitMissing`](WorkspaceError::GitMissing) or [`GitTooOld`](WorkspaceError::GitTooOld) for the program.
    pub async fn open(dir: impl AsRef<Path>) -> Result<Self, WorkspaceError> {
        Self::open_with(dir, WorkspaceOptions::new()).await
    }

    /// Opens the repository that `dir` lies in.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub async fn open_with(dir: impl AsRef<Path>, options: WorkspaceOptions) -> Result<Self, WorkspaceError> {
        let dir = dir.as_ref().to_owned();
        let place = join(tokio::task::spawn_blocking(move || find(&dir, options)).await, &PathBuf::new())?;
        let place = Arc::new(place);
        check_version(&place).await?;
        Ok(Self(place))
    }

    /// Returns the top folder of the work tree.
    pub fn root(&self) -> &Path {
        &self.0.root
    }

    /// Returns the folder where git keeps what belongs to this work tree alone.
    pub fn git_dir(&self) -> &Path {
        &self.0.git_dir
    }

    /// Returns the folder where git keeps what all work trees of the repository share.
    pub fn common_dir(&self) -> &Path {
        &self.0.common_dir
    }

    /// A call of the git program, here.
    pub(super) fn git(&self, args: &[&str]) -> Call<'_> {
        Call::new(&self.0, args)
    }

    /// Reads the work tree's repository, away from the async threads.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Repository, &Place) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, WorkspaceError> {
        let open = |place: &Place| match place.shelter {
            Some(_) => Repository::open_bare(&place.git_dir),
            None => Repository::open(&place.root),
        };
        self.with(doing, open, work).await
    }

    /// Works on objects and branches alone: no file of the work tree has a say, such as `.gitattributes`.
    pub(super) async fn objects<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Repository, &Place) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, WorkspaceError> {
        let open = |place: &Place| match place.shelter {
            Some(_) if cfg!(unix) => Repository::open_bare(&place.git_dir),
            Some(_) | None => Repository::open_bare(&place.common_dir),
        };
        self.with(doing, open, work).await
    }

    async fn with<T: Send + 'static>(
        &self,
        doing: &'static str,
        open: fn(&Place) -> Result<Repository, git2::Error>,
        work: impl FnOnce(&Repository, &Place) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, WorkspaceError> {
        let place = Arc::clone(&self.0);
        let worked = tokio::task::spawn_blocking(move || {
            let repository =
                open(&place).map_err(|source| WorkspaceError::Unreadable { dir: place.root.clone(), source })?;
            work(&repository, &place).map_err(|fault| fault.told(doing))
        });
        join(worked.await, &self.0.root)
    }

    /// Looks at files, away from the async threads and without libgit2's idea of a repository.
    pub(super) async fn look<T: Send + 'static>(
        &self,
        work: impl FnOnce(Arc<Place>) -> T + Send + 'static,
    ) -> Result<T, WorkspaceError> {
        let place = Arc::clone(&self.0);
        join(tokio::task::spawn_blocking(move || Ok(work(place))).await, &self.0.root)
    }

    /// Returns the tree of HEAD's commit, if there is one.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if it cannot be read.
    pub async fn head_tree(&self) -> Result<Option<TreeId>, WorkspaceError> {
        self.read("read HEAD", |repository, _| match repository.head() {
            Ok(head) => Ok(Some(head.peel_to_tree()?.id().into())),
            Err(error) if is_unborn(&error) => Ok(None),
            Err(error) => Err(error.into()),
        })
        .await
    }
}

fn find(dir: &Path, options: WorkspaceOptions) -> Result<Place, WorkspaceError> {
    let repository = Repository::discover(dir).map_err(|source| unopened(dir, source))?;
    let Some(root) = repository.workdir() else {
        return Err(WorkspaceError::Bare { dir: repository.path().to_owned() });
    };
    let canonical = |path: &Path| {
        path.canonicalize().map_err(|source| WorkspaceError::Io { doing: "find", path: path.to_owned(), source })
    };
    let root = canonical(root)?;
    let (git_dir, common_dir) = (canonical(repository.path())?, canonical(repository.commondir())?);
    let apart = options.apart.iter().filter_map(|file| paths::inside(&root, file)).collect();
    Ok(Place { root, git_dir, common_dir, options, apart, shelter: None })
}

fn unopened(dir: &Path, source: git2::Error) -> WorkspaceError {
    let dir = dir.to_owned();
    match source.code() {
        ErrorCode::NotFound => WorkspaceError::NoRepository { dir },
        ErrorCode::Owner => WorkspaceError::NotYours { dir },
        _ => WorkspaceError::Unreadable { dir, source },
    }
}

/// The programs that are known to be new enough, each with the path it was looked for in: a run opens its workspace at every
/// step, and asks git for its version once.
static CHECKED: Mutex<BTreeSet<(PathBuf, Option<OsString>)>> = Mutex::new(BTreeSet::new());

async fn check_version(place: &Arc<Place>) -> Result<(), WorkspaceError> {
    let checked = || CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
    let which = (place.options.program.clone(), place.options.variable("PATH"));
    if checked().contains(&which) {
        return Ok(());
    }
    let said = Call::new(place, &["version"]).done().await?;
    let said = String::from_utf8_lossy(&said);
    let found = said.trim().trim_start_matches("git version ").to_owned();
    let mut numbers = found.split(['.', ' ']).map_while(|number| number.parse().ok());
    if (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < OLDEST {
        return Err(WorkspaceError::GitTooOld { found, needed: format!("{}.{}", OLDEST.0, OLDEST.1) });
    }
    checked().insert(which);
    Ok(())
}
