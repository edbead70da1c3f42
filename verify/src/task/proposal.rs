//! A split, as a model proposes it with `submit_split`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A task cut into smaller ones: what a splitter hands over with `submit_split`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SplitProposal {
    /// The smaller tasks, in the order in which they are done.
    pub children: Vec<ProposedChild>,
    /// Whether they depend on each other.
    #[serde(default)]
    pub order: ChildOrder,
}

/// A smaller task of a [`SplitProposal`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProposedChild {
    /// Its name, one line.
    pub title: String,
    /// What is to be reached.
    pub goal: String,
    /// How one can tell that it was reached.
    #[serde(default)]
    pub acceptance: Vec<String>,
    /// The files that it is about.
    #[serde(default)]
    pub files: Vec<String>,
    /// The errors that it removes: fingerprints, or at least 8 of their first characters.
    #[serde(default)]
    pub covers_fingerprints: Vec<String>,
}

/// The order of children.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChildOrder {
    /// Each begins from the result of the one before it.
    #[default]
    Sequence,
    /// They can be done at the same time.
    Parallel,
}
