//! The routes, and what their requests have in common.
//!
//! | file | what it knows |
//! |---|---|
//! | `router` | all of them |
//! | `meta` | health and information |
//! | `assistants` | assistants and their versions |
//! | `schemas`, `drawing` | the graph of an assistant: schemas, subgraphs; nodes and edges |
//! | `threads`, `states` | threads; their states and histories |
//! | `find_threads`, `extraction`, `lifetime`, `ttl` | lists of threads; copies, and threads and checkpoints that are removed |
//! | `inspection` | the past of a thread, taken apart |
//! | `updates` | writes to a state without a run |
//! | `runs`, `streams` | runs; answers that are sent while a run is going on |
//! | `protocol`, `socket` | the event protocol over HTTP and over a WebSocket |
//! | `sse` | streams of events as clients read them |
//! | `events` | what happens to all threads |
//! | `people` | what people see of threads, work and graphs |
//! | `many_runs` | several runs at once, and runs that are named without their thread |
//! | `crons` | runs by a schedule |
//! | `store` | long-term memory |
//! | `openapi` | the description of the routes |
//! | `query` | parts of bodies that several routes have |
//!
//! Small because it only lists the folder.

mod assistants;
mod branches;
mod crons;
pub(crate) mod drawing;
mod events;
mod extraction;
mod find_threads;
mod inspection;
mod lifetime;
mod many_runs;
mod meta;
mod openapi;
mod people;
mod protocol;
mod query;
mod router;
mod runs;
mod schemas;
mod socket;
mod sse;
mod states;
mod store;
mod streams;
mod threads;
mod ttl;
mod updates;

pub(crate) use router::routes;
