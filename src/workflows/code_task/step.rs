//! The steps of the workflow, and where each outcome of a router leads.

use crate::graph::{END, Labels, NodeId, Route, Target};

/// The steps.
#[derive(NodeId)]
pub enum CodeStep {
    /// Makes the folder of the work ready.
    #[node(name = "load_spec")]
    LoadSpec,
    /// Has an agent work.
    #[node(name = "execute")]
    Execute,
    /// Notes the files that it left.
    #[node(name = "snapshot")]
    Snapshot,
    /// Chooses the verifiers that run next.
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
    /// Puts the results of children together.
    #[node(name = "aggregate_children")]
    AggregateChildren,
    /// Asks a person.
    #[node(name = "ask")]
    Ask,
    /// Ends the task; one that is done is committed.
    #[node(name = "finish")]
    Finish,
}

/// What follows the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterInput {
    /// The task begins.
    Begin,
    /// A person decides about a task that has ended.
    Override,
    /// The same, of a task whose files were never noted.
    Snapshot,
}

/// What follows the start of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterLoad {
    /// An agent works.
    Execute,
    /// Its folder could not be made ready.
    End,
}

/// What follows the turn of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterExecute {
    /// The files are noted.
    Snapshot,
    /// A person is asked: the agent changed what git runs.
    Ask,
    /// The task ends.
    Finish,
}

/// What follows a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterDecide {
    /// Another attempt.
    Execute,
    /// Children.
    MakeChildren,
    /// A person is asked.
    Ask,
    /// The task ends.
    Finish,
}

/// What follows an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterAsk {
    /// Another attempt.
    Execute,
    /// The files are noted, of which a person has decided.
    Snapshot,
    /// The decision of a person.
    Decide,
    /// The task ends.
    Finish,
}

impl Route<CodeStep> for AfterInput {
    fn target(self) -> Target<CodeStep> {
        match self {
            Self::Begin => CodeStep::LoadSpec.into(),
            Self::Override => CodeStep::Decide.into(),
            Self::Snapshot => CodeStep::Snapshot.into(),
        }
    }
}

impl Route<CodeStep> for AfterLoad {
    fn target(self) -> Target<CodeStep> {
        match self {
            Self::Execute => CodeStep::Execute.into(),
            Self::End => END.into(),
        }
    }
}

impl Route<CodeStep> for AfterExecute {
    fn target(self) -> Target<CodeStep> {
        match self {
            Self::Snapshot => CodeStep::Snapshot.into(),
            Self::Ask => CodeStep::Ask.into(),
            Self::Finish => CodeStep::Finish.into(),
        }
    }
}

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

impl Route<CodeStep> for AfterAsk {
    fn target(self) -> Target<CodeStep> {
        match self {
            Self::Execute => CodeStep::Execute.into(),
            Self::Snapshot => CodeStep::Snapshot.into(),
            Self::Decide => CodeStep::Decide.into(),
            Self::Finish => CodeStep::Finish.into(),
        }
    }
}
