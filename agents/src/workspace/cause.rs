//! Causes of errors, in words for people: a failure inside libgit2, an operation of git in progress, and another run
//! that holds the work tree. Knows no repository.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use git2::{ErrorClass, ErrorCode, RepositoryState};
use serde::{Deserialize, Serialize};

/// A failure of libgit2. Displays what a person can use; `Debug` has class and code.
pub struct GitCause(git2::Error);

impl GitCause {
    /// Returns the error of libgit2.
    pub fn error(&self) -> &git2::Error {
        &self.0
    }
}

impl From<git2::Error> for GitCause {
    fn from(error: git2::Error) -> Self {
        Self(error)
    }
}

impl fmt::Debug for GitCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// Names forms of a repository that libgit2 does not read.
fn unsupported_form(message: &str) -> Option<&'static str> {
    match message {
        text if text.contains("refstorage") => Some("its references are in reftables"),
        text if text.contains("object format") || text.contains("objectformat") => Some("its ids are not SHA-1"),
        text if text.contains("extension: 'link'") => Some("it is split"),
        text if text.contains("extension: 'sdir'") => Some("it is sparse"),
        text if text.contains("mandatory extension") => Some("it has an extension that is not supported"),
        text if text.contains("unsupported extension") => Some("it has an extension that is not supported"),
        _ => None,
    }
}

impl GitCause {
    /// Returns what repairs an index that cannot be read.
    pub(super) fn index_help(&self) -> &'static str {
        match self.to_string().as_str() {
            "it is split" => "`git update-index --no-split-index` rewrites it",
            "it is sparse" => "`git sparse-checkout reapply --no-sparse-index` rewrites it",
            "its version is not supported" => "`git update-index --index-version 4` rewrites it",
            text if text.contains("extension") => {
                "read it with the git that wrote it, or recreate it with `git read-tree HEAD`"
            }
            text if text.contains("may not be read") => "make the file `index` in git's folder readable",
            _ => {
                "recreate it with `rm -f \"$(git rev-parse --git-path index)\"` and `git reset`; files are not changed"
            }
        }
    }
}

impl fmt::Display for GitCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = self.0.message().trim().to_lowercase();
        if let Some(what) = unsupported_form(&message) {
            return f.write_str(what);
        }
        let has = |texts: &[&str]| texts.iter().any(|text| message.contains(text));
        f.write_str(match (self.0.class(), self.0.code()) {
            _ if has(&["no space left"]) => "the disk is full",
            _ if has(&["permission denied"]) => "a file of the repository may not be read or written",
            _ if has(&["read-only file system"]) => "the file system is read-only",
            _ if has(&["too many open files"]) => "too many files are open",
            _ if has(&["cannot be peeled", "cannot retrieve", "object not found"]) => {
                "an object of the repository is missing or damaged"
            }
            (_, ErrorCode::Locked) => "another git program holds a lock",
            (ErrorClass::NoMemory, _) => "there is not enough memory",
            (
                ErrorClass::Odb
                | ErrorClass::Object
                | ErrorClass::Tree
                | ErrorClass::Tag
                | ErrorClass::Indexer
                | ErrorClass::Zlib
                | ErrorClass::Sha1,
                _,
            ) => "an object of the repository is missing or damaged",
            (ErrorClass::Config, _) => "git's configuration cannot be read",
            (ErrorClass::Index, _) if has(&["index version"]) => "its version is not supported",
            (ErrorClass::Index, _) => "the index is damaged",
            (ErrorClass::Reference, ErrorCode::Exists) => "the reference is there already",
            (ErrorClass::Reference, ErrorCode::Modified) => "the reference was moved meanwhile",
            (ErrorClass::Reference, ErrorCode::InvalidSpec) => "the name of a reference is invalid",
            (ErrorClass::Reference, _) => "a reference cannot be read or written",
            (ErrorClass::Os | ErrorClass::Filesystem, _) => "a file of the repository cannot be read or written",
            (ErrorClass::Filter, _) => "a filter of the repository failed",
            (ErrorClass::Submodule, _) => "a submodule cannot be read",
            (ErrorClass::Worktree, _) => "git's record of a work tree is damaged",
            (ErrorClass::Checkout, _) => "a file of the work tree cannot be written",
            (ErrorClass::Merge, _) => "the commits cannot be merged",
            (ErrorClass::Repository, _) => "a file in git's folder is missing or damaged",
            (ErrorClass::Invalid, _) => "a name or an id is invalid",
            _ => "git's files are not as expected; `--log=warn` shows more",
        })
    }
}

