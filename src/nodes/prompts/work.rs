//! The work that a reviewer reviews. Plain data.

use super::diff::Diff;
use crate::plan::Comment;

/// The work that a reviewer judges.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// The kind of the review: `general`, `security`.
    pub kind: &'a str,
    /// All changes of the task.
    pub diff: &'a Diff,
    /// Changes since the last review; empty: there was none.
    pub delta: &'a str,
    /// The results of the checks, a line each.
    pub checks: &'a [String],
    /// Open comments.
    pub earlier: &'a [Comment],
}
