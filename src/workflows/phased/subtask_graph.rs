//! The graph of one subtask: its worktree, a developer, checks, and a separate review if the profile sets one.

use super::subtask::{SubtaskRun, SubtaskStanding};
use super::{subtask_done as done, subtask_jobs as jobs};
use crate::graph::{CompileError, CompiledGraph, END, Labels, NodeExt, NodeId, Route, START, StateGraph, Target};
use crate::nodes::{Agents, developer, reviewer, verify, worktree};

/// The nodes of a subtask's graph.
#[derive(NodeId)]
pub enum SubtaskStep {
    /// Prepares its worktree.
    #[node(name = "set_up")]
    SetUp,
    /// Lets a developer work on it.
    #[node(name = "developer")]
    Developer,
    /// Runs its commands.
    #[node(name = "verify")]
    Verify,
    /// Lets a reviewer review it.
    #[node(name = "reviewer")]
    Reviewer,
}

/// The next step of a subtask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
enum Next {
    Work,
    Verify,
    Review,
    End,
}

#[diagnostic::do_not_recommend]
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
        .map(|graph| graph.named("subtask").recursion_limit(u64::MAX)) // the profile limits the attempts
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
