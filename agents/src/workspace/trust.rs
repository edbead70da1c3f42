//! Checks what git executes right before each call: a process that outlived its agent may have changed it since the
//! check after the agent's turn. Knows fingerprints, and no call of git.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::error::WorkspaceError;
use super::guard::{Fingerprint, fingerprint};
use super::place::{Place, Workspace};

/// Fingerprints of the work trees that this process has locked, by their git folders.
static TRUSTED: Mutex<BTreeMap<PathBuf, Fingerprint>> = Mutex::new(BTreeMap::new());

fn trusted() -> MutexGuard<'static, BTreeMap<PathBuf, Fingerprint>> {
    TRUSTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Trusts the current state until the work tree is unlocked.
pub(super) fn begin(place: &Place) {
    let now = fingerprint(place);
    trusted().insert(place.git_dir.clone(), now);
}

/// Trusts the current state if the work tree is locked: this process or a trusted hook has changed it.
pub(super) fn renew(place: &Place) {
    if trusted().contains_key(&place.git_dir) {
        begin(place);
    }
}

pub(super) fn end(git_dir: &Path) {
    trusted().remove(git_dir);
}

/// Fails if the state differs from that at the time of the lock.
pub(super) fn check(place: &Place) -> Result<(), WorkspaceError> {
    let Some(before) = trusted().get(&place.git_dir).cloned() else { return Ok(()) };
    let changes = before.changes(&fingerprint(place));
    if changes.is_empty() {
        return Ok(());
    }
    Err(WorkspaceError::Tampered { changes: changes.iter().map(ToString::to_string).collect() })
}

impl Workspace {
    /// Checks that the state of hooks and configuration is that at the time of the [lock](Self::lock). Executes
    /// nothing.
    ///
    /// # Errors
    /// [`Tampered`](WorkspaceError::Tampered) with the changes.
    pub async fn ensure_untampered(&self) -> Result<(), WorkspaceError> {
        self.run_blocking(|place| super::trust::check(&place)).await?
    }
}
