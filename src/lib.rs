//! superstep: a typed-state graph engine that mirrors LangGraph.
//!
//! A workflow is a graph of nodes over a typed state. A node returns an update, a reducer merges it, a checkpoint follows.
//! A run can wait for a person and resume in another process, survive being killed, and be read, forked and run again from
//! any of its checkpoints.
//!
//! ```
//! use std::sync::Arc;
//! use superstep::prelude::*;
//!
//! #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
//! struct Draft {
//!     topic: String,                        // takes one write per superstep
//!     #[channel(append)]
//!     notes: Vec<String>,                   // collects the writes of parallel nodes
//! }
//! #[derive(NodeId)]
//! enum Step { Web, Papers }
//!
//! async fn web(draft: Arc<Draft>, _: Ctx) -> Result<DraftUpdate, NodeError> {
//!     Ok(Draft::update().notes([format!("the web on {}", draft.topic)]))
//! }
//! async fn papers(draft: Arc<Draft>, _: Ctx) -> Result<DraftUpdate, NodeError> {
//!     Ok(Draft::update().notes([format!("papers on {}", draft.topic)]))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let graph = StateGraph::new()
//!     .add_node(Step::Web, web)
//!     .add_node(Step::Papers, papers)
//!     .add_edge(START, [Step::Web, Step::Papers])
//!     .compile()?
//!     .with_checkpointer(MemoryCheckpointer::new());  // or SledCheckpointer::open("runs.sled")?
//! let outcome = graph.thread("essay-1").invoke(Draft::update().topic("tides")).await?;
//! assert_eq!(outcome.state().notes, ["papers on tides", "the web on tides"]);  // in order of node names
//! # Ok(())
//! # }
//! ```
//!
//! # Where to look
//!
//! | to | see |
//! |---|---|
//! | start | [`prelude`], [`readme`], and [`guide`]: a page for each job |
//! | define a state and its channels | [`#[derive(State)]`](macro@graph::State), [`graph::reducers`], [`graph::overwrite`] |
//! | wire a graph | [`graph::StateGraph`], [`graph::Node`], [`graph::Route`], [`graph::Worker`], [`graph::Command`] |
//! | set retries, timeouts, questions of a node | [`graph::NodeExt`] |
//! | nest graphs | [`graph::CompiledGraph::mapped`], [`graph::Ctx::call`], [`graph::Persistence`] |
//! | run, ask a person, resume with the answer | [`graph::Thread`], [`graph::Outcome`], [`graph::Interrupt`], [`guide::approve`] |
//! | show a question to people, and take their answers in words | [`graph::HumanQuestion`] |
//! | run the graphs of others, whose types are not known | [`graph::Graphs`], [`graph::AnyThread`], [`graph::runner()`] |
//! | watch a run | [`graph::Thread::stream`], [`graph::Event`], [`graph::Mode`] |
//! | replay a run to debug it | [`graph::Thread::replay`], [`graph::Thread::verify`], [`guide::debug`] |
//! | read, rewrite and fork the past | [`graph::Thread::history`], [`graph::Thread::at`], [`graph::StateUpdate`] |
//! | know what can go wrong | [`graph::CompileError`], [`graph::RunError`], [`checkpoint::CheckpointError`] |
//! | read a graph from data | [`graph::DataSchema`], [`graph::Name`] |
//! | choose or write a store | [`checkpoint`] |
//! | remember across threads, search by meaning | [`memory`], [`graph::Ctx::store`], [`guide::memory`] |
//! | have agents carry out plans, in phases too, or one task | the crate [`superstep-workflows`](https://docs.rs/superstep-workflows) |
#![cfg_attr(
    feature = "agents",
    doc = "| build another workflow for agents | [`nodes`], [`routes`], [`plan`]; [`agent_workflows`] |"
)]
#![cfg_attr(
    feature = "agents",
    doc = "| read task files, `verifiers.yml` and the output of tools, decide what follows an attempt | [`spec`], [`findings`], [`decide`] |"
)]
#![cfg_attr(
    feature = "agents",
    doc = "| have work verified by commands, models and code | [`writing_a_verifier`], [`verifiers`] |"
)]
#![cfg_attr(feature = "agents", doc = "| choose or write a driver | [`drivers`] |")]
#![cfg_attr(feature = "agents", doc = "| work in a git repository | [`workspace`] |")]
#![cfg_attr(
    not(feature = "agents"),
    doc = "| build workflows for agents | the feature `agents`; [`agent_workflows`] |"
)]
//! | turn a program with graphs into a command line | the crate [`superstep-app`](https://docs.rs/superstep-app) |
//! | come from LangGraph | [`coming_from_langgraph`]: one agent in both, the differences V1 to V15, the map of names |
//!
//! "LangGraph: `name`" in a description names what the item mirrors; the rules are those of LangGraph 1.2.22.

