//! Builds a plan from the headings and blocks of a document: its goal, the sections, their phases and their labelled
//! parts.

use pulldown_cmark::{Event, Parser, Tag};

use super::blocks::{self, Block};
use super::command::{VerifyCommand, hidden_char};
use super::error::{PlanError, PlanProblem, PlanWarning};
use super::fields::{self, Fields};
use super::headings::{self, Headings};
use super::id::TaskId;
use super::labels::Label;
use super::task::{Entry, Plan};
use super::{check, dependencies, source};

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
        if let Some(found) = source::format(&markdown) {
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
        problems.extend(plan.entries.iter().flat_map(|entry| hidden_characters(&entry.fields)));
        problems.extend(dependencies::problems(&plan.entries));
        if plan.entries.iter().all(|entry| entry.fields.needs.is_none()) {
            problems.extend(headings::empty_phases(&headings));
        }
        problems.sort_by_key(PlanProblem::line);
        if !problems.is_empty() {
            return Err(PlanError::Invalid { problems });
        }
        drop(text);
        Ok(Plan { markdown, ..plan })
    }
}

fn hidden_characters(fields: &Fields) -> impl Iterator<Item = PlanProblem> {
    let found = |command: &VerifyCommand| Some((command.line, hidden_char(&command.command)?));
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
    dependencies::resolve(&mut entries, headings);
    warnings.extend(entries.iter().flat_map(|entry| remarks(&entry.fields)));
    warnings.extend(check::unread_tasks(headings, &blocks));
    warnings.sort_by_key(PlanWarning::line);
    let preamble = if has_headings { 0..preamble_end(headings, first_task) } else { 0..0 };
    if !has_headings {
        entries.iter_mut().for_each(|entry| entry.fields.needs = None);
    }
    let goal = goal(&text[..first_task]);
    Plan { markdown: String::new(), title, goal, preamble, entries, has_headings, warnings }
}

/// Reads the fields of each task from the blocks of its section. Both tasks and blocks are in document order.
fn read_fields(entries: &mut [Entry], blocks: &[Block]) -> Vec<PlanWarning> {
    let mut warnings = Vec::new();
    let mut rest = blocks;
    for entry in entries {
        let (before, from) = rest.split_at(rest.partition_point(|block| block.start < entry.section.start));
        let (inside, after) = from.split_at(from.partition_point(|block| block.start < entry.section.end));
        warnings.extend(outside_warning(before));
        let (fields, found) = fields::read(inside.iter());
        entry.fields = fields;
        warnings.extend(found);
        rest = after;
    }
    warnings.extend(outside_warning(rest));
    warnings
}

fn outside_warning(blocks: &[Block]) -> Option<PlanWarning> {
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
    for (entry, phase) in entries.iter_mut().zip(headings::phase_texts(headings)) {
        entry.phase = phase;
    }
    entries
}

const GOAL_LABELS: [&str; 3] = ["**Goal:**", "**Goal**:", "Goal:"];

/// Returns the goal in the head of a plan: the paragraph that starts with `**Goal:**`, or the first one below a heading
/// `Goal`.
fn goal(head: &str) -> Option<String> {
    let head = &head[source::body(head).start..];
    let mut depth = 0_usize;
    let mut below_goal = false;
    for (event, range) in Parser::new(head).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { .. }) if depth == 0 => below_goal = is_goal_heading(&head[range]),
            Event::Start(Tag::Paragraph) if depth == 0 => {
                let paragraph = &head[range];
                if let Some(goal) = if below_goal { join_lines(paragraph.lines()) } else { text_after_label(paragraph) }
                {
                    return Some(goal);
                }
            }
            _ => {}
        }
        depth = depth_after(depth, &event);
    }
    None
}

fn depth_after(depth: usize, event: &Event<'_>) -> usize {
    match event {
        Event::Start(_) => depth + 1,
        Event::End(_) => depth.saturating_sub(1),
        _ => depth,
    }
}

fn is_goal_heading(source: &str) -> bool {
    source.lines().next().unwrap_or_default().trim_matches(['#', ' ', '*', ':', '\t']).eq_ignore_ascii_case("goal")
}

/// Returns the text after the label, up to the next label of the same paragraph.
fn text_after_label(paragraph: &str) -> Option<String> {
    let mut lines = paragraph.lines().map(str::trim_start).skip_while(|line| after_label(line).is_none());
    let first = after_label(lines.next()?)?;
    join_lines(std::iter::once(first).chain(lines.take_while(|line| !line.starts_with("**"))))
}

fn after_label(line: &str) -> Option<&str> {
    GOAL_LABELS.iter().find_map(|label| line.strip_prefix(label))
}

/// Joins the lines with spaces; `None` if nothing is left.
fn join_lines<'t>(lines: impl Iterator<Item = &'t str>) -> Option<String> {
    let words: Vec<&str> = lines.map(str::trim).filter(|line| !line.is_empty()).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// Returns the number of task headings of a plan, or `None` if there are none.
///
/// Does not validate: the headings of an invalid plan are counted too.
///
/// ```
/// # use superstep_agents as superstep;
/// use superstep::plan::extract_task_count;
/// assert_eq!(extract_task_count("### Task 1: Read\n\n#### Task 2: Too deep\n\n### Task 3: Write\n"), Some(2));
/// assert_eq!(extract_task_count("# Just do it\n"), None);
/// ```
pub fn extract_task_count(markdown: &str) -> Option<usize> {
    let count = Headings::of(&source::with_line_feeds(markdown)).tasks().count();
    (count > 0).then_some(count)
}

/// Returns the excerpt for the task at `index`, from 0; see [`Plan::excerpt`].
///
/// # Errors
///
/// [`PlanError::NoSuchTask`] beyond the last task, [`PlanError::Invalid`] if the plan cannot be executed.
pub fn extract_task_section(markdown: &str, index: usize) -> Result<String, PlanError> {
    Plan::parse(markdown)?.excerpt(index)
}
