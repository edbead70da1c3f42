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
use crate::process::{EndMark, Life, ProcessId, boot_time, has_variable};

/// Environment variable by which the processes of a call are found, also those that outlive this one.
pub(super) const VARIABLE: &str = "SUPERSTEP_LOCK_NOTE";
/// Tolerance of the times of files.
const TICK: Duration = Duration::from_millis(20);
/// Time for which an agent may outlive the process that runs it, until its group is killed.
const OUTLIVES: Duration = Duration::from_millis(200);
/// Ending of the name of a file that is made when an agent's turn ends.
const END: &str = "end";

/// Notes of calls that this process is making.
static ACTIVE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn active_notes() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    ACTIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks that a call or an agent may leave behind, relative to git's folder of the repository.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct NotedLocks {
    /// Locks that it takes.
    #[serde(rename = "locks")]
    pub(super) named: Vec<String>,
    /// Locks that a program that it starts may take; `refs`: all below it.
    #[serde(default)]
    pub(super) possible: Vec<String>,
    /// Folder of git's for a work tree that nobody else works in: all locks in it.
    #[serde(default)]
    pub(super) own: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Content {
    /// The process that makes the call; `None` where processes are not listed.
    process: Option<ProcessId>,
    /// Time limit in seconds.
    seconds: u64,
    /// True for an agent, whose end is marked.
    #[serde(default)]
    is_agent: bool,
    #[serde(flatten)]
    locks: NotedLocks,
}

/// Note of a call in progress, or of an agent at work. If it is dropped before it is [removed](Self::remove), the locks
/// are removed when they are found.
#[derive(Debug)]
#[must_use = "it has to be removed after the call"]
pub struct LockNote {
    path: PathBuf,
    /// The end of an agent's turn is marked, also if this process is killed.
    mark: Option<EndMark>,
    is_agent: bool,
}

impl LockNote {
    /// Writes a note, and waits until it is on the disk.
    pub(super) fn write(place: &Place, locks: NotedLocks, limit: Duration) -> Result<Self, WorkspaceError> {
        Self::write_note(place, locks, limit, false)
    }

    /// Writes the note of an agent, whose end is marked.
    pub(super) fn of_agent(place: &Place, locks: NotedLocks, limit: Duration) -> Result<Self, WorkspaceError> {
        let mut note = Self::write_note(place, locks, limit, true)?;
        note.mark = EndMark::start(&end_of(&note.path));
        note.is_agent = true;
        Ok(note)
    }

    fn write_note(place: &Place, locks: NotedLocks, limit: Duration, is_agent: bool) -> Result<Self, WorkspaceError> {
        let folder = folder(place);
        let failed = |source| WorkspaceError::Io { doing: "write", path: folder.clone(), source };
        let content = Content { process: ProcessId::own(), seconds: limit.as_secs(), is_agent, locks };
        let text = serde_json::to_vec(&content).map_err(|error| failed(io::Error::other(error)))?;
        fs::create_dir_all(&folder).and_then(|()| create(&folder, &text)).map_err(failed)
    }

    /// Returns the value of the [variable](VARIABLE) for the processes of the call.
    pub(super) fn id(&self) -> String {
        id(&self.path)
    }

    /// Ends the note of a program that has ended. It stays if a lock is there that the program may have left: it, or one
    /// that it started, may have been killed.
    pub(super) fn end(mut self, place: &Place) {
        self.mark_end();
        let noted = StoredNote::read(place, &self.path);
        if noted.is_none_or(|noted| noted.existing_locks().is_empty()) {
            self.remove();
        }
    }

    /// Removes the note after the call has ended.
    pub fn remove(mut self) {
        self.mark = None;
        self.is_agent = false;
        remove(&self.path);
    }

    fn mark_end(&mut self) {
        self.mark = None;
        // Without it, no lock of the agent is recognized.
        let _ = fs::write(end_of(&self.path), "ended");
        self.is_agent = false;
    }
}

impl Drop for LockNote {
    fn drop(&mut self) {
        if self.is_agent {
            self.mark_end();
        }
        active_notes().remove(&self.path);
    }
}

/// Removes a note. One without locks does no harm; it is removed with those of killed runs.
fn remove(path: &Path) {
    let _ = fs::remove_file(path);
    let _ = fs::remove_file(end_of(path));
}

fn end_of(note: &Path) -> PathBuf {
    note.with_extension(END)
}

/// Creates a note with a name of its own.
fn create(folder: &Path, text: &[u8]) -> io::Result<LockNote> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let name = format!("{}-{since}-{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let note = LockNote { path: folder.join(name), mark: None, is_agent: false };
    active_notes().insert(note.path.clone());
    let mut file = fs::File::create_new(&note.path)?;
    file.write_all(text)?;
    file.sync_data()?;
    if cfg!(unix) {
        fs::File::open(folder)?.sync_data()?;
    }
    Ok(note)
}

/// A lock that a note claims.
pub(super) struct NotedLock {
    pub(super) path: PathBuf,
    /// The time at which it was made.
    pub(super) made: SystemTime,
    pub(super) claim: ClaimKind,
}

