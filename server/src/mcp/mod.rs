//! The graphs as tools of the Model Context Protocol, over the same durable runs: for coding agents and other clients that call tools.
//!
//! | file | what it knows |
//! |---|---|
//! | `endpoint`, `sessions`, `stdio` | how clients connect: over HTTP, with a session or without; over standard input and output |
//! | `handler` | the methods of the protocol, and what each needs |
//! | `tools`, `calls` | the tools and their arguments; calls of them |
//! | `waiting` | calls that wait for a thread, and ask meanwhile |
//! | `tasks` | threads as tasks of the protocol |
//! | `position` | where a thread is, as the store says it |
//! | `newest` | the threads of a store, the newest first |
//! | `answers`, `forms` | answers to questions; questions as forms |
//! | `client` | who calls: the key, the program, what it can do; which questions it may answer |
//! | `results` | results of calls |
//!
//! Small because it only lists the folder.

mod answers;
mod calls;
mod client;
mod endpoint;
mod forms;
mod handler;
mod newest;
mod position;
mod results;
mod sessions;
mod stdio;
mod tasks;
mod tools;
mod waiting;

pub(crate) use endpoint::routes;
pub(crate) use stdio::serve_stdio;
