//! What most graphs need: `use superstep::prelude::*`. What is rarer is in [`crate::graph`] and [`crate::checkpoint`].

pub use serde::{Deserialize, Serialize};

#[cfg(not(feature = "sled"))]
#[doc(hidden)]
pub use crate::__private::SledCheckpointer;
#[cfg(feature = "sled")]
pub use crate::checkpoint::SledCheckpointer;
pub use crate::checkpoint::{CheckpointError, CheckpointId, MemoryCheckpointer, ThreadId};
pub use crate::graph::{
    Answer, AskError, Budget, CachePolicy, CancellationToken, Command, CompileError, CompiledGraph, Ctx,
    DeclaredTargets, Durability, END, Event, EventKind, Failure, Interrupt, InterruptId, Labels, Lint, MemoryCache,
    Mode, Name, Node, NodeDefaults, NodeError, NodeExt, NodeId, Outcome, Persistence, Question, Request, RetryPolicy,
    Route, RunError, RunStream, START, Sends, Signal, State, StateGraph, StateSnapshot, StateUpdate, Status, Target,
    Thread, Worker, Writes, blocking, overwrite, reducers, targets, worker,
};
