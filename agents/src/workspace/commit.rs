//! Commits of exactly one tree, made by the git program, so that hooks run and commits are signed; identified by
//! trailers.

use async_recursion::async_recursion as boxed;
use git2::Repository;
use serde::{Deserialize, Serialize};

use super::branches::{Head, commits_since};
use super::error::WorkspaceError;
use super::id::{CommitId, CommitKey, TreeId};
use super::place::{Fault, Workspace, is_unborn};
use super::trees::Scratch;
use super::unfinished_commit::Tip;
use crate::process::is_program;

const COMMIT: [&str; 4] = ["commit", "--quiet", "--cleanup=whitespace", "--file=-"];
/// A setting of the call overrides the repository's.
const WITHOUT_HOOKS: [&str; 6] =
    ["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--cleanup=whitespace", "--file=-"];

/// Commit to make.
#[derive(Clone, Debug)]
pub struct CommitRequest {
    /// Branch that HEAD must be on; `None` if HEAD must be detached.
    pub branch: Option<String>,
    /// Commit that HEAD must be at, the parent of the new one. `None` if the branch has no commit yet.
    pub parent: Option<CommitId>,
    /// The files.
    pub tree: TreeId,
    /// Message, subject first; the trailers follow.
    pub message: String,
    /// Identification of the commit.
    pub key: CommitKey,
}

impl CommitRequest {
    /// Returns the required position of HEAD.
    fn place(&self) -> Head {
        match (self.branch.clone(), self.parent.clone()) {
            (Some(name), Some(commit)) => Head::Branch { name, commit },
            (None, Some(commit)) => Head::Detached { commit },
            (name, None) => Head::Unborn { name: name.unwrap_or_else(|| "HEAD".to_owned()) },
        }
    }
}

/// Result of a [`CommitRequest`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommitResult {
    /// The commit was made.
    Now(MadeCommit),
    /// The commit existed already.
    Before(MadeCommit),
    /// The tree is HEAD's: there is nothing to commit.
    Nothing,
}

impl CommitResult {
    /// Returns the commit, if there is one.
    pub fn commit(&self) -> Option<&MadeCommit> {
        match self {
            Self::Now(made) | Self::Before(made) => Some(made),
            Self::Nothing => None,
        }
    }
}

/// A commit made by this program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MadeCommit {
    /// Its id.
    pub commit: CommitId,
    /// Its tree: that of the request, possibly changed by hooks.
    pub tree: TreeId,
    /// Its identification.
    pub key: CommitKey,
}

impl Workspace {
    /// Commits a tree onto the current branch, or onto a detached HEAD. If the commit already exists after `parent`,
    /// none is made.
    ///
    /// Hooks run, and the commit is signed if git is configured so. If a hook refuses after it changed files, its
    /// changes are included and the commit is tried once more; if it changes files and accepts, the commit is amended
    /// once. Trailers dropped by a hook are restored. Afterwards the index matches HEAD: nothing is staged any more;
    /// files are not changed.
    ///
    /// A commit interrupted by a kill is finished by repeating the call: changes by hooks are included. Commits of people
    /// are never taken for it: it has the trailers, and is changed only while it is the newest, directly on `parent`.
    ///
    /// # Errors
    /// [`HookRefused`](WorkspaceError::HookRefused), [`IdentityMissing`](WorkspaceError::IdentityMissing),
    /// [`SigningFailed`](WorkspaceError::SigningFailed), [`TimedOut`](WorkspaceError::TimedOut): nothing was committed.
    /// [`HeadElsewhere`](WorkspaceError::HeadElsewhere) if HEAD is not at `parent` on `branch`,
    /// [`Ongoing`](WorkspaceError::Ongoing) and [`Locked`](WorkspaceError::Locked) as in
    /// [`ensure_ready`](Self::ensure_ready).
    #[boxed]
    pub async fn commit(&self, request: &CommitRequest) -> Result<CommitResult, WorkspaceError> {
        Ok(self.commit_with_output(request).await?.0)
    }

    /// The same, with what git and its hooks printed, if this call made the commit.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    #[boxed]
    pub async fn commit_with_output(&self, request: &CommitRequest) -> Result<(CommitResult, String), WorkspaceError> {
        let (committed, output) = self.make_commit(request).await?;
        if let Some(made) = committed.commit() {
            self.keep_made(made.commit.as_str()).await?;
        }
        Ok((committed, output))
    }

