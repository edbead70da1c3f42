//! Record of a commit in progress, in git's folder: a commit takes several git calls, with hooks in between that change
//! files; a run that resumes after a kill finishes it. Knows no call of git.

use std::io::Write;
use std::path::PathBuf;
use std::{fs, io};

use serde::{Deserialize, Serialize};

use super::commit::CommitRequest;
use super::error::WorkspaceError;
use super::id::{CommitId, TreeId};
use super::index::own_folder;
use super::message::CommitKey;
use super::place::{Place, Workspace};

/// A commit in progress.
#[derive(Serialize, Deserialize)]
struct InProgressCommit {
    key: CommitKey,
    parent: Option<CommitId>,
    /// Snapshot before hooks ran.
    files: TreeId,
}

impl Workspace {
    /// Returns the snapshot taken when this commit was started, if it is in progress.
    pub(super) async fn commit_in_progress(&self, request: &CommitRequest) -> Result<Option<TreeId>, WorkspaceError> {
        let (key, parent) = (request.key.clone(), request.parent.clone());
        self.run_blocking(move |place| {
            let text = fs::read(note(&place)).ok()?;
            // A truncated record was written before the commit was started.
            let in_progress: InProgressCommit = serde_json::from_slice(&text).ok()?;
            (in_progress.key == key && in_progress.parent == parent).then_some(in_progress.files)
        })
        .await
    }

    /// Returns the parent of the commit that the record is about, and the snapshot taken when it was started.
    pub(super) async fn noted_commit(
        &self,
        key: &CommitKey,
    ) -> Result<Option<(Option<CommitId>, TreeId)>, WorkspaceError> {
        let key = key.clone();
        self.run_blocking(move |place| {
            let in_progress: InProgressCommit = serde_json::from_slice(&fs::read(note(&place)).ok()?).ok()?;
            (in_progress.key == key).then_some((in_progress.parent, in_progress.files))
        })
        .await
    }

    /// Records the start of a commit.
    pub(super) async fn record_in_progress(
        &self,
        key: &CommitKey,
        parent: Option<&CommitId>,
        files: &TreeId,
    ) -> Result<(), WorkspaceError> {
        let (key, parent, files) = (key.clone(), parent.cloned(), files.clone());
        let in_progress = InProgressCommit { key, parent, files };
        self.run_blocking(move |place| {
            let path = note(&place);
            let failed = |source| WorkspaceError::Io { doing: "write", path: path.clone(), source };
            let text = serde_json::to_vec(&in_progress).map_err(|error| failed(io::Error::other(error)))?;
            // A new file, so that nothing is written through a link.
            let _ = fs::remove_file(&path);
            let created = own_folder(&place).and_then(|_| fs::File::create_new(&path));
            created.and_then(|mut file| file.write_all(&text)).map_err(failed)
        })
        .await?
    }

    /// Removes the record after the commit was made or refused.
    pub(super) async fn clear_in_progress(&self) -> Result<(), WorkspaceError> {
        self.run_blocking(|place| {
            let path = note(&place);
            match fs::remove_file(&path) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    Err(WorkspaceError::Io { doing: "remove", path, source })
                }
                Ok(()) | Err(_) => Ok(()),
            }
        })
        .await?
    }
}

fn note(place: &Place) -> PathBuf {
    place.git_dir.join("superstep").join("commit")
}
