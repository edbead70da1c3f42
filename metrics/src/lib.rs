//! Metrics of runs for Prometheus, which a runner and a server have under the same names. Nothing is global: no recorder is installed in
//! the program.
//!
//! ```
//! use superstep_metrics::RunMetrics;
//! let metrics = RunMetrics::new(&["essay".to_owned()]);
//! drop(metrics.begin("essay", None)); // give it the events of the run, of the modes `superstep_metrics::MODES`
//! assert!(metrics.page().text().contains("superstep_claims_total{graph=\"essay\"} 1\n"));
//! ```
//!
//! | file | what it knows |
//! |---|---|
//! | `histogram` | counts of durations by size |
//! | `numbers` | the numbers of runs by graph, and how their events change them |
//! | `usage` | tokens and cost, as messages of agents and models report them |
//! | `names` | the names, units and explanations of the numbers |
//! | `page` | the format of Prometheus |
//!
//! Small because it only lists the crate.

mod histogram;
mod names;
mod numbers;
mod page;
mod usage;

pub use numbers::{MODES, RunMeter, RunMetrics};
pub use page::{CONTENT_TYPE, Metric, Page};
pub use usage::ModelUse;
