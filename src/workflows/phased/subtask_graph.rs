//! The graph of one subtask: its worktree, a developer, checks, and a review of its own if the profile asks for one.

use super::subtask::{SubtaskRun, SubtaskStanding};
use super::{subtask_done as done, subtask_jobs as jobs};
use crate::graph::{CompileError, CompiledGraph, END, Labels, NodeExt, NodeId, Route, START, StateGraph, Target};
use crate::nodes::{Agents, developer, reviewer, verify, worktree};

/// The steps of a subtask.
#[derive(NodeId)]
pub enum SubtaskStep {
    /// Makes its worktree ready.
    #[node(name = "set_up")]
    SetUp,
    /// Has it worked on.
    #[node(name = "developer")]
    Developer,
    /// Runs its commands.
    #[node(name = "verify")]
    Verify,
    /// Has it judged.
    #[node(name = "reviewer")]
    Reviewer,
}

/// What follows a step of a subtask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
enum Next {
    /// It is worked on.
    Work,
    /// Its commands run.
    Verify,
    /// It is judged.
    Review,
    /// It is over.
    End,
}

impl Route<SubtaskStep> for Next {
    fn target(self) -> Target<SubtaskStep> {
        match self {
            Self::Work => SubtaskStep::Developer.into(),
            Self::Verify => SubtaskStep::Verify.into(),
            Self::Review => SubtaskStep::Reviewer.into(),
            Self::End => END.into(),
        }
    }
}

/// Returns the graph of one subtask.
///
/// # Errors
/// None but a defect of this library.
pub(super) fn graph<C: Agents>() -> Result<CompiledGraph<SubtaskRun, SubtaskStep, C>, CompileError> {
    StateGraph::new()
        .add_node(SubtaskStep::SetUp, worktree(jobs::set_up, done::set_up).replayable())
        .add_node(SubtaskStep::Developer, developer(jobs::developer, done::developer).replayable())
        .add_node(SubtaskStep::Verify, verify(jobs::verify, done::verify).replayable())
        .add_node(SubtaskStep::Reviewer, reviewer(jobs::reviewer, done::reviewer).replayable())
        .add_edge(START, SubtaskStep::SetUp)
        .add_conditional_edges(SubtaskStep::SetUp, next)
        .add_conditional_edges(SubtaskStep::Developer, worked)
        .add_conditional_edges(SubtaskStep::Verify, next)
        .add_conditional_edges(SubtaskStep::Reviewer, next)
        .compile()
        .map(|graph| graph.named("subtask").recursion_limit(u64::MAX)) // it ends by the count of its attempts
}

fn next(run: &SubtaskRun) -> Next {
    match run.progress.standing {
        SubtaskStanding::Working => Next::Work,
        SubtaskStanding::Verified => Next::Review,
        _ => Next::End,
    }
}

fn worked(run: &SubtaskRun) -> Next {
    if run.progress.standing.is_over() { Next::End } else { Next::Verify }
}
