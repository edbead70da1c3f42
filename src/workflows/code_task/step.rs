//! The steps of the workflow, and the targets of its routers.

use crate::graph::{END, Labels, NodeId, Route, Target};

/// The nodes of the graph.
#[derive(NodeId)]
pub enum CodeStep {
    /// Prepares the working directory.
    #[node(name = "load_spec")]
    LoadSpec,
    /// Lets an agent work.
    #[node(name = "execute")]
    Execute,
    /// Takes a snapshot of the files.
    #[node(name = "snapshot")]
    Snapshot,
    /// Selects the verifiers that run next.
    #[node(name = "verify_stage")]
    VerifyStage,
    /// Runs one verifier.
    #[node(name = "verifier")]
    Verifier,
    /// Decides by rules.
    #[node(name = "decide")]
    Decide,
    /// Records the attempt: a commit and files.
    #[node(name = "record")]
    Record,
    /// Splits the task.
    #[node(name = "make_children")]
    MakeChildren,
    /// Runs one child: this graph, one depth further.
    #[node(name = "child")]
    Child,
    /// Joins the results of children.
    #[node(name = "aggregate_children")]
    AggregateChildren,
    /// Asks a person.
    #[node(name = "ask")]
    Ask,
    /// Ends the task, and commits it if it is done.
    #[node(name = "finish")]
    Finish,
}

/// The next step after the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterInput {
    /// The task starts.
    Begin,
    /// A person decides on a task that has ended.
    Override,
    /// A person decides on a task without a snapshot of its files.
    Snapshot,
}

/// The next step after a task was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterLoad {
    /// An agent works.
    Execute,
    /// The working directory could not be prepared.
    End,
}

/// The next step after an agent's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterExecute {
    /// A snapshot is taken.
    Snapshot,
    /// A person decides: the agent changed files that git executes.
    Ask,
    /// The task ends.
    Finish,
}

/// The next step after a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterDecide {
    /// Another attempt.
    Execute,
    /// The task is split.
    MakeChildren,
    /// A person decides.
    Ask,
    /// The task ends.
    Finish,
}

#[diagnostic::do_not_recommend]
impl Route<CodeStep> for AfterInput {
    fn target(self) -> Target<CodeStep> {
        match self {
            Self::Begin => CodeStep::LoadSpec.into(),
            Self::Override => CodeStep::Decide.into(),
            Self::Snapshot => CodeStep::Snapshot.into(),
        }
    }
}

#[diagnostic::do_not_recommend]
impl Route<CodeStep> for AfterLoad {
    fn target(self) -> Target<CodeStep> {
        match self {
            Self::Execute => CodeStep::Execute.into(),
            Self::End => END.into(),
        }
    }
}

#[diagnostic::do_not_recommend]
impl Route<CodeStep> for AfterExecute {
    fn target(self) -> Target<CodeStep> {
        match self {
            Self::Snapshot => CodeStep::Snapshot.into(),
            Self::Ask => CodeStep::Ask.into(),
            Self::Finish => CodeStep::Finish.into(),
        }
    }
}

#[diagnostic::do_not_recommend]
impl Route<CodeStep> for AfterDecide {
    fn target(self) -> Target<CodeStep> {
        match self {
            Self::Execute => CodeStep::Execute.into(),
            Self::MakeChildren => CodeStep::MakeChildren.into(),
            Self::Ask => CodeStep::Ask.into(),
            Self::Finish => CodeStep::Finish.into(),
        }
    }
}
