//! Parts of JSON that several types share: objects with optional fields, times, metadata, paths of nodes. Knows none of the
//! types.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::SystemTime;

use serde::ser::{Error, SerializeMap};
use serde::{Serialize, Serializer};
use superstep_base::gather;
use superstep_base::time::{millis, rfc3339};

use crate::checkpoint::Source;

/// An object of JSON, written field by field.
pub(crate) struct Object<M>(M);

impl<M: SerializeMap> Object<M> {
    pub(crate) fn new<W: Serializer<SerializeMap = M, Error = M::Error>>(out: W) -> Result<Self, M::Error> {
        Ok(Self(out.serialize_map(None)?))
    }

    pub(crate) fn put(mut self, name: &str, value: impl Serialize) -> Result<Self, M::Error> {
        self.0.serialize_entry(name, &value)?;
        Ok(self)
    }

    /// Writes a field, unless there is no value.
    pub(crate) fn put_some(self, name: &str, value: Option<impl Serialize>) -> Result<Self, M::Error> {
        match value {
            Some(value) => self.put(name, value),
            None => Ok(self),
        }
    }

    /// Writes a field, unless the list is empty.
    pub(crate) fn put_list(self, name: &str, list: &[impl Serialize]) -> Result<Self, M::Error> {
        if list.is_empty() { Ok(self) } else { self.put(name, list) }
    }

    pub(crate) fn end(self) -> Result<M::Ok, M::Error> {
        self.0.end()
    }
}

/// Returns a time as RFC 3339: `2026-01-31T09:30:00.250Z`.
pub(crate) fn time_text(time: SystemTime) -> String {
    rfc3339(millis(time))
}

/// Writes milliseconds since 1970 as RFC 3339.
pub(crate) fn write_time<W: Serializer>(millis: &u64, out: W) -> Result<W::Ok, W::Error> {
    rfc3339(*millis).serialize(out)
}

/// Returns metadata as an object; the later of two entries with one key wins.
pub(crate) fn metadata(pairs: &[(String, String)]) -> BTreeMap<&str, &str> {
    gather(pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())))
}

pub(crate) fn write_metadata<W: Serializer>(pairs: &[(String, String)], out: W) -> Result<W::Ok, W::Error> {
    metadata(pairs).serialize(out)
}

/// Writes the cause of a checkpoint as a word.
pub(crate) fn write_source<W: Serializer>(source: &Source, out: W) -> Result<W::Ok, W::Error> {
    source.as_str().serialize(out)
}

/// Writes values as the texts that people read.
pub(crate) fn write_texts<W: Serializer>(values: &[impl Display], out: W) -> Result<W::Ok, W::Error> {
    out.collect_seq(values.iter().map(ToString::to_string))
}

/// Writes an object with its fields in the order of their names.
pub(crate) fn write_sorted<W: Serializer>(value: &impl Serialize, out: W) -> Result<W::Ok, W::Error> {
    serde_json::to_value(value).map_err(W::Error::custom)?.serialize(out)
}

/// Returns the path of a node through the subgraphs it is in, such as `Research/Ask`.
pub(crate) fn node_path(namespace: &[String], node: &str) -> String {
    namespace.iter().map(String::as_str).chain([node]).collect::<Vec<_>>().join("/")
}
