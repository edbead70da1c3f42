//! The request of a run: new input, a resume, answers, a command.

use std::marker::PhantomData;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::checkpoint::ItemWrite;
use crate::graph::interrupt::{Answer, Interrupt};
use crate::graph::node::{AnyCommand, Command, NodeId};
use crate::graph::state::{AnyWrite, AnyWrites, IntoWrites, State};

/// The input of a run.
#[must_use]
pub struct Request<S: State, N> {
    request: AnyRequest,
    types: PhantomData<fn(S, N)>,
}

/// A request without the types of its state and node ids.
pub(crate) struct AnyRequest {
    pub kind: Kind,
    pub given: Option<Arc<Map<String, Value>>>,
    /// Items to write in the first commit of the run.
    pub items: Vec<ItemWrite>,
}

pub(crate) enum Kind {
    Input(AnyWrites),
    Go { answers: Vec<Answer>, command: Option<AnyCommand> },
}

impl AnyRequest {
    /// Returns the writes of its input or its command.
    pub(crate) fn writes(&self) -> &[AnyWrite] {
        match &self.kind {
            Kind::Input(writes) => &writes.0,
            Kind::Go { command, .. } => command.as_ref().map_or(&[], |command| &command.writes.0),
        }
    }

    pub(crate) fn proceed() -> Self {
        Self { kind: Kind::Go { answers: vec![], command: None }, given: None, items: vec![] }
    }
}

impl<S: State, N> From<Request<S, N>> for AnyRequest {
    fn from(request: Request<S, N>) -> Self {
        request.request
    }
}

impl<S: State, N> std::fmt::Debug for Request<S, N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.request.kind {
            Kind::Input(writes) => f.debug_tuple("Input").field(writes).finish(),
            Kind::Go { answers, .. } => f.debug_tuple("Go").field(answers).finish(),
        }
    }
}

impl<S: State, N> Request<S, N> {
    fn of(kind: Kind) -> Self {
        Self { request: AnyRequest { kind, given: None, items: vec![] }, types: PhantomData }
    }

    /// Starts at START with new input. LangGraph: `invoke(input)`.
    pub fn input(input: impl IntoWrites<S>) -> Self {
        Self::of(Kind::Input(input.into_writes().into()))
    }

    /// Adds the input as JSON for the routers after START in a data-defined graph, which read it beneath the state,
    /// including keys that are no channels. It is not stored.
    pub fn with_raw_input(mut self, input: Map<String, Value>) -> Self {
        self.request.given = Some(Arc::new(input));
        self
    }

    /// Writes items beside threads in the first commit of the run: they and the start of the run are stored together, or
    /// neither is. The run fails with [`CheckpointError::ItemConflict`](crate::checkpoint::CheckpointError::ItemConflict) if one
    /// of them is not as expected. Without a checkpointer, they are ignored.
    pub fn with_items(mut self, writes: impl IntoIterator<Item = ItemWrite>) -> Self {
        self.request.items.extend(writes);
        self
    }

    /// Resumes the thread. LangGraph: `invoke(None)`.
    pub fn proceed() -> Self {
        Self::answers([])
    }

    /// Answers pending questions and resumes. LangGraph: `Command(resume=…)`.
    pub fn answers(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::of(Kind::Go { answers: answers.into_iter().collect(), command: None })
    }

    /// Answers the one pending question of this type and resumes.
    pub fn resume<I: Interrupt>(answer: &I::Resume) -> Self {
        Self::answers([Answer::new::<I>(answer)])
    }

    /// Applies an update and starts nodes, in addition to the pending tasks. LangGraph: `invoke(Command(update=…,
    /// goto=…))`.
    pub fn command(command: Command<S, N>) -> Self
    where
        N: NodeId,
    {
        Self::of(Kind::Go { answers: vec![], command: Some(command.into()) })
    }

    /// Adds a command to a request with answers.
    pub fn and(mut self, command: Command<S, N>) -> Self
    where
        N: NodeId,
    {
        if let Kind::Go { command: slot, .. } = &mut self.request.kind {
            *slot = Some(command.into());
        }
        self
    }
}
