//! Items and vectors as bytes: a version, then what it says. Knows no store.
//!
//! An item is named MessagePack. Vectors are the name of their model, their number and length, and their floats, little-endian.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::error::StoreError;
use super::super::item::StoreItem;
use super::name::decode_name;
use crate::checkpoint::{encode_value, value_deserializer};

/// Version of what this release writes; the first byte.
const VERSION: u8 = 1;

/// Item as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ItemRecord {
    pub value: Value,
    /// In milliseconds since 1970, as all times.
    pub created_at: u64,
    pub updated_at: u64,
    /// Lifetime in milliseconds.
    #[serde(default)]
    pub ttl: Option<u64>,
    #[serde(default)]
    pub expires_at: Option<u64>,
    /// Set if the item has vectors.
    #[serde(default)]
    pub has_vectors: bool,
}

impl ItemRecord {
    pub(super) fn encode(&self, key: &str) -> Result<Vec<u8>, StoreError> {
        let mut bytes = vec![VERSION];
        encode_value(|| format!("value of the item `{key}`"), self, &mut bytes)?;
        Ok(bytes)
    }

    pub(super) fn decode(key: &str, bytes: &[u8]) -> Result<Self, StoreError> {
        let body = check_version(key, bytes)?;
        Self::deserialize(&mut value_deserializer(body)).map_err(|error| unreadable(key, error.to_string()))
    }

    /// Returns whether the item has expired.
    pub(super) fn has_expired(&self, now: u64) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    /// Returns the item for a reader.
    pub(super) fn into_item(self, key: &str, score: Option<f64>) -> Result<StoreItem, StoreError> {
        let name = decode_name(key).ok_or_else(|| unreadable(key, "its name is not that of an item".into()))?;
        let Self { value, created_at, updated_at, .. } = self;
        Ok(StoreItem { namespace: name.namespace, key: name.key, value, created_at, updated_at, score })
    }
}

/// Vectors of an item, all of the same length.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct VectorRecord {
    /// Name of the model that made them.
    pub model: String,
    pub vectors: Vec<Vec<f32>>,
}

impl VectorRecord {
    pub(super) fn encode(&self) -> Vec<u8> {
        let length = self.vectors.first().map_or(0, Vec::len);
        let mut bytes = vec![VERSION];
        for number in [self.model.len(), self.vectors.len(), length] {
            bytes.extend((number as u32).to_le_bytes());
        }
        bytes.extend(self.model.as_bytes());
        bytes.extend(self.vectors.iter().flatten().flat_map(|number| number.to_le_bytes()));
        bytes
    }

    pub(super) fn decode(key: &str, bytes: &[u8]) -> Result<Self, StoreError> {
        let body = check_version(key, bytes)?;
        Self::read(body).ok_or_else(|| unreadable(key, "its vectors are damaged".into()))
    }

    fn read(body: &[u8]) -> Option<Self> {
        let (model_bytes, body) = read_number(body)?;
        let (count, body) = read_number(body)?;
        let (length, body) = read_number(body)?;
        let (model, body) = body.split_at_checked(model_bytes)?;
        let floats: Vec<f32> = body.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let is_whole = count.checked_mul(length)?.checked_mul(4)? == body.len() && length > 0;
        let vectors = || floats.chunks_exact(length).map(<[f32]>::to_vec).collect();
        is_whole.then(|| Some(Self { model: String::from_utf8(model.to_vec()).ok()?, vectors: vectors() }))?
    }
}

fn read_number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_le_bytes(*number) as usize, rest))
}

fn check_version<'a>(key: &str, bytes: &'a [u8]) -> Result<&'a [u8], StoreError> {
    match bytes.split_first() {
        Some((&VERSION, body)) => Ok(body),
        Some((&version, _)) => {
            Err(unreadable(key, format!("it has version {version}, and this release knows {VERSION}")))
        }
        None => Err(unreadable(key, "it is empty".into())),
    }
}

pub(super) fn unreadable(key: &str, reason: String) -> StoreError {
    StoreError::Unreadable { item: key.into(), reason }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[test]
    fn records_are_read_back() {
        let value = json!({"float": 0.1, "large": u64::MAX, "deep": [{"a": null}]});
        let record =
            ItemRecord { value, created_at: 1, updated_at: 2, ttl: Some(3), expires_at: Some(5), has_vectors: true };
        assert_eq!(ItemRecord::decode("a/=k", &record.encode("a/=k").unwrap()).unwrap(), record);
        let vectors = VectorRecord { model: "m".into(), vectors: vec![vec![0.5, -1.0], vec![0.0, 3.0]] };
        assert_eq!(VectorRecord::decode("a/=k", &vectors.encode()).unwrap(), vectors);
    }

    #[rstest]
    #[case::empty(&[], "it is empty")]
    #[case::of_a_later_release(&[9, 1], "it has version 9, and this release knows 1")]
    #[case::cut(&[1, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 7], "its vectors are damaged")]
    #[case::no_length(&[1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0], "its vectors are damaged")]
    fn damaged_vectors_are_reported(#[case] bytes: &[u8], #[case] reason: &str) {
        let error = VectorRecord::decode("a/=k", bytes).unwrap_err().to_string();
        assert_eq!(error, format!("the stored item `a/=k` cannot be read: {reason}"));
    }
}
