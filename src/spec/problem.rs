//! What can be wrong with a task file, with `verifiers.yml` and with flags, and where.

use std::cell::RefCell;
use std::fmt::{self, Display};

/// Files or flags that cannot be used. Displays as a line `FILE:LINE: KEY: …` for each problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct SpecError {
    /// Every problem, by file and line.
    pub problems: Vec<SpecProblem>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecProblem {
    /// The file, or the flag.
    pub file: String,
    /// The line, from 1; 0 for a flag.
    pub line: usize,
    /// The key with its sections, `policy.max_attempts`; empty if it is about the whole file.
    pub key: String,
    /// What is wrong, and what is right.
    pub problem: String,
}

impl SpecError {
    /// Returns what a person can do about it.
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

/// The problems that were found in one file so far.
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

    /// Returns `made` if nothing was found, else every problem in the order of the lines.
    pub(super) fn end<T>(self, made: Option<T>) -> Result<T, SpecError> {
        let mut problems = self.found.into_inner();
        problems.sort_by_key(|problem| problem.line);
        match made {
            Some(made) if problems.is_empty() => Ok(made),
            _ => Err(SpecError { problems }),
        }
    }
}
