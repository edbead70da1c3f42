//! The attempts at a task: the current one, and the recorded ones. Plain data.

use serde::{Deserialize, Serialize};

use crate::decide::AttemptKind;
use crate::drivers::{SessionRef, Usage};
use crate::findings::VerifierOutput;
use crate::nodes::{Base, CutOff, TakenSnapshot};
use crate::workspace::CommitId;

/// The current attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Its number, from 1; 0 before the first.
    pub number: u32,
    /// The number of the agent's turns so far.
    pub turns: u32,
    /// The author of its files.
    pub kind: AttemptKind,
    /// The agent's session, for the next turn.
    pub session: Option<SessionRef>,
    /// The point at which a turn exceeded the budget.
    pub cut: Option<CutOff>,
    /// The reason why the agent's turn had no result.
    pub problem: Option<String>,
    /// The reason why the task could not be split.
    pub unsplit: Option<String>,
    /// The recorded form for the rules, once decided.
    pub past: Option<crate::decide::Attempt>,
    /// The changed git hooks or configuration, if any.
    pub tampered: Option<String>,
    /// Set if a person decided on the current files, and the decision is applied before any further work.
    pub decides_now: bool,
    /// Set if the budget of the run is exhausted.
    pub is_spent: bool,
    /// A person's decision after a server rejected a session.
    pub given_up: Option<crate::nodes::GivenUp>,
    /// The commit and files it started from.
    pub base: Option<Base>,
    /// True if people have committed since these files were there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_behind: bool,
    /// The resulting files.
    pub files: Option<TakenSnapshot>,
    /// A person's note to the agent.
    pub note: String,
    /// The report on the children, for the agent.
    pub report: Vec<String>,
    /// The findings given to an agent whose turn was cut short, one per line: they are given again.
    pub unheeded: Vec<String>,
}

/// The reason for an early end of an attempt's verification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Obstacle {
    /// A verifier changed git hooks or configuration.
    Tampered(String),
    /// The budget of the run is exhausted.
    Spent,
}

/// Sets or clears the obstacle. Among parallel verifiers, the first tampering takes precedence.
pub(super) fn meet(obstacle: &mut Option<Obstacle>, met: Option<Obstacle>) {
    let stays = met.is_some() && matches!(obstacle, Some(Obstacle::Tampered(_)));
    if !stays {
        *obstacle = met;
    }
}

/// A recorded attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptLine {
    /// The form for the rules.
    pub past: crate::decide::Attempt,
    /// The decision.
    pub decision: String,
    /// The rule that decided.
    pub rule: String,
    /// The reason in words.
    pub reason: String,
    /// The commit with its files.
    pub commit: Option<CommitId>,
    /// The private reference to it; `None`: it is on the branch.
    pub reference: Option<String>,
    /// The errors and warnings, one per line; only the first ones if there are many.
    pub findings: Vec<String>,
    /// The usage since the last attempt: of the agent, the verifiers, the splitter and the children.
    pub usage: Usage,
    /// The digest of its record in `runs/RUN`; `None`: an earlier version recorded it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
}

/// A change to the list of verifier reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum OutputChange {
    /// Removes all reports.
    Clear,
    /// Appends a report.
    Add(Box<VerifierOutput>),
    /// Replaces all reports.
    Set(Vec<VerifierOutput>),
}

/// Applies a change to the list of reports.
pub(super) fn change(outputs: &mut Vec<VerifierOutput>, change: OutputChange) {
    match change {
        OutputChange::Clear => outputs.clear(),
        OutputChange::Add(output) => outputs.push(*output),
        OutputChange::Set(set) => *outputs = set,
    }
}