    async fn make_commit(&self, request: &CommitRequest) -> Result<(CommitResult, String), WorkspaceError> {
        let silent = |committed| (committed, String::new());
        self.ensure_ready().await?;
        self.after_collection().await;
        // A record for this commit means that a kill interrupted it; it has the files before its hooks ran.
        let noted = self.noted_commit(&request.key).await?.filter(|(parent, _)| *parent == request.parent);
        let in_progress = noted.map(|(_, files)| files);
        // Idempotence: the trailers identify a commit that an earlier call made.
        if let Some(made) = self.existing_commit(request, in_progress.as_ref()).await? {
            return Ok(silent(made));
        }
        self.ensure_at(request).await?;
        let parent = match self.head_tree().await? {
            Some(tree) => tree,
            None => self.empty_tree().await?,
        };
        // Nothing to commit: no hook runs, and the index matches HEAD as after a commit.
        if parent == request.tree {
            self.reset_index().await?;
            self.clear_in_progress().await?;
            return Ok(silent(CommitResult::Nothing));
        }
        // Without hooks no file changes meanwhile, so the commit needs no record.
        if in_progress.is_none() && !self.has_hooks().await? {
            let made = self.commit_plainly(request).await;
            return self.result_or_existing(made, request, (&parent, None)).await.map(silent);
        }
        let before = match in_progress {
            Some(files) => files,
            None => self.snapshot().await?.tree,
        };
        // Recorded before any hook runs: a repeated call compares with it to find what the hooks changed.
        self.record_in_progress(&request.key, request.parent.as_ref(), &before).await?;
        let (made, output) = match self.commit_with_hooks(request, &before).await {
            Ok(output) => (self.reset_index().await, output),
            Err(refused) => (Err(refused), String::new()),
        };
        // If a git that outlived a killed run made the commit first, that commit is the result.
        let made = self.result_or_existing(made, request, (&parent, Some(&before))).await;
        self.clear_in_progress().await?;
        made.map(|made| (made, output))
    }

    /// Returns the result. A git that outlived a killed run may have made the commit meanwhile, so that this call
    /// failed.
    async fn result_or_existing(
        &self,
        made: Result<(), WorkspaceError>,
        request: &CommitRequest,
        (parent, in_progress): (&TreeId, Option<&TreeId>),
    ) -> Result<CommitResult, WorkspaceError> {
        let Err(error) = made else { return self.tip_result(request, parent).await };
        self.existing_commit(request, in_progress).await?.ok_or(error)
    }

    /// Returns the commit if it exists already; `in_progress` is the snapshot before hooks ran, if it was interrupted.
    async fn existing_commit(
        &self,
        request: &CommitRequest,
        in_progress: Option<&TreeId>,
    ) -> Result<Option<CommitResult>, WorkspaceError> {
        let Some(mut made) = self.find_commit(&request.key, request.parent.as_ref()).await? else { return Ok(None) };
        if let Some(before) = in_progress
            && let Some(tip) = self.own_tip(&request.key, request.parent.as_ref()).await?
            && !self.was_amended(&tip.commit).await?
        {
            made = self.include_hook_changes(before, tip, request).await?;
        }
        self.reset_index().await?;
        self.clear_in_progress().await?;
        Ok(Some(CommitResult::Before(made)))
    }

    /// Returns the parent of a commit that was started and interrupted by a kill. If people have committed on top of the
    /// parent before it was made, it is to be made on top of theirs. A record that is about neither is removed.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if HEAD cannot be read.
    #[boxed]
    pub async fn started_commit(&self, key: &CommitKey) -> Result<Option<Option<CommitId>>, WorkspaceError> {
        let Some((parent, files)) = self.noted_commit(key).await? else { return Ok(None) };
        let head = self.head().await?.commit().cloned();
        if head == parent || self.own_tip(key, parent.as_ref()).await?.is_some() {
            return Ok(Some(parent));
        }
        if let (Some(from), Some(to)) = (&parent, &head)
            && self.descends(to, from).await?
            && self.find_commit(key, Some(from)).await?.is_none()
        {
            let files = self.with_commits(&files, Some(from), to).await?;
            self.record_in_progress(key, Some(to), &files).await?;
            return Ok(Some(head));
        }
        self.clear_in_progress().await?;
        Ok(None)
    }

