//! HEAD's commit, and its replacement: a commit of ours gets other files or another message, unless somebody has committed
//! on top. References move only from where they are known to be.

use super::error::WorkspaceError;
use super::head_log;
use super::id::{CommitId, TreeId};
use super::message::CommitKey;
use super::place::Workspace;
use super::references::found;

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
        self.read("read the reflog", move |_, place| Ok(head_log::is_amended(place, commit.oid()?))).await
    }

    /// Creates the commit again with another tree and message. No hook runs, and nothing points at it yet.
    pub(super) async fn amended(&self, tip: &Tip, tree: &TreeId, message: &str) -> Result<CommitId, WorkspaceError> {
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
        let update = self.git(&["update-ref", "-m", "superstep: amend", "--no-deref"]).taking(&["HEAD"]);
        let update = match to {
            Some(to) => update.arg(&name).arg(to.as_str()),
            None => update.arg("-d").arg(&name),
        };
        let moved = update.arg(from.as_str()).done().await;
        match moved {
            Ok(_) => Ok(true),
            Err(error) => match self.read_reference(&name).await? {
                Some(now) if now == *from => Err(error),
                Some(_) | None => Ok(false),
            },
        }
    }

    async fn read_reference(&self, name: &str) -> Result<Option<CommitId>, WorkspaceError> {
        let name = name.to_owned();
        self.read("read a reference", move |repository, _| found(repository, &name)).await
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
