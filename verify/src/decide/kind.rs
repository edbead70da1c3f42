//! The kinds of decision on a task.

use serde::{Deserialize, Serialize};

/// A decision on a task after an attempt. In JSON and text its name is in capitals: `GIVE_UP`.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::VariantNames,
)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
pub enum Kind {
    /// The task is done.
    Done,
    /// The agent tries again.
    Retry,
    /// The task is split into smaller tasks.
    Split,
    /// The task ends without success; a person chooses how to continue.
    GiveUp,
    /// The task ends without success.
    Fail,
    /// A person decides.
    Ask,
}
