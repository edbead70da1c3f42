//! The headings of a plan, which of them are tasks and phases, and at which level the tasks stand.

use super::label::Label;
use super::outline::{Heading, Outline};

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
    pub(super) open_front_matter: bool,
}

impl Headings {
    /// Reads a document [with line feeds](super::source::with_line_feeds).
    pub(super) fn of(markdown: &str) -> Self {
        let outline = Outline::of(markdown);
        let all: Vec<Labelled> = outline.headings.into_iter().map(Labelled::new).collect();
        let task_level = task_level(&all);
        Self { all, task_level, open_fence: outline.open_fence, open_front_matter: outline.open_front_matter }
    }

    /// Returns whether a heading opens a task of the plan.
    pub(super) fn is_task(&self, labelled: &Labelled) -> bool {
        labelled.is_task() && Some(labelled.heading.level) == self.task_level
    }

    /// Returns whether a heading opens a phase: at the level of the tasks, or above.
    pub(super) fn is_phase(&self, labelled: &Labelled) -> bool {
        labelled.is_phase() && Some(labelled.heading.level) <= self.task_level
    }

    /// Returns the headings that open a task.
    pub(super) fn tasks(&self) -> impl Iterator<Item = &Labelled> {
        self.all.iter().filter(|labelled| self.is_task(labelled))
    }

    /// Returns the headings that open a phase.
    pub(super) fn phases(&self) -> impl Iterator<Item = &Labelled> {
        self.all.iter().filter(|labelled| self.is_phase(labelled))
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

/// The level of the first task heading, of those at level 2 to 4.
fn task_level(all: &[Labelled]) -> Option<u8> {
    all.iter()
        .filter(|labelled| labelled.is_task())
        .map(|task| task.heading.level)
        .find(|level| (2..=4).contains(level))
}
