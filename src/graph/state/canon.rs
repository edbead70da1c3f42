//! Canonical form of values: the order of map entries does not count, and floats are compared by their bits. Knows no
//! channel.

use std::fmt;

use rmp_serde::decode::Error;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use superstep_base::Fnv;
use superstep_base::gather;

use crate::checkpoint::{CheckpointError, encode_value, value_deserializer};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Canon {
    Nil,
    Bool(bool),
    Integer(i128),
    /// The bits of a 64-bit float; a 32-bit one is different.
    Float(u64),
    Single(u32),
    Text(String),
    Bytes(Vec<u8>),
    List(Vec<Canon>),
    /// Sorted by key.
    Map(Vec<(Canon, Canon)>),
}

impl Canon {
    /// Returns the canonical form of a value, using the encoding of the store.
    pub(crate) fn of<T: Serialize + ?Sized>(what: impl FnOnce() -> String, value: &T) -> Result<Self, CheckpointError> {
        let mut bytes = vec![];
        encode_value(what, value, &mut bytes)?;
        Self::read(&bytes).map_err(|error| CheckpointError::Codec { what: "value".into(), reason: error.to_string() })
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Error> {
        Self::deserialize(&mut value_deserializer(bytes))
    }

    /// Returns the FNV-1a hash of the form: the same on every machine and in every release.
    pub(crate) fn hash(&self) -> u64 {
        let mut hash = Fnv::new();
        self.mix(&mut hash);
        hash.finish()
    }

    fn mix(&self, hash: &mut Fnv) {
        match self {
            Self::Nil => mix_tagged(hash, 0, &[]),
            Self::Bool(value) => mix_tagged(hash, 1, &[u8::from(*value)]),
            Self::Integer(value) => mix_tagged(hash, 2, &value.to_le_bytes()),
            Self::Float(bits) => mix_tagged(hash, 3, &bits.to_le_bytes()),
            Self::Single(bits) => mix_tagged(hash, 4, &bits.to_le_bytes()),
            Self::Text(text) => mix_sized(hash, 5, text.as_bytes()),
            Self::Bytes(bytes) => mix_sized(hash, 6, bytes),
            Self::List(items) => {
                mix_tagged(hash, 7, &(items.len() as u64).to_le_bytes());
                items.iter().for_each(|item| item.mix(hash));
            }
            Self::Map(entries) => {
                mix_tagged(hash, 8, &(entries.len() as u64).to_le_bytes());
                entries.iter().flat_map(|(key, value)| [key, value]).for_each(|part| part.mix(hash));
            }
        }
    }

    /// Returns the value as JSON, with keys as text.
    pub(crate) fn json(&self) -> Value {
        match self {
            Self::Nil => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Integer(value) => integer(*value),
            Self::Float(bits) => float(f64::from_bits(*bits)),
            Self::Single(bits) => float(f64::from(f32::from_bits(*bits))),
            Self::Text(text) => Value::String(text.clone()),
            Self::Bytes(bytes) => Value::Array(bytes.iter().map(|byte| Value::from(*byte)).collect()),
            Self::List(items) => Value::Array(items.iter().map(Self::json).collect()),
            Self::Map(entries) => Value::Object(gather(entries.iter().map(|(key, value)| (key.name(), value.json())))),
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            other => other.json().to_string(),
        }
    }
}

fn integer(value: i128) -> Value {
    let small = i64::try_from(value).map(Value::from);
    small.or_else(|_| u64::try_from(value).map(Value::from)).unwrap_or_else(|_| Value::String(value.to_string()))
}

fn float(value: f64) -> Value {
    serde_json::Number::from_f64(value).map_or_else(|| Value::String(value.to_string()), Value::Number)
}

fn mix_tagged(hash: &mut Fnv, tag: u8, bytes: &[u8]) {
    hash.mix(&[tag]);
    hash.mix(bytes);
}

fn mix_sized(hash: &mut Fnv, tag: u8, bytes: &[u8]) {
    mix_tagged(hash, tag, &(bytes.len() as u64).to_le_bytes());
    mix_tagged(hash, tag, bytes);
}

impl<'de> Deserialize<'de> for Canon {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(CanonVisitor)
    }
}

struct CanonVisitor;

impl<'de> Visitor<'de> for CanonVisitor {
    type Value = Canon;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Canon, E> {
        Ok(Canon::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Canon, E> {
        Ok(Canon::Integer(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Canon, E> {
        Ok(Canon::Integer(value.into()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Canon, E> {
        Ok(Canon::Integer(value))
    }

    fn visit_f32<E>(self, value: f32) -> Result<Canon, E> {
        Ok(Canon::Single(value.to_bits()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Canon, E> {
        Ok(Canon::Float(value.to_bits()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Canon, E> {
        Ok(Canon::Text(value.to_owned()))
    }

    fn visit_bytes<E>(self, value: &[u8]) -> Result<Canon, E> {
        Ok(Canon::Bytes(value.to_vec()))
    }

    fn visit_unit<E>(self) -> Result<Canon, E> {
        Ok(Canon::Nil)
    }

    fn visit_none<E>(self) -> Result<Canon, E> {
        Ok(Canon::Nil)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Canon, D::Error> {
        Canon::deserialize(from)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, from: D) -> Result<Canon, D::Error> {
        Canon::deserialize(from)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Canon, A::Error> {
        let mut items = vec![];
        while let Some(item) = from.next_element()? {
            items.push(item);
        }
        Ok(Canon::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Canon, A::Error> {
        let mut entries = vec![];
        while let Some(entry) = from.next_entry()? {
            entries.push(entry);
        }
        entries.sort();
        Ok(Canon::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    /// Small lists, so that two often differ only in where one ends and the next begins.
    fn lists() -> impl Strategy<Value = Vec<Vec<String>>> {
        let words = || prop::collection::vec("[ab]{0,2}", 0..4);
        prop::collection::vec(words(), 0..4)
    }

    fn canon<T: Serialize>(value: &T) -> Canon {
        Canon::of(|| "it".into(), value).unwrap()
    }

    #[test]
    fn floats_are_compared_by_their_bits() {
        assert_ne!(canon(&0.0_f64).hash(), canon(&-0.0_f64).hash());
        assert_eq!(canon(&f64::NAN).hash(), canon(&f64::NAN).hash());
    }

    #[test]
    fn a_person_reads_json() {
        let value = (1_u8, -2.5_f64, "tides", Some(()), HashMap::from([(7, [true])]), f64::INFINITY);
        assert_eq!(canon(&value).json().to_string(), r#"[1,-2.5,"tides",null,{"7":[true]},"inf"]"#);
    }

    proptest! {
        #[test]
        fn the_order_of_a_map_does_not_count(entries: HashMap<String, (i64, Vec<u8>)>) {
            let again: HashMap<_, _> = entries.clone().into_iter().collect(); // another order
            prop_assert_eq!(canon(&entries), canon(&again));
            prop_assert_eq!(canon(&entries).hash(), canon(&again).hash());
        }

        #[test]
        fn different_lists_differ(a in lists(), b in lists()) {
            prop_assert_eq!(a == b, canon(&a).hash() == canon(&b).hash());
        }
    }
}
