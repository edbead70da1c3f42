//! State as a table of channels with dense indexes. Knows no node, task or store.

use std::any::Any;
use std::sync::Arc;

use serde::{Deserializer, Serializer};
use serde_json::{Map, Value};

use super::channel::Channel;
use super::mask::Mask;
use super::merge::{ApplyError, Merge};

/// A typed or data-defined state. Derived for structs with `#[derive(State)]`; [`DataState`](crate::graph::DataState) brings a
/// schema at run time, which the graph holds.
///
/// Channel indexes are positions in [`channels`](State::channels); an index from elsewhere is a bug of the caller.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a state",
    note = "add `#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]` to the struct"
)]
pub trait State: Clone + Send + Sync + Sized + 'static {
    /// What is known of the channels only at run time; `()` when derived.
    type Schema: Send + Sync + 'static;
    /// One write to one channel: one enum variant per field, so nothing is boxed and the count is unlimited.
    type Write: Clone + Send + Sync + 'static;

    /// Returns the channels, in the order of their indexes.
    fn channels(schema: &Self::Schema) -> &[Channel];

    /// Returns the state before the first write.
    fn empty(schema: &Self::Schema) -> Self;

    /// Applies one write under the channel's rule.
    ///
    /// # Errors
    /// [`ApplyError`] if the channel takes one write per superstep, or its reducer refuses. The state may then be half
    /// written and is to be dropped.
    fn apply(&mut self, schema: &Self::Schema, write: Self::Write, merge: &mut Merge) -> Result<(), ApplyError>;

    /// Empties the channels that live for one superstep and were not `written`; notes them in `changed`.
    fn end_step(&mut self, schema: &Self::Schema, written: &Mask, changed: &mut Mask);

    /// Releases the channels that wait for the run to go quiet; notes them in `changed`. LangGraph: `finish`.
    fn finish(&mut self, _schema: &Self::Schema, _changed: &mut Mask) {}

    /// Notes what a node returned, for the routers after it to read. Fields of a struct have no place for it.
    fn note_returned(&mut self, _returned: Arc<Map<String, Value>>) {}

    /// Returns whether a channel has a value. Fields of a struct always have.
    fn is_set(&self, _schema: &Self::Schema, _channel: usize) -> bool {
        true
    }

    /// Returns whether a channel has something to store, readable or not.
    fn is_kept(&self, schema: &Self::Schema, channel: usize) -> bool {
        self.is_set(schema, channel)
    }

    /// Encodes the value of a channel as readers see it.
    ///
    /// # Errors
    /// Whatever the serializer fails with.
    fn show_channel<E: Serializer>(&self, schema: &Self::Schema, channel: usize, out: E) -> Result<E::Ok, E::Error> {
        self.encode_channel(schema, channel, out)
    }

    /// Returns the channel a write goes to.
    fn channel_of(write: &Self::Write) -> usize;

    /// Returns whether a write replaces the value of a reduced channel.
    fn overwrites(write: &Self::Write) -> bool;

    /// Returns the write that sets a channel to its present value; none if it has none.
    fn write_of(&self, schema: &Self::Schema, channel: usize) -> Option<Self::Write>;

    /// Encodes the value a write carries.
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

    /// Sets a channel to what an earlier version of its schema stored. None: nothing upgrades the channel.
    fn upgrade_channel(
        &mut self,
        _schema: &Self::Schema,
        _channel: usize,
        _value: Value,
        _from: u32,
    ) -> Option<Result<(), String>> {
        None
    }

    /// Returns the write that an earlier version of the channel's schema stored. None: nothing upgrades the channel.
    fn upgrade_write(
        _schema: &Self::Schema,
        _channel: usize,
        _overwrite: bool,
        _value: Value,
        _from: u32,
    ) -> Option<Result<Self::Write, String>> {
        None
    }

    /// Returns the schema, if the state knows it: one without a schema of its own always does.
    #[doc(hidden)]
    fn known_schema(&self) -> Option<&Self::Schema> {
        let nothing: &'static dyn std::any::Any = &();
        nothing.downcast_ref()
    }

    /// Returns the names of channels that are gone for good: what is stored of them is dropped without a word.
    fn removed(_schema: &Self::Schema) -> Vec<&str> {
        vec![]
    }
}

/// Stops on a channel index that no channel has: a bug of the caller, not of the user's data.
#[doc(hidden)]
pub fn no_channel(channel: usize) -> ! {
    unreachable!("no channel {channel}")
}

/// Returns whether a state's channels are read from data: their schema is a value.
pub(crate) fn is_data_defined<S: State>() -> bool {
    let none: &dyn Any = &();
    none.downcast_ref::<S::Schema>().is_none()
}
