//! [`DataState`](crate::graph::DataState): a state whose channels are known only at run time.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use superstep_base::gather;

use super::kind::{Kind, Rule};
use super::reduce;
use super::schema::{DataSchema, DataWrite};
use crate::graph::state::channel::Channel;
use crate::graph::state::channels::State;
use crate::graph::state::json_schema::SchemaWriter;
use crate::graph::state::log::Prefix;
use crate::graph::state::mask::Mask;
use crate::graph::state::merge::{ApplyError, Merge};
use crate::graph::state::put::Put;
use crate::graph::state::writes::{InputError, Writes};

/// A state with the channels of a [`DataSchema`]. A channel may have no value.
///
/// ```
/// # use std::sync::Arc;
/// # use serde_json::json;
/// # use superstep::graph::{DataSchema, DataState, Name};
/// # use superstep::graph::state::Kind;
/// # use superstep::prelude::*;
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let schema = DataSchema::new([("log", Kind::Append)])?;
/// let update = schema.writes(&serde_json::from_str(r#"{ "log": ["hello"] }"#)?);
/// let hello = move |_: Arc<DataState>, _: Ctx| std::future::ready(Ok::<_, NodeError>(update.clone()));
/// let graph = StateGraph::<DataState, Name>::with_schema(schema).add_node("hello".into(), hello);
/// let graph = graph.add_sequence(["hello".into()]).compile()?;
/// let outcome = graph.invoke(Writes::default()).await?;
/// assert_eq!(outcome.state().to_json(graph.schema()), json!({ "log": ["hello"] }));
/// # Ok(()) }
/// ```
///
/// Its `Debug` names channels by index and shows no values, as some may be secret.
#[derive(Clone)]
pub struct DataState {
    schema: DataSchema,
    values: Vec<Option<Value>>,
    /// Channels whose value is not readable until the run is about to end.
    deferred: BTreeSet<usize>,
    returned: Option<Arc<Map<String, Value>>>,
}

impl DataState {
    /// Returns the value of a channel; `None` if it has no readable value.
    pub fn get(&self, channel: usize) -> Option<&Value> {
        let value = self.values.get(channel)?.as_ref();
        value.filter(|_| !self.deferred.contains(&channel))
    }

    /// Returns the value of the channel with this name; `None` if there is no such channel, or no readable value.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.by_name(&self.schema, name)
    }

    /// Returns the writes of an object, one for each key.
    ///
    /// # Errors
    /// If it is no object, or a key names no channel.
    pub fn update(&self, values: &Value) -> Result<Writes<Self>, InputError> {
        Writes::from_json(&self.schema, values)
    }

    /// Returns the value of the channel with this name.
    pub fn by_name(&self, schema: &DataSchema, name: &str) -> Option<&Value> {
        self.get(schema.channel(name)?)
    }

    /// Returns the channels that have a value, as an object, without secret ones; read those with [`get`](Self::get) or
    /// [`by_name`](Self::by_name).
    pub fn to_json(&self, schema: &DataSchema) -> Value {
        let channels = schema.channels().iter().enumerate().filter(|(_, channel)| !channel.is_secret());
        let set = channels.filter_map(|(at, channel)| Some((channel.name().to_owned(), self.get(at)?.clone())));
        Value::Object(gather::<Map<_, _>, _>(set))
    }

    /// Returns the object that the node before a router returned, unknown keys included; `None` outside routers.
    pub fn returned_object(&self) -> Option<&Map<String, Value>> {
        self.returned.as_deref()
    }

    /// Returns a channel's value, readable or not.
    fn stored_value<E: serde::ser::Error>(&self, schema: &DataSchema, channel: usize) -> Result<&Value, E> {
        let missing = || E::custom(format_args!("channel `{}` has no value", schema.channels()[channel].name()));
        self.values[channel].as_ref().ok_or_else(missing)
    }
}

/// Two states are equal if their values are.
impl PartialEq for DataState {
    fn eq(&self, other: &Self) -> bool {
        (&self.values, &self.deferred, &self.returned) == (&other.values, &other.deferred, &other.returned)
    }
}

impl Serialize for DataState {
    fn serialize<W: Serializer>(&self, out: W) -> Result<W::Ok, W::Error> {
        self.to_json(&self.schema).serialize(out)
    }
}

impl fmt::Debug for DataState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = (0..self.values.len()).filter(|&channel| self.values[channel].is_some());
        write!(f, "DataState ")?;
        f.debug_set().entries(set).finish()
    }
}

#[diagnostic::do_not_recommend]
impl State for DataState {
    type Schema = DataSchema;
    type Write = DataWrite;

    fn channels(schema: &DataSchema) -> &[Channel] {
        schema.channels()
    }

