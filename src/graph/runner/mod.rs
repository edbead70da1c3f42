//! Runs the threads of a store in one process, each as soon as it can continue.
//!
//! Knows lists of threads and type-erased graphs; must not know how a run works inside.
//!
//! | file | what it has |
//! |---|---|
//! | `resume` | the runner and its loop |
//! | `driven` | type-erased graphs |
//! | `ledger` | running threads, and those given up |
//! | `round` | the threads that can be resumed now |
//! | `report` | the outcome of a runner |

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
