//! Lock of a work tree: one live run at a time. The system releases it when the process that holds it dies.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_recursion::async_recursion as boxed;

use super::cause::Holder;
use super::error::WorkspaceError;
use super::git_locks::remove_left;
use super::guard::{end_trust, trust};
use super::place::{Place, SEPARATE, Workspace, own_folder};
use super::worktree::remove_broken_entries;

/// Time for retries: a run that has just ended, or a check, may hold the lock for a moment.
const PATIENCE: Duration = Duration::from_millis(300);

/// Exclusive right to work in a work tree, until dropped or the process ends.
#[derive(Debug)]
#[must_use = "the work tree is free again as soon as this is dropped"]
pub struct WorkspaceLock {
    file: File,
    git_dir: PathBuf,
}

impl Drop for WorkspaceLock {
    fn drop(&mut self) {
        end_trust(&self.git_dir);
        // A child process that is being spawned may share the file for a moment.
        let _ = self.file.unlock();
    }
}

impl Workspace {
    /// Locks the work tree for a thread. Hooks and configuration are trusted in their current state: until the lock is
    /// dropped, git is not run if they change. Linked work trees of one repository have separate locks.
    ///
    /// # Errors
    /// [`Busy`](WorkspaceError::Busy) with the process that holds it.
    #[boxed]
    pub async fn lock(&self, thread: &str) -> Result<WorkspaceLock, WorkspaceError> {
        let thread = thread.to_owned();
        self.run_blocking(move |place| {
            let path = path_in(&place);
            let opened = own_folder(&place).and_then(|_| own_file(&path));
            let failed = |source| WorkspaceError::Io { doing: "lock", path: path.clone(), source };
            let mut file = opened.map_err(failed)?;
            if !wait_for_lock(&file).map_err(failed)? {
                return Err(WorkspaceError::Busy { root: place.root.clone(), holder: read(&mut file) });
            }
            sign(&mut file, thread).map_err(failed)?;
            sweep(&place);
            remove_left(&place);
            remove_broken_entries(&place);
            trust(&place);
            Ok(WorkspaceLock { file, git_dir: place.git_dir.clone() })
        })
        .await?
    }

    /// Checks that no run holds the work tree. Nothing is written.
    ///
    /// # Errors
    /// [`Busy`](WorkspaceError::Busy) with the process that holds it.
    #[boxed]
    pub async fn ensure_unheld(&self) -> Result<(), WorkspaceError> {
        self.run_blocking(|place| {
            let Ok(mut file) = File::open(path_in(&place)) else { return Ok(()) };
            match file.try_lock_shared() {
                Err(TryLockError::WouldBlock) => {
                    Err(WorkspaceError::Busy { root: place.root.clone(), holder: read(&mut file) })
                }
                // Free, or unknown: a later lock attempt will tell.
                Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
            }
        })
        .await?
    }
}

fn path_in(place: &Place) -> PathBuf {
    place.git_dir.join("superstep").join("lock")
}

/// Opens the lock file without following a link.
fn own_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    }
    options.open(path)
}

fn wait_for_lock(file: &File) -> io::Result<bool> {
    let (step, mut left) = (Duration::from_millis(10), PATIENCE);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(source)) => return Err(source),
            Err(TryLockError::WouldBlock) if left.is_zero() => return Ok(false),
            Err(TryLockError::WouldBlock) => std::thread::sleep(step),
        }
        left = left.saturating_sub(step);
    }
}

fn read(file: &mut File) -> Holder {
    let mut text = String::new();
    let read = file.read_to_string(&mut text).ok().and_then(|_| serde_json::from_str(&text).ok());
    read.unwrap_or(Holder { pid: None, thread: String::new(), since: 0 })
}

fn sign(file: &mut File, thread: String) -> io::Result<()> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_millis());
    let holder = Holder { pid: Some(std::process::id()), thread, since: u64::try_from(since).unwrap_or(u64::MAX) };
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(&serde_json::to_vec(&holder)?)
}

/// Removes the temporary indexes and separate git folders of killed runs.
fn sweep(place: &Place) {
    let entries = fs::read_dir(place.git_dir.join("superstep")).into_iter().flatten().filter_map(Result::ok);
    for entry in entries {
        // Failures are retried next time.
        let _ = match entry.file_name().to_string_lossy() {
            name if name.starts_with("index-") => fs::remove_file(entry.path()),
            name if name.starts_with(SEPARATE) => fs::remove_dir_all(entry.path()),
            _ => Ok(()),
        };
    }
}
