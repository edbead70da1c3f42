//! Git calls that are refused because hooks or configuration were changed, as a journalled result: where commands of
//! siblings may change them at any time, a node ends with it instead of failing.

use serde::{Deserialize, Serialize};

use super::folder::tampering;
use crate::graph::NodeError;

/// Result of git calls, or the changes because of which git was not run.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Safely<T> {
    Done(T),
    Tampered(Vec<String>),
}

/// Reason that work ended without a result.
#[derive(Debug)]
pub(super) enum Stop {
    /// Changes to hooks or configuration.
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

/// Runs an effect's work; converts a refused git call to a result.
pub(super) async fn safely<T>(work: impl Future<Output = Result<T, NodeError>>) -> Result<Safely<T>, NodeError> {
    match work.await {
        Ok(done) => Ok(Safely::Done(done)),
        Err(error) => tampering(&error).map(Safely::Tampered).ok_or(error),
    }
}
