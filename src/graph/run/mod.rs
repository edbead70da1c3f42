//! The superstep loop and what it holds: tasks, triggers, positions, events, subgraphs.
//!
//! The rules (`control`, `position`) are pure. Of a store it knows records.

pub(crate) mod advance;
mod along;
pub(crate) mod asking;
pub(crate) mod attempt;
pub(crate) mod begin;
pub(crate) mod cache;
pub(crate) mod cached;
pub(crate) mod children;
pub(crate) mod clock;
pub(crate) mod control;
pub(crate) mod ctx;
pub(crate) mod delta;
pub(crate) mod effect_scope;
pub(crate) mod emit;
pub(crate) mod enter;
pub(crate) mod error;
pub(crate) mod event;
pub(crate) mod execute;
pub(crate) mod failing;
pub(crate) mod keep;
mod known;
mod moving;
pub(crate) mod net;
pub(crate) mod origin;
pub(crate) mod perform;
pub(crate) mod permits;
pub(crate) mod places;
pub(crate) mod position;
pub(crate) mod receiving;
pub(crate) mod routing;
pub(crate) mod settle;
pub(crate) mod slow;
pub(crate) mod subgraph;
pub(crate) mod superstep;
pub(crate) mod task;
pub(crate) mod telling;
pub(crate) mod terms;
pub(crate) mod trace;
mod unreadable;
pub(crate) mod view;
mod waiting;
