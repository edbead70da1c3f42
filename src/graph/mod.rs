//! The engine: state and channels, building, validation, the superstep loop, threads, events, subgraphs, drawing.
//!
//! Pure files (`mask`, `state`, `reducers`, `control`, `validate`, `draw`) know no clock, store or task. Nothing here knows
//! agents, plans or a command line; of a store only the [`crate::checkpoint`] contract is known.

mod advance;
mod answer;
mod begin;
mod builder;
mod cache;
mod cached;
mod clock;
mod command;
mod compile;
mod compiled;
mod control;
mod ctx;
mod data;
mod draw;
mod error;
mod event;
mod execute;
mod go;
mod interrupt;
mod load;
mod mask;
mod node;
mod options;
mod outcome;
mod past;
mod perform;
mod position;
mod problem;
mod recorder;
pub mod reducers;
mod request;
mod route;
mod run;
mod save;
mod scope;
mod settle;
mod snapshot;
mod state;
mod stream;
mod subgraph;
mod table;
mod task;
mod telling;
mod thread;
mod update;
mod validate;
mod value;

pub use builder::{Edges, NodeDefaults, StateGraph};
pub use cache::{MemoryCache, NodeCache};
pub use command::{Command, END, IntoCommand, Payload, START, Sends, Target, Worker};
pub use compiled::CompiledGraph;
pub use ctx::Ctx;
pub use data::{DataSchema, DataState, DataWrite, Kind, SchemaError};
pub use error::RunError;
pub use event::{CheckpointView, Event, EventKind, Mode, TaskView, View};
pub use interrupt::{Answer, AnyQuestion, Interrupt, InterruptId, Interrupted, NotAnId, Question};
pub use mask::Mask;
pub use node::{Boxed, Class, Ended, Input, Name, Node, NodeError, NodeId, Work};
pub use options::{CachePolicy, Failure, NodeExt, NodeOptions, RetryPolicy, WithOptions, worker};
pub use outcome::{Outcome, Questions, Rest};
pub use past::{CheckpointInfo, History, Status};
pub use problem::{CompileError, Lint, Problem};
pub use recorder::Durability;
pub use request::Request;
pub use route::{Chooser, Declared, OverContext, OverState, Route, Router};
pub use run::Budget;
pub use snapshot::{Nested, Snapshot, StateSnapshot, TaskSnapshot};
pub use state::{
    ApplyError, ByOverwrite, ByReduce, Channel, Codec, IntoList, IntoPut, Merge, Overwrite, Put, State, Stored, Writes,
    no_channel, overwrite,
};
pub use stream::RunStream;
pub use subgraph::{AnyChild, CallError, Child, Mapped, Persistence, Private};
pub use superstep_macros::{Labels, NodeId, State};
pub use thread::{RECURSION_LIMIT, Thread};
pub use update::{StateUpdate, Updated};
