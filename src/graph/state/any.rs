//! States and their writes without their types, so that one engine runs all graphs; and the undoing of writes to them.
//!
//! The types are those of the graph that made them: its schema, states and writes never meet those of another. Where a
//! graph's types are not known at all, as in a host of any graphs, [`AnyState`] itself stands for the state (`any_state`).

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::canon::Canon;
use super::channel::{Channel, SETS, Storage};
use super::channels::{State, is_data_defined};
use super::json_schema::SchemaWriter;
use super::mask::Mask;
use super::merge::{ApplyError, Merge};
use super::reading::{self, DecodeError};
use super::value::{self, ValueError};
use super::writes::Writes;

/// A state whose type is not known: that of a graph in [`Graphs`](crate::graph::Graphs). Copies share it until one of them
/// changes.
#[derive(Clone)]
pub struct AnyState(Arc<dyn StateObject>);

/// A write to a channel of a state whose type is not known. Copies share it.
#[derive(Clone)]
pub struct AnyWrite(Arc<dyn WriteObject>);

/// An update: writes in order.
#[derive(Clone, Default)]
pub struct AnyWrites(pub Vec<AnyWrite>);

/// The channels of a state whose type is not known, and the operations on such states and their writes.
#[derive(Clone)]
pub struct AnySchema(Arc<dyn SchemaObject>);

trait StateObject: Any + Send + Sync {
    fn copy(&self) -> Arc<dyn StateObject>;
    fn note_returned(&mut self, returned: Arc<Map<String, Value>>);
}

trait WriteObject: Any + Send + Sync {
    fn channel(&self) -> usize;
    fn overwrites(&self) -> bool;
}

/// The operations on the states and writes of one type.
pub trait SchemaObject: Send + Sync {
    fn schema(&self) -> &(dyn Any + Send + Sync);
    fn channels(&self) -> &[Channel];
    /// Returns true if the channels are defined by data at run time.
    fn is_data_defined(&self) -> bool;
    fn removed_channels(&self) -> Vec<&str>;
    fn channel_schema(&self, channel: usize, to: &mut SchemaWriter) -> Option<Value>;
    /// Returns true if a write was made for states of this type.
    fn fits(&self, write: &AnyWrite) -> bool;
    /// Returns the state before the first write.
    fn empty(&self) -> AnyState;
    fn apply(&self, state: &mut AnyState, write: AnyWrite, merge: &mut Merge) -> Result<(), ApplyError>;
    fn end_step(&self, state: &mut AnyState, written: &Mask, changed: &mut Mask);
    fn finish(&self, state: &mut AnyState, changed: &mut Mask);
    fn is_set(&self, state: &AnyState, channel: usize) -> bool;
    fn is_kept(&self, state: &AnyState, channel: usize) -> bool;
    fn write_of(&self, state: &AnyState, channel: usize) -> Option<AnyWrite>;
    fn reset(&self, state: &mut AnyState, channels: &Mask, from: &AnyState) -> bool;
    fn reset_without(&self, state: &mut AnyState, channel: usize, from: &AnyState, appended: &[AnyWrite]) -> bool;
    fn can_undo(&self) -> bool;
    fn exchange(&self, state: &mut AnyState, channel: usize, with: &mut AnyState);
    fn list_length(&self, state: &AnyState, channel: usize) -> Option<usize>;
    fn shorten(&self, state: &mut AnyState, channel: usize, length: usize);
    fn encode_write(&self, write: &AnyWrite) -> Result<Vec<u8>, ValueError>;
    fn encode_channel(&self, state: &AnyState, channel: usize) -> Result<Vec<u8>, ValueError>;
    fn decode_write(&self, channel: usize, overwrite: bool, bytes: &[u8]) -> Result<AnyWrite, DecodeError>;
    fn decode_channel(&self, state: &mut AnyState, channel: usize, bytes: &[u8]) -> Result<(), DecodeError>;
    fn take_list(&self, state: &mut AnyState, channel: usize, parts: &[Vec<u8>]) -> Result<(), DecodeError>;
    fn canon_write(&self, write: &AnyWrite) -> Result<Canon, ValueError>;
    fn canon_channel(&self, state: &AnyState, channel: usize) -> Result<Canon, ValueError>;
    /// Returns a write for readers.
    fn write_json(&self, write: &AnyWrite) -> Result<Value, serde_json::Error>;
    /// Returns the value of a channel for readers.
    fn channel_json(&self, state: &AnyState, channel: usize) -> Result<Value, serde_json::Error>;
    /// Returns the write that a value of JSON stands for.
    fn write_of_json(&self, channel: usize, overwrite: bool, json: Value) -> Result<AnyWrite, serde_json::Error>;
    /// Sets a channel to a value of JSON.
    fn set_json(&self, state: &mut AnyState, channel: usize, json: Value) -> Result<(), serde_json::Error>;
    /// Returns writes as `Writes` of the state's type.
    fn typed_writes(&self, writes: &AnyWrites) -> Box<dyn Any + Send + Sync>;
}

