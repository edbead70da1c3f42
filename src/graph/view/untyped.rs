//! States, payloads and writes as events and snapshots show them: JSON without secrets, or the typed value. Knows no run.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use superstep_base::panics::catch_panic;

use crate::graph::state::{AnySchema, AnyState, AnyWrite, AnyWrites, Channel, Mask, Payload, State};

/// A state, a payload or writes of any graph: typed when asked for the right type, JSON otherwise. Secrets never show.
#[derive(Clone)]
pub struct View(Arc<Content>);

enum Content {
    State {
        state: AnyState,
        schema: AnySchema,
        /// The channels that are shown, if not all.
        only: Option<Mask>,
    },
    Writes {
        writes: AnyWrites,
        schema: AnySchema,
        /// The writes with their types, once a reader has asked.
        typed: OnceLock<Box<dyn Any + Send + Sync>>,
    },
    Payload(Arc<dyn Payload>),
}

impl View {
    /// Returns the value as JSON, without secret channels. Writes are a list of `{channel: value}`, where
    /// `{"$overwrite": value}` marks a value that replaces a reduced channel.
    pub fn json(&self) -> Value {
        match &*self.0 {
            Content::State { state, schema, only } => state_json(state, schema, only.as_ref()),
            Content::Writes { writes, schema, .. } => writes_json(writes, schema),
            Content::Payload(payload) => payload.json(),
        }
    }

    /// Returns the value, if it is of this type (a state, a payload, or [`Writes`](crate::graph::Writes) of a state).
    pub fn get<T: 'static>(&self) -> Option<&T> {
        let value: &(dyn Any + Send + Sync) = match &*self.0 {
            Content::State { state, .. } => state.any(),
            Content::Writes { writes, schema, typed } => &**typed.get_or_init(|| schema.typed_writes(writes)),
            Content::Payload(payload) => &**payload,
        };
        value.downcast_ref()
    }

    /// Returns the values of the secret channels of a state, or what is written to them.
    pub(crate) fn secrets(&self) -> Vec<Value> {
        match &*self.0 {
            Content::State { state, schema, .. } => {
                let held = schema.channels().iter().enumerate().filter(|(_, channel)| channel.is_secret());
                held.filter_map(|(at, _)| channel_json(state, schema, at)).collect()
            }
            Content::Writes { writes, schema, .. } => {
                let secret = writes.0.iter().filter(|write| schema.channels()[write.channel()].is_secret());
                secret.filter_map(|write| catch_panic(|| schema.write_json(write).ok()).ok().flatten()).collect()
            }
            Content::Payload(_) => vec![],
        }
    }
}

impl Serialize for View {
    fn serialize<W: Serializer>(&self, out: W) -> Result<W::Ok, W::Error> {
        self.json().serialize(out)
    }
}

/// A state as JSON, without secret channels.
pub(crate) trait StateJson {
    fn state_json(&self) -> Value;
}

impl StateJson for View {
    fn state_json(&self) -> Value {
        self.json()
    }
}

/// Null if the state does not know its channels.
impl<S: State> StateJson for Arc<S> {
    fn state_json(&self) -> Value {
        self.known_schema().map(|schema| typed_json(&**self, schema)).unwrap_or_default()
    }
}

pub(crate) fn write_state<W: Serializer>(state: &impl StateJson, out: W) -> Result<W::Ok, W::Error> {
    state.state_json().serialize(out)
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.json())
    }
}

impl View {
    pub(crate) fn of_state(state: AnyState, schema: AnySchema) -> Self {
        Self(Arc::new(Content::State { state, schema, only: None }))
    }

    pub(crate) fn of_writes(writes: AnyWrites, schema: AnySchema) -> Self {
        Self(Arc::new(Content::Writes { writes, schema, typed: OnceLock::new() }))
    }

    /// Returns a view of some channels.
    pub(crate) fn of_part(state: AnyState, schema: AnySchema, only: Mask) -> Self {
        Self(Arc::new(Content::State { state, schema, only: Some(only) }))
    }

    /// Returns a view of a value.
    pub fn of_payload(payload: Arc<dyn Payload>) -> Self {
        Self(Arc::new(Content::Payload(payload)))
    }
}

fn shows(channel: &Channel, at: usize, only: Option<&Mask>) -> bool {
    !channel.is_secret() && only.is_none_or(|only| only.contains(at))
}

/// Returns a state as JSON, without secret channels.
pub(crate) fn state_json(state: &AnyState, schema: &AnySchema, only: Option<&Mask>) -> Value {
    object(schema.channels(), only, |at| channel_json(state, schema, at))
}

/// Returns a state with its type as JSON, without secret channels.
pub(crate) fn typed_json<S: State>(state: &S, schema: &S::Schema) -> Value {
    object(S::channels(schema), None, |at| {
        shown(state.is_set(schema, at), || state.show_channel(schema, at, serde_json::value::Serializer))
    })
}

/// Returns a value as JSON if it is set; null if its `Serialize` fails or panics.
fn shown(is_set: bool, json: impl FnOnce() -> Result<Value, serde_json::Error>) -> Option<Value> {
    is_set.then(|| catch_panic(|| json().unwrap_or_default()).unwrap_or_default())
}

fn object(channels: &[Channel], only: Option<&Mask>, value: impl Fn(usize) -> Option<Value>) -> Value {
    let mut map = Map::new();
    for (at, channel) in channels.iter().enumerate() {
        if let Some(value) = shows(channel, at, only).then(|| value(at)).flatten() {
            map.insert(channel.name().to_owned(), value);
        }
    }
    Value::Object(map)
}

/// Returns the value of a channel, if it has one.
pub(crate) fn channel_json(state: &AnyState, schema: &AnySchema, at: usize) -> Option<Value> {
    shown(schema.is_set(state, at), || schema.channel_json(state, at))
}

/// A state in debugging output, without secrets. A schema that is known only at run time is not at hand here, so of a
/// data-defined state nothing is shown.
pub(crate) struct DebugState<'a, S>(pub &'a S);

impl<S: State> fmt::Debug for DebugState<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nothing: &dyn Any = &();
        match nothing.downcast_ref::<S::Schema>() {
            Some(schema) => write!(f, "{}", typed_json(self.0, schema)),
            None => f.write_str("{..}"),
        }
    }
}

fn writes_json(writes: &AnyWrites, schema: &AnySchema) -> Value {
    let channels = schema.channels();
    let seen = writes.0.iter().filter(|write| {
        let at = write.channel();
        shows(&channels[at], at, None)
    });
    let entry = |write: &AnyWrite| {
        let json = || schema.write_json(write).unwrap_or_default();
        let mut value = catch_panic(json).unwrap_or_default();
        if write.overwrites() {
            value = serde_json::json!({ "$overwrite": value });
        }
        Value::Object(Map::from_iter([(channels[write.channel()].name().to_owned(), value)]))
    };
    Value::Array(seen.map(entry).collect())
}
