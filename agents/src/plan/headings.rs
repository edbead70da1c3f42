//! The headings of a plan: the tasks and phases among them, and the level of the tasks.

use super::heading_label::Label;
use super::id::TaskId;
use super::outline::{Heading, Outline};

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
