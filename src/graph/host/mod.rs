//! The graphs of a program without their types, for whatever runs graphs for others: a runner, a command line, a server.
//!
//! Knows every graph by its name; must not know arguments, sockets or pages.
//!
//! Small because it only lists the folder.

mod graphs;

pub use graphs::{AnyGraph, AnyThread, ContextReader, Graphs, OwnContext};
