//! One verifier on one attempt: by a command, a model or code. What it does outside is an effect named `verifier/ID/...`; what it
//! changes is taken back. Knows how verifiers run; must not know which run, in which order, and what follows from their findings.
//!
//! | file | what it knows |
//! |---|---|
//! | `job`, `said` | a verifier to run, what it says |
//! | `command`, `shell`, `code`, `model` | the ways in which one runs |
//! | `answers`, `alignment`, `remarks`, `diff` | what a model answers, its findings, what it is shown |
//! | `undone`, `outcome` | its changes, taken back; its words as an output |
//! | `run`, `planned` | all of it, done or only planned |

mod alignment;
mod answers;
mod code;
mod command;
mod diff;
mod job;
mod model;
mod outcome;
mod planned;
mod remarks;
mod run;
mod said;
mod shell;
mod undone;

pub use job::{RanVerifier, RunVerifier, VerifierHost};
pub use planned::{PlannedVerifier, planned_verifier};
pub use run::run_verifier;
