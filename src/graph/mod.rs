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
// | `subgraph` | graphs inside nodes |
// | `host` | the graphs of a program without their types |
// | `runner` | the threads of a store, resumed as soon as they can be |
// | `kit` | tests of a graph (feature `test-util`) |

mod build;
mod context;
mod diff;
mod document;
mod error;
mod host;
mod interrupt;
mod json;
#[cfg(feature = "test-util")]
pub mod kit;
mod node;
mod persist;
mod records;
mod replay;
mod run;
mod runner;
mod state;
mod subgraph;
mod superstep;
mod thread;
mod view;

pub use superstep_macros::{Channels, Interrupt, Labels, NodeId, Route, Signal, State};
pub use tokio_util::sync::CancellationToken;

pub use crate::graph::runner::resume::runner;
#[cfg(not(feature = "test-util"))]
#[doc(hidden)]
pub use build::TestUtil;
pub use build::{Child, CompileError, CompiledGraph, Edges, Lint, Persistence, Problem, RECURSION_LIMIT, StateGraph};
pub use context::{
    Ask, Budget, Ctx, DefaultContext, Divergence, Effect, NotVerified, VerifyReport, VerifyVerdict, WhatIf,
};
pub use diff::{Change, ChannelDiff, Diff, DiffQuestion, Edit, RecordedEntry, Side, SubgraphChange, SubgraphDiff};
pub use document::{
    ChannelSpec, EdgeSpec, GraphSpec, GraphSpecError, GraphSpecProblem, NodeSpec, OneOrMany, Registry, RouterSpec,
};
pub use error::{ErrorClass, Incompatibility, NodeError, RunError, SharedNodeError, Unreadable};
pub use host::{AnyGraph, AnyThread, Graphs, OwnContext};
pub use interrupt::{
    Answer, AnswerInfo, AnyQuestion, AskError, AwaitedSignal, HumanQuestion, Interrupt, InterruptId, Interrupted,
    NotAnId, Question, QuestionForm, Reply, ReplyKind, SentSignal, Signal, SignalId, SignalRequest,
};
#[doc(hidden)]
pub use node::AsyncBody;
pub use node::{
    Blocking, CachePolicy, Chooser, Command, DeclaredTargets, END, Failure, Input, IntoCommand, Name, Node,
    NodeDefaults, NodeExt, NodeId, NodeOptions, NodeResult, Outcomes, OverContext, OverState, RetryPolicy, Route,
    Router, START, Sends, Target, WithOptions, Work, Worker, blocking, targets, worker,
};
pub use records::{CheckpointInfo, Clock, Durability, MemoryCache, NodeCache};
pub use replay::{Replay, ReplayRequest, ReplayResult, ReplayStream};
pub use runner::{
    Runner, RunnerGraph, RunnerQuestion, RunnerReport, RunnerStop, RunnerTurn, RunnerWaker, TurnEnd, Until,
};
#[doc(hidden)]
pub use state::Prefix;
pub use state::{
    AnyState, ApplyError, Boxed, ByOverwrite, ByReduce, Channel, Codec, DataSchema, DataState, DataWrite, InputError,
    IntoItems, IntoList, IntoPut, IntoText, IntoWrites, Kind, Log, LogIter, Mask, Merge, Overwrite, Payload, Put,
    SchemaError, State, Storage, UnknownKind, ValueError, Writes, no_channel, overwrite, reducers,
};
pub use subgraph::{CallError, MappedChild};
pub use thread::{
    History, Outcome, Questions, Request, Rest, RunStream, STATE_LIMIT, StateUpdate, Status, StatusKind, Thread,
    ThreadFilter, ThreadInfo, ThreadPage, UpdateReport,
};
pub use view::{
    AnyChild, CheckpointView, ChildRun, Event, EventKind, EventTask, FailureInfo, JournalEffect, JournalEntry,
    JournalKind, JournalMessage, JournalQuestion, JournalRun, Mode, NestedSnapshot, Snapshot, StateSnapshot,
    TaskJournal, TaskSnapshot, TaskView, View,
};
