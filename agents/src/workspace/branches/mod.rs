//! HEAD and the branches: where they are, how they moved, and whose moves those are. Knows the repository and its
//! references, and no files of the work tree.
//!
//! | file | what it knows |
//! |---|---|
//! | `head` | the position of HEAD, ancestry of commits, operations of git in progress |
//! | `head_log` | the reflog of HEAD, and the parts of it that agents wrote |
//! | `standing` | positions of HEAD and the branches, and how they moved since |
//! | `branch` | the branch of a run |
//! | `fold` | commits and branches of agents, taken back |
//!
//! Small because it only lists the folder.

mod branch;
mod fold;
mod head;
mod head_log;
mod standing;

pub use fold::FoldResult;
pub use head::Head;
pub(super) use head::{commits_since, descends, head_of};

pub(super) use head_log::{HeadLog, is_amended, log_file};
pub use standing::{BranchMove, BranchPositions, HeadMove};
