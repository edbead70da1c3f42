//! Decides on a task after an attempt: done, another attempt, a split, or the end.
//!
//! Pure functions of outputs, history, limits and budget: this module knows no clock, store, graph or agent, and calls
//! no model. The same [`Case`] always leads to the same [`AttemptDecision`].
//!
//! | file | what it knows |
//! |---|---|
//! | `case`, `history`, `weight` | what is decided on: the attempt, those before it, what counts as an error |
//! | `rule`, `standard`, `rules` | one rule, the standard ones, the list that decides |
//! | `decision` | a decision, an override, their record |
//! | `what_if` | recorded attempts, decided again |
//!
//! Small because it only lists the folder.

mod case;
mod decision;
mod history;
mod rule;
mod rules;
mod standard;
mod weight;
mod what_if;

pub use case::Case;
pub use decision::{AttemptDecision, AttemptId, DecisionKind, DecisionRecord, Override, OverrideError};
pub use history::{AttemptHistory, AttemptKind, PastAttempt};
pub use rule::{Rule, Ruling, rule};
pub use rules::{Rules, UnknownRule, decide};
pub use standard::table;
pub use weight::severity;
#[doc(hidden)]
pub use weight::{excuse_errors, may_run};
pub use what_if::{ChangesError, RecordedDecision, SettingChanges, WhatIfDecision, what_if};
