//! Decides on a task after an attempt: done, another attempt, a split, or the end.
//!
//! Pure functions of outputs, history, limits and budget: this module knows no clock, store, graph or agent, and calls
//! no model. The same [`Case`] always leads to the same [`Decision`].

mod attempt;
mod case;
mod decision;
mod kind;
mod over;
mod progress;
mod rule;
mod rules;
mod standard;
mod weight;
mod what_if;

pub use attempt::{Attempt, AttemptKind, History};
pub use case::{Case, NoSplit};
pub use decision::{Decision, DecisionRecord, RecordedAttempt, Ruling};
pub use kind::Kind;
pub use over::{Override, OverrideError, OverrideNote};
pub use rule::Rule;
pub use rules::{Rules, UnknownRule, decide, rule};
pub use standard::table;
pub use weight::{excuse, may_run, severity};
pub use what_if::{Changes, ChangesError, Recorded, WhatIf, what_if};
