//! The lines of a turn's file, as they are stored. Data only.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::drivers::{Finished, Usage};

/// The first line of a turn's file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) session: String,
    pub(super) turn: String,
    /// The turn it follows.
    pub(super) parent: Option<String>,
    pub(super) role: String,
    pub(super) model: Option<String>,
    /// How many messages the turn opens with; written with this line, all or none.
    pub(super) opening: usize,
}

/// A line of a turn's file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    Turn(Header),
    Message {
        message: Box<RawValue>,
        /// What it took to get it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// What a request took whose answer is not kept.
    Spent(Usage),
    Ended(Finished),
}
