//! Ready-made routers for graphs that execute plans: pure functions over plain values. They know no state, node or
//! graph; a graph maps each outcome to a node with `impl Route<Step> for AfterTaskReview`.
//!
//! ```
//! use superstep::plan::TaskProgress;
//! use superstep::prelude::*;
//! use superstep::routes::{AfterTaskReview, route_after_task_review};
//!
//! # #[derive(NodeId)] enum Step { Develop, NextTask }
//! # struct Job { progress: TaskProgress, approved: bool }
//! impl Route<Step> for AfterTaskReview {
//!     fn target(self) -> Target<Step> {
//!         match self {
//!             Self::Retry => Step::Develop.into(),
//!             Self::NextTask => Step::NextTask.into(),
//!             Self::Complete | Self::Halt => END.into(),
//!         }
//!     }
//! }
//! let router = |job: &Job| route_after_task_review(&job.progress, job.approved);
//! ```

mod approval;
mod halting;
mod phases;
mod plan_review;
mod task_review;

pub use approval::{AfterApproval, route_approval};
pub use halting::{AfterBegin, AfterHalting, AfterVerify, route_after_halting, route_after_verify, route_begin};
pub use phases::{AfterIntegration, AfterPhaseHalt, AfterPhaseReview, AfterPlanPhases, route_after_phase_review};
pub use plan_review::{AfterPlanReview, AfterStart, route_after_plan_review, route_start};
pub use task_review::{
    AfterReview, AfterTaskReview, route_after_review, route_after_review_or_task, route_after_task_review,
};