/// Git operation in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OngoingOperation {
    /// `git merge`.
    Merge,
    /// `git rebase`.
    Rebase,
    /// `git cherry-pick`.
    CherryPick,
    /// `git revert`.
    Revert,
    /// `git bisect`.
    Bisect,
    /// `git am`.
    Mail,
}

impl OngoingOperation {
    pub(super) fn help(self) -> &'static str {
        match self {
            Self::Merge => "finish it with `git merge --continue`, or undo it with `git merge --abort`",
            Self::Rebase => "finish it with `git rebase --continue`, or undo it with `git rebase --abort`",
            Self::CherryPick => {
                "finish it with `git cherry-pick --continue`, or undo it with `git cherry-pick --abort`"
            }
            Self::Revert => "finish it with `git revert --continue`, or undo it with `git revert --abort`",
            Self::Bisect => "end it with `git bisect reset`",
            Self::Mail => "finish it with `git am --continue`, or undo it with `git am --abort`",
        }
    }

    pub(super) fn of(state: RepositoryState) -> Option<Self> {
        use RepositoryState as R;
        Some(match state {
            R::Clean => return None,
            R::Merge => Self::Merge,
            R::Revert | R::RevertSequence => Self::Revert,
            R::CherryPick | R::CherryPickSequence => Self::CherryPick,
            R::Bisect => Self::Bisect,
            R::Rebase | R::RebaseInteractive | R::RebaseMerge => Self::Rebase,
            R::ApplyMailbox | R::ApplyMailboxOrRebase => Self::Mail,
        })
    }
}

impl fmt::Display for OngoingOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Merge => "merge",
            Self::Rebase => "rebase",
            Self::CherryPick => "cherry-pick",
            Self::Revert => "revert",
            Self::Bisect => "bisect",
            Self::Mail => "`git am`",
        })
    }
}

/// Holder of a work tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Holder {
    /// Id of the process; `None` if it is not known yet.
    pub pid: Option<u32>,
    /// Thread that it runs.
    pub thread: String,
    /// Start, in milliseconds since 1970 (UTC).
    pub since: u64,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(pid) = self.pid else { return f.write_str("an unknown process") };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_millis());
        let seconds = now.saturating_sub(self.since.into()) / 1000;
        write!(f, "thread `{}` in process {pid}, for {seconds} s", self.thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::split(ErrorClass::Index, "unsupported mandatory extension: 'link'", "it is split", "--no-split-index")]
    #[case::sparse(ErrorClass::Index, "unsupported mandatory extension: 'sdir'", "it is sparse", "--no-sparse-index")]
    #[case::damaged(
        ErrorClass::Index,
        "invalid data in index - calculated checksum does not match expected",
        "the index is damaged",
        "git reset"
    )]
    #[case::old(ErrorClass::Index, "unsupported index version 9", "its version is not supported", "--index-version")]
    #[case::denied(
        ErrorClass::Os,
        "failed to open index for reading: Permission denied",
        "a file of the repository may not be read or written",
        "readable"
    )]
    fn a_cause_is_in_words_of_a_person(
        #[case] class: ErrorClass,
        #[case] message: &str,
        #[case] text: &str,
        #[case] help: &str,
    ) {
        let cause = GitCause::from(git2::Error::new(ErrorCode::GenericError, class, message));
        assert_eq!(cause.to_string(), text);
        assert!(cause.index_help().contains(help), "{}", cause.index_help());
    }
}
