//! The `State` trait: a table of channels with dense indexes. Knows no node, task or store.

use std::any::Any;
use std::sync::Arc;

use serde::{Deserializer, Serializer};
use serde_json::{Map, Value};

use super::channel::Channel;
use super::json_schema::SchemaWriter;
use super::mask::Mask;
use super::merge::{ApplyError, Merge};

/// A typed or data-defined state. Derived for structs with `#[derive(State)]`; [`DataState`](crate::graph::DataState) has a
/// schema at run time, which the graph holds.
///
/// Channel indexes are positions in [`channels`](State::channels); passing any other index is a bug.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a state",
    note = "add `#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]` to the struct"
)]
pub trait State: Clone + Send + Sync + Sized + 'static {
    /// The part of the channels' description that is known at run time; `()` when derived.
    type Schema: Send + Sync + 'static;
    /// A write to one channel: an enum with a variant per field, so nothing is boxed and fields are unlimited.
    type Write: Clone + Send + Sync + 'static;

    /// Returns the channels, in the order of their indexes.
    fn channels(schema: &Self::Schema) -> &[Channel];

    /// Returns the state before the first write.
    fn empty(schema: &Self::Schema) -> Self;

    /// Applies one write under the channel's rule.
    ///
    /// # Errors
    /// [`ApplyError`] if the channel takes one write per superstep, or its reducer returns an error. The state may then be
    /// partly written and must be dropped.
    fn apply(&mut self, schema: &Self::Schema, write: Self::Write, merge: &mut Merge) -> Result<(), ApplyError>;

    /// Clears the channels that live for one superstep and were not `written`; adds them to `changed`.
    fn end_step(&mut self, schema: &Self::Schema, written: &Mask, changed: &mut Mask);

    /// Makes channels readable that wait for the end of the run; adds them to `changed`. LangGraph: `finish`.
    fn finish(&mut self, _schema: &Self::Schema, _changed: &mut Mask) {}

    /// Stores a node's returned object for its routers. Derived states ignore it.
    fn note_returned(&mut self, _returned: Arc<Map<String, Value>>) {}

    /// Returns true if a channel has a value. Fields of a struct always have one.
    fn is_set(&self, _schema: &Self::Schema, _channel: usize) -> bool {
        true
    }

    /// Returns true if a channel has a value to store, readable or not.
    fn is_kept(&self, schema: &Self::Schema, channel: usize) -> bool {
        self.is_set(schema, channel)
    }

    /// Encodes the value of a channel for readers.
    ///
    /// # Errors
    /// Whatever the serializer fails with.
    fn show_channel<E: Serializer>(&self, schema: &Self::Schema, channel: usize, out: E) -> Result<E::Ok, E::Error> {
        self.encode_channel(schema, channel, out)
    }

    /// Returns the channel of a write.
    fn channel_of(write: &Self::Write) -> usize;

    /// Returns true if a write replaces the value of a reduced channel.
    fn overwrites(write: &Self::Write) -> bool;

    /// Returns the write that sets a channel to its present value; `None` if it has no value.
    fn write_of(&self, schema: &Self::Schema, channel: usize) -> Option<Self::Write>;

    /// Encodes the value of a write.
    ///
    /// # Errors
    /// Whatever the serializer fails with.
    fn encode_write<E: Serializer>(schema: &Self::Schema, write: &Self::Write, out: E) -> Result<E::Ok, E::Error>;

    /// Decodes a write to a channel.
    ///
    /// # Errors
    /// Whatever the deserializer fails with.
    fn decode_write<'de, D: Deserializer<'de>>(
        schema: &Self::Schema,
        channel: usize,
        overwrite: bool,
        from: D,
    ) -> Result<Self::Write, D::Error>;

    /// Encodes the value of a channel.
    ///
    /// # Errors
    /// Whatever the serializer fails with.
    fn encode_channel<E: Serializer>(&self, schema: &Self::Schema, channel: usize, out: E) -> Result<E::Ok, E::Error>;

    /// Decodes the value of a channel in place.
    ///
    /// # Errors
    /// Whatever the deserializer fails with.
    fn decode_channel<'de, D: Deserializer<'de>>(
        &mut self,
        schema: &Self::Schema,
        channel: usize,
        from: D,
    ) -> Result<(), D::Error>;

    /// Sets a channel to a value stored by an earlier version of its schema. Returns `None` if the channel has no upgrade.
    fn upgrade_channel(
        &mut self,
        _schema: &Self::Schema,
        _channel: usize,
        _value: Value,
        _from: u32,
    ) -> Option<Result<(), String>> {
        None
    }

    /// Returns the write stored by an earlier version of the channel's schema, or `None` if the channel has no upgrade.
    fn upgrade_write(
        _schema: &Self::Schema,
        _channel: usize,
        _overwrite: bool,
        _value: Value,
        _from: u32,
    ) -> Option<Result<Self::Write, String>> {
        None
    }

    /// Sets channels, and what a node returned, to what another state has. Returns false if it became that state
    /// altogether, as by default.
    #[doc(hidden)]
    fn reset(&mut self, _channels: &Mask, from: &Self) -> bool {
        self.clone_from(from);
        false
    }

    /// Sets a list to that of another state without the items that these last writes appended. Returns false if the
    /// channel is no such list.
    #[doc(hidden)]
    fn reset_without(&mut self, _channel: usize, _from: &Self, _appended: &[&Self::Write]) -> bool {
        false
    }

    /// Returns true if writes can be undone: nothing else changes channels, and [`exchange`](Self::exchange) is implemented.
    #[doc(hidden)]
    fn can_undo(_schema: &Self::Schema) -> bool {
        false
    }

    /// Exchanges the value of a channel with that of another state.
    #[doc(hidden)]
    fn exchange(&mut self, channel: usize, _with: &mut Self) {
        no_channel(channel)
    }

    /// Returns the length of a list that writes append to; none for any other channel.
    #[doc(hidden)]
    fn list_length(&self, _channel: usize) -> Option<usize> {
        None
    }

    /// Drops what was appended to a list beyond this length.
    #[doc(hidden)]
    fn shorten(&mut self, channel: usize, _length: usize) {
        no_channel(channel)
    }

    /// Returns the schema, if the state knows it; always for `()`.
    #[doc(hidden)]
    fn known_schema(&self) -> Option<&Self::Schema> {
        let nothing: &'static dyn std::any::Any = &();
        nothing.downcast_ref()
    }

    /// Returns the JSON Schema of a channel, from the side that is described; `None` if it is not known.
    #[doc(hidden)]
    fn channel_schema(_schema: &Self::Schema, _channel: usize, _to: &mut SchemaWriter) -> Option<Value> {
        None
    }

    /// Returns the names of removed channels: their stored values are dropped silently.
    fn removed(_schema: &Self::Schema) -> Vec<&str> {
        vec![]
    }
}

/// Panics on an unknown channel index: a bug of the caller, not of the user's data.
#[doc(hidden)]
pub fn no_channel(channel: usize) -> ! {
    unreachable!("no channel {channel}")
}

/// True if the state's channels are defined by data at run time.
pub(crate) fn is_data_defined<S: State>() -> bool {
    let none: &dyn Any = &();
    none.downcast_ref::<S::Schema>().is_none()
}
