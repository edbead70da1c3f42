//! A parsed plan and its tasks. Knows their positions in the markdown, not how they are parsed.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use superstep_base::Fnv;

use super::command::VerifyCommand;
use super::error::{PlanError, PlanWarning};
use super::fields::Fields;
use super::id::TaskId;

/// A plan: its markdown, never changed, and the tasks found in it.
///
/// Serialises as the markdown and is parsed again when read, so sections and source cannot disagree.
///
/// ```
/// # use superstep_agents as superstep;
/// let plan = superstep::plan::Plan::parse("# Tides\n\n### Task 1: Read\n\nRead it.\n\n### Task 2: Write\n")?;
/// assert_eq!(plan.title(), Some("Tides"));
/// assert_eq!(plan.task(0)?.section, "### Task 1: Read\n\nRead it.\n\n");
/// assert_eq!(plan.excerpt(1)?, "# Tides\n\n### Task 2: Write\n");
/// # Ok::<(), superstep::plan::PlanError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Plan {
    pub(super) markdown: String,
    pub(super) title: Option<String>,
    pub(super) goal: Option<String>,
    /// Up to the first task or phase.
    pub(super) preamble: Range<usize>,
    pub(super) entries: Vec<Entry>,
    pub(super) has_headings: bool,
    pub(super) warnings: Vec<PlanWarning>,
}

/// A task's position in the markdown, and its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) id: TaskId,
    pub(super) title: String,
    pub(super) line: usize,
    pub(super) section: Range<usize>,
    /// The text that opens its phase.
    pub(super) phase: Option<Range<usize>>,
    pub(super) fields: Fields,
}

/// One task of a plan. Displays as `Task 3: title`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Task<'p> {
    /// The position in plan order, from 0.
    pub index: usize,
    /// The number in its heading.
    pub id: &'p TaskId,
    /// The rest of its heading, possibly empty. For a plan without task headings, the plan's title.
    pub title: &'p str,
    /// The line of its heading, from 1.
    pub line: usize,
    /// The section in the markdown, byte for byte: from the heading to the next heading of the same or a higher level.
    pub section: &'p str,
    /// The text that opens its phase: the phase's heading up to the first task.
    pub phase: Option<&'p str>,
    /// The acceptance criteria: the text below `Acceptance` in its section.
    pub acceptance: &'p [String],
    /// The commands that must succeed when the task is done: the code below `Verify` in its section.
    pub verify: &'p [VerifyCommand],
    /// True if its section declares that no file changes: `**Changes:** none`.
    pub changes_nothing: bool,
    /// Its dependencies, each once: `**Depends on:** 1, 2a`. Empty for `none`, `None` without such a line.
    pub depends_on: Option<&'p [TaskId]>,
    /// The paths and globs that the task may touch: those below `Files` in its section.
    pub files: &'p [String],
}

impl Plan {
    /// Returns the plan's markdown, unchanged.
    pub fn markdown(&self) -> &str {
        &self.markdown
    }

    /// Returns the text of the first level 1 heading before the tasks.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// Returns the goal in the text before the tasks: `**Goal:** …`, or the paragraph below a heading `Goal`.
    pub fn goal(&self) -> Option<&str> {
        self.goal.as_deref()
    }

    /// Returns the text before the first task or phase; empty if the plan has no task headings.
    pub fn preamble(&self) -> &str {
        &self.markdown[self.preamble.clone()]
    }

    /// Returns the tasks in plan order; at least one.
    pub fn tasks(&self) -> impl ExactSizeIterator<Item = Task<'_>> + DoubleEndedIterator {
        self.entries.iter().enumerate().map(|(index, entry)| self.view(index, entry))
    }

    /// Returns the number of tasks; at least 1.
    pub fn task_count(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether the plan has task headings. Without them, the whole plan is one task.
    pub fn has_task_headings(&self) -> bool {
        self.has_headings
    }

    /// Returns the task at `index`, from 0.
    ///
    /// # Errors
    ///
    /// [`PlanError::NoSuchTask`] beyond the last task.
    pub fn task(&self, index: usize) -> Result<Task<'_>, PlanError> {
        let total = self.entries.len();
        let entry = self.entries.get(index).ok_or(PlanError::NoSuchTask { index, total })?;
        Ok(self.view(index, entry))
    }

    /// Returns the part of the plan that one task needs: the text before the first task, the text that opens the task's
    /// phase, and the task's section. For a plan of one task, the whole plan.
    ///
    /// # Errors
    ///
    /// [`PlanError::NoSuchTask`] beyond the last task; never the whole plan instead.
    pub fn excerpt(&self, index: usize) -> Result<String, PlanError> {
        let task = self.task(index)?;
        if self.entries.len() == 1 {
            return Ok(self.markdown.clone());
        }
        Ok([self.preamble(), task.phase.unwrap_or_default(), task.section].concat())
    }

    /// Returns the tasks, one per line: `Task 3: title`.
    pub fn outline(&self) -> String {
        self.tasks().map(|task| format!("{task}\n")).collect()
    }

    /// Returns a hash of the markdown, as 16 hexadecimal digits: the same in every release and on every machine. It is
    /// not cryptographic.
    pub fn hash(&self) -> String {
        hash(&self.markdown)
    }

    /// Returns the warnings about the plan, in document order.
    pub fn warnings(&self) -> &[PlanWarning] {
        &self.warnings
    }

    fn view<'p>(&'p self, index: usize, entry: &'p Entry) -> Task<'p> {
        Task {
            index,
            id: &entry.id,
            title: &entry.title,
            line: entry.line,
            section: &self.markdown[entry.section.clone()],
            phase: entry.phase.clone().map(|intro| &self.markdown[intro]),
            acceptance: &entry.fields.acceptance,
            verify: &entry.fields.verify,
            changes_nothing: entry.fields.changes_nothing,
            depends_on: entry.fields.needs.as_ref().map(|needs| needs.ids.as_slice()),
            files: &entry.fields.files,
        }
    }
}

/// Returns the FNV-1a hash of a text that may be a plan, as [`Plan::hash`] returns that of one.
pub fn hash(text: &str) -> String {
    let mut hash = Fnv::new();
    hash.mix(text.as_bytes());
    format!("{:016x}", hash.finish())
}

impl fmt::Display for Task<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.title {
            "" => write!(f, "Task {}", self.id),
            title => write!(f, "Task {}: {title}", self.id),
        }
    }
}

impl TryFrom<String> for Plan {
    type Error = PlanError;

    fn try_from(markdown: String) -> Result<Self, PlanError> {
        Self::parse_stored(markdown)
    }
}

impl From<Plan> for String {
    fn from(plan: Plan) -> Self {
        plan.markdown
    }
}