/// A state or a write of another type than the schema's: a bug of the engine, not of the user's data.
fn other_type() -> ! {
    unreachable!("a state or a write of another graph")
}

impl<S: State> StateObject for S {
    fn copy(&self) -> Arc<dyn StateObject> {
        Arc::new(self.clone())
    }

    fn note_returned(&mut self, returned: Arc<Map<String, Value>>) {
        State::note_returned(self, returned);
    }
}

struct TypedWrite<S: State>(S::Write);

impl<S: State> WriteObject for TypedWrite<S> {
    fn channel(&self) -> usize {
        S::channel_of(&self.0)
    }

    fn overwrites(&self) -> bool {
        S::overwrites(&self.0)
    }
}

/// The state of a graph that has given its own away.
struct NoState;

impl StateObject for NoState {
    fn copy(&self) -> Arc<dyn StateObject> {
        Arc::new(Self)
    }

    fn note_returned(&mut self, _: Arc<Map<String, Value>>) {}
}

/// Returns a value as itself if its type is the one asked for. It is where a graph's types are not known: its states, writes
/// and schema are asked for as `AnyState`, `AnyWrite` and `AnySchema` then. The compiler decides it for each type.
fn downcast_same<T: 'static, U: 'static>(value: &T) -> Option<&U> {
    (value as &dyn Any).downcast_ref()
}

impl AnyState {
    pub(crate) fn of<S: State>(state: Arc<S>) -> Self {
        match downcast_same::<S, Self>(&state) {
            Some(untyped) => untyped.clone(),
            None => Self(state),
        }
    }

    /// Returns the placeholder of a state that was given away.
    pub(crate) fn nothing() -> Self {
        Self(Arc::new(NoState))
    }

    /// Returns its address in memory, which is its own until it changes or is dropped.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).cast::<()>().addr()
    }

    /// Returns the state if it has this type.
    pub fn downcast<S: State>(&self) -> Option<Arc<S>> {
        let any: Arc<dyn Any + Send + Sync> = match downcast_same::<Self, S>(self) {
            Some(_) => Arc::new(self.clone()),
            None => Arc::clone(&self.0) as _,
        };
        any.downcast().ok()
    }

    /// Returns the state if it has this type.
    pub fn downcast_ref<S: State>(&self) -> Option<&S> {
        downcast_same(self).or_else(|| self.any().downcast_ref())
    }

    /// Returns true if both are copies of one state, which has not changed since.
    pub(crate) fn ptr_eq(&self, other: &Self) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.0), Arc::as_ptr(&other.0))
    }

    /// Returns true if there are other copies of it.
    pub(crate) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Returns the state as a value of its type.
    pub(crate) fn any(&self) -> &(dyn Any + Send + Sync) {
        &*self.0
    }

    fn make_mut(&mut self) -> Option<&mut dyn StateObject> {
        if self.is_shared() {
            self.0 = self.0.copy();
        }
        Arc::get_mut(&mut self.0)
    }

    /// Returns the state of a graph with this type of states.
    pub(crate) fn into_typed<S: State>(self) -> Arc<S> {
        self.downcast().unwrap_or_else(|| other_type())
    }

    pub(crate) fn of_type<S: State>(&self) -> &S {
        self.downcast_ref().unwrap_or_else(|| other_type())
    }

    fn own_typed<S: State>(&mut self) -> &mut S {
        if downcast_same::<Self, S>(self).is_some() {
            return (self as &mut dyn Any).downcast_mut().unwrap_or_else(|| other_type());
        }
        let own = self.make_mut().map(|own| own as &mut dyn Any);
        own.and_then(|own| own.downcast_mut()).unwrap_or_else(|| other_type())
    }

    pub(crate) fn note_returned(&mut self, returned: Arc<Map<String, Value>>) {
        if let Some(own) = self.make_mut() {
            own.note_returned(returned);
        }
    }
}

impl<S: State> From<Arc<S>> for AnyState {
    fn from(state: Arc<S>) -> Self {
        Self::of(state)
    }
}

impl<S: State> Writes<S> {
    /// Returns the writes without the type of their state: those of a graph in [`Graphs`](crate::graph::Graphs).
    pub fn erase(self) -> Writes<AnyState> {
        Writes(AnyWrites::from(self).0)
    }
}

impl fmt::Debug for AnyState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{..}")
    }
}

