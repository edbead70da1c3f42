//! Errors as JSON: the message, the causes that it does not contain, and what to do.

use std::error::Error;
use std::sync::Arc;

use serde::Serialize;
use superstep_base::panics::catch_panic;

use super::incompatibility::Incompatibility;
use super::node_error::{NodeError, unprintable};
use super::run_error::RunError;
use crate::checkpoint::{CheckpointError, LeaseOwner};
use crate::graph::state::{InputError, SchemaError};

/// An error as JSON.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ErrorReport {
    pub error: String,
    /// The kind of error, for programs: `unknown_question`.
    pub kind: &'static str,
    pub causes: Vec<String>,
    pub help: Option<String>,
    /// The process that runs the thread, if that is the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<Arc<LeaseOwner>>,
    /// The single problems of an error that reports several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Self>,
}

impl ErrorReport {
    pub(crate) fn new(error: impl ToString, kind: &'static str, help: Option<String>) -> Self {
        let error = catch_panic(|| error.to_string()).unwrap_or_else(unprintable);
        Self { error, kind, help, ..Self::default() }
    }

    fn with_causes(mut self, mut cause: Option<&(dyn Error + 'static)>) -> Self {
        let walked = catch_panic(|| {
            while let Some(error) = cause {
                self.causes.push(error.to_string());
                cause = unprinted_source(error);
            }
        });
        self.causes.extend(walked.err().map(unprintable));
        self
    }
}

impl From<&RunError> for ErrorReport {
    fn from(error: &RunError) -> Self {
        let kind = match error {
            RunError::Checkpoint(inner) => inner.into(),
            other => other.into(),
        };
        let shape = Self::new(error, kind, error.help());
        match error {
            // the message contains the error of the node
            RunError::Node { error, .. } => shape.with_causes(unprinted_source(NodeError::source(error))),
            RunError::Checkpoint(inner) => {
                Self { owner: inner.owner().cloned(), ..shape }.with_causes(unprinted_source(error))
            }
            _ => shape.with_causes(unprinted_source(error)),
        }
    }
}

impl From<&CheckpointError> for ErrorReport {
    fn from(error: &CheckpointError) -> Self {
        let shape = Self::new(error, error.into(), error.help().map(str::to_owned));
        Self { owner: error.owner().cloned(), ..shape }.with_causes(unprinted_source(error))
    }
}

/// Returns the source of an error, unless its message ends with it.
fn unprinted_source<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    let checkpoint = match error.downcast_ref() {
        Some(RunError::Checkpoint(error)) => Some(error),
        _ => error.downcast_ref::<CheckpointError>(),
    };
    error.source().filter(|_| !matches!(checkpoint, Some(CheckpointError::Io { .. })))
}

impl From<&NodeError> for ErrorReport {
    fn from(error: &NodeError) -> Self {
        Self::new(error.source(), error.class().into(), None).with_causes(unprinted_source(error.source()))
    }
}

impl From<&InputError> for ErrorReport {
    fn from(error: &InputError) -> Self {
        Self::new(error, error.into(), Some(error.help()))
    }
}

impl From<&SchemaError> for ErrorReport {
    fn from(error: &SchemaError) -> Self {
        Self::new(error, error.into(), Some(error.help()))
    }
}

impl From<&Incompatibility> for ErrorReport {
    fn from(misfit: &Incompatibility) -> Self {
        Self::new(misfit, misfit.into(), Some(misfit.help()))
    }
}

/// Implements `Serialize` for errors through their reports.
macro_rules! serialize_reports {
    ($($error:ty),+) => {$(
        impl ::serde::Serialize for $error {
            fn serialize<W: ::serde::Serializer>(&self, out: W) -> Result<W::Ok, W::Error> {
                $crate::graph::error::ErrorReport::from(self).serialize(out)
            }
        }
    )+};
}
pub(crate) use serialize_reports;

serialize_reports!(RunError, CheckpointError, NodeError, InputError, SchemaError, Incompatibility);

#[cfg(test)]
mod tests {
    use super::*;

    fn denied() -> CheckpointError {
        CheckpointError::io("read the store", "runs.sled".as_ref(), std::io::ErrorKind::PermissionDenied.into())
    }

    #[rstest::rstest]
    #[case::of_a_store(ErrorReport::from(&denied()))]
    #[case::of_a_run(ErrorReport::from(&RunError::Checkpoint(denied())))]
    #[case::of_a_node(ErrorReport::from(&NodeError::from(denied())))]
    #[case::of_a_run_in_a_node(ErrorReport::from(&NodeError::from(RunError::Checkpoint(denied()))))]
    fn an_error_of_the_system_is_in_the_message_and_no_cause(#[case] shape: ErrorReport) {
        assert_eq!((&*shape.error, shape.causes), ("cannot read the store at runs.sled: permission denied", vec![]));
    }
}
