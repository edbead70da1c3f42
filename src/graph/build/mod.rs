//! The builder, the validation that reports every problem at once, the compiled graph and its drawings.
//!
//! Knows no run and no store.
//!
//! | file | what it knows |
//! |---|---|
//! | `builder` | nodes, edges and routers as a user adds them; graphs that can be subgraphs |
//! | `resolve`, `rows` | names to indexes; added nodes to rows |
//! | `validate`, `problem` | the checks of an outline; problems, each with a help text |
//! | `table`, `renames` | the tables of a compiled graph; former names |
//! | `compiled` | the compiled graph |
//! | `schemas`, `topology` | JSON Schemas of a graph; its structure as plain data |
//! | `draw`, `dot`, `ascii` | drawings: Mermaid, Graphviz, plain text |
//! | `untestable` | the compile error without `test-util` |
//!
//! Small because it only lists the folder.

pub(crate) mod ascii;
pub(crate) mod builder;
pub(crate) mod compiled;
pub(crate) mod dot;
mod draw;
pub(crate) mod problem;
mod renames;
mod resolve;
pub(crate) mod rows;
pub(crate) mod schemas;
pub(crate) mod table;
pub(crate) mod topology;
#[cfg(not(feature = "test-util"))]
pub(crate) mod untestable;
mod validate;

pub use builder::{Child, Edges};
pub(crate) use builder::{Persistence, StateGraph};
pub use compiled::RECURSION_LIMIT;
pub(crate) use compiled::{CompiledGraph, GraphCore};
pub use problem::Problem;

pub(crate) use draw::DrawOptions;
pub(crate) use table::{Branch, Join, StopOverrides, Stops, Table, Wiring};
