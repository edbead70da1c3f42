//! States, payloads and writes as events and snapshots show them: JSON without secrets, or the typed value. Knows no run.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::checkpoint::panics::caught;
use crate::graph::state::{Channel, Mask, Payload, State, Writes};

/// A state, a payload or writes of any graph: typed when asked for the right type, JSON otherwise. Secrets never show.
#[derive(Clone)]
pub struct View(Arc<dyn Erased>);

trait Erased: Send + Sync {
    fn json(&self) -> Value;
    fn any(&self) -> &(dyn Any + Send + Sync);
}

impl View {
    /// Returns the value as JSON, without secret channels. Writes are a list of `{channel: value}`, where
    /// `{"$overwrite": value}` marks a value that replaces a reduced channel.
    pub fn json(&self) -> Value {
        self.0.json()
    }

    /// Returns the value, if it is of this type (a state, a payload, or [`Writes`] of a state).
    pub fn get<T: 'static>(&self) -> Option<&T> {
        self.0.any().downcast_ref()
    }
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.json())
    }
}

/// The means to show a state: its schema.
pub(crate) trait Showing<S: State>: Send + Sync + 'static {
    fn schema(&self) -> &S::Schema;
}

struct StateView<S, T>(Arc<S>, Arc<T>);

impl<S: State, T: Showing<S>> Erased for StateView<S, T> {
    fn json(&self) -> Value {
        state_json(&*self.0, self.1.schema(), None)
    }

    fn any(&self) -> &(dyn Any + Send + Sync) {
        &*self.0
    }
}

struct PartView<S, T>(Arc<S>, Arc<T>, Mask);

impl<S: State, T: Showing<S>> Erased for PartView<S, T> {
    fn json(&self) -> Value {
        state_json(&*self.0, self.1.schema(), Some(&self.2))
    }

    fn any(&self) -> &(dyn Any + Send + Sync) {
        &*self.0
    }
}

struct WritesView<S: State, T>(Writes<S>, Arc<T>);

impl<S: State, T: Showing<S>> Erased for WritesView<S, T> {
    fn json(&self) -> Value {
        writes_json::<S>(&self.0, self.1.schema())
    }

    fn any(&self) -> &(dyn Any + Send + Sync) {
        &self.0
    }
}

struct PayloadView(Arc<dyn Payload>);

impl Erased for PayloadView {
    fn json(&self) -> Value {
        self.0.json()
    }

    fn any(&self) -> &(dyn Any + Send + Sync) {
        &*self.0
    }
}

impl View {
    pub(crate) fn of_state<S: State, T: Showing<S>>(state: Arc<S>, table: Arc<T>) -> Self {
        Self(Arc::new(StateView(state, table)))
    }

    pub(crate) fn of_writes<S: State, T: Showing<S>>(writes: Writes<S>, table: Arc<T>) -> Self {
        Self(Arc::new(WritesView(writes, table)))
    }

    /// Only some channels of a state: what a node reads.
    pub(crate) fn of_part<S: State, T: Showing<S>>(state: Arc<S>, table: Arc<T>, only: Mask) -> Self {
        Self(Arc::new(PartView(state, table, only)))
    }

    pub(crate) fn of_payload(payload: Arc<dyn Payload>) -> Self {
        Self(Arc::new(PayloadView(payload)))
    }
}

fn shows(channel: &Channel, at: usize, only: Option<&Mask>) -> bool {
    !channel.is_secret() && only.is_none_or(|only| only.contains(at))
}

/// The state as JSON: channels that have a value, without secrets.
pub(crate) fn state_json<S: State>(state: &S, schema: &S::Schema, only: Option<&Mask>) -> Value {
    let mut map = Map::new();
    for (at, channel) in S::channels(schema).iter().enumerate() {
        if let Some(value) = shows(channel, at, only).then(|| channel_json(state, schema, at)).flatten() {
            map.insert(channel.name().to_owned(), value);
        }
    }
    Value::Object(map)
}

/// A channel's value as JSON, secret or not; none if it has none.
pub(crate) fn channel_json<S: State>(state: &S, schema: &S::Schema, at: usize) -> Option<Value> {
    let json = || state.show_channel(schema, at, serde_json::value::Serializer).unwrap_or_default();
    state.is_set(schema, at).then(|| caught(json).unwrap_or_default())
}

/// A state in debugging output, without secrets. A schema that is known only at run time is not at hand here, so of a
/// data-defined state nothing is shown.
pub(crate) struct Shown<'a, S>(pub &'a S);

impl<S: State> fmt::Debug for Shown<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nothing: &dyn Any = &();
        match nothing.downcast_ref::<S::Schema>() {
            Some(schema) => write!(f, "{}", state_json(self.0, schema, None)),
            None => f.write_str("{..}"),
        }
    }
}

fn writes_json<S: State>(writes: &Writes<S>, schema: &S::Schema) -> Value {
    let channels = S::channels(schema);
    let seen = writes.0.iter().filter(|write| {
        let at = S::channel_of(write);
        shows(&channels[at], at, None)
    });
    let entry = |write: &S::Write| {
        let json = || S::encode_write(schema, write, serde_json::value::Serializer).unwrap_or_default();
        let mut value = caught(json).unwrap_or_default();
        if S::overwrites(write) {
            value = serde_json::json!({ "$overwrite": value });
        }
        Value::Object(Map::from_iter([(channels[S::channel_of(write)].name().to_owned(), value)]))
    };
    Value::Array(seen.map(entry).collect())
}