impl AnyWrite {
    fn of<S: State>(write: S::Write) -> Self {
        match downcast_same::<S::Write, Self>(&write) {
            Some(untyped) => untyped.clone(),
            None => Self(Arc::new(TypedWrite::<S>(write))),
        }
    }

    fn of_type<S: State>(&self) -> &S::Write {
        if let Some(untyped) = downcast_same(self) {
            return untyped;
        }
        let any: &dyn Any = &*self.0;
        any.downcast_ref::<TypedWrite<S>>().map_or_else(|| other_type(), |typed| &typed.0)
    }

    fn into_typed<S: State>(self) -> S::Write {
        if let Some(untyped) = downcast_same::<Self, S::Write>(&self) {
            return untyped.clone();
        }
        let any: Arc<dyn Any + Send + Sync> = self.0;
        let typed = any.downcast::<TypedWrite<S>>().unwrap_or_else(|_| other_type());
        Arc::try_unwrap(typed).map_or_else(|shared| shared.0.clone(), |typed| typed.0)
    }

    pub(crate) fn channel(&self) -> usize {
        self.0.channel()
    }

    pub(crate) fn overwrites(&self) -> bool {
        self.0.overwrites()
    }
}

impl<S: State> From<Writes<S>> for AnyWrites {
    fn from(writes: Writes<S>) -> Self {
        Self(writes.0.into_iter().map(AnyWrite::of::<S>).collect())
    }
}

impl AnyWrites {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the writes with their types.
    pub(crate) fn typed<S: State>(self) -> Writes<S> {
        Writes(self.0.into_iter().map(AnyWrite::into_typed::<S>).collect())
    }
}

impl fmt::Debug for AnyWrites {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(AnyWrite::channel)).finish()
    }
}

impl AnySchema {
    pub(crate) fn of<S: State>(schema: Arc<S::Schema>) -> Self {
        Self(Arc::new(SchemaOf::<S>(schema)))
    }

    /// Returns the schema of a graph with this type of schemas.
    pub(crate) fn of_type<T: 'static>(&self) -> &T {
        downcast_same(self).unwrap_or_else(|| self.0.schema().downcast_ref().unwrap_or_else(|| other_type()))
    }
}

impl Deref for AnySchema {
    type Target = dyn SchemaObject;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

struct SchemaOf<S: State>(Arc<S::Schema>);

impl<S: State> SchemaObject for SchemaOf<S> {
    fn schema(&self) -> &(dyn Any + Send + Sync) {
        &*self.0
    }

    fn channels(&self) -> &[Channel] {
        S::channels(&self.0)
    }

    fn is_data_defined(&self) -> bool {
        is_data_defined::<S>()
    }

    fn removed_channels(&self) -> Vec<&str> {
        S::removed(&self.0)
    }

    fn channel_schema(&self, channel: usize, to: &mut SchemaWriter) -> Option<Value> {
        S::channel_schema(&self.0, channel, to)
    }

    fn fits(&self, write: &AnyWrite) -> bool {
        let any: &dyn Any = &*write.0;
        any.is::<TypedWrite<S>>() && write.channel() < self.channels().len()
    }

    fn empty(&self) -> AnyState {
        AnyState::of(Arc::new(S::empty(&self.0)))
    }

    fn apply(&self, state: &mut AnyState, write: AnyWrite, merge: &mut Merge) -> Result<(), ApplyError> {
        state.own_typed::<S>().apply(&self.0, write.into_typed::<S>(), merge)
    }

    fn end_step(&self, state: &mut AnyState, written: &Mask, changed: &mut Mask) {
        state.own_typed::<S>().end_step(&self.0, written, changed);
    }

    fn finish(&self, state: &mut AnyState, changed: &mut Mask) {
        state.own_typed::<S>().finish(&self.0, changed);
    }

    fn is_set(&self, state: &AnyState, channel: usize) -> bool {
        state.of_type::<S>().is_set(&self.0, channel)
    }

    fn is_kept(&self, state: &AnyState, channel: usize) -> bool {
        state.of_type::<S>().is_kept(&self.0, channel)
    }

    fn write_of(&self, state: &AnyState, channel: usize) -> Option<AnyWrite> {
        state.of_type::<S>().write_of(&self.0, channel).map(AnyWrite::of::<S>)
    }

    fn reset(&self, state: &mut AnyState, channels: &Mask, from: &AnyState) -> bool {
        state.own_typed::<S>().reset(channels, from.of_type())
    }

    fn reset_without(&self, state: &mut AnyState, channel: usize, from: &AnyState, appended: &[AnyWrite]) -> bool {
        let appended: Vec<&S::Write> = appended.iter().map(AnyWrite::of_type::<S>).collect();
        state.own_typed::<S>().reset_without(channel, from.of_type(), &appended)
    }

