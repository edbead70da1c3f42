//! The problems of a graph document.

use std::fmt;

use superstep_base::Printable;

use crate::graph::build::Problem;
use crate::graph::state::SchemaError;

/// A problem of a graph document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are the names that the message prints")]
pub enum SpecProblem {
    /// A node names a body that is not registered.
    UnknownBody { node: String, body: String, known: Vec<String> },
    /// A router reads a channel that does not exist.
    UnknownField { from: String, field: String, known: Vec<String> },
    /// A router has neither `to` nor `each`, or both.
    NoChoice { from: String, field: String },
    /// The channels are not a valid schema.
    Channels(SchemaError),
    /// The graph has a problem.
    Graph(Problem),
}

impl SpecProblem {
    /// Returns the suggested fix.
    pub fn help(&self) -> String {
        Printable(self.suggestion()).to_string()
    }

    fn suggestion(&self) -> String {
        match self {
            Self::UnknownBody { known, .. } if known.is_empty() => "register one: `.node(name, body)`".into(),
            Self::UnknownBody { known, .. } => format!("the registered bodies are {}", known.join(", ")),
            Self::UnknownField { known, .. } => format!("the channels are {}", known.join(", ")),
            Self::NoChoice { .. } => "give `to` with a target for each value, or `each` with a worker".into(),
            Self::Channels(error) => error.help(),
            Self::Graph(problem) => problem.help(),
        }
    }
}

impl fmt::Display for SpecProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printable(Text(self)).fmt(f)
    }
}

/// The text of a problem with names as they are.
struct Text<'a>(&'a SpecProblem);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            SpecProblem::UnknownBody { node, body, .. } => {
                write!(f, "node `{node}` names the body `{body}`, which is not registered")
            }
            SpecProblem::UnknownField { from, field, .. } => {
                write!(f, "the router after `{from}` looks at `{field}`, which is not a channel")
            }
            SpecProblem::NoChoice { from, field } => {
                write!(f, "the router after `{from}` over `{field}` takes either `to` or `each`")
            }
            SpecProblem::Channels(error) => error.fmt(f),
            SpecProblem::Graph(problem) => problem.fmt(f),
        }
    }
}

/// All problems of a graph document.
#[derive(Clone, PartialEq, Eq)]
pub struct SpecError {
    pub(super) problems: Vec<SpecProblem>,
}

impl SpecError {
    /// Returns the problems.
    pub fn problems(&self) -> &[SpecProblem] {
        &self.problems
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.problems.iter().enumerate() {
            let (gap, lead) = if at == 0 { ("", "") } else { ("\n", "error: ") };
            write!(f, "{gap}{lead}{problem}\n help: {}", problem.help())?;
        }
        Ok(())
    }
}

impl fmt::Debug for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for SpecError {}
