//! Writes from JSON: what a person or a program outside gives as input or as an update. Checked against the channels.

use serde_json::{Map, Value};

use super::channels::State;
use super::writes::Writes;

/// Why JSON is no input for a state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum InputError {
    /// It is no object.
    #[error("the input is {found}, not an object of channels")]
    NotAnObject {
        /// What it is instead.
        found: &'static str,
    },
    /// A key names no channel.
    #[error("the input has a key `{key}`, and there is no such channel")]
    UnknownChannel {
        /// The key.
        key: String,
        /// The channels there are.
        channels: Vec<String>,
    },
    /// A value is not what its channel takes.
    #[error("channel `{channel}` takes `{expected}`: {reason}")]
    Mistyped {
        /// The channel.
        channel: String,
        /// The name of the channel's type.
        expected: String,
        /// Why the value is none.
        reason: String,
    },
}

impl InputError {
    /// Returns what a person can do about it.
    pub fn help(&self) -> String {
        match self {
            Self::NotAnObject { .. } => {
                "give an object with a key for each channel to write, as {\"topic\": ..}".into()
            }
            Self::UnknownChannel { channels, .. } => format!("the channels are {}", channels.join(", ")),
            Self::Mistyped { .. } => "give a value of that type, as its `Deserialize` reads it".into(),
        }
    }
}

impl<S: State> Writes<S> {
    /// Returns the writes of an object: one for each key, which names a channel, in the order of the channels. A value is
    /// what a node would write there; `{"$overwrite": value}` replaces a reduced channel.
    ///
    /// ```
    /// # use superstep::graph::Writes;
    /// # use superstep::prelude::*;
    /// #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    /// struct Draft {
    ///     topic: String,
    ///     #[channel(append)]
    ///     notes: Vec<String>,
    /// }
    /// let json = serde_json::json!({"topic": "tides", "notes": ["salt"]});
    /// let input = Writes::<Draft>::from_json(&(), &json)?;
    /// assert_eq!(input.0.len(), 2);
    /// # Ok::<(), superstep::graph::InputError>(())
    /// ```
    ///
    /// # Errors
    /// [`InputError`], with nothing taken: not an object, a key that is no channel, a value of another type.
    pub fn from_json(schema: &S::Schema, json: &Value) -> Result<Self, InputError> {
        let object = json.as_object().ok_or(InputError::NotAnObject { found: kind(json) })?;
        let channels = S::channels(schema);
        let unknown = object.keys().find(|key| !channels.iter().any(|channel| channel.name() == *key));
        if let Some(key) = unknown {
            let channels = channels.iter().map(|channel| channel.name().to_owned()).collect();
            return Err(InputError::UnknownChannel { key: key.clone(), channels });
        }
        let given = (0..channels.len()).filter_map(|at| Some((at, object.get(channels[at].name())?)));
        given.map(|(at, value)| write::<S>(schema, at, value)).collect::<Result<Vec<_>, _>>().map(Self)
    }
}

fn write<S: State>(schema: &S::Schema, at: usize, value: &Value) -> Result<S::Write, InputError> {
    let channel = &S::channels(schema)[at];
    let (overwrite, value) = match value.as_object().and_then(whole) {
        Some(whole) => (true, whole),
        None => (false, value),
    };
    S::decode_write(schema, at, overwrite, value).map_err(|error: serde_json::Error| InputError::Mistyped {
        channel: channel.name().to_owned(),
        expected: channel.type_name().to_owned(),
        reason: channel.told(error.to_string()),
    })
}

/// The value of `{"$overwrite": value}`.
fn whole(object: &Map<String, Value>) -> Option<&Value> {
    object.get("$overwrite").filter(|_| object.len() == 1)
}

fn kind(json: &Value) -> &'static str {
    match json {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
