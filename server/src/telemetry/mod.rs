//! Metrics, logs and traces of a server.
//!
//! | file | what it knows |
//! |---|---|
//! | `request_id` | the ids of requests, of clients or made here |
//! | `request_log` | the span of a request, and the line that is logged with its answer |
//! | `metrics`, `open_questions` | the numbers of the server; the questions of its store |
//! | `trace_context` | the trace that a request is part of, for the run that it creates |
//! | `traces`, `model_calls`, `tool_calls` | spans for a collector of OpenTelemetry |
//! | `listeners` | those who get the events of an execution |
//!
//! Small because it only lists the folder.

mod listeners;
mod metrics;
#[cfg(feature = "otel")]
mod model_calls;
mod open_questions;
mod request_id;
mod request_log;
#[cfg(feature = "otel")]
mod tool_calls;
mod trace_context;
#[cfg(feature = "otel")]
mod traces;

pub(crate) use listeners::RunListeners;
pub(crate) use metrics::Metrics;
pub(crate) use request_id::with_request_ids;
pub(crate) use request_log::log_requests;
pub(crate) use trace_context::{execution_span, record_end, traceparent};
#[cfg(feature = "otel")]
pub use traces::{TraceExporter, TraceExporterError};
