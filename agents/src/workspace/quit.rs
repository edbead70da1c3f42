//! Operations of git that an agent left unfinished: a merge, a rebase and the like. They are ended with HEAD where they
//! began and the files as they are, so that the work goes on. Those of people are left alone.

use std::fs;
use std::path::Path;

use super::error::WorkspaceError;
use super::file_times::changed_at;
use super::git_locks::taking;
use super::ongoing::Ongoing;
use super::place::{Fault, Workspace};
use super::worktree_entries::is_made_for_agents;

/// Files and folders by which git knows that something is in progress.
const MARKS: [&str; 8] = [
    "MERGE_HEAD",
    "rebase-merge",
    "rebase-apply",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "sequencer",
    "BISECT_LOG",
    "BISECT_START",
];
/// Further files of a bisection, which has no command that ends it in place.
const OF_BISECT: [&str; 7] = [
    "BISECT_LOG",
    "BISECT_START",
    "BISECT_NAMES",
    "BISECT_TERMS",
    "BISECT_EXPECTED_REV",
    "BISECT_ANCESTORS_OK",
    "BISECT_RUN",
];

/// HEAD at the start of an operation: its reference or its commit.
enum Origin {
    Branch(String),
    Commit(git2::Oid),
}

impl Workspace {
    /// Ends an operation in progress that was begun after `since`, in nanoseconds since 1970 (see
    /// [`Standing::started`](super::Standing)), by an agent whose turn has just ended. HEAD goes back to where a rebase
    /// began; no file changes, and nothing is staged any more. Returns the operation.
    ///
    /// # Errors
    /// [`GitFailed`](WorkspaceError::GitFailed) if git cannot end it.
    pub async fn quit_left(&self, since: u64) -> Result<Option<Ongoing>, WorkspaceError> {
        let Some(what) = self.ongoing().await? else { return Ok(None) };
        let is_since = self.run_blocking(move |place| {
            let began = MARKS.iter().filter_map(|mark| place.git_dir.join(mark).symlink_metadata().ok());
            began.map(|about| changed_at(&about)).min().is_some_and(|began| began >= since)
        });
        if is_since.await? { self.quit(what).await.map(|()| Some(what)) } else { Ok(None) }
    }

    /// The same after the agent was killed, in a work tree that was made for agents: elsewhere a person may have begun it
    /// since.
    ///
    /// # Errors
    /// As [`quit_left`](Self::quit_left).
    pub async fn quit_killed(&self, since: u64) -> Result<Option<Ongoing>, WorkspaceError> {
        if self.run_blocking(|place| is_made_for_agents(&place)).await? {
            self.quit_left(since).await
        } else {
            Ok(None)
        }
    }

    async fn quit(&self, what: Ongoing) -> Result<(), WorkspaceError> {
        let origin = self.read("read the state", |_, place| Ok(origin(&place.git_dir))).await?;
        let command = match what {
            Ongoing::Merge => Some("merge"),
            Ongoing::Rebase => Some("rebase"),
            Ongoing::CherryPick => Some("cherry-pick"),
            Ongoing::Revert => Some("revert"),
            Ongoing::Mail => Some("am"),
            Ongoing::Bisect => None,
        };
        match command {
            Some(command) => drop(self.git(&[command, "--quit"]).taking(&["index", "HEAD"]).done().await?),
            None => self.run_blocking(|place| remove_all(&place.git_dir, &OF_BISECT)).await?,
        }
        if let Some(origin) = origin {
            self.read("set HEAD", move |repository, place| {
                taking(place, &["HEAD"], || match &origin {
                    Origin::Branch(reference) => Ok::<_, Fault>(repository.set_head(reference)?),
                    Origin::Commit(commit) => Ok(repository.set_head_detached(*commit)?),
                })
            })
            .await?;
        }
        self.reset_index().await
    }
}

/// Returns where HEAD was before a rebase or a bisection.
fn origin(git_dir: &Path) -> Option<Origin> {
    let text = |name: &str| Some(fs::read_to_string(git_dir.join(name)).ok()?.trim().to_owned());
    for folder in ["rebase-merge", "rebase-apply"] {
        let Some(name) = text(&format!("{folder}/head-name")) else { continue };
        if name.starts_with("refs/heads/") {
            return Some(Origin::Branch(name));
        }
        let commit = text(&format!("{folder}/orig-head"))?;
        return git2::Oid::from_str(&commit).ok().map(Origin::Commit);
    }
    let start = text("BISECT_START")?;
    Some(match git2::Oid::from_str(&start).ok().filter(|_| start.len() == 40) {
        Some(commit) => Origin::Commit(commit),
        None => Origin::Branch(format!("refs/heads/{start}")),
    })
}

fn remove_all(git_dir: &Path, names: &[&str]) {
    for name in names {
        // Most of them are missing.
        let _ = fs::remove_file(git_dir.join(name));
    }
}
