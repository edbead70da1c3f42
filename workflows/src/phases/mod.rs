//! The phases of a plan, as data: what people see of them, and the work on them. Knows no node and no graph; pure.
//!
//! Small because it only lists the folder.

mod state;
mod tree;
mod work;

pub(crate) use state::{ENDED, PhaseChange, PhaseReview, aborted, change_phases};
pub use state::{Omission, PhaseState, PhaseStatus, SubtaskState};
pub(crate) use tree::tree as phase_tree;
pub(crate) use work::{
    HaltCause, PhaseStanding, PhaseWork, PlanFileStanding, SubtaskFailure, SubtaskRunUpdate, SubtaskWork, WorkChange,
    change_works,
};
pub use work::{Progress, Subtask, SubtaskRun};
