//! The rules for parallel subtasks.

use std::collections::BTreeSet;

use superstep_workflows::OnSubtaskFailure;
use superstep_workflows::phased::PhaseStatus;

use super::Referee;
use super::state::Part;
use crate::phases::random::script::{Files, id, index};
use crate::phases::random::turns::{self, RunEnd};

impl Referee<'_> {
    /// Runs a subtask: on the phase's base, or on the integrated work if it collided with that.
    pub(super) fn run(&mut self, at: usize) -> RunEnd {
        self.lines[at].attempt = self.this().attempt;
        let from = if self.parts[at].collision.is_some() { &self.now.tip } else { &self.files };
        turns::run(self.script, &self.name(at), from)
    }

    pub(super) fn apply_ends(&mut self, ends: Vec<(usize, RunEnd)>) {
        let cancelled = self.cancelled(&ends);
        for (at, end) in ends {
            let name = self.name(at).name();
            let is_cancelled = cancelled.contains(&at);
            let failure = if is_cancelled { "cancelled: subtask " } else { end.failure.unwrap_or_default() };
            let tree = if is_cancelled { self.cut_short(at, &end) } else { Some(end.tree().clone()) };
            self.all.questions[usize::from(is_cancelled)].extend(end.questions);
            self.all.starts[usize::from(is_cancelled)].insert(name.clone(), end.from.clone());
            let is_second = self.parts[at].is_second;
            let trees = tree.map(|tree| [end.from, tree]);
            self.parts[at] = Part { trees, is_second, is_cancelled, failure, ..Part::default() };
            let is_done = failure.is_empty();
            self.lines[at].status = if is_done { PhaseStatus::Completed } else { PhaseStatus::Failed };
            if !is_done {
                self.keep(at);
            }
        }
    }

    /// Returns the cancelled siblings; only the failure of another cancels them.
    fn cancelled(&self, ends: &[(usize, RunEnd)]) -> BTreeSet<usize> {
        let fails = |at: usize| ends.iter().any(|(other, end)| *other == at && end.failure.is_some());
        let halts = self.script.settings.on_failure == OnSubtaskFailure::Halt;
        if !halts || !ends.iter().any(|(at, _)| fails(*at)) {
            return BTreeSet::new();
        }
        let seen = self.halts.front().unwrap();
        let error = |at: usize| seen.lines.iter().find(|line| line.subtask_id == id(at))?.error.clone();
        let cause =
            |at: usize| Some(error(at)?.strip_prefix("cancelled: subtask ")?.strip_suffix(" failed")?.to_owned());
        let cancelled: BTreeSet<usize> = ends.iter().map(|(at, _)| *at).filter(|at| cause(*at).is_some()).collect();
        for cause in cancelled.iter().filter_map(|at| cause(*at)) {
            let at = index(&cause);
            assert!(fails(at) && !cancelled.contains(&at), "{cause} cancels others, and did not fail: {seen:?}");
        }
        let is_cause = |at: &usize| fails(*at) && !cancelled.contains(at);
        assert!(ends.iter().any(|(at, _)| is_cause(at)), "a failure halts: {seen:?}");
        cancelled
    }

    /// Returns the files of a cancelled run, of which any turn may have been the last; `None` if it changed nothing.
    fn cut_short(&self, at: usize, end: &RunEnd) -> Option<Files> {
        let files = self.seen.end.kept.get(&self.name(at).name())?;
        assert!(end.snapshots.contains(files), "{} keeps {files:?}", self.name(at).name());
        Some(files.clone())
    }
}
