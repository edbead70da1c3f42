//! Removal of the locks that killed runs left behind. A lock is one of theirs if a note claims it, no process of the call
//! is left, and no other process uses it. One that a note does not name must also be such that nobody else can have made it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::lock_note::{Claim, Noted, NotedLock};
use super::place::{Place, Workspace};
use super::worktree_entries::{entries, path_of};
use crate::process::{may_use, works_in};

/// Removed locks that were not reported yet, by repository.
static REMOVED: Mutex<BTreeMap<PathBuf, Vec<PathBuf>>> = Mutex::new(BTreeMap::new());

fn removed() -> MutexGuard<'static, BTreeMap<PathBuf, Vec<PathBuf>>> {
    REMOVED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Workspace {
    /// Returns a notice for each lock that a killed run had left in the repository, and that was removed since the last
    /// call.
    pub fn removed_locks(&self) -> Vec<String> {
        let locks = removed().remove(&self.0.common_dir).unwrap_or_default();
        let notice = |lock: PathBuf| format!("the lock {} of a killed run was removed", lock.display());
        locks.into_iter().map(notice).collect()
    }
}

/// Removes the locks of killed runs, and the notes of them.
pub(super) fn remove_left(place: &Place) {
    let notes = Noted::left(place);
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
        for lock in note.existing() {
            if is_left(place, &lock) && fs::remove_file(&lock.path).is_ok() {
                removed().entry(place.common_dir.clone()).or_default().push(lock.path);
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
        Claim::Own => folders_of(&lock.path),
        Claim::Named | Claim::Possible => folders(place),
    };
    // A program may close its lock while it holds it: who else could have made one that no note names?
    let is_anyones = lock.claim != Claim::Named && works_in(&folders, lock.made);
    !is_anyones && !may_use(&lock.path, &folders)
}

/// Returns the folders of all work trees of the repository, with git's own.
fn folders(place: &Place) -> Vec<PathBuf> {
    let main = place.common_dir.parent().filter(|_| place.common_dir.file_name().is_some_and(|name| name == ".git"));
    let main = main.into_iter().map(Path::to_owned);
    let linked = entries(place).into_iter().filter_map(|entry| path_of(&entry));
    let here = [place.root.clone(), place.git_dir.clone(), place.common_dir.clone()];
    main.chain(linked).chain(here).collect()
}

/// Returns the folders of the linked work tree whose lock this is.
fn folders_of(lock: &Path) -> Vec<PathBuf> {
    let entry = lock.parent().map(Path::to_owned);
    entry.iter().filter_map(|entry| path_of(entry)).chain(entry.clone()).collect()
}
