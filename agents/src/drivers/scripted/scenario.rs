//! Scenario: its turns, the requests they match and their steps. Pure.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::words::{Span, Text, TextOrList, Times, UsageFields};
use crate::drivers::DriverErrorClass;
use crate::drivers::tools::RelativePath;

/// Error in a scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {message}", file.display(), Line(*line))]
#[non_exhaustive]
pub struct ScenarioError {
    /// The file.
    pub file: PathBuf,
    /// Line, from 1; `None` if it is unknown.
    pub line: Option<usize>,
    /// Description, with the key.
    pub message: String,
}

impl ScenarioError {
    /// Returns a hint for the user.
    pub fn help(&self) -> &'static str {
        match self.line {
            Some(_) => "docs/scenarios.md describes what a scenario may say",
            None => "name a file with a scenario, as in `scripted:demo.yaml`",
        }
    }

    pub(super) fn read_error(file: &Path, error: &std::io::Error) -> Self {
        Self { file: file.to_owned(), line: None, message: error.to_string() }
    }

    /// Converts a YAML error; the library puts the position at the end of its message, we put it in front.
    fn of(file: &Path, error: &serde_norway::Error) -> Self {
        let said = error.to_string();
        let message = match said.rfind(" at line ") {
            Some(at) => said[..at].to_owned(),
            None => said,
        };
        let line = error.location().map(|place| place.line());
        Self { file: file.to_owned(), line: line.or(Some(1)), message }
    }
}

struct Line(Option<usize>);

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |line| write!(f, ":{line}"))
    }
}

#[derive(Debug)]
pub(super) struct Scenario {
    file: PathBuf,
    pub(super) turns: Vec<Turn>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioFile {
    #[serde(default, rename = "about")]
    _about: String,
    turns: Vec<Turn>,
}

impl Scenario {
    pub(super) fn parse(file: &Path, text: &str) -> Result<Self, ScenarioError> {
        let written: ScenarioFile = serde_norway::from_str(text).map_err(|error| ScenarioError::of(file, &error))?;
        Ok(Self { file: file.to_owned(), turns: written.turns })
    }

    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// Returns the scenario's name for messages.
    pub(super) fn file_name(&self) -> String {
        self.file
            .file_name()
            .map_or_else(|| self.file.display().to_string(), |name| name.to_string_lossy().into_owned())
    }
}

/// Turn with its conditions and steps.
#[derive(Debug, Deserialize)]
#[serde(try_from = "WrittenTurn")]
pub(super) struct Turn {
    pub(super) conditions: Conditions,
    pub(super) times: Times,
    pub(super) steps: Vec<Step>,
    pub(super) submit: Option<Value>,
    pub(super) text: Option<String>,
}

/// Conditions that a request must meet; absent ones match anything.
#[derive(Debug)]
pub(super) struct Conditions {
    pub(super) role: Option<String>,
    pub(super) task: Option<String>,
    pub(super) attempt: Option<u32>,
    pub(super) session: Option<SessionKind>,
    pub(super) contains: Vec<String>,
}

/// Kind of session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub(super) enum SessionKind {
    New,
    Resumed,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenTurn {
    role: Option<String>,
    task: Option<Text>,
    attempt: Option<u32>,
    session: Option<SessionKind>,
    #[serde(default)]
    contains: TextOrList,
    #[serde(default)]
    times: Times,
    #[serde(default)]
    steps: Steps,
    submit: Option<Value>,
    text: Option<String>,
}

impl TryFrom<WrittenTurn> for Turn {
    type Error = String;

    fn try_from(written: WrittenTurn) -> Result<Self, String> {
        let WrittenTurn { role, task, attempt, session, contains, times, steps: Steps(steps), submit, text } = written;
        if let Some(end) = steps.last().filter(|last| last.is_end() && (submit.is_some() || text.is_some())) {
            return Err(format!("a turn that ends with `{end}` has no `submit` and no `text`"));
        }
        let conditions = Conditions { role, task: task.map(|task| task.0), attempt, session, contains: contains.0 };
        Ok(Self { conditions, times, steps, submit, text })
    }
}

/// Steps, none of which follows an end.
#[derive(Debug, Default)]
struct Steps(Vec<Step>);

impl<'de> Deserialize<'de> for Steps {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let steps: Vec<Step> = serde_norway::with::singleton_map_recursive::deserialize(from)?;
        let early = steps.iter().rev().skip(1).find(|step| step.is_end());
        match early {
            Some(end) => Err(serde::de::Error::custom(format!("nothing comes after `{end}`"))),
            None => Ok(Self(steps)),
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Step {
    Say(String),
    Think(String),
    Tool(ToolUse),
    Write(WriteFile),
    Edit(EditFile),
    Delete(RelativePath),
    Move(MoveFile),
    Usage(UsageFields),
    Wait(Span),
    Fail(Failure),
    Hang,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolUse {
    pub(super) name: String,
    #[serde(default)]
    pub(super) arguments: Value,
    #[serde(default)]
    pub(super) result: String,
    #[serde(default = "yes")]
    pub(super) ok: bool,
}

fn yes() -> bool {
    true
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteFile {
    pub(super) path: RelativePath,
    pub(super) content: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EditFile {
    pub(super) path: RelativePath,
    pub(super) old: String,
    pub(super) new: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MoveFile {
    pub(super) from: RelativePath,
    pub(super) to: RelativePath,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Failure {
    pub(super) class: DriverErrorClass,
    #[serde(default)]
    pub(super) message: String,
    #[serde(default)]
    pub(super) retry_after: Option<Span>,
}

impl Step {
    /// Returns whether the step ends the turn.
    pub(super) fn is_end(&self) -> bool {
        matches!(self, Self::Fail(_) | Self::Hang)
    }

    /// Returns whether the step changes files.
    pub(super) fn writes(&self) -> bool {
        matches!(self, Self::Write(_) | Self::Edit(_) | Self::Delete(_) | Self::Move(_))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Say(_) => "say",
            Self::Think(_) => "think",
            Self::Tool(_) => "tool",
            Self::Write(_) => "write",
            Self::Edit(_) => "edit",
            Self::Delete(_) => "delete",
            Self::Move(_) => "move",
            Self::Usage(_) => "usage",
            Self::Wait(_) => "wait",
            Self::Fail(_) => "fail",
            Self::Hang => "hang",
        })
    }
}
