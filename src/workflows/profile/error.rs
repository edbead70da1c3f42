//! Problems with a profile, and their locations.

use std::path::PathBuf;

/// The error for an invalid profile.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// The file cannot be read.
    #[error("{}: the profile cannot be read: {source}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The content is invalid. Displays as a line `FILE:LINE: KEY: …` for each problem.
    #[error("{}", listed(file, problems))]
    Invalid {
        /// The file.
        file: PathBuf,
        /// Every problem, in the order of the file.
        problems: Vec<ProfileProblem>,
    },
    /// A flag that overrides the profile is invalid.
    #[error("{flag}: {problem}")]
    Flag {
        /// The flag.
        flag: &'static str,
        /// The problem.
        problem: String,
    },
}

/// One problem with a profile. Never shows a value that could be a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileProblem {
    /// The line, from 1.
    pub line: usize,
    /// The full key, such as `api.base_url`; empty if the file is not TOML.
    pub key: String,
    /// The problem, and the rule.
    pub problem: String,
}

impl ProfileError {
    /// Returns a suggestion for fixing the error.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Unreadable { .. } => Some("name a TOML file that exists and may be read"),
            Self::Invalid { .. } => Some("`docs/profile.md` lists every key of a profile with its default"),
            Self::Flag { .. } => None,
        }
    }
}

fn listed(file: &std::path::Path, problems: &[ProfileProblem]) -> String {
    let line = |found: &ProfileProblem| {
        let key = if found.key.is_empty() { String::new() } else { format!("{}: ", found.key) };
        format!("{}:{}: {key}{}", file.display(), found.line, found.problem)
    };
    problems.iter().map(line).collect::<Vec<_>>().join("\n")
}
