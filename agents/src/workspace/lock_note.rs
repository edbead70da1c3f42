//! Durable notes of the locks that a call may leave behind if it is killed: written before the call, removed after it.
//! Knows files and processes, and no call of git.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use std::{fs, process};

use serde::{Deserialize, Serialize};

use super::error::WorkspaceError;
use super::place::Place;
use crate::process::{Life, ProcessId, has_variable};

/// Environment variable by which the processes of a call are found, also those that outlive this one.
pub(super) const VARIABLE: &str = "SUPERSTEP_LOCK_NOTE";
/// Tolerance of the times of files.
const TICK: Duration = Duration::from_millis(20);

/// Notes of calls that this process is making.
static ACTIVE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn active() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    ACTIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Serialize, Deserialize)]
struct Content {
    /// The process that makes the call; `None` where processes are not listed.
    process: Option<ProcessId>,
    /// Time limit of the call.
    seconds: u64,
    /// The locks, relative to git's folder of the repository.
    locks: Vec<String>,
}

/// Note of a call in progress, or of an agent at work. If it is dropped before it is [removed](Self::remove), the locks
/// are removed when they are found.
#[derive(Debug)]
#[must_use = "it has to be removed after the call"]
pub struct LockNote(PathBuf);

impl LockNote {
    /// Writes a note, and waits until it is on the disk.
    pub(super) fn write(place: &Place, locks: Vec<String>, limit: Duration) -> Result<Self, WorkspaceError> {
        let folder = folder(place);
        let failed = |source| WorkspaceError::Io { doing: "write", path: folder.clone(), source };
        let content = Content { process: ProcessId::own(), seconds: limit.as_secs(), locks };
        let text = serde_json::to_vec(&content).map_err(|error| failed(io::Error::other(error)))?;
        fs::create_dir_all(&folder).and_then(|()| create(&folder, &text)).map_err(failed)
    }

    /// Returns the value of the [variable](VARIABLE) for the processes of the call.
    pub(super) fn id(&self) -> String {
        id(&self.0)
    }

    /// Removes the note of a program that has ended, unless a lock is there that it may have left: it, or a program that
    /// it started, may have been killed.
    pub(super) fn end(self, place: &Place) {
        let noted = Noted::read(place, &self.0);
        if noted.is_none_or(|noted| noted.existing().is_empty()) {
            self.remove();
        }
    }

    /// Removes the note after the call has ended.
    pub fn remove(self) {
        // A note without locks does no harm; it is removed with those of killed runs.
        let _ = fs::remove_file(&self.0);
    }
}

impl Drop for LockNote {
    fn drop(&mut self) {
        active().remove(&self.0);
    }
}

/// Creates a note with a name of its own.
fn create(folder: &Path, text: &[u8]) -> io::Result<LockNote> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let name = format!("{}-{since}-{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let note = LockNote(folder.join(name));
    active().insert(note.0.clone());
    let mut file = fs::File::create_new(&note.0)?;
    file.write_all(text)?;
    file.sync_data()?;
    if cfg!(unix) {
        fs::File::open(folder)?.sync_data()?;
    }
    Ok(note)
}

/// A note as it was read.
pub(super) struct Noted {
    path: PathBuf,
    content: Option<Content>,
    locks: Vec<PathBuf>,
    /// Time in which the locks were created.
    times: [SystemTime; 2],
}

impl Noted {
    /// Returns the notes of calls of which no process is left.
    pub(super) fn left(place: &Place) -> Vec<Self> {
        let entries = fs::read_dir(folder(place)).into_iter().flatten().filter_map(Result::ok);
        entries.filter_map(|entry| Self::read(place, &entry.path())).filter(Self::is_over).collect()
    }

    fn read(place: &Place, path: &Path) -> Option<Self> {
        let at = path.symlink_metadata().ok().filter(fs::Metadata::is_file)?.modified().ok()?;
        // A truncated note was written before the call.
        let content: Option<Content> = fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let limit = Duration::from_secs(content.as_ref().map_or(0, |content| content.seconds));
        let names = content.iter().flat_map(|content| &content.locks).filter(|lock| is_inside(lock));
        let locks = names.map(|lock| place.common_dir.join(lock)).collect();
        let times = [at.checked_sub(TICK)?, at.checked_add(limit)?];
        Some(Self { path: path.to_owned(), content, locks, times })
    }

    fn is_over(&self) -> bool {
        self.content.as_ref().is_none_or(|content| content.is_over(&self.path)) && !active().contains(&self.path)
    }

    /// Returns the existing locks that the call may have created.
    pub(super) fn existing(&self) -> Vec<PathBuf> {
        let mut found = vec![];
        self.locks.iter().for_each(|lock| locks_at(lock, &mut found));
        found.retain(|lock| {
            let at = lock.symlink_metadata().ok().and_then(|about| changed(&about));
            at.is_some_and(|at| self.times[0] <= at && at <= self.times[1])
        });
        found
    }

    /// Removes it.
    pub(super) fn remove(&self) {
        // A failure is retried next time.
        let _ = fs::remove_file(&self.path);
    }
}

impl Content {
    /// Returns whether no process of the call is left.
    fn is_over(&self, path: &Path) -> bool {
        let Some(process) = &self.process else { return false };
        let is_calling = match process.life() {
            Life::Ended => false,
            // The notes of this process that are in use are known.
            Life::Alive => !process.is_own(),
            Life::Unknown => true,
        };
        !is_calling && !has_variable(VARIABLE, &id(path))
    }
}

/// Returns when a file was last changed. A new index has the modification time of an older file.
#[cfg(unix)]
fn changed(about: &fs::Metadata) -> Option<SystemTime> {
    use std::os::unix::fs::MetadataExt;
    let since = Duration::new(about.ctime().try_into().ok()?, about.ctime_nsec().try_into().ok()?);
    SystemTime::UNIX_EPOCH.checked_add(since)
}

#[cfg(not(unix))]
fn changed(about: &fs::Metadata) -> Option<SystemTime> {
    about.modified().ok()
}

/// Adds a lock, or all locks in a folder.
fn locks_at(path: &Path, found: &mut Vec<PathBuf>) {
    let Ok(about) = path.symlink_metadata() else { return };
    if !about.is_dir() {
        found.extend(is_lock(path).then(|| path.to_owned()));
        return;
    }
    let entries = fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    entries.for_each(|entry| locks_at(&entry.path(), found));
}

fn is_lock(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "lock")
}

/// Returns whether it is a path below a folder: notes are files that an agent may have changed.
fn is_inside(lock: &str) -> bool {
    let is_plain = Path::new(lock).components().all(|part| matches!(part, Component::Normal(_)));
    is_plain && (lock == "refs" || is_lock(Path::new(lock)))
}

fn folder(place: &Place) -> PathBuf {
    place.common_dir.join("superstep").join("locks")
}

fn id(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
