//! State as a table of channels with dense indexes, and an update as a list of writes. Knows no node, task or store.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::mask::Mask;

/// How a channel is kept in a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// One writer per superstep: the write *is* the value, so its bytes serve both records.
    Value,
    /// Reduced: the value is encoded after the reduce.
    Full,
    /// Reduced by appending: kept as the list of its writes for ever.
    Log,
    /// Reduced, and kept as a value and the writes since; a new value is stored when the writes outgrow it.
    Delta,
    /// Never saved: a resumed run starts with the default.
    Never,
}

/// How values of a channel become bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// Named MessagePack: survives added, removed and reordered fields.
    MessagePack,
    /// bincode: for numbers, byte strings and vectors of them.
    Bincode,
}

/// One channel of a state: data only.
#[derive(Clone, Debug)]
pub struct Channel {
    name: Cow<'static, str>,
    type_name: Cow<'static, str>,
    stored: Stored,
    codec: Codec,
    version: u32,
    secret: bool,
}

impl Channel {
    /// Returns a channel with a name that is known at compile time.
    pub const fn fixed(name: &'static str, type_name: &'static str, stored: Stored) -> Self {
        let (name, type_name) = (Cow::Borrowed(name), Cow::Borrowed(type_name));
        Self { name, type_name, stored, codec: Codec::MessagePack, version: 1, secret: false }
    }

    /// Returns a channel with a name that is known at run time.
    pub fn named(name: impl Into<String>, type_name: impl Into<String>, stored: Stored) -> Self {
        let (name, type_name) = (Cow::Owned(name.into()), Cow::Owned(type_name.into()));
        Self { name, type_name, stored, codec: Codec::MessagePack, version: 1, secret: false }
    }

    /// Marks the channel as never to be printed or exported.
    #[must_use]
    pub const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    /// Sets the codec of the channel's values.
    #[must_use]
    pub const fn codec(mut self, codec: Codec) -> Self {
        self.codec = codec;
        self
    }

    /// Sets the schema version that every stored value carries; 1 unless set.
    #[must_use]
    pub const fn version(mut self, version: u32) -> Self {
        self.version = version;
        self
    }

    /// Returns the channel's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name of the value's type.
    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    /// Returns how the channel is kept.
    pub fn stored(&self) -> Stored {
        self.stored
    }

    /// Returns how values become bytes.
    pub fn value_codec(&self) -> Codec {
        self.codec
    }

    /// Returns the schema version of the values.
    pub fn schema_version(&self) -> u32 {
        self.version
    }

    /// Returns whether the channel is never printed or exported.
    pub fn is_secret(&self) -> bool {
        self.secret
    }
}

/// A typed or data-defined state. Derived for structs with `#[derive(State)]`; [`DataState`](super::DataState) brings a
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
}

/// What one task changes: writes in order. The generated `…Update` types are faces over this.
#[must_use]
pub struct Writes<S: State>(pub Vec<S::Write>);

impl<S: State> Writes<S> {
    /// Adds a write.
    pub fn with(mut self, write: S::Write) -> Self {
        self.0.push(write);
        self
    }

    /// Returns whether nothing is written.
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

/// A write to a reduced channel.
#[derive(Clone, Debug, PartialEq)]
pub enum Put<V, W> {
    /// Goes through the reducer.
    Reduce(W),
    /// Replaces the value. Ordinary writes of the same superstep are lost to it.
    Overwrite(V),
}

/// A value that replaces a reduced channel instead of going through its reducer; see [`overwrite`].
#[derive(Clone, Debug)]
pub struct Overwrite<V>(pub V);

/// Marks a value as replacing the whole channel: `.notes(overwrite(vec![]))`. LangGraph: `Overwrite`.
pub fn overwrite<V>(value: V) -> Overwrite<V> {
    Overwrite(value)
}

impl<V, W> Put<V, W> {
    /// Returns whether the write replaces the value.
    pub fn overwrites(&self) -> bool {
        matches!(self, Self::Overwrite(_))
    }

    /// Encodes what the write carries.
    ///
    /// # Errors
    /// Whatever the serializer fails with.
    pub fn encode<E: Serializer>(&self, out: E) -> Result<E::Ok, E::Error>
    where
        V: Serialize,
        W: Serialize,
    {
        match self {
            Self::Reduce(write) => write.serialize(out),
            Self::Overwrite(value) => value.serialize(out),
        }
    }

    /// Decodes what a write carries.
    ///
    /// # Errors
    /// Whatever the deserializer fails with.
    pub fn decode<'de, D: Deserializer<'de>>(overwrite: bool, from: D) -> Result<Self, D::Error>
    where
        V: Deserialize<'de>,
        W: Deserialize<'de>,
    {
        if overwrite { V::deserialize(from).map(Self::Overwrite) } else { W::deserialize(from).map(Self::Reduce) }
    }
}

/// Why a write could not be applied.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ApplyError {
    /// Two tasks of one superstep wrote a channel that takes one write.
    #[error("channel {channel} was written twice in one superstep")]
    Concurrent {
        /// The channel's index.
        channel: usize,
    },
    /// The reducer refused the write.
    #[error("channel {channel}: {reason}")]
    Refused {
        /// The channel's index.
        channel: usize,
        /// Why.
        reason: String,
    },
}

