//! The superstep loop: plan, execute, settle, apply, commit.
//!
//! The rules are in `superstep`; the store is known through `records` only.

pub(crate) mod apply;
mod attempt_records;
mod begin;
mod cached;
pub(crate) mod catch_panics;
pub(crate) mod children;
mod delta;
mod emitter;
pub(crate) mod enter;
mod events;
mod execute;
mod failing;
mod finish;
mod handing_up;
mod interrupted;
mod job;
mod left_step;
mod migrate;
mod moved_state;
pub(crate) mod perform;
mod receive;
mod routing;
mod save;
mod state;
mod task_ends;
mod tick;
pub(crate) mod trace;
mod waiting;

pub(crate) use delta::Delta;
pub(crate) use emitter::{Emitter, EventOrigin};
pub(crate) use enter::{ChildInput, StateMode};
pub(crate) use finish::BodyOutcome;
pub(crate) use interrupted::InterruptedStep;
pub(crate) use left_step::KeptStep;
pub(crate) use perform::BodyResult;
pub(crate) use state::{ParentPointer, Run};
