//! Problems in task files, `verifiers.yml` and flags, with their locations.

use std::fmt::{self, Display};

use superstep_base::settings::{Problems, SettingProblem};

/// The error for invalid files or flags. Displays as a line `FILE:LINE: KEY: …` for each problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
#[non_exhaustive]
pub struct SpecError {
    /// Every problem, sorted by file and line.
    pub problems: Vec<SpecProblem>,
}

/// A problem with its location.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
    /// Returns `made` if a file has no problems, otherwise all problems sorted by line.
    pub(super) fn check<T>(problems: Problems, file: &str, made: Option<T>) -> Result<T, Self> {
        let problem = |SettingProblem { line, key, problem }| SpecProblem { file: file.to_owned(), line, key, problem };
        let problems: Vec<_> = problems.end().into_iter().map(problem).collect();
        made.filter(|_| problems.is_empty()).ok_or(Self { problems })
    }

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
