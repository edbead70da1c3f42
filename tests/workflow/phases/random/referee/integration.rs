//! The rules for integrating the work of subtasks.

use std::collections::BTreeSet;

use superstep_workflows::phased::PhaseStatus;

use super::Referee;
use super::state::{Collision, Part, Step};
use crate::phases::random::script::id;
use crate::phases::random::trees::{changed_files, rebased};

impl Referee<'_> {
    /// Integrates the work of a subtask after those before it.
    pub(super) fn integrate(&mut self, at: usize) -> Option<Collision> {
        let [from, to] = self.parts[at].trees.clone().unwrap();
        let is_accepted = self.parts[at].is_accepted;
        if self.script.settings.strict_files && !is_accepted && self.is_undeclared(at, &changed_files(&from, &to)) {
            return Some(Collision::Undeclared);
        }
        let Some(tree) = rebased(&from, &self.now.tip, &to) else { return Some(Collision::Conflict) };
        let broken: Vec<String> = self.commands(at).into_iter().filter(|file| tree.contains_key(file)).collect();
        if !broken.is_empty() && !is_accepted {
            return Some(Collision::Check);
        }
        self.now.waived.extend(broken);
        if tree != self.now.tip {
            self.lines[at].is_committed = true;
            let (task, attempt) = (id(at), self.lines[at].attempt);
            let commit = format!("feat: Part {task} (task {task}): {task} {} {attempt}", self.number());
            self.now.commits.push(commit);
        }
        self.now.tip = tree;
        self.now.integrated.push(at);
        None
    }

    fn is_undeclared(&self, at: usize, files: &BTreeSet<String>) -> bool {
        let declared = self.script.declared(at);
        declared.is_some_and(|declared| files.iter().any(|file| !declared.contains(file)))
    }

    /// Returns the files for which the commands of the subtasks so far and of the next one fail.
    fn commands(&self, next: usize) -> Vec<String> {
        let counts = |at: &usize| !self.parts[*at].is_accepted;
        let all = self.now.integrated.iter().copied().chain([next]).filter(counts);
        all.flat_map(|at| self.script.forbidden(at)).filter(|file| !self.now.waived.contains(file)).collect()
    }

    /// Repeats a colliding subtask on the integrated work.
    pub(super) fn repeat_on_integrated(&mut self, at: usize, collision: Collision) -> Step {
        let part = self.parts[at].clone();
        let [_, tree] = part.trees.clone().unwrap();
        self.all.end.kept.insert(self.name(at).name(), tree);
        self.parts[at] = Part { collision: Some(collision), ..part.clone() };
        if part.is_second || collision == Collision::Undeclared {
            self.lines[at].status = PhaseStatus::Failed;
            return Step::Halted(Some(at), collision.reason());
        }
        self.parts[at] = Part { collision: Some(collision), is_second: true, ..Part::default() };
        self.lines[at].status = PhaseStatus::Retrying;
        Step::Again
    }
}
