//! The table of data-defined channels, and the writes it makes: names become indexes here, once.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::kind::Kind;
use crate::graph::state::channel::Channel;
use crate::graph::state::channels::no_channel;
use crate::graph::state::put::Put;

/// The channels of a [`DataState`](crate::graph::DataState), known at run time. A graph takes it by `StateGraph::with_schema(schema)`; its node ids are
/// [`Name`](crate::graph::Name)s.
///
/// ```
/// use serde_json::json;
/// use superstep::graph::{DataSchema, Kind};
///
/// let schema = DataSchema::new([("topic", Kind::LastValue), ("notes", Kind::Append)])?;
/// assert_eq!(schema.channel("notes"), Some(1));
/// assert!(schema.write("notes", json!(["tides"])).is_some());
/// assert!(schema.write("title", json!("none")).is_none());
/// # Ok::<(), superstep::graph::SchemaError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct DataSchema(Arc<Table>);

/// The table itself; states share it.
#[derive(Clone, Debug, Default)]
struct Table {
    channels: Vec<Channel>,
    kinds: Vec<Kind>,
    by_name: HashMap<String, usize>,
    removed: Vec<String>,
    upgrades: HashMap<usize, Upgrade>,
}

/// Makes a value of what an earlier version stored.
#[derive(Clone)]
struct Upgrade(Arc<dyn Fn(Value, u32) -> Result<Value, String> + Send + Sync>);

impl fmt::Debug for Upgrade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Upgrade")
    }
}

/// What is wrong with a table of channels.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum SchemaError {
    /// Two channels with one name.
    #[error("two channels are named `{channel}`")]
    Twice {
        /// The name.
        channel: String,
    },
    /// A name that no channel has.
    #[error("no channel is named `{channel}`")]
    Unknown {
        /// The name.
        channel: String,
    },
}

impl SchemaError {
    /// Returns what to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::Twice { channel } => format!("remove one `{channel}`, or give it another name"),
            Self::Unknown { channel } => format!("add `{channel}` to the schema, or correct the name"),
        }
    }
}

impl DataSchema {
    /// Returns a table of channels, whose indexes follow the order given.
    ///
    /// # Errors
    /// [`SchemaError::Twice`] if two channels have one name.
    pub fn new(channels: impl IntoIterator<Item = (impl Into<String>, Kind)>) -> Result<Self, SchemaError> {
        let mut table = Table::default();
        for (name, kind) in channels {
            table.add(name.into(), kind)?;
        }
        Ok(Self(Arc::new(table)))
    }

    fn table(&mut self) -> &mut Table {
        Arc::make_mut(&mut self.0)
    }

    /// Marks a channel as never to be printed or exported.
    ///
    /// # Errors
    /// [`SchemaError::Unknown`] if no channel has this name.
    pub fn secret(mut self, name: &str) -> Result<Self, SchemaError> {
        let at = self.channel(name).ok_or_else(|| SchemaError::Unknown { channel: name.to_owned() })?;
        self.table().channels[at] = self.0.channels[at].clone().secret();
        Ok(self)
    }

    /// Says that a channel had another name before: what is stored under it is the channel's own.
    ///
    /// # Errors
    /// [`SchemaError::Unknown`] if no channel has this name, [`SchemaError::Twice`] if one has the old name.
    pub fn was(mut self, name: &str, old: &str) -> Result<Self, SchemaError> {
        let at = self.channel(name).ok_or_else(|| SchemaError::Unknown { channel: name.to_owned() })?;
        self.is_free(old)?;
        self.table().channels[at] = self.0.channels[at].clone().formerly(old);
        Ok(self)
    }

    /// Says that a channel is new: a thread that never stored it starts with its default, whatever else it has stored.
    ///
    /// # Errors
    /// [`SchemaError::Unknown`] if no channel has this name.
    pub fn added(mut self, name: &str) -> Result<Self, SchemaError> {
        let at = self.channel(name).ok_or_else(|| SchemaError::Unknown { channel: name.to_owned() })?;
        self.table().channels[at] = self.0.channels[at].clone().added();
        Ok(self)
    }

    /// Says that a channel is gone for good: what is stored of it is dropped.
    ///
    /// # Errors
    /// [`SchemaError::Twice`] if a channel has this name.
    pub fn removed(mut self, old: &str) -> Result<Self, SchemaError> {
        self.is_free(old)?;
        self.table().removed.push(old.to_owned());
        Ok(self)
    }

