//! Graphs wired from nodes and routers. They know no command line.

pub mod demo;
