//! Traces for a collector of OpenTelemetry, with the names of its conventions for GenAI.
//!
//! | file | what it knows |
//! |---|---|
//! | `setup` | the variables that configure it, and the layer for a program's `tracing` subscriber |
//! | `names` | the span of a request, a run, a task, a call of a model and of a tool as the conventions name it |
//! | `collector` | requests to the collector |
//!
//! Small because it only lists the folder.

mod collector;
mod names;
mod setup;

pub use setup::{TraceExporter, TraceExporterError};
