//! An independent implementation of the workflow's rules, over names of files: the end of a script's run. It knows
//! neither graph nor git nor agent. Cancelled siblings and their progress come from the observations.

mod halts;
mod integration;
mod plan;
mod state;
mod subtasks;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use superstep::nodes::AfterHalt;
use superstep_workflows::phased::PhaseStatus;
use superstep_workflows::task_based::RunOutcome;

use self::plan::{phases, reachable};
use self::state::{Line, Next, Now, Part, Phase, Step};
use super::script::{Files, Run, Script, begin, id};
use super::seen::{End, Halt, Seen};

/// The expected observations of a run.
#[derive(Debug, Default)]
pub(super) struct Expected {
    /// The questions that developers ask in any case, and those that they ask unless they are cancelled before.
    pub(super) questions: [BTreeSet<String>; 2],
    /// The files with which runs and reviews start; those of cancelled runs only if they have started.
    pub(super) starts: [BTreeMap<String, Files>; 2],
    /// The number of commits on the branch and the user's files during each phase.
    pub(super) checkouts: BTreeMap<u32, (usize, Files)>,
    /// The number of questions about phases and subtasks.
    pub(super) halts: usize,
    pub(super) end: End,
}

pub(super) struct Referee<'s> {
    script: &'s Script,
    seen: &'s Seen,
    halts: VecDeque<&'s Halt>,
    answers: std::vec::IntoIter<AfterHalt>,
    phases: Vec<Phase>,
    lines: Vec<Line>,
    parts: Vec<Part>,
    now: Now,
    files: Files,
    all: Expected,
}

impl<'s> Referee<'s> {
    pub(super) fn new(script: &'s Script, seen: &'s Seen) -> Self {
        let is_approved = |at| script.approved.as_ref().is_none_or(|approved| approved.contains(&at));
        let left_out = Line { status: PhaseStatus::Failed, is_left_out: true, ..Line::default() };
        let line = |at| if is_approved(at) { Line::default() } else { left_out.clone() };
        Self {
            script,
            seen,
            halts: seen.halts.iter().collect(),
            answers: script.answers.clone().into_iter(),
            phases: phases(script).into_iter().map(|tasks| Phase { tasks, ..Phase::default() }).collect(),
            lines: (0..script.tasks.len()).map(line).collect(),
            parts: vec![],
            now: Now::default(),
            files: begin(),
            all: Expected::default(),
        }
    }

    /// Returns the expected observations.
    pub(super) fn judge(mut self) -> Expected {
        let mut phases = 0..self.phases.len();
        let ended = phases.find_map(|at| self.phase(at));
        let subtask = |at: &usize| self.lines[*at].describe(*at);
        let described = |(at, phase): (usize, &Phase)| {
            let subtasks = phase.tasks.iter().map(subtask).collect::<Vec<_>>().join(", ");
            format!("{} {:?}, attempt {}: {subtasks}", at + 1, phase.status, phase.attempt)
        };
        self.all.end.phases = self.phases.iter().enumerate().map(described).collect();
        self.all.end.outcome = ended.or(Some(RunOutcome::Completed));
        self.all.end.files = self.files;
        self.all
    }

    /// Runs a phase; returns the end of the run, if it ends.
    fn phase(&mut self, phase: usize) -> Option<RunOutcome> {
        if self.phases[phase].tasks.iter().all(|at| self.lines[*at].is_left_out) {
            return None;
        }
        let allowed = self.script.settings.max_phase_attempts;
        self.now = Now { phase, allowed, tip: self.files.clone(), ..Now::default() };
        self.parts = vec![Part::default(); self.lines.len()];
        self.this().attempt = 1;
        let before = (self.all.end.commits.len(), self.files.clone());
        self.all.checkouts.insert(self.number(), before);
        loop {
            self.this().status = PhaseStatus::Running;
            let next = match self.attempt() {
                Step::Again => Next::Begin,
                Step::Approved => Next::Approved,
                Step::Halted(subtask, reason) => self.halt(subtask, reason),
            };
            match next {
                Next::Begin => {}
                Next::Approved => {
                    self.this().status = PhaseStatus::Completed;
                    self.files = self.now.tip.clone();
                    self.all.end.commits.append(&mut self.now.commits);
                    return None;
                }
                Next::LeftOut => {
                    self.this().status = PhaseStatus::Failed;
                    return None;
                }
                Next::End(outcome) => return Some(outcome),
            }
        }
    }

