//! What can be wrong with a profile, and where.

use std::path::PathBuf;

/// A profile that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// The file cannot be read.
    #[error("{}: the profile cannot be read: {source}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// What it says is not in order. Displays as a line `FILE:LINE: KEY: …` for each problem.
    #[error("{}", listed(file, problems))]
    Invalid {
        /// The file.
        file: PathBuf,
        /// Every problem, in the order of the file.
        problems: Vec<ProfileProblem>,
    },
    /// A flag that was to beat the profile is not in order.
    #[error("{flag}: {problem}")]
    Flag {
        /// The flag.
        flag: &'static str,
        /// What is wrong.
        problem: String,
    },
}

/// One thing that is wrong with a profile. It never shows a value that could be a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileProblem {
    /// The line, from 1.
    pub line: usize,
    /// The key with its tables: `api.base_url`; empty if the file is no TOML.
    pub key: String,
    /// What is wrong, and what is right.
    pub problem: String,
}

impl ProfileError {
    /// Returns what a person can do about it.
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
