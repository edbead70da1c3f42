//! Runs: what a client asks for, the queue of each thread, execution, and the events that readers follow.
//!
//! | file | what it knows |
//! |---|---|
//! | `request` | the body of a request, and what it asks of the engine |
//! | `events`, `messages` | events of the engine as events on the wire; pieces of messages among them |
//! | `checkpoint_events` | checkpoints as events |
//! | `check`, `client_input` | requests that cannot be executed; inputs in a form of the program's own |
//! | `queue`, `open` | the queue of each thread; marks of the runs that have not ended |
//! | `log_writer`, `reader`, `thread_reader` | events in the store; their reader, wherever a run is executed; those of all runs of a thread |
//! | `answers` | answers of a request, checked before its run is created |
//! | `end`, `webhook` | the state of a thread at the end of a run; the webhook of one |
//! | `creation` | runs of requests, and of threads that go on by themselves |
//! | `schedule` | which threads are executed, and when; those that are executed now |
//! | `sender`, `lost_events` | events on their way to readers; those that a killed process had not stored |
//! | `stop`, `rollback` | requests to stop a run; the removal of one with its checkpoints |
//! | `execution` | one run of a thread, from its start or from where it was left |
//!
//! Small because it only lists the folder.

pub(crate) mod answers;
pub(crate) mod check;
mod checkpoint_events;
mod client_input;
pub(crate) mod creation;
pub(crate) mod end;
pub(crate) mod events;
pub(crate) mod execution;
pub(crate) mod log_writer;
mod lost_events;
pub(crate) mod messages;
mod open;
pub(crate) mod queue;
pub(crate) mod reader;
pub(crate) mod request;
mod rollback;
pub(crate) mod schedule;
mod sender;
mod stop;
pub(crate) mod thread_reader;
mod webhook;
