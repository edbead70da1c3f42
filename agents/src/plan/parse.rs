//! Builds a plan from the headings and blocks of a document: the sections, their phases and their labelled parts.

use super::blocks::{self, Block};
use super::command::hidden_char;
use super::error::{PlanError, PlanProblem};
use super::fields::{self, Fields};
use super::heading_label::Label;
use super::headings::Headings;
use super::id::TaskId;
use super::task::{Entry, Plan};
use super::warning::PlanWarning;
use super::{check, dependencies, foreign, head, phases, resolve, source, unread};

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    ///
    /// [`PlanError::Invalid`] with every problem at once: an empty plan, two tasks with the same number, a number
    /// before that of its parent, tasks at two levels, hidden characters in a command, dependencies on unknown tasks or
    /// in a cycle, a phase without tasks, a text that is no markdown.
    pub fn parse(markdown: impl Into<String>) -> Result<Self, PlanError> {
        let markdown = markdown.into();
        if let Some(found) = foreign::format(&markdown) {
            return Err(PlanError::Invalid { problems: vec![PlanProblem::NotMarkdown { found }] });
        }
        Self::parse_stored(markdown)
    }

    /// Reads a plan that was read before: its format is not checked again.
    pub(super) fn parse_stored(markdown: String) -> Result<Self, PlanError> {
        let text = source::with_line_feeds(&markdown);
        if text[source::body(&text).start..].trim().is_empty() {
            return Err(PlanError::Invalid { problems: vec![PlanProblem::Empty] });
        }
        let headings = Headings::of(&text);
        let plan = build(&text, &headings);
        let mut problems = check::problems(&headings);
        problems.extend(plan.entries.iter().flat_map(|entry| hidden(&entry.fields)));
        problems.extend(dependencies::problems(&plan.entries));
        if plan.entries.iter().all(|entry| entry.fields.needs.is_none()) {
            problems.extend(phases::empty(&headings));
        }
        problems.sort_by_key(PlanProblem::line);
        if !problems.is_empty() {
            return Err(PlanError::Invalid { problems });
        }
        drop(text);
        Ok(Plan { markdown, ..plan })
    }
}

fn hidden(fields: &Fields) -> impl Iterator<Item = PlanProblem> {
    let found = |command: &super::VerifyCommand| Some((command.line, hidden_char(&command.command)?));
    fields.verify.iter().filter_map(found).map(|(line, character)| PlanProblem::HiddenCharacter { line, character })
}

fn remarks(fields: &Fields) -> impl Iterator<Item = PlanWarning> {
    let remarks = fields.needs.iter().flat_map(|needs| &needs.remarks);
    remarks.map(|(text, line)| PlanWarning::Remark { line: *line, text: text.clone() })
}

/// Builds the plan without its markdown.
fn build(text: &str, headings: &Headings) -> Plan {
    let end = text.len();
    let first_task = headings.tasks().next().map_or(end, |task| task.heading.start);
    let title = headings.all.iter().map(|l| &l.heading).find(|h| h.level == 1 && h.start < first_task);
    let title = title.map(|heading| heading.text.trim().to_owned());
    let mut entries = entries(headings, end);
    let has_headings = !entries.is_empty();
    if !has_headings {
        entries.push(whole_plan(title.clone(), end));
    }
    let mut warnings = check::warnings(headings);
    let blocks = blocks::blocks(text);
    warnings.extend(read_fields(&mut entries, &blocks));
    resolve::dependencies(&mut entries, headings);
    warnings.extend(entries.iter().flat_map(|entry| remarks(&entry.fields)));
    warnings.extend(unread::warnings(headings, &blocks));
    warnings.sort_by_key(PlanWarning::line);
    let preamble = if has_headings { 0..preamble_end(headings, first_task) } else { 0..0 };
    if !has_headings {
        entries.iter_mut().for_each(|entry| entry.fields.needs = None);
    }
    let goal = head::goal(&text[..first_task]);
    Plan { markdown: String::new(), title, goal, preamble, entries, has_headings, warnings }
}

/// Reads the fields of each task from the blocks of its section. Both tasks and blocks are in document order.
fn read_fields(entries: &mut [Entry], blocks: &[Block]) -> Vec<PlanWarning> {
    let mut warnings = Vec::new();
    let mut rest = blocks;
    for entry in entries {
        let (before, from) = rest.split_at(rest.partition_point(|block| block.start < entry.section.start));
        let (inside, after) = from.split_at(from.partition_point(|block| block.start < entry.section.end));
        warnings.extend(outside(before));
        let (fields, found) = fields::read(inside.iter());
        entry.fields = fields;
        warnings.extend(found);
        rest = after;
    }
    warnings.extend(outside(rest));
    warnings
}

fn outside(blocks: &[Block]) -> Option<PlanWarning> {
    let (fields, _) = fields::read(blocks.iter());
    fields.verify.first().map(|command| PlanWarning::OutsideTask { line: command.line })
}

fn whole_plan(title: Option<String>, end: usize) -> Entry {
    Entry {
        id: TaskId::whole_plan(),
        title: title.unwrap_or_default(),
        line: 1,
        section: 0..end,
        phase: None,
        fields: Fields::default(),
    }
}

fn preamble_end(headings: &Headings, first_task: usize) -> usize {
    headings.phases().next().map_or(first_task, |phase| phase.heading.start.min(first_task))
}

/// Returns the tasks, found in one pass from the end to the start, because a section ends at the next heading.
fn entries(headings: &Headings, end: usize) -> Vec<Entry> {
    let Some(level) = headings.task_level else { return Vec::new() };
    let mut next = end;
    let mut entries = Vec::new();
    for labelled in headings.all.iter().rev().filter(|labelled| labelled.heading.level <= level) {
        let section = labelled.heading.start..next;
        next = section.start;
        if let (Label::Task { id, title }, true) = (&labelled.label, labelled.heading.level == level) {
            entries.push(Entry {
                id: id.clone(),
                title: title.clone(),
                line: labelled.heading.line,
                section,
                phase: None,
                fields: Fields::default(),
            });
        }
    }
    entries.reverse();
    for (entry, phase) in entries.iter_mut().zip(phases::of_tasks(headings)) {
        entry.phase = phase;
    }
    entries
}
