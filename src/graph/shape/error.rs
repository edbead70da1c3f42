//! Errors as JSON: the message, the causes that it does not contain, and what to do.

use std::error::Error;

use serde::{Deserialize, Serialize, Serializer};
use superstep_base::panics::catch_panic;

use super::fields::serialize_as;
use crate::checkpoint::CheckpointError;
use crate::graph::build::{CompileError, Problem};
use crate::graph::document::{SpecError, SpecProblem};
use crate::graph::error::node_error::unprintable;
use crate::graph::error::{ErrorClass, Incompatibility, NodeError, RunError};
use crate::graph::state::{InputError, SchemaError};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ErrorShape {
    pub error: String,
    /// The kind of error, for programs: `unknown_question`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    pub causes: Vec<String>,
    pub help: Option<String>,
    /// The single problems of an error that reports several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Self>,
}

impl ErrorShape {
    fn new(error: impl ToString, kind: &str, help: Option<String>) -> Self {
        let error = catch_panic(|| error.to_string()).unwrap_or_else(unprintable);
        Self { error, kind: Some(kind.to_owned()), help, ..Self::default() }
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

impl From<&RunError> for ErrorShape {
    fn from(error: &RunError) -> Self {
        let kind = match error {
            RunError::Checkpoint(inner) => inner.into(),
            other => other.into(),
        };
        let shape = Self::new(error, kind, error.help());
        match error {
            // the message contains the error of the node
            RunError::Node { error, .. } => shape.with_causes(unprinted_source(NodeError::source(error))),
            _ => shape.with_causes(unprinted_source(error)),
        }
    }
}

impl From<&CheckpointError> for ErrorShape {
    fn from(error: &CheckpointError) -> Self {
        Self::new(error, error.into(), error.help().map(str::to_owned)).with_causes(unprinted_source(error))
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

impl From<&NodeError> for ErrorShape {
    fn from(error: &NodeError) -> Self {
        let kind = match error.class() {
            ErrorClass::Transient => "transient",
            ErrorClass::Permanent => "permanent",
            ErrorClass::Unclassified => "unclassified",
        };
        Self::new(error.source(), kind, None).with_causes(unprinted_source(error.source()))
    }
}

impl From<&CompileError> for ErrorShape {
    fn from(error: &CompileError) -> Self {
        let problems: Vec<Self> = error.problems().iter().map(Self::from).collect();
        let count = problems.len();
        let message =
            if count == 1 { "the graph has a problem".into() } else { format!("the graph has {count} problems") };
        Self { problems, ..Self::new(message, "compile", None) }
    }
}

impl From<&Problem> for ErrorShape {
    fn from(problem: &Problem) -> Self {
        Self::new(problem, problem.into(), Some(problem.help()))
    }
}

impl From<&InputError> for ErrorShape {
    fn from(error: &InputError) -> Self {
        Self::new(error, error.into(), Some(error.help()))
    }
}

impl From<&SchemaError> for ErrorShape {
    fn from(error: &SchemaError) -> Self {
        Self::new(error, error.into(), Some(error.help()))
    }
}

impl From<&Incompatibility> for ErrorShape {
    fn from(misfit: &Incompatibility) -> Self {
        Self::new(misfit, misfit.into(), Some(misfit.help()))
    }
}

impl From<&SpecError> for ErrorShape {
    fn from(error: &SpecError) -> Self {
        let problem = |problem: &SpecProblem| match problem {
            SpecProblem::Graph(problem) => problem.into(),
            SpecProblem::Channels(error) => error.into(),
            other => Self::new(other, "document", Some(other.help())),
        };
        let problems: Vec<Self> = error.problems().iter().map(problem).collect();
        Self { problems, ..Self::new("the document describes no graph", "spec", None) }
    }
}

serialize_as!(SpecError => ErrorShape::from);
serialize_as!(RunError => ErrorShape::from);
serialize_as!(CheckpointError => ErrorShape::from);
serialize_as!(NodeError => ErrorShape::from);
serialize_as!(CompileError => ErrorShape::from);
serialize_as!(Problem => ErrorShape::from);
serialize_as!(InputError => ErrorShape::from);
serialize_as!(SchemaError => ErrorShape::from);
serialize_as!(Incompatibility => ErrorShape::from);

impl Serialize for ErrorClass {
    fn serialize<W: Serializer>(&self, out: W) -> Result<W::Ok, W::Error> {
        out.serialize_str(match self {
            Self::Transient => "transient",
            Self::Permanent => "permanent",
            Self::Unclassified => "unclassified",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denied() -> CheckpointError {
        CheckpointError::io("read the store", "runs.sled".as_ref(), std::io::ErrorKind::PermissionDenied.into())
    }

    #[rstest::rstest]
    #[case::of_a_store(ErrorShape::from(&denied()))]
    #[case::of_a_run(ErrorShape::from(&RunError::Checkpoint(denied())))]
    #[case::of_a_node(ErrorShape::from(&NodeError::from(denied())))]
    #[case::of_a_run_in_a_node(ErrorShape::from(&NodeError::from(RunError::Checkpoint(denied()))))]
    fn an_error_of_the_system_is_in_the_message_and_no_cause(#[case] shape: ErrorShape) {
        assert_eq!((&*shape.error, shape.causes), ("cannot read the store at runs.sled: permission denied", vec![]));
    }
}
