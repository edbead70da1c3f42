//! The section `[retention]` of a program's file of settings: when finished threads expire, and which checkpoints are kept.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Deserializer};
use superstep::checkpoint::{Expiry, Retention};
use superstep_base::files;

use crate::failure::Failure;
use crate::time::span;

/// The file that is read if it is there.
const FILE: &str = "superstep.toml";

/// Rules by which threads and checkpoints are removed without a person.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RetentionRules {
    finished: Option<Age>,
    max_age: Option<Age>,
    keep_last: Option<usize>,
    #[serde(default)]
    graphs: BTreeMap<String, GraphRules>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GraphRules {
    finished: Age,
}

/// A file of settings, which may have sections for others.
#[derive(Debug, Default, Deserialize)]
struct SettingsFile {
    #[serde(default)]
    retention: RetentionRules,
}

/// A duration such as `30d`.
#[derive(Clone, Copy, Debug)]
struct Age(Duration);

impl<'de> Deserialize<'de> for Age {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        span(&text).map(Self).map_err(serde::de::Error::custom)
    }
}

impl RetentionRules {
    /// Reads the rules in a file; by default those in the file beside the store, if there is one.
    pub(super) fn read(given: Option<&Path>, beside: Option<&Path>) -> Result<Self, Failure> {
        let default = beside.and_then(Path::parent).unwrap_or(Path::new("")).join(FILE);
        let path = match given {
            Some(path) => path,
            None if default.is_file() => &default,
            None => return Ok(Self::default()),
        };
        let problem = |error: &dyn std::fmt::Display| Failure::usage(format!("{}: {error}", path.display()));
        let text = files::text(path).map_err(|error| problem(&error))?;
        let file: SettingsFile = toml::from_str(&text).map_err(|error| {
            problem(&error.to_string().trim_end()).help(
                "`[retention]` has `finished`, `max_age` (such as \"30d\") and `keep_last`, `[retention.graphs.NAME]` has `finished`",
            )
        })?;
        Ok(file.retention)
    }

    pub(super) fn expiry(&self) -> Expiry {
        let finished = self.finished.iter().fold(Expiry::new(), |expiry, age| expiry.finished(age.0));
        self.graphs.iter().fold(finished, |expiry, (graph, rules)| expiry.finished_of(graph, rules.finished.0))
    }

    pub(super) fn policy(&self) -> Retention {
        let policy = self.max_age.iter().fold(Retention::new(), |policy, age| policy.max_age(age.0));
        self.keep_last.iter().fold(policy, |policy, last| policy.keep_last(*last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<RetentionRules, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), text).unwrap();
        let read = RetentionRules::read(None, Some(&folder.path().join("store")));
        read.map_err(|failure| failure.error.replace(&folder.path().display().to_string(), ""))
    }

    #[test]
    fn other_sections_are_for_others() {
        let rules =
            read("driver = \"claude\"\n[retention]\nfinished = \"30d\"\n[retention.graphs.chat]\nfinished = \"2h\"\n");
        let hour = Duration::from_secs(3600);
        assert_eq!(rules.unwrap().expiry(), Expiry::new().finished(720 * hour).finished_of("chat", 2 * hour));
        assert!(read("driver = \"claude\"\n").unwrap().expiry().is_empty());
        assert!(RetentionRules::read(None, None).unwrap().expiry().is_empty());
    }

    #[rstest::rstest]
    #[case("[retention]\nfinished = \"soon\"\n", "`soon` is not a duration")]
    #[case("[retention]\nfinnished = \"1d\"\n", "unknown field `finnished`")]
    #[case("[retention.graphs.chat]\n", "missing field `finished`")]
    fn a_mistake_is_named_with_its_place(#[case] text: &str, #[case] problem: &str) {
        let error = read(text).unwrap_err();
        assert!(error.contains(problem) && error.contains("line"), "{error}");
    }
}
