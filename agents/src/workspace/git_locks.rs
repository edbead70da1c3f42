//! Locks of git that a call takes: `index.lock`, `HEAD.lock`, `refs/….lock` and others. They are waited for, noted
//! durably for the case that the call is killed, and named if they are somebody else's.
//!
//! Those that killed runs left behind are removed. A lock is one of theirs if a note claims it, no process of the call
//! is left, and no other process uses it. One that a note does not name must also be such that nobody else can have
//! made it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, thread};

use async_recursion::async_recursion as boxed;

use super::error::WorkspaceError;
use super::lock_note::{ClaimKind, LockNote, NotedLock, NotedLocks, StoredNote};
use super::place::{Fault, Place, Workspace};
use super::worktree::{entries, is_made_for_agents, path_of};
use crate::process::{may_use, works_in};

/// Interval at which a lock is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// Interval at which it is examined whether the lock is one of a killed run. That reads the open files of all processes.
const EXAMINE: Duration = Duration::from_millis(500);
/// Time limit of a call of libgit2, and of a file that this program writes by itself.
const OWN_LIMIT: Duration = Duration::from_secs(600);

/// Locks that a call takes, which have to be free, and those that it or its hooks may take.
#[derive(Clone, Debug, Default)]
pub(super) struct Locks(NotedLocks);

impl Locks {
    /// Returns the locks of files: `index`, `HEAD` and others of the work tree, `refs/…` and `packed-refs` of the
    /// repository.
    pub(super) fn of(place: &Place, files: &[&str]) -> Self {
        let named = files.iter().filter_map(|file| relative(place, file)).collect();
        Self(NotedLocks { named, ..NotedLocks::default() })
    }

    /// Adds all locks that programs of git take.
    pub(super) fn with_all(mut self, place: &Place) -> Self {
        const FILES: [&str; 9] = [
            "index",
            "HEAD",
            "ORIG_HEAD",
            "AUTO_MERGE",
            "config.worktree",
            "config",
            "packed-refs",
            "shallow",
            "objects/maintenance",
        ];
        self.0.possible = FILES.iter().filter_map(|file| relative(place, file)).chain(["refs".to_owned()]).collect();
        self
    }

    /// Returns the first lock that is not free.
    fn blocking_lock(&self, place: &Place) -> Option<PathBuf> {
        self.0.named.iter().map(|lock| place.common_dir.join(lock)).find(|lock| lock.symlink_metadata().is_ok())
    }

    /// Waits until the locks are free. Those of killed runs are removed.
    pub(super) fn wait(&self, place: &Place) -> Result<(), WorkspaceError> {
        let begin = Instant::now();
        let mut examined: Option<Instant> = None;
        while let Some(lock) = self.blocking_lock(place) {
            if examined.is_none_or(|at| at.elapsed() > EXAMINE) {
                examined = Some(Instant::now());
                remove_left(place);
            } else if begin.elapsed() >= place.options.lock_wait {
                return Err(locked_error(lock));
            } else {
                thread::sleep(LOOK.min(place.options.lock_wait));
            }
        }
        Ok(())
    }

    /// Waits until the locks are free, and notes them for a program that runs up to `limit`.
    pub(super) fn wait_and_note(&self, place: &Place, limit: Duration) -> Result<LockNote, WorkspaceError> {
        if !self.0.possible.is_empty() {
            remove_left(place);
        }
        self.wait(place)?;
        LockNote::write(place, self.0.clone(), limit)
    }
}

impl Workspace {
    /// Notes that an agent works here for up to `limit`, so that locks of git are recognized that it leaves behind if it
    /// is killed, also together with this process. Locks from after its end are not.
    ///
    /// # Errors
    /// [`Io`](WorkspaceError::Io) if the note cannot be written.
    #[boxed]
    pub async fn note_agent(&self, limit: Duration) -> Result<LockNote, WorkspaceError> {
        self.run_blocking(move |place| {
            remove_left(&place);
            let mut locks = Locks::default().with_all(&place).0;
            if is_made_for_agents(&place) {
                locks.own.extend(below_common(&place, &place.git_dir));
            }
            LockNote::of_agent(&place, locks, limit)
        })
        .await?
    }

    /// Ends the [note](Self::note_agent) of an agent. It stays if the agent has left a lock.
    ///
    /// # Errors
    /// [`Io`](WorkspaceError::Io) if the blocking task fails.
    #[boxed]
    pub async fn agent_ended(&self, note: LockNote) -> Result<(), WorkspaceError> {
        self.run_blocking(|place| note.end(&place)).await
    }
}

