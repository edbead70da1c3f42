//! What git runs is looked at again right before git runs: a process that outlived its agent may have changed it since the
//! agent's turn was looked at. Knows fingerprints, and no call of git.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::error::WorkspaceError;
use super::guard::{Fingerprint, fingerprint};
use super::place::{Place, Workspace};

/// What decides what git runs in the work trees that this process has locked, by their git folders.
static TRUSTED: Mutex<BTreeMap<PathBuf, Fingerprint>> = Mutex::new(BTreeMap::new());

fn trusted() -> MutexGuard<'static, BTreeMap<PathBuf, Fingerprint>> {
    TRUSTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Trusts what is there now, until the work tree is free again.
pub(super) fn begin(place: &Place) {
    let now = fingerprint(place);
    trusted().insert(place.git_dir.clone(), now);
}

/// Trusts what is there now, if the work tree is locked: this process, or a hook that was trusted, has changed it.
pub(super) fn renew(place: &Place) {
    if trusted().contains_key(&place.git_dir) {
        begin(place);
    }
}

pub(super) fn end(git_dir: &Path) {
    trusted().remove(git_dir);
}

/// Fails if what git would run is not what it was when the work tree was locked.
pub(super) fn check(place: &Place) -> Result<(), WorkspaceError> {
    let Some(before) = trusted().get(&place.git_dir).cloned() else { return Ok(()) };
    let changes = before.changes(&fingerprint(place));
    if changes.is_empty() {
        return Ok(());
    }
    Err(WorkspaceError::Tampered { changes: changes.iter().map(ToString::to_string).collect() })
}

impl Workspace {
    /// Checks that what git runs here is what it was when the work tree was [locked](Self::lock). Runs nothing.
    ///
    /// # Errors
    /// [`Tampered`](WorkspaceError::Tampered) names what is otherwise.
    pub async fn ensure_untampered(&self) -> Result<(), WorkspaceError> {
        self.look(|place| super::trust::check(&place)).await?
    }
}