    fn known_schema(&self) -> Option<&DataSchema> {
        Some(&self.schema)
    }

    fn empty(schema: &DataSchema) -> Self {
        Self {
            schema: schema.clone(),
            values: schema.kinds().map(Kind::start).collect(),
            deferred: BTreeSet::new(),
            returned: None,
        }
    }

    fn apply(&mut self, schema: &DataSchema, write: DataWrite, merge: &mut Merge) -> Result<(), ApplyError> {
        let DataWrite { channel, put } = write;
        let (kind, slot) = (schema.kind(channel), &mut self.values[channel]);
        match kind.rule() {
            Rule::Single => return merge.last_value(channel, slot, Some(into_value(put))),
            Rule::Last => merge.any_value(channel, slot, Some(into_value(put))),
            Rule::AfterFinish => {
                self.deferred.insert(channel);
                merge.any_value(channel, slot, Some(into_value(put)));
            }
            Rule::Topic { accumulate } => return apply_topic(channel, slot, put, accumulate, merge),
            Rule::Reduced(reduce) => {
                let put = validate_put(kind, channel, put)?;
                return merge.try_reduce(channel, slot, put, |slot, write| reduce(slot.get_or_insert_default(), write));
            }
        }
        Ok(())
    }

    fn end_step(&mut self, schema: &DataSchema, written: &Mask, changed: &mut Mask) {
        for &channel in schema.ephemeral_channels() {
            if !written.contains(channel) && self.values[channel].take().is_some() {
                changed.insert(channel);
            }
        }
    }

    fn finish(&mut self, _: &DataSchema, changed: &mut Mask) {
        for channel in std::mem::take(&mut self.deferred) {
            changed.insert(channel);
        }
    }

    fn reset(&mut self, channels: &Mask, from: &Self) -> bool {
        for channel in channels.iter() {
            self.values[channel].clone_from(&from.values[channel]);
            if from.deferred.contains(&channel) {
                self.deferred.insert(channel)
            } else {
                self.deferred.remove(&channel)
            };
        }
        self.returned.clone_from(&from.returned);
        true
    }

    fn reset_without(&mut self, channel: usize, from: &Self, appended: &[&DataWrite]) -> bool {
        let items = |write: &&DataWrite| match &write.put {
            Put::Reduce(Value::Array(more)) => Some(more.len()),
            Put::Reduce(_) | Put::Overwrite(_) => None,
        };
        let count: Option<usize> = appended.iter().map(items).sum();
        let is_list = from.schema.kind(channel) == Kind::Append;
        let (true, Some(count), Some(Value::Array(list))) = (is_list, count, &from.values[channel]) else {
            return false;
        };
        let Some(kept) = list.without_last(count) else { return false };
        self.values[channel] = Some(Value::Array(kept));
        true
    }

    fn can_undo(schema: &DataSchema) -> bool {
        schema.ephemeral_channels().is_empty() && schema.kinds().all(|kind| !matches!(kind.rule(), Rule::AfterFinish))
    }

    fn exchange(&mut self, channel: usize, with: &mut Self) {
        std::mem::swap(&mut self.values[channel], &mut with.values[channel]);
    }

    fn list_length(&self, channel: usize) -> Option<usize> {
        let is_list = self.schema.kind(channel) == Kind::Append;
        self.values[channel].as_ref().filter(|_| is_list)?.as_array().map(Vec::len)
    }

    fn shorten(&mut self, channel: usize, length: usize) {
        if let Some(Value::Array(list)) = &mut self.values[channel] {
            list.truncate(length);
        }
    }

    fn note_returned(&mut self, returned: Arc<Map<String, Value>>) {
        self.returned = Some(returned);
    }

    fn is_set(&self, _: &DataSchema, channel: usize) -> bool {
        self.get(channel).is_some()
    }

    fn is_kept(&self, _: &DataSchema, channel: usize) -> bool {
        self.values[channel].is_some()
    }

    fn show_channel<E: Serializer>(&self, schema: &DataSchema, channel: usize, out: E) -> Result<E::Ok, E::Error> {
        self.stored_value(schema, channel)?.serialize(out)
    }

    fn channel_of(write: &DataWrite) -> usize {
        write.channel
    }

    fn overwrites(write: &DataWrite) -> bool {
        write.put.overwrites()
    }

    fn write_of(&self, schema: &DataSchema, channel: usize) -> Option<DataWrite> {
        let value = self.get(channel)?.clone();
        Some(DataWrite::overwrite_with(schema.kind(channel), channel, value))
    }

    fn encode_write<E: Serializer>(_: &DataSchema, write: &DataWrite, out: E) -> Result<E::Ok, E::Error> {
        write.put.encode(out)
    }

