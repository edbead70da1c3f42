//! The steps of the workflow, and the targets of its routers.

use superstep::graph::{END, NodeId, Route};

/// The nodes of the graph.
#[derive(NodeId)]
#[node(rename_all = "snake_case")]
pub enum CodeStep {
    /// Prepares the working directory.
    LoadSpec,
    /// Lets an agent work.
    Execute,
    /// Takes a snapshot of the files.
    Snapshot,
    /// Selects the verifiers that run next.
    VerifyStage,
    /// Runs one verifier.
    Verifier,
    /// Decides by rules.
    Decide,
    /// Records the attempt: a commit and files.
    Record,
    /// Splits the task.
    MakeChildren,
    /// Runs one child: this graph, one depth further.
    Child,
    /// Joins the results of children.
    AggregateChildren,
    /// Asks a person.
    Ask,
    /// Ends the task, and commits it if it is done.
    Finish,
}

/// The next step after the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route)]
pub(crate) enum AfterInput {
    /// The task starts.
    #[to(CodeStep::LoadSpec)]
    Begin,
    /// A person decides on a task that has ended.
    #[to(CodeStep::Decide)]
    Override,
    /// A person decides on a task without a snapshot of its files.
    #[to(CodeStep::Snapshot)]
    Snapshot,
}

/// The next step after a task was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route)]
pub(crate) enum AfterLoad {
    /// An agent works.
    #[to(CodeStep::Execute)]
    Execute,
    /// The working directory could not be prepared.
    #[to(END)]
    End,
}

/// The next step after an agent's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route)]
pub(crate) enum AfterExecute {
    /// A snapshot is taken.
    #[to(CodeStep::Snapshot)]
    Snapshot,
    /// A person decides: the agent changed files that git executes.
    #[to(CodeStep::Ask)]
    Ask,
    /// The task ends.
    #[to(CodeStep::Finish)]
    Finish,
}

/// The next step after a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route)]
pub(crate) enum AfterDecide {
    /// Another attempt.
    #[to(CodeStep::Execute)]
    Execute,
    /// The task is split.
    #[to(CodeStep::MakeChildren)]
    MakeChildren,
    /// A person decides.
    #[to(CodeStep::Ask)]
    Ask,
    /// The task ends.
    #[to(CodeStep::Finish)]
    Finish,
}
