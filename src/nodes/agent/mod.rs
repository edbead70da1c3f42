//! Agents and their turns. A turn is taken once, and is read back from the journal. Knows drivers, prompts and the work
//! tree; must not know what becomes of the work.
//!
//! | file | what it knows |
//! |---|---|
//! | `agents` | agents as data, the trait for their drivers, `Crew` |
//! | `submit` | results that agents hand over, as types |
//! | `turn`, `request` | a turn, and each request of it |
//! | `outcome`, `budget` | the end of a request: recorded, with its waits; the ledger of the run |
//! | `journal` | a turn on record: texts, transcript, read back |
//! | `reports` | what the task of a turn reports: tokens and cost, words for people |
//! | `tool_spans` | the spans of the tools that an agent calls |
//! | `developer`, `reviewer` | the nodes that have a task worked on, and the work judged |
//!
//! Small because it only lists the folder.

mod agents;
pub(super) mod budget;
mod developer;
mod journal;
mod outcome;
mod reports;
mod request;
mod reviewer;
mod submit;
mod tool_spans;
mod turn;

pub use agents::{AgentSpec, Agents, BudgetShare, Crew};
pub(super) use budget::{BlockedTurn, BudgetAnswer};
pub use developer::{DevelopResult, DeveloperJob, GivenUp, developer};
pub use journal::{AgentCall, AgentTurn, AgentTurnRequest, resolve_texts};
pub use reviewer::{ReviewResult, ReviewVerdict, ReviewerJob, reviewer};
pub use submit::Submit;
pub use turn::{AgentAnswer, CutOff, CutReason, Turn, TurnResult, TurnTask};
pub(super) use turn::{DecidedTurn, NextStep};
