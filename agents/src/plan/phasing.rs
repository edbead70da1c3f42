//! The phases of a plan: the tasks that may run at the same time, and the dependencies of a task. Pure.

use std::collections::HashMap;

use super::dependencies::{Direct, levels, named, reachable, reversed};
use super::globs::{Pattern, covers};
use super::id::TaskId;
use super::task::{Plan, Task};
use super::warning::PlanWarning;

/// The phases of a plan, in the order of execution.
///
/// ```
/// # use superstep_agents as superstep;
/// let plan = superstep::plan::Plan::parse(
///     "### Task 1: Read\n\n### Task 2a: Print\n\n**Depends on:** 1\n\n### Task 2b: Plot\n\n**Depends on:** 1\n",
/// )?;
/// assert_eq!(plan.phases().ids(), [vec!["1"], vec!["2a", "2b"]]);
/// # Ok::<(), superstep::plan::PlanError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    /// The tasks of each phase, in plan order; empty if the plan is not phased.
    pub phases: Vec<Vec<TaskId>>,
    /// Warnings about tasks whose phase their author may not expect, in plan order.
    pub warnings: Vec<PlanWarning>,
}

impl Phases {
    /// Returns the ids as text.
    pub fn ids(&self) -> Vec<Vec<&str>> {
        self.phases.iter().map(|phase| phase.iter().map(TaskId::as_str).collect()).collect()
    }
}

impl Plan {
    /// Returns whether the plan has phases: a task has a `Depends on` line, or tasks are below `Phase N` headings.
    pub fn is_phased(&self) -> bool {
        self.names_dependencies() || self.entries.iter().any(|entry| entry.phase.is_some())
    }

    /// Returns whether a task has a `Depends on` line.
    pub fn names_dependencies(&self) -> bool {
        self.entries.iter().any(|entry| entry.fields.needs.is_some())
    }

    /// Returns the phases; empty if the plan [is not phased](Self::is_phased).
    pub fn phases(&self) -> Phases {
        if !self.is_phased() {
            return Phases::default();
        }
        let direct = self.direct();
        let mut warnings = self.contradictions(&direct);
        let mut phases: Vec<Vec<usize>> = Vec::new();
        for level in by_level(&direct) {
            phases.extend(self.apart(level, &mut warnings));
        }
        warnings.sort_by_key(PlanWarning::line);
        let id = |index: &usize| self.entries[*index].id.clone();
        Phases { phases: phases.iter().map(|phase| phase.iter().map(id).collect()).collect(), warnings }
    }

    /// Returns the direct and indirect dependencies of a task, in plan order.
    pub fn dependencies(&self, id: &TaskId) -> Vec<TaskId> {
        self.around(id, &self.direct())
    }

    /// Returns the direct and indirect dependents of a task, in plan order.
    pub fn dependents(&self, id: &TaskId) -> Vec<TaskId> {
        self.around(id, &reversed(&self.direct()))
    }

    /// Returns the tasks in the order of sequential execution: plan order, or the order of the phases if a task depends
    /// on a later one.
    pub fn execution_order(&self) -> Vec<Task<'_>> {
        let is_in_order = self.direct().iter().enumerate().all(|(index, needs)| needs.iter().all(|need| *need < index));
        if is_in_order {
            return self.tasks().collect();
        }
        let phases = self.phases().phases;
        let places: HashMap<&TaskId, usize> = phases.iter().flatten().enumerate().map(|(at, id)| (id, at)).collect();
        let mut tasks: Vec<Task<'_>> = self.tasks().collect();
        tasks.sort_by_key(|task| places.get(task.id).copied());
        tasks
    }

    /// Returns the direct dependencies of each task: those it names, or all tasks of the phase before.
    fn direct(&self) -> Direct {
        if self.names_dependencies() {
            return named(&self.entries);
        }
        let mut direct = vec![Vec::new(); self.entries.len()];
        if !self.is_phased() {
            return direct;
        }
        let (mut before, mut current): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
        for (index, entry) in self.entries.iter().enumerate() {
            let is_new = index > 0 && self.entries[index - 1].phase != entry.phase;
            if is_new {
                before = std::mem::take(&mut current);
            }
            direct[index].clone_from(&before);
            current.push(index);
        }
        direct
    }

    fn around(&self, id: &TaskId, edges: &Direct) -> Vec<TaskId> {
        let Some(index) = self.entries.iter().position(|entry| entry.id == *id) else { return Vec::new() };
        reachable(edges, index).into_iter().map(|index| self.entries[index].id.clone()).collect()
    }

    fn contradictions(&self, direct: &Direct) -> Vec<PlanWarning> {
        let of = |(index, entry): (usize, &super::task::Entry)| {
            let later = direct[index].iter().find(|need| **need > index)?;
            let needs = self.entries[*later].id.clone();
            Some(PlanWarning::OrderContradicted { line: entry.line, id: entry.id.clone(), needs })
        };
        self.entries.iter().enumerate().filter_map(of).collect()
    }

    /// Moves each task whose files overlap with those of an earlier one out of the phase, into a phase of its own.
    fn apart(&self, phase: Vec<usize>, warnings: &mut Vec<PlanWarning>) -> Vec<Vec<usize>> {
        let patterns =
            |index: &usize| self.entries[*index].fields.files.iter().map(|file| Pattern::new(file)).collect();
        let files: HashMap<usize, Vec<Pattern>> = phase.iter().map(|index| (*index, patterns(index))).collect();
        let (mut together, mut alone) = (Vec::new(), Vec::new());
        for index in phase {
            match together.iter().find_map(|other| self.overlap(index, *other, &files)) {
                Some(warning) => {
                    warnings.push(warning);
                    alone.push(vec![index]);
                }
                None => together.push(index),
            }
        }
        std::iter::once(together).chain(alone).collect()
    }

    fn overlap(&self, index: usize, other: usize, files: &HashMap<usize, Vec<Pattern>>) -> Option<PlanWarning> {
        let (entry, before) = (&self.entries[index], &self.entries[other]);
        let of_before = files.get(&other)?;
        for (file, pattern) in entry.fields.files.iter().zip(files.get(&index)?) {
            if let Some(at) = of_before.iter().position(|known| known.overlaps(pattern)) {
                let other_file = before.fields.files.get(at).cloned().unwrap_or_default();
                let (id, other) = (entry.id.clone(), before.id.clone());
                return Some(PlanWarning::Overlap { line: entry.line, id, file: file.clone(), other, other_file });
            }
        }
        None
    }
}

impl Task<'_> {
    /// Returns whether the task's `Files` cover this path, relative to the repository's root: by name, by a folder
    /// around it, or by a glob. Case is ignored.
    pub fn declares(&self, path: &str) -> bool {
        self.files.iter().any(|file| covers(file, path))
    }
}

/// Returns the tasks of each level, in plan order.
fn by_level(direct: &Direct) -> Vec<Vec<usize>> {
    let mut phases: Vec<Vec<usize>> = Vec::new();
    for (index, level) in levels(direct).into_iter().enumerate() {
        let Some(level) = level else { continue };
        if phases.len() <= level {
            phases.resize(level + 1, Vec::new());
        }
        phases[level].push(index);
    }
    phases
}
