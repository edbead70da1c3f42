//! What can be decided about a task.

use serde::{Deserialize, Serialize};

/// What becomes of a task after an attempt, in JSON and in text its name in capitals: `GIVE_UP`.
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
    /// It is done.
    Done,
    /// The agent tries again.
    Retry,
    /// It is cut into smaller tasks.
    Split,
    /// It ends without success; a person is asked what then.
    GiveUp,
    /// It ends without success.
    Fail,
    /// A person decides.
    Ask,
}
