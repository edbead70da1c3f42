//! Trees of files: snapshots of the work tree, what differs between two trees and how their changes are combined, and
//! files set to those of a tree.
//!
//! | file | what it knows |
//! |---|---|
//! | `index` | the user's index, and temporary copies of it |
//! | `snapshot` | changed files, those that are left out, and the tree of the others |
//! | `unseen` | work that git would not commit |
//! | `diff` | content and differences of trees |
//! | `merge` | changes applied to another tree, and commits made again |
//! | `reset` | files of the work tree set to those of a tree |
//!
//! Small because it only lists the folder.

mod diff;
mod index;
mod merge;
mod reset;
mod snapshot;
mod unseen;

pub use diff::{FileDiff, FileStatus, LeakedKey};
pub(super) use index::Scratch;
pub use reset::ResetResult;
pub(super) use reset::{FileChanges, differing_files};
pub use snapshot::{OmissionReason, OmittedFile, WorktreeSnapshot};