    fn decode_write<'de, D: Deserializer<'de>>(
        _: &DataSchema,
        channel: usize,
        overwrite: bool,
        from: D,
    ) -> Result<DataWrite, D::Error> {
        Ok(DataWrite { channel, put: Put::decode(overwrite, from)? })
    }

    fn upgrade_channel(
        &mut self,
        schema: &DataSchema,
        channel: usize,
        value: Value,
        from: u32,
    ) -> Option<Result<(), String>> {
        let kind = schema.kind(channel);
        Some(schema.upgrade(channel, value, from)?.and_then(|value| {
            self.values[channel] = Some(kind.normalize(value)?);
            Ok(())
        }))
    }

    fn upgrade_write(
        schema: &DataSchema,
        channel: usize,
        overwrite: bool,
        value: Value,
        from: u32,
    ) -> Option<Result<DataWrite, String>> {
        let put = |value| if overwrite { Put::Overwrite(value) } else { Put::Reduce(value) };
        Some(schema.upgrade(channel, value, from)?.map(|value| DataWrite { channel, put: put(value) }))
    }

    fn channel_schema(schema: &DataSchema, channel: usize, to: &mut SchemaWriter) -> Option<Value> {
        Some(schema.kind(channel).json_schema(to.side()))
    }

    fn removed(schema: &DataSchema) -> Vec<&str> {
        schema.removed_names().collect()
    }

    /// Encodes the value, for [`Kind::AfterFinish`] together with whether it is readable. Fails if there is none.
    fn encode_channel<E: Serializer>(&self, schema: &DataSchema, channel: usize, out: E) -> Result<E::Ok, E::Error> {
        let value = self.stored_value(schema, channel)?;
        match schema.kind(channel).rule() {
            Rule::AfterFinish => (value, !self.deferred.contains(&channel)).serialize(out),
            Rule::Single | Rule::Last | Rule::Topic { .. } | Rule::Reduced(_) => value.serialize(out),
        }
    }

    /// Decodes the output of [`encode_channel`](State::encode_channel). Fails if the value does not fit the kind.
    fn decode_channel<'de, D: Deserializer<'de>>(
        &mut self,
        schema: &DataSchema,
        channel: usize,
        from: D,
    ) -> Result<(), D::Error> {
        let kind = schema.kind(channel);
        let (value, readable) = match kind.rule() {
            Rule::AfterFinish => Deserialize::deserialize(from)?,
            Rule::Single | Rule::Last | Rule::Topic { .. } | Rule::Reduced(_) => (Value::deserialize(from)?, true),
        };
        kind.check(&value).map_err(serde::de::Error::custom)?;
        self.values[channel] = Some(value).filter(|value| !is_empty_topic(kind, value));
        if readable {
            self.deferred.remove(&channel)
        } else {
            self.deferred.insert(channel)
        };
        Ok(())
    }
}

fn into_value(put: Put<Value, Value>) -> Value {
    let (Put::Reduce(value) | Put::Overwrite(value)) = put;
    value
}

fn validate_put(kind: Kind, channel: usize, put: Put<Value, Value>) -> Result<Put<Option<Value>, Value>, ApplyError> {
    let refused = |reason| ApplyError::Refused { channel, reason };
    Ok(match put {
        Put::Reduce(write) => Put::Reduce(write),
        Put::Overwrite(value) => Put::Overwrite(Some(kind.normalize(value).map_err(refused)?)),
    })
}

/// Adds to a topic. A topic without items has no value, and a write without items does nothing.
fn apply_topic(
    channel: usize,
    slot: &mut Option<Value>,
    put: Put<Value, Value>,
    accumulate: bool,
    merge: &mut Merge,
) -> Result<(), ApplyError> {
    let put = validate_put(Kind::Topic { accumulate }, channel, put)?;
    if matches!(&put, Put::Reduce(Value::Array(items)) if items.is_empty()) {
        return Ok(());
    }
    if !accumulate && !merge.written().contains(channel) {
        *slot = None;
    }
    merge.try_reduce(channel, slot, put, |slot, write| {
        reduce::publish(slot.get_or_insert_with(|| Value::Array(vec![])), write)
    })?;
    slot.take_if(|list| is_empty_topic(Kind::Topic { accumulate }, list));
    Ok(())
}

fn is_empty_topic(kind: Kind, value: &Value) -> bool {
    matches!(kind, Kind::Topic { .. }) && value.as_array().is_some_and(Vec::is_empty)
}

impl DataSchema {
    /// Returns the writes of an object, one for each key that names a channel; other keys are ignored.
    pub fn writes(&self, update: &Map<String, Value>) -> Writes<DataState> {
        Writes(update.iter().filter_map(|(name, value)| self.write(name, value.clone())).collect())
    }
}
