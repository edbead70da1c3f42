//! Stored lines of a turn's file. Data only.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::drivers::{Finished, Usage};

/// First line of a turn's file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) session: String,
    pub(super) turn: String,
    /// Key of the previous turn.
    pub(super) parent: Option<String>,
    pub(super) role: String,
    pub(super) model: Option<String>,
    /// Number of messages at the start of the turn; written atomically with this line.
    pub(super) opening: usize,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    Turn(Header),
    Message {
        message: Box<RawValue>,
        /// Usage of the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// Usage of a request whose reply is not stored.
    Spent(Usage),
    Ended(Finished),
}
