//! The two functions over plan markdown that prompts and routers need.

use super::error::PlanError;
use super::headings::Headings;
use super::source;
use super::task::Plan;

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