/// Strength of the claim.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ClaimKind {
    /// The note names it.
    Named,
    /// It is one of many that a program may have taken.
    Possible,
    /// It is in the folder of a work tree that nobody else works in.
    Own,
}

/// A note as it was read.
pub(super) struct StoredNote {
    path: PathBuf,
    content: Option<Content>,
    locks: Vec<(PathBuf, ClaimKind)>,
    /// Time in which the locks were created.
    times: [SystemTime; 2],
}

impl StoredNote {
    /// Returns the notes of calls of which no process is left.
    pub(super) fn leftovers(place: &Place) -> Vec<Self> {
        let entries = fs::read_dir(folder(place)).into_iter().flatten().filter_map(Result::ok);
        let notes = entries.map(|entry| entry.path()).filter(|path| path.extension().is_none());
        notes.filter_map(|path| Self::read(place, &path)).filter(Self::is_over).collect()
    }

    /// Returns whether a call of a killed run is still at work: git outlives it, with its hooks.
    pub(super) fn has_survivor(place: &Place) -> bool {
        let entries = fs::read_dir(folder(place)).into_iter().flatten().filter_map(Result::ok);
        let mut notes = entries.filter_map(|entry| Self::read(place, &entry.path()));
        notes.any(|note| {
            let process = note.content.as_ref().and_then(|content| content.process.as_ref());
            process.is_some_and(|process| process.life() == Life::Ended) && has_variable(VARIABLE, &id(&note.path))
        })
    }

    fn read(place: &Place, path: &Path) -> Option<Self> {
        let begin = path.symlink_metadata().ok().filter(fs::Metadata::is_file)?.modified().ok()?;
        // A truncated note was written before the call.
        let content: Option<Content> = fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let mut locks = vec![];
        if let Some(Content { locks: NotedLocks { named, possible, own }, .. }) = &content {
            let claims = [(named, ClaimKind::Named), (possible, ClaimKind::Possible), (own, ClaimKind::Own)];
            let claimed = claims.iter().flat_map(|(names, claim)| names.iter().map(move |name| (name, *claim)));
            let claimed = claimed.filter(|(name, claim)| is_inside(name, *claim));
            locks = claimed.map(|(name, claim)| (place.common_dir.join(name), claim)).collect();
        }
        let end = content.as_ref().and_then(|content| content.end(path, begin)).unwrap_or(begin);
        Some(Self { path: path.to_owned(), content, locks, times: [begin.checked_sub(TICK)?, end] })
    }

    fn is_over(&self) -> bool {
        self.content.as_ref().is_none_or(|content| content.is_over(&self.path)) && !active_notes().contains(&self.path)
    }

    /// Returns the existing locks that the call may have created.
    pub(super) fn existing_locks(&self) -> Vec<NotedLock> {
        let mut found: Vec<NotedLock> = vec![];
        for (lock, claim) in &self.locks {
            let mut paths = vec![];
            locks_at(lock, &mut paths);
            paths.retain(|path| found.iter().all(|known| known.path != *path));
            found.extend(paths.into_iter().filter_map(|path| {
                let made = path.symlink_metadata().ok().and_then(|about| change_time(&about))?;
                let is_in_time = self.times[0] <= made && made <= self.times[1];
                is_in_time.then_some(NotedLock { path, made, claim: *claim })
            }));
        }
        found
    }

    /// Removes it.
    pub(super) fn remove(&self) {
        remove(&self.path);
    }
}

impl Content {
    /// Returns the time after which no lock is one of the call or the agent.
    fn end(&self, note: &Path, begin: SystemTime) -> Option<SystemTime> {
        let limit = begin.checked_add(Duration::from_secs(self.seconds))?;
        if let Some(about) = end_of(note).symlink_metadata().ok().filter(fs::Metadata::is_file) {
            // The shell makes an empty file just before the agent is killed.
            let end = about.modified().ok()?.checked_add(if about.len() == 0 { OUTLIVES } else { TICK })?;
            return Some(end.min(limit));
        }
        if !self.is_agent {
            return Some(limit);
        }
        // Without a mark, the end is known only if the whole machine has ended.
        let booted = boot_time().filter(|_| self.process.as_ref().is_some_and(ProcessId::is_of_earlier_boot))?;
        Some(booted.min(limit))
    }

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
fn change_time(about: &fs::Metadata) -> Option<SystemTime> {
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

/// Returns whether it is a lock below git's folder: notes are files that an agent may have changed.
fn is_inside(lock: &str, claim: ClaimKind) -> bool {
    let is_plain = Path::new(lock).components().all(|part| matches!(part, Component::Normal(_)));
    let is_of_claim = match claim {
        ClaimKind::Own => lock.strip_prefix("worktrees/").is_some_and(|name| !name.contains('/')),
        // Earlier versions named all references.
        ClaimKind::Named | ClaimKind::Possible => lock == "refs" || is_lock(Path::new(lock)),
    };
    is_plain && is_of_claim
}

fn folder(place: &Place) -> PathBuf {
    place.common_dir.join("superstep").join("locks")
}

fn id(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
