//! [`Ctx`](crate::graph::Ctx) and what is behind it: interrupts, effects, recorded values, signals, events of a node's own.
//!
//! The journal of a task has what it did outside and learned there, so that no attempt, resume or replay does it again; it
//! belongs to a task of the root graph, and the tasks of its subgraphs write to the same one. Knows no superstep.
//!
//! | file | what it knows |
//! |---|---|
//! | `ctx` | what a node is handed: context, identity, events |
//! | `interrupt`, `places` | questions to a person, and the places of those of a task |
//! | `ask` | questions with terms: a time, a default, several people who answer |
//! | `effect` | side effects that happen once |
//! | `record`, `receive` | recorded values, time and chance; signals |
//! | `report` | what a task reports of itself: expenses, words for people |
//! | `store`, `memory` | the long-term store, through the journal; which one it is |
//! | `journal` | entries of a task's journal, and the path to them |
//! | `task`, `graph_scope` | a task and its attempt; the place of its graph in the run |
//! | `shared` | what all tasks of a run share |
//! | `permits`, `stragglers` | how many tasks run at once; contexts that outlive their bodies |
//! | `verify_result` | what a replay that compares finds |
//! | `logged_secrets` | what the log, the records and the readers of a run's events do not get |
//! | `lazy` | a future made of its settings at the first poll |

mod ask;
pub(crate) mod ctx;
mod effect;
mod graph_scope;
mod interrupt;
mod journal;
mod lazy;
mod logged_secrets;
mod memory;
pub(crate) mod permits;
mod places;
pub(crate) mod receive;
mod record;
mod report;
mod shared;
mod store;
mod stragglers;
mod task;
pub(crate) mod verify_result;

pub use ask::Ask;
pub use ctx::{Ctx, DefaultContext};
pub use effect::Effect;
pub(crate) use graph_scope::{GraphScope, JournalScope, QuestionScope, StateCell, StateLocations};
pub(crate) use logged_secrets::LoggedSecrets;
pub use logged_secrets::SecretValues;
pub(crate) use memory::LongTermMemory;
pub(crate) use permits::Permits;
pub(crate) use places::{Answers, EarlierQuestion, KnownAnswers};
pub use shared::Budget;
#[cfg(feature = "test-util")]
pub(crate) use shared::StagedResult;
pub(crate) use shared::{
    AnyContext, BudgetUse, Budgets, Cancellation, Environment, EventOptions, Exit, Limits, RunShared, Stage,
};
pub use store::NodeStore;
pub(crate) use stragglers::Stragglers;
pub(crate) use task::{
    Attempt, AttemptProgress, AttemptStop, ChildCheckpoints, NodeMeta, SubgraphCalls, TaskCtx, TaskPosition,
};
pub(crate) use verify_result::{Comparison, Difference, Spot};
pub use verify_result::{Divergence, NotVerified, VerifyReport, VerifyVerdict, WhatIf};
