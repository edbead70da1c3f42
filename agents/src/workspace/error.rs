//! Errors of a workspace. The message describes the problem; `help()` the remedy.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::cause::{GitCause, Holder, OngoingOperation};
use super::id::CommitId;
use super::options::COMMIT_TIMEOUT;

/// A problem with the repository or the git program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// No folder above is a git repository.
    #[error("`{}` is not in a git repository", dir.display())]
    NoRepository {
        /// Folder from which it was searched.
        dir: PathBuf,
    },
    /// The repository has no work tree.
    #[error("the repository `{}` is bare: it has no files to work on", dir.display())]
    Bare {
        /// The repository.
        dir: PathBuf,
    },
    /// The repository belongs to another user.
    #[error("the repository at `{}` belongs to another user", dir.display())]
    NotYours {
        /// The repository.
        dir: PathBuf,
    },
    /// The repository cannot be read.
    #[error("cannot open the repository at `{}`: {cause}", dir.display())]
    Unreadable {
        /// The repository.
        dir: PathBuf,
        /// Cause.
        cause: GitCause,
    },
    /// `.git` is a symbolic link, which libgit2 does not follow.
    #[error("`{}` is a symbolic link, which is not supported here", path.display())]
    LinkedGitDir {
        /// The link.
        path: PathBuf,
    },
    /// The index cannot be read: it is split, sparse or damaged.
    #[error("the index of `{}` cannot be read here: {cause}", root.display())]
    IndexForm {
        /// The work tree.
        root: PathBuf,
        /// Cause.
        cause: GitCause,
    },
    /// The program of a filter that the repository requires is not installed.
    #[error("the repository requires the filter `{filter}`, whose program `{program}` is not installed")]
    FilterMissing {
        /// The filter.
        filter: String,
        /// Its program.
        program: String,
    },
    /// The git program cannot be started.
    #[error("cannot run the program `{}`: {source}", program.display())]
    GitMissing {
        /// The program.
        program: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// The git program is too old.
    #[error("git {found} is too old; {needed} or newer is needed")]
    GitTooOld {
        /// Its version.
        found: String,
        /// Minimum version.
        needed: String,
    },
    /// A merge, rebase or similar operation is in progress.
    #[error("a {what} is in progress in `{}`", root.display())]
    Ongoing {
        /// Operation.
        what: OngoingOperation,
        /// The work tree.
        root: PathBuf,
    },
    /// Another git program is changing the repository, or was killed while it did.
    #[error(
        "another git program has held the lock `{}` for {}, or was killed; if none runs, `rm {}` removes it",
        path.display(), for_people(*age), quote_path(path)
    )]
    Locked {
        /// The lock.
        path: PathBuf,
        /// Time since it was taken.
        age: Duration,
    },
    /// There are uncommitted changes.
    #[error("the work tree has uncommitted changes: {}", list_files(files))]
    Dirty {
        /// The changed and new files.
        files: Vec<String>,
    },
    /// A file of the work tree would be overwritten.
    #[error("uncommitted changes would be overwritten: {}", list_files(files))]
    InTheWay {
        /// The files.
        files: Vec<String>,
    },
    /// The branch exists, at another commit.
    #[error("the branch `{branch}` already exists, at commit {commit}")]
    BranchTaken {
        /// The branch.
        branch: String,
        /// Its commit.
        commit: CommitId,
    },
    /// Git cannot have both branches, because the name of one is the beginning of the other's.
    #[error("the branch `{other}` is in the way of the branch `{branch}`: git cannot have both")]
    BranchInTheWay {
        /// The branch to create.
        branch: String,
        /// The branch that exists.
        other: String,
    },
    /// The name of a branch is invalid.
    #[error("`{branch}` cannot be the name of a branch")]
    BadBranch {
        /// The name.
        branch: String,
    },
    /// The path for a linked work tree is taken.
    #[error("`{}` already exists and is not a work tree of this repository on branch `{branch}`", path.display())]
    PlaceTaken {
        /// Path.
        path: PathBuf,
        /// Branch to check out there.
        branch: String,
    },
    /// The path for a linked work tree without a branch is taken.
    #[error("`{}` already exists and is not a work tree at commit {commit} or after it", path.display())]
    WorktreeTaken {
        /// Path.
        path: PathBuf,
        /// Commit to check out there.
        commit: CommitId,
    },
    /// A folder to remove is not a linked work tree of this repository.
    #[error("`{}` is not a linked work tree of this repository", path.display())]
    NotAWorktree {
        /// The folder.
        path: PathBuf,
    },
    /// A file cannot be copied or linked into a work tree.
    #[error("`{key}` in `[worktree]` names `{}`, which {why}", path.display())]
    Unfurnished {
        /// The key: `copy` or `link`.
        key: &'static str,
        /// Path in the configuration.
        path: PathBuf,
        /// Problem with the path.
        why: String,
    },
    /// The repository has no commit yet, and one is needed.
    #[error("the repository at `{}` has no commit yet", root.display())]
    NoCommitYet {
        /// The work tree.
        root: PathBuf,
    },
    /// HEAD is not where it is expected.
    #[error("HEAD is {found}, not {expected}")]
    HeadElsewhere {
        /// Expected position.
        expected: String,
        /// Actual position.
        found: String,
    },
    /// A private reference is not at the expected commit.
    #[error("`{reference}` is {}, not {}", place_of(found.as_ref()), place_of(expected.as_ref()))]
    ReferenceMoved {
        /// Its name.
        reference: String,
        /// Expected commit; `None`: it should not exist.
        expected: Option<CommitId>,
        /// Actual commit.
        found: Option<CommitId>,
    },
    /// The name of a private reference is invalid.
    #[error("`{reference}` is not the name of a reference below `refs/superstep/`")]
    BadReference {
        /// The name.
        reference: String,
    },
    /// A branch can only move forward.
    #[error("commit {to} does not come after commit {from}")]
    NotForward {
        /// Commit of the branch.
        from: CommitId,
        /// Commit to move to.
        to: CommitId,
    },
    /// Two sides changed the same lines.
    #[error("changes of both sides conflict in {}", list_files(files))]
    Conflict {
        /// The files.
        files: Vec<String>,
    },
    /// A hook refused the commit.
    #[error("the {} refused the commit:\n{output}", hook_name(hook))]
    HookRefused {
        /// Hook, if only one is possible.
        hook: Option<String>,
        /// End of its output.
        output: String,
    },
    /// Git has no user name or email.
    #[error("git has no commit author: {output}")]
    IdentityMissing {
        /// Message of git.
        output: String,
    },
    /// Hooks or configuration were changed since the work tree was locked, and the changes were not reviewed.
    #[error("git was not run, because hooks or configuration were changed meanwhile: {}", changes.join(", "))]
    Tampered {
        /// Changes.
        changes: Vec<String>,
    },
    /// The command is not allowed in a guarded work tree.
    #[error("`git {command}` is not run while hooks and configuration are untrusted")]
    Guarded {
        /// Its arguments.
        command: String,
    },
    /// The commit could not be signed.
    #[error("the commit could not be signed:\n{output}")]
    SigningFailed {
        /// End of the output.
        output: String,
    },
    /// The git program failed.
    #[error("`git {command}` failed{}: {output}", with_code(code))]
    GitFailed {
        /// Its arguments.
        command: String,
        /// Exit code; `None` if a signal ended it.
        code: Option<i32>,
        /// End of its output.
        output: String,
    },
    /// The git program did not end in time and was stopped, with what it waited for.
    #[error("`git {command}` did not end within {} s and was stopped{}", limit.as_secs(), waiting_note(waited_for.as_deref()))]
    TimedOut {
        /// Its arguments.
        command: String,
        /// Time limit.
        limit: Duration,
        /// The programs that it had started and waited for, such as a hook; `None` if there was none, or it is not known.
        waited_for: Option<String>,
        /// Key of git's configuration that sets the limit.
        setting: &'static str,
    },
    /// No salvaged work has this name.
    #[error("there is no salvaged work `{reference}`")]
    NoSuchSalvage {
        /// The name.
        reference: String,
    },
    /// The text is not the id of an existing object.
    #[error("`{id}` is not a {kind} of this repository")]
    NoSuchObject {
        /// The text.
        id: String,
        /// Expected kind of object.
        kind: &'static str,
    },
    /// Another run works in this work tree.
    #[error("another run works in `{}`: {holder}", root.display())]
    Busy {
        /// The work tree.
        root: PathBuf,
        /// Its holder.
        holder: Holder,
    },
    /// Reading or writing the repository failed.
    #[error("cannot {doing}: {cause}")]
    Git {
        /// Operation.
        doing: &'static str,
        /// Cause.
        cause: GitCause,
    },
    /// Reading or writing a file failed.
    #[error("cannot {doing} `{}`: {source}", path.display())]
    Io {
        /// Operation.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
}

