//! Arguments of each tool, parsed from the JSON of a call. Pure; touches no file.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::refusal::Refusal;

#[derive(Deserialize)]
pub(super) struct Place {
    #[serde(default)]
    pub(super) path: String,
}

#[derive(Deserialize)]
pub(super) struct Piece {
    #[serde(default)]
    pub(super) path: String,
    #[serde(default)]
    pub(super) line: usize,
}

#[derive(Deserialize)]
pub(super) struct Search {
    pub(super) pattern: String,
    #[serde(default)]
    pub(super) path: String,
}

#[derive(Deserialize)]
pub(super) struct NewFile {
    pub(super) path: String,
    pub(super) content: String,
}

#[derive(Deserialize)]
pub(super) struct Change {
    pub(super) path: String,
    pub(super) old: String,
    pub(super) new: String,
}

#[derive(Deserialize)]
pub(super) struct Line {
    pub(super) command: String,
}

pub(super) fn parse<T: DeserializeOwned>(arguments: &str) -> Result<T, Refusal> {
    let given = if arguments.trim().is_empty() { "{}" } else { arguments };
    let value: Value = serde_json::from_str(given)
        .map_err(|error| Refusal::new(format!("the arguments are not JSON ({error}); call the tool again")))?;
    if !value.is_object() {
        return Err(Refusal::new("the arguments are no JSON object"));
    }
    serde_json::from_value(value).map_err(|error| Refusal::new(format!("the arguments do not fit: {error}")))
}
