//! Runs the threads of a store in one process, each as soon as it can continue.

mod driven;
mod ledger;
mod report;
pub(crate) mod resume;
mod round;

#[cfg(feature = "app")]
pub(crate) use driven::{Driven, Turn};

pub use driven::RunnerGraph;
pub use report::{RunnerQuestion, RunnerReport, RunnerStop};
pub use resume::{Runner, RunnerWaker, Until};
