//! The engine: typed states, graphs over them, supersteps, threads.
//!
//! | folder | what lives there |
//! |---|---|
//! | `channels` | what a state is made of, and how writes meet in it; pure |
//! | `define` | what a user defines a graph with |
//! | `compile` | from the builder to tables; every problem at once; the drawing; pure |
//! | `diff` | what differs between two checkpoints |
//! | `replay` | a thread's past, walked and told again |
//! | `run` | the superstep loop, its tasks, events and subgraphs |
//! | `kit` | what tests of a graph need; feature `test-util` |
//! | `journal` | effects, recorded values, times: what a task does and learns once |
//! | `records` | between a run and the [`crate::checkpoint`] contract |
//! | `runner` | the threads of a store, resumed as soon as they can be |
//! | `shape` | the JSON of what programs read |
//! | `spec` | graphs that are documents |
//! | `thread` | one conversation: run, answer, read, rewrite |
//!
//! Nothing here knows agents, plans or a command line.

mod channels;
mod compile;
mod define;
mod diff;
mod journal;
#[cfg(feature = "test-util")]
pub mod kit;
mod records;
mod replay;
mod run;
pub(crate) mod runner;
pub(crate) mod shape;
mod spec;
mod thread;

pub use channels::reducers;

pub use channels::channel::{Channel, Codec, Stored};
pub use channels::data::{DataSchema, DataState, DataWrite, Kind, SchemaError, UnknownKind};
pub use channels::json::InputError;
pub use channels::mask::Mask;
pub use channels::merge::{ApplyError, Merge};
pub use channels::state::{State, no_channel};
pub use channels::writes::{
    ByOverwrite, ByReduce, IntoItems, IntoList, IntoPut, IntoText, IntoWrites, Overwrite, Put, Writes, overwrite,
};
pub use compile::compiled::CompiledGraph;
pub use compile::described::AnyChild;
#[cfg(not(feature = "test-util"))]
#[doc(hidden)]
pub use compile::untestable::TestUtil;
pub use define::blocking::{Blocking, blocking};
pub use define::builder::{Edges, StateGraph};
pub use define::command::{Command, END, IntoCommand, Payload, START, Sends, Target, Worker};
pub use define::defaults::NodeDefaults;
pub use define::interrupt::{Answer, AnyQuestion, Interrupt, InterruptId, Interrupted, Question};
pub use define::node::{Boxed, Class, Ended, Input, Name, Node, NodeError, NodeId, SharedNodeError, Work};
pub use define::not_an_id::NotAnId;
pub use define::options::{CachePolicy, Failure, NodeExt, NodeOptions, WithOptions, worker};
pub use define::problem::{CompileError, Lint, Problem};
pub use define::retry::RetryPolicy;
pub use define::route::{Chooser, Declared, Outcomes, OverContext, OverState, Route, Router};
pub use define::signal::{AwaitedSignal, SentSignal, Signal, SignalId, SignalRequest};
pub use define::terms::AskError;
pub use diff::edits::Edit;
pub use diff::{Asked, Change, ChannelDiff, Diff, Inside, RecordedEntry, Side, SubgraphDiff};
pub use journal::effect::Effect;
pub use journal::task_journal::{
    ChildRun, JournalEffect, JournalEntry, JournalKind, JournalMessage, JournalQuestion, JournalRun, TaskJournal,
};
pub use records::misfit::Misfit;
pub use records::recorder::Durability;
pub use replay::report::{Divergence, NotVerified, Verdict, Verified, WhatIf};
pub use replay::{Replay, Replayed, Replaying};
pub use run::cache::{MemoryCache, NodeCache};
pub use run::clock::Clock;
pub use run::ctx::{Ctx, DefaultContext};
pub use run::error::{RunError, Unreadable};
pub use run::event::{CheckpointView, Event, EventKind, Mode, TaskView};
pub use run::origin::{EventTask, MessageMetadata};
pub use run::subgraph::{CallError, Child, Mapped, Persistence};
pub use run::superstep::Budget;
pub use run::terms::Ask;
pub use run::view::View;
pub use runner::{Runner, RunnerGraph, RunnerQuestion, RunnerReport, RunnerStop, RunnerWaker, Until, runner};
pub use spec::{ChannelSpec, EdgeSpec, GraphSpec, NodeSpec, OneOrMany, Registry, RouterSpec, SpecError, SpecProblem};
pub use superstep_macros::{Interrupt, Labels, NodeId, Route, Signal, State};
pub use thread::edit::{StateUpdate, Updated};
pub use thread::filter::{ThreadFilter, ThreadPage};
pub use thread::handle::{RECURSION_LIMIT, STATE_LIMIT, Thread};
pub use thread::history::{CheckpointInfo, History};
pub use thread::listing::{Standing, ThreadInfo};
pub use thread::outcome::{Outcome, Questions, Rest};
pub use thread::past::Status;
pub use thread::request::Request;
pub use thread::snapshot::{AnswerInfo, Nested, Snapshot, StateSnapshot};
pub use thread::stream::{ReplayStream, RunStream};
pub use thread::task_snapshot::{FailureInfo, TaskSnapshot};
pub use tokio_util::sync::CancellationToken;