    fn can_undo(&self) -> bool {
        S::can_undo(&self.0)
    }

    fn exchange(&self, state: &mut AnyState, channel: usize, with: &mut AnyState) {
        state.own_typed::<S>().exchange(channel, with.own_typed());
    }

    fn list_length(&self, state: &AnyState, channel: usize) -> Option<usize> {
        state.of_type::<S>().list_length(channel)
    }

    fn shorten(&self, state: &mut AnyState, channel: usize, length: usize) {
        state.own_typed::<S>().shorten(channel, length);
    }

    fn encode_write(&self, write: &AnyWrite) -> Result<Vec<u8>, ValueError> {
        value::encode_write::<S>(&self.0, write.of_type::<S>())
    }

    fn encode_channel(&self, state: &AnyState, channel: usize) -> Result<Vec<u8>, ValueError> {
        value::encode_channel::<S>(&self.0, state.of_type(), channel)
    }

    fn decode_write(&self, channel: usize, overwrite: bool, bytes: &[u8]) -> Result<AnyWrite, DecodeError> {
        reading::decode_write::<S>(&self.0, channel, overwrite, bytes).map(AnyWrite::of::<S>)
    }

    fn decode_channel(&self, state: &mut AnyState, channel: usize, bytes: &[u8]) -> Result<(), DecodeError> {
        reading::decode_channel::<S>(&self.0, state.own_typed(), channel, bytes)
    }

    fn take_list(&self, state: &mut AnyState, channel: usize, parts: &[Vec<u8>]) -> Result<(), DecodeError> {
        reading::take_list::<S>(&self.0, state.own_typed(), channel, parts)
    }

    fn canon_write(&self, write: &AnyWrite) -> Result<Canon, ValueError> {
        value::canon_write::<S>(&self.0, write.of_type::<S>())
    }

    fn canon_channel(&self, state: &AnyState, channel: usize) -> Result<Canon, ValueError> {
        value::canon_channel::<S>(&self.0, state.of_type(), channel)
    }

    fn write_json(&self, write: &AnyWrite) -> Result<Value, serde_json::Error> {
        S::encode_write(&self.0, write.of_type::<S>(), serde_json::value::Serializer)
    }

    fn channel_json(&self, state: &AnyState, channel: usize) -> Result<Value, serde_json::Error> {
        state.of_type::<S>().show_channel(&self.0, channel, serde_json::value::Serializer)
    }

    fn write_of_json(&self, channel: usize, overwrite: bool, json: Value) -> Result<AnyWrite, serde_json::Error> {
        S::decode_write(&self.0, channel, overwrite, json).map(AnyWrite::of::<S>)
    }

    fn set_json(&self, state: &mut AnyState, channel: usize, json: Value) -> Result<(), serde_json::Error> {
        state.own_typed::<S>().decode_channel(&self.0, channel, json)
    }

    fn typed_writes(&self, writes: &AnyWrites) -> Box<dyn Any + Send + Sync> {
        Box::new(writes.clone().typed::<S>())
    }
}

/// The changes to undo.
#[derive(Default)]
pub(crate) struct UndoLog {
    /// The former lengths of lists that were only appended to, by channel.
    lengths: Vec<(usize, usize)>,
    /// A state that has the former values of these channels.
    saved: Option<AnyState>,
    channels: Mask,
}

impl UndoLog {
    /// Notes the value of a channel before a write to it.
    pub(crate) fn note(&mut self, schema: &AnySchema, state: &mut AnyState, write: &AnyWrite) {
        let at = write.channel();
        if self.channels.contains(at) {
            return;
        }
        let noted = self.lengths.iter().position(|(channel, _)| *channel == at);
        let channel = &schema.channels()[at];
        if channel.storage() == Storage::Log && !write.overwrites() {
            if noted.is_some() {
                return;
            }
            if let Some(length) = schema.list_length(state, at) {
                return self.lengths.push((at, length));
            }
        }
        let saved = self.saved.get_or_insert_with(|| schema.empty());
        match SETS.contains(&channel.rule_name()) {
            true => schema.exchange(state, at, saved),
            false => _ = schema.reset(saved, &[at].into_iter().collect(), state),
        }
        if let Some((_, length)) = noted.map(|noted| self.lengths.swap_remove(noted)) {
            schema.shorten(saved, at, length);
        }
        self.channels.insert(at);
    }

    /// Makes a state what it was.
    pub(crate) fn undo(self, schema: &AnySchema, state: &mut AnyState) {
        self.lengths.into_iter().for_each(|(at, length)| schema.shorten(state, at, length));
        if let Some(mut saved) = self.saved {
            self.channels.iter().for_each(|at| schema.exchange(state, at, &mut saved));
        }
    }
}
