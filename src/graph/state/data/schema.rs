//! The table of data-defined channels and their writes, with names resolved to indexes.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use superstep_base::Printable;

use super::kind::Kind;
use crate::graph::state::channel::Channel;
use crate::graph::state::channels::no_channel;
use crate::graph::state::put::Put;

/// The channels of a [`DataState`](crate::graph::DataState), known at run time. Pass it to `StateGraph::with_schema`; the
/// node ids of such a graph are [`Name`](crate::graph::Name)s.
///
/// ```
/// use serde_json::json;
/// use superstep::graph::DataSchema;
/// use superstep::graph::state::Kind;
///
/// let schema = DataSchema::new([("topic", Kind::LastValue), ("notes", Kind::Append)])?;
/// assert_eq!(schema.channel("notes"), Some(1));
/// assert!(schema.write("notes", json!(["tides"])).is_some());
/// assert!(schema.write("title", json!("none")).is_none());
/// # Ok::<(), superstep::graph::state::SchemaError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct DataSchema(Arc<Table>);

#[derive(Clone, Debug, Default)]
struct Table {
    channels: Vec<Channel>,
    kinds: Vec<Kind>,
    /// The channels whose values live for one superstep.
    passing: Vec<usize>,
    by_name: HashMap<String, usize>,
    removed: Vec<String>,
    upgrades: HashMap<usize, Upgrade>,
}

/// The user's function from an earlier version's value to the current one.
#[derive(Clone)]
struct Upgrade(Arc<dyn Fn(Value, u32) -> Result<Value, String> + Send + Sync>);

impl fmt::Debug for Upgrade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Upgrade")
    }
}

/// The error of a table of channels.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum SchemaError {
    /// Two channels with one name.
    #[error("two channels are named `{}`", Printable(channel))]
    Twice {
        /// The name.
        channel: String,
    },
    /// An unknown channel name.
    #[error("no channel is named `{}`", Printable(channel))]
    Unknown {
        /// The name.
        channel: String,
    },
}

impl SchemaError {
    /// Returns the suggested fix.
    pub fn help(&self) -> String {
        match self {
            Self::Twice { channel } => format!("remove one `{}`, or give it another name", Printable(channel)),
            Self::Unknown { channel } => format!("add `{}` to the schema, or correct the name", Printable(channel)),
        }
    }
}

impl DataSchema {
    /// Returns a table of channels, indexed in the given order.
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

    /// Marks a channel as secret: never printed or exported.
    ///
    /// # Errors
    /// [`SchemaError::Unknown`] if no channel has this name.
    pub fn secret(mut self, name: &str) -> Result<Self, SchemaError> {
        let at = self.channel(name).ok_or_else(|| SchemaError::Unknown { channel: name.to_owned() })?;
        self.table().channels[at] = self.0.channels[at].clone().secret();
        Ok(self)
    }

    /// Adds a former name of a channel: values stored under it are the channel's own.
    ///
    /// # Errors
    /// [`SchemaError::Unknown`] if no channel has this name, [`SchemaError::Twice`] if one has the old name.
    pub fn was(mut self, name: &str, old: &str) -> Result<Self, SchemaError> {
        let at = self.channel(name).ok_or_else(|| SchemaError::Unknown { channel: name.to_owned() })?;
        self.check_free(old)?;
        self.table().channels[at] = self.0.channels[at].clone().formerly(old);
        Ok(self)
    }

    /// Marks a channel as new: threads stored without it start with its default, whatever else they store.
    ///
    /// # Errors
    /// [`SchemaError::Unknown`] if no channel has this name.
    pub fn mark_added(mut self, name: &str) -> Result<Self, SchemaError> {
        let at = self.channel(name).ok_or_else(|| SchemaError::Unknown { channel: name.to_owned() })?;
        self.table().channels[at] = self.0.channels[at].clone().added();
        Ok(self)
    }

    /// Declares a removed channel: its stored values are dropped.
    ///
    /// # Errors
    /// [`SchemaError::Twice`] if a channel has this name.
    pub fn with_removed(mut self, old: &str) -> Result<Self, SchemaError> {
        self.check_free(old)?;
        self.table().removed.push(old.to_owned());
        Ok(self)
    }

    /// Sets the version of a channel's values, and the function that converts an earlier version's value (or write).
    ///
    /// # Errors
    /// [`SchemaError::Unknown`] if no channel has this name.
    pub fn with_upgrade(
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

    fn check_free(&self, old: &str) -> Result<(), SchemaError> {
        match self.channel(old) {
            Some(_) => Err(SchemaError::Twice { channel: old.to_owned() }),
            None => Ok(()),
        }
    }

    pub(super) fn removed_names(&self) -> impl Iterator<Item = &str> {
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

    /// Returns the kind of a channel. Panics on an unknown index.
    pub fn kind(&self, channel: usize) -> Kind {
        self.0.kinds.get(channel).copied().unwrap_or_else(|| no_channel(channel))
    }

    /// Returns a write to the channel with this name; `None` if there is no such channel.
    ///
    /// `{"$overwrite": v}`, `{"__overwrite__": v}` and `{"type": "__overwrite__", "value": v}` replace a reduced value. On
    /// a channel that every write replaces, they are the same as `v`.
    pub fn write(&self, name: &str, value: Value) -> Option<DataWrite> {
        let channel = self.channel(name)?;
        Some(match unwrap_overwrite(value) {
            Ok(whole) => DataWrite::overwrite_with(self.kind(channel), channel, whole),
            Err(plain) => DataWrite { channel, put: Put::Reduce(plain) },
        })
    }

    /// Returns a write that replaces the value of the channel with this name; `None` if there is no such channel.
    pub fn overwrite(&self, name: &str, value: Value) -> Option<DataWrite> {
        let channel = self.channel(name)?;
        Some(DataWrite::overwrite_with(self.kind(channel), channel, value))
    }

    pub(super) fn channels(&self) -> &[Channel] {
        &self.0.channels
    }

    /// Returns the channels whose values live for one superstep.
    pub(super) fn ephemeral_channels(&self) -> &[usize] {
        &self.0.passing
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
        self.channels.push(Channel::from_name(name, kind.name(), kind.storage()).rule(kind.name()));
        if kind.lives_one_step() {
            self.passing.push(self.kinds.len());
        }
        self.kinds.push(kind);
        Ok(())
    }
}

/// A write to a channel of a [`DataState`](crate::graph::DataState). Its `Debug` hides the value, which may be secret.
#[derive(Clone, PartialEq)]
pub struct DataWrite {
    pub(super) channel: usize,
    pub(super) put: Put<Value, Value>,
}

impl DataWrite {
    /// Returns the value of the write.
    pub fn value(&self) -> &Value {
        let (Put::Reduce(value) | Put::Overwrite(value)) = &self.put;
        value
    }

    /// Returns the write that sets a channel to a value, whatever its present one.
    pub(super) fn overwrite_with(kind: Kind, channel: usize, value: Value) -> Self {
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

/// Returns the value of an overwrite in any spelling; other values as an error.
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
