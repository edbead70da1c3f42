//! The node that parses a plan and reports its problems. Code, no model; knows plans alone.

use std::path::Path;

use super::step::step;
use crate::graph::{Ctx, Node, NodeError, NodeId, State, Writes};
use crate::plan::{Plan, PlanError};

/// Result of parsing a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanReviewed {
    /// Its goal.
    pub goal: Option<String>,
    /// The number of its tasks; none if it cannot be executed.
    pub total_tasks: Option<u32>,
    /// Files that it mentions as code.
    pub key_files: Vec<String>,
    /// Its problems.
    pub problems: Vec<String>,
    /// Warnings: things that its author probably did not mean.
    pub warnings: Vec<String>,
}

impl PlanReviewed {
    /// Parses a plan.
    pub fn of(markdown: &str) -> Self {
        match Plan::parse(markdown) {
            Ok(plan) => Self {
                goal: plan.goal().map(str::to_owned),
                total_tasks: u32::try_from(plan.task_count()).ok(),
                key_files: named_files(markdown),
                problems: vec![],
                warnings: plan.warnings().iter().chain(&plan.phases().warnings).map(ToString::to_string).collect(),
            },
            Err(PlanError::Invalid { problems }) => {
                let message = |problem: &crate::plan::PlanProblem| format!("{problem} (help: {})", problem.help());
                Self { problems: problems.iter().map(message).collect(), ..Self::default() }
            }
            Err(error) => Self { problems: vec![error.to_string()], ..Self::default() },
        }
    }
}

/// Returns a node that parses a plan: `markdown` reads it from the state, `done` creates the update from the result. A
/// missing plan is a problem.
pub fn plan_validator<S, N, C, A, D, W>(markdown: A, done: D) -> impl Node<S, N, C>
where
    S: State,
    N: NodeId,
    C: Send + Sync + 'static,
    A: Fn(&S) -> Option<String> + Send + Sync + 'static,
    D: Fn(&S, PlanReviewed) -> W + Send + Sync + 'static,
    W: Into<Writes<S>> + 'static,
{
    let job = move |state: &S| Ok::<_, NodeError>(markdown(state).unwrap_or_default());
    step(job, |markdown: String, _: Ctx<C>| async move { Ok(PlanReviewed::of(&markdown)) }, done)
}

/// The number of files that are named.
const FILES: usize = 50;

/// Returns the words that are written as code and look like the path of a file, each once.
fn named_files(markdown: &str) -> Vec<String> {
    let mut files: Vec<String> = vec![];
    for code in markdown.split('`').skip(1).step_by(2) {
        let is_new = || !files.iter().any(|known| known == code);
        if looks_like_a_file(code) && is_new() && files.len() < FILES {
            files.push(code.to_owned());
        }
    }
    files
}

fn looks_like_a_file(code: &str) -> bool {
    let is_plain = code.len() <= 200 && code.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c));
    let path = Path::new(code);
    let has_name = |part: Option<&std::ffi::OsStr>| part.is_some_and(|part| !part.is_empty());
    is_plain && !code.ends_with('.') && !path.is_absolute() && has_name(path.extension()) && has_name(path.file_stem())
}
