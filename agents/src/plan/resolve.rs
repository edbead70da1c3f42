//! The ids of what a `Depends on` line names: ranges, phases, numbers with tasks below them. Pure.

use super::dependency_ids::Named;
use super::heading_label::Label;
use super::headings::Headings;
use super::id::TaskId;
use super::task::Entry;

/// Fills the ids of each task's dependencies from what its text names.
pub(super) fn dependencies(entries: &mut [Entry], headings: &Headings) {
    let plan = Known::of(entries, headings);
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
struct Known {
    ids: Vec<TaskId>,
    /// The start of the phase of each task.
    phases: Vec<Option<usize>>,
    headings: Vec<(TaskId, usize)>,
}

impl Known {
    fn of(entries: &[Entry], headings: &Headings) -> Self {
        let phase = |labelled: &super::headings::LabelledHeading| match &labelled.label {
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
    fn ids(&self, named: &Named, index: usize) -> Option<Vec<TaskId>> {
        match named {
            Named::Task(id) => Some(self.task(id, index)),
            Named::Range(first, last) => match (self.places(first), self.places(last)) {
                (Some((from, _)), Some((_, to))) => (from <= to).then(|| self.ids[from..=to].to_vec()),
                (None, Some(_)) => Some(vec![first.clone()]),
                (Some(_) | None, None) => Some(vec![last.clone()]),
            },
            Named::Phase(id) => {
                let start = self.headings.iter().find(|(known, _)| known == id)?.1;
                let inside = |at: &usize| self.phases[*at] == Some(start) && *at != index;
                Some((0..self.ids.len()).filter(inside).map(|at| self.ids[at].clone()).collect())
            }
            Named::Earlier => Some(self.ids[..index].to_vec()),
            Named::Previous => Some(self.ids[index.checked_sub(1)?..index].to_vec()),
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

fn text(named: &Named) -> String {
    match named {
        Named::Task(id) => id.to_string(),
        Named::Range(first, last) => format!("{first}–{last}"),
        Named::Phase(id) => format!("Phase {id}"),
        Named::Earlier => "all previous tasks".to_owned(),
        Named::Previous => "the previous task".to_owned(),
    }
}
