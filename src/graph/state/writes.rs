//! An update as a list of writes: typed, or parsed from JSON and checked against the channels. Knows no channel's rule.

use serde_json::{Map, Value};
use superstep_base::Printable;

use super::channels::State;

/// The writes of an update for which there is room at once.
const FEW: usize = 4;

/// The writes of one task, in order. The generated `…Update` types wrap this.
#[must_use]
pub struct Writes<S: State>(pub Vec<S::Write>);

impl<S: State> Writes<S> {
    /// Adds a write.
    #[inline]
    pub fn with(mut self, write: S::Write) -> Self {
        if self.0.capacity() == 0 {
            self.0 = Vec::with_capacity(FEW); // what growing comes to, without its detours
        }
        self.0.push(write);
        self
    }

    /// Returns true if nothing is written.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<S: State> Default for Writes<S> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<S: State> Clone for Writes<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: State> std::fmt::Debug for Writes<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(S::channel_of)).finish()
    }
}

/// An argument for runs, updates and commands: the `…Update` of a state, or [`Writes`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an update of `{S}`",
    label = "an update of `{S}` is expected here",
    note = "say what is written, field by field: `{S}::update().field(value)`; the other fields stay as they are"
)]
pub trait IntoWrites<S: State> {
    /// Converts into writes.
    fn into_writes(self) -> Writes<S>;
}

#[diagnostic::do_not_recommend]
impl<S: State, T: Into<Writes<S>>> IntoWrites<S> for T {
    fn into_writes(self) -> Writes<S> {
        self.into()
    }
}

/// The error of JSON input that does not fit the state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum InputError {
    /// It is no object.
    #[error("the input is {found}, not an object of channels")]
    NotAnObject {
        /// The kind of value it is.
        found: &'static str,
    },
    /// A key is not the name of a channel.
    #[error("the input has the key `{}`, but there is no such channel", Printable(key))]
    UnknownChannel {
        /// The key.
        key: String,
        /// The names of the channels.
        channels: Vec<String>,
    },
    /// A value does not fit its channel.
    #[error("channel `{channel}` takes `{expected}`: {}", Printable(reason))]
    Mistyped {
        /// The channel.
        channel: String,
        /// The name of the channel's type.
        expected: String,
        /// The deserializer's error.
        reason: String,
    },
}

impl InputError {
    /// Returns the suggested fix.
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
    /// Returns the writes of an object: one for each key, a channel's name, in the order of the channels. Values are those
    /// a node would write; `{"$overwrite": value}` replaces a reduced channel.
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
    /// # Ok::<(), superstep::graph::state::InputError>(())
    /// ```
    ///
    /// # Errors
    /// [`InputError`] for a value that is no object, an unknown key, or a value of the wrong type.
    pub fn from_json(schema: &S::Schema, json: &Value) -> Result<Self, InputError> {
        let object = json.as_object().ok_or(InputError::NotAnObject { found: kind(json) })?;
        let channels = S::channels(schema);
        let unknown = object.keys().find(|key| !channels.iter().any(|channel| channel.name() == *key));
        if let Some(key) = unknown {
            let channels = channels.iter().map(|channel| channel.name().to_owned()).collect();
            return Err(InputError::UnknownChannel { key: key.clone(), channels });
        }
        let values = (0..channels.len()).filter_map(|at| Some((at, object.get(channels[at].name())?)));
        values.map(|(at, value)| write::<S>(schema, at, value)).collect::<Result<Vec<_>, _>>().map(Self)
    }
}

fn write<S: State>(schema: &S::Schema, at: usize, value: &Value) -> Result<S::Write, InputError> {
    let channel = &S::channels(schema)[at];
    let (overwrite, value) = match value.as_object().and_then(overwrite_value) {
        Some(whole) => (true, whole),
        None => (false, value),
    };
    S::decode_write(schema, at, overwrite, value).map_err(|error: serde_json::Error| InputError::Mistyped {
        channel: channel.name().to_owned(),
        expected: channel.type_name().to_owned(),
        reason: channel.redact(error.to_string()),
    })
}

/// Returns the value of `{"$overwrite": value}`.
fn overwrite_value(object: &Map<String, Value>) -> Option<&Value> {
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
