//! The rules for decisions of people.

use superstep::nodes::AfterHalt;
use superstep_workflows::OnExhausted;
use superstep_workflows::phased::PhaseStatus;
use superstep_workflows::task_based::RunOutcome;

use super::Referee;
use super::plan::reachable;
use super::state::{Collision, Line, Next, Part};
use crate::phases::random::script::id;
use crate::phases::random::seen::line;

impl Referee<'_> {
    pub(super) fn halt(&mut self, subtask: Option<usize>, reason: &str) -> Next {
        self.this().status = PhaseStatus::Failed;
        self.tasks().into_iter().for_each(|at| self.keep(at));
        match (self.decision(subtask, reason), subtask) {
            (AfterHalt::Abort | AfterHalt::EditPlan { .. }, _) => Next::End(match self.script.settings.on_exhausted {
                OnExhausted::Fail => RunOutcome::Failed,
                OnExhausted::Halt | OnExhausted::Skip => RunOutcome::Cancelled,
            }),
            (AfterHalt::Retry { attempts, .. }, None) => {
                self.now.allowed = self.now.rejections + attempts;
                self.repeat();
                Next::Begin
            }
            (AfterHalt::Accept, None) => Next::Approved,
            (AfterHalt::Skip, None) => {
                self.tasks().into_iter().for_each(|at| self.leave_out(at));
                Next::LeftOut
            }
            (AfterHalt::Retry { .. }, Some(at)) => {
                self.lines[at].goes_without |= self.parts[at].trees.is_none() && self.lines[at].attempt == 0;
                self.rerun()
            }
            (AfterHalt::Accept, Some(at)) => self.accept(at),
            (AfterHalt::Skip, Some(at)) => {
                self.leave_out(at);
                self.rerun()
            }
        }
    }

    /// Returns the answer of a person, or of the profile if no question is asked.
    fn decision(&mut self, subtask: Option<usize>, reason: &str) -> AfterHalt {
        match self.script.settings.on_exhausted {
            OnExhausted::Skip => return AfterHalt::Skip,
            OnExhausted::Fail => return AfterHalt::Abort,
            OnExhausted::Halt => {}
        }
        loop {
            self.all.halts += 1;
            let seen = self.halts.pop_front().unwrap_or_else(|| panic!("nobody is asked about {subtask:?}: {reason}"));
            assert_eq!((seen.phase, seen.subtask.clone()), (self.number(), subtask.map(id)), "{seen:?}");
            assert!(seen.reason.starts_with(reason), "`{}` is not `{reason}`", seen.reason);
            let lines = self.phases.iter().flat_map(|phase| &phase.tasks).map(|at| self.lines[*at].describe(*at));
            assert_eq!(seen.lines.iter().map(line).collect::<Vec<_>>(), lines.collect::<Vec<_>>());
            let answer = self.answers.next().unwrap_or(AfterHalt::Abort);
            let is_fit = !reason.starts_with(Collision::Conflict.reason());
            let has_work = is_fit && subtask.is_none_or(|at| self.parts[at].trees.is_some());
            if answer != AfterHalt::Accept || has_work {
                return answer;
            }
        }
    }

    /// Accepts the work of a subtask.
    fn accept(&mut self, at: usize) -> Next {
        self.lines[at].status = PhaseStatus::Completed;
        let part = self.parts[at].clone();
        self.parts[at] = Part { is_accepted: true, is_cancelled: false, ..part };
        self.rerun()
    }

    /// Leaves out a subtask and all its dependents.
    fn leave_out(&mut self, at: usize) {
        let needing = |task: usize| {
            let needs = |other: &usize| self.script.tasks[*other].needs.contains(&task);
            (0..self.script.tasks.len()).filter(needs).collect()
        };
        for at in reachable(at, needing).into_iter().chain([at]) {
            let line = self.lines[at].clone();
            self.lines[at] = Line { status: PhaseStatus::Failed, is_left_out: true, is_committed: false, ..line };
        }
    }

    /// Runs unfinished subtasks again, in another attempt if any of them was started in this one.
    fn rerun(&mut self) -> Next {
        if self.tasks().iter().all(|at| self.lines[*at].is_left_out) {
            return Next::LeftOut;
        }
        let (open, attempt) = (self.open(), self.this().attempt);
        let was_started = open.iter().any(|at| self.lines[*at].attempt == attempt);
        self.this().attempt += u32::from(was_started);
        for at in open {
            let collision = self.parts[at].collision;
            self.again(at);
            self.parts[at].collision = collision;
            if self.lines[at].attempt == 0 {
                self.lines[at].status = PhaseStatus::Pending;
            }
        }
        Next::Begin
    }
}
