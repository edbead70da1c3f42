//! The progress of work on the tasks of a plan. Only counts: knows no plan text, no agent and no graph.

use serde::{Deserialize, Serialize};

/// The progress of work on the tasks of a plan: one value, so that it fits in one channel.
///
/// ```
/// # use superstep_agents as superstep;
/// use superstep::plan::TaskProgress;
/// let progress = TaskProgress::new(2, 3).reviewed();
/// assert_eq!((progress.task_review_iteration, progress.has_attempts_left()), (1, true));
/// let progress = progress.next_task();
/// assert_eq!((progress.current_task_index, progress.task_review_iteration, progress.is_last()), (1, 0, true));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskProgress {
    /// The index of the current task, from 0.
    pub current_task_index: usize,
    /// The number of tasks.
    pub total_tasks: usize,
    /// The number of attempts at the current task that were reviewed or failed their checks.
    pub task_review_iteration: u32,
    /// The maximum number of attempts at a task, including the first.
    pub max_task_review_iterations: u32,
}

impl TaskProgress {
    /// The default maximum number of attempts at a task.
    pub const MAX_TASK_REVIEW_ITERATIONS: u32 = 5;

    /// Returns the initial progress of a plan with this many tasks, each with this many attempts.
    pub fn new(total_tasks: usize, max_task_review_iterations: u32) -> Self {
        Self { current_task_index: 0, total_tasks, task_review_iteration: 0, max_task_review_iterations }
    }

    /// Returns the progress after another attempt was reviewed or failed its checks.
    #[must_use]
    pub fn reviewed(self) -> Self {
        Self { task_review_iteration: self.task_review_iteration.saturating_add(1), ..self }
    }

    /// Returns the progress at the start of the next task.
    #[must_use]
    pub fn next_task(self) -> Self {
        Self { current_task_index: self.current_task_index.saturating_add(1), task_review_iteration: 0, ..self }
    }

    /// Returns whether the current task is the last.
    pub fn is_last(&self) -> bool {
        self.current_task_index.saturating_add(1) >= self.total_tasks
    }

    /// Returns whether the current task may be attempted again.
    pub fn has_attempts_left(&self) -> bool {
        self.task_review_iteration < self.max_task_review_iterations
    }
}

impl Default for TaskProgress {
    fn default() -> Self {
        Self::new(0, Self::MAX_TASK_REVIEW_ITERATIONS)
    }
}