/// Does work of this process that takes the locks of files, and repeats it if somebody else was faster.
pub(super) fn with_locks<T>(place: &Place, files: &[&str], work: impl Fn() -> Result<T, Fault>) -> Result<T, Fault> {
    let (locks, begin) = (Locks::of(place, files), Instant::now());
    loop {
        let note = locks.wait_and_note(place, OWN_LIMIT)?;
        let worked = work();
        note.remove();
        match worked {
            Err(fault) if fault.is_locked() && begin.elapsed() < place.options.lock_wait => thread::sleep(LOOK),
            worked => return worked,
        }
    }
}

/// Returns the error about a lock that is not ours.
pub(super) fn locked_error(path: PathBuf) -> WorkspaceError {
    let age = fs::symlink_metadata(&path).and_then(|about| about.modified()).ok();
    WorkspaceError::Locked { age: age.and_then(|at| at.elapsed().ok()).unwrap_or_default(), path }
}

/// Returns the lock that git could not take, as its message names it.
pub(super) fn named_in(message: &str) -> Option<PathBuf> {
    let (_, rest) = message.split_once("Unable to create '")?;
    let (path, _) = rest.split_once(".lock': File exists")?;
    Some(PathBuf::from(format!("{path}.lock")))
}

/// Returns the lock of a file, relative to git's folder of the repository; `None` if it is outside.
fn relative(place: &Place, file: &str) -> Option<String> {
    const SHARED: [&str; 4] = ["config", "packed-refs", "shallow", "objects/maintenance"];
    let is_shared = file.starts_with("refs/") || SHARED.contains(&file);
    let folder = if is_shared { &place.common_dir } else { &place.git_dir };
    let lock = folder.join(format!("{file}.lock"));
    below_common(place, &lock)
}

fn below_common(place: &Place, path: &Path) -> Option<String> {
    path.strip_prefix(&place.common_dir).ok().and_then(Path::to_str).map(str::to_owned)
}

/// Removed locks that were not reported yet, by repository.
static REMOVED: Mutex<BTreeMap<PathBuf, Vec<PathBuf>>> = Mutex::new(BTreeMap::new());

fn removed_by_repository() -> MutexGuard<'static, BTreeMap<PathBuf, Vec<PathBuf>>> {
    REMOVED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Workspace {
    /// Returns a notice for each lock that a killed run had left in the repository, and that was removed since the last
    /// call.
    pub fn removed_locks(&self) -> Vec<String> {
        let locks = removed_by_repository().remove(&self.0.common_dir).unwrap_or_default();
        let notice = |lock: PathBuf| format!("the lock {} of a killed run was removed", lock.display());
        locks.into_iter().map(notice).collect()
    }
}

/// Removes the locks of killed runs, and the notes of them.
pub(super) fn remove_left(place: &Place) {
    let notes = StoredNote::leftovers(place);
    if notes.is_empty() {
        return;
    }
    // Two processes must not remove at once: the second might remove a lock that was taken since.
    let Ok(alone) = fs::File::create(place.common_dir.join("superstep").join("left-locks")) else { return };
    if alone.try_lock().is_err() {
        return;
    }
    for note in &notes {
        let mut is_done = true;
        for lock in note.existing_locks() {
            if is_left(place, &lock) && fs::remove_file(&lock.path).is_ok() {
                removed_by_repository().entry(place.common_dir.clone()).or_default().push(lock.path);
            } else {
                is_done = false;
            }
        }
        if is_done {
            note.remove();
        }
    }
}

/// Returns whether no living process can be the one that holds a lock.
fn is_left(place: &Place, lock: &NotedLock) -> bool {
    let folders = match lock.claim {
        ClaimKind::Own => folders_of(&lock.path),
        ClaimKind::Named | ClaimKind::Possible => folders(place),
    };
    // A program may close its lock while it holds it: who else could have made one that no note names?
    let is_anyones = lock.claim != ClaimKind::Named && works_in(&folders, lock.made);
    !is_anyones && !may_use(&lock.path, &folders)
}

/// Returns the folders of all work trees of the repository, with git's own.
fn folders(place: &Place) -> Vec<PathBuf> {
    let main = place.main_tree().into_iter().map(Path::to_owned);
    let linked = entries(place).into_iter().filter_map(|entry| path_of(&entry));
    let here = [place.root.clone(), place.git_dir.clone(), place.common_dir.clone()];
    main.chain(linked).chain(here).collect()
}

/// Returns the folders of the linked work tree whose lock this is.
fn folders_of(lock: &Path) -> Vec<PathBuf> {
    let entry = lock.parent().map(Path::to_owned);
    entry.iter().filter_map(|entry| path_of(entry)).chain(entry.clone()).collect()
}
