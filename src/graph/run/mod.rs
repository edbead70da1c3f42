//! The superstep loop: plan, execute, settle, apply, commit.
//!
//! The rules are in `superstep`; the store is known through `records` only.
//!
//! | file | what it knows |
//! |---|---|
//! | `state` | a run, and what it notes of a superstep |
//! | `begin` | how a run starts: input, a fork, a command, a checkpoint of another version |
//! | `tick` | the loop |
//! | `plain` | the same for supersteps of one task in a run that stores nothing and that nobody watches |
//! | `execute`, `pool` | the tasks of a superstep: one in place, several in a pool |
//! | `perform`, `job` | the body of a task; what it needs and leaves in the store |
//! | `finish`, `waiting` | the end of a body: results and failures; questions and waits |
//! | `apply`, `commit` | the end of a superstep: its results applied, and stored |
//! | `enter`, `children`, `delta` | subgraphs: starting one, what it leaves, what it changed of the state around |
//! | `events`, `trace`, `secrets` | what listeners and logs get, and what logs hide |
//! | `catch_panics` | a panic that nothing else caught |

pub(crate) mod apply;
mod begin;
pub(crate) mod catch_panics;
pub(crate) mod children;
mod commit;
mod delta;
pub(crate) mod enter;
mod events;
mod execute;
mod finish;
mod job;
pub(crate) mod perform;
mod plain;
mod pool;
mod secrets;
mod state;
mod tick;
pub(crate) mod trace;
mod waiting;

pub(crate) use delta::Delta;
pub(crate) use enter::{ChildInput, StateMode};
pub(crate) use events::{Emitter, EventOrigin, input};
pub(crate) use finish::BodyOutcome;
pub(crate) use perform::BodyResult;
pub(crate) use state::{ParentPointer, Run, StoppedStep};
pub(crate) use waiting::InterruptedStep;
