//! Steps of a turn.

use std::fmt;

use serde::Deserialize;
use serde_json::Value;

use super::words::{Span, UsageSaid};
use crate::drivers::ErrorClass;
use crate::drivers::tools::RelativePath;

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
    Usage(UsageSaid),
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
    pub(super) class: ErrorClass,
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
