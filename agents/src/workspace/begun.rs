//! A note of the commit that is being made, in git's folder: a commit takes several calls of git, with hooks in between that
//! change files, and whoever goes on where a run was killed brings it to the end that it would have had. Knows no call of git.

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

/// A commit that was begun.
#[derive(Serialize, Deserialize)]
struct Begun {
    key: CommitKey,
    parent: Option<CommitId>,
    /// All files, before a hook saw them.
    files: TreeId,
}

impl Workspace {
    /// Returns the files as they were when this commit was begun, if it was, and has not ended.
    pub(super) async fn begun(&self, request: &CommitRequest) -> Result<Option<TreeId>, WorkspaceError> {
        let (key, parent) = (request.key.clone(), request.parent.clone());
        self.look(move |place| {
            let text = fs::read(note(&place)).ok()?;
            // One that was cut short was written by nobody who had begun.
            let begun: Begun = serde_json::from_slice(&text).ok()?;
            (begun.key == key && begun.parent == parent).then_some(begun.files)
        })
        .await
    }

    /// Notes that a commit begins.
    pub(super) async fn begin(&self, request: &CommitRequest, files: &TreeId) -> Result<(), WorkspaceError> {
        let (key, parent, files) = (request.key.clone(), request.parent.clone(), files.clone());
        let begun = Begun { key, parent, files };
        self.look(move |place| {
            let path = note(&place);
            let failed = |source| WorkspaceError::Io { doing: "write", path: path.clone(), source };
            let text = serde_json::to_vec(&begun).map_err(|error| failed(io::Error::other(error)))?;
            // A new file: nothing is written through a link.
            let _ = fs::remove_file(&path);
            let created = own_folder(&place).and_then(|_| fs::File::create_new(&path));
            created.and_then(|mut file| file.write_all(&text)).map_err(failed)
        })
        .await?
    }

    /// Forgets it: it was made, or refused.
    pub(super) async fn forget_begun(&self) -> Result<(), WorkspaceError> {
        self.look(|place| {
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
