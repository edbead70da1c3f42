//! An attempt at a task: while it is in work, and in a line once it is recorded. Plain data.

use serde::{Deserialize, Serialize};

use crate::decide::AttemptKind;
use crate::drivers::{SessionRef, Usage};
use crate::findings::VerifierOutput;
use crate::nodes::{Base, CutOff, TakenSnapshot};
use crate::workspace::CommitId;

/// The attempt in work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Its number, from 1; 0 before the first.
    pub number: u32,
    /// The number of turns of the agent so far.
    pub turns: u32,
    /// The origin of its files.
    pub kind: AttemptKind,
    /// The session of the agent, in which the next one goes on.
    pub session: Option<SessionRef>,
    /// The place at which a turn ended for which the budget was not enough.
    pub cut: Option<CutOff>,
    /// Why the agent's turn came to nothing.
    pub problem: Option<String>,
    /// Why the task could not be split.
    pub unsplit: Option<String>,
    /// What the rules need of it, once it was decided on.
    pub past: Option<crate::decide::Attempt>,
    /// What was changed of git's hooks or configuration.
    pub tampered: Option<String>,
    /// Whether a person has decided about the files as they are, and nobody works before that is followed.
    pub decides_now: bool,
    /// Whether the budget of the run is used up.
    pub is_spent: bool,
    /// The decision of a person about a session that was refused.
    pub given_up: Option<crate::nodes::GivenUp>,
    /// The position and files at which it began.
    pub base: Option<Base>,
    /// The files that it left.
    pub files: Option<TakenSnapshot>,
    /// A note of a person to the agent.
    pub note: String,
    /// The report on the children, for the agent.
    pub report: Vec<String>,
    /// The findings that an agent was told whose turn was cut short, a line each: it is told them again.
    pub unheeded: Vec<String>,
}

/// What ends the verification of an attempt early.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Obstacle {
    /// A verifier changed git's hooks or configuration.
    Tampered(String),
    /// The budget of the run is used up.
    Spent,
}

/// Notes an obstacle; one of several verifiers that changed what git runs counts first. None: there is no obstacle any more.
pub(super) fn meet(obstacle: &mut Option<Obstacle>, met: Option<Obstacle>) {
    let stays = met.is_some() && matches!(obstacle, Some(Obstacle::Tampered(_)));
    if !stays {
        *obstacle = met;
    }
}

/// A recorded attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptLine {
    /// What the rules need of it.
    pub past: crate::decide::Attempt,
    /// The decision.
    pub decision: String,
    /// The rule that made it.
    pub rule: String,
    /// The reason in words.
    pub reason: String,
    /// The commit with its files.
    pub commit: Option<CommitId>,
    /// The private reference that points to it; none: it is on the branch.
    pub reference: Option<String>,
    /// The errors and warnings, a line each; the first ones, if there are many.
    pub findings: Vec<String>,
    /// The usage since the attempt before: of the agent, the verifiers, the splitter and the children.
    pub usage: Usage,
}

/// A change of the reports of verifiers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum OutputChange {
    /// There are none any more.
    Clear,
    /// There is one more.
    Add(Box<VerifierOutput>),
    /// There are these.
    Set(Vec<VerifierOutput>),
}

/// Makes a change to the reports.
pub(super) fn change(outputs: &mut Vec<VerifierOutput>, change: OutputChange) {
    match change {
        OutputChange::Clear => outputs.clear(),
        OutputChange::Add(output) => outputs.push(*output),
        OutputChange::Set(set) => *outputs = set,
    }
}
