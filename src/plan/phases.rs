//! Which phase a task belongs to. Pure: headings in, the text that opens the phase out.

use std::ops::Range;

use super::headings::{Headings, Labelled};

/// A phase that is not over, and where its first task stands, which ends the text that opens it.
struct Phase {
    level: u8,
    start: usize,
    first_task: Option<usize>,
}

/// Returns for each task the text that opens the innermost phase around it, in one pass.
///
/// A phase ends at the next heading of its level or above that is no task.
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

fn new_phase(labelled: &Labelled, headings: &Headings) -> Option<Phase> {
    let (level, start) = (labelled.heading.level, labelled.heading.start);
    headings.is_phase(labelled).then_some(Phase { level, start, first_task: None })
}