    fn this(&mut self) -> &mut Phase {
        &mut self.phases[self.now.phase]
    }

    /// The number of the phase, from 1.
    fn number(&self) -> u32 {
        u32::try_from(self.now.phase).unwrap() + 1
    }

    fn tasks(&self) -> Vec<usize> {
        self.phases[self.now.phase].tasks.clone()
    }

    fn is_open(&self, at: usize) -> bool {
        self.lines[at].status != PhaseStatus::Completed && !self.lines[at].is_left_out
    }

    fn open(&self) -> Vec<usize> {
        self.tasks().into_iter().filter(|at| self.is_open(*at)).collect()
    }

    fn attempt(&mut self) -> Step {
        if let Some(refused) = self.refused() {
            return Step::Halted(Some(refused), "it depends on ");
        }
        let ends = self.open().into_iter().map(|at| (at, self.run(at))).collect();
        self.apply_ends(ends);
        if let Some(failed) = self.failed() {
            return Step::Halted(Some(failed), self.parts[failed].failure);
        }
        let waiting = |at: &usize| self.lines[*at].status == PhaseStatus::Completed;
        let parts: Vec<usize> = self.tasks().into_iter().filter(waiting).collect();
        for at in parts.into_iter().filter(|at| !self.now.integrated.contains(at)).collect::<Vec<_>>() {
            if let Some(collision) = self.integrate(at) {
                return self.repeat_on_integrated(at, collision);
            }
        }
        self.review()
    }

    /// Marks the subtasks that depend on one that is left out; returns the first, about which a person is asked.
    fn refused(&mut self) -> Option<usize> {
        let is_unmet = |at: &usize| {
            let needs = reachable(*at, |task| self.script.tasks[task].needs.clone());
            !self.lines[*at].goes_without && needs.iter().any(|need| self.lines[*need].is_left_out)
        };
        let refused: Vec<usize> = self.open().into_iter().filter(is_unmet).collect();
        refused.iter().for_each(|at| self.lines[*at].status = PhaseStatus::Failed);
        refused.first().copied()
    }

    fn name(&self, at: usize) -> Run {
        let Line { attempt, .. } = self.lines[at];
        Run { task: id(at), phase: self.number(), attempt, is_second: self.parts[at].is_second }
    }

    /// Returns the subtask about which a person is asked: the first that failed by itself.
    fn failed(&self) -> Option<usize> {
        let failed = |at: &usize| self.lines[*at].status == PhaseStatus::Failed && !self.lines[*at].is_left_out;
        let all: Vec<usize> = self.tasks().into_iter().filter(failed).collect();
        all.iter().find(|at| !self.parts[**at].is_cancelled).or(all.first()).copied()
    }

    /// Keeps the work of a subtask, if any.
    fn keep(&mut self, at: usize) {
        let Some([from, tree]) = &self.parts[at].trees else { return };
        if from != tree {
            self.all.end.kept.insert(self.name(at).name(), tree.clone());
        }
    }

    fn review(&mut self) -> Step {
        let attempt = self.this().attempt;
        let name = format!("phase-{}/attempt-{attempt}/integration", self.number());
        self.all.starts[0].insert(name, self.now.tip.clone());
        if !self.script.rejects(self.number(), attempt) {
            return Step::Approved;
        }
        self.now.rejections += 1;
        if self.now.rejections < self.now.allowed {
            self.repeat();
            return Step::Again;
        }
        Step::Halted(None, "the review rejected it")
    }

    /// Runs the whole phase again from the commit before it.
    fn repeat(&mut self) {
        let Now { phase, rejections, allowed, .. } = self.now;
        for at in self.tasks() {
            self.keep(at);
            if !self.lines[at].is_left_out {
                self.again(at);
            }
        }
        self.now = Now { phase, rejections, allowed, tip: self.files.clone(), ..Now::default() };
        self.this().attempt += 1;
    }

    fn again(&mut self, at: usize) {
        let line = self.lines[at].clone();
        self.lines[at] = Line { status: PhaseStatus::Retrying, is_committed: false, ..line };
        self.parts[at] = Part::default();
    }
}
