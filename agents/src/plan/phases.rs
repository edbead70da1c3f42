//! The phase headings: the text that opens the phase of each task, and phases without tasks. Pure.

use std::ops::Range;

use super::error::PlanProblem;
use super::heading_label::Label;
use super::headings::{Headings, LabelledHeading};

/// An open phase. The text that opens it ends at its first task.
struct Phase {
    level: u8,
    start: usize,
    first_task: Option<usize>,
}

/// Returns, for each task, the text that opens the innermost phase around it.
///
/// A phase ends at the next heading of its level or above that is not a task.
pub(super) fn of_tasks(headings: &Headings) -> Vec<Option<Range<usize>>> {
    let mut open: Vec<Phase> = Vec::new();
    let mut phases = Vec::new();
    for labelled in &headings.all {
        let (level, start) = (labelled.heading.level, labelled.heading.start);
        if headings.is_task(labelled) {
            open.iter_mut().for_each(|phase| _ = phase.first_task.get_or_insert(start));
            phases.push(open.last().and_then(|phase| Some(phase.start..phase.first_task?)));
        } else if !labelled.is_task() {
            open.retain(|phase| phase.level < level);
            open.extend(new_phase(labelled, headings));
        }
    }
    phases
}

fn new_phase(labelled: &LabelledHeading, headings: &Headings) -> Option<Phase> {
    let (level, start) = (labelled.heading.level, labelled.heading.start);
    headings.is_phase(labelled).then_some(Phase { level, start, first_task: None })
}

/// Returns a problem for each phase without tasks. A plan without task headings has no phases.
pub(super) fn empty(headings: &Headings) -> Vec<PlanProblem> {
    let mut problems = Vec::new();
    for (at, labelled) in headings.all.iter().enumerate().filter(|(_, labelled)| headings.is_phase(labelled)) {
        let level = labelled.heading.level;
        let after = headings.all.iter().skip(at + 1);
        let inside = after.take_while(|next| headings.is_task(next) || next.heading.level > level);
        if let (Label::Phase { id }, false) = (&labelled.label, inside.into_iter().any(|next| headings.is_task(next))) {
            problems.push(PlanProblem::EmptyPhase { id: id.clone(), line: labelled.heading.line });
        }
    }
    problems
}
