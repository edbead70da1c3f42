//! A commit that takes several calls of git, with hooks in between that change files. HEAD's commit is replaced if it
//! is ours and needs other files or another message, unless somebody has committed on top; references move only from
//! where they are known to be. A record in git's folder lets a run that resumes after a kill finish the commit.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::branches::is_amended;
use super::error::WorkspaceError;
use super::id::{CommitId, CommitKey, TreeId};
use super::place::{Place, Workspace, own_folder};
use super::references::find_reference;

/// HEAD's commit.
pub(super) struct Tip {
    pub(super) commit: CommitId,
    pub(super) parents: Vec<CommitId>,
    pub(super) tree: TreeId,
    pub(super) message: String,
    /// Its author, as variables of git.
    author: Vec<(&'static str, String)>,
}

impl Tip {
    /// Returns whether nothing but this commit is beneath it.
    pub(super) fn is_on(&self, parent: Option<&CommitId>) -> bool {
        self.parents.iter().eq(parent)
    }
}

impl Workspace {
    /// Returns HEAD's commit if it has the key, and nothing but `parent` is beneath it.
    pub(super) async fn own_tip(
        &self,
        key: &CommitKey,
        parent: Option<&CommitId>,
    ) -> Result<Option<Tip>, WorkspaceError> {
        if self.head().await?.commit().is_none() {
            return Ok(None);
        }
        let tip = self.tip().await?;
        let is_ours = CommitKey::read(&tip.message).as_ref() == Some(key) && tip.is_on(parent);
        Ok(is_ours.then_some(tip))
    }

    /// Returns whether somebody has made a commit by an amend of another.
    pub(super) async fn was_amended(&self, commit: &CommitId) -> Result<bool, WorkspaceError> {
        let commit = commit.clone();
        self.read("read the reflog", move |_, place| Ok(is_amended(place, commit.oid()?))).await
    }

    /// Creates the commit again with another tree and message. No hook runs, and nothing points at it yet.
    pub(super) async fn amend(&self, tip: &Tip, tree: &TreeId, message: &str) -> Result<CommitId, WorkspaceError> {
        let signs = self.git(&["config", "--type=bool", "--get", "commit.gpgSign"]).run().await?;
        let mut make = self.git(&["commit-tree", "-F", "-"]);
        for parent in &tip.parents {
            make = make.arg("-p").arg(parent.as_str());
        }
        if signs.stdout.starts_with(b"true") {
            make = make.arg("-S");
        }
        let answer = make.arg(tree.as_str()).input(message).variables(tip.author.clone()).with_hooks().run().await?;
        match answer.code {
            Some(0) => String::from_utf8_lossy(&answer.stdout).trim().parse(),
            code => Err(self.failure(code, answer.stderr.trim().to_owned()).await?),
        }
    }

    /// Moves the branch, or a detached HEAD, from one commit to another; `None` removes it. Returns false if somebody has
    /// moved it meanwhile: then it stays where it is.
    pub(super) async fn replace_tip(
        &self,
        branch: Option<&str>,
        from: &CommitId,
        to: Option<&CommitId>,
    ) -> Result<bool, WorkspaceError> {
        let name = branch.map_or_else(|| "HEAD".to_owned(), |branch| format!("refs/heads/{branch}"));
        let update = self.git(&["update-ref", "-m", "superstep: amend", "--no-deref"]).with_locks(&["HEAD"]);
        let update = match to {
            Some(to) => update.arg(&name).arg(to.as_str()),
            None => update.arg("-d").arg(&name),
        };
        let Err(error) = update.arg(from.as_str()).output().await else { return Ok(true) };
        match self.read("read a reference", move |repository, _| find_reference(repository, &name)).await? {
            Some(now) if now == *from => Err(error),
            Some(_) | None => Ok(false),
        }
    }

    pub(super) async fn tip(&self) -> Result<Tip, WorkspaceError> {
        self.read("read the commit", |repository, _| {
            let commit = repository.head()?.peel_to_commit()?;
            let message = String::from_utf8_lossy(commit.message_bytes()).into_owned();
            let parents = commit.parent_ids().map(CommitId::from).collect();
            let (tree, author) = (commit.tree_id().into(), author_of(&commit));
            Ok(Tip { commit: commit.id().into(), parents, tree, message, author })
        })
        .await
    }
}

/// Returns the author of a commit as variables of git.
fn author_of(commit: &git2::Commit<'_>) -> Vec<(&'static str, String)> {
    let author = commit.author();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (seconds, minutes) = (author.when().seconds(), author.when().offset_minutes());
    let sign = if minutes < 0 { '-' } else { '+' };
    let date = format!("@{seconds} {sign}{:02}{:02}", minutes.abs() / 60, minutes.abs() % 60);
    vec![
        ("GIT_AUTHOR_NAME", text(author.name_bytes())),
        ("GIT_AUTHOR_EMAIL", text(author.email_bytes())),
        ("GIT_AUTHOR_DATE", date),
    ]
}

/// A commit in progress.
#[derive(Serialize, Deserialize)]
struct InProgressCommit {
    key: CommitKey,
    parent: Option<CommitId>,
    /// Snapshot before hooks ran.
    files: TreeId,
}

impl Workspace {
    /// Returns the parent of the commit that the record is about, and the snapshot taken when it was started.
    pub(super) async fn noted_commit(
        &self,
        key: &CommitKey,
    ) -> Result<Option<(Option<CommitId>, TreeId)>, WorkspaceError> {
        let key = key.clone();
        self.run_blocking(move |place| {
            let text = fs::read(note(&place)).ok()?;
            // A truncated record was written before the commit was started.
            let in_progress: InProgressCommit = serde_json::from_slice(&text).ok()?;
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
