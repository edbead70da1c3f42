//! What can go wrong with a workspace. Says what and where; `help()` says what to do.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::holder::Holder;
use super::id::CommitId;
use super::ongoing::Ongoing;

/// Something about the repository, or about the git program, that keeps a workflow from going on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// No folder above is a git repository.
    #[error("`{}` is in no git repository", dir.display())]
    NoRepository {
        /// Where it was looked for.
        dir: PathBuf,
    },
    /// The repository has no work tree.
    #[error("the repository `{}` is bare: it has no files to work on", dir.display())]
    Bare {
        /// The repository.
        dir: PathBuf,
    },
    /// The repository belongs to somebody else.
    #[error("the repository at `{}` belongs to another user", dir.display())]
    NotYours {
        /// The repository.
        dir: PathBuf,
    },
    /// The repository cannot be read.
    #[error("cannot open the repository at `{}`: {}", dir.display(), source.message())]
    Unreadable {
        /// The repository.
        dir: PathBuf,
        /// Why.
        source: git2::Error,
    },
    /// The git program cannot be started.
    #[error("cannot run the program `{}`: {source}", program.display())]
    GitMissing {
        /// The program.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The git program lacks what is needed.
    #[error("git {found} is too old; {needed} or newer is needed")]
    GitTooOld {
        /// Its version.
        found: String,
        /// The oldest that will do.
        needed: String,
    },
    /// A merge, rebase or the like has begun and not ended.
    #[error("a {what} is in progress in `{}`", root.display())]
    Ongoing {
        /// What.
        what: Ongoing,
        /// The work tree.
        root: PathBuf,
    },
    /// Another git program is writing the index, or was killed while it did.
    #[error("the index is locked by `{}`", path.display())]
    IndexLocked {
        /// The lock.
        path: PathBuf,
    },
    /// There are changes that are in no commit.
    #[error("the work tree has changes that are not committed: {}", listed(files))]
    Dirty {
        /// The changed and new files.
        files: Vec<String>,
    },
    /// A file of the work tree stands where another is to be written.
    #[error("changes that are not committed would be overwritten: {}", listed(files))]
    InTheWay {
        /// The files.
        files: Vec<String>,
    },
    /// There is a branch of that name, at another commit.
    #[error("the branch `{branch}` is there already, at commit {commit}")]
    BranchTaken {
        /// The branch.
        branch: String,
        /// Where it stands.
        commit: CommitId,
    },
    /// Git accepts no such name for a branch.
    #[error("`{branch}` cannot be the name of a branch")]
    BadBranch {
        /// The name.
        branch: String,
    },
    /// The place for a linked work tree is taken.
    #[error("`{}` is there already and is no work tree of this repository on branch `{branch}`", path.display())]
    PlaceTaken {
        /// The place.
        path: PathBuf,
        /// The branch that was to be checked out there.
        branch: String,
    },
    /// The place for a linked work tree without a branch is taken.
    #[error("`{}` is there already and is no work tree at commit {commit} or after it", path.display())]
    WorktreeTaken {
        /// The place.
        path: PathBuf,
        /// The commit that was to be checked out there.
        commit: CommitId,
    },
    /// A folder that is to be removed is no linked work tree of this repository.
    #[error("`{}` is no linked work tree of this repository", path.display())]
    NotAWorktree {
        /// The folder.
        path: PathBuf,
    },
    /// A file cannot be copied or linked into a work tree.
    #[error("`{key}` in `[worktree]` names `{}`, which {why}", path.display())]
    Unfurnished {
        /// The key: `copy` or `link`.
        key: &'static str,
        /// The path it names.
        path: PathBuf,
        /// The problem with it.
        why: String,
    },
    /// The repository has no commit yet, and one is needed.
    #[error("the repository at `{}` has no commit yet", root.display())]
    NoCommitYet {
        /// The work tree.
        root: PathBuf,
    },
    /// The work tree does not stand where it was left.
    #[error("HEAD is {found}, not {expected}")]
    HeadElsewhere {
        /// Where it should stand.
        expected: String,
        /// Where it stands.
        found: String,
    },
    /// A private reference is not where it was expected.
    #[error("`{reference}` is {}, not {}", place_of(found.as_ref()), place_of(expected.as_ref()))]
    ReferenceMoved {
        /// Its name.
        reference: String,
        /// The commit it was expected at; none: it was not to be there.
        expected: Option<CommitId>,
        /// The commit it is at.
        found: Option<CommitId>,
    },
    /// A name is none of a private reference.
    #[error("`{reference}` is not the name of a reference below `refs/superstep/`")]
    BadReference {
        /// The name.
        reference: String,
    },
    /// A branch can only move forward.
    #[error("commit {to} does not come after commit {from}")]
    NotForward {
        /// The commit the branch is at.
        from: CommitId,
        /// The commit it was to move to.
        to: CommitId,
    },
    /// Two sides changed the same lines.
    #[error("changes of two sides meet in {}", listed(files))]
    Conflict {
        /// The files.
        files: Vec<String>,
    },
    /// A hook did not let the commit through.
    #[error("the {} refused the commit:\n{output}", hook_name(hook))]
    HookRefused {
        /// The hook, if only one can have been it.
        hook: Option<String>,
        /// The end of what it wrote.
        output: String,
    },
    /// Git does not know who commits.
    #[error("git does not know who commits: {output}")]
    IdentityMissing {
        /// What git said.
        output: String,
    },
    /// What git runs was changed since the work tree was locked, outside of any turn that was looked at.
    #[error("git was not run, for hooks or configuration were changed meanwhile: {}", changes.join(", "))]
    Tampered {
        /// What was changed, and how.
        changes: Vec<String>,
    },
    /// A guarded work tree runs no such command.
    #[error("`git {command}` is not run while hooks and configuration are not to be trusted")]
    Guarded {
        /// Its arguments.
        command: String,
    },
    /// The commit could not be signed.
    #[error("the commit could not be signed:\n{output}")]
    SigningFailed {
        /// The end of what was said.
        output: String,
    },
    /// The git program failed.
    #[error("`git {command}` failed{}: {output}", with_code(code))]
    GitFailed {
        /// Its arguments.
        command: String,
        /// Its exit code; none if a signal ended it.
        code: Option<i32>,
        /// The end of what it wrote.
        output: String,
    },
    /// The git program, or a hook, did not end in time and was killed.
    #[error("`git {command}` did not end within {} s and was stopped", limit.as_secs())]
    TimedOut {
        /// Its arguments.
        command: String,
        /// The time it had.
        limit: Duration,
    },
    /// Nothing was salvaged under that name.
    #[error("there is no salvaged work `{reference}`")]
    NoSuchSalvage {
        /// The name.
        reference: String,
    },
    /// A text is no id of an object, or no such object is there.
    #[error("`{id}` is no {kind} of this repository")]
    NoSuchObject {
        /// The text.
        id: String,
        /// What was looked for.
        kind: &'static str,
    },
    /// Another run works in this work tree.
    #[error("another run works in `{}`: {holder}", root.display())]
    Busy {
        /// The work tree.
        root: PathBuf,
        /// Who.
        holder: Holder,
    },
    /// Reading or writing the repository failed.
    #[error("cannot {doing}: {}", source.message())]
    Git {
        /// What was tried.
        doing: &'static str,
        /// Why.
        source: git2::Error,
    },
    /// Reading or writing a file failed.
    #[error("cannot {doing} `{}`: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl WorkspaceError {
    /// Returns what a person can do about it.
    pub fn help(&self) -> Option<&'static str> {
        Some(match self {
            Self::NoRepository { .. } => "run it inside a git repository, or make one with `git init`",
            Self::Bare { .. } => "run it in a clone that has a work tree",
            Self::NotYours { .. } => "run it as its owner, or add the folder to git's `safe.directory`",
            Self::Unreadable { .. } => {
                "`git fsck` checks it; repositories with SHA-256 ids or reftables cannot be read here"
            }
            Self::GitMissing { .. } => "install git, and put it on the PATH",
            Self::GitTooOld { .. } => "install a newer git",
            Self::Ongoing { what, .. } => what.help(),
            Self::IndexLocked { .. } => "wait for the other git program; if none runs any more, delete the file",
            Self::Dirty { .. } => "commit or stash them first, or allow a dirty work tree",
            Self::InTheWay { .. } => "commit, stash or move them first",
            Self::BranchTaken { .. } => "choose another name for the branch, or delete or rename that one",
            Self::BadBranch { .. } => "`git help check-ref-format` has the rules",
            Self::WorktreeTaken { .. } => "move that folder away",
            Self::NotAWorktree { .. } => "`git worktree list` shows them",
            Self::Unfurnished { .. } => "correct the path in the profile, or make what it names in your checkout first",
            Self::PlaceTaken { .. } => "choose another folder, or move that one away",
            Self::NoCommitYet { .. } => "make a first commit",
            Self::HeadElsewhere { .. } => "`git switch` back to the run's branch; `git reflog` tells where it stood",
            Self::ReferenceMoved { .. } => "another run of this name works in the repository; choose another name",
            Self::BadReference { .. } => "`git help check-ref-format` has the rules",
            Self::Conflict { .. } => "commit or undo your own changes in these files, then go on",
            Self::HookRefused { .. } => "mend what it complains about, then retry: the commit is made again",
            Self::Tampered { .. } => "a process may have outlived its agent; look at them, put them right, then retry",
            Self::Guarded { .. } => "look at hooks and configuration, put them right, and open the work tree anew",
            Self::IdentityMissing { .. } => {
                "`git config --global user.name \"Your Name\"`, and the same for `user.email`"
            }
            Self::SigningFailed { .. } => "unlock the key, or turn `commit.gpgSign` off, then retry",
            Self::TimedOut { .. } => "a hook that waits for input, or a slow one? raise the time limit, or mend it",
            Self::NoSuchSalvage { .. } => "`salvage` lists what there is",
            Self::NoSuchObject { .. } => "git may have removed it as unused; begin the task anew",
            Self::Busy { .. } => "wait for it, stop it, or use a work tree of its own",
            Self::NotForward { .. } => "put the branch back to where the run left it",
            Self::GitFailed { .. } | Self::Git { .. } | Self::Io { .. } => return None,
        })
    }
}

/// Names the first few.
fn listed(files: &[String]) -> String {
    const SHOWN: usize = 10;
    let names: Vec<_> = files.iter().take(SHOWN).map(|file| format!("`{file}`")).collect();
    match files.len().saturating_sub(SHOWN) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
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
