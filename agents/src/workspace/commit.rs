//! Commits: exactly one tree, through the git program, so that hooks run and keys sign; found again by its trailers.

use std::fs;
use std::path::Path;

use git2::{Repository, Sort};
use serde::{Deserialize, Serialize};

use super::error::WorkspaceError;
use super::head::Head;
use super::id::{CommitId, TreeId};
use super::index::Scratch;
use super::message::CommitKey;
use super::place::{Fault, Workspace};

const COMMIT: [&str; 4] = ["commit", "--quiet", "--cleanup=whitespace", "--file=-"];
/// A setting of the call wins over the repository's.
const WITHOUT_HOOKS: [&str; 6] =
    ["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--cleanup=whitespace", "--file=-"];

/// A commit to be made.
#[derive(Clone, Debug)]
pub struct CommitRequest {
    /// The branch that HEAD must be on; none if HEAD must be detached.
    pub branch: Option<String>,
    /// The commit that HEAD must be at: the new one's parent. None if the branch has no commit yet.
    pub parent: Option<CommitId>,
    /// The files.
    pub tree: TreeId,
    /// What it says, subject first; the trailers follow.
    pub message: String,
    /// What it is for.
    pub key: CommitKey,
}

impl CommitRequest {
    /// Where HEAD must be.
    fn place(&self) -> Head {
        match (self.branch.clone(), self.parent.clone()) {
            (Some(name), Some(commit)) => Head::Branch { name, commit },
            (None, Some(commit)) => Head::Detached { commit },
            (name, None) => Head::Unborn { name: name.unwrap_or_else(|| "HEAD".to_owned()) },
        }
    }
}

/// What became of a [`CommitRequest`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Committed {
    /// It was made.
    Now(MadeCommit),
    /// It was there already.
    Before(MadeCommit),
    /// The tree is HEAD's: there is nothing to commit.
    Nothing,
}

impl Committed {
    /// Returns the commit, if there is one.
    pub fn commit(&self) -> Option<&MadeCommit> {
        match self {
            Self::Now(made) | Self::Before(made) => Some(made),
            Self::Nothing => None,
        }
    }
}

/// A commit that was made here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeCommit {
    /// Its id.
    pub commit: CommitId,
    /// Its files: those of the request, or what hooks made of them.
    pub tree: TreeId,
    /// What it was made for.
    pub key: CommitKey,
}

impl Workspace {
    /// Commits a tree onto the branch that HEAD is on, or onto a detached HEAD. If the commit is there since `parent`, none is made.
    ///
    /// Hooks run, and the commit is signed if the user has it so. If a hook refuses after it changed files, what it changed
    /// is taken in and the commit tried once more; if it changes files and accepts, the commit is amended once. Trailers that
    /// a hook drops are put back. Afterwards the index is HEAD's: what was staged is staged no more, files are left alone.
    ///
    /// One that was killed half-way is brought to this end by asking for it again: what hooks changed meanwhile is taken in.
    ///
    /// # Errors
    /// [`HookRefused`](WorkspaceError::HookRefused), [`IdentityMissing`](WorkspaceError::IdentityMissing),
    /// [`SigningFailed`](WorkspaceError::SigningFailed), [`TimedOut`](WorkspaceError::TimedOut): nothing was committed.
    /// [`HeadElsewhere`](WorkspaceError::HeadElsewhere) if HEAD is not at `parent` on `branch`,
    /// [`Ongoing`](WorkspaceError::Ongoing) and [`IndexLocked`](WorkspaceError::IndexLocked) as in
    /// [`ensure_ready`](Self::ensure_ready).
    pub async fn commit(&self, request: &CommitRequest) -> Result<Committed, WorkspaceError> {
        self.ensure_ready().await?;
        let begun = self.begun(request).await?;
        if let Some(made) = self.made_before(request, begun.as_ref()).await? {
            return Ok(made);
        }
        self.ensure_at(request).await?;
        let parent = match self.head_tree().await? {
            Some(tree) => tree,
            None => self.empty_tree().await?,
        };
        if parent == request.tree {
            self.settle_index().await?;
            return Ok(Committed::Nothing);
        }
        if begun.is_none() && !self.has_hooks().await? {
            let made = self.commit_plainly(request).await;
            return self.unless_made(made, request, (&parent, None)).await;
        }
        let before = match begun {
            Some(files) => files,
            None => self.snapshot().await?.tree,
        };
        self.begin(request, &before).await?;
        let made = match self.commit_with_hooks(request, &before).await {
            Ok(()) => self.settle_index().await,
            refused => refused,
        };
        let made = self.unless_made(made, request, (&parent, Some(&before))).await;
        self.forget_begun().await?;
        made
    }

