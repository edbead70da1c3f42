//! Problems and warnings about the headings of a plan. Pure: headings in, findings out.

use std::collections::{HashMap, HashSet};

use super::error::PlanProblem;
use super::heading_label::Label;
use super::headings::{Headings, LabelledHeading};
use super::id::TaskId;
use super::numbered::Numbered;
use super::warning::PlanWarning;

/// Returns every problem with the headings, in document order.
pub(super) fn problems(headings: &Headings) -> Vec<PlanProblem> {
    let Some(expected) = headings.task_level else { return Vec::new() };
    let first_line = headings.tasks().next().map_or(1, |task| task.heading.line);
    let mut first_lines = HashMap::new();
    let mut known = HashSet::new();
    let opens_numbers = headings.all.iter().filter_map(LabelledHeading::id).any(|id| id.parent().is_none());
    let mut problems = Vec::new();
    for labelled in headings.all.iter().filter(|labelled| labelled.heading.level <= expected) {
        let (level, line) = (labelled.heading.level, labelled.heading.line);
        match &labelled.label {
            Label::Phase { id } => _ = known.insert(id.clone()),
            Label::Task { id, .. } if level == expected => {
                problems.extend(duplicate(id, line, &mut first_lines));
                problems.extend(orphan(id, line, &known, opens_numbers));
                known.insert(id.clone());
            }
            Label::Task { id, .. } if level > 1 => {
                problems.push(PlanProblem::MixedLevels { id: id.clone(), line, level, expected, first_line });
            }
            Label::Task { .. } | Label::AlmostTask | Label::Other => known.extend(number(labelled)),
        }
    }
    problems
}

fn duplicate<'h>(id: &'h TaskId, line: usize, first_lines: &mut HashMap<&'h TaskId, usize>) -> Option<PlanProblem> {
    let first_line = *first_lines.entry(id).or_insert(line);
    (first_line != line).then(|| PlanProblem::Duplicate { id: id.clone(), line, first_line })
}

/// Returns a problem if nothing before the task opens the number above it, in a plan that opens such numbers. Others only
/// count in two parts: `1.1`, `1.2`, `2.1`.
fn orphan(id: &TaskId, line: usize, known: &HashSet<TaskId>, opens_numbers: bool) -> Option<PlanProblem> {
    let parent = id.parent()?;
    (opens_numbers && !known.contains(&parent)).then(|| PlanProblem::Orphan { id: id.clone(), parent, line })
}

/// Returns the number of a heading such as `Milestone 2` or `2. Storage`.
fn number(labelled: &LabelledHeading) -> Option<TaskId> {
    let number = Numbered::of(labelled.heading.text.trim())?.number;
    number.iter().map(u64::to_string).collect::<Vec<_>>().join(".").parse().ok()
}

/// Returns every warning about the headings, in document order.
pub(super) fn warnings(headings: &Headings) -> Vec<PlanWarning> {
    let mut last = HashMap::new();
    let mut warnings: Vec<PlanWarning> = headings.all.iter().flat_map(|l| of_heading(l, headings, &mut last)).collect();
    warnings.extend(headings.open_fence.map(|line| PlanWarning::OpenFence { line }));
    warnings.extend(headings.open_front_matter.then_some(PlanWarning::OpenFrontMatter { line: 1 }));
    warnings
}

fn of_heading<'h>(
    labelled: &'h LabelledHeading,
    headings: &Headings,
    last: &mut HashMap<Option<TaskId>, &'h TaskId>,
) -> Vec<PlanWarning> {
    let (level, line) = (labelled.heading.level, labelled.heading.line);
    let expected = headings.task_level;
    match &labelled.label {
        Label::AlmostTask if level <= expected.unwrap_or(4) => not_a_task(labelled),
        Label::Task { id, .. } if Some(level) != expected => {
            vec![PlanWarning::OtherLevel { line, id: id.clone(), level, expected }]
        }
        Label::Task { id, title } => of_task(id, title, line, last),
        Label::AlmostTask | Label::Phase { .. } | Label::Other => Vec::new(),
    }
}

fn not_a_task(labelled: &LabelledHeading) -> Vec<PlanWarning> {
    vec![PlanWarning::NotATask { line: labelled.heading.line, text: labelled.heading.text.trim().to_owned() }]
}

fn of_task<'h>(
    id: &'h TaskId,
    title: &str,
    line: usize,
    last: &mut HashMap<Option<TaskId>, &'h TaskId>,
) -> Vec<PlanWarning> {
    let previous = last.insert(id.parent(), id);
    let is_first_below = previous.is_none() && id.parent().is_some();
    let jump = (!is_first_below && is_jump(previous, id)).then(|| PlanWarning::NumberJump {
        line,
        id: id.clone(),
        previous: previous.cloned(),
    });
    let untitled = title.is_empty().then(|| PlanWarning::NoTitle { line, id: id.clone() });
    jump.into_iter().chain(untitled).collect()
}

/// True unless `id` follows `previous`: `0` or `1` is first, then numbers or letters rise by one: `1`, `2a`, `2b`, `3`.
fn is_jump(previous: Option<&TaskId>, id: &TaskId) -> bool {
    let Some((number, letters)) = id.last_number() else { return false };
    match previous.map(TaskId::last_number) {
        None => number > 1 || letters > 1,
        Some(None) => true,
        Some(Some((before, rank))) => {
            let is_next_number = before.checked_add(1) == Some(number) && letters <= 1;
            !is_next_number && (number, letters) != (before, rank + 1)
        }
    }
}
