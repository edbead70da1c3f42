//! The engine: typed states, graphs over them, supersteps, threads.
//!
//! A [`StateGraph`] of [`Node`]s over a [`State`] compiles to a [`CompiledGraph`]. Its [`Thread`]s run, interrupt, resume, and
//! can be read, forked and replayed. The crate's documentation lists the items by job.
//!
//! Nothing here knows agents, plans or a command line.

// From the bottom to the top; a folder imports only from folders above it in this table.
//
// | folder | what lives there |
// |---|---|
// | `json` | parts of JSON that several types share |
// | `state` | states, channels, reducers; values as bytes and back; pure |
// | `interrupt` | interrupts, signals and their answers |
// | `error` | errors of nodes, of runs, and of threads that another version of the graph stored |
// | `records` | records without types: written in order, found again |
// | `view` | what readers and listeners get: events, snapshots, journals |
// | `context` | `Ctx`: interrupts, effects, recorded values, signals, custom events |
// | `node` | nodes, commands, routers, node options |
// | `build` | the builder, validation, the compiled graph, drawings |
// | `document` | graphs that are documents |
// | `superstep` | the rules of a superstep: plan, apply; pure |
// | `persist` | positions to records and back |
// | `run` | the superstep loop |
// | `thread` | a thread: run, answer, read, update, travel |
// | `diff` | the difference between two checkpoints |
// | `replay` | recorded runs: replay, verify, what-if |
// | `stream` | what readers of a stream need, under one name |
// | `subgraph` | graphs inside nodes |
// | `host` | the graphs of a program without their types |
// | `runner` | the threads of a store, resumed as soon as they can be |
// | `kit` | tests of a graph (feature `test-util`) |

pub mod build;
mod context;
pub mod diff;
pub mod document;
mod error;
mod host;
pub mod interrupt;
mod json;
#[cfg(feature = "test-util")]
pub mod kit;
pub mod node;
mod persist;
mod records;
pub mod replay;
mod run;
pub mod runner;
pub mod state;
pub mod stream;
mod subgraph;
mod superstep;
pub mod thread;
pub mod view;

pub use crate::checkpoint::listing::status_kind::StatusKind;
pub use crate::graph::runner::resume::runner;
pub use build::builder::{Persistence, StateGraph};
pub use build::compiled::CompiledGraph;
pub use build::problem::{CompileError, Lint};
pub use build::schemas::Schemas;
pub use build::topology::{Subgraph, Topology, TopologyEdge, TopologyNode};
#[cfg(not(feature = "test-util"))]
#[doc(hidden)]
pub use build::untestable::TestUtil;
pub use context::{
    Ask, Budget, Ctx, DefaultContext, Divergence, Effect, NodeStore, NotVerified, SecretValues, VerifyReport,
    VerifyVerdict, WhatIf,
};
pub use diff::report::Diff;
pub use document::compile::Registry;
pub use document::graph_spec::GraphSpec;
pub use error::{ErrorClass, Incompatibility, NodeError, RunError, SharedNodeError, Unreadable};
pub use host::{AnyGraph, AnyThread, ContextReader, Graphs, OwnContext};
pub use interrupt::answer::Answer;
pub use interrupt::human::{HumanQuestion, QuestionForm, Reply};
pub use interrupt::question::{AskError, Interrupt, InterruptId, Question};
pub use interrupt::question_schemas::QuestionSchemas;
pub use interrupt::signal::Signal;
pub use node::blocking::blocking;
#[doc(hidden)]
pub use node::body::AsyncBody;
pub use node::body::Node;
pub use node::command::{Command, END, START, Sends, Target, Worker};
pub use node::execution::{CachePolicy, NodeDefaults, RetryPolicy};
pub use node::ext::{NodeExt, worker};
pub use node::id::{Name, NodeId};
pub use node::options::Failure;
pub use node::route::{DeclaredTargets, Route, Router, targets};
pub use records::{CheckpointInfo, Clock, Durability, MemoryCache, NodeCache};
pub use replay::replaying::Replay;
pub use runner::resume::Runner;
pub use state::any::AnyState;
pub use state::channels::State;
pub use state::data::{DataSchema, DataState};
pub use state::log::Log;
pub use state::put::{Overwrite, overwrite};
pub use state::reducers;
pub use state::value::Boxed;
pub use state::writes::Writes;
pub use subgraph::{CallError, MappedChild};
pub use superstep_macros::{Channels, Interrupt, Labels, NodeId, Route, Signal, State};
pub use thread::filter::ThreadFilter;
pub use thread::handle::Thread;
pub use thread::listing::ThreadInfo;
pub use thread::outcome::Outcome;
pub use thread::request::Request;
pub use thread::state_update::StateUpdate;
pub use thread::status::Status;
pub use thread::stream::RunStream;
pub use tokio_util::sync::CancellationToken;
pub use view::event::{Event, EventKind, Mode};
pub use view::snapshot::StateSnapshot;

/// Items that only the derives need. No version promises them.
#[doc(hidden)]
pub mod __private {
    pub use super::interrupt::question_schemas::question_schemas;
    pub use super::node::route::Outcomes;
    pub use super::state::channels::no_channel;
    pub use super::state::json_schema::{SchemaSide, SchemaWriter, TypeSchema};
    pub use super::state::log::Prefix;
    pub use super::state::mask::Mask;
    pub use super::state::merge::Merge;
    pub use super::state::put::{IntoItems, IntoList, IntoPut, IntoText, Put};
}