/// What one superstep has written so far; one rule book for typed and data-defined channels.
#[derive(Debug, Default)]
pub struct Merge {
    written: Mask,
    overwritten: Mask,
}

impl Merge {
    /// Forgets everything: a new superstep begins.
    pub fn clear(&mut self) {
        self.written.clear();
        self.overwritten.clear();
    }

    /// Returns the channels written in this superstep.
    pub fn written(&self) -> &Mask {
        &self.written
    }

    /// Sets a channel that takes one write per superstep. LangGraph: `LastValue`.
    ///
    /// # Errors
    /// [`ApplyError::Concurrent`] on the second write.
    pub fn last_value<T>(&mut self, channel: usize, slot: &mut T, value: T) -> Result<(), ApplyError> {
        if !self.written.insert(channel) {
            return Err(ApplyError::Concurrent { channel });
        }
        *slot = value;
        Ok(())
    }

    /// Sets a channel whose last writer wins. LangGraph: `AnyValue`.
    pub fn any_value<T>(&mut self, channel: usize, slot: &mut T, value: T) {
        self.written.insert(channel);
        *slot = value;
    }

    /// Adds to a list of this superstep's writes; the first write drops the last superstep's, unless `accumulate`.
    /// LangGraph: `Topic`.
    pub fn topic<T>(&mut self, channel: usize, slot: &mut Vec<T>, more: impl IntoIterator<Item = T>, accumulate: bool) {
        if self.written.insert(channel) && !accumulate {
            slot.clear();
        }
        slot.extend(more);
    }

    /// Reduces a write into a channel. LangGraph: `BinaryOperatorAggregate`.
    ///
    /// # Errors
    /// [`ApplyError::Concurrent`] on a second overwrite.
    pub fn reduce<V, W>(
        &mut self,
        channel: usize,
        slot: &mut V,
        put: Put<V, W>,
        with: impl FnOnce(&mut V, W),
    ) -> Result<(), ApplyError> {
        self.try_reduce(channel, slot, put, |slot, write| {
            with(slot, write);
            Ok(())
        })
    }

    /// Reduces a write into a channel by a reducer that can refuse.
    ///
    /// # Errors
    /// [`ApplyError::Concurrent`] on a second overwrite, [`ApplyError::Refused`] if the reducer refuses.
    pub fn try_reduce<V, W>(
        &mut self,
        channel: usize,
        slot: &mut V,
        put: Put<V, W>,
        with: impl FnOnce(&mut V, W) -> Result<(), String>,
    ) -> Result<(), ApplyError> {
        self.written.insert(channel);
        match put {
            Put::Overwrite(_) if !self.overwritten.insert(channel) => Err(ApplyError::Concurrent { channel }),
            Put::Overwrite(value) => {
                *slot = value;
                Ok(())
            }
            Put::Reduce(_) if self.overwritten.contains(channel) => Ok(()),
            Put::Reduce(write) => with(slot, write).map_err(|reason| ApplyError::Refused { channel, reason }),
        }
    }
}

/// Stops on a channel index that no channel has: a bug of the caller, not of the user's data.
#[doc(hidden)]
pub fn no_channel(channel: usize) -> ! {
    unreachable!("no channel {channel}")
}

/// What a setter of a reduced field takes: the write itself, or [`overwrite`]`(value)`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be written to this channel",
    note = "give a `{W}`, or replace the whole value with `overwrite(..)` of a `{V}`"
)]
pub trait IntoPut<V, W, M> {
    /// Converts into a write.
    fn into_put(self) -> Put<V, W>;
}

/// Marks a plain write in [`IntoPut`].
#[derive(Debug)]
pub struct ByReduce;
/// Marks an overwrite in [`IntoPut`].
#[derive(Debug)]
pub struct ByOverwrite;

impl<V, W> IntoPut<V, W, ByReduce> for W {
    fn into_put(self) -> Put<V, W> {
        Put::Reduce(self)
    }
}

impl<V, W> IntoPut<V, W, ByOverwrite> for Overwrite<V> {
    fn into_put(self) -> Put<V, W> {
        Put::Overwrite(self.0)
    }
}

/// What a setter of a list field takes: anything that yields its items, or [`overwrite`]`(list)`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be written to this list",
    note = "give something that yields items of `{T}`, or replace the list with `overwrite(..)`"
)]
pub trait IntoList<V, T> {
    /// Converts into a write.
    fn into_list(self) -> Put<V, Vec<T>>;
}

impl<V, T, I: IntoIterator<Item: Into<T>>> IntoList<V, T> for I {
    fn into_list(self) -> Put<V, Vec<T>> {
        Put::Reduce(self.into_iter().map(Into::into).collect())
    }
}

impl<V, T> IntoList<V, T> for Overwrite<V> {
    fn into_list(self) -> Put<V, Vec<T>> {
        Put::Overwrite(self.0)
    }
}