    /// Returns the commit with this key, if it is on HEAD's branch and newer than `since`.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if the branch cannot be read.
    #[boxed]
    pub async fn find_commit(
        &self,
        key: &CommitKey,
        since: Option<&CommitId>,
    ) -> Result<Option<MadeCommit>, WorkspaceError> {
        let commits = self.commits(since).await?;
        Ok(commits.into_iter().rev().find(|made| made.key == *key))
    }

    /// Returns the commits made by this program, for any thread, on HEAD's branch since `since`, oldest first.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if the branch cannot be read.
    #[boxed]
    pub async fn commits(&self, since: Option<&CommitId>) -> Result<Vec<MadeCommit>, WorkspaceError> {
        let since = since.cloned();
        self.read("read the branch", move |repository, _| made_since(repository, since.as_ref())).await
    }

    /// Checks that git has a user name and email.
    ///
    /// # Errors
    /// [`IdentityMissing`](WorkspaceError::IdentityMissing).
    #[boxed]
    pub async fn ensure_identity(&self) -> Result<(), WorkspaceError> {
        for who in ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"] {
            let answer = self.git(&["var", who]).run().await?;
            if answer.code != Some(0) {
                return Err(identity_missing(&answer.stderr));
            }
        }
        Ok(())
    }

    async fn ensure_at(&self, request: &CommitRequest) -> Result<(), WorkspaceError> {
        let expected = request.place();
        let found = self.head().await?;
        if found == expected {
            return Ok(());
        }
        Err(WorkspaceError::HeadElsewhere { expected: expected.to_string(), found: found.to_string() })
    }

    /// Without hooks nothing changes files or the message, and the index of the commit matches HEAD. A hook that
    /// appears only now does not run.
    async fn commit_plainly(&self, request: &CommitRequest) -> Result<(), WorkspaceError> {
        let message = request.key.sign(&request.message);
        let (scratch, _) = self.git_commit(&request.tree, &message, &WITHOUT_HOOKS).await?;
        self.put_fresh_index(scratch).await
    }

    /// Commits with hooks, and returns what they printed; `before` is the snapshot before they run.
    async fn commit_with_hooks(&self, request: &CommitRequest, before: &TreeId) -> Result<String, WorkspaceError> {
        let message = request.key.sign(&request.message);
        let (before, output) = match self.git_commit(&request.tree, &message, &COMMIT).await {
            Err(refused @ WorkspaceError::HookRefused { .. }) => {
                let after = self.snapshot().await?.tree;
                if after == *before {
                    return Err(refused);
                }
                let formatted = self.apply_change(before, &request.tree, &after).await?;
                let (_, output) = self.git_commit(&formatted, &message, &COMMIT).await?;
                (after, output)
            }
            Err(error) => return Err(error),
            Ok((_, output)) => (before.clone(), output),
        };
        // Git has made it, whatever hooks did to its message.
        let tip = self.tip().await?;
        if tip.is_on(request.parent.as_ref()) {
            self.include_hook_changes(&before, tip, request).await?;
        }
        Ok(output)
    }

    /// Amends a commit of ours once with the changes of hooks to files since `before`, and with the trailers if they are
    /// lost. If somebody has committed on top, it stays as it is.
    async fn include_hook_changes(
        &self,
        before: &TreeId,
        tip: Tip,
        request: &CommitRequest,
    ) -> Result<MadeCommit, WorkspaceError> {
        let after = self.snapshot().await?.tree;
        let tree = match self.apply_change(before, &tip.tree, &after).await {
            // The hook changed lines that the user had changed: its changes stay in the work tree.
            Err(WorkspaceError::Conflict { .. }) => tip.tree.clone(),
            carried => carried?,
        };
        let is_kept = CommitKey::read(&tip.message).as_ref() == Some(&request.key);
        let as_it_is = MadeCommit { commit: tip.commit.clone(), tree: tip.tree.clone(), key: request.key.clone() };
        if tree == tip.tree && is_kept {
            return Ok(as_it_is);
        }
        let message = if is_kept { tip.message.clone() } else { request.key.sign(&tip.message) };
        let amended = self.amend(&tip, &tree, &message).await?;
        let is_moved = self.replace_tip(request.branch.as_deref(), &tip.commit, Some(&amended)).await?;
        Ok(if is_moved { MadeCommit { commit: amended, tree, ..as_it_is } } else { as_it_is })
    }

    /// Makes the commit, and returns the index it was made from, with what was printed.
    async fn git_commit(
        &self,
        tree: &TreeId,
        message: &str,
        args: &[&str],
    ) -> Result<(Scratch, String), WorkspaceError> {
        let scratch = self.scratch_of(tree).await?;
        let answer =
            self.git(args).with_index(scratch.path()).input(message).with_hooks().with_locks(&["HEAD"]).run().await?;
        match answer.code {
            Some(0) => {
                let printed = [String::from_utf8_lossy(&answer.stdout).trim(), answer.stderr.trim()].join("\n");
                Ok((scratch, printed.trim().to_owned()))
            }
            code => Err(self.failure(code, answer.stderr.trim().to_owned()).await?),
        }
    }

    /// Interprets git's exit code: 1 if a hook refused, 128 if git itself failed.
    pub(super) async fn failure(&self, code: Option<i32>, output: String) -> Result<WorkspaceError, WorkspaceError> {
        let says = |words: &[&str]| words.iter().any(|word| output.contains(word));
        Ok(if says(&["Please tell me who you are", "empty ident name", "name consists only of disallowed"]) {
            identity_missing(&output)
        } else if says(&["failed to sign", "failed to write commit object"]) {
            WorkspaceError::SigningFailed { output }
        } else if code == Some(1) {
            WorkspaceError::HookRefused { hook: self.only_hook().await?, output }
        } else {
            WorkspaceError::GitFailed { command: "commit".to_owned(), code, output }
        })
    }

    /// Returns the hook that can refuse a commit, if there is exactly one.
    async fn only_hook(&self) -> Result<Option<String>, WorkspaceError> {
        let folder = self.hooks_folder().await?;
        let hooks = ["pre-commit", "prepare-commit-msg", "commit-msg"];
        let mut found = hooks.into_iter().filter(|hook| is_program(&folder.join(hook)));
        let first = found.next().map(str::to_owned);
        Ok(if found.next().is_some() { None } else { first })
    }

    /// Returns the result; a commit whose changes were all undone by hooks is removed.
    async fn tip_result(&self, request: &CommitRequest, parent: &TreeId) -> Result<CommitResult, WorkspaceError> {
        let tip = self.tip().await?;
        if !tip.is_on(request.parent.as_ref()) {
            return self.resolve_race(tip, request).await;
        }
        if tip.tree != *parent {
            return Ok(CommitResult::Now(MadeCommit { commit: tip.commit, tree: tip.tree, key: request.key.clone() }));
        }
        self.replace_tip(request.branch.as_deref(), &tip.commit, request.parent.as_ref()).await?;
        Ok(CommitResult::Nothing)
    }

    /// Returns the result if somebody has committed at the same time: on top of the commit, or right before it, so that it
    /// would undo their changes and is taken back.
    async fn resolve_race(&self, tip: Tip, request: &CommitRequest) -> Result<CommitResult, WorkspaceError> {
        let key = CommitKey::read(&tip.message);
        if key.as_ref() != Some(&request.key) {
            let made = self.find_commit(&request.key, request.parent.as_ref()).await?;
            let made = made.ok_or(WorkspaceError::HeadElsewhere {
                expected: request.place().to_string(),
                found: self.head().await?.to_string(),
            });
            return made.map(CommitResult::Now);
        }
        self.replace_tip(request.branch.as_deref(), &tip.commit, tip.parents.first()).await?;
        let (expected, found) = (request.place().to_string(), self.head().await?.to_string());
        Err(WorkspaceError::HeadElsewhere { expected, found })
    }
}

fn identity_missing(output: &str) -> WorkspaceError {
    let fatal = output.lines().rfind(|line| line.starts_with("fatal:")).unwrap_or("no name or email");
    WorkspaceError::IdentityMissing { output: fatal.trim_start_matches("fatal: ").to_owned() }
}

fn made_since(repository: &Repository, since: Option<&CommitId>) -> Result<Vec<MadeCommit>, Fault> {
    let head = match repository.head() {
        Ok(head) => head.peel_to_commit()?.id(),
        Err(error) if is_unborn(&error) => return Ok(vec![]),
        Err(error) => return Err(error.into()),
    };
    let since = since.map(CommitId::oid).transpose()?;
    let mut made = Vec::new();
    for id in commits_since(repository, head, since)? {
        let commit = repository.find_commit(id)?;
        if let Some(key) = CommitKey::read(&String::from_utf8_lossy(commit.message_bytes())) {
            made.push(MadeCommit { commit: commit.id().into(), tree: commit.tree_id().into(), key });
        }
    }
    Ok(made)
}