    /// Tells what was made. A git that outlived a killed run may have made it meanwhile, so that this one could not.
    async fn unless_made(
        &self,
        made: Result<(), WorkspaceError>,
        request: &CommitRequest,
        (parent, begun): (&TreeId, Option<&TreeId>),
    ) -> Result<Committed, WorkspaceError> {
        let Err(error) = made else { return self.newest(request, parent).await };
        self.made_before(request, begun).await?.ok_or(error)
    }

    /// The commit if it is there already; `begun`: the files from before hooks saw them, if it was killed half-way.
    async fn made_before(
        &self,
        request: &CommitRequest,
        begun: Option<&TreeId>,
    ) -> Result<Option<Committed>, WorkspaceError> {
        let Some(mut made) = self.made_for(request, begun.is_some()).await? else { return Ok(None) };
        if let Some(before) = begun
            && self.tip().await?.commit == made.commit
        {
            self.take_in(before, request).await?;
            let tip = self.tip().await?;
            made = MadeCommit { commit: tip.commit, tree: tip.tree, key: made.key };
        }
        self.settle_index().await?;
        self.forget_begun().await?;
        Ok(Some(Committed::Before(made)))
    }

    /// The commit by its trailers; if it was begun, also one without them that is just that tree on that parent: a hook dropped
    /// them, and nobody was left to put them back.
    async fn made_for(&self, request: &CommitRequest, begun: bool) -> Result<Option<MadeCommit>, WorkspaceError> {
        let made = self.find_commit(&request.key, request.parent.as_ref()).await?;
        if made.is_some() || !begun {
            return Ok(made);
        }
        if self.head().await? == request.place() {
            return Ok(None);
        }
        let tip = self.tip().await?;
        let is_it = tip.tree == request.tree && tip.parents == Vec::from_iter(request.parent.clone());
        Ok(is_it.then(|| MadeCommit { commit: tip.commit, tree: tip.tree, key: request.key.clone() }))
    }

    /// Returns the commit that was made for `key`, if it is on HEAD's branch and newer than `since`.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if the branch cannot be read.
    pub async fn find_commit(
        &self,
        key: &CommitKey,
        since: Option<&CommitId>,
    ) -> Result<Option<MadeCommit>, WorkspaceError> {
        let commits = self.commits(since).await?;
        Ok(commits.into_iter().rev().find(|made| made.key == *key))
    }

    /// Returns the commits that were made here, for any thread, on HEAD's branch since `since`, oldest first.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if the branch cannot be read.
    pub async fn commits(&self, since: Option<&CommitId>) -> Result<Vec<MadeCommit>, WorkspaceError> {
        let since = since.cloned();
        self.read("read the branch", move |repository, _| made_since(repository, since.as_ref())).await
    }

