//! What a reviewer judges. Plain data.

use super::diff::Diff;
use crate::plan::Comment;

/// What a reviewer judges.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// What the review is about: `general`, `security`.
    pub kind: &'a str,
    /// All changes of the task.
    pub diff: &'a Diff,
    /// Those since the last review; empty: there was none.
    pub delta: &'a str,
    /// How the checks ended, a line each.
    pub checks: &'a [String],
    /// Comments that are still open.
    pub earlier: &'a [Comment],
}
