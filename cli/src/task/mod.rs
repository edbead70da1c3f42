//! The commands about tasks: `task new`, `task show`, `override`, `rewind`, and what other limits would have decided. `state` reads
//! the task out of a thread, `records` its attempts from the disk.

mod new;
mod overriding;
mod records;
mod rewind;
mod show;
mod state;
mod what_if;

pub(crate) use new::new;
pub(crate) use overriding::override_decision;
pub(crate) use rewind::rewind;
pub(crate) use show::show;
pub(crate) use state::GRAPH;
pub(crate) use what_if::what_if;