    /// Checks that git knows who commits.
    ///
    /// # Errors
    /// [`IdentityMissing`](WorkspaceError::IdentityMissing).
    pub async fn ensure_identity(&self) -> Result<(), WorkspaceError> {
        for who in ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"] {
            let answer = self.git(&["var", who]).run().await?;
            if answer.code != Some(0) {
                return Err(nobody(&answer.stderr));
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

    /// Where there are no hooks nothing changes files or the message meanwhile, and the index of the commit is HEAD's. A hook that
    /// appears only now does not run.
    async fn commit_plainly(&self, request: &CommitRequest) -> Result<(), WorkspaceError> {
        let message = request.key.sign(&request.message);
        let scratch = self.git_commit(&request.tree, &message, &WITHOUT_HOOKS).await?;
        self.put_fresh_index(scratch).await
    }

    /// `before`: all files, before a hook saw them.
    async fn commit_with_hooks(&self, request: &CommitRequest, before: &TreeId) -> Result<(), WorkspaceError> {
        let message = request.key.sign(&request.message);
        match self.git_commit(&request.tree, &message, &COMMIT).await {
            Err(refused @ WorkspaceError::HookRefused { .. }) => {
                let after = self.snapshot().await?.tree;
                if after == *before {
                    return Err(refused);
                }
                let formatted = self.carried(before, &request.tree, &after).await?;
                self.git_commit(&formatted, &message, &COMMIT).await?;
                self.take_in(&after, request).await
            }
            Err(error) => Err(error),
            Ok(_) => self.take_in(before, request).await,
        }
    }

    /// Amends the commit once with what its hooks changed in files since `before`, and with the trailers if they are lost.
    async fn take_in(&self, before: &TreeId, request: &CommitRequest) -> Result<(), WorkspaceError> {
        let (after, committed) = (self.snapshot().await?.tree, self.tip().await?);
        let tree = match self.carried(before, &committed.tree, &after).await {
            // The hook changed lines of the user's own: they stay in the work tree.
            Err(WorkspaceError::Conflict { .. }) => committed.tree.clone(),
            carried => carried?,
        };
        let is_kept = CommitKey::read(&committed.message).as_ref() == Some(&request.key);
        if tree == committed.tree && is_kept {
            return Ok(());
        }
        let message = if is_kept { committed.message } else { request.key.sign(&committed.message) };
        let amend = [&COMMIT[..], &["--amend", "--no-verify"]].concat();
        self.git_commit(&tree, &message, &amend).await.map(drop)
    }

    /// Makes the commit, or amends it, and returns the index that it was made from.
    async fn git_commit(&self, tree: &TreeId, message: &str, args: &[&str]) -> Result<Scratch, WorkspaceError> {
        let scratch = self.scratch_of(tree).await?;
        let answer = self.git(args).on(scratch.path()).input(message).with_hooks().run().await?;
        match answer.code {
            Some(0) => Ok(scratch),
            code => Err(self.why(code, answer.stderr.trim().to_owned()).await?),
        }
    }

    /// Reads git's code: 1 if a hook refused, 128 if git itself failed.
    async fn why(&self, code: Option<i32>, output: String) -> Result<WorkspaceError, WorkspaceError> {
        let says = |words: &[&str]| words.iter().any(|word| output.contains(word));
        Ok(if says(&["Please tell me who you are", "empty ident name", "name consists only of disallowed"]) {
            nobody(&output)
        } else if says(&["failed to sign", "failed to write commit object"]) {
            WorkspaceError::SigningFailed { output }
        } else if code == Some(1) {
            WorkspaceError::HookRefused { hook: self.only_hook().await?, output }
        } else {
            WorkspaceError::GitFailed { command: "commit".to_owned(), code, output }
        })
    }

    /// Returns the hook that can refuse a commit, if there is just one.
    async fn only_hook(&self) -> Result<Option<String>, WorkspaceError> {
        let folder = self.hooks_folder().await?;
        let hooks = ["pre-commit", "prepare-commit-msg", "commit-msg"];
        let mut found = hooks.into_iter().filter(|hook| is_executable(&folder.join(hook)));
        let first = found.next().map(str::to_owned);
        Ok(if found.next().is_some() { None } else { first })
    }

    async fn tip(&self) -> Result<Tip, WorkspaceError> {
        self.read("read the commit", |repository, _| {
            let commit = repository.head()?.peel_to_commit()?;
            let message = String::from_utf8_lossy(commit.message_bytes()).into_owned();
            let parents = commit.parent_ids().map(CommitId::from).collect();
            Ok(Tip { commit: commit.id().into(), parents, tree: commit.tree_id().into(), message })
        })
        .await
    }

    /// Tells what was made; a commit whose changes were all undone by hooks is taken back.
    async fn newest(&self, request: &CommitRequest, parent: &TreeId) -> Result<Committed, WorkspaceError> {
        let tip = self.tip().await?;
        if tip.tree != *parent {
            return Ok(Committed::Now(MadeCommit { commit: tip.commit, tree: tip.tree, key: request.key.clone() }));
        }
        self.set_head(request.branch.as_deref(), request.parent.as_ref()).await?;
        Ok(Committed::Nothing)
    }
}

/// The failure of a git that does not know who commits.
fn nobody(said: &str) -> WorkspaceError {
    let fatal = said.lines().rfind(|line| line.starts_with("fatal:")).unwrap_or("no name or email");
    WorkspaceError::IdentityMissing { output: fatal.trim_start_matches("fatal: ").to_owned() }
}

struct Tip {
    commit: CommitId,
    parents: Vec<CommitId>,
    tree: TreeId,
    message: String,
}

fn made_since(repository: &Repository, since: Option<&CommitId>) -> Result<Vec<MadeCommit>, Fault> {
    let head = match repository.head() {
        Ok(head) => head.peel_to_commit()?.id(),
        Err(error) if super::place::is_unborn(&error) => return Ok(vec![]),
        Err(error) => return Err(error.into()),
    };
    let mut walk = repository.revwalk()?;
    walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE)?;
    walk.push(head)?;
    if let Some(since) = since {
        walk.hide(since.oid()?)?;
    }
    let mut made = Vec::new();
    for id in walk {
        let commit = repository.find_commit(id?)?;
        if let Some(key) = CommitKey::read(&String::from_utf8_lossy(commit.message_bytes())) {
            made.push(MadeCommit { commit: commit.id().into(), tree: commit.tree_id().into(), key });
        }
    }
    Ok(made)
}

fn is_executable(file: &Path) -> bool {
    let Ok(about) = fs::metadata(file) else { return false };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        about.is_file() && about.permissions().mode() & 0o111 != 0
    }
    #[cfg(not(unix))]
    {
        about.is_file()
    }
}
