//! The dependencies between the tasks of a plan: the phases of tasks that may run at the same time, the ids of what a
//! `Depends on` line names, and the graph of them with its problems. Pure.

use std::collections::{HashMap, HashSet, VecDeque};

use superstep_base::near::is_one_edit;

use super::error::{PlanProblem, PlanWarning};
use super::files::{Pattern, covers};
use super::headings::{Headings, LabelledHeading};
use super::id::TaskId;
use super::labels::Label;
use super::needs::TaskReference;
use super::task::{Entry, Plan, Task};

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
#[non_exhaustive]
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
            phases.extend(self.separate_overlaps(level, &mut warnings));
        }
        warnings.sort_by_key(PlanWarning::line);
        let id = |index: &usize| self.entries[*index].id.clone();
        Phases { phases: phases.iter().map(|phase| phase.iter().map(id).collect()).collect(), warnings }
    }

    /// Returns the direct and indirect dependencies of a task, in plan order.
    pub fn dependencies(&self, id: &TaskId) -> Vec<TaskId> {
        self.reachable_ids(id, &self.direct())
    }

    /// Returns the direct and indirect dependents of a task, in plan order.
    pub fn dependents(&self, id: &TaskId) -> Vec<TaskId> {
        self.reachable_ids(id, &reverse(&self.direct()))
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
            return named_dependencies(&self.entries);
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

    fn reachable_ids(&self, id: &TaskId, edges: &Direct) -> Vec<TaskId> {
        let Some(index) = self.entries.iter().position(|entry| entry.id == *id) else { return Vec::new() };
        reachable(edges, index).into_iter().map(|index| self.entries[index].id.clone()).collect()
    }

    fn contradictions(&self, direct: &Direct) -> Vec<PlanWarning> {
        let of = |(index, entry): (usize, &Entry)| {
            let later = direct[index].iter().find(|need| **need > index)?;
            let needs = self.entries[*later].id.clone();
            Some(PlanWarning::OrderContradicted { line: entry.line, id: entry.id.clone(), needs })
        };
        self.entries.iter().enumerate().filter_map(of).collect()
    }

    /// Moves each task whose files overlap with those of an earlier one out of the phase, into a phase of its own.
    fn separate_overlaps(&self, phase: Vec<usize>, warnings: &mut Vec<PlanWarning>) -> Vec<Vec<usize>> {
        let patterns =
            |index: &usize| self.entries[*index].fields.files.iter().map(|file| Pattern::new(file)).collect();
        let files: HashMap<usize, Vec<Pattern>> = phase.iter().map(|index| (*index, patterns(index))).collect();
        let (mut together, mut alone) = (Vec::new(), Vec::new());
        for index in phase {
            match together.iter().find_map(|other| self.find_overlap(index, *other, &files)) {
                Some(warning) => {
                    warnings.push(warning);
                    alone.push(vec![index]);
                }
                None => together.push(index),
            }
        }
        std::iter::once(together).chain(alone).collect()
    }

    fn find_overlap(&self, index: usize, other: usize, files: &HashMap<usize, Vec<Pattern>>) -> Option<PlanWarning> {
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

/// Fills the ids of each task's dependencies from what its text names.
pub(super) fn resolve(entries: &mut [Entry], headings: &Headings) {
    let plan = KnownTasks::of(entries, headings);
    for (index, entry) in entries.iter_mut().enumerate() {
        let Some(needs) = &mut entry.fields.needs else { continue };
        for (named, line) in std::mem::take(&mut needs.named) {
            match plan.ids(&named, index) {
                Some(ids) => ids.into_iter().for_each(|id| needs.add(id, line)),
                None => needs.bad.push((text(&named), line)),
            }
        }
    }
}

/// The tasks and phases of a plan.
struct KnownTasks {
    ids: Vec<TaskId>,
    /// The start of the phase of each task.
    phases: Vec<Option<usize>>,
    headings: Vec<(TaskId, usize)>,
}

impl KnownTasks {
    fn of(entries: &[Entry], headings: &Headings) -> Self {
        let phase = |labelled: &LabelledHeading| match &labelled.label {
            Label::Phase { id } => Some((id.clone(), labelled.heading.start)),
            Label::Task { .. } | Label::AlmostTask | Label::Other => None,
        };
        Self {
            ids: entries.iter().map(|entry| entry.id.clone()).collect(),
            phases: entries.iter().map(|entry| entry.phase.as_ref().map(|phase| phase.start)).collect(),
            headings: headings.phases().filter_map(phase).collect(),
        }
    }

    /// Returns the ids of what the task at `index` names; `None` if there is no such thing.
    fn ids(&self, named: &TaskReference, index: usize) -> Option<Vec<TaskId>> {
        match named {
            TaskReference::Task(id) => Some(self.task(id, index)),
            TaskReference::Range(first, last) => match (self.places(first), self.places(last)) {
                (Some((from, _)), Some((_, to))) => (from <= to).then(|| self.ids[from..=to].to_vec()),
                (None, Some(_)) => Some(vec![first.clone()]),
                (Some(_) | None, None) => Some(vec![last.clone()]),
            },
            TaskReference::Phase(id) => {
                let start = self.headings.iter().find(|(known, _)| known == id)?.1;
                let inside = |at: &usize| self.phases[*at] == Some(start) && *at != index;
                Some((0..self.ids.len()).filter(inside).map(|at| self.ids[at].clone()).collect())
            }
            TaskReference::Earlier => Some(self.ids[..index].to_vec()),
            TaskReference::Previous => Some(self.ids[index.checked_sub(1)?..index].to_vec()),
        }
    }

    /// Returns a task, or the tasks below its number if the plan has no such task.
    fn task(&self, id: &TaskId, index: usize) -> Vec<TaskId> {
        if self.ids.contains(id) {
            return vec![id.clone()];
        }
        let below = (0..self.ids.len()).filter(|at| is_below(&self.ids[*at], id) && *at != index);
        let below: Vec<TaskId> = below.map(|at| self.ids[at].clone()).collect();
        if below.is_empty() { vec![id.clone()] } else { below }
    }

    /// Returns the first and the last place of a task and those below its number.
    fn places(&self, id: &TaskId) -> Option<(usize, usize)> {
        let is_part = |known: &TaskId| known == id || is_below(known, id);
        Some((self.ids.iter().position(is_part)?, self.ids.iter().rposition(is_part)?))
    }
}

fn is_below(id: &TaskId, parent: &TaskId) -> bool {
    id.as_str().strip_prefix(parent.as_str()).is_some_and(|rest| rest.starts_with('.'))
}

fn text(named: &TaskReference) -> String {
    match named {
        TaskReference::Task(id) => id.to_string(),
        TaskReference::Range(first, last) => format!("{first}–{last}"),
        TaskReference::Phase(id) => format!("Phase {id}"),
        TaskReference::Earlier => "all previous tasks".to_owned(),
        TaskReference::Previous => "the previous task".to_owned(),
    }
}

/// The maximum number of similar ids in a problem.
const NEAR: usize = 3;

/// The indexes of the direct dependencies of each task.
type Direct = Vec<Vec<usize>>;

/// Returns the index of each id; if two tasks have the same id, that of the first.
fn indexes(entries: &[Entry]) -> HashMap<&TaskId, usize> {
    entries.iter().enumerate().rev().map(|(index, entry)| (&entry.id, index)).collect()
}

/// Returns the dependencies that the tasks name, without unknown ids and self-dependencies.
fn named_dependencies(entries: &[Entry]) -> Direct {
    let known = indexes(entries);
    let of = |(index, entry): (usize, &Entry)| {
        let ids = entry.fields.needs.iter().flat_map(|needs| &needs.ids);
        ids.filter_map(|id| known.get(id).copied()).filter(|needed| *needed != index).collect()
    };
    entries.iter().enumerate().map(of).collect()
}

/// Returns every problem with the dependencies.
pub(super) fn problems(entries: &[Entry]) -> Vec<PlanProblem> {
    let known = indexes(entries);
    let mut problems: Vec<PlanProblem> = entries.iter().flat_map(|entry| of_entry(entry, entries, &known)).collect();
    problems.extend(cycles(&named_dependencies(entries)).into_iter().filter_map(|path| cycle(entries, &path)));
    problems
}

fn of_entry(entry: &Entry, entries: &[Entry], known: &HashMap<&TaskId, usize>) -> Vec<PlanProblem> {
    let Some(needs) = &entry.fields.needs else { return Vec::new() };
    let id = &entry.id;
    let bad =
        |(text, line): &(String, usize)| PlanProblem::BadDependency { id: id.clone(), text: text.clone(), line: *line };
    let mut problems: Vec<PlanProblem> = needs.bad.iter().map(bad).collect();
    for (needed, &line) in needs.ids.iter().zip(&needs.lines) {
        if needed == id {
            problems.push(PlanProblem::SelfDependency { id: id.clone(), line });
        } else if !known.contains_key(needed) {
            let near = near_ids(needed, entries.iter().map(|entry| &entry.id).filter(|known| *known != id));
            problems.push(PlanProblem::UnknownDependency { id: id.clone(), needs: needed.clone(), near, line });
        }
    }
    problems
}

/// Returns the ids of the plan that differ from this one by one character, or only in their letters.
fn near_ids<'e>(needed: &TaskId, ids: impl Iterator<Item = &'e TaskId>) -> Vec<TaskId> {
    let stem = |id: &TaskId| id.as_str().trim_end_matches(|c: char| c.is_ascii_lowercase()).to_owned();
    let is_edit = |id: &str| id.len().max(needed.as_str().len()) > 1 && is_one_edit(id, needed.as_str());
    let is_near = |id: &&TaskId| stem(id) == stem(needed) || is_edit(id.as_str());
    ids.filter(is_near).take(NEAR).cloned().collect()
}

fn cycle(entries: &[Entry], path: &[usize]) -> Option<PlanProblem> {
    let first = entries.get(*path.first()?)?;
    let ids: Vec<TaskId> = path.iter().filter_map(|index| Some(entries.get(*index)?.id.clone())).collect();
    let needs = first.fields.needs.as_ref()?;
    let at = needs.ids.iter().position(|id| ids.get(1) == Some(id))?;
    Some(PlanProblem::Cycle { line: *needs.lines.get(at)?, path: ids })
}

/// Returns the level of each task, from 0: one more than the highest level of the tasks it depends on (Kahn's algorithm).
/// `None` for tasks in a cycle and those that depend on them.
fn levels(direct: &Direct) -> Vec<Option<usize>> {
    let mut missing: Vec<usize> = direct.iter().map(Vec::len).collect();
    let dependents = reverse(direct);
    let mut ready: VecDeque<usize> = (0..direct.len()).filter(|index| missing[*index] == 0).collect();
    let mut levels = vec![None; direct.len()];
    while let Some(index) = ready.pop_front() {
        let below = direct[index].iter().filter_map(|needed| levels[*needed]).max();
        levels[index] = Some(below.map_or(0, |level: usize| level + 1));
        for &dependent in &dependents[index] {
            missing[dependent] -= 1;
            if missing[dependent] == 0 {
                ready.push_back(dependent);
            }
        }
    }
    levels
}

/// Returns the direct dependents of each task.
fn reverse(direct: &Direct) -> Direct {
    let mut dependents = vec![Vec::new(); direct.len()];
    for (index, needed) in direct.iter().enumerate() {
        needed.iter().for_each(|needed| dependents[*needed].push(index));
    }
    dependents
}

/// Returns every task reachable from a task, in plan order; the task itself only if it is in a cycle.
fn reachable(edges: &Direct, from: usize) -> Vec<usize> {
    let (mut seen, mut open) = (HashSet::new(), vec![from]);
    while let Some(index) = open.pop() {
        let next = edges.get(index).into_iter().flatten();
        open.extend(next.copied().filter(|next| seen.insert(*next)));
    }
    let mut seen: Vec<usize> = seen.into_iter().collect();
    seen.sort_unstable();
    seen
}

/// Returns a shortest cycle for each group of mutually dependent tasks, from its first task back to it.
fn cycles(direct: &Direct) -> Vec<Vec<usize>> {
    let dependents = reverse(direct);
    let mut known = HashSet::new();
    let mut cycles = Vec::new();
    let levels = levels(direct);
    for start in (0..direct.len()).filter(|index| levels[*index].is_none()) {
        if known.contains(&start) {
            continue;
        }
        let Some(path) = way_back(direct, start) else { continue };
        let behind: HashSet<usize> = reachable(&dependents, start).into_iter().collect();
        known.extend(reachable(direct, start).into_iter().filter(|index| behind.contains(index)));
        cycles.push(path);
    }
    cycles
}

/// Returns a shortest path from a task along its dependencies back to itself.
fn way_back(direct: &Direct, start: usize) -> Option<Vec<usize>> {
    let mut from: HashMap<usize, usize> = HashMap::new();
    let mut open = VecDeque::from([start]);
    while let Some(index) = open.pop_front() {
        for &needed in &direct[index] {
            if needed == start {
                return Some(path(&from, start, index));
            }
            if let std::collections::hash_map::Entry::Vacant(new) = from.entry(needed) {
                new.insert(index);
                open.push_back(needed);
            }
        }
    }
    None
}

fn path(from: &HashMap<usize, usize>, start: usize, last: usize) -> Vec<usize> {
    let (mut path, mut at) = (vec![start], last);
    while at != start {
        path.push(at);
        let Some(&before) = from.get(&at) else { break };
        at = before;
    }
    path.push(start);
    path.reverse();
    path
}
