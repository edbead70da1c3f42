//! What most graphs need: `use superstep::prelude::*`. What is rarer is in [`crate::graph`] and [`crate::checkpoint`].

pub use serde::{Deserialize, Serialize};

#[cfg(feature = "sled")]
pub use crate::checkpoint::SledCheckpointer;
pub use crate::checkpoint::{CheckpointId, MemoryCheckpointer, ThreadId};
pub use crate::graph::{
    Answer, CachePolicy, CancellationToken, Command, CompileError, CompiledGraph, Ctx, Durability, END, Event,
    EventKind, Interrupt, Labels, Lint, Mode, Node, NodeDefaults, NodeError, NodeExt, NodeId, Outcome, Persistence,
    Question, Request, RetryPolicy, Route, RunError, RunStream, START, Sends, State, StateGraph, StateSnapshot,
    StateUpdate, Status, Target, Thread, Worker, Writes, overwrite, worker,
};
