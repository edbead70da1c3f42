//! The dependencies between the tasks of a plan as a graph of indexes: its problems, and the levels of the tasks. Pure.

use std::collections::{HashMap, HashSet, VecDeque};

use superstep_base::near::is_one_edit;

use super::error::PlanProblem;
use super::id::TaskId;
use super::task::Entry;

/// The maximum number of similar ids in a problem.
const NEAR: usize = 3;

/// The indexes of the direct dependencies of each task.
pub(super) type Direct = Vec<Vec<usize>>;

/// Returns the index of each id; if two tasks have the same id, that of the first.
fn indexes(entries: &[Entry]) -> HashMap<&TaskId, usize> {
    entries.iter().enumerate().rev().map(|(index, entry)| (&entry.id, index)).collect()
}

/// Returns the dependencies that the tasks name, without unknown ids and self-dependencies.
pub(super) fn named(entries: &[Entry]) -> Direct {
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
    problems.extend(cycles(&named(entries)).into_iter().filter_map(|path| cycle(entries, &path)));
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
            let near = near(needed, entries.iter().map(|entry| &entry.id).filter(|known| *known != id));
            problems.push(PlanProblem::UnknownDependency { id: id.clone(), needs: needed.clone(), near, line });
        }
    }
    problems
}

/// Returns the ids of the plan that differ from this one by one character, or only in their letters.
fn near<'e>(needed: &TaskId, ids: impl Iterator<Item = &'e TaskId>) -> Vec<TaskId> {
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
pub(super) fn levels(direct: &Direct) -> Vec<Option<usize>> {
    let mut missing: Vec<usize> = direct.iter().map(Vec::len).collect();
    let dependents = reversed(direct);
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
pub(super) fn reversed(direct: &Direct) -> Direct {
    let mut dependents = vec![Vec::new(); direct.len()];
    for (index, needed) in direct.iter().enumerate() {
        needed.iter().for_each(|needed| dependents[*needed].push(index));
    }
    dependents
}

/// Returns every task reachable from a task, in plan order; the task itself only if it is in a cycle.
pub(super) fn reachable(edges: &Direct, from: usize) -> Vec<usize> {
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
    let dependents = reversed(direct);
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
