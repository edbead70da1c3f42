//! Fields that several shapes have.

use std::time::SystemTime;

use superstep_base::time::{millis, rfc3339};

use crate::graph::state::State;
use crate::graph::view::untyped::typed_json;

/// Returns a state as JSON, without secret channels; null if the state does not know its channels.
pub(crate) fn state<S: State>(state: &S) -> serde_json::Value {
    state.known_schema().map(|schema| typed_json(state, schema)).unwrap_or_default()
}

/// Writes a time as RFC 3339: `2026-01-31T09:30:00.250Z`.
pub(crate) fn time(time: SystemTime) -> String {
    rfc3339(millis(time))
}

/// Metadata as a JSON object; the later of two entries with one key wins.
pub(crate) mod metadata {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(words: &[(String, String)], out: S) -> Result<S::Ok, S::Error> {
        words.iter().map(|(key, value)| (key, value)).collect::<BTreeMap<_, _>>().serialize(out)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(String, String)>, D::Error> {
        Ok(BTreeMap::deserialize(from)?.into_iter().collect())
    }
}

/// Implements `Serialize` for a type through its shape.
macro_rules! serialize_as {
    ($type:ty => $shape:expr) => {
        impl ::serde::Serialize for $type {
            fn serialize<W: ::serde::Serializer>(&self, out: W) -> Result<W::Ok, W::Error> {
                ::serde::Serialize::serialize(&$shape(self), out)
            }
        }
    };
}
pub(crate) use serialize_as;
