//! Removal of the locks that killed runs left behind. A lock is one of theirs if a note of a call names it, no process of
//! the call is left, and no other process uses it.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::lock_note::Noted;
use super::place::{Place, Workspace};
use crate::process::may_use;

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
        let existing = note.existing();
        let mut is_done = true;
        for lock in existing {
            let is_left = !may_use(&lock, &[&place.root, &place.git_dir, &place.common_dir]);
            if is_left && fs::remove_file(&lock).is_ok() {
                removed().entry(place.common_dir.clone()).or_default().push(lock);
            } else {
                is_done = false;
            }
        }
        if is_done {
            note.remove();
        }
    }
}
