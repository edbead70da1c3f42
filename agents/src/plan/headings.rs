//! The headings of a markdown document, from CommonMark events: the tasks and phases among them, the level of the tasks,
//! and the text that opens each phase. Pure; knows nothing of what is below a heading.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use super::error::PlanProblem;
use super::id::TaskId;
use super::labels::Label;
use super::source::{self, Lines};

pub(super) struct LabelledHeading {
    pub(super) heading: Heading,
    pub(super) label: Label,
}

/// The labelled headings of a document and the level of its task headings.
pub(super) struct Headings {
    pub(super) all: Vec<LabelledHeading>,
    /// `None` if there are no tasks.
    pub(super) task_level: Option<u8>,
    pub(super) open_fence: Option<usize>,
    pub(super) open_front_matter: bool,
}

impl Headings {
    /// Reads a document [with line feeds](super::source::with_line_feeds).
    pub(super) fn of(markdown: &str) -> Self {
        let outline = Outline::of(markdown);
        let all: Vec<LabelledHeading> = outline.headings.into_iter().map(LabelledHeading::new).collect();
        let task_level = task_level(&all);
        Self { all, task_level, open_fence: outline.open_fence, open_front_matter: outline.open_front_matter }
    }

    pub(super) fn is_task(&self, labelled: &LabelledHeading) -> bool {
        labelled.is_task() && Some(labelled.heading.level) == self.task_level
    }

    /// True if a heading opens a phase: at the level of the tasks, or above.
    pub(super) fn is_phase(&self, labelled: &LabelledHeading) -> bool {
        labelled.is_phase() && Some(labelled.heading.level) <= self.task_level
    }

    pub(super) fn tasks(&self) -> impl Iterator<Item = &LabelledHeading> {
        self.all.iter().filter(|labelled| self.is_task(labelled))
    }

    pub(super) fn phases(&self) -> impl Iterator<Item = &LabelledHeading> {
        self.all.iter().filter(|labelled| self.is_phase(labelled))
    }
}

impl LabelledHeading {
    fn new(heading: Heading) -> Self {
        Self { label: Label::of(heading.text.trim()), heading }
    }

    pub(super) fn is_task(&self) -> bool {
        matches!(self.label, Label::Task { .. })
    }

    /// Returns the number of a task or phase.
    pub(super) fn id(&self) -> Option<&TaskId> {
        match &self.label {
            Label::Task { id, .. } | Label::Phase { id } => Some(id),
            Label::AlmostTask | Label::Other => None,
        }
    }

    fn is_phase(&self) -> bool {
        matches!(self.label, Label::Phase { .. })
    }
}

/// Returns the level of the first task heading at level 2 to 4.
fn task_level(all: &[LabelledHeading]) -> Option<u8> {
    all.iter()
        .filter(|labelled| labelled.is_task())
        .map(|task| task.heading.level)
        .find(|level| (2..=4).contains(level))
}

/// A top-level heading of the document: not in a quote, list, fence or comment.
#[derive(Clone, Debug)]
pub(super) struct Heading {
    /// 1 to 6.
    pub(super) level: u8,
    /// The plain text: emphasis, comments and leading anchors dropped, code kept in backticks.
    pub(super) text: String,
    /// The byte at which its line starts.
    pub(super) start: usize,
    /// Its line, from 1.
    pub(super) line: usize,
}

/// The headings of a document, and its unclosed fence or front matter.
#[derive(Debug, Default)]
struct Outline {
    /// In document order.
    headings: Vec<Heading>,
    /// The line of a code fence that is never closed, so that it runs to the end of the document.
    open_fence: Option<usize>,
    /// True if it starts like front matter but no line closes it.
    open_front_matter: bool,
}

impl Outline {
    /// Reads a document [with line feeds](source::with_line_feeds), without its front matter.
    fn of(markdown: &str) -> Self {
        let body = source::body(markdown);
        let outline = Self { open_front_matter: body.open_front_matter, ..Self::default() };
        let body = body.start;
        let mut walk = Walk { markdown, body, lines: Lines::new(markdown), depth: 0, heading: None, outline };
        for (event, range) in Parser::new(&markdown[body..]).into_offset_iter() {
            walk.step(&event, range.start + body..range.end + body);
        }
        walk.outline
    }
}

struct Walk<'m> {
    markdown: &'m str,
    body: usize,
    lines: Lines<'m>,
    depth: usize,
    heading: Option<Heading>,
    outline: Outline,
}

impl Walk<'_> {
    fn step(&mut self, event: &Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.open(tag, range),
            Event::End(tag) => self.close(*tag),
            Event::Text(text) => self.write(&[text]),
            Event::InlineHtml(html) => self.write_html(html),
            Event::Code(code) => self.write(&["`", code, "`"]),
            Event::SoftBreak | Event::HardBreak => self.write(&[" "]),
            _ => {}
        }
    }

    fn open(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Heading { level, .. } if self.depth == 0 => self.open_heading(*level as u8, range.start),
            Tag::CodeBlock(CodeBlockKind::Fenced(_)) if self.depth == 0 => self.note_open_fence(range),
            _ => {}
        }
        self.depth += 1;
    }

    fn open_heading(&mut self, level: u8, at: usize) {
        let start = self.markdown[self.body..at].rfind('\n').map_or(self.body, |end| self.body + end + 1);
        self.heading = Some(Heading { level, text: String::new(), start, line: self.lines.of(start) });
    }

    fn note_open_fence(&mut self, range: Range<usize>) {
        let block = &self.markdown[range.clone()];
        let is_last = self.markdown[range.end..].trim().is_empty();
        if is_last && !source::is_closed(block) {
            self.outline.open_fence = Some(self.lines.of(range.start));
        }
    }

    fn close(&mut self, tag: TagEnd) {
        self.depth = self.depth.saturating_sub(1);
        if let (TagEnd::Heading(_), 0) = (tag, self.depth) {
            self.outline.headings.extend(self.heading.take());
        }
    }

    /// Appends an HTML tag, which in a heading is rarely meant as one: `Vec<T>`.
    fn write_html(&mut self, html: &str) {
        let is_anchor = self.heading.as_ref().is_some_and(|heading| heading.text.trim().is_empty());
        if !is_anchor && !html.starts_with("<!--") {
            self.write(&[html]);
        }
    }

    fn write(&mut self, pieces: &[&str]) {
        if let Some(heading) = &mut self.heading {
            heading.text.extend(pieces.iter().copied());
        }
    }
}

/// An open phase. The text that opens it ends at its first task.
struct Phase {
    level: u8,
    start: usize,
    first_task: Option<usize>,
}

/// Returns, for each task, the text that opens the innermost phase around it.
///
/// A phase ends at the next heading of its level or above that is not a task.
pub(super) fn phase_texts(headings: &Headings) -> Vec<Option<Range<usize>>> {
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
pub(super) fn empty_phases(headings: &Headings) -> Vec<PlanProblem> {
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
