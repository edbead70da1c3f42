//! Git operation in progress, started by a person.

use std::fmt;

use git2::RepositoryState;
use serde::{Deserialize, Serialize};

/// Git operation in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ongoing {
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

impl Ongoing {
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

impl fmt::Display for Ongoing {
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
