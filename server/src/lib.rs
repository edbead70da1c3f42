//! An HTTP server over graphs of superstep, which LangGraph's SDKs talk to: assistants, threads with their states, and runs that are
//! created, waited for, streamed and cancelled.
//!
//! A run is stored before it is acknowledged, as an item beside the threads. If the server is killed, it executes the run at the next
//! start, or another server on the same store does. The start of a run is one commit with its first superstep.
//!
//! ```no_run
//! use std::sync::Arc;
//! use superstep::checkpoint::MemoryCheckpointer;
//! use superstep::graph::Graphs;
//! # async fn example(graphs: Graphs) -> std::io::Result<()> {
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:2024").await?;
//! superstep_server::Options::default().serve(graphs, Arc::new(MemoryCheckpointer::new()), listener).await
//! # }
//! ```
//!
//! | file | what it knows |
//! |---|---|
//! | `routes` | paths and the bodies of requests |
//! | `runs` | requests for runs, their queue, their execution and their events |
//! | `protocol` | the event protocol of newer clients: events and commands |
//! | `foreign_threads` | threads that other programs made in the same store |
//! | `feed`, `activity`, `foreign_activity` | the events of a run for its readers; what happens to all threads |
//! | `page` | the page of people below `/ui/`, and that of the routes at `/docs` |
//! | `inputs`, `client_input` | inputs against the schemas of their graphs; inputs in a form of the program's own |
//! | `forks` | what a program does outside of the store for a fork |
//! | `inspection` | parts of large values, checkpoints and tasks for pages; comparisons that run for a while |
//! | `crons`, `webhooks` | runs by a schedule; what is sent when a run has ended |
//! | `timers` | what the server does by itself at a time |
//! | `inbox` | what waits for a person |
//! | `mcp` | the graphs as tools of the Model Context Protocol |
//! | `progress` | the threads that are executed now, and the events that are to be written |
//! | `message_form` | messages of clients as the engine takes them |
//! | `panics` | panics in the code of the program |
//! | `choices` | texts that fields are chosen from |
//! | `wire`, `wire_types` | states, tasks and interrupts as JSON |
//! | `graph_place` | the root of a thread or one of its subgraphs, as checkpoints name it |
//! | `server` | the state that all requests share |
//! | `expiry` | removal of items of the long-term store that have expired |
//! | `recording` | a run as one file with the page |
//! | `records` | assistants, threads and runs as items of the store |
//! | `options`, `protection`, `observer` | settings, and the router that is made of them; listeners of the runs that are executed |
//! | `security` | keys and roles, Host and Origin, limits |
//! | `telemetry` | the ids, the log and the traces of requests, and the numbers of the server |
//! | `error` | answers to requests that cannot be served |
//!
//! Small because it only lists the crate.

mod activity;
mod choices;
mod client_input;
mod crons;
mod error;
mod expiry;
mod feed;
mod foreign_activity;
mod foreign_threads;
mod forks;
mod graph_place;
mod inbox;
mod inputs;
mod inspection;
#[cfg(feature = "mcp")]
mod mcp;
mod message_form;
mod observer;
mod options;
mod page;
mod panics;
mod progress;
mod protection;
mod protocol;
mod recording;
mod records;
mod routes;
mod runs;
mod security;
mod server;
mod start;
mod telemetry;
mod timers;
mod webhooks;
mod wire;
mod wire_types;

pub use client_input::InputReader;
pub use forks::{ForkHook, ForkOrigin, PreparedFork};
pub use observer::{RunListener, RunObserver};
pub use options::Options;
pub use recording::{RecordingError, recorded_page};
pub use security::{Caller, KeyEntry, KeyRole, Keys, KeysError, UnknownRole};
pub use start::router;
#[cfg(feature = "otel")]
pub use telemetry::{TraceExporter, TraceExporterError};
