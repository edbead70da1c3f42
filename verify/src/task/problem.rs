//! Problems in task files, `verifiers.yml` and flags, with their locations.

use std::cell::RefCell;
use std::fmt::{self, Display};

/// The error for invalid files or flags. Displays as a line `FILE:LINE: KEY: …` for each problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct SpecError {
    /// Every problem, sorted by file and line.
    pub problems: Vec<SpecProblem>,
}

/// A problem with its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecProblem {
    /// The file, or the flag.
    pub file: String,
    /// The line, from 1; 0 for a flag.
    pub line: usize,
    /// The full key, such as `policy.max_attempts`; empty for the whole file.
    pub key: String,
    /// The problem, and the rule.
    pub problem: String,
}

impl SpecError {
    /// Returns a suggestion for fixing the error.
    #[must_use]
    pub fn help(&self) -> &'static str {
        "`superstep task new ID` writes a task file with every key and its default"
    }
}

impl Display for SpecProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.problem)
    }
}

/// Collects the problems of one file.
#[derive(Debug)]
pub(super) struct Problems {
    file: String,
    found: RefCell<Vec<SpecProblem>>,
}

impl Problems {
    pub(super) fn new(file: &str) -> Self {
        Self { file: file.to_owned(), found: RefCell::default() }
    }

    pub(super) fn add(&self, line: usize, key: impl Into<String>, problem: impl Into<String>) {
        let problem = SpecProblem { file: self.file.clone(), line, key: key.into(), problem: problem.into() };
        self.found.borrow_mut().push(problem);
    }

    /// Returns `made` if there are no problems, otherwise all problems sorted by line.
    pub(super) fn end<T>(self, made: Option<T>) -> Result<T, SpecError> {
        let mut problems = self.found.into_inner();
        problems.sort_by_key(|problem| problem.line);
        match made {
            Some(made) if problems.is_empty() => Ok(made),
            _ => Err(SpecError { problems }),
        }
    }
}
