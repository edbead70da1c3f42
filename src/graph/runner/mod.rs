//! Runs the threads of a store in one process, each as soon as it can continue, or when an engine calls for it.
//!
//! Knows lists of threads and type-erased graphs; must not know how a run works inside.
//!
//! | file | what it has |
//! |---|---|
//! | `resume` | the runner, its loop, and its turns |
//! | `claims` | the threads that can be resumed now |
//! | `dispatch` | the way to the engine that says where and when a thread runs |
//! | `engine` | a worker that such an engine calls with a thread |
//! | `housekeeping` | what is removed at an interval |
//! | `report` | the outcome of a runner; running threads, and those given up |
//!
//! Small because it only lists the folder.

mod claims;
mod dispatch;
mod engine;
mod housekeeping;
mod report;
pub(crate) mod resume;

pub use dispatch::{Dispatch, DispatchError, StoreDispatch};
pub use engine::{EngineWorker, NextCall};
pub use report::{RunnerQuestion, RunnerReport, RunnerStop};
pub use resume::{RunnerGraph, RunnerTurn, RunnerWaker, TurnEnd, Until};
