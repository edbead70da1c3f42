//! Runs the threads of a store in one process, each as soon as it can continue.
//!
//! Knows lists of threads and type-erased graphs; must not know how a run works inside.
//!
//! | file | what it has |
//! |---|---|
//! | `resume` | the runner, its loop, and the threads that can be resumed now |
//! | `driven` | type-erased graphs |
//! | `report` | the outcome of a runner; running threads, and those given up |
//!
//! Small because it only lists the folder.

mod driven;
mod report;
pub(crate) mod resume;

#[cfg(feature = "app")]
pub(crate) use driven::{Driven, Turn};

pub use driven::RunnerGraph;
pub use report::{RunnerQuestion, RunnerReport, RunnerStop};
pub use resume::{Runner, RunnerWaker, Until};
