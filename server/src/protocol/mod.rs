//! The event protocol of LangGraph's newer clients: a thread as one stream of typed events, and commands in the same form. It is made of
//! the stored events of the thread's runs, so that each connection reads the same events under the same ids.
//!
//! | file | what it knows |
//! |---|---|
//! | `event` | an event of the protocol, and how it is numbered |
//! | `filter` | channels and namespaces that a reader asks for |
//! | `conversion` | events of a run as those of the protocol; the lifecycles of its graphs |
//! | `messages`, `content` | pieces of messages as blocks that start, grow and end; messages in states |
//! | `reader` | the events of a thread, run after run |
//! | `subscriptions` | what one connection asks for, read together |
//! | `command`, `commands` | the form of commands and their answers; what each command does |
//!
//! Small because it only lists the folder.

pub(crate) mod command;
pub(crate) mod commands;
mod content;
mod conversion;
pub(crate) mod event;
pub(crate) mod filter;
mod messages;
pub(crate) mod reader;
pub(crate) mod subscriptions;
