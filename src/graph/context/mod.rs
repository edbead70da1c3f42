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
mod keep;
mod known;
pub(crate) mod permits;
pub(crate) mod place;
mod places;
pub(crate) mod receive;
mod recorded;
pub(crate) mod report;
mod runs;
mod shared;
mod task;
mod terms;

pub use ctx::{Ctx, DefaultContext};
pub use effect::Effect;
pub use exit::Budget;
pub use report::{Divergence, NotVerified, Verdict, Verified, WhatIf};
pub use terms::Ask;

pub(crate) use exit::{Budgets, Exit};
pub(crate) use graph_scope::{GraphScope, JournalScope, QuestionScope};
pub(crate) use known::{Answers, EarlierQuestion, Known};
pub(crate) use permits::Permits;
pub(crate) use report::{Comparison, Difference, Spot};
#[cfg(feature = "test-util")]
pub(crate) use shared::Staged;
pub(crate) use shared::{BudgetUse, Cancellation, Environment, EventOptions, Limits, Shared, Stage};
pub(crate) use task::{Attempt, AttemptProgress, Kept, NodeMeta, Raised, SubgraphCalls, TaskCtx, TaskPosition};
