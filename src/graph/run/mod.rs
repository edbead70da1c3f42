//! The superstep loop: plan, execute, settle, apply, commit.
//!
//! The rules are in `superstep`; of a store it knows records.

pub(crate) mod apply;
mod begin;
mod cached;
pub(crate) mod children;
mod delta;
mod emitter;
pub(crate) mod enter;
mod execute;
mod failing;
mod finish;
mod job;
mod migrate;
pub(crate) mod net;
pub(crate) mod perform;
mod receive;
mod routing;
mod save;
mod state;
mod telling;
mod tick;
pub(crate) mod trace;
mod waiting;

pub(crate) use delta::Delta;
pub(crate) use emitter::{Emitter, EventOrigin};
pub(crate) use enter::{Begin, Way};
pub(crate) use finish::Judged;
pub(crate) use perform::Caught;
pub(crate) use state::{ParentPointer, Run};
