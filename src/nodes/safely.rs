//! Calls of git that are refused because hooks or configuration were changed, as a result that is recorded: a node among whose commands
//! somebody may change them at any time ends with that instead of failing.

use serde::{Deserialize, Serialize};

use super::folder::tampering;
use crate::graph::NodeError;

/// The result of calls of git, or what had been changed so that git was not run.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Safely<T> {
    Done(T),
    Tampered(Vec<String>),
}

/// The end of a piece of work without a result.
#[derive(Debug)]
pub(super) enum Stop {
    /// Hooks or configuration were changed: what, each.
    Tampered(Vec<String>),
    Failed(NodeError),
}

impl From<NodeError> for Stop {
    fn from(error: NodeError) -> Self {
        Self::Failed(error)
    }
}

impl<T> Safely<T> {
    pub(super) fn done(self) -> Result<T, Stop> {
        match self {
            Self::Done(done) => Ok(done),
            Self::Tampered(what) => Err(Stop::Tampered(what)),
        }
    }
}

/// Runs an effect's work; a call of git that was refused is a result of it.
pub(super) async fn safely<T>(work: impl Future<Output = Result<T, NodeError>>) -> Result<Safely<T>, NodeError> {
    match work.await {
        Ok(done) => Ok(Safely::Done(done)),
        Err(error) => tampering(&error).map(Safely::Tampered).ok_or(error),
    }
}
