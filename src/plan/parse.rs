//! From an outline to a plan: which headings are tasks, where their sections end, which phase they belong to.

use std::ops::Range;

use super::check;
use super::error::{PlanError, PlanProblem};
use super::head;
use super::id::TaskId;
use super::label::Label;
use super::outline::{Heading, Outline};
use super::task::{Entry, Plan};

/// A heading and what it says.
pub(super) struct Labelled {
    pub(super) heading: Heading,
    pub(super) label: Label,
}

/// The labelled headings of a document and the level at which its tasks stand.
pub(super) struct Headings {
    pub(super) all: Vec<Labelled>,
    /// `None` if there are no tasks.
    pub(super) task_level: Option<u8>,
    pub(super) open_fence: Option<usize>,
}

impl Headings {
    pub(super) fn of(markdown: &str) -> Self {
        let outline = Outline::of(markdown);
        let all: Vec<Labelled> = outline.headings.into_iter().map(Labelled::new).collect();
        let task_level = task_level(&all);
        Self { all, task_level, open_fence: outline.open_fence }
    }

    /// Returns the headings that open a task.
    pub(super) fn tasks(&self) -> impl Iterator<Item = &Labelled> {
        self.all.iter().filter(|labelled| labelled.is_task() && Some(labelled.heading.level) == self.task_level)
    }

    /// Returns the headings that open a phase: at the level of the tasks, or above.
    pub(super) fn phases(&self) -> impl Iterator<Item = &Labelled> {
        self.all.iter().filter(|labelled| labelled.is_phase() && Some(labelled.heading.level) <= self.task_level)
    }
}

impl Labelled {
    fn new(heading: Heading) -> Self {
        Self { label: Label::of(heading.text.trim()), heading }
    }

    pub(super) fn is_task(&self) -> bool {
        matches!(self.label, Label::Task { .. })
    }

    fn is_phase(&self) -> bool {
        matches!(self.label, Label::Phase { .. })
    }
}

/// The level of the first task heading of level 2 or 3, else of level 4.
fn task_level(all: &[Labelled]) -> Option<u8> {
    let first =
        |levels: &[u8]| all.iter().filter(|l| l.is_task()).map(|l| l.heading.level).find(|l| levels.contains(l));
    first(&[2, 3]).or_else(|| first(&[4]))
}

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    ///
    /// [`PlanError::Invalid`] with every problem at once: an empty plan, two tasks with one number, a number without its
    /// parent, tasks at two levels.
    pub fn parse(markdown: impl Into<String>) -> Result<Self, PlanError> {
        let markdown = markdown.into();
        if markdown.trim().is_empty() {
            return Err(PlanError::Invalid { problems: vec![PlanProblem::Empty] });
        }
        let headings = Headings::of(&markdown);
        let problems = check::problems(&headings);
        if !problems.is_empty() {
            return Err(PlanError::Invalid { problems });
        }
        Ok(build(markdown, &headings))
    }
}

fn build(markdown: String, headings: &Headings) -> Plan {
    let end = markdown.len();
    let first_task = headings.tasks().next().map_or(end, |task| task.heading.start);
    let title = headings.all.iter().map(|l| &l.heading).find(|h| h.level == 1 && h.start < first_task);
    let title = title.map(|heading| heading.text.trim().to_owned());
    let mut entries = entries(headings, end);
    let has_headings = !entries.is_empty();
    if !has_headings {
        entries.push(whole_plan(title.clone(), end));
    }
    let preamble = if has_headings { 0..preamble_end(headings, first_task) } else { 0..0 };
    let goal = head::goal(&markdown[..first_task]);
    Plan { markdown, title, goal, preamble, entries, has_headings, warnings: check::warnings(headings) }
}

fn whole_plan(title: Option<String>, end: usize) -> Entry {
    Entry { id: TaskId::whole_plan(), title: title.unwrap_or_default(), line: 1, section: 0..end, phase: None }
}

fn preamble_end(headings: &Headings, first_task: usize) -> usize {
    headings.phases().next().map_or(first_task, |phase| phase.heading.start.min(first_task))
}

/// Finds the tasks in one pass from the end to the start, so that each knows the next heading that ends its section.
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
            });
        }
    }
    entries.reverse();
    let intros = intros(headings, end);
    for entry in &mut entries {
        entry.phase = intro_of(entry.section.start, &intros);
    }
    entries
}

/// A phase: the text that opens it, and how far its tasks may stand.
struct Intro {
    text: Range<usize>,
    scope_end: usize,
}

fn intros(headings: &Headings, end: usize) -> Vec<Intro> {
    headings.phases().map(|phase| intro(phase, headings, end)).collect()
}

/// A phase ends at the next heading of its level or above that is no task; its opening text at the first task.
fn intro(phase: &Labelled, headings: &Headings, end: usize) -> Intro {
    let start = phase.heading.start;
    let from = headings.all.partition_point(|labelled| labelled.heading.start <= start);
    let after = &headings.all[from..];
    let scope_end = after.iter().find(|l| l.heading.level <= phase.heading.level && !l.is_task());
    let first_task = after.iter().find(|l| l.is_task() && Some(l.heading.level) == headings.task_level);
    let scope_end = scope_end.map_or(end, |labelled| labelled.heading.start);
    let text_end = first_task.map_or(end, |labelled| labelled.heading.start).min(scope_end);
    Intro { text: start..text_end, scope_end }
}

/// Returns the opening text of the innermost phase around a task that starts at `at`.
fn intro_of(at: usize, intros: &[Intro]) -> Option<Range<usize>> {
    let before = intros.partition_point(|intro| intro.text.start <= at);
    intros[..before].iter().rev().find(|intro| at < intro.scope_end).map(|intro| intro.text.clone())
}
