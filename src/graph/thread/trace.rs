//! The log line for the end of a run.

use super::outcome::Outcome;
use crate::graph::error::RunError;

/// Logs the end of a run.
pub(crate) fn ended<S>(outcome: &Result<Outcome<S>, RunError>) {
    let outcome = match outcome {
        Err(error) => return tracing::error!(%error, "the run failed"),
        Ok(Outcome::Cancelled(_)) => return tracing::warn!("the run was cancelled"),
        Ok(Outcome::Finished(_)) => "finished",
        Ok(Outcome::Interrupted(_)) => "interrupted",
        Ok(Outcome::Waiting { .. }) => "waiting",
        Ok(Outcome::AwaitingSignal { .. }) => "awaiting a signal",
        Ok(Outcome::Stopped(_)) => "stopped",
        Ok(Outcome::Drained(_)) => "drained",
        Ok(Outcome::Budget(..)) => "budget",
    };
    tracing::info!(outcome, "the run came to rest");
}
