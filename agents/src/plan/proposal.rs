//! A plan as data, as an architect agent submits it. Its markdown is generated, so that the headings are right.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A plan as data: what an architect hands over with `submit_plan`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanProposal {
    /// What is to be reached, in a sentence.
    pub goal: String,
    /// How, in a paragraph.
    #[serde(default)]
    pub approach: String,
    /// How one can tell that it was reached.
    #[serde(default)]
    pub success_criteria: Vec<String>,
    /// The tasks, in the order of execution.
    pub tasks: Vec<ProposedTask>,
}

/// A task of a [`PlanProposal`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProposedTask {
    /// Its number: `1`, `2a`, or `1.2` below task 1.
    pub id: String,
    /// What it is, in a few words.
    pub title: String,
    /// What is to be done.
    pub description: String,
    /// The files it makes.
    #[serde(default)]
    pub files_create: Vec<String>,
    /// The files it changes.
    #[serde(default)]
    pub files_modify: Vec<String>,
    /// Other paths and globs that it may touch.
    #[serde(default)]
    pub files: Vec<String>,
    /// The ids of the tasks that must be done before it; an empty list: none. Tasks that do not depend on each other may be
    /// worked on at the same time.
    #[serde(default)]
    pub depends_on: Option<Vec<String>>,
    /// How one can tell that it is done.
    #[serde(default)]
    pub acceptance: Vec<String>,
    /// Shell commands that must succeed when it is done.
    #[serde(default)]
    pub verify_commands: Vec<String>,
    /// How large it is, in the architect's words.
    #[serde(default)]
    pub est_size: Option<String>,
}