    /// Gives a channel's values a version, and what makes a value (or a write) of it from what an earlier one stored.
    ///
    /// # Errors
    /// [`SchemaError::Unknown`] if no channel has this name.
    pub fn upgraded(
        mut self,
        name: &str,
        version: u32,
        upgrade: impl Fn(Value, u32) -> Result<Value, String> + Send + Sync + 'static,
    ) -> Result<Self, SchemaError> {
        let at = self.channel(name).ok_or_else(|| SchemaError::Unknown { channel: name.to_owned() })?;
        self.table().channels[at] = self.0.channels[at].clone().version(version);
        self.table().upgrades.insert(at, Upgrade(Arc::new(upgrade)));
        Ok(self)
    }

    fn is_free(&self, old: &str) -> Result<(), SchemaError> {
        match self.channel(old) {
            Some(_) => Err(SchemaError::Twice { channel: old.to_owned() }),
            None => Ok(()),
        }
    }

    pub(super) fn gone(&self) -> impl Iterator<Item = &str> {
        self.0.removed.iter().map(String::as_str)
    }

    pub(super) fn upgrade(&self, channel: usize, value: Value, from: u32) -> Option<Result<Value, String>> {
        self.0.upgrades.get(&channel).map(|upgrade| (upgrade.0)(value, from))
    }

    /// Returns the index of the channel with this name.
    pub fn channel(&self, name: &str) -> Option<usize> {
        self.0.by_name.get(name).copied()
    }

    /// Returns the names of the channels, in the order of their indexes.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.channels.iter().map(Channel::name)
    }

    /// Returns the kind of a channel. An index that no channel has is a bug of the caller.
    pub fn kind(&self, channel: usize) -> Kind {
        self.0.kinds.get(channel).copied().unwrap_or_else(|| no_channel(channel))
    }

    /// Returns a write to the channel with this name; none if there is no such channel.
    ///
    /// `{"$overwrite": v}`, `{"__overwrite__": v}` and `{"type": "__overwrite__", "value": v}` replace a reduced value.
    /// Where every write replaces the value, they are the same as `v`.
    pub fn write(&self, name: &str, value: Value) -> Option<DataWrite> {
        let channel = self.channel(name)?;
        Some(match unwrap_overwrite(value) {
            Ok(whole) => DataWrite::replacing(self.kind(channel), channel, whole),
            Err(plain) => DataWrite { channel, put: Put::Reduce(plain) },
        })
    }

    /// Returns a write that replaces the value of the channel with this name; none if there is no such channel.
    pub fn overwrite(&self, name: &str, value: Value) -> Option<DataWrite> {
        let channel = self.channel(name)?;
        Some(DataWrite::replacing(self.kind(channel), channel, value))
    }

    pub(super) fn channels(&self) -> &[Channel] {
        &self.0.channels
    }

    pub(super) fn kinds(&self) -> impl Iterator<Item = Kind> + '_ {
        self.0.kinds.iter().copied()
    }
}

impl Table {
    fn add(&mut self, name: String, kind: Kind) -> Result<(), SchemaError> {
        if self.by_name.insert(name.clone(), self.kinds.len()).is_some() {
            return Err(SchemaError::Twice { channel: name });
        }
        self.channels.push(Channel::named(name, kind.name(), kind.stored()).rule(kind.name()));
        self.kinds.push(kind);
        Ok(())
    }
}

/// A write to one channel of a [`DataState`](crate::graph::DataState). Its `Debug` shows no value, as the channel may be secret.
#[derive(Clone, PartialEq)]
pub struct DataWrite {
    pub(super) channel: usize,
    pub(super) put: Put<Value, Value>,
}

impl DataWrite {
    /// Returns what the write carries.
    pub fn value(&self) -> &Value {
        let (Put::Reduce(value) | Put::Overwrite(value)) = &self.put;
        value
    }

    /// Returns the write that sets a channel to a value, whatever it had before.
    pub(super) fn replacing(kind: Kind, channel: usize, value: Value) -> Self {
        let put = if kind.takes_overwrites() { Put::Overwrite(value) } else { Put::Reduce(value) };
        Self { channel, put }
    }
}

impl fmt::Debug for DataWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (channel, overwrites) = (&self.channel, &self.put.overwrites());
        f.debug_struct("DataWrite").field("channel", channel).field("overwrites", overwrites).finish_non_exhaustive()
    }
}

/// Takes the value out of any spelling of an overwrite; an error is the value as it was.
fn unwrap_overwrite(mut value: Value) -> Result<Value, Value> {
    let key = match value.as_object() {
        Some(map) if map.len() == 1 => ["$overwrite", "__overwrite__"].into_iter().find(|key| map.contains_key(*key)),
        Some(map) if map.len() == 2 && map.get("type").is_some_and(|kind| kind == "__overwrite__") => Some("value"),
        _ => None,
    };
    match key.and_then(|key| value.get_mut(key)) {
        Some(whole) => Ok(whole.take()),
        None => Err(value),
    }
}