impl WorkspaceError {
    /// Returns a hint for the user.
    pub fn help(&self) -> Option<&'static str> {
        Some(match self {
            Self::NoRepository { .. } => {
                "run it inside a git repository, or create one with `git init`; the run of a moved repository continues in its new folder"
            }
            Self::Bare { .. } => "run it in a clone that has a work tree",
            Self::NotYours { .. } => "run it as its owner, or add the folder to git's `safe.directory`",
            Self::Unreadable { .. } => {
                "`git fsck` checks it; repositories with SHA-256 ids or reftables cannot be read here"
            }
            Self::LinkedGitDir { .. } => {
                "replace it by a file with the line `gitdir: FOLDER`, where FOLDER is the target of the link"
            }
            Self::IndexForm { cause, .. } => cause.index_help(),
            Self::FilterMissing { .. } => {
                "install it, or turn the filter off with `git config filter.NAME.required false`"
            }
            Self::GitMissing { .. } => "install git, and put it on the PATH",
            Self::GitTooOld { .. } => "install a newer git",
            Self::Ongoing { what, .. } => what.help(),
            Self::Locked { .. } => "wait for the other git program, or remove its stale lock, then retry",
            Self::Dirty { .. } => "commit or stash them first, or allow a dirty work tree",
            Self::InTheWay { .. } => "commit, stash or move them first",
            Self::BranchTaken { .. } => "choose another name for the branch, or delete or rename that one",
            Self::BranchInTheWay { .. } => {
                "choose another name with `--branch NAME`, or rename the conflicting branch with `git branch -m OLD NEW`"
            }
            Self::BadBranch { .. } => "`git help check-ref-format` has the rules",
            Self::WorktreeTaken { .. } => "move that folder away",
            Self::NotAWorktree { .. } => "`git worktree list` shows them",
            Self::Unfurnished { .. } => {
                "correct the path in the profile, or create the file or folder in your checkout first"
            }
            Self::PlaceTaken { .. } => "choose another folder, or move that one away",
            Self::NoCommitYet { .. } => "make a first commit",
            Self::HeadElsewhere { .. } => "`git switch` back to the run's branch; `git reflog` shows its commits",
            Self::ReferenceMoved { .. } => "another run of this name works in the repository; choose another name",
            Self::BadReference { .. } => "`git help check-ref-format` has the rules",
            Self::Conflict { .. } => "commit or undo your own changes in these files, then resume",
            Self::HookRefused { .. } => "fix the problem that it reports, then retry: the commit is made again",
            Self::Tampered { .. } => "a process may have outlived its agent; check and restore them, then retry",
            Self::Guarded { .. } => "check and restore hooks and configuration, and open the work tree again",
            Self::IdentityMissing { .. } => {
                "`git config --global user.name \"Your Name\"`, and the same for `user.email`"
            }
            Self::SigningFailed { .. } => "unlock the key, or turn `commit.gpgSign` off, then retry",
            Self::TimedOut { waited_for: Some(_), setting: COMMIT_TIMEOUT, .. } => {
                "fix that program, which may wait for input, or raise the limit: `git config superstep.commitTimeout 30m`"
            }
            Self::TimedOut { setting: COMMIT_TIMEOUT, .. } => {
                "if the repository is large or slow, raise the limit: `git config superstep.commitTimeout 30m`"
            }
            Self::TimedOut { waited_for: Some(_), .. } => {
                "fix that program, which may wait for input, or raise the limit: `git config superstep.timeout 10m`"
            }
            Self::TimedOut { .. } => {
                "if the repository is large or slow, raise the limit: `git config superstep.timeout 10m`"
            }
            Self::NoSuchSalvage { .. } => "`salvage` lists the salvaged work",
            Self::NoSuchObject { .. } => "git may have removed it as unused; restart the task",
            Self::Busy { .. } => "wait for it, stop it, or use a separate work tree",
            Self::NotForward { .. } => "reset the branch to the last commit of the run",
            Self::Git { .. } => {
                "check the named object; `git fsck` checks the repository, and `--log` prints the full cause"
            }
            Self::GitFailed { .. } | Self::Io { .. } => return None,
        })
    }
}

/// Names the programs that were waited for.
fn waiting_note(waited_for: Option<&str>) -> String {
    waited_for.map_or_else(String::new, |commands| format!("; it waited for `{commands}`"))
}

/// Lists the first few files.
fn list_files(files: &[String]) -> String {
    const SHOWN: usize = 10;
    let names: Vec<_> = files.iter().take(SHOWN).map(|file| format!("`{file}`")).collect();
    match files.len().saturating_sub(SHOWN) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// Returns a duration in its largest unit.
fn for_people(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} minutes", seconds / 60),
        seconds @ 7200..172_800 => format!("{} hours", seconds / 3600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// Returns a path as a word of a shell.
fn quote_path(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%,:=".contains(c);
    if path.chars().all(is_plain) { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

fn place_of(commit: Option<&CommitId>) -> String {
    commit.map_or_else(|| "not there".to_owned(), |commit| format!("at commit {commit}"))
}

fn hook_name(hook: &Option<String>) -> String {
    hook.as_ref().map_or_else(|| "hooks".to_owned(), |hook| format!("hook `{hook}`"))
}

fn with_code(code: &Option<i32>) -> String {
    code.map(|code| format!(" with code {code}")).unwrap_or_default()
}
