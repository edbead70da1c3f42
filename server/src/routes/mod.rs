//! The routes, and what their requests have in common.
//!
//! | file | what it knows |
//! |---|---|
//! | `router` | all of them |
//! | `meta` | health and information |
//! | `assistants` | assistants and their versions |
//! | `schemas`, `drawing` | the graph of an assistant: schemas, subgraphs; nodes and edges |
//! | `threads`, `states` | threads; their states and histories |
//! | `runs`, `streams` | runs; answers that are sent while a run is going on |
//! | `events` | what happens to all threads |
//! | `query` | parts of bodies that several routes have |
//!
//! Small because it only lists the folder.

mod assistants;
mod events;
mod drawing;
mod meta;
mod query;
mod router;
mod runs;
mod schemas;
mod states;
mod streams;
mod threads;

pub(crate) use router::routes;
