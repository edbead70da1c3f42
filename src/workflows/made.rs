//! The lines at the end of a run that say what was made, how to look at it and how to merge it. Pure.

use std::path::Path;

use superstep_base::moved::here;
use superstep_base::shell::shell_word;

use crate::nodes::Base;
use crate::workspace::Head;

/// The work of a run, on its branch.
pub(crate) struct Made<'a> {
    /// The repository.
    pub(crate) repository: &'a Path,
    /// The start of the work.
    pub(crate) start: &'a Base,
    /// The position of HEAD before the work; none: unknown.
    pub(crate) came_from: Option<&'a Head>,
    /// The number of commits.
    pub(crate) commits: usize,
    /// True if the work is complete, and no unfinished files are in the checkout.
    pub(crate) is_complete: bool,
}

impl Made<'_> {
    /// Returns the lines; none without commits on a branch.
    pub(crate) fn lines(&self) -> Vec<String> {
        let Some(branch) = self.start.at.branch.as_ref().filter(|_| self.commits > 0) else { return vec![] };
        let count = if self.commits == 1 { "1 commit".to_owned() } else { format!("{} commits", self.commits) };
        let own = shell_word(branch);
        let range = match &self.start.at.commit {
            Some(commit) => format!("{}..{own}", commit.short()),
            None => own.clone(),
        };
        let merge = match self.came_from {
            Some(Head::Branch { name, .. }) if name != branch => {
                self.git(&format!("switch {}", shell_word(name))) + " && " + &self.git(&format!("merge {own}"))
            }
            Some(Head::Unborn { name }) if name != branch => self.git(&format!("branch {} {own}", shell_word(name))),
            Some(_) | None => self.git(&format!("merge {own}")),
        };
        let mut lines = vec![
            format!("made: {count} on the branch {branch}"),
            format!("look at it: {}", self.git(&format!("log --patch {range}"))),
        ];
        lines.extend(self.is_complete.then(|| format!("merge it: {merge}")));
        lines
    }

    fn git(&self, words: &str) -> String {
        format!("git -C {} {words}", shell_word(&here(self.repository).display().to_string()))
    }
}
