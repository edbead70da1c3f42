//! [`Ctx`](crate::graph::Ctx) and what is behind it: interrupts, effects, recorded values, signals, events of a node's own.
//!
//! The journal of a task has what it did outside and learned there, so that no attempt, resume or replay does it again; it
//! belongs to a task of the root graph, and the tasks of its subgraphs write to the same one. Knows no superstep.

mod asker;
mod asking;
mod attempt;
pub(crate) mod ctx;
mod effect;
mod effect_scope;
mod emit;
mod exit;
mod graph_scope;
mod journal;
mod keep;
mod known;
mod lazy;
mod limits;
mod moved_state;
pub(crate) mod permits;
mod places;
pub(crate) mod receive;
mod recorded;
mod runs;
mod shared;
mod state_locations;
mod stragglers;
mod task;
mod terms;
pub(crate) mod verify_result;

pub use ctx::{Ctx, DefaultContext};
pub use effect::Effect;
pub use exit::Budget;
pub use terms::Ask;
pub use verify_result::{Divergence, NotVerified, Verdict, Verified, WhatIf};

pub(crate) use exit::{Budgets, Exit};
pub(crate) use graph_scope::{GraphScope, JournalScope, QuestionScope};
pub(crate) use known::{Answers, EarlierQuestion, Known};
pub(crate) use limits::Limits;
pub(crate) use moved_state::MovedState;
pub(crate) use permits::Permits;
#[cfg(feature = "test-util")]
pub(crate) use shared::Staged;
pub(crate) use shared::{AnyContext, BudgetUse, Cancellation, Environment, EventOptions, Shared, Stage};
pub(crate) use state_locations::StateLocations;
pub(crate) use stragglers::Stragglers;
pub(crate) use task::{Attempt, AttemptProgress, Kept, NodeMeta, Raised, SubgraphCalls, TaskCtx, TaskPosition};
pub(crate) use verify_result::{Comparison, Difference, Spot};