#![warn(clippy::print_stdout, clippy::print_stderr)]

#[allow(unused_extern_crates, reason = "the derives name the crate by its public name, here too")]
extern crate self as superstep;

pub mod checkpoint;
pub mod graph;
pub mod memory;
#[cfg(feature = "agents")]
pub mod nodes;
pub mod prelude;
#[cfg(feature = "agents")]
pub mod routes;

#[cfg(feature = "agents")]
#[doc(inline)]
pub use superstep_agents::{drivers, plan, process, workspace};
#[cfg(feature = "agents")]
#[doc(inline)]
pub use superstep_verify::{decide, findings, task as spec, verifiers};

/// The project's README: what it is, a first program, a comparison, links to every page.
#[cfg_attr(feature = "sled", doc = "")]
#[cfg_attr(feature = "sled", doc = include_str!("../README.md"))]
pub mod readme {}

/// The guide: a page for each job. The code in it is compiled and run with every change.
pub mod guide {
    #[doc = include_str!("../docs/guide/install.md")]
    pub mod install {}
    #[doc = include_str!("../docs/guide/chat.md")]
    pub mod chat {}
    #[doc = include_str!("../docs/guide/define.md")]
    pub mod define {}
    #[doc = include_str!("../docs/guide/requests.md")]
    pub mod requests {}
    #[doc = include_str!("../docs/guide/streaming.md")]
    pub mod streaming {}
    #[doc = include_str!("../docs/guide/approve.md")]
    pub mod approve {}
    #[doc = include_str!("../docs/guide/questions.md")]
    pub mod questions {}
    #[doc = include_str!("../docs/guide/signals.md")]
    pub mod signals {}
    #[doc = include_str!("../docs/guide/effects.md")]
    pub mod effects {}
    #[doc = include_str!("../docs/guide/memory.md")]
    pub mod memory {}
    #[doc = include_str!("../docs/guide/failures.md")]
    pub mod failures {}
    #[doc = include_str!("../docs/guide/supervisor.md")]
    pub mod supervisor {}
    #[doc = include_str!("../docs/guide/debug.md")]
    pub mod debug {}
    #[doc = include_str!("../docs/guide/testing.md")]
    pub mod testing {}
    #[doc = include_str!("../docs/guide/changed-code.md")]
    pub mod changed_code {}
    #[doc = include_str!("../docs/guide/store.md")]
    pub mod store {}
    #[doc = include_str!("../docs/guide/documents.md")]
    pub mod documents {}
    #[doc = include_str!("../docs/guide/runner.md")]
    pub mod runner {}
    #[doc = include_str!("../docs/guide/merging.md")]
    pub mod merging {}
    #[doc = include_str!("../docs/guide/service.md")]
    pub mod service {}
    #[doc = include_str!("../docs/guide/limits.md")]
    pub mod limits {}
}

/// One agent in LangGraph and here, side by side; what differs, what is not there yet, how to port.
///
/// Its snippets are cut from a program that is compiled and run with every change.
#[doc = ""]
#[doc = include_str!("../docs/coming-from-langgraph.md")]
pub mod coming_from_langgraph {}

/// Workflows of your own for agents: a whole one, a table of the ready-made nodes, a driver.
///
/// Its snippets are cut from programs that are compiled and run with every change.
#[doc = ""]
#[doc = include_str!("../docs/agent-workflows.md")]
pub mod agent_workflows {}

/// Verifiers of your own: a command, code, a model.
///
/// Its code is compiled and its commands are run with every change.
#[cfg_attr(feature = "agents", doc = "")]
#[cfg_attr(feature = "agents", doc = include_str!("../docs/writing-a-verifier.md"))]
pub mod writing_a_verifier {}

#[doc(hidden)]
pub mod __private {
    #[cfg(not(feature = "sled"))]
    pub use crate::checkpoint::no_sled::{Sled, SledCheckpointer};
    /// The result of an upgrade; a sentence if it failed.
    pub fn upgraded<T, E: std::fmt::Display>(made: Result<T, E>) -> Result<T, String> {
        made.map_err(|error| error.to_string())
    }

    pub use crate::graph::__private::*;
    pub use serde;
    pub use serde_json;
    pub use strum;
    pub use superstep_macros::state_with_groups;
}
